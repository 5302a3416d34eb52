//! `boxoffice openapi`.

use super::console::{Failure, say};

/// Prints the document.
pub(super) fn run() -> Result<(), Failure> {
    say(crate::openapi::text().trim_end())
}
