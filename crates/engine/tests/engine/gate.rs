//! A store whose look-ups wait at a gate, that can be silent or away, and that others may share.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use boxoffice_core::ids::BookingId;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::record::{Head, Manifest};
use boxoffice_engine::store::{BatchWrite, CommitError, Document, MemoryStore, Store, StoreError, Stored};
use boxoffice_engine::{Clock, InventoryNumber};
use tokio::sync::watch;

/// Keeps everything in memory. Looking up an id that a caller chose is the one thing a shard asks of the store: it stops there
/// while the gate is shut.
pub(crate) struct GatedStore {
    pub(crate) inner: MemoryStore,
    is_shared: bool,
    pub(crate) gate: watch::Sender<Gate>,
    /// How many have come to the gate.
    pub(crate) at_gate: watch::Sender<usize>,
    /// By how much its clock is ahead, if others share it.
    pub(crate) ahead_ms: AtomicI64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    Shut,
    /// Shut, and nothing else is heard of the store either.
    Silent,
    Open,
    /// Whoever asks is told that nobody can say at the moment.
    Away,
    Panic,
}

impl GatedStore {
    pub(crate) fn new() -> Arc<GatedStore> {
        GatedStore::of(false)
    }

    /// One that other processes may write to as well.
    pub(crate) fn shared() -> Arc<GatedStore> {
        GatedStore::of(true)
    }

    fn of(is_shared: bool) -> Arc<GatedStore> {
        Arc::new(GatedStore {
            inner: MemoryStore::default(),
            is_shared,
            gate: watch::Sender::new(Gate::Shut),
            at_gate: watch::Sender::new(0),
            ahead_ms: AtomicI64::new(0),
        })
    }

    pub(crate) async fn somebody_waits(&self) {
        self.at_gate.subscribe().wait_for(|&waiting| waiting > 0).await.unwrap();
    }
}

impl Store for GatedStore {
    fn heads(&self) -> Result<Vec<Head>, StoreError> {
        self.inner.heads()
    }

    fn commit(&self, batches: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        self.inner.commit(batches)
    }

    fn load(&self, inventory: InventoryNumber) -> Result<Option<Stored>, StoreError> {
        self.inner.load(inventory)
    }

    fn records(
        &self,
        inventory: InventoryNumber,
        after: u64,
        bytes: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        self.inner.records(inventory, after, bytes)
    }

    fn find_booking(&self, tenant: &str, booking: BookingId) -> Result<Option<InventoryNumber>, StoreError> {
        self.at_gate.send_modify(|waiting| *waiting += 1);
        while matches!(*self.gate.borrow(), Gate::Shut | Gate::Silent) {
            std::thread::yield_now();
        }
        if *self.gate.borrow() == Gate::Away {
            return Err(StoreError::Unavailable("the gate is away".to_owned()));
        }
        assert!(*self.gate.borrow() == Gate::Open, "the gate falls down");
        self.inner.find_booking(tenant, booking)
    }

    fn is_shared(&self) -> bool {
        self.is_shared
    }

    fn time(&self) -> Result<Option<Timestamp>, StoreError> {
        let now = || Timestamp(Clock::system().now().0 + self.ahead_ms.load(Ordering::Acquire));
        Ok(self.is_shared.then(now))
    }

    fn changed_heads(&self, since: i64) -> Result<(Vec<Head>, i64), StoreError> {
        match *self.gate.borrow() {
            Gate::Shut | Gate::Open | Gate::Panic => self.inner.changed_heads(since),
            Gate::Silent | Gate::Away => Err(StoreError::Unavailable("nothing is heard of it".to_owned())),
        }
    }

    fn write_snapshot(&self, manifest: &Manifest, contents: &[u8]) -> Result<(), CommitError> {
        self.inner.write_snapshot(manifest, contents)
    }

    fn documents(&self, prefix: &str) -> Result<Vec<Document>, StoreError> {
        self.inner.documents(prefix)
    }

    fn write_documents(&self, documents: &[(String, Option<Vec<u8>>)]) -> Result<(), CommitError> {
        self.inner.write_documents(documents)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}
