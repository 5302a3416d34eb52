//! Servers in processes of their own: found, started, measured, and ended with whoever started them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Error, Result};

/// How long a server may take until it answers, and until it is gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// `USER_HZ`, which Linux fixes for everything it tells in ticks.
const TICKS_PER_SECOND: f64 = 100.0;

/// A running server and its children. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    /// What makes it leave without a checkpoint: nobody reads its data again.
    ends_with: Signal,
    log: PathBuf,
}

impl Server {
    /// Starts a program; what it says goes into `log`.
    pub(crate) fn start(command: &mut Command, ends_with: Signal, log: PathBuf) -> Result<Server> {
        let what = format!("cannot start {command:?}");
        let out = File::create(&log).map_err(Error::io(format!("cannot write {}", log.display())))?;
        let same = out.try_clone().map_err(Error::io("cannot share a file"))?;
        let child = command.stdin(Stdio::null()).stdout(out).stderr(same).spawn().map_err(Error::io(what))?;
        Ok(Server { child, ends_with, log })
    }

    /// The parent of all its processes.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it said so far.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Tries something until it works, as long as the server runs and patience lasts.
    pub(crate) async fn ready<T, E: std::fmt::Display>(
        &mut self,
        mut attempt: impl AsyncFnMut(&Server) -> std::result::Result<T, E>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            let error = match attempt(self).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let ended = self.child.try_wait().map_err(Error::io("cannot ask after a process"))?;
            if ended.is_some() || start.elapsed() > PATIENCE {
                return Err(Error::Wrong(format!("a server does not answer: {error}\n{}", self.said())));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Whatever fails here, there is nobody left to tell.
        let _ = kill_process(Pid::from_child(&self.child), self.ends_with);
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What processes have used since they started, as Linux accounts for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    pub(crate) cpu_seconds: f64,
    /// Bytes handed to the kernel with `write` and its like.
    pub(crate) written_bytes: f64,
    /// Bytes of the pages that became dirty by it.
    pub(crate) dirtied_bytes: f64,
}

impl Usage {
    /// Of these processes, their descendants, and those of them that are gone.
    pub(crate) fn of(roots: &[u32]) -> Result<Usage> {
        let processes = processes()?;
        let mut usage = Usage::default();
        let mut waiting = roots.to_vec();
        while let Some(id) = waiting.pop() {
            let Some(process) = processes.get(&id) else {
                return Err(Error::Wrong(format!("process {id} is gone")));
            };
            usage.cpu_seconds += process.cpu_seconds;
            let (written, dirtied) = written_and_dirtied(id)?;
            usage.written_bytes += written;
            usage.dirtied_bytes += dirtied;
            waiting.extend(processes.iter().filter(|(_, child)| child.parent == id).map(|(id, _)| *id));
        }
        Ok(usage)
    }

    pub(crate) fn since(self, before: Usage) -> Usage {
        Usage {
            cpu_seconds: self.cpu_seconds - before.cpu_seconds,
            written_bytes: self.written_bytes - before.written_bytes,
            dirtied_bytes: self.dirtied_bytes - before.dirtied_bytes,
        }
    }
}

struct Process {
    parent: u32,
    /// Its own, and of its children that were waited for.
    cpu_seconds: f64,
}

fn processes() -> Result<HashMap<u32, Process>> {
    let mut found = HashMap::new();
    for entry in std::fs::read_dir("/proc").map_err(Error::io("cannot list processes"))? {
        let Ok(entry) = entry else { continue };
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // It may have ended since it was listed.
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let process = parse_stat(&stat)
            .ok_or_else(|| Error::Wrong(format!("/proc/{id}/stat has another form: {stat}")))?;
        found.insert(id, process);
    }
    Ok(found)
}

/// The name stands in brackets and may have anything in it.
fn parse_stat(stat: &str) -> Option<Process> {
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let mut ticks = 0.0;
    for field in fields.get(11..15)? {
        ticks += field.parse::<f64>().ok()?;
    }
    Some(Process { parent: fields.get(1)?.parse().ok()?, cpu_seconds: ticks / TICKS_PER_SECOND })
}

/// Its own and, as Linux adds them up, of its children that were waited for.
fn written_and_dirtied(id: u32) -> Result<(f64, f64)> {
    let path = format!("/proc/{id}/io");
    let io = match std::fs::read_to_string(&path) {
        Ok(io) => io,
        // It ended since it was listed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((0.0, 0.0)),
        Err(error) => return Err(Error::Io { what: format!("cannot read {path}"), error }),
    };
    let value = |name: &str| io.lines().find_map(|line| line.strip_prefix(name)?.parse().ok());
    match (value("wchar: "), value("write_bytes: ")) {
        (Some(written), Some(dirtied)) => Ok((written, dirtied)),
        _ => Err(Error::Wrong(format!("{path} has another form: {io}"))),
    }
}

/// A program on the search path.
pub(crate) fn find(program: &'static str, package: &'static str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
        .ok_or(Error::Missing { program, package })
}

/// A directory for the data of one server, on a disk: memory would make every promise of durability a lie.
pub(crate) fn directory() -> Result<tempfile::TempDir> {
    use std::os::unix::fs::PermissionsExt;
    // PostgreSQL runs as another user when this one is root.
    let open = std::fs::Permissions::from_mode(0o755);
    let made = tempfile::Builder::new().prefix("boxoffice-peers-").permissions(open).tempdir();
    let made = made.map_err(Error::io("cannot make a temporary directory"))?;
    if is_in_memory(made.path())? {
        return Err(Error::Wrong(format!(
            "{} is in memory; set TMPDIR to a directory on a disk",
            made.path().display()
        )));
    }
    Ok(made)
}

fn is_in_memory(path: &Path) -> Result<bool> {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    let found = rustix::fs::statfs(path).map_err(|error| Error::Io {
        what: format!("cannot ask what holds {}", path.display()),
        error: error.into(),
    })?;
    Ok(matches!(found.f_type, TMPFS | RAMFS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_after_any_name() {
        let stat = "42 (a ) b) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 3 7 20 0 1 0 5 6 7";
        let process = parse_stat(stat).expect("it has that form");
        assert_eq!((process.parent, process.cpu_seconds), (7, 1.3));
        assert!(parse_stat("42 (cut) S 7").is_none());
    }
}
