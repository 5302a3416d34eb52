//! The real binary on a real store: started on a free port, killed, started again.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_engine::store::EmbeddedStore;
use boxoffice_services::create_database;
use serde_json::Value;
use tempfile::TempDir;

use crate::client::{Call, Reply};

/// A directory or a database for one store, gone with its last owner or with the servers that `cargo xtask test` started.
pub(crate) struct Store {
    directory: TempDir,
    /// Where the data is, if it is not in the directory.
    database: Option<Database>,
}

struct Database {
    number: usize,
    name: String,
    url: String,
}

/// A Redis has so many, unless told otherwise.
const REDIS_DATABASES: usize = 16;

/// A running server. It is killed when it is dropped, so that no test leaves one behind.
pub(crate) struct Server {
    process: Process,
    pub(crate) address: SocketAddr,
    store: Store,
}

struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail if the process has ended, which is what is wanted.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Store {
    pub(crate) fn new() -> Store {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let database = std::env::var_os("BOXOFFICE_TEST_POSTGRES").map(|sockets| {
            let name = format!("test_{}_{number}", std::process::id());
            let url = create_database(Path::new(&sockets), &name).unwrap_or_else(|error| panic!("{error}"));
            Database { number, name, url }
        });
        Store { directory: TempDir::new().expect("a directory"), database }
    }

    /// Where it is; `None` if it is in a database.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.database.is_none().then(|| self.directory.path().join("data"))
    }

    /// For whoever wants to write to it before it is served.
    pub(crate) fn open(&self) -> Arc<dyn boxoffice_engine::store::Store> {
        match &self.database {
            Some(database) => Arc::new(PostgresStore::migrate(&database.url).expect("a new database").0),
            None => Arc::new(EmbeddedStore::open(&self.directory.path().join("data")).expect("a new store")),
        }
    }

    /// The command line of its server.
    pub(crate) fn serve_command(&self, listen: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_boxoffice"));
        command.arg("serve").arg("--listen").arg(listen).env("NO_COLOR", "1");
        let Some(database) = &self.database else {
            command.arg("--data").arg(self.directory.path().join("data"));
            return command;
        };
        command.arg("--database-url").arg(&database.url);
        if let Ok(urls) = std::env::var("BOXOFFICE_TEST_REDIS") {
            // What one test has there must not be another's.
            let of_test = |url: &str| format!("{url}/{}", database.number % REDIS_DATABASES);
            let urls: Vec<String> = urls.split(',').map(of_test).collect();
            command.arg("--redis-urls").arg(urls.join(","));
        }
        if let Ok(brokers) = std::env::var("BOXOFFICE_TEST_KAFKA") {
            command.arg("--kafka-brokers").arg(brokers).arg("--kafka-prefix").arg(&database.name);
        }
        command
    }

    /// Serves it, and waits until the server is ready.
    pub(crate) fn serve(self, arguments: &[&str]) -> Server {
        let mut command = self.serve_command("127.0.0.1:0");
        command.args(arguments);
        self.serve_by(command)
    }

    /// As [`Store::serve`], by a command that ends up as the server.
    pub(crate) fn serve_by(self, mut command: Command) -> Server {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut process = Process(child.expect("the server starts"));
        let mut log = BufReader::new(process.0.stderr.take().expect("it is piped"));
        let mut said = String::new();
        let address = loop {
            let before = said.len();
            assert_ne!(log.read_line(&mut said).expect("a log"), 0, "it does not listen: {said}");
            if let Some((_, rest)) = said[before..].split_once("listening on http://") {
                break rest.trim().parse().expect("an address");
            }
        };
        // Whoever logs into a full pipe stands still.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let server = Server { process, address, store: self };
        assert_eq!(server.get("/readyz").status, 200);
        server
    }
}

/// Runs a server that is not expected to get as far as serving.
pub(crate) fn serve_in_vain(listen: &str) -> Output {
    Store::new().serve_command(listen).output().expect("the server starts")
}

impl Server {
    /// A server of its own, with these arguments.
    pub(crate) fn start(arguments: &[&str]) -> Server {
        Store::new().serve(arguments)
    }

    /// One server for all tests that run at the moment.
    pub(crate) fn shared() -> Arc<Server> {
        static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().expect("no test panics here");
        shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Server::start(&[]));
            *shared = Arc::downgrade(&server);
            server
        })
    }

    pub(crate) fn call(&self, method: &str, path: &str) -> Call {
        Call::new(self.address, method, path)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.call("GET", path).send()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.call("POST", path).json(body).send()
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Reply {
        self.call("PATCH", path).json(body).send()
    }

    /// See [`Store::directory`].
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.store.directory()
    }

    /// What it has of the machine's memory, on Linux.
    pub(crate) fn resident_bytes(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.0.id()));
        let status = status.expect("Linux tells");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it is told");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process.0.try_wait().expect("our own process").is_none()
    }

    /// Ends it with SIGKILL, wherever it is.
    pub(crate) fn kill(mut self) -> Store {
        self.process.0.kill().expect("our own process");
        self.process.0.wait().expect("our own process");
        self.store
    }

    /// Asks it to stop.
    pub(crate) fn terminate(&self) {
        let pid = i32::try_from(self.process.0.id()).expect("a process id");
        let pid = rustix::process::Pid::from_raw(pid).expect("a process id");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("our own process");
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> (ExitStatus, Store) {
        let status = await_some("the server ends", || self.process.0.try_wait().expect("our own process"));
        (status, self.store)
    }
}

/// Looks again and again until there is something, for at most 15 seconds.
pub(crate) fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
