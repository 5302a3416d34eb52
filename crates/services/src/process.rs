//! Servers in processes of their own.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Error, Result};

/// How long a server may take until it answers, and until it is gone.
const PATIENCE: Duration = Duration::from_secs(40);

/// A running server and its children. Dropping it ends them.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// What makes it leave without a checkpoint: nobody reads its data again.
    ends_with: Signal,
    log: PathBuf,
}

impl Server {
    /// Starts a program; what it says goes into `log`.
    pub fn start(command: &mut Command, ends_with: Signal, log: PathBuf) -> Result<Server> {
        let what = format!("cannot start {command:?}");
        let out = File::create(&log).map_err(Error::io(format!("cannot write {}", log.display())))?;
        let same = out.try_clone().map_err(Error::io("cannot share a file"))?;
        let child = command.stdin(Stdio::null()).stdout(out).stderr(same).spawn().map_err(Error::io(what))?;
        Ok(Server { child, ends_with, log })
    }

    /// The parent of all its processes.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it said so far.
    pub fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Tries something until it works, as long as the server runs and patience lasts.
    pub async fn ready<T, E: std::fmt::Display>(
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

    /// [`Server::ready`] for those who may block.
    pub(crate) fn wait_until_ready(&mut self, mut attempt: impl FnMut() -> Result<bool>) -> Result<()> {
        let start = Instant::now();
        while !attempt()? {
            let ended = self.child.try_wait().map_err(Error::io("cannot ask after a process"))?;
            if ended.is_some() || start.elapsed() > PATIENCE {
                return Err(Error::Wrong(format!("a server does not answer\n{}", self.said())));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
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

/// A program on the search path.
pub fn find(program: &'static str, package: &'static str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|file| file.is_file())
        .ok_or(Error::Missing { program, package })
}

/// A directory for the data of one server, on a disk: memory would make every promise of durability a lie.
pub fn directory() -> Result<tempfile::TempDir> {
    use std::os::unix::fs::PermissionsExt;
    // PostgreSQL runs as another user when this one is root.
    let open = std::fs::Permissions::from_mode(0o755);
    let made = tempfile::Builder::new().prefix("boxoffice-").permissions(open).tempdir();
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

/// Cargo's target directory, in which this program is. Cargo marks it as one that need not be backed up.
pub(crate) fn target() -> Result<PathBuf> {
    let program = std::env::current_exe().map_err(Error::io("cannot find this program"))?;
    let target = program.ancestors().find(|directory| directory.join("CACHEDIR.TAG").is_file());
    target.map(Path::to_path_buf).ok_or_else(|| Error::Wrong("this is not run by cargo".to_owned()))
}
