//! A kept connection on which several requests may be under way: HTTP/1.1, answered in the order they were asked.

use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Whoever is not there after so long is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Room for the answers that usually come together.
const BUFFER_BYTES: usize = 64 * 1024;
/// The map of a million seats, and room to spare.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Header fields of an answer.
const HEADERS_MAX: usize = 64;

/// One connection, with what is still to be sent and to be read.
pub(super) struct Connection {
    stream: TcpStream,
    /// The lines of every head that say to whom and from whom.
    lines: String,
    output: Vec<u8>,
    input: Vec<u8>,
    /// How much of the input was read as answers.
    used: usize,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: &'a [u8],
}

impl Connection {
    /// Connects; `lines` stand in the head of every request.
    pub(super) async fn open(address: SocketAddr, lines: String) -> io::Result<Connection> {
        let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await??;
        stream.set_nodelay(true)?;
        let (output, input) = (Vec::new(), Vec::with_capacity(BUFFER_BYTES));
        Ok(Connection { stream, lines, output, input, used: 0 })
    }

    /// Adds a request to those that are sent next.
    pub(super) fn get(&mut self, path: &str) {
        // Writing to memory does not fail.
        drop(write!(self.output, "GET {path} HTTP/1.1\r\n{}\r\n", self.lines));
    }

    /// Adds a request with a body to those that are sent next.
    pub(super) fn post(&mut self, path: &str, idempotency_key: &str, body: &str) {
        drop(write!(
            self.output,
            "POST {path} HTTP/1.1\r\n{}content-type: application/json\r\nidempotency-key: {idempotency_key}\r\ncontent-length: {}\r\n\r\n{body}",
            self.lines,
            body.len(),
        ));
    }

    /// Sends what was added, in one piece.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        if !self.output.is_empty() {
            self.stream.write_all(&self.output).await?;
            self.output.clear();
        }
        Ok(())
    }

    /// Waits for more of the answers. Nothing is lost if it is dropped while it waits.
    pub(super) async fn receive(&mut self) -> io::Result<()> {
        self.input.drain(..self.used);
        self.used = 0;
        self.input.reserve(BUFFER_BYTES);
        match self.stream.read_buf(&mut self.input).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ if self.input.len() > ANSWER_BYTES_MAX => Err(ErrorKind::OutOfMemory.into()),
            _ => Ok(()),
        }
    }

    /// The next answer, if all of it is here.
    pub(super) fn answer(&mut self) -> io::Result<Option<Answer<'_>>> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut headers);
        let unreadable = |why: &str| io::Error::new(ErrorKind::InvalidData, why.to_owned());
        let parsed = head.parse(&self.input[self.used..]);
        let head_bytes = match parsed.map_err(|error| unreadable(&error.to_string()))? {
            httparse::Status::Complete(bytes) => bytes,
            httparse::Status::Partial => return Ok(None),
        };
        let field = |name: &str| {
            let header = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(header.value).ok()?.trim().parse::<u32>().ok()
        };
        let length =
            field("content-length").ok_or_else(|| unreadable("an answer does not say how long it is"))?;
        let body_at = self.used + head_bytes;
        let status = head.code.expect("a head that is complete has a status");
        let retry_after = field("retry-after").map(|seconds| Duration::from_secs(seconds.into()));
        let end = body_at + length as usize;
        let Some(body) = self.input.get(body_at..end) else { return Ok(None) };
        self.used = end;
        Ok(Some(Answer { status, retry_after, body }))
    }
}
