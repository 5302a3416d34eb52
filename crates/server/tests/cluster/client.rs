//! As much of an HTTP client as a sale needs: connections that are kept, and patience that ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// How long a node may take before its client asks another one.
const PATIENCE: Duration = Duration::from_secs(3);

/// A connection to one node, made when it is needed and again after it was lost.
pub(crate) struct Client {
    address: String,
    connection: Option<BufReader<TcpStream>>,
}

/// What a node said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Said {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a problem.
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_else(|| panic!("no problem: {self:?}")).to_owned()
    }
}

impl Client {
    pub(crate) fn new(address: &str) -> Client {
        Client { address: address.to_owned(), connection: None }
    }

    /// `None` if there was no whole answer in time.
    pub(crate) fn ask(&mut self, method: &str, target: &str, key: Option<&str>, body: &str) -> Option<Said> {
        let key = key.map(|key| format!("idempotency-key: {key}\r\n")).unwrap_or_default();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\n{key}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        // One that is lost is not used again.
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect()?,
        };
        connection.get_mut().write_all(request.as_bytes()).ok()?;
        let said = read(&mut connection)?;
        if said.header("connection") != Some("close") {
            self.connection = Some(connection);
        }
        Some(said)
    }

    fn connect(&self) -> Option<BufReader<TcpStream>> {
        let stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(BufReader::new(stream))
    }
}

fn read(connection: &mut BufReader<TcpStream>) -> Option<Said> {
    let mut line = || {
        let mut line = String::new();
        let length = connection.read_line(&mut line).ok()?;
        (length > 0).then(|| line.trim_end().to_owned())
    };
    let status = line()?.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        let Some((name, value)) = line.split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Some(0), |(_, length)| length.parse::<usize>().ok())?;
    let mut body = vec![0; length];
    connection.read_exact(&mut body).ok()?;
    Some(Said { status, headers, body: String::from_utf8(body).ok()? })
}
