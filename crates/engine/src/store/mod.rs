//! Where the truth is kept. The engine asks for very little of it: see [`Store`].

mod attempts;
mod embedded;
mod files;
mod log;
mod mark;
mod memory;
mod pace;
mod proving;
mod tables;
mod waiting;
mod wiping;

use std::sync::Arc;

use boxoffice_core::change::Change;
use boxoffice_core::ids::BookingId;
use boxoffice_core::time::Timestamp;

use crate::attempt::{Attempt, AttemptFilter, AttemptId, AttemptPage};
use crate::ids::InventoryNumber;
use crate::record::{Hash, Head, Manifest, RecordError};
use crate::routing::{Position, Span};

pub use embedded::{EmbeddedStore, OpenError};
pub use files::Files;
pub use memory::{MemoryStore, NextCommit};

/// Keeps journals, heads and snapshots.
///
/// What the engine relies on:
///
/// - After [`Store::commit`] returned `Ok`, every batch that is not in the returned list of fenced inventories is
///   durable: it survives the process and the machine. All of them became so together.
/// - A batch is *fenced* if the inventory's head is not the one the batch was built on, or if an earlier batch of the inventory
///   in the same commit was, or if others take turns with the inventory and this process did not. Nothing of it was written. The writer drops its state, reads what is there, and decides again.
/// - After an error of `commit` nothing may be assumed: the batches may be durable, or none of them, never some. The store
///   must not be used for another commit; whoever wants to know opens it again and reads.
/// - Reads see what was committed, never half of a commit.
pub trait Store: Send + Sync + 'static {
    /// The heads of all inventories, in order of number.
    fn heads(&self) -> Result<Vec<Head>, StoreError>;

    /// Makes all batches durable together, except those that are fenced, which it names.
    fn commit(&self, batches: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError>;

    /// Head, snapshot and the records after it, all as of one moment; `None` if there is no such inventory.
    fn load(&self, inventory: InventoryNumber) -> Result<Option<Stored>, StoreError>;

    /// The snapshot alone, if there is one.
    fn snapshot(&self, inventory: InventoryNumber) -> Result<Option<(Manifest, Vec<u8>)>, StoreError> {
        Ok(self.load(inventory)?.and_then(|stored| stored.snapshot))
    }

    /// Records after a sequence, in order; some of them if they are many bytes, at least one if there are any.
    fn records(
        &self,
        inventory: InventoryNumber,
        after: u64,
        bytes: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError>;

    /// The inventory of a tenant's booking whose id does not name it. Another tenant may have a booking of the same id.
    fn find_booking(&self, tenant: &str, booking: BookingId) -> Result<Option<InventoryNumber>, StoreError>;

    /// Keeps a snapshot in place of the last one, and forgets the records before `manifest.journal_from`. An older one than the
    /// last is ignored.
    ///
    /// After an error the store must not be used for another commit, as with [`Store::commit`].
    fn write_snapshot(&self, manifest: &Manifest, contents: &[u8]) -> Result<(), CommitError>;

    /// The small records whose names begin with a prefix, in order of name.
    fn documents(&self, prefix: &str) -> Result<Vec<Document>, StoreError>;

    /// The small records that have these names, in no order.
    fn documents_named(&self, names: &[String]) -> Result<Vec<Document>, StoreError> {
        let mut found = Vec::new();
        for name in names {
            found.extend(self.documents(name)?.into_iter().filter(|(found, _)| found == name));
        }
        Ok(found)
    }

    /// Replaces small records, all or none; those without contents are removed.
    ///
    /// After an error the store must not be used for another commit, as with [`Store::commit`].
    fn write_documents(&self, documents: &[(String, Option<Vec<u8>>)]) -> Result<(), CommitError>;

    /// Overwrites what is left on disk of secrets of [`SECRET_BYTES`] random bytes that begin so. All records that contained them must
    /// have been removed durably. Reads the whole store. Stores whose files other programs write leave it to these.
    ///
    /// After an error the store must not be used for another commit, as with [`Store::commit`].
    fn wipe(&self, _starts: &[SecretStart]) -> Result<(), CommitError> {
        Ok(())
    }

    /// Makes a small record unless there is one of that name, and says whether it did. Of several processes one is told yes.
    ///
    /// After an error the store must not be used for another commit, as with [`Store::commit`].
    fn create_document(&self, name: &str, contents: &[u8]) -> Result<bool, CommitError> {
        let found = self.documents(name).map_err(CommitError::from)?;
        let new = found.iter().all(|(found, _)| found != name);
        if new {
            self.write_documents(&[(name.to_owned(), Some(contents.to_vec()))])?;
        }
        Ok(new)
    }

    /// Keeps booking attempts that were refused or failed, for every process that shares the store. A store may keep none.
    ///
    /// After an error the store must not be used for another commit, as with [`Store::commit`].
    fn keep_attempts(&self, _attempts: &[Attempt]) -> Result<(), CommitError> {
        Ok(())
    }

    /// Removes attempts that are older than this one, and the oldest of those that are too many.
    ///
    /// After an error the store must not be used for another commit, as with [`Store::commit`].
    fn prune_attempts(&self, _oldest: AttemptId) -> Result<(), CommitError> {
        Ok(())
    }

    /// Some of the attempts that match and are before this one.
    fn attempts(
        &self,
        _filter: &AttemptFilter,
        _before: AttemptId,
        _limit: usize,
    ) -> Result<AttemptPage, StoreError> {
        Ok(AttemptPage::default())
    }

    /// Whether other processes may write to it as well. If so, the engine follows what they do.
    fn is_shared(&self) -> bool {
        false
    }

    /// What time it is where the store is, if that is the clock by which all who share it can be compared.
    fn time(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    /// Whether this process may do what only one of all that share the store should do. One of them may, until it is gone; for a
    /// moment after that two may think so.
    fn leads(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// The last position of the log that was decided in each of these inventories, as it is at this moment; those of which none
    /// is known are left out. Only of stores that keep them: see [`BatchWrite::positions`].
    fn last_positions(
        &self,
        _inventories: &[InventoryNumber],
    ) -> Result<Vec<(InventoryNumber, Position)>, StoreError> {
        Err(StoreError::Failed("this store keeps no positions of a log".to_owned()))
    }

    /// The heads of these inventories as they are at this moment; those that do not exist are left out.
    fn heads_of(&self, inventories: &[InventoryNumber]) -> Result<Vec<Head>, StoreError> {
        let mut heads = self.heads()?;
        heads.retain(|head| inventories.contains(&head.inventory));
        Ok(heads)
    }

    /// The head of the inventory of a name as it is at this moment, if there is one.
    fn head_named(&self, name: &str) -> Result<Option<Head>, StoreError> {
        Ok(self.heads()?.into_iter().find(|head| &*head.name == name))
    }

    /// The heads that changed since this was last asked, and perhaps some that did not; with what to ask the next time instead
    /// of the first time's zero. Zero asks for all. A change that became visible long after it was made may be left out
    /// otherwise.
    fn changed_heads(&self, since: i64) -> Result<(Vec<Head>, i64), StoreError> {
        Ok((self.heads()?, since))
    }

    /// Asks for the turn to write to an inventory that several processes write to, and calls `then` once, from any thread: with
    /// `true` when it has come, with `false` if it did not come in time. Does not wait itself. Whoever has a turn is alone with the
    /// inventory as long as all keep to their turns; nothing may depend on that.
    fn take_turn(&self, _inventory: InventoryNumber, then: ToldOfTurn) {
        then(false);
    }

    /// The turn at an inventory, or what was done without, is over. Does not wait.
    fn end_turn(&self, _inventory: InventoryNumber) {}

    /// Whoever uses it wants to stop: from now on a commit whose outcome is not known may fail after some seconds, and chores are done as
    /// fast as they can be.
    fn hurry(&self) {}

    /// Whether there is something to do that commits need not wait for yet.
    fn has_chores(&self) -> bool {
        false
    }

    /// Does it, beside commits and taking its time; says whether there was anything. If nobody does, commits do it themselves when they must.
    ///
    /// After an error the store must not be used for another commit, as with [`Store::commit`].
    fn do_chores(&self) -> Result<bool, CommitError> {
        Ok(false)
    }

    /// Makes everything durable and lets go of it. Nothing is written afterwards.
    fn close(&self) -> Result<(), StoreError>;
}

/// Whom to tell whether a turn has come: see [`Store::take_turn`].
pub type ToldOfTurn = Box<dyn FnOnce(bool) + Send>;

/// A small record of whoever embeds the engine (API keys, webhooks, settings) and its name.
pub type Document = (String, Vec<u8>);

/// Bytes of a secret that can be wiped.
pub const SECRET_BYTES: usize = 32;

/// The first half of a secret: enough to find it by, and not enough to use it.
pub type SecretStart = [u8; SECRET_BYTES / 2];

impl From<StoreError> for CommitError {
    fn from(error: StoreError) -> CommitError {
        match error {
            StoreError::Unavailable(problem) => CommitError::Unavailable(problem),
            StoreError::Failed(_) | StoreError::Damaged { .. } | StoreError::Inconsistent(_) => {
                CommitError::Failed(error.to_string())
            }
        }
    }
}

/// One batch of one inventory on its way into a store.
#[derive(Debug, Clone)]
pub struct BatchWrite {
    /// The head that it was built on; zeros if this batch creates the inventory.
    pub previous: Hash,
    /// The head after it.
    pub head: Head,
    /// Of the journal: see [`crate::record`].
    pub record: Arc<Vec<u8>>,
    /// What is in the record, for stores that keep more than bytes.
    pub changes: Arc<Vec<Change>>,
    /// New bookings whose ids do not name the inventory. They are unique within the tenant that the head's name begins with.
    pub chosen_ids: Vec<BookingId>,
    /// The positions of the commands that were decided in it, if they came from the log. It is fenced if the store has one
    /// that is not before all of them, and otherwise the last of them is kept with it. Only for stores that keep positions.
    pub positions: Option<Span>,
}

impl BatchWrite {
    /// Whether nothing changed: only its positions are to be kept, if the head is still the one that it was decided on.
    pub fn is_mark(&self) -> bool {
        self.head.hash == self.previous
    }
}

/// An inventory as a store has it.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Where it stands.
    pub head: Head,
    /// The last snapshot.
    pub snapshot: Option<(Manifest, Vec<u8>)>,
    /// All records after the snapshot, in order.
    pub records: Vec<Vec<u8>>,
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store does not answer at the moment. It may in the next.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// The store below failed.
    #[error("the store cannot be read: {0}")]
    Failed(String),
    /// What it has is not what was written.
    #[error("{what} is damaged: {error}")]
    Damaged {
        /// Which record.
        what: String,
        /// How.
        error: RecordError,
    },
    /// Its parts do not fit together.
    #[error("the store is damaged: {0}")]
    Inconsistent(String),
}

/// Why a commit did not succeed. Nothing may be assumed about its batches.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// The store does not answer. Of [`Store::commit`] this is as final as every other error: it tries until it knows, or until
    /// it is told to hurry. What else writes gives up sooner, and may be asked for again.
    #[error("the store does not answer: {0}")]
    Unavailable(String),
    /// No room is left on the disk.
    #[error("the disk is full: {0}")]
    Full(String),
    /// Writing or making durable failed.
    #[error("the store cannot be written: {0}")]
    Failed(String),
}
