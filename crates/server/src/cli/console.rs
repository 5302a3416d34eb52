//! What people and scripts see: lines on standard output, progress and one line of error on standard error.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use tracing_subscriber::EnvFilter;

use crate::problem::Problem;

/// Why a command did not do what was asked, in one line.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    code: u8,
}

/// It failed, or a difference was found.
const FAILED: u8 = 1;
/// What was asked makes no sense; or a rehearsal, whose `FAILED` is a finding, could not be begun or finished.
const COULD_NOT_RUN: u8 = 2;

impl Failure {
    pub(super) fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), code: FAILED }
    }

    /// Of a command line or a configuration that cannot be meant.
    pub(super) fn nonsense(message: impl Into<String>) -> Failure {
        Failure::new(message).could_not_run()
    }

    /// The same, for a command that found nothing because it could not look.
    pub(super) fn could_not_run(self) -> Failure {
        Failure { code: COULD_NOT_RUN, ..self }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::new(error.to_string())
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure::new(problem.cause.map_or(problem.detail.into_owned(), |cause| cause.to_string()))
    }
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people.
    Text,
    /// One object a line, for programs.
    Json,
}

/// Begins to log to standard error; `BOXOFFICE_LOG` says what, and `level` if it is not set.
pub(super) fn log(format: LogFormat, level: &str) {
    let filter = EnvFilter::try_from_env("BOXOFFICE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let colored = std::io::stderr().is_terminal();
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colored).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}

/// The exit code of a command, after its error was told.
pub(super) fn finish(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If nobody reads it there is nobody to tell.
            drop(writeln!(std::io::stderr(), "boxoffice: {failure}"));
            ExitCode::from(failure.code)
        }
    }
}

/// Writes a line to standard output.
pub(super) fn say(line: impl std::fmt::Display) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// A bar on standard error, if that is a terminal.
pub(super) fn counting(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {elapsed}");
    ProgressBar::new(0).with_style(style.expect("the template is well-formed")).with_prefix(what)
}

/// The same for bytes.
pub(super) fn weighing(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {wide_bar} {bytes} of {total_bytes} {elapsed}");
    ProgressBar::new(0).with_style(style.expect("the template is well-formed")).with_prefix(what)
}

/// A short bar with words beside it, for what is worth watching.
pub(super) fn watching(what: &'static str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix} {bar:24} {msg}");
    ProgressBar::new(0).with_style(style.expect("the template is well-formed")).with_prefix(what)
}
