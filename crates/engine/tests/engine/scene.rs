//! Engines on small stores, and the commands to send them.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{BestAvailable, Book, Cancel, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::ids::booking_id;
use boxoffice_engine::store::{MemoryStore, Store};
use boxoffice_engine::{Answer, Clock, Engine, InventoryNumber, Settings};

pub(crate) const START: Timestamp = Timestamp(1_796_083_200_000);

/// An engine on a store in memory, with a clock that stands still.
pub(crate) struct Scene {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Clock,
}

impl Scene {
    pub(crate) fn new() -> Scene {
        Scene::with(&Settings { shards: 2, ..Settings::default() })
    }

    pub(crate) fn with(settings: &Settings) -> Scene {
        let store = Arc::new(MemoryStore::default());
        let clock = Clock::manual(START);
        let engine = start(&store, &clock, settings);
        Scene { engine, store, clock }
    }

    /// What a new process finds after this one died without a word.
    pub(crate) fn after_crash(&self) -> Scene {
        let store = Arc::new(self.store.after_crash());
        let clock = self.clock.clone();
        let engine = start(&store, &clock, &Settings { shards: 1, ..Settings::default() });
        Scene { engine, store, clock }
    }

    /// A hall of one subsection, A-1.
    pub(crate) async fn hall(&self, name: &str, rows: u16, cols: u16) -> InventoryNumber {
        let answer = self.engine.submit_to(name, create_hall(name, rows, cols)).await.unwrap();
        assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
        self.engine.number(name).unwrap()
    }

    /// Sends a command that must be granted.
    pub(crate) async fn grant(&self, hall: InventoryNumber, command: Command) -> Answer {
        let answer = self.engine.submit(hall, command).await.unwrap();
        assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
        answer
    }

    /// Idle inventories are looked for once a second.
    pub(crate) async fn in_memory_after_a_second(&self) -> usize {
        self.later(1).await;
        self.engine.in_memory()
    }

    pub(crate) async fn later(&self, seconds: u32) {
        self.clock.set(self.clock.now().plus_seconds(seconds));
    }
}

fn start(store: &Arc<MemoryStore>, clock: &Clock, settings: &Settings) -> Engine {
    let store: Arc<dyn Store> = Arc::clone(store) as Arc<dyn Store>;
    Engine::start(store, clock.clone(), settings).unwrap()
}

pub(crate) fn create_hall(name: &str, rows: u16, cols: u16) -> Command {
    let subsections = vec![SubsectionPlan { number: 1, rows, cols, blocked: Vec::new() }];
    let section = SectionPlan { name: "A".to_owned(), price: Money(1_000), subsections };
    // The event's own id is without tenant and kind.
    let id = name.rsplit([':', '/']).next().unwrap_or(name);
    let create = CreateEvent::new(id, name, Currency(*b"TWD"), vec![section]);
    Command::of(Action::CreateEvent(Box::new(create)))
}

/// A hold of the best seats, by a customer and under a key of the booking's own.
pub(crate) fn hold(id: BookingId, quantity: u32) -> Command {
    let best = BestAvailable { quantity, section: None, adjacent_required: false };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let bytes = id.to_bytes();
    let code = RedeemCode::from_random(u32::from(bytes[5]) << 8 | u32::from(bytes[4]));
    let book = Book::new(id, &format!("customer-{}", bytes[5]), want, code);
    let idempotency = Idempotency { key: KeyDigest(bytes), fingerprint: 1.into(), keep_seconds: 86_400 };
    Command { by: Actor(1), idempotency: Some(idempotency), action: Action::Book(Box::new(book)) }
}

pub(crate) fn cancel(id: BookingId) -> Command {
    Command::of(Action::Cancel(Cancel { booking: id, reason: None, ticket: None }))
}

/// The n-th booking of a hall.
pub(crate) fn nth(hall: InventoryNumber, number: u8) -> BookingId {
    booking_id(hall, Timestamp(i64::from(number)), u64::from(number))
}

/// An id that names no inventory.
pub(crate) fn chosen(number: u8) -> BookingId {
    BookingId::from_bytes([number; 16])
}

pub(crate) fn refusal_code(answer: &Answer) -> String {
    match &answer.outcome {
        Outcome::Refused(refusal) => refusal.code().to_string(),
        Outcome::Granted(grant) => panic!("granted {grant:?}"),
    }
}

pub(crate) fn booking_of(answer: &Answer) -> Arc<boxoffice_core::booking::Booking> {
    match &answer.outcome {
        Outcome::Granted(Grant::Booking(booking)) => Arc::clone(booking),
        other => panic!("no booking: {other:?}"),
    }
}

/// Waits until something holds; fails if it does not within ten seconds.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let all = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all)
        .await
        .unwrap_or_else(|_| panic!("{what}: not in time"));
}
