//! Runs other programs, saying what and for how long.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Builds the server, and says where it is. As the tests of the whole workspace have it: built alone it would get other features of its
/// dependencies, and so would all of them, for minutes.
pub(crate) fn debug_server(root: &Path) -> Result<PathBuf> {
    let status = cargo()
        .args("test --locked --quiet --no-run --workspace --test api".split(' '))
        .current_dir(root)
        .status()
        .map_err(|error| Error::new(format!("cannot start cargo: {error}")))?;
    if !status.success() {
        return Err(Error::new(format!("the server cannot be built ({status})")));
    }
    Ok(target(root).join("debug/boxoffice"))
}

/// Where cargo puts what it builds.
pub(crate) fn target(root: &Path) -> PathBuf {
    root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// Steps done so far and how long each took.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    root: &'a Path,
    done: Vec<(String, Duration)>,
    /// Of cargo.
    output: String,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(root: &'a Path) -> Steps<'a> {
        Steps { root, done: Vec::new(), output: String::new() }
    }

    /// Runs cargo with these arguments, its output shown as it comes. An error unless it succeeds.
    pub(crate) fn cargo(&mut self, arguments: &str) -> Result<()> {
        let mut command = cargo();
        command.args(arguments.split_whitespace()).current_dir(self.root);
        // Tests are found in what it prints.
        command.env("CARGO_TERM_COLOR", "never");
        let output = self.run(&format!("cargo {arguments}"), || shown_output_of(command))?;
        self.output.push_str(&output);
        Ok(())
    }

    /// Runs a step of our own.
    pub(crate) fn run<T>(&mut self, name: &str, step: impl FnOnce() -> Result<T>) -> Result<T> {
        println!("\n=== {name}");
        let started = Instant::now();
        let result = step();
        let took = started.elapsed();
        match result {
            Ok(done) => {
                println!("=== ok in {:.1} s: {name}", took.as_secs_f64());
                self.done.push((name.to_owned(), took));
                Ok(done)
            }
            Err(error) => Err(Error::new(format!("{name}: {error} after {:.1} s", took.as_secs_f64()))),
        }
    }

    /// What cargo printed in all steps.
    pub(crate) fn output(&self) -> &str {
        &self.output
    }

    /// Prints every step that was done.
    pub(crate) fn summarize(&self) {
        println!("\n=== summary");
        for (name, took) in &self.done {
            println!("{:>8.1} s  {name}", took.as_secs_f64());
        }
        let total: Duration = self.done.iter().map(|(_, took)| took).sum();
        println!("{:>8.1} s  {} steps, all passed", total.as_secs_f64(), self.done.len());
    }
}

/// The output of a program that must succeed, both streams in one, shown as it comes.
pub(crate) fn shown_output_of(mut command: Command) -> Result<String> {
    let what = format!("{command:?}");
    let failed = |error: std::io::Error| Error::new(format!("cannot run {what}: {error}"));
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    command.stdout(writer.try_clone().map_err(failed)?).stderr(writer);
    let mut child = command.spawn().map_err(failed)?;
    // It has the pipe's other end, which would stay open.
    drop(command);
    let (lines, shown) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(std::io::Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            println!("{line}");
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    let mut output = String::new();
    loop {
        match shown.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => output.extend([line.as_str(), "\n"]),
            Err(RecvTimeoutError::Disconnected) => break,
            // A process that the program left behind keeps the pipe open.
            Err(RecvTimeoutError::Timeout) if child.try_wait().map_err(failed)?.is_some() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(output) } else { Err(Error::new(format!("{what} failed ({status})"))) }
}

/// The standard output of a program that must succeed.
pub(crate) fn output_of(command: &mut Command) -> Result<Vec<u8>> {
    let output =
        command.output().map_err(|error| Error::new(format!("cannot start {command:?}: {error}")))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!("{command:?} failed ({}):\n{complaint}", output.status)))
}
