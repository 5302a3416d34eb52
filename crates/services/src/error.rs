//! Why a server does not run.

use std::io;

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program is not there.
    #[error("`{program}` is not installed: it is in the package `{package}` (apt-get install {package})")]
    Missing {
        /// What was looked for.
        program: &'static str,
        /// What has it, on Debian.
        package: &'static str,
    },
    /// The system failed.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What it said.
        error: io::Error,
    },
    /// The server failed.
    #[error("{0}")]
    Wrong(String),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        move |error| Error::Io { what: what.into(), error }
    }
}
