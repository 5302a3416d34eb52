//! What the scrubber finds in views and stores that were altered.

use boxoffice_core::change::Change;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{BestAvailable, Book, Cancel, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;

use super::*;
use crate::limits::SCRUB_BYTES_MAX;
use crate::published::BookingsView;
use crate::record::{self, Head, Manifest};
use crate::scrub::{self, InconsistencyKind};
use crate::store::{BatchWrite, MemoryStore};
use crate::view::KindView;

struct Hall {
    engine: Engine,
    store: Arc<MemoryStore>,
    number: InventoryNumber,
}

fn start(store: &Arc<MemoryStore>) -> Engine {
    let settings = Settings { shards: 1, scrub_every: None, ..Settings::default() };
    Engine::start(Arc::clone(store) as Arc<dyn Store>, Clock::system(), &settings).unwrap()
}

impl Hall {
    /// With two holds and a cancelled booking.
    async fn sold() -> Hall {
        let store = Arc::new(MemoryStore::default());
        let engine = start(&store);
        let subsections = vec![SubsectionPlan { number: 1, rows: 2, cols: 4, blocked: Vec::new() }];
        let section = SectionPlan { name: "A".to_owned(), price: Money(1_000), subsections };
        let create = CreateEvent::new("hall", "hall", Currency(*b"TWD"), vec![section]);
        let create = Command::of(Action::CreateEvent(Box::new(create)));
        engine.submit_to("default/event:hall", create).await.unwrap();
        let number = engine.number("default/event:hall").unwrap();
        let hall = Hall { engine, store, number };
        for customer in ["ann", "ben", "cy"] {
            let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
            let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
            let id = hall.engine.new_booking_id(number);
            let book = Book::new(id, customer, want, hall.engine.new_redeem_code());
            hall.grant(Action::Book(Box::new(book))).await;
            if customer == "ben" {
                hall.grant(Action::Cancel(Cancel { booking: id, reason: None, ticket: None })).await;
            }
        }
        hall
    }

    async fn grant(&self, action: Action) {
        let answer = self.engine.submit(self.number, Command::of(action)).await.unwrap();
        assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
    }

    fn plant(&self, change: impl FnOnce(&mut State)) {
        self.engine.running.registry.of_number(self.number).unwrap().published().unwrap().plant(change);
    }

    fn head(&self) -> Head {
        self.store.heads_of(&[self.number]).unwrap().remove(0)
    }

    /// What a pass finds in the hall.
    fn found(&self) -> Vec<(InconsistencyKind, String)> {
        found(&self.engine)
    }
}

fn found(engine: &Engine) -> Vec<(InconsistencyKind, String)> {
    let found = scrub::pass(&engine.running.shared, SCRUB_BYTES_MAX);
    assert_eq!(found.skipped, []);
    found
        .inconsistencies
        .into_iter()
        .map(|(_, inconsistency)| (inconsistency.kind, inconsistency.difference))
        .collect()
}

#[tokio::test]
async fn nothing_is_found_in_memory_or_in_the_store_where_all_is_right() {
    let hall = Hall::sold().await;
    assert_eq!(hall.found(), []);
    assert_eq!(found(&start(&hall.store)), [], "of one that is not in memory");
    let contents = boxoffice_core::codec::encode_inventory(&inventory_after(&hall, u64::MAX));
    write_snapshot(&hall, &contents, hall.head().sequence);
    assert_eq!(hall.found(), [], "with a snapshot and the end of a journal");
}

#[tokio::test]
async fn inventory_larger_than_the_bound_is_skipped_and_named() {
    let hall = Hall::sold().await;
    let skipped = |engine: &Engine, bytes_max| scrub::pass(&engine.running.shared, bytes_max).skipped;
    assert_eq!(skipped(&hall.engine, 10), [hall.number], "of one in memory");
    assert_eq!(skipped(&start(&hall.store), 10), [hall.number], "of one that is not");
    let contents = boxoffice_core::codec::encode_inventory(&inventory_after(&hall, u64::MAX));
    write_snapshot(&hall, &contents, hall.head().sequence);
    assert_eq!(skipped(&hall.engine, contents.len() - 1), [hall.number], "of one with a large snapshot");
}

#[tokio::test]
async fn a_view_with_wrong_counters_is_found() {
    let hall = Hall::sold().await;
    hall.plant(|state| {
        let mut stock = StockView::clone(&state.stock);
        let KindView::Event(event) = &mut stock.kind else { panic!("it is an event") };
        event.totals.available += 1;
        state.stock = Arc::new(stock);
    });
    let found = hall.found();
    assert!(
        matches!(&*found, [(InconsistencyKind::Stock, difference)] if difference.starts_with("the totals: ")),
        "{found:?}"
    );
}

#[tokio::test]
async fn a_view_with_a_wrong_seat_is_found() {
    let hall = Hall::sold().await;
    // The same counts as of the same sequence, and other seats.
    let inventory = inventory_after(&hall, 2);
    let earlier = StockView::new(&inventory).unwrap();
    hall.plant(|state| {
        let mut stock = StockView::clone(&state.stock);
        let (KindView::Event(event), KindView::Event(earlier)) = (&mut stock.kind, &earlier.kind) else {
            panic!("they are events")
        };
        let mut subsection = (*earlier.subsections[0]).clone();
        subsection.counts = event.subsections[0].counts;
        event.subsections = std::iter::once(Arc::new(subsection)).collect();
        state.stock = Arc::new(stock);
    });
    let found = hall.found();
    let expected = "section A-1: the seats of row 1 are not what they are";
    assert_eq!(found, [(InconsistencyKind::Stock, expected.to_owned())]);
}

#[tokio::test]
async fn a_view_with_a_wrong_or_missing_booking_is_found() {
    let hall = Hall::sold().await;
    let bookings =
        |hall: &Hall| -> Vec<Arc<Booking>> { inventory_after(hall, u64::MAX).bookings().cloned().collect() };
    let right = bookings(&hall);
    let mut wrong = right.clone();
    Arc::make_mut(&mut wrong[1]).customer = "eve".into();
    for (shown, expected) in [(&wrong[..], "is shown as"), (&right[..2], "is not shown")] {
        hall.plant(|state| state.bookings = shown.iter().cloned().collect::<BookingsView>());
        let found = hall.found();
        assert!(
            matches!(&*found, [(InconsistencyKind::Bookings, difference)] if difference.contains(expected)),
            "{found:?}"
        );
    }
    hall.plant(|state| state.bookings = right.iter().cloned().collect());
    assert_eq!(hall.found(), []);
}

#[tokio::test]
async fn a_snapshot_that_the_journal_does_not_lead_to_is_found_while_the_server_sells() {
    let hall = Hall::sold().await;
    let mut inventory = inventory_after(&hall, hall.head().sequence - 1);
    inventory.replay(&[Change::KeysForgotten { through: Timestamp(0) }]);
    write_snapshot(&hall, &boxoffice_core::codec::encode_inventory(&inventory), hall.head().sequence);
    let expected =
        [(InconsistencyKind::Snapshot, "the snapshot is not the state that the journal leads to".to_owned())];
    assert_eq!(hall.found(), expected);
    assert_eq!(found(&start(&hall.store)), expected);
}

#[tokio::test]
async fn a_record_that_is_not_what_was_written_is_found() {
    let hall = Hall::sold().await;
    let head = hall.head();
    let record = record::encode_record(hall.number, head.sequence, head.hash, &[]).0;
    let write = BatchWrite {
        previous: head.hash,
        head,
        record: Arc::new(record),
        changes: Arc::default(),
        chosen_ids: Vec::new(),
        positions: None,
    };
    hall.store.commit(&[&write]).unwrap();
    let found = hall.found();
    assert!(matches!(&*found, [(InconsistencyKind::Journal, _)]), "{found:?}");
}

/// The hall as its journal has it after a record.
fn inventory_after(hall: &Hall, last: u64) -> boxoffice_core::inventory::Inventory {
    let mut inventory = boxoffice_core::inventory::Inventory::default();
    for bytes in hall.store.records(hall.number, 0, usize::MAX).unwrap() {
        let record = record::decode_record(&bytes).unwrap();
        if record.sequence <= last {
            inventory.replay(&record.changes);
        }
    }
    inventory
}

fn write_snapshot(hall: &Hall, contents: &[u8], sequence: u64) {
    let manifest = Manifest {
        inventory: hall.number,
        sequence,
        hash: hall.head().hash,
        bytes: contents.len() as u64,
        contents: record::hash_of(contents),
        journal_from: 1,
    };
    hall.store.write_snapshot(&manifest, contents).unwrap();
}
