//! A server of a chore's own, on an empty store that goes with it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::step::output_of;

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// A directory that goes when it is no longer needed.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(chore: &str) -> Result<Directory> {
        let path = std::env::temp_dir().join(format!("boxoffice-{chore}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
        Ok(Directory(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A server that is stopped whatever happens.
pub(crate) struct OwnServer {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl OwnServer {
    pub(crate) fn start(program: &Path, place: &Path) -> Result<OwnServer> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| Error::new(format!("no port is free: {error}")))?;
        let process = Command::new(program)
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(place.join("data"))
            .env("BOXOFFICE_LOG", "warn")
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| Error::new(format!("cannot start {}: {error}", program.display())))?;
        let mut server = OwnServer { process, address };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = server.process.try_wait().ok().flatten();
            if let Some(status) = ended {
                return Err(Error::new(format!("the server ended at once ({status})")));
            }
            if started.elapsed() > START_TIMEOUT {
                return Err(Error::new(format!("no answer after {} s", START_TIMEOUT.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Asks it to stop. An error unless it is still there and stops as it should.
    pub(crate) fn stop(&mut self) -> Result<()> {
        if let Ok(Some(status)) = self.process.try_wait() {
            return Err(Error::new(format!("the server ended under the requests ({status})")));
        }
        output_of(Command::new("kill").args(["-TERM", &self.process.id().to_string()]))?;
        match self.process.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::new(format!("the server did not stop well ({status})"))),
            Err(error) => Err(Error::new(format!("the server cannot be waited for: {error}"))),
        }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Makes the first key, which is an admin's and ends the time in which every caller is let in.
pub(crate) fn make_key(address: SocketAddr, name: &str) -> Result<String> {
    let made = post(address, "", "/v1/keys", &format!(r#"{{"role":"admin","name":"{name}"}}"#))?;
    let key = made.split("\"key\":\"").nth(1).and_then(|rest| rest.split('"').next());
    key.map(str::to_owned).ok_or_else(|| Error::new(format!("there is no key in {made}")))
}

/// Makes something, and returns the answer.
pub(crate) fn post(address: SocketAddr, key: &str, path: &str, body: &str) -> Result<String> {
    let authorization =
        if key.is_empty() { String::new() } else { format!("authorization: Bearer {key}\r\n") };
    let answer = TcpStream::connect(address).and_then(|mut stream| {
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {address}\r\n{authorization}content-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    });
    let answer = answer.map_err(|error| Error::new(format!("POST {path}: {error}")))?;
    if answer.starts_with("HTTP/1.1 201") {
        return Ok(answer);
    }
    Err(Error::new(format!("POST {path} was answered with {answer}")))
}
