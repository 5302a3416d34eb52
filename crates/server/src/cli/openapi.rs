//! `boxoffice openapi`.

use std::io::Write;

use super::console::Failure;

/// Prints the document.
pub(super) fn run() -> Result<(), Failure> {
    // Whoever closed the pipe has read enough.
    drop(std::io::stdout().write_all(crate::openapi::text().as_bytes()));
    Ok(())
}
