//! `boxoffice openapi`.

use std::io::Write;
use std::process::ExitCode;

/// Prints the document.
pub(crate) fn run() -> ExitCode {
    // Whoever closed the pipe has read enough.
    drop(std::io::stdout().write_all(crate::openapi::text().as_bytes()));
    ExitCode::SUCCESS
}
