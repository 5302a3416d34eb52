//! Servers as processes of their own, each at an address that it keeps.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::client::{Client, Said};

/// However busy the machine is: a quarter of a sale took more than a minute where others had ten times the work for its cores.
const DEADLINE: Duration = Duration::from_secs(300);

/// Running nodes of one cluster. They are killed when this is dropped.
pub(crate) struct Nodes {
    arguments: Vec<String>,
    addresses: Vec<String>,
    /// One that was killed has none until it is started again.
    processes: Vec<Mutex<Option<Child>>>,
}

impl Nodes {
    /// Starts so many nodes, each with these arguments beside the address.
    pub(crate) fn start(count: usize, arguments: &[&str]) -> Nodes {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let (addresses, processes) = (0..count)
            .map(|_| {
                let (address, child) = spawn("127.0.0.1:0", &arguments);
                (address, Mutex::new(Some(child)))
            })
            .unzip();
        Nodes { arguments, addresses, processes }
    }

    pub(crate) fn count(&self) -> usize {
        self.addresses.len()
    }

    /// A client of one of them.
    pub(crate) fn client(&self, node: usize) -> Client {
        Client::new(&self.addresses[node])
    }

    /// Asks one of them once; it must answer.
    pub(crate) fn ask(&self, node: usize, method: &str, target: &str, body: &str) -> Said {
        let said = self.client(node).ask(method, target, None, body);
        said.unwrap_or_else(|| panic!("node {node} does not answer {method} {target}"))
    }

    pub(crate) fn get(&self, node: usize, target: &str) -> Said {
        self.ask(node, "GET", target, "")
    }

    /// A counter of all of them together, by its name in the metrics.
    pub(crate) fn counted(&self, name: &str) -> u64 {
        let counted = |node| {
            let metrics = self.get(node, "/metrics").body;
            let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
            value.unwrap_or_else(|| panic!("{name} is not in {metrics}"))
        };
        (0..self.count()).map(counted).sum()
    }

    /// Such as `-STOP`.
    pub(crate) fn signal(&self, node: usize, signal: &str) {
        let process = self.processes[node].lock().unwrap();
        let id = process.as_ref().expect("it runs").id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Kills a node without a word.
    pub(crate) fn kill(&self, node: usize) {
        let mut child = self.processes[node].lock().unwrap().take().expect("it runs");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Starts a node that was killed, where it was.
    pub(crate) fn start_again(&self, node: usize) {
        let (address, child) = spawn(&self.addresses[node], &self.arguments);
        assert_eq!(address, self.addresses[node]);
        *self.processes[node].lock().unwrap() = Some(child);
    }

    /// Asks a node to stop, and waits for its exit code.
    pub(crate) fn stop(&self, node: usize) -> Option<i32> {
        self.signal(node, "-TERM");
        let mut child = self.processes[node].lock().unwrap().take().expect("it runs");
        let status = within_deadline(|| child.try_wait().unwrap());
        status.code()
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        for process in &self.processes {
            // Also after a panic of somebody who had it; it may have ended already.
            let mut process = process.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if let Some(mut child) = process.take() {
                drop(child.kill());
                drop(child.wait());
            }
        }
    }
}

/// Runs a command of the binary to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    command().args(arguments).output().unwrap()
}

/// The binary, with nothing of our own environment.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boxoffice"));
    command.env_clear().env("BOXOFFICE_LOG", "error");
    command
}

fn spawn(listen: &str, arguments: &[String]) -> (String, Child) {
    let spawned =
        command().args(["serve", "--listen", listen]).args(arguments).stdout(Stdio::piped()).spawn();
    let mut child = spawned.unwrap();
    // It says where it is once it can be asked.
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    let address = first.trim().rsplit_once("http://").unwrap_or_else(|| panic!("{first:?}")).1.to_owned();
    // The rest of its greeting is for people; it must find a reader all the same.
    std::thread::spawn(move || drop(std::io::copy(&mut stdout, &mut std::io::sink())));
    (address, child)
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
