//! What a reader should not have to check: formatting, lints, structure, licences, advisories.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::step::{Steps, cargo};
use crate::{sources, tidy, web};

/// The database of advisories is some megabytes; a network that does not deliver it in this time is taken for none.
const ADVISORIES_FETCH_MAX: Duration = Duration::from_secs(120);

/// Runs all steps, also those after one that failed.
pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let mut steps = Steps::new(&root);
    steps.cargo("fmt --all --check");
    steps.cargo("clippy --locked --workspace --all-targets -- -D warnings");
    steps.run("tidy", tidy::run);
    steps.run("types of the web pages", web::check_types);
    let mut unchecked = None;
    if steps.run("cargo-deny is installed", deny_is_installed) {
        steps.cargo("deny --workspace check bans licenses sources");
        match fetch_advisories() {
            Ok(()) => drop(steps.cargo("deny --workspace check --disable-fetch advisories")),
            Err(reason) => unchecked = Some(reason),
        }
    } else {
        steps.leave_out("cargo deny", "it is not installed");
    }
    let result = steps.finish();
    // The last line, so that it is not overlooked.
    if let Some(reason) = unchecked {
        println!("advisories not checked: {reason}");
    }
    result
}

fn deny_is_installed() -> Result<()> {
    let found = cargo().args(["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    if found {
        return Ok(());
    }
    Err(Error::new("it is not: `cargo install --locked cargo-deny` (takes some minutes) and run this again"))
}

/// Downloads the database of advisories; the reason in one line if this network does not deliver it.
fn fetch_advisories() -> std::result::Result<(), String> {
    let mut fetch = cargo();
    // Git asks no questions of its own.
    fetch.args(["deny", "--workspace", "--color", "never", "fetch", "db"]).env("GIT_TERMINAL_PROMPT", "0");
    match output_within(fetch, ADVISORIES_FETCH_MAX) {
        Ok(Some(output)) if output.status.success() => Ok(()),
        Ok(Some(output)) => Err(reason_in(&String::from_utf8_lossy(&output.stderr))),
        Ok(None) => Err(format!("no database after {} s", ADVISORIES_FETCH_MAX.as_secs())),
        Err(error) => Err(error.to_string()),
    }
}

/// The line in what git or cargo-deny printed that names the cause: git's last word, or else the last line.
fn reason_in(complaint: &str) -> String {
    let lines = || complaint.lines().map(str::trim).filter(|line| !line.is_empty());
    let cause = lines().rfind(|line| line.starts_with("fatal:")).or_else(|| lines().next_back());
    cause.unwrap_or("cargo deny fetch failed").to_owned()
}

/// The output of a program, or nothing if it does not end in time.
fn output_within(mut command: Command, limit: Duration) -> std::io::Result<Option<Output>> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let started = Instant::now();
    while child.try_wait()?.is_none() {
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.wait_with_output().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_of_a_failed_fetch_is_one_line_of_git() {
        let complaint = "2026-01-01 [ERROR] failed to fetch database: [\"clone\"]\n\
                         Cloning into '/somewhere'...\n\
                         fatal: unable to access the database: Could not resolve host\n\n";
        assert_eq!(reason_in(complaint), "fatal: unable to access the database: Could not resolve host");
        assert_eq!(reason_in("one\ntwo\n"), "two");
        assert_eq!(reason_in(""), "cargo deny fetch failed");
    }

    #[test]
    fn a_program_that_hangs_is_ended_at_the_limit() {
        let mut hanging = Command::new("sleep");
        hanging.arg("1000");
        assert!(output_within(hanging, Duration::ZERO).unwrap().is_none());
        let output = output_within(Command::new("true"), Duration::from_secs(1000)).unwrap();
        assert!(output.unwrap().status.success());
    }
}
