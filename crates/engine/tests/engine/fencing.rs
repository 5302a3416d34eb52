//! Two writers on one store: nobody is told what was decided on a state that never became durable.

use std::sync::Arc;

use boxoffice_engine::stepped::{Receipt, Step, SteppedEngine};
use boxoffice_engine::store::{MemoryStore, Store};
use boxoffice_engine::{Answer, Clock, Settings};

use crate::scene::{START, booking_of, create_hall, hold, nth, refusal_code};

fn start(store: &Arc<MemoryStore>) -> SteppedEngine {
    let store = Arc::clone(store) as Arc<dyn Store>;
    let settings = Settings { shards: 1, seal_ahead_commands_min: 1, ..Settings::default() };
    SteppedEngine::start(store, Clock::manual(START), &settings).unwrap()
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
