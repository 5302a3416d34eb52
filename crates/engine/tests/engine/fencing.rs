//! Two writers on one store: nobody is told what was decided on a state that never became durable.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::booking::{Booking, Status, Units};
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
    let settings =
        Settings { shards: 1, seal_ahead_commands_min: Some(1), idle_after, ..Settings::default() };
    SteppedEngine::start(store, clock.clone(), &settings).unwrap()
}

fn answer(mut receipt: Receipt) -> Answer {
    receipt.try_recv().expect("an answer is there").unwrap()
}

fn seat_of(booking: &Booking) -> u16 {
    match &booking.units {
        Units::Event { seats, .. } => seats[0].seat.number,
        Units::Slot { .. } | Units::Box { .. } => panic!("a hall has seats"),
    }
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

/// Lets all writers take every kind of step in turn until nothing moves; how often one of them read the whole inventory.
fn settle_together(writers: &mut [SteppedEngine]) -> usize {
    let mut loads = 0;
    loop {
        let mut moved = false;
        for step in [Step::Wake(0), Step::Seal(0), Step::Commit, Step::Load, Step::Turn] {
            for writer in &mut *writers {
                let did = writer.step(step).unwrap();
                loads += usize::from(did && step == Step::Load);
                moved |= did;
            }
        }
        if !moved {
            return loads;
        }
    }
}

#[test]
fn writers_that_collided_take_turns_and_are_not_fenced_again() {
    let store = Arc::new(MemoryStore::default());
    let clock = Clock::manual(START);
    let mut one = start_at(&store, &clock);
    drop(one.submit("hall", create_hall("hall", 10, 20)));
    one.settle().unwrap();
    let hall = one.number("hall").unwrap();
    let mut writers = vec![one, start_at(&store, &clock), start_at(&store, &clock)];
    let mut made = 0;
    for round in 0..10 {
        let mut receipts = Vec::new();
        for writer in &mut writers {
            for _ in 0..4 {
                made += 1;
                receipts.push(writer.submit("hall", hold(nth(hall, made), 1)));
            }
        }
        let loads = settle_together(&mut writers);
        // Each has to be too late once before it knows.
        assert!(round < 3 || loads == 0, "round {round}: read {loads} times");
        for receipt in receipts {
            assert_eq!(booking_of(&answer(receipt)).units.quantity(), 1);
        }
    }
    // Nobody else has written for a while: no more turns.
    clock.set(START.plus_seconds(60));
    let alone = writers[0].submit("hall", hold(nth(hall, made + 1), 1));
    assert!(writers[0].step(Step::Seal(0)).unwrap(), "it is decided at once");
    writers[0].settle().unwrap();
    answer(alone);
    let loaded = boxoffice_engine::load::load(&*store, hall).unwrap().unwrap().inventory;
    assert_eq!(loaded.sequence(), writers[0].view(hall).unwrap().sequence);
}

#[test]
fn commands_that_wait_for_a_turn_are_decided_in_their_order() {
    let store = Arc::new(MemoryStore::default());
    let mut one = start(&store);
    drop(one.submit("hall", create_hall("hall", 1, 9)));
    one.settle().unwrap();
    let hall = one.number("hall").unwrap();
    let mut other = start(&store);
    // The first is on its way, the second is decided behind it; another writer is faster.
    let first = one.submit("hall", hold(nth(hall, 1), 1));
    assert!(one.step(Step::Seal(0)).unwrap());
    let second = one.submit("hall", hold(nth(hall, 2), 1));
    drop(other.submit("hall", hold(nth(hall, 3), 1)));
    other.settle().unwrap();
    assert!(one.step(Step::Commit).unwrap());
    assert!(one.step(Step::Load).unwrap());
    let third = one.submit("hall", hold(nth(hall, 4), 1));
    assert!(!one.step(Step::Seal(0)).unwrap(), "all wait for the turn");
    one.settle().unwrap();
    let seats = [first, second, third].map(|receipt| seat_of(&booking_of(&answer(receipt))));
    assert_eq!(seats, [2, 3, 4]);
}

#[test]
fn two_fenced_batches_and_what_followed_them_are_decided_again_in_their_order() {
    let store = Arc::new(MemoryStore::default());
    let mut one = start(&store);
    drop(one.submit("hall", create_hall("hall", 1, 9)));
    one.settle().unwrap();
    let hall = one.number("hall").unwrap();
    let mut other = start(&store);
    let first = one.submit("hall", hold(nth(hall, 1), 1));
    assert!(one.step(Step::Seal(0)).unwrap());
    let second = one.submit("hall", hold(nth(hall, 2), 1));
    assert!(one.step(Step::Seal(0)).unwrap(), "sealed ahead");
    let third = one.submit("hall", hold(nth(hall, 3), 1));
    drop(other.submit("hall", hold(nth(hall, 4), 1)));
    other.settle().unwrap();
    one.settle().unwrap();
    let seats = [first, second, third].map(|receipt| seat_of(&booking_of(&answer(receipt))));
    assert_eq!(seats, [2, 3, 4]);
}
