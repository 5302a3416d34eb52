//! A PostgreSQL of our own.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::error::{Error, Result};
use crate::process::{Server, directory, find};

const PACKAGE: &str = "postgresql";
/// PostgreSQL does not run as root; this is whom its package makes.
const USER: &str = "postgres";

/// A running server. It has no port: its socket is in the file system.
#[derive(Debug)]
pub struct Postgres {
    server: Option<Server>,
    programs: Programs,
    settings: Vec<String>,
    directory: tempfile::TempDir,
}

/// Where its programs are, and how to run them.
#[derive(Debug)]
struct Programs {
    directory: PathBuf,
    /// Run as that user, because this one is root.
    setpriv: Option<PathBuf>,
}

impl Postgres {
    /// Says what is missing, if anything is.
    pub fn check_installed() -> Result<()> {
        Programs::find().map(drop)
    }

    /// Starts a server on an empty database, with settings such as `fsync=on`.
    pub fn start(settings: &[&str]) -> Result<Postgres> {
        let programs = Programs::find()?;
        let directory = directory()?;
        let data = directory.path().join("data");
        for path in [&data, &directory.path().join("sockets")] {
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
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        let mut postgres = Postgres { server: None, programs, settings, directory };
        postgres.run()?;
        Ok(postgres)
    }

    /// Ends the server at once, as a crash would, and starts it again on what it left.
    pub fn restart(&mut self) -> Result<()> {
        self.stop();
        self.start_again()
    }

    /// Ends the server at once, as a crash would.
    pub fn stop(&mut self) {
        self.server = None;
    }

    /// Starts a server that was ended on what it left.
    pub fn start_again(&mut self) -> Result<()> {
        self.run()
    }

    /// The parent of all its processes.
    pub fn id(&self) -> u32 {
        self.server.as_ref().map_or(0, Server::id)
    }

    /// Where its socket is.
    pub fn sockets(&self) -> PathBuf {
        self.directory.path().join("sockets")
    }

    /// Who may connect, without a password.
    pub fn user(&self) -> &'static str {
        USER
    }

    /// Makes a new, empty database.
    pub fn create_database(&self, name: &str) -> Result<()> {
        self.psql(USER, &format!("CREATE DATABASE {name}")).map(drop)
    }

    /// The URL of a database.
    pub fn url(&self, database: &str) -> String {
        url(&self.sockets(), database)
    }

    /// Runs statements and says what they gave: a line for each row, with `|` between its columns.
    pub fn psql(&self, database: &str, statements: &str) -> Result<String> {
        psql(&self.programs, &self.sockets(), database, statements)
    }

    fn run(&mut self) -> Result<()> {
        let mut command = self.programs.command("postgres");
        command.arg("-D").arg(self.directory.path().join("data")).arg("-k").arg(self.sockets());
        command.args(["-c", "listen_addresses="]).current_dir(self.directory.path());
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        // SIGQUIT: immediate shutdown, of all its children.
        let log = self.directory.path().join("postgres.log");
        let mut server = Server::start(&mut command, Signal::QUIT, log)?;
        server.wait_until_ready(|| {
            let mut command = self.programs.command("pg_isready");
            let asked =
                command.arg("-q").arg("-h").arg(self.sockets()).current_dir(self.directory.path()).status();
            Ok(asked.map_err(Error::io("cannot run pg_isready"))?.success())
        })?;
        self.server = Some(server);
        Ok(())
    }
}

/// The URL of a new, empty database on a server that somebody else has started, by where its socket is.
pub fn create_database(sockets: &Path, name: &str) -> Result<String> {
    psql(&Programs::find()?, sockets, USER, &format!("CREATE DATABASE {name}"))?;
    Ok(url(sockets, name))
}

fn url(sockets: &Path, database: &str) -> String {
    format!("postgres:///{database}?host={}&user={USER}", sockets.display())
}

fn psql(programs: &Programs, sockets: &Path, database: &str, statements: &str) -> Result<String> {
    let mut command = programs.command("psql");
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", USER, "-d", database, "-h"]);
    command.arg(sockets).args(["-c", statements]).current_dir(sockets);
    let done = command.output().map_err(Error::io("cannot run psql"))?;
    if !done.status.success() {
        return Err(Error::Wrong(format!("psql: {}", String::from_utf8_lossy(&done.stderr))));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
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
