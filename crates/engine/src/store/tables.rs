//! The tables of the embedded store in redb, and how they are read and written.

use std::sync::Arc;

use redb::{ReadTransaction, ReadableTable, TableDefinition, WriteTransaction};
use serde::{Deserialize, Serialize};

use super::StoreError;
use super::pace::Pace;
use super::waiting::Gathered;
use crate::ids::InventoryNumber;
use crate::record::{self, Head, Manifest, RecordError};

pub(super) const JOURNAL: TableDefinition<(u32, u64), &[u8]> = TableDefinition::new("journal");
pub(super) const HEADS: TableDefinition<u32, &[u8]> = TableDefinition::new("heads");
pub(super) const MANIFESTS: TableDefinition<u32, &[u8]> = TableDefinition::new("manifests");
pub(super) const SNAPSHOTS: TableDefinition<(u32, u64, u32), &[u8]> = TableDefinition::new("snapshots");
pub(super) const BOOKING_IDS: TableDefinition<(&str, u128), u32> = TableDefinition::new("booking_ids");
pub(super) const DOCUMENTS: TableDefinition<&str, &[u8]> = TableDefinition::new("documents");
pub(super) const META: TableDefinition<(), &[u8]> = TableDefinition::new("meta");
pub(super) const LOG_KEY: TableDefinition<(), &[u8]> = TableDefinition::new("log_key");

/// What the store knows about itself, in one sealed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Meta {
    pub(super) format: u32,
    /// Inventories so far.
    pub(super) inventories: u64,
}

/// A head, and the number of the commit that wrote it: the highest of all is the number of the last commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptHead {
    pub(super) commit: u64,
    pub(super) head: Head,
}

/// Puts into redb what some commits wrote.
pub(super) fn put(
    transaction: &WriteTransaction,
    gathered: &Gathered,
    pace: &Pace,
) -> Result<(), redb::Error> {
    let corrupted = |error: RecordError| redb::Error::Corrupted(error.to_string());
    let manifests = transaction.open_table(MANIFESTS)?;
    let mut journal = transaction.open_table(JOURNAL)?;
    let mut heads = transaction.open_table(HEADS)?;
    for (number, (commit, head)) in &gathered.heads {
        let kept = KeptHead { commit: *commit, head: head.clone() };
        heads.insert(number.0, record::seal(&kept).as_slice())?;
        pace.step(0);
        // What a snapshot has cut off is not to come back.
        let from = journal_from(manifests.get(number.0)?.as_ref().map(redb::AccessGuard::value));
        for ((_, sequence), record) in gathered.records.range((*number, from)..=(*number, u64::MAX)) {
            journal.insert((number.0, *sequence), record.as_slice())?;
            pace.step(record.len());
        }
    }
    if !gathered.booking_ids.is_empty() {
        let mut booking_ids = transaction.open_table(BOOKING_IDS)?;
        for ((tenant, id), number) in &gathered.booking_ids {
            booking_ids.insert((&**tenant, *id), number.0)?;
            pace.step(0);
        }
    }
    if gathered.created > 0 {
        let mut metas = transaction.open_table(META)?;
        let meta = metas.get(())?.map(|bytes| record::unseal::<Meta>(bytes.value()));
        let meta = meta.ok_or_else(|| redb::Error::Corrupted("there is no meta record".to_owned()))?;
        let mut meta = meta.map_err(corrupted)?;
        meta.inventories += gathered.created;
        metas.insert((), record::seal(&meta).as_slice())?;
    }
    Ok(())
}

/// The first record that a snapshot left, by its manifest. One that cannot be read is for whoever loads the inventory to find out.
fn journal_from(manifest: Option<&[u8]>) -> u64 {
    let manifest = manifest.and_then(|bytes| record::unseal::<Manifest>(bytes).ok());
    manifest.map_or(0, |manifest| manifest.journal_from)
}

/// The records of an inventory after a sequence, from redb and then from what waits.
pub(super) fn read_records(
    transaction: &ReadTransaction,
    waiting: Vec<(u64, Arc<Vec<u8>>)>,
    inventory: InventoryNumber,
    after: u64,
    bytes: usize,
) -> Result<Vec<Vec<u8>>, ReadError> {
    let manifests = transaction.open_table(MANIFESTS)?;
    let from = journal_from(manifests.get(inventory.0)?.as_ref().map(redb::AccessGuard::value));
    let mut next = from.max(after + 1);
    let mut records = Vec::new();
    let mut taken = 0;
    let journal = transaction.open_table(JOURNAL)?;
    for entry in journal.range((inventory.0, next)..=(inventory.0, u64::MAX))? {
        if taken >= bytes && !records.is_empty() {
            return Ok(records);
        }
        let (key, record) = entry?;
        next = key.value().1 + 1;
        taken += record.value().len();
        records.push(record.value().to_vec());
    }
    for (sequence, record) in waiting {
        if sequence < next {
            continue;
        } else if taken >= bytes && !records.is_empty() {
            break;
        }
        taken += record.len();
        records.push(record.to_vec());
    }
    Ok(records)
}

/// Why something could not be read: redb said so, or what it has is not what was written.
pub(super) enum ReadError {
    Below(redb::Error),
    Ours(StoreError),
}

impl<E: Into<redb::Error>> From<E> for ReadError {
    fn from(error: E) -> ReadError {
        ReadError::Below(error.into())
    }
}

pub(super) fn damaged(what: String, error: RecordError) -> ReadError {
    ReadError::Ours(StoreError::Damaged { what, error })
}

pub(super) fn read_head(number: u32, bytes: &[u8]) -> Result<KeptHead, ReadError> {
    let kept: KeptHead =
        record::unseal(bytes).map_err(|error| damaged(format!("the head of inventory #{number}"), error))?;
    if kept.head.inventory.0 != number {
        let message = format!("the head of inventory #{number} is that of {}", kept.head.inventory);
        return Err(ReadError::Ours(StoreError::Inconsistent(message)));
    }
    Ok(kept)
}

pub(super) fn read_snapshot(
    transaction: &ReadTransaction,
    inventory: InventoryNumber,
) -> Result<Option<(Manifest, Vec<u8>)>, ReadError> {
    let manifests = transaction.open_table(MANIFESTS)?;
    let Some(manifest) = manifests.get(inventory.0)? else { return Ok(None) };
    let manifest: Manifest = record::unseal(manifest.value())
        .map_err(|error| damaged(format!("the snapshot's manifest of inventory {inventory}"), error))?;
    let mut contents = Vec::new();
    let pieces = (inventory.0, manifest.sequence, 0)..=(inventory.0, manifest.sequence, u32::MAX);
    for piece in transaction.open_table(SNAPSHOTS)?.range(pieces)? {
        contents.extend_from_slice(piece?.1.value());
    }
    Ok(Some((manifest, contents)))
}
