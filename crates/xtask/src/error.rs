//! Why a chore could not be done, in words for the person who ran it.

/// A message, and what a program printed before it failed. Errors are printed and end the process or the step.
#[derive(Debug)]
pub(crate) struct Error {
    message: String,
    output: String,
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Error {
        Error { message: message.into(), output: String::new() }
    }

    /// Of a program whose output names the tests that failed.
    pub(crate) fn with_output(message: impl Into<String>, output: String) -> Error {
        Error { message: message.into(), output }
    }

    /// What the program printed; empty if it was not read.
    pub(crate) fn output(&self) -> &str {
        &self.output
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
