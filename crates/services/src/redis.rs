//! A Redis of our own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Error, Result};
use crate::process::{Server, directory, find};

const PROGRAM: &str = "redis-server";
const PACKAGE: &str = "redis-server";
/// A port that was free may be taken before the server has it.
const PORTS_TRIED_MAX: usize = 5;

/// A server that keeps nothing on disk, on a port of its own.
#[derive(Debug)]
pub struct Redis {
    /// While it runs.
    server: Option<Server>,
    port: u16,
    options: Vec<String>,
    directory: tempfile::TempDir,
}

impl Redis {
    /// Starts an empty server, with options such as `--cluster-enabled yes`.
    pub fn start(options: &[&str]) -> Result<Redis> {
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let mut redis = Redis { server: None, port: free_port()?, options, directory: directory()? };
        for _ in 1..PORTS_TRIED_MAX {
            if redis.start_again().is_ok() {
                return Ok(redis);
            }
            redis.port = free_port()?;
        }
        redis.start_again()?;
        Ok(redis)
    }

    /// Starts it after [`Redis::kill`]: empty, on the same port.
    pub fn start_again(&mut self) -> Result<()> {
        let mut command = Command::new(find(PROGRAM, PACKAGE)?);
        // A configuration file comes first.
        command.args(&self.options).args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.args(["--port", &self.port.to_string()]).arg("--dir").arg(self.directory.path());
        let log = self.directory.path().join("redis.log");
        let mut server = Server::start(&mut command, Signal::KILL, log)?;
        let port = self.port;
        server.wait_until_ready(|| Ok(answers(port)))?;
        self.server = Some(server);
        Ok(())
    }

    /// Ends it at once; what it had is gone.
    pub fn kill(&mut self) {
        self.server = None;
    }

    /// Lets it hang, or go on.
    pub fn pause(&self, paused: bool) -> Result<()> {
        let Some(server) = &self.server else { return Ok(()) };
        let signal = if paused { Signal::STOP } else { Signal::CONT };
        let id = Pid::from_raw(server.id().cast_signed());
        let id = id.ok_or_else(|| Error::Wrong("the server has no process".to_owned()))?;
        let sent = kill_process(id, signal);
        sent.map_err(|error| Error::Io { what: "cannot signal a server".to_owned(), error: error.into() })
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Redis {
    /// Sends one command, and gives the first line of what is answered.
    pub fn ask(&self, words: &[&str]) -> Result<String> {
        let ask = || {
            let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            connection.set_read_timeout(Some(Duration::from_secs(5)))?;
            let mut command = format!("*{}\r\n", words.len());
            words.iter().for_each(|word| command.push_str(&format!("${}\r\n{word}\r\n", word.len())));
            connection.write_all(command.as_bytes())?;
            let mut answer = String::new();
            BufReader::new(connection).read_line(&mut answer)?;
            Ok(answer.trim_end().to_owned())
        };
        ask().map_err(Error::io("cannot ask Redis"))
    }
}

pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Error::io("cannot listen"))?;
    Ok(listener.local_addr().map_err(Error::io("cannot listen"))?.port())
}

pub(crate) fn answers(port: u16) -> bool {
    let ask = || {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        connection.set_read_timeout(Some(Duration::from_secs(1)))?;
        connection.write_all(b"*1\r\n$4\r\nPING\r\n")?;
        let mut answer = [0; 5];
        connection.read_exact(&mut answer)?;
        // Or it wants a password first.
        Ok::<bool, std::io::Error>(&answer == b"+PONG" || &answer == b"-NOAU")
    };
    ask().unwrap_or(false)
}
