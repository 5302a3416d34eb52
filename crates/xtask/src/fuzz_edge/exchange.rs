//! One connection: what is sent on it, and the answers, read as strictly as a proxy would.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than every deadline of the server for one request. A connection on which nothing comes for this time hangs.
const SILENCE_MAX: Duration = Duration::from_secs(40);
const ID: &str = "x-request-id";

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The id of its request, if the answer has one.
    pub(super) id: Option<String>,
    /// Whether it says that the connection ends after it.
    pub(super) closes: bool,
}

/// All that came back on a connection, to its end.
#[derive(Debug, Clone)]
pub(super) struct Transcript {
    pub(super) answers: Vec<Answer>,
    /// What was wrong with the bytes or their end.
    pub(super) fault: Option<String>,
}

/// Sends everything in one or two pieces, and reads until the server closes. The last request must ask it to.
pub(super) fn exchange(address: SocketAddr, pieces: &[&[u8]], is_head: impl Fn(usize) -> bool) -> Transcript {
    match send_and_read(address, pieces) {
        Ok(bytes) => parse_all(&bytes, is_head),
        Err(error) => Transcript { answers: Vec::new(), fault: Some(error) },
    }
}

fn send_and_read(address: SocketAddr, pieces: &[&[u8]]) -> Result<Vec<u8>, String> {
    let failed = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
    let mut stream = TcpStream::connect(address).map_err(failed("no connection"))?;
    stream.set_nodelay(true).map_err(failed("no option"))?;
    stream.set_read_timeout(Some(SILENCE_MAX)).map_err(failed("no time limit"))?;
    for piece in pieces {
        // A server that has closed already has answered: that is read below.
        if stream.write_all(piece).is_err() {
            break;
        }
    }
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            // What came before it has been read.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(bytes),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let shown = bytes.escape_ascii();
                return Err(format!("silent for {} s after {shown}", SILENCE_MAX.as_secs()));
            }
            Err(error) => return Err(format!("cannot be read: {error}")),
        }
    }
}

fn parse_all(mut bytes: &[u8], is_head: impl Fn(usize) -> bool) -> Transcript {
    let mut answers: Vec<Answer> = Vec::new();
    while !bytes.is_empty() {
        match parse(bytes, is_head(answers.len())) {
            Ok((answer, used)) => {
                bytes = &bytes[used..];
                // 100 Continue is no answer.
                if answer.status >= 200 {
                    answers.push(answer);
                }
            }
            Err(fault) => {
                let start = &bytes[..bytes.len().min(300)];
                let fault = format!("{fault}: {}", start.escape_ascii());
                return Transcript { answers, fault: Some(fault) };
            }
        }
    }
    Transcript { answers, fault: None }
}

/// The first answer and its length.
fn parse(bytes: &[u8], is_head: bool) -> Result<(Answer, usize), String> {
    let head_bytes =
        bytes.windows(4).position(|window| window == b"\r\n\r\n").ok_or("a head without an end")?;
    let head = std::str::from_utf8(&bytes[..head_bytes]).map_err(|_| "a head that is no text")?;
    if head.contains(['\0', '\r', '\n']) && head.replace("\r\n", "").contains(['\0', '\r', '\n']) {
        return Err("control characters in the head".to_owned());
    }
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let version = status_line.get(..9).filter(|version| ["HTTP/1.1 ", "HTTP/1.0 "].contains(version));
    let status = status_line.get(9..12).and_then(|status| status.parse::<u16>().ok());
    let (Some(_), Some(status)) = (version, status) else { return Err("not a status line".to_owned()) };
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or("a header without a colon")?;
        headers.push((name.to_ascii_lowercase(), value.trim()));
    }
    let values = |wanted: &str| -> Vec<&str> {
        headers.iter().filter(|(name, _)| name == wanted).map(|(_, value)| *value).collect()
    };
    let lengths = values("content-length");
    let codings = values("transfer-encoding");
    let body = &bytes[head_bytes + 4..];
    let has_no_body = status < 200 || matches!(status, 204 | 304);
    let body_bytes = match (lengths.as_slice(), codings.as_slice()) {
        // What was no request to the server has no method, and its answer a body.
        _ if has_no_body || (is_head && (body.is_empty() || body.starts_with(b"HTTP/1."))) => 0,
        ([length], []) => length.parse::<usize>().map_err(|_| "a length that is no number")?,
        ([], ["chunked"]) => chunked_bytes(body)?,
        _ => return Err(format!("lengths {lengths:?} and codings {codings:?}")),
    };
    if body.len() < body_bytes {
        return Err(format!("a body of {} bytes instead of {body_bytes}", body.len()));
    }
    let says = |option: &str| values("connection").iter().any(|value| value.eq_ignore_ascii_case(option));
    let closes = says("close") || status_line.starts_with("HTTP/1.0") && !says("keep-alive");
    let id = values(ID).first().map(|id| (*id).to_owned());
    Ok((Answer { status, id, closes }, head_bytes + 4 + body_bytes))
}

/// The length of a chunked body.
fn chunked_bytes(body: &[u8]) -> Result<usize, String> {
    let mut used = 0;
    loop {
        let rest = &body[used..];
        let line = rest.windows(2).position(|window| window == b"\r\n").ok_or("a chunk without a size")?;
        let size =
            std::str::from_utf8(&rest[..line]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.ok_or("a chunk with another size than a number")?;
        used += line + 2 + size + 2;
        if used > body.len() {
            return Err("a chunk that is cut off".to_owned());
        }
        if size == 0 {
            return Ok(used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart_by_their_framing_and_a_wrong_one_is_a_fault() {
        let one = "HTTP/1.1 404 Not Found\r\nx-request-id: a\r\ncontent-length: 2\r\n\r\n{}";
        let last = "HTTP/1.1 201 Created\r\nconnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
                    2\r\n{}\r\n0\r\n\r\n";
        let interim = "HTTP/1.1 100 Continue\r\n\r\n";
        let rows = [
            (format!("{one}{interim}{last}"), vec![404, 201], false),
            (one.replace("length: 2", "length: 1"), vec![404], true),
            (one.replace("length: 2", "length: 3"), vec![], true),
            (one.replace("length: 2", "length: 2\r\ncontent-length: 2"), vec![], true),
            (format!("{one}x"), vec![404], true),
            (String::new(), vec![], false),
        ];
        for (bytes, statuses, is_wrong) in rows {
            let read = parse_all(bytes.as_bytes(), |_| false);
            let found: Vec<u16> = read.answers.iter().map(|answer| answer.status).collect();
            assert_eq!((found, read.fault.is_some()), (statuses, is_wrong), "{bytes:?}");
        }
        let read = parse_all(format!("{one}{last}").as_bytes(), |_| false);
        assert_eq!(read.answers[0], Answer { status: 404, id: Some("a".to_owned()), closes: false });
        assert!(read.answers[1].closes);
    }
}
