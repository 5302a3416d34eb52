//! What can end a run.

use std::io;

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Service(#[from] boxoffice_services::Error),
    #[error("{what}: {error}")]
    Io { what: String, error: io::Error },
    #[error("Redis: {0}")]
    Redis(#[from] redis::RedisError),
    #[error("PostgreSQL: {}", in_full(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// A contender did something else than what it is measured for.
    #[error("{0}")]
    Wrong(String),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        move |error| Error::Io { what: what.into(), error }
    }
}

/// The driver's own text leaves out what the server said.
fn in_full(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => said.to_string(),
        None => error.to_string(),
    }
}
