//! A store that other processes share, as far as that shows in how it answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use boxoffice_core::ids::BookingId;
use boxoffice_engine::limits::STORE_ANSWER_MAX;
use boxoffice_engine::record::{Head, Manifest};
use boxoffice_engine::store::{BatchWrite, CommitError, Document, MemoryStore, Store, StoreError, Stored};
use boxoffice_engine::{Clock, Engine, InventoryNumber, Settings, SubmitError};

use crate::scene::{create_hall, eventually, hold};

/// Keeps everything in memory, and can be told not to answer what others did.
#[derive(Default)]
struct SharedStore {
    inner: MemoryStore,
    silent: AtomicBool,
}

impl Store for SharedStore {
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

    fn find_booking(&self, booking: BookingId) -> Result<Option<InventoryNumber>, StoreError> {
        self.inner.find_booking(booking)
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

    fn is_shared(&self) -> bool {
        true
    }

    fn changed_heads(&self, since: i64) -> Result<(Vec<Head>, i64), StoreError> {
        if self.silent.load(Ordering::Acquire) {
            return Err(StoreError::Unavailable("told to be silent".to_owned()));
        }
        Ok((self.inner.heads()?, since))
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}

async fn hall_on(store: &Arc<SharedStore>) -> (Engine, InventoryNumber) {
    let settings = Settings { shards: 1, ..Settings::default() };
    let engine = Engine::start(Arc::clone(store) as Arc<dyn Store>, Clock::system(), &settings).unwrap();
    engine.submit_to("hall", create_hall("hall", 100, 100)).await.unwrap();
    let hall = engine.number("hall").unwrap();
    (engine, hall)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_commits_is_not_away_and_one_that_does_nothing_is() {
    let store = Arc::new(SharedStore::default());
    let (engine, hall) = hall_on(&store).await;
    store.silent.store(true, Ordering::Release);
    let until = Instant::now() + 2 * STORE_ANSWER_MAX;
    while Instant::now() < until {
        let answer = engine.submit(hall, hold(engine.new_booking_id(hall), 1)).await;
        assert!(answer.is_ok(), "{answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    eventually("nothing is heard of it", async || engine.unavailable_for().is_some()).await;
    let refused = engine.submit(hall, hold(engine.new_booking_id(hall), 1)).await;
    assert!(matches!(refused, Err(SubmitError::Unavailable { .. })), "{refused:?}");
    store.silent.store(false, Ordering::Release);
    eventually("it answers again", async || engine.unavailable_for().is_none()).await;
}
