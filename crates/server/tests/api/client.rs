//! A small HTTP client over plain sockets, so that tests can also send what no library would.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use flate2::bufread::GzDecoder;
use serde_json::Value;

use crate::documented;

/// Longer than anything the server may take, so that a test that hangs says where.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A request that is being put together.
pub(crate) struct Call {
    address: SocketAddr,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Call {
    pub(crate) fn new(address: SocketAddr, method: &str, path: &str) -> Call {
        Call {
            address,
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Call {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn key(self, key: &str) -> Call {
        self.header("Idempotency-Key", key)
    }

    pub(crate) fn json(self, body: &Value) -> Call {
        self.raw("application/json", body.to_string().as_bytes())
    }

    /// Any bytes under any name.
    pub(crate) fn raw(mut self, content_type: &str, body: &[u8]) -> Call {
        self.body = body.to_vec();
        self.header("Content-Type", content_type)
    }

    pub(crate) fn send(self) -> Reply {
        let asked = format!("{} {}", self.method, self.path);
        self.try_send().unwrap_or_else(|error| panic!("{asked}: {error}"))
    }

    /// Fails if the server goes away. Panics at an answer that the document does not have, or that a cache may keep.
    pub(crate) fn try_send(self) -> io::Result<Reply> {
        let mut stream = connect(self.address)?;
        // A server that refuses a body early may close before all of it is written: the answer counts.
        drop(stream.write_all(&self.text("HTTP/1.1")));
        let reply = read_reply(&mut BufReader::new(stream), self.method == "HEAD")?;
        documented::check(&self.method, &self.path, reply.status);
        if self.path.starts_with("/v1/") {
            assert_eq!(reply.header("cache-control"), Some("no-store"), "{} {}", self.method, self.path);
        }
        Ok(reply)
    }

    /// Opens a live stream.
    pub(crate) fn watch(self) -> Stream {
        let asked = format!("{} {}", self.method, self.path);
        let mut stream = connect(self.address).expect("the server takes connections");
        stream.write_all(&self.text("HTTP/1.1")).expect("the server reads");
        let mut reader = BufReader::new(stream);
        let (status, headers) = read_head(&mut reader).expect("a head");
        assert_eq!(status, 200, "{asked}");
        let kind = headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.as_str());
        assert_eq!(kind, Some("text/event-stream"), "{asked}");
        let coding =
            headers.into_iter().find(|(name, _)| name == "content-encoding").map(|(_, coding)| coding);
        let reader = BufReader::new(Chunks { reader, left: 0 });
        let reader: Box<dyn BufRead> = match coding.as_deref() {
            None => Box::new(reader),
            Some("gzip") => Box::new(BufReader::new(GzDecoder::new(reader))),
            Some("zstd") => Box::new(BufReader::new(zstd::Decoder::new(reader).expect("a frame"))),
            Some(other) => panic!("nobody asked for {other}"),
        };
        Stream { reader, coding }
    }

    fn text(&self, version: &str) -> Vec<u8> {
        let mut text = format!("{} {} {version}\r\n", self.method, self.path);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text += &format!("Host: {}\r\n", self.address);
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")) {
            text += &format!("Content-Length: {}\r\n", self.body.len());
        }
        text += "Connection: close\r\n\r\n";
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// What stands in the chunks of a body.
struct Chunks<R> {
    reader: R,
    /// Bytes of the current chunk that were not read yet.
    left: usize,
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            let mut length = String::new();
            if self.reader.read_line(&mut length)? == 0 {
                return Ok(0);
            }
            self.left = usize::from_str_radix(length.trim_end(), 16).expect("a length");
        }
        let read = (&mut self.reader).take(self.left as u64).read(buffer)?;
        let ended = self.left == read;
        self.left -= read;
        if ended {
            self.reader.read_line(&mut String::new())?;
        }
        Ok(read)
    }
}

/// A connection on which nothing waits for ever.
pub(crate) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    Ok(stream)
}

fn read_head(reader: &mut impl BufRead) -> io::Result<(u16, Vec<(String, String)>)> {
    let gone = || io::Error::new(io::ErrorKind::UnexpectedEof, "no complete answer");
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(gone)?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(gone());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else { return Ok((status, headers)) };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

/// One answer from a connection; more may follow it.
pub(crate) fn read_reply(reader: &mut impl BufRead, head_only: bool) -> io::Result<Reply> {
    let (status, headers) = read_head(reader)?;
    let mut reply = Reply { status, headers, body: Vec::new() };
    let length = reply.header("content-length").map(|length| length.parse().expect("a number"));
    match length {
        _ if head_only || matches!(status, 204 | 304) => {}
        Some(length) => {
            reply.body = vec![0; length];
            reader.read_exact(&mut reply.body)?;
        }
        None => drop(reader.read_to_end(&mut reply.body)?),
    }
    Ok(reply)
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("answers are text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{} {:?}: {error}", self.status, self.text()))
    }

    /// The body of what must have worked.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// The body of what must have been refused like this.
    pub(crate) fn expect_problem(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{}", self.text());
        body
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// The place of the first thing that is wrong with the request.
    pub(crate) fn pointer(&self) -> String {
        self.expect_problem(400, "INVALID_REQUEST")["errors"][0]["pointer"]
            .as_str()
            .expect("a pointer")
            .to_owned()
    }

    /// In a few words: `409 SEAT_UNAVAILABLE`, or what was booked and for how much.
    pub(crate) fn told(&self) -> String {
        let body = self.json();
        match body["code"].as_str() {
            Some(code) => format!("{} {code}", self.status),
            None => told(&body),
        }
    }
}

/// A booking in a few words: `on_hold A-1 1-1 1-2 for 6000`.
pub(crate) fn told(booking: &Value) -> String {
    let mut words = vec![booking["status"].as_str().expect("a status").to_owned()];
    let mut section = "";
    for seat in booking["seats"].as_array().expect("seats") {
        let of = seat["section"].as_str().expect("a section");
        if of != section {
            words.push(of.to_owned());
            section = of;
        }
        words.push(seat["seat"].as_str().expect("a seat").to_owned());
    }
    for area in booking["areas"].as_array().expect("areas") {
        words.push(format!("{} x{}", area["name"].as_str().expect("a name"), area["quantity"]));
    }
    for place in ["slot", "box"] {
        if let Some(id) = booking[place].as_str() {
            words.push(format!("{id} x{}", booking["quantity"]));
        }
    }
    format!("{} for {}", words.join(" "), booking["total_price"])
}

/// An open live stream.
pub(crate) struct Stream {
    reader: Box<dyn BufRead>,
    /// How it came packed.
    pub(crate) coding: Option<String>,
}

/// One message of a live stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    pub(crate) event: String,
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Stream {
    /// The next message; `None` when the server has closed the stream.
    pub(crate) fn next(&mut self) -> Option<Message> {
        let mut message = Message { event: String::new(), id: None, data: Value::Null };
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).expect("the stream goes on") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("event", event)) => message.event = event.to_owned(),
                Some(("id", id)) => message.id = Some(id.parse().expect("ids are numbers")),
                Some(("data", data)) => message.data = serde_json::from_str(data).expect("data is JSON"),
                Some(("", _comment)) => {}
                Some((field, _)) => panic!("no such field: {field}"),
                None if message.event.is_empty() => {}
                None => return Some(message),
            }
        }
    }

    /// The next message, which must be of a kind.
    pub(crate) fn expect(&mut self, event: &str) -> Message {
        let message = self.next().expect("the stream is open");
        assert_eq!(message.event, event, "{message:?}");
        message
    }
}
