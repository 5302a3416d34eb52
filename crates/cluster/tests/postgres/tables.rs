//! The tables that people read say the same as the journal, whatever was sold.

use std::collections::BTreeSet;
use std::sync::Arc;

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::pool::Pool;
use boxoffice_core::seats::{Counts, SeatState};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::archive;
use boxoffice_engine::load::load;
use boxoffice_engine::snapshot::{self, Retention};
use boxoffice_engine::stepped::SteppedEngine;
use boxoffice_engine::store::{MemoryStore, Store};
use boxoffice_engine::verify::verify;
use boxoffice_engine::view::{KindView, StockView};
use boxoffice_engine::{Clock, Settings};
use boxoffice_sim::random::Random;
use boxoffice_sim::workload::{START, Workload};
use uuid::Uuid;

use crate::database::Database;

/// Rows as they must be, of one table each.
#[derive(Default)]
struct Expected {
    inventories: BTreeSet<String>,
    bookings: BTreeSet<String>,
    claims: BTreeSet<String>,
    pools: BTreeSet<String>,
    tickets: BTreeSet<String>,
    keys: BTreeSet<String>,
}

/// Reads every inventory and compares the tables with it.
#[track_caller]
pub(crate) fn assert_tables_agree(database: &Database, store: &dyn Store) {
    let mut expected = Expected::default();
    for head in store.heads().unwrap() {
        let inventory = load(store, head.inventory).unwrap().unwrap().inventory;
        let number = head.inventory.0;
        let view = StockView::new(&inventory).unwrap();
        let counts = expected.stock(number, &view);
        let Counts { available, held, sold, blocked } = counts;
        let capacity = available + held + sold + blocked;
        expected.inventories.insert(format!("{number}|{}|{capacity}|{held}|{sold}|{blocked}", head.sequence));
        inventory.bookings().for_each(|booking| expected.booking(number, booking));
        expected.keys.insert(format!("{number}|{}", inventory.memory().len()));
    }
    let found = |query: &str| database.rows(query).into_iter().collect::<BTreeSet<String>>();
    let select = "SELECT number, sequence, capacity, held, sold, blocked FROM inventory";
    assert_eq!(found(select), expected.inventories, "inventory");
    let ms = |column: &str| format!("coalesce((extract(epoch FROM {column}) * 1000)::bigint::text, '-')");
    let select = format!(
        "SELECT id, inventory, customer, status, quantity, total_price, version, coalesce(payment_reference, '-'),
                {}, {}, {}, {}, redeemed_quantity FROM booking",
        ms("created_at"),
        ms("confirmed_at"),
        ms("cancelled_at"),
        ms("redeemed_at"),
    );
    assert_eq!(found(&select), expected.bookings, "booking");
    let select =
        "SELECT inventory, subsection, seat_row, seat, state, coalesce(booking::text, '-') FROM claim";
    assert_eq!(found(select), expected.claims, "claim");
    let select = "SELECT inventory, pool, capacity, held, sold, coalesce(status, '-') FROM pool";
    assert_eq!(found(select), expected.pools, "pool");
    let select = "SELECT inventory, ticket, booking FROM ticket_claim";
    assert_eq!(found(select), expected.tickets, "ticket_claim");
    let select = "SELECT number, (SELECT count(*) FROM idempotency WHERE inventory = number) FROM inventory";
    assert_eq!(found(select), expected.keys, "idempotency");
}

impl Expected {
    /// What the stock says, seats that nobody booked included, and its numbers.
    fn stock(&mut self, number: u32, view: &StockView) -> Counts {
        match &view.kind {
            KindView::Event(event) => {
                for (place, area) in event.areas.iter().enumerate() {
                    self.pool(
                        number,
                        &format!("area {place}"),
                        &area.pool,
                        status(&area.pool, false, "FULL"),
                    );
                }
                for (index, subsection) in event.subsections.iter().enumerate() {
                    for row in 1..=subsection.rows {
                        let blocked =
                            subsection.row(row).enumerate().filter(|(_, state)| *state == SeatState::Blocked);
                        let line = |(seat, _)| format!("{number}|{index}|{row}|{}|blocked|-", seat + 1);
                        self.claims.extend(blocked.map(line));
                    }
                }
                event.totals
            }
            KindView::Schedule(schedule) => {
                let slots = schedule.slots.iter();
                slots
                    .map(|(id, slot)| {
                        let status = status(&slot.pool, slot.closed, "FULL");
                        self.pool(number, &id.to_string(), &slot.pool, status)
                    })
                    .fold(Counts::default(), Counts::plus)
            }
            KindView::Shop(shop) => {
                let boxes = shop.boxes.iter().enumerate();
                boxes
                    .map(|(place, boxed)| {
                        let status = status(&boxed.pool, boxed.closed, "SOLD_OUT");
                        self.pool(number, &format!("box {place}"), &boxed.pool, status)
                    })
                    .fold(Counts::default(), Counts::plus)
            }
        }
    }

    fn pool(&mut self, number: u32, key: &str, pool: &Pool, status: &str) -> Counts {
        self.pools.insert(format!("{number}|{key}|{}|{}|{}|{status}", pool.capacity, pool.held, pool.sold));
        pool.counts()
    }

    fn booking(&mut self, number: u32, booking: &Booking) {
        let id = Uuid::from_bytes(booking.id.to_bytes());
        let ms = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), |at| at.0.to_string());
        let (word, confirmed, cancelled, redeemed) = match booking.status {
            Status::OnHold { .. } => ("on_hold", None, None, None),
            Status::Confirmed { confirmed_at } => ("confirmed", Some(confirmed_at), None, None),
            Status::Redeemed { confirmed_at, redeemed_at } => {
                ("redeemed", Some(confirmed_at), None, Some(redeemed_at))
            }
            Status::Cancelled { confirmed_at, cancelled_at } => {
                ("cancelled", confirmed_at, Some(cancelled_at), None)
            }
            Status::Expired { .. } => ("expired", None, None, None),
        };
        let (units, price) = (booking.units.quantity(), booking.total_price().0);
        let reference = booking.payment_reference().map_or("-", |reference| reference);
        self.bookings.insert(format!(
            "{id}|{number}|{}|{word}|{units}|{price}|{}|{reference}|{}|{}|{}|{}|{}",
            booking.customer,
            booking.version,
            booking.created_at.0,
            ms(confirmed),
            ms(cancelled),
            ms(redeemed),
            booking.redeemed_quantity(),
        ));
        let state = match booking.status {
            Status::OnHold { .. } => "held",
            Status::Confirmed { .. } | Status::Redeemed { .. } => "sold",
            Status::Cancelled { .. } | Status::Expired { .. } => return,
        };
        match &booking.units {
            Units::Event { seats, areas: _ } => {
                for seat in seats.iter().map(|claim| claim.seat) {
                    let place = format!("{}|{}|{}", seat.subsection, seat.row, seat.number);
                    self.claims.insert(format!("{number}|{place}|{state}|{id}"));
                }
            }
            Units::Slot { tickets, .. } => {
                self.tickets.extend(tickets.iter().map(|ticket| format!("{number}|{ticket}|{id}")));
            }
            Units::Box { .. } => {}
        }
    }
}

fn status(pool: &Pool, closed: bool, none_left: &'static str) -> &'static str {
    match (closed, pool.available()) {
        (true, _) => "CLOSED",
        (false, 0) => none_left,
        (false, _) => "ACTIVE",
    }
}

/// A store comes back as it was, also if the beginning of its journals was cut off.
#[test]
fn tables_of_a_restored_store_are_complete() {
    let memory: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let clock = Clock::manual(START);
    let settings = Settings { shards: 1, ..Settings::default() };
    let mut engine = SteppedEngine::start(Arc::clone(&memory), clock.clone(), &settings).unwrap();
    let mut workload = Workload::new(Random::new(11));
    for retention in [Retention::All, Retention::Records(3), Retention::Records(0)] {
        for _ in 0..20 {
            for _ in 0..20 {
                clock.set(clock.now().plus_seconds(3));
                let (name, command) = workload.next(clock.now(), |name| engine.number(name));
                drop(engine.submit(&name, command));
            }
            engine.settle().unwrap();
        }
        for head in memory.heads().unwrap() {
            snapshot::write(&*memory, head.inventory, retention).unwrap();
        }
        // Some records after the snapshot, too.
        let (name, command) = workload.next(clock.now(), |name| engine.number(name));
        drop(engine.submit(&name, command));
        engine.settle().unwrap();
        let mut archived = Vec::new();
        archive::write(&*memory, &mut archived, |_, _| {}).unwrap();
        let database = Database::start();
        let store = database.shared_store();
        archive::restore(&mut archived.as_slice(), &*store, |_| Ok(()), |_| {}).unwrap();
        assert_eq!(verify(&*store, |_, _| {}).unwrap(), verify(&*memory, |_, _| {}).unwrap());
        assert_tables_agree(&database, &*store);
        let mut again = Vec::new();
        archive::write(&*store, &mut again, |_, _| {}).unwrap();
        assert!(again == archived, "the same bytes again");
    }
}

/// Random commands of every kind, retries and misused keys among them.
#[test]
fn tables_say_what_the_journal_says() {
    let database = Database::start();
    let store = database.shared_store();
    let clock = Clock::manual(START);
    let settings = Settings { shards: 2, ..Settings::default() };
    let mut engine = SteppedEngine::start(store.clone(), clock.clone(), &settings).unwrap();
    let mut random = Random::new(7);
    let mut workload = Workload::new(random.fork());
    let (mut statuses, mut pool_statuses) = (BTreeSet::new(), BTreeSet::new());
    for round in 0..60 {
        for _ in 0..50 {
            if random.percent(30) {
                let seconds = if random.percent(2) { 20_000 } else { random.below(60) };
                clock.set(clock.now().plus_seconds(u32::try_from(seconds).unwrap()));
            }
            let (name, command) = workload.next(clock.now(), |name| engine.number(name));
            // The journal says what became of it.
            drop(engine.submit(&name, command));
        }
        engine.settle().unwrap();
        pool_statuses.extend(database.rows("SELECT DISTINCT status FROM pool"));
        if round % 10 == 9 {
            assert_tables_agree(&database, &*store);
            statuses.extend(database.rows("SELECT DISTINCT status FROM booking"));
        }
    }
    assert_eq!(statuses.len(), 5, "all of them came up: {statuses:?}");
    assert_eq!(pool_statuses.len(), 4, "all of them came up: {pool_statuses:?}");
}
