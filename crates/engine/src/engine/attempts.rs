//! Refused and failed booking attempts: what the engine hands through to the store.

use super::Engine;
use crate::answer::SubmitError;
use crate::attempt::{Attempt, AttemptFilter, AttemptId};
use crate::store::StoreError;

impl Engine {
    /// Keeps booking attempts that were refused or failed. Blocks for as long as a commit takes.
    ///
    /// # Errors
    /// If the store cannot be written: then the engine has stopped, unless the store is only away.
    pub fn keep_attempts(&self, attempts: &[Attempt]) -> Result<(), SubmitError> {
        self.write(|store| store.keep_attempts(attempts))
    }

    /// Removes attempts that are too old or too many. Blocks for as long as that takes.
    ///
    /// # Errors
    /// If the store cannot be written: then the engine has stopped, unless the store is only away.
    pub fn prune_attempts(&self) -> Result<(), SubmitError> {
        self.write(|store| store.prune_attempts(AttemptId::oldest_kept(self.now())))
    }

    /// Some of the attempts that match and are before this one, the newest first. Reads the store.
    pub fn attempts(
        &self,
        filter: &AttemptFilter,
        before: AttemptId,
        limit: usize,
    ) -> Result<Vec<Attempt>, StoreError> {
        self.must_be_available()?;
        self.running.shared.store.attempts(filter, before, limit)
    }
}
