//! Runs other programs, saying what and for how long.

use std::path::{Path, PathBuf};
use std::process::Command;
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
}

impl<'a> Steps<'a> {
    pub(crate) fn new(root: &'a Path) -> Steps<'a> {
        Steps { root, done: Vec::new() }
    }

    /// Runs cargo with these arguments, its output shown as it comes. An error unless it succeeds.
    pub(crate) fn cargo(&mut self, arguments: &str) -> Result<()> {
        let root = self.root;
        self.run(&format!("cargo {arguments}"), || {
            let status = cargo()
                .args(arguments.split_whitespace())
                .current_dir(root)
                .status()
                .map_err(|error| Error::new(format!("cannot start cargo {arguments}: {error}")))?;
            if status.success() { Ok(()) } else { Err(Error::new(format!("failed ({status})"))) }
        })
    }

    /// Runs a step of our own.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n=== {name}");
        let started = Instant::now();
        let result = step();
        let took = started.elapsed();
        match result {
            Ok(()) => {
                println!("=== ok in {:.1} s: {name}", took.as_secs_f64());
                self.done.push((name.to_owned(), took));
                Ok(())
            }
            Err(error) => Err(Error::new(format!("{name}: {error} after {:.1} s", took.as_secs_f64()))),
        }
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
