//! Two writers on one store: nobody is told what was decided on a state that never became durable.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::booking::Status;
use boxoffice_engine::stepped::{Receipt, Step, SteppedEngine};
use boxoffice_engine::store::{MemoryStore, Store};
use boxoffice_engine::{Answer, Clock, Settings};

use crate::scene::{START, booking_of, create_hall, hold, nth, refusal_code};

fn start(store: &Arc<MemoryStore>) -> SteppedEngine {
    start_at(store, &Clock::manual(START))
}

fn start_at(store: &Arc<MemoryStore>, clock: &Clock) -> SteppedEngine {
    let store = Arc::clone(store) as Arc<dyn Store>;
    let idle_after = Duration::from_secs(86_400);
    let settings = Settings { shards: 1, seal_ahead_commands_min: 1, idle_after, ..Settings::default() };
    SteppedEngine::start(store, clock.clone(), &settings).unwrap()
}

fn answer(mut receipt: Receipt) -> Answer {
    receipt.try_recv().expect("an answer is there").unwrap()
}

#[test]
fn a_refusal_that_followed_a_fenced_batch_is_decided_again() {
    let store = Arc::new(MemoryStore::default());
    let mut one = start(&store);
    drop(one.submit("hall", create_hall("hall", 1, 2)));
    one.settle().unwrap();
    let hall = one.number("hall").unwrap();

    // Both seats, on their way; then one seat, refused because of them, on its way behind.
    let both = one.submit("hall", hold(nth(hall, 1), 2));
    assert!(one.step(Step::Seal(0)).unwrap());
    let single =
        one.submit("hall", boxoffice_core::command::Command { idempotency: None, ..hold(nth(hall, 2), 1) });
    assert!(one.step(Step::Seal(0)).unwrap(), "sealed ahead");

    let mut other = start(&store);
    let elsewhere = other.submit("hall", hold(nth(hall, 3), 1));
    other.settle().unwrap();
    assert_eq!(booking_of(&answer(elsewhere)).units.quantity(), 1);

    one.settle().unwrap();
    assert_eq!(refusal_code(&answer(both)), "NOT_ENOUGH_SEATS");
    assert_eq!(booking_of(&answer(single)).units.quantity(), 1, "the seat that nobody has");
}

#[test]
fn a_hold_whose_end_was_fenced_ends_all_the_same() {
    let store = Arc::new(MemoryStore::default());
    let clock = Clock::manual(START);
    let mut one = start_at(&store, &clock);
    drop(one.submit("hall", create_hall("hall", 1, 9)));
    one.settle().unwrap();
    let hall = one.number("hall").unwrap();
    drop(one.submit("hall", hold(nth(hall, 1), 1)));
    one.settle().unwrap();
    // Another writer comes, books, and is never heard of again.
    let mut other = start_at(&store, &clock);
    clock.set(START.plus_seconds(5));
    drop(other.submit("hall", hold(nth(hall, 2), 1)));
    other.settle().unwrap();
    for seconds in [900, 905, 4_000] {
        clock.set(START.plus_seconds(seconds));
        one.settle().unwrap();
    }
    let loaded = boxoffice_engine::load::load(&*store, hall).unwrap().unwrap().inventory;
    for number in [1, 2] {
        let status = loaded.booking(nth(hall, number)).unwrap().status;
        assert!(matches!(status, Status::Expired { .. }), "{number}: {status:?}");
    }
    assert_eq!(one.view(hall).unwrap().sequence, loaded.sequence());
}

#[test]
fn two_writers_that_end_the_same_hold_in_the_same_moment_do_not_book_what_they_refuse() {
    let store = Arc::new(MemoryStore::default());
    let clock = Clock::manual(START);
    let mut one = start_at(&store, &clock);
    drop(one.submit("hall", create_hall("hall", 1, 9)));
    one.settle().unwrap();
    let hall = one.number("hall").unwrap();
    drop(one.submit("hall", hold(nth(hall, 1), 1)));
    one.settle().unwrap();
    let mut other = start_at(&store, &clock);
    clock.set(START.plus_seconds(900));
    other.settle().unwrap();
    // The same record, byte for byte: what is sealed behind it fits the chain.
    assert!(one.step(Step::Wake(0)).unwrap());
    assert!(one.step(Step::Seal(0)).unwrap());
    let behind =
        one.submit("hall", boxoffice_core::command::Command { idempotency: None, ..hold(nth(hall, 2), 1) });
    assert!(one.step(Step::Seal(0)).unwrap(), "sealed ahead");
    one.settle().unwrap();
    assert_eq!(booking_of(&answer(behind)).units.quantity(), 1);
}
