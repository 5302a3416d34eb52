//! Snapshots: made from what the store has, beside the writer and not by it, so that sales go on.

use boxoffice_core::codec;

use crate::ids::InventoryNumber;
use crate::load::{self, LoadError};
use crate::record::{self, Manifest};
use crate::store::{CommitError, Store};

/// How much of the journal is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retention {
    /// All of it: `verify` can replay everything from nothing.
    #[default]
    All,
    /// So many records before the last snapshot, for subscribers that fell behind.
    Records(u64),
}

/// What a snapshot took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Of the snapshot.
    pub snapshot_bytes: u64,
    /// Of the records that it makes unnecessary for loading.
    pub journal_bytes: u64,
}

/// Why a snapshot was not written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The inventory cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The snapshot cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Writes a snapshot of an inventory as the store has it; `None` if it has none of that number, or nothing new.
pub fn write(
    store: &dyn Store,
    number: InventoryNumber,
    retention: Retention,
) -> Result<Option<Written>, SnapshotError> {
    let Some(loaded) = load::load(store, number)? else { return Ok(None) };
    if loaded.journal_bytes == 0 {
        return Ok(None);
    }
    let contents = codec::encode_inventory(&loaded.inventory);
    let sequence = loaded.head.sequence;
    let journal_from = match retention {
        Retention::All => loaded.journal_from,
        Retention::Records(kept) => (sequence + 1).saturating_sub(kept).max(loaded.journal_from),
    };
    let manifest = Manifest {
        inventory: number,
        sequence,
        hash: loaded.head.hash,
        bytes: contents.len() as u64,
        contents: record::hash_of(&contents),
        journal_from,
    };
    store.write_snapshot(&manifest, &contents)?;
    Ok(Some(Written { snapshot_bytes: manifest.bytes, journal_bytes: loaded.journal_bytes }))
}
