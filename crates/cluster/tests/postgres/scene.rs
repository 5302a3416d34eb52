//! Commands in the words of the domain, and engines to send them to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{BestAvailable, Book, Cancel, Confirm, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::seats::Seat;
use boxoffice_engine::store::Store;
use boxoffice_engine::{Answer, Clock, Engine, InventoryNumber, Settings};

pub(crate) const HALL: &str = "default/event:hall";

/// An engine as a node runs it.
pub(crate) fn node(store: Arc<dyn Store>) -> Engine {
    Engine::start(store, Clock::system(), &Settings { shards: 2, ..Settings::default() }).unwrap()
}

/// A hall of one subsection, A-1.
pub(crate) fn create_hall(rows: u16, cols: u16) -> Command {
    let subsections = vec![SubsectionPlan { number: 1, rows, cols, blocked: Vec::new() }];
    let section = SectionPlan { name: "A".to_owned(), price: Money(1_000), subsections };
    let create = CreateEvent::new("hall", "Hall", Currency(*b"TWD"), vec![section]);
    Command::of(Action::CreateEvent(Box::new(create)))
}

pub(crate) async fn open_hall(engine: &Engine, rows: u16, cols: u16) -> InventoryNumber {
    let answer = engine.submit_to(HALL, create_hall(rows, cols)).await.unwrap();
    assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
    engine.number(HALL).unwrap()
}

/// A hold of the best seat, under a key of the booking's own.
pub(crate) fn hold(id: BookingId, customer: &str) -> Command {
    let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let code = RedeemCode::from_random(u32::from_be_bytes(id.to_bytes()[6..10].try_into().unwrap()));
    let book = Book::new(id, customer, want, code);
    let idempotency =
        Idempotency { key: KeyDigest(id.to_bytes()), fingerprint: 1.into(), keep_seconds: 86_400 };
    Command { by: Actor(1), idempotency: Some(idempotency), action: Action::Book(Box::new(book)) }
}

pub(crate) fn confirm(id: BookingId) -> Command {
    Command::of(Action::Confirm(Confirm {
        booking: id,
        payment_reference: None,
        if_expired: None,
        free_only: false,
    }))
}

pub(crate) fn cancel(id: BookingId) -> Command {
    Command::of(Action::Cancel(Cancel { booking: id, reason: None, ticket: None }))
}

pub(crate) fn booking_of(answer: &Answer) -> Option<Arc<Booking>> {
    match &answer.outcome {
        Outcome::Granted(Grant::Booking(booking)) => Some(Arc::clone(booking)),
        Outcome::Granted(_) | Outcome::Refused(_) => None,
    }
}

/// The seats of a booking.
pub(crate) fn seats_of(booking: &Booking) -> Vec<Seat> {
    match &booking.units {
        Units::Event { seats, .. } => seats.iter().map(|claim| claim.seat).collect(),
        Units::Slot { .. } | Units::Box { .. } => Vec::new(),
    }
}

/// Fails if two of the bookings have the same seat.
#[track_caller]
pub(crate) fn assert_no_seat_twice<'a>(bookings: impl Iterator<Item = &'a Arc<Booking>>) {
    let mut taken = BTreeSet::new();
    for booking in bookings {
        for seat in seats_of(booking) {
            assert!(taken.insert(seat), "{seat:?} was given twice, at last to {booking:?}");
        }
    }
}

/// Waits until something holds; fails if it does not in time.
pub(crate) async fn eventually<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let all = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all)
        .await
        .unwrap_or_else(|_| panic!("{what}: not in time"));
}

/// Writes a measured figure where the output of tests that pass is shown too.
pub(crate) fn say(line: &str) {
    use std::io::Write;
    // Not the macro: its output is kept back.
    std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
}
