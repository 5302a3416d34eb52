//! A copy of the repository that may be damaged.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Suite;
use crate::error::{Error, Result};
use crate::sources;
use crate::step::cargo;

/// A copy of the repository's files in a temporary directory, removed when dropped.
#[derive(Debug)]
pub(super) struct Copy {
    root: PathBuf,
}

/// What the tests said.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed { test: String },
    TimedOut,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Passed => f.write_str("passed"),
            Verdict::Failed { test } => f.write_str(test),
            Verdict::TimedOut => f.write_str("tests that did not end in time"),
        }
    }
}

impl Copy {
    pub(super) fn of(repository: &Path) -> Result<Copy> {
        let root = std::env::temp_dir().join(format!("boxoffice-planted-bugs-{}", std::process::id()));
        let copy = Copy { root };
        for file in sources::files(repository)? {
            let target = copy.root.join(&file);
            let folder = target.parent().unwrap_or(&copy.root);
            fs::create_dir_all(folder).and_then(|()| fs::copy(repository.join(&file), &target)).map_err(
                |error| Error::new(format!("cannot copy {file} to {}: {error}", target.display())),
            )?;
        }
        Ok(copy)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn read(&self, file: &str) -> Result<String> {
        fs::read_to_string(self.root.join(file))
            .map_err(|error| Error::new(format!("cannot read {file}: {error}")))
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Result<()> {
        fs::write(self.root.join(file), text)
            .map_err(|error| Error::new(format!("cannot write {file}: {error}")))
    }

    /// Compiles the tests of a suite; what the compiler said if it refuses.
    pub(super) fn build(&self, suite: Suite) -> Result<std::result::Result<(), String>> {
        let output = self
            .cargo_test(suite)
            .arg("--no-run")
            .output()
            .map_err(|error| Error::new(format!("cannot start cargo: {error}")))?;
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(if output.status.success() { Ok(()) } else { Err(complaint) })
    }

    /// Runs the tests of a suite that were built, binary by binary until one fails.
    pub(super) fn test(&self, suite: Suite, model_commands: u32, patience: Duration) -> Result<Verdict> {
        let started = Instant::now();
        for binary in self.test_binaries(suite)? {
            let log = self.root.join("test.log");
            let open = File::create(&log).and_then(|out| Ok((out.try_clone()?, out)));
            let (out, err) =
                open.map_err(|error| Error::new(format!("cannot write {}: {error}", log.display())))?;
            let folder = self.root.join(suite.tests());
            let mut child = Command::new(&binary)
                .current_dir(&folder)
                .env("CARGO_MANIFEST_DIR", &folder)
                .env("BOXOFFICE_MODEL_COMMANDS", model_commands.to_string())
                // The same commands for every bug and every run: a verdict can be repeated.
                .env("BOXOFFICE_SEED", "1")
                .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
                .stdout(out)
                .stderr(err)
                .stdin(Stdio::null())
                .spawn()
                .map_err(|error| Error::new(format!("cannot start {}: {error}", binary.display())))?;
            let status = loop {
                let ended = child.try_wait().map_err(|error| Error::new(format!("cannot wait: {error}")))?;
                if let Some(status) = ended {
                    break status;
                }
                if started.elapsed() > patience {
                    // It may have ended in between; either way it is gone after the wait.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Ok(Verdict::TimedOut);
                }
                std::thread::sleep(Duration::from_millis(20));
            };
            if !status.success() {
                let log = fs::read(&log).unwrap_or_default();
                let test = first_failure(&String::from_utf8_lossy(&log));
                return Ok(Verdict::Failed {
                    test: test.unwrap_or_else(|| format!("a test process ended by {status}")),
                });
            }
        }
        Ok(Verdict::Passed)
    }

    /// The test binaries that cargo built, in the order in which it would run them.
    fn test_binaries(&self, suite: Suite) -> Result<Vec<PathBuf>> {
        let output = self
            .cargo_test(suite)
            .arg("--no-run")
            .output()
            .map_err(|error| Error::new(format!("cannot start cargo: {error}")))?;
        let listing = String::from_utf8_lossy(&output.stderr);
        let binaries: Vec<PathBuf> = executables(&listing).map(|path| self.root.join(path)).collect();
        if binaries.is_empty() {
            return Err(Error::new(format!("cargo named no test binary:\n{listing}")));
        }
        Ok(binaries)
    }

    fn cargo_test(&self, suite: Suite) -> Command {
        let mut command = cargo();
        command
            .args(["test", "--locked"])
            .args(suite.selection())
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.root.join("target"))
            // A bug may leave something unused behind: that is not what it is about.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        command
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.root) {
            eprintln!("cannot remove {}: {error}", self.root.display());
        }
    }
}

/// The paths in lines such as `Executable unittests src/lib.rs (target/debug/deps/boxoffice_core-0123)`.
fn executables(listing: &str) -> impl Iterator<Item = &str> {
    listing.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("Executable ")?;
        let (_, path) = line.rsplit_once('(')?;
        path.strip_suffix(')')
    })
}

/// The name in the first line such as `test booking::tests::a_seat_is_taken ... FAILED`.
fn first_failure(log: &str) -> Option<String> {
    let failure = |line: &str| line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(str::to_owned);
    log.lines().find_map(failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failing_test_is_named() {
        let log = "running 3 tests\ntest a ... ok\ntest b::c ... FAILED\ntest d - should panic ... FAILED\n";
        assert_eq!(first_failure(log).as_deref(), Some("b::c"));
        assert_eq!(first_failure("test a ... ok\n"), None);
    }

    #[test]
    fn test_binaries_are_read_from_what_cargo_prints() {
        let listing = "   Compiling a v0.1.0 (/x/a)\n    Finished `test` profile\n  \
                       Executable unittests src/lib.rs (target/debug/deps/a-01)\n  \
                       Executable tests/model/main.rs (/t/deps/model-02)\n";
        assert_eq!(executables(listing).collect::<Vec<_>>(), ["target/debug/deps/a-01", "/t/deps/model-02"]);
    }
}
