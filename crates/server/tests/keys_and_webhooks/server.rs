//! A server of its own for each test, and as much of an HTTP client as the tests need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough for a busy machine, and for the first retry.
const DEADLINE: Duration = Duration::from_secs(60);

/// A running `boxoffice serve`. Killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    address: String,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The body, if the status is this one.
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// The code of a refusal with this status.
    pub(crate) fn code(&self, status: u16) -> String {
        self.expect(status)["code"].as_str().expect("a problem has a code").to_owned()
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.head.to_ascii_lowercase().contains("idempotent-replayed: true")
    }
}

/// Created by the server, which refuses directories that other users may access.
pub(crate) fn store_in(home: &Path) -> PathBuf {
    home.join("store")
}

impl Server {
    /// Serves the store of a directory of the test's.
    pub(crate) fn start(home: &Path, arguments: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_boxoffice"))
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(store_in(home))
            .args(arguments)
            .env("NO_COLOR", "1")
            .env("BOXOFFICE_LOG", "info")
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut log = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        let address = loop {
            line.clear();
            assert!(log.read_line(&mut line).expect("a log is text") > 0, "it ended before it listened");
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().to_owned();
            }
        };
        // Somebody has to read what it says, or it waits for ever.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Server { child, address }
    }

    /// Dies as in a power cut.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Is asked to stop, and does.
    pub(crate) fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        assert!(self.child.wait().expect("it ends").success());
    }

    pub(crate) fn get(&self, key: Option<&str>, path: &str) -> Answer {
        self.send(key, "GET", path, None, &[])
    }

    pub(crate) fn get_with_token(&self, key: &str, path: &str, hold_token: &str) -> Answer {
        self.send(Some(key), "GET", path, None, &[("Hold-Token", hold_token)])
    }

    pub(crate) fn delete(&self, key: Option<&str>, path: &str) -> Answer {
        self.send(key, "DELETE", path, None, &[])
    }

    pub(crate) fn post(&self, key: Option<&str>, path: &str, body: &Value) -> Answer {
        self.send(key, "POST", path, Some(body), &[])
    }

    pub(crate) fn post_once(
        &self,
        key: Option<&str>,
        path: &str,
        body: &Value,
        idempotency_key: &str,
    ) -> Answer {
        self.send(key, "POST", path, Some(body), &[("Idempotency-Key", idempotency_key)])
    }

    /// Opens a live stream and reads its first message.
    pub(crate) fn stream(&self, key: Option<&str>, path: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket has one");
        let key = key.map(|key| format!("Authorization: Bearer {key}\r\n")).unwrap_or_default();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{key}\r\n", self.address);
        stream.write_all(head.as_bytes()).expect("it reads");
        let mut stream = BufReader::new(stream);
        assert!(next_message(&mut stream), "{path} has no first message");
        stream
    }

    fn send(
        &self,
        key: Option<&str>,
        method: &str,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        if let Some(key) = key {
            request += &format!("Authorization: Bearer {key}\r\n");
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        request += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, text) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head[9..12].parse().expect("a status");
        Answer { status, head: head.to_owned(), text: text.to_owned() }
    }

    /// The first key, which makes all others: admin of tenant `default`.
    pub(crate) fn first_key(&self) -> String {
        let body = serde_json::json!({ "role": "admin", "name": "first" });
        text(&self.post(None, "/v1/keys", &body).expect(201)["key"])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been killed by the test.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Reads a stream up to its next message; `false` if it ends before.
pub(crate) fn next_message(stream: &mut BufReader<TcpStream>) -> bool {
    let mut line = String::new();
    while stream.read_line(&mut line).expect("a stream is text") > 0 {
        if line.starts_with("data: ") {
            return true;
        }
        line.clear();
    }
    false
}

/// Waits until there is something.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a text: {value}")).to_owned()
}
