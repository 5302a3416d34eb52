//! A lean load generator: plain HTTP/1.1 over kept connections, the same one for whoever is measured.

use std::io;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection that sends one request at a time.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// What came back.
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// Where it was read: a copy of megabytes would be work of the generator's that counts against whoever is measured.
    pub(crate) body: &'a [u8],
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(4 * 1024) })
    }

    /// Sends a whole request and reads the whole answer.
    pub(crate) async fn send(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (status, body_at, length) = loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed"));
            }
            if let Some(head) = read_head(&self.buffer) {
                break head;
            }
        };
        while self.buffer.len() < body_at + length {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "closed"));
            }
        }
        Ok(Answer { status, body: &self.buffer[body_at..body_at + length] })
    }
}

/// Status, where the body begins, and how long it is.
pub(crate) fn read_head(bytes: &[u8]) -> Option<(u16, usize, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).expect("heads are text");
    let status = head[9..12].parse().expect("a status");
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().expect("a length"))
    });
    Some((status, end + 4, length.unwrap_or(0)))
}

/// A POST of JSON, with one more header line or none.
pub(crate) fn post(path: &str, header: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{header}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").into_bytes()
}

/// Latencies of answers, and how long it all took.
#[derive(Default)]
pub(crate) struct Measured {
    pub(crate) latencies: Vec<Duration>,
    pub(crate) took: Duration,
}

impl Measured {
    pub(crate) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }

    pub(crate) fn percentile(&mut self, percent: f64) -> Duration {
        self.latencies.sort_unstable();
        let index = (self.latencies.len() as f64 * percent / 100.0) as usize;
        self.latencies[index.min(self.latencies.len() - 1)]
    }
}

/// A server in a process of its own, ended with it.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts a program that says `listening on http://ADDRESS` on its standard error.
    pub(crate) fn start(command: &mut Command) -> Server {
        use std::io::{BufRead, BufReader};
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("it starts");
        let lines = BufReader::new(child.stderr.take().expect("piped"));
        let mut lines = lines.lines();
        let address = loop {
            let line = lines.next().expect("it says where it listens").expect("text");
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.trim().parse().expect("an address");
            }
        };
        // Whatever else it says must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        Server { child, address }
    }

    /// Resident memory, in MiB.
    pub(crate) fn resident_mib(&self) -> f64 {
        let statm = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).expect("it runs");
        let pages: f64 = statm.split(' ').nth(1).expect("resident").parse().expect("a number");
        pages * 4096.0 / 1024.0 / 1024.0
    }

    /// Seconds of processor time so far.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        let after_name = stat.rsplit_once(") ").expect("a name in brackets").1;
        let fields: Vec<&str> = after_name.split(' ').collect();
        let ticks: f64 =
            fields[11].parse::<f64>().expect("a number") + fields[12].parse::<f64>().expect("a number");
        ticks / 100.0
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::TERM);
        assert!(self.child.wait().expect("it ends").success(), "it ends in an orderly way");
    }

    /// Ends it without a word.
    pub(crate) fn kill(&mut self) {
        // It is over for it either way.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the figures were measured on.
pub(crate) fn print_machine() {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: u64 =
        memory.lines().next().and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0);
    println!("machine: {cores} cores, {} GiB; load generator on the same cores", kib / 1024 / 1024);
}
