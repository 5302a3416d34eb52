//! A database that is away for a moment, and what webhooks are told after it.

use std::sync::atomic::{AtomicBool, Ordering};

use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{BestAvailable, Book, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::ids::{Actor, BookingId};
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;
use boxoffice_engine::record::{Head, Manifest};
use boxoffice_engine::store::{BatchWrite, CommitError, MemoryStore, Store, Stored};
use boxoffice_engine::{Clock, Settings};
use parking_lot::RwLock;

use super::super::Topic;
use super::*;

/// A store of several servers that takes no documents while it is away.
#[derive(Default)]
struct AwayStore {
    inner: MemoryStore,
    is_away: AtomicBool,
}

impl Store for AwayStore {
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
        self.inner.find_booking(tenant, booking)
    }

    fn write_snapshot(&self, manifest: &Manifest, contents: &[u8]) -> Result<(), CommitError> {
        self.inner.write_snapshot(manifest, contents)
    }

    fn documents(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.inner.documents(prefix)
    }

    fn write_documents(&self, documents: &[Document]) -> Result<(), CommitError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(CommitError::Unavailable("nobody answers".to_owned()));
        }
        self.inner.write_documents(documents)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn close(&self) -> Result<(), StoreError> {
        self.inner.close()
    }
}

const HALL: &str = "default/event:hall";

fn create() -> Command {
    let subsections = vec![SubsectionPlan { number: 1, rows: 1, cols: 9, blocked: Vec::new() }];
    let section = SectionPlan { name: "A".to_owned(), price: Money(1), subsections };
    let create = CreateEvent::new("hall", "Hall", Currency(*b"TWD"), vec![section]);
    Command::of(Action::CreateEvent(Box::new(create)))
}

async fn book(engine: &Engine, hall: InventoryNumber, customer: &str) {
    let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let book = Book::new(engine.new_booking_id(hall), customer, want, engine.new_redeem_code());
    let answer = engine.submit(hall, Command::of(Action::Book(Box::new(book)))).await.unwrap();
    assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
}

/// Serves a webhook that is told of holds, and of nothing that was before.
async fn serve(store: &Arc<AwayStore>) -> (Engine, InventoryNumber, Arc<Webhooks>, Worker) {
    let shared = Arc::clone(store) as Arc<dyn Store>;
    let engine = Engine::start(shared, Clock::system(), &Settings::default()).unwrap();
    engine.submit_to(HALL, create()).await.unwrap();
    let hall = engine.number(HALL).unwrap();
    let (orders, _taken) = mpsc::channel(1);
    let by_id = RwLock::new(HashMap::new());
    let replaying = tokio::sync::Mutex::default();
    let webhooks = Webhooks {
        secret: [7; 32],
        allow_insecure: false,
        idempotency_keep_seconds: 60,
        by_id,
        orders,
        replaying,
    };
    let webhooks = Arc::new(webhooks);
    let mut worker = Worker::load(&engine, &webhooks).unwrap();
    worker.follow().await.unwrap();
    let webhook = Webhook {
        include_contact: false,
        created_by: Actor::default(),
        id: "wh_1".to_owned(),
        tenant: "default".into(),
        url: "https://example.org".to_owned(),
        events: vec![Topic::Held],
        created_at_ms: 0,
        disabled_at_ms: None,
        fingerprint: None,
    };
    worker.add(webhook).await.unwrap();
    (engine, hall, webhooks, worker)
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_could_not_be_written_down_are_read_again() {
    let store = Arc::new(AwayStore::default());
    let (engine, hall, webhooks, mut worker) = serve(&store).await;

    book(&engine, hall, "ann").await;
    store.is_away.store(true, Ordering::Relaxed);
    assert!(worker.follow().await.is_err());
    store.is_away.store(false, Ordering::Relaxed);
    book(&engine, hall, "bob").await;
    worker.look_at_others = Instant::now();
    worker.follow().await.unwrap();

    // Whoever takes over when this server dies knows what is in the store, and nothing else.
    let left = Worker::load(&engine, &webhooks).unwrap();
    let bodies: Vec<&str> = left.endpoints["wh_1"].pending.values().map(|it| &*it.body).collect();
    for customer in ["ann", "bob"] {
        assert!(bodies.iter().any(|body| body.contains(customer)), "{customer}: {bodies:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cursor_is_set_back_only_if_the_store_is_behind_it() {
    let store = Arc::new(AwayStore::default());
    let (engine, hall, _webhooks, mut worker) = serve(&store).await;
    book(&engine, hall, "ann").await;
    let stands_at = engine.view(hall).await.unwrap().sequence;
    let cursors = &mut worker.endpoints.get_mut("wh_1").unwrap().cursors;
    *cursors.get_mut(&hall.0).unwrap() = Cursor::at(stands_at + 1);
    // A view may be behind what another server committed; the store is behind a cursor only after a restore.
    let later = Instant::now() + LOOK_AT_ALL;
    for (look_at_all, expected) in [(later, stands_at + 1), (Instant::now(), stands_at)] {
        (worker.look_at_others, worker.look_at_all) = (later, look_at_all);
        worker.follow().await.unwrap();
        assert_eq!(worker.endpoints["wh_1"].cursors[&hall.0].sequence, expected);
    }
}
