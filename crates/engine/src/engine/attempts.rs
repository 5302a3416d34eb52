//! Refused and failed booking attempts: what the engine hands through to the store.

use super::Engine;
use crate::answer::SubmitError;
use crate::attempt::{Attempt, AttemptFilter, AttemptId, AttemptPage};
use crate::store::{CommitError, Store, StoreError};

impl Engine {
    /// Keeps booking attempts that were refused or failed. Blocks for as long as a commit takes.
    ///
    /// # Errors
    /// If the store cannot be written: then the engine has stopped, unless the store is only away or shared.
    pub fn keep_attempts(&self, attempts: &[Attempt]) -> Result<(), SubmitError> {
        self.write_attempts(|store| store.keep_attempts(attempts))
    }

    /// Removes attempts that are too old or too many. Blocks for as long as that takes.
    ///
    /// # Errors
    /// As above.
    pub fn prune_attempts(&self) -> Result<(), SubmitError> {
        self.write_attempts(|store| store.prune_attempts(AttemptId::oldest_kept(self.now())))
    }

    /// As [`Engine::write`]. A shared store that refuses attempts loses these and nothing else: they are in a table of their own, and
    /// their transaction was rolled back. An embedded store that cannot write one table cannot be trusted with the next.
    fn write_attempts(
        &self,
        write: impl FnOnce(&dyn Store) -> Result<(), CommitError>,
    ) -> Result<(), SubmitError> {
        self.write(|store| match write(store) {
            Err(error) if store.is_shared() && !matches!(error, CommitError::Unavailable(_)) => {
                tracing::error!(%error, "booking attempts are lost: the store does not take them");
                Ok(())
            }
            written => written,
        })
    }

    /// Some of the attempts that match and are before this one. Reads the store.
    pub fn attempts(
        &self,
        filter: &AttemptFilter,
        before: AttemptId,
        limit: usize,
    ) -> Result<AttemptPage, StoreError> {
        self.must_be_available()?;
        self.running.shared.store.attempts(filter, before, limit)
    }
}
