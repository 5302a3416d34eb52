//! A stand-in for Redis with JSON commands: the TCP server of fakeredis, in Python.
//!
//! No package registry has a Kvrocks or a Redis 8. The stand-in answers `JSON.SET`, `JSON.GET` and `JSON.NUMINCRBY`, also from scripts.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::error::{Error, Result};
use crate::process::{Server, directory, find, target};
use crate::redis::{answers, free_port};

/// Exact versions of fakeredis and all it needs.
const REQUIREMENTS: &str = include_str!("../fakeredis/requirements.txt");
/// Its one argument is the port.
const PROGRAM: &str = "
import sys
from fakeredis import TcpFakeServer
from fakeredis._clients import _tcp_server

encode = _tcp_server.encode_reply

# By itself it sends values as simple strings, which cannot hold the bytes of a bitmap.
def encode_in_bulk(value, protocol, nested=False):
    return encode(value, protocol, nested or value not in (b'OK', 'OK', b'PONG', 'PONG'))

_tcp_server.encode_reply = encode_in_bulk
TcpFakeServer(('127.0.0.1', int(sys.argv[1])), server_version=(7,)).serve_forever()
";

/// A running server that keeps nothing on disk.
#[derive(Debug)]
pub struct FakeRedis {
    _server: Server,
    port: u16,
    _directory: tempfile::TempDir,
}

impl FakeRedis {
    /// Starts an empty server. The first time fakeredis is installed with pip, into cargo's target directory.
    pub fn start() -> Result<FakeRedis> {
        let python = python()?;
        let (port, directory) = (free_port()?, directory()?);
        let mut command = Command::new(python);
        command.args(["-c", PROGRAM, &port.to_string()]);
        let mut server = Server::start(&mut command, Signal::KILL, directory.path().join("fakeredis.log"))?;
        server.wait_until_ready(|| Ok(answers(port)))?;
        Ok(FakeRedis { _server: server, port, _directory: directory })
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

/// The Python that has fakeredis, which is installed if it is not there. One process at a time does so.
fn python() -> Result<PathBuf> {
    let target = target()?;
    let home = target.join("fakeredis");
    let (python, installed) = (home.join("bin/python"), home.join("installed.txt"));
    let lock =
        std::fs::File::create(target.join("fakeredis.lock")).map_err(Error::io("cannot make a lock"))?;
    lock.lock().map_err(Error::io("cannot lock a file"))?;
    if std::fs::read_to_string(&installed).is_ok_and(|list| list == REQUIREMENTS) {
        return Ok(python);
    }
    let mut venv = Command::new(find("python3", "python3-venv")?);
    finish(venv.args(["-m", "venv", "--clear"]).arg(&home))?;
    let wanted = home.join("wanted.txt");
    std::fs::write(&wanted, REQUIREMENTS)
        .map_err(Error::io("cannot write the list of what fakeredis needs"))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]);
    finish(pip.arg(&wanted))?;
    std::fs::rename(&wanted, &installed).map_err(Error::io("cannot rename a file"))?;
    Ok(python)
}

fn finish(command: &mut Command) -> Result<()> {
    let done = command.output().map_err(Error::io(format!("cannot run {command:?}")))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(Error::Wrong(format!("fakeredis cannot be installed: {said}")));
    }
    Ok(())
}
