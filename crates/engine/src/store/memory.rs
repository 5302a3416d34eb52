//! A store in memory with a live and a durable image, for tests of what a crash leaves.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};

use boxoffice_core::ids::{BookingId, tenant_of_name};
use parking_lot::Mutex;

use super::{BatchWrite, CommitError, Document, Store, StoreError, Stored, ToldOfTurn};
use crate::ids::InventoryNumber;
use crate::record::{Hash, Head, Manifest};

/// Keeps everything in memory. What a commit wrote is durable when it returns, unless it was told otherwise.
#[derive(Debug, Default)]
pub struct MemoryStore {
    images: Mutex<Images>,
    turns: Mutex<Turns>,
}

/// Who waits for the turn at each inventory that somebody has; first come, first served, and for ever.
#[derive(Default)]
struct Turns {
    waiting: HashMap<InventoryNumber, VecDeque<ToldOfTurn>>,
}

impl std::fmt::Debug for Turns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.waiting.keys()).finish()
    }
}

#[derive(Debug, Default)]
struct Images {
    live: Image,
    durable: Image,
    next_commit: NextCommit,
}

/// What the next commit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NextCommit {
    /// It succeeds.
    #[default]
    Succeeds,
    /// It fails, and nothing was made durable.
    FailsBefore,
    /// It fails, and everything was made durable.
    FailsAfter,
    /// It fails for want of room, and nothing was made durable.
    Full,
}

#[derive(Debug, Clone, Default)]
struct Image {
    inventories: BTreeMap<InventoryNumber, Kept>,
    booking_ids: HashMap<(String, BookingId), InventoryNumber>,
    documents: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug, Clone)]
struct Kept {
    head: Head,
    snapshot: Option<(Manifest, Vec<u8>)>,
    records: BTreeMap<u64, Vec<u8>>,
}

impl MemoryStore {
    /// Decides over the next commit, once.
    pub fn next_commit(&self, next: NextCommit) {
        self.images.lock().next_commit = next;
    }

    /// What a process that starts now would find after a crash.
    pub fn after_crash(&self) -> MemoryStore {
        let durable = self.images.lock().durable.clone();
        let images = Images { live: durable.clone(), durable, next_commit: NextCommit::Succeeds };
        MemoryStore { images: Mutex::new(images), turns: Mutex::default() }
    }

    fn write(&self, change: impl FnOnce(&mut Image)) -> Result<(), CommitError> {
        let mut images = self.images.lock();
        let next = std::mem::take(&mut images.next_commit);
        change(&mut images.live);
        match next {
            NextCommit::Succeeds => {
                images.durable = images.live.clone();
                Ok(())
            }
            NextCommit::FailsBefore => Err(CommitError::Failed("told to fail before".to_owned())),
            NextCommit::FailsAfter => {
                images.durable = images.live.clone();
                Err(CommitError::Failed("told to fail after".to_owned()))
            }
            NextCommit::Full => Err(CommitError::Full("told to be full".to_owned())),
        }
    }
}

impl Store for MemoryStore {
    fn heads(&self) -> Result<Vec<Head>, StoreError> {
        Ok(self.images.lock().live.inventories.values().map(|kept| kept.head.clone()).collect())
    }

    fn commit(&self, batches: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        let mut fenced = Vec::new();
        self.write(|image| {
            for batch in batches {
                let number = batch.head.inventory;
                let standing = image.inventories.get(&number).map_or(Hash::default(), |kept| kept.head.hash);
                if standing != batch.previous || fenced.contains(&number) {
                    fenced.push(number);
                    continue;
                }
                let kept = image.inventories.entry(number).or_insert_with(|| Kept {
                    head: batch.head.clone(),
                    snapshot: None,
                    records: BTreeMap::new(),
                });
                kept.head = batch.head.clone();
                kept.records.insert(batch.head.sequence, batch.record.to_vec());
                let tenant = tenant_of_name(&batch.head.name);
                let ids = batch.chosen_ids.iter().map(|&id| ((tenant.to_owned(), id), number));
                image.booking_ids.extend(ids);
            }
        })?;
        Ok(fenced)
    }

    fn load(&self, inventory: InventoryNumber) -> Result<Option<Stored>, StoreError> {
        let images = self.images.lock();
        let Some(kept) = images.live.inventories.get(&inventory) else { return Ok(None) };
        let after = kept.snapshot.as_ref().map_or(0, |(manifest, _)| manifest.sequence);
        let records = kept.records.range(after + 1..).map(|(_, record)| record.clone()).collect();
        Ok(Some(Stored { head: kept.head.clone(), snapshot: kept.snapshot.clone(), records }))
    }

    fn records(
        &self,
        inventory: InventoryNumber,
        after: u64,
        bytes: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let images = self.images.lock();
        let Some(kept) = images.live.inventories.get(&inventory) else { return Ok(Vec::new()) };
        let mut taken = 0;
        let within = |record: &&Vec<u8>| {
            let room = taken < bytes;
            taken += record.len();
            room
        };
        Ok(kept.records.range(after + 1..).map(|(_, record)| record).take_while(within).cloned().collect())
    }

    fn find_booking(&self, tenant: &str, booking: BookingId) -> Result<Option<InventoryNumber>, StoreError> {
        Ok(self.images.lock().live.booking_ids.get(&(tenant.to_owned(), booking)).copied())
    }

    fn write_snapshot(&self, manifest: &Manifest, contents: &[u8]) -> Result<(), CommitError> {
        self.write(|image| {
            let kept = image.inventories.get_mut(&manifest.inventory).expect("snapshots are of what exists");
            if kept.snapshot.as_ref().is_some_and(|(newer, _)| newer.sequence > manifest.sequence) {
                return;
            }
            kept.snapshot = Some((manifest.clone(), contents.to_vec()));
            kept.records = kept.records.split_off(&manifest.journal_from);
        })
    }

    fn documents(&self, prefix: &str) -> Result<Vec<Document>, StoreError> {
        let images = self.images.lock();
        let from = images.live.documents.range(prefix.to_owned()..);
        let named = from.take_while(|(name, _)| name.starts_with(prefix));
        Ok(named.map(|(name, contents)| (name.clone(), contents.clone())).collect())
    }

    fn write_documents(&self, documents: &[(String, Option<Vec<u8>>)]) -> Result<(), CommitError> {
        self.write(|image| {
            for (name, contents) in documents {
                match contents {
                    Some(contents) => image.documents.insert(name.clone(), contents.clone()),
                    None => image.documents.remove(name),
                };
            }
        })
    }

    fn take_turn(&self, inventory: InventoryNumber, then: ToldOfTurn) {
        match self.turns.lock().waiting.entry(inventory) {
            Entry::Occupied(mut taken) => return taken.get_mut().push_back(then),
            Entry::Vacant(free) => drop(free.insert(VecDeque::new())),
        }
        then(true);
    }

    fn end_turn(&self, inventory: InventoryNumber) {
        let mut turns = self.turns.lock();
        let next = turns.waiting.get_mut(&inventory).and_then(VecDeque::pop_front);
        if next.is_none() {
            turns.waiting.remove(&inventory);
        }
        drop(turns);
        if let Some(then) = next {
            then(true);
        }
    }

    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}
