//! What may go wrong between a node and its database, and what of it is over in a moment.

use boxoffice_engine::store::{CommitError, StoreError};

/// The SQLSTATE of a server that has no room left: somebody has to make some.
const DISK_FULL: &str = "53100";

/// Why something was not done.
pub(super) enum Trouble {
    /// Nobody answers at the moment.
    Away(String),
    /// The answer was an error.
    Wrong(sqlx::Error),
}

impl Trouble {
    pub(super) fn of(error: sqlx::Error) -> Trouble {
        if is_passing(&error) { Trouble::Away(failed(&error)) } else { Trouble::Wrong(error) }
    }
}

impl From<Trouble> for StoreError {
    fn from(trouble: Trouble) -> StoreError {
        match trouble {
            Trouble::Away(problem) => StoreError::Unavailable(problem),
            Trouble::Wrong(error) => StoreError::Failed(failed(&error)),
        }
    }
}

impl From<Trouble> for CommitError {
    fn from(trouble: Trouble) -> CommitError {
        match trouble {
            Trouble::Away(problem) => CommitError::Unavailable(problem),
            Trouble::Wrong(error) if is_full(&error) => CommitError::Full(failed(&error)),
            Trouble::Wrong(error) => CommitError::Failed(failed(&error)),
        }
    }
}

/// What happened, without what the driver puts around it.
pub(super) fn failed(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(said) => match said.code() {
            Some(code) => format!("{} (SQLSTATE {code})", said.message()),
            None => said.message().to_owned(),
        },
        other => other.to_string(),
    }
}

/// Whether it may be over in a moment: the connection was lost, the server restarts, another one takes over, somebody held a
/// lock for too long.
pub(super) fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(said) => said.code().is_some_and(|code| is_passing_state(&code)),
        _ => false,
    }
}

/// The same of what the server said, by its SQLSTATE.
fn is_passing_state(code: &str) -> bool {
    match code {
        DISK_FULL => false,
        // No writes, as on a server that another one has taken over from; a transaction that was idle; a lock that did not come.
        "25006" | "25P03" | "55P03" => true,
        // Connections; serialization and deadlocks; memory and sessions; shutdowns and cancelled statements; what is below the
        // server.
        _ => ["08", "40", "53", "57", "58"].iter().any(|class| code.starts_with(class)),
    }
}

pub(super) fn is_full(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(said) if said.code().as_deref() == Some(DISK_FULL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failover_brings_passes_and_what_is_wrong_does_not() {
        for passing in
            ["08006", "40P01", "25006", "53200", "53300", "55P03", "57P01", "57P02", "57P03", "58030"]
        {
            assert!(is_passing_state(passing), "{passing}");
        }
        for wrong in ["53100", "23505", "23514", "25001", "42P01", "XX001"] {
            assert!(!is_passing_state(wrong), "{wrong}");
        }
    }
}
