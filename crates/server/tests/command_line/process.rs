//! Runs the binary, and talks to it when it serves.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// However busy the machine is.
const DEADLINE: Duration = Duration::from_secs(60);

/// The binary, with nothing of our own environment.
pub(crate) fn boxoffice(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boxoffice"));
    // What is usual is not said, so that a failure is one line.
    command.args(arguments).env_clear().env("BOXOFFICE_LOG", "warn");
    command
}

/// What a run said, and its exit code.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// Runs to the end.
pub(crate) fn run(arguments: &[&str]) -> Said {
    said(boxoffice(arguments).output().unwrap())
}

pub(crate) fn said(output: Output) -> Said {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

impl Said {
    /// Fails the test unless it went well; standard output.
    #[track_caller]
    pub(crate) fn well(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// Fails the test unless it ended with this code and one line of error that has all these words.
    #[track_caller]
    pub(crate) fn badly(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {:?}", self.err);
        }
        if code == 1 {
            assert_eq!(self.err.lines().count(), 1, "{}", self.err);
        }
    }
}

pub(crate) fn path(directory: &Path) -> &str {
    directory.to_str().unwrap()
}

/// A server that is killed with the test.
pub(crate) struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) address: String,
    pub(crate) key: Option<String>,
}

impl Server {
    /// Serves a store on a port of its own.
    pub(crate) fn on(data: &Path) -> Server {
        Server::start(&["serve", "--data", path(data), "--listen", "127.0.0.1:0"])
    }

    pub(crate) fn start(arguments: &[&str]) -> Server {
        Server::spawn(&mut boxoffice(arguments))
    }

    pub(crate) fn spawn(command: &mut Command) -> Server {
        Server::spawn_logging(command, Stdio::null())
    }

    /// The log goes there.
    pub(crate) fn spawn_logging(command: &mut Command, log: impl Into<Stdio>) -> Server {
        let child = command.stdout(Stdio::piped()).stderr(log).spawn();
        let mut child = child.unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        // It says where it is once it can be asked.
        let mut first = String::new();
        stdout.read_line(&mut first).unwrap();
        let address = first.trim().rsplit("://").next().unwrap().to_owned();
        assert!(first.contains("://"), "{first:?}");
        Server { child, stdout, address, key: None }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask("POST", path, Some(body))
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let (status, body) = self.send(method, path, body);
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Vec<u8>) {
        let mut stream = self.connect();
        stream.write_all(self.request(method, path, body).as_bytes()).unwrap();
        read_answer(stream)
    }

    /// Such as `-KILL`.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&Value>) -> String {
        let body = body.map(ToString::to_string).unwrap_or_default();
        let key = self.key.as_ref().map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\n{key}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            body.len(),
        )
    }

    /// A hall of so many seats in rows of ten.
    pub(crate) fn create_hall(&self, rows: u32) {
        let subsections = json!([{ "number": 1, "rows": rows, "cols": 10 }]);
        let hall = json!({ "id": "hall", "name": "Hall", "currency": "TWD",
            "sections": [{ "name": "A", "price": 100, "subsections": subsections }] });
        let (status, answer) = self.post("/v1/events", &hall);
        assert_eq!(status, 201, "{answer}");
    }

    pub(crate) fn book(&self, customer: &str, quantity: u32) -> (u16, Value) {
        let best = json!({ "quantity": quantity });
        self.post("/v1/bookings", &json!({ "customer": customer, "event": "hall", "best_available": best }))
    }

    pub(crate) fn ask_to_stop(&self) {
        self.signal("-TERM");
    }

    /// The exit code, after it was asked to stop; and what else it had said.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let code = within_deadline(|| self.child.try_wait().unwrap()).code();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (code, rest)
    }

    /// Stops in an orderly way.
    pub(crate) fn stop(self) {
        self.ask_to_stop();
        assert_eq!(self.wait().0, Some(0));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(crate) fn read_answer(mut stream: TcpStream) -> (u16, Vec<u8>) {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("an answer has a head");
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, bytes[end + 4..].to_vec())
}

/// Asks again until there is something, or fails the test.
pub(crate) fn within_deadline<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "it did not happen within {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
