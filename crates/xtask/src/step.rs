//! Runs other programs, saying what and for how long.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::test_output::{failed_tests, suite_times};

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

/// The steps of a chore. A step that fails does not stop those after it: one run shows all that is wrong.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    root: &'a Path,
    done: Vec<Step>,
    /// Of all steps that print tests.
    output: String,
}

/// What became of one step.
#[derive(Debug)]
struct Step {
    name: String,
    took: Duration,
    result: StepResult,
    /// Seconds of each of its test binaries.
    suites: Vec<(String, f64)>,
}

#[derive(Debug)]
enum StepResult {
    Passed,
    Failed {
        message: String,
        tests: BTreeSet<String>,
    },
    /// Another step that it depends on failed.
    NotRun {
        reason: String,
    },
}

/// Test binaries that take less are left out of the summary.
const SUITE_SECONDS_SHOWN_MIN: f64 = 1.0;

impl<'a> Steps<'a> {
    pub(crate) fn new(root: &'a Path) -> Steps<'a> {
        Steps { root, done: Vec::new(), output: String::new() }
    }

    /// Runs cargo with these arguments, its output shown as it comes. Says whether it succeeded.
    pub(crate) fn cargo(&mut self, arguments: &str) -> bool {
        let mut command = cargo();
        command.args(arguments.split_whitespace()).current_dir(self.root);
        // Tests are found in what it prints.
        command.env("CARGO_TERM_COLOR", "never");
        self.run_tests(&format!("cargo {arguments}"), || shown_output_of(command))
    }

    /// Runs a step of our own. Says whether it succeeded.
    pub(crate) fn run(&mut self, name: &str, step: impl FnOnce() -> Result<()>) -> bool {
        self.run_tests(name, || step().map(|()| String::new()))
    }

    /// Runs a step that returns what its tests printed. Says whether it succeeded.
    pub(crate) fn run_tests(&mut self, name: &str, step: impl FnOnce() -> Result<String>) -> bool {
        println!("\n=== {name}");
        let started = Instant::now();
        let result = step();
        let took = started.elapsed();
        let output = match &result {
            Ok(output) => output.as_str(),
            Err(error) => error.output(),
        };
        let suites = suite_times(output);
        self.output.push_str(output);
        let result = match &result {
            Ok(_) => StepResult::Passed,
            Err(error) => {
                StepResult::Failed { message: error.to_string(), tests: failed_tests(error.output()) }
            }
        };
        let passed = matches!(result, StepResult::Passed);
        let word = if passed { "ok" } else { "FAILED" };
        println!("=== {word} in {:.1} s: {name}", took.as_secs_f64());
        if let StepResult::Failed { message, .. } = &result {
            println!("{message}");
        }
        self.done.push(Step { name: name.to_owned(), took, result, suites });
        passed
    }

    /// Notes a step that cannot run.
    pub(crate) fn leave_out(&mut self, name: &str, reason: &str) {
        println!("\n=== not run: {name}: {reason}");
        let result = StepResult::NotRun { reason: reason.to_owned() };
        self.done.push(Step { name: name.to_owned(), took: Duration::ZERO, result, suites: Vec::new() });
    }

    /// What the tests of all steps printed.
    pub(crate) fn output(&self) -> &str {
        &self.output
    }

    /// Prints every step with its time, and every failure. An error unless all steps passed.
    pub(crate) fn finish(self) -> Result<()> {
        print!("\n=== summary\n{}", self.summary());
        let missed = self.done.iter().filter(|step| !matches!(step.result, StepResult::Passed)).count();
        match missed {
            0 => Ok(()),
            missed => Err(Error::new(format!("{missed} of {} steps did not pass", self.done.len()))),
        }
    }

    fn summary(&self) -> String {
        let mut lines = Vec::new();
        let mut failures = Vec::new();
        for Step { name, took, result, suites } in &self.done {
            let word = match result {
                StepResult::Passed => "ok".to_owned(),
                StepResult::Failed { message, tests } => {
                    failures.extend(tests.iter().map(|test| format!("  {test}  ({name})")));
                    if tests.is_empty() {
                        // Its first line says what went wrong; the rest stands above.
                        let line = message.lines().next().unwrap_or_default();
                        failures.push(format!("  {name}: {line}"));
                    }
                    "FAILED".to_owned()
                }
                StepResult::NotRun { reason } => {
                    failures.push(format!("  {name}: not run: {reason}"));
                    "NOT RUN".to_owned()
                }
            };
            lines.push(format!("{:>8.1} s  {word:<7}  {name}", took.as_secs_f64()));
            let long = suites.iter().filter(|(_, seconds)| *seconds >= SUITE_SECONDS_SHOWN_MIN);
            lines.extend(long.map(|(suite, seconds)| format!("{:>23} {seconds:>8.1} s  {suite}", "")));
        }
        let total: Duration = self.done.iter().map(|step| step.took).sum();
        let count =
            |wanted: fn(&StepResult) -> bool| self.done.iter().filter(|step| wanted(&step.result)).count();
        lines.push(format!(
            "{:>8.1} s  {} steps: {} passed, {} failed, {} not run",
            total.as_secs_f64(),
            self.done.len(),
            count(|result| matches!(result, StepResult::Passed)),
            count(|result| matches!(result, StepResult::Failed { .. })),
            count(|result| matches!(result, StepResult::NotRun { .. })),
        ));
        if !failures.is_empty() {
            lines.push(format!("\n=== {} failures", failures.len()));
            lines.append(&mut failures);
        }
        lines.join("\n") + "\n"
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
    if status.success() {
        Ok(output)
    } else {
        Err(Error::with_output(format!("{what} failed ({status})"), output))
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

#[cfg(test)]
mod tests {
    use super::*;

    const FAILING: &str = "     Running tests/api/main.rs (/t/debug/deps/api-77)\n\
                           test one ... ok\n\
                           test two ... FAILED\n\
                           test result: FAILED. 1 passed; 1 failed; finished in 30.25s\n\
                           \x20    Running tests/quick.rs (/t/debug/deps/quick-78)\n\
                           test three ... ok\n\
                           test result: ok. 1 passed; finished in 0.25s\n";

    /// The summary without the times of the steps, which differ from run to run.
    fn untimed(steps: &Steps<'_>) -> String {
        let without_time = |line: &str| match line.split_once(" s  ") {
            Some((time, rest)) if !time.starts_with("          ") => rest.trim_end().to_owned(),
            _ => line.trim().to_owned(),
        };
        steps.summary().lines().map(without_time).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn steps_after_a_failed_one_run_and_the_summary_lists_every_failure() {
        let mut steps = Steps::new(Path::new("."));
        let mut ran = Vec::new();
        assert!(steps.run("first", || Ok(())));
        assert!(!steps.run_tests("tests", || Err(Error::with_output("it failed", FAILING.to_owned()))));
        steps.leave_out("pages", "the build failed");
        assert!(!steps.run("tidy", || Err(Error::new("2 findings:\na.rs:1\nb.rs:2"))));
        assert!(steps.run("last", || {
            ran.push("last");
            Ok(())
        }));
        assert_eq!(ran, ["last"]);
        assert_eq!(steps.output(), FAILING);
        let expected = "ok       first\n\
                        FAILED   tests\n\
                        30.2 s  api\n\
                        NOT RUN  pages\n\
                        FAILED   tidy\n\
                        ok       last\n\
                        5 steps: 2 passed, 2 failed, 1 not run\n\
                        \n\
                        === 3 failures\n\
                        api::two  (tests)\n\
                        pages: not run: the build failed\n\
                        tidy: 2 findings:";
        assert_eq!(untimed(&steps), expected);
        let error = steps.finish().unwrap_err().to_string();
        assert_eq!(error, "3 of 5 steps did not pass");
    }

    #[test]
    fn a_run_without_failures_ends_well() {
        let mut steps = Steps::new(Path::new("."));
        assert!(steps.run("first", || Ok(())));
        assert_eq!(untimed(&steps), "ok       first\n1 steps: 1 passed, 0 failed, 0 not run");
        steps.finish().unwrap();
    }

    #[test]
    fn a_step_that_is_not_run_fails_the_whole() {
        let mut steps = Steps::new(Path::new("."));
        steps.leave_out("pages", "the build failed");
        assert!(steps.finish().is_err());
    }

    #[test]
    fn output_of_a_failed_program_is_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo test two ... FAILED; exit 3"]);
        let error = shown_output_of(command).unwrap_err();
        assert_eq!(error.output(), "test two ... FAILED\n");
        assert!(error.to_string().ends_with("failed (exit status: 3)"), "{error}");
    }
}
