//! Commands that are delivered again.

use boxoffice_core::outcome::Outcome;

use super::scene::House;
use crate::scene::{booking_of, cancel, hold, open_hall};

/// Three more owners are given every command from the first one on. Among them are bookings that were refused and would be
/// granted now, because seats are free again: nothing remembers those but the position of the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_delivered_again_changes_nothing() {
    let house = House::open("redelivery");
    let node = house.node();
    let hall = open_hall(&node.engine, 1, 10).await;
    let engine = &node.engine;
    let mut held = Vec::new();
    for number in 0..10 {
        let id = engine.new_booking_id(hall);
        let answer = engine.submit(hall, hold(id, &format!("early-{number}"))).await.unwrap();
        assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome);
        held.push(id);
    }
    for number in 0..10 {
        let mut late = hold(engine.new_booking_id(hall), &format!("late-{number}"));
        late.idempotency = None;
        let answer = engine.submit(hall, late).await.unwrap();
        assert!(matches!(answer.outcome, Outcome::Refused(_)), "sold out: {:?}", answer.outcome);
    }
    for id in held.drain(..5) {
        let answer = engine.submit(hall, cancel(id)).await.unwrap();
        assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome);
    }
    let head = house.head();
    assert_eq!(house.messages("commands"), 25);
    for again in ["again-1", "again-2", "again-3"] {
        let other = house.node_in(again);
        house.caught_up(again).await;
        assert_eq!(house.head(), head, "{again}");
        other.leave().await;
    }
    // And the first owner goes on.
    let id = engine.new_booking_id(hall);
    let answer = engine.submit(hall, hold(id, "last")).await.unwrap();
    assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome);
    let (_, bookings) = engine.bookings(hall).await.unwrap();
    assert_eq!(bookings.len(), 11);
    assert_eq!(house.messages("dead-letters"), 0);
    node.leave().await;
    house.audit();
}
