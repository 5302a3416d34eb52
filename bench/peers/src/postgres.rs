//! A PostgreSQL of our own, durable and tuned for short transactions.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use tokio_postgres::{Client, Config, NoTls};

use crate::error::{Error, Result};
use crate::process::{Server, directory, find};

const PACKAGE: &str = "postgresql";
/// PostgreSQL does not run as root; this is whom its package makes.
const USER: &str = "postgres";

/// What differs from how it comes. Commits wait for the disk, as they do by default; pages reach it at checkpoints, of
/// which there is none in a run this short. No port: a socket in the file system is faster.
const SETTINGS: &[&str] = &[
    "listen_addresses=",
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "shared_buffers=1GB",
    "max_connections=300",
    "wal_buffers=64MB",
    "max_wal_size=8GB",
    "min_wal_size=1GB",
    "checkpoint_timeout=1h",
    "jit=off",
    "huge_pages=try",
];

/// Of 16 MiB each: more than is written in a run.
const LOG_FILES: usize = 12;

/// A running server with an empty database.
#[derive(Debug)]
pub(crate) struct Postgres {
    pub(crate) server: Server,
    directory: tempfile::TempDir,
}

/// Where its programs are, and how to run them.
struct Programs {
    directory: PathBuf,
    /// Run as that user, because this one is root.
    setpriv: Option<PathBuf>,
}

/// Says what is missing before anything is measured.
pub(crate) fn check_installed() -> Result<()> {
    Programs::find().map(drop)
}

impl Postgres {
    pub(crate) async fn start() -> Result<Postgres> {
        let programs = Programs::find()?;
        let directory = directory()?;
        let data = directory.path().join("data");
        let sockets = directory.path().join("sockets");
        for path in [&data, &sockets] {
            std::fs::create_dir(path).map_err(Error::io(format!("cannot make {}", path.display())))?;
            programs.give(path)?;
        }
        let made = programs
            .command("initdb")
            .args(["--auth", "trust", "--username", USER, "--encoding", "UTF8", "--locale", "C", "--pgdata"])
            .arg(&data)
            .current_dir(directory.path())
            .output()
            .map_err(Error::io("cannot run initdb"))?;
        if !made.status.success() {
            return Err(Error::Wrong(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr))));
        }
        let mut command = programs.command("postgres");
        command.arg("-D").arg(&data).arg("-k").arg(&sockets).current_dir(directory.path());
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        // SIGQUIT: immediate shutdown, of all its children.
        let server = Server::start(&mut command, Signal::QUIT, directory.path().join("postgres.log"))?;
        let mut postgres = Postgres { server, directory };
        let configuration = postgres.configuration();
        postgres.server.ready(async |_| configuration.connect(NoTls).await.map(drop)).await?;
        Ok(postgres)
    }

    fn configuration(&self) -> Config {
        let mut configuration = Config::new();
        configuration.host_path(self.directory.path().join("sockets")).user(USER).dbname(USER);
        configuration
    }

    /// A connection, driven by a task beside its user.
    pub(crate) async fn connect(&self) -> Result<Client> {
        let (client, connection) = self.configuration().connect(NoTls).await?;
        // Its user is told of errors too.
        tokio::task::spawn_local(async move { drop(connection.await) });
        Ok(client)
    }

    /// Runs statements, and leaves everything as it would be after a while: vacuumed, on disk, with files of the log to
    /// use again, because making a new one costs as much as thousands of bookings.
    pub(crate) async fn prepare(&self, statements: &str) -> Result<()> {
        let client = self.connect().await?;
        client.batch_execute(statements).await?;
        for _ in 0..LOG_FILES {
            client.batch_execute("SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal()").await?;
        }
        client.batch_execute("VACUUM ANALYZE").await?;
        client.batch_execute("CHECKPOINT").await?;
        Ok(())
    }
}

impl Programs {
    /// Debian keeps each version in a folder of its own; the newest is taken. Elsewhere they are on the search path.
    fn find() -> Result<Programs> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let newest = versions
            .filter_map(|entry| {
                Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin")))
            })
            .filter(|(_, programs)| programs.join("initdb").is_file() && programs.join("postgres").is_file())
            .max();
        let directory = match newest {
            Some((_, directory)) => directory,
            None => {
                find("initdb", PACKAGE)?;
                let postgres = find("postgres", PACKAGE)?;
                postgres.parent().expect("it was found in a directory").to_path_buf()
            }
        };
        let is_root = rustix::process::geteuid().is_root();
        let setpriv = if is_root { Some(find("setpriv", "util-linux")?) } else { None };
        Ok(Programs { directory, setpriv })
    }

    fn command(&self, program: &str) -> Command {
        let program = self.directory.join(program);
        let Some(setpriv) = &self.setpriv else { return Command::new(program) };
        let mut command = Command::new(setpriv);
        command.args(["--reuid", USER, "--regid", USER, "--init-groups"]).arg(program);
        command
    }

    /// Makes a directory belong to whom the programs run as.
    fn give(&self, path: &Path) -> Result<()> {
        if self.setpriv.is_none() {
            return Ok(());
        }
        let done =
            Command::new("chown").arg(USER).arg(path).status().map_err(Error::io("cannot run chown"))?;
        if !done.success() {
            return Err(Error::Wrong(format!("there is no user `{USER}`: install the package `{PACKAGE}`")));
        }
        Ok(())
    }
}
