//! From a store's bytes to an inventory, believing nothing that does not fit together.

use std::panic::{AssertUnwindSafe, catch_unwind};

use boxoffice_core::codec;
use boxoffice_core::inventory::Inventory;

use crate::ids::InventoryNumber;
use crate::limits::JOURNAL_READ_BYTES;
use crate::record::{self, Hash, Head, Record, RecordError};
use crate::store::{Store, StoreError, Stored};

/// An inventory as its journal says it is.
#[derive(Debug)]
pub struct Loaded {
    /// Where it stands.
    pub head: Head,
    /// Its state.
    pub inventory: Inventory,
    /// Of the last snapshot; zero without one.
    pub snapshot_bytes: u64,
    /// Of the records since.
    pub journal_bytes: u64,
    /// The first sequence that the journal still has.
    pub journal_from: u64,
}

/// Why an inventory is refused.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store failed, or knows that it is damaged.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its snapshot is not what was written.
    #[error("the snapshot of inventory {inventory} at sequence {sequence} is damaged: {problem}")]
    Snapshot {
        /// Whose.
        inventory: InventoryNumber,
        /// After which record.
        sequence: u64,
        /// How.
        problem: String,
    },
    /// A record is not what was written.
    #[error("journal record {sequence} of inventory {inventory} is damaged: {error}")]
    Record {
        /// Whose.
        inventory: InventoryNumber,
        /// Which one, by its place.
        sequence: u64,
        /// How.
        error: RecordError,
    },
    /// A record is whole, and another one should stand in its place.
    #[error("journal record {sequence} of inventory {inventory} does not follow from the one before it")]
    Chain {
        /// Whose.
        inventory: InventoryNumber,
        /// Which one, by its place.
        sequence: u64,
    },
    /// Every record is whole, and what they say cannot have happened.
    #[error("the journal of inventory {inventory} contradicts itself: {problem}")]
    Contradiction {
        /// Whose.
        inventory: InventoryNumber,
        /// The rule that was broken.
        problem: String,
    },
    /// The journal ends before or after the head.
    #[error("the journal of inventory {inventory} ends at {found}, and must end at {expected}")]
    End {
        /// Whose.
        inventory: InventoryNumber,
        /// What the journal has.
        found: u64,
        /// What the head says.
        expected: u64,
    },
}

/// Records that are decoded and wait to be applied.
const RECORDS_AHEAD: usize = 4;

/// Reads an inventory; `None` if the store has none of that number.
///
/// Replaying panics where a record contradicts the state before it. That condemns the inventory, not the engine.
pub fn load(store: &dyn Store, number: InventoryNumber) -> Result<Option<Loaded>, LoadError> {
    catching_panics(number, || load_trusting(store, number))
}

/// What reads an inventory, with a panic as the error that it means.
pub(crate) fn catching_panics<T>(
    number: InventoryNumber,
    read: impl FnOnce() -> Result<T, LoadError>,
) -> Result<T, LoadError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let problem = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        Err(LoadError::Contradiction { inventory: number, problem: problem.to_owned() })
    })
}

fn load_trusting(store: &dyn Store, number: InventoryNumber) -> Result<Option<Loaded>, LoadError> {
    let Some(Stored { head, snapshot, records }) = store.load(number)? else { return Ok(None) };
    let mut chain = Chain::default();
    let mut inventory = Inventory::default();
    let (mut snapshot_bytes, mut journal_from) = (0, 1);
    if let Some((manifest, contents)) = snapshot {
        let sequence = manifest.sequence;
        let refuse = |problem: String| LoadError::Snapshot { inventory: number, sequence, problem };
        if manifest.inventory != number {
            return Err(refuse(format!("it is of inventory {}", manifest.inventory)));
        }
        if contents.len() as u64 != manifest.bytes {
            return Err(refuse(format!("{} of {} bytes are there", contents.len(), manifest.bytes)));
        }
        if record::hash_of(&contents) != manifest.contents {
            return Err(refuse("the checksum does not match".to_owned()));
        }
        inventory = codec::decode_inventory(&contents).map_err(|error| refuse(error.to_string()))?;
        if inventory.sequence() != sequence {
            return Err(refuse(format!("it is at sequence {}", inventory.sequence())));
        }
        chain = Chain { sequence, hash: manifest.hash };
        (snapshot_bytes, journal_from) = (manifest.bytes, manifest.journal_from);
    }
    let journal_bytes = records.iter().map(|bytes| bytes.len() as u64).sum();
    // Reading the bytes takes as long as applying them: two threads, each a few records apart.
    std::thread::scope(|scope| {
        let (sender, decoded) = std::sync::mpsc::sync_channel(RECORDS_AHEAD);
        scope.spawn(move || {
            for bytes in records {
                // Nobody takes more of them after the first that is refused.
                if sender.send(record::decode_record(&bytes)).is_err() {
                    return;
                }
            }
        });
        for record in decoded {
            inventory.replay(&chain.accept(number, record)?.changes);
        }
        Ok::<(), LoadError>(())
    })?;
    if chain.sequence != head.sequence {
        return Err(LoadError::End { inventory: number, found: chain.sequence, expected: head.sequence });
    }
    if chain.hash != head.hash {
        return Err(LoadError::Chain { inventory: number, sequence: head.sequence });
    }
    Ok(Some(Loaded { head, inventory, snapshot_bytes, journal_bytes, journal_from }))
}

/// Reads the records after the one that somebody knows, with their sizes.
pub(crate) fn catch_up(
    store: &dyn Store,
    number: InventoryNumber,
    mut chain: Chain,
) -> Result<Vec<(Record, u64)>, LoadError> {
    let mut read = Vec::new();
    loop {
        let records = store.records(number, chain.sequence, JOURNAL_READ_BYTES)?;
        if records.is_empty() {
            return Ok(read);
        }
        for bytes in records {
            read.push((chain.follow(number, &bytes)?, bytes.len() as u64));
        }
    }
}

/// The last record that was read, and the check that the next one follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Chain {
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
}

impl Chain {
    /// The next record, if it is whole and stands where it belongs.
    pub(crate) fn follow(&mut self, inventory: InventoryNumber, bytes: &[u8]) -> Result<Record, LoadError> {
        self.accept(inventory, record::decode_record(bytes))
    }

    fn accept(
        &mut self,
        inventory: InventoryNumber,
        decoded: Result<Record, RecordError>,
    ) -> Result<Record, LoadError> {
        let sequence = self.sequence + 1;
        let record = decoded.map_err(|error| LoadError::Record { inventory, sequence, error })?;
        let follows =
            record.inventory == inventory && record.sequence == sequence && record.previous == self.hash;
        if !follows {
            return Err(LoadError::Chain { inventory, sequence });
        }
        *self = Chain { sequence, hash: record.hash };
        Ok(record)
    }
}
