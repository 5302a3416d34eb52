//! A broker that is away, and topics that are made anew.

use std::time::{Duration, Instant};

use boxoffice_engine::SubmitError;

use super::scene::House;
use crate::nodes::totals;
use crate::scene::{booking_of, hold, open_hall};

/// A booking under its own key, sent until it is answered.
async fn book(node: &boxoffice_engine::Engine, hall: boxoffice_engine::InventoryNumber, customer: &str) {
    let command = hold(node.new_booking_id(hall), customer);
    let start = Instant::now();
    loop {
        match node.submit(hall, command.clone()).await {
            Ok(answer) => break assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome),
            Err(SubmitError::OutcomeUnknown | SubmitError::Unavailable { .. }) => {
                assert!(start.elapsed() < Duration::from_secs(60), "not answered in time");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_broker_commands_are_refused_at_once_and_reads_go_on() {
    let mut broker = boxoffice_services::Kafka::start().unwrap_or_else(|error| panic!("{error}"));
    let house = House::at("outage", broker.brokers());
    let node = house.node();
    let hall = open_hall(&node.engine, 1, 10).await;
    book(&node.engine, hall, "before").await;
    broker.stop();
    let start = Instant::now();
    let mut refused = 0;
    while refused < 100 {
        let asked = Instant::now();
        match node.engine.submit(hall, hold(node.engine.new_booking_id(hall), "meanwhile")).await {
            Err(SubmitError::Unavailable { .. }) => {
                // Half of how long an answer is waited for while the broker counts as available.
                assert!(asked.elapsed() < Duration::from_secs(5), "refused at once");
                refused += 1;
            }
            Err(SubmitError::OutcomeUnknown) => assert!(start.elapsed() < Duration::from_secs(20)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(totals(&node.engine, hall).await.held, 1, "what is there can be read");
    broker.run().unwrap_or_else(|error| panic!("{error}"));
    book(&node.engine, hall, "after").await;
    node.leave().await;
    let rows =
        house.database.rows("SELECT customer FROM booking WHERE customer <> 'meanwhile' ORDER BY created_at");
    assert_eq!(rows, ["before", "after"]);
    house.audit();
}

/// Offsets begin at zero again: what is new is not taken for what was decided.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_in_a_topic_that_was_made_anew_are_decided() {
    let house = House::open("made-anew");
    let node = house.node();
    let hall = open_hall(&node.engine, 1, 10).await;
    for number in 0..4 {
        book(&node.engine, hall, &format!("before-{number}")).await;
    }
    house.caught_up("deciders").await;
    node.leave().await;
    house.delete_commands().await;
    let node = house.node();
    node.knows(hall).await;
    book(&node.engine, hall, "after").await;
    assert_eq!(totals(&node.engine, hall).await.held, 5);
    node.leave().await;
    assert_eq!(house.database.rows("SELECT log_epoch, log_offset FROM inventory"), ["2|0"]);
    house.audit();
}

/// Quickly enough that nobody loses a partition: only the offsets say that it is another log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_topic_that_is_made_anew_under_a_running_node_is_another_log() {
    let house = House::open("made-anew-running");
    let node = house.node();
    let hall = open_hall(&node.engine, 1, 10).await;
    for number in 0..4 {
        book(&node.engine, hall, &format!("before-{number}")).await;
    }
    house.caught_up("deciders").await;
    house.make_commands_anew().await;
    // Nobody sends them again, and nobody waits for an answer.
    let start = Instant::now();
    let mut taken = 0;
    while taken < 2 {
        let command = hold(node.engine.new_booking_id(hall), "after");
        match node.engine.hand_over(hall, command, "made-anew").await {
            Ok(()) => taken += 1,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(60), "{error}"),
        }
    }
    let all = crate::scene::eventually("what was taken is decided", || async {
        totals(&node.engine, hall).await.held == 6
    });
    all.await;
    node.leave().await;
    assert_eq!(house.database.rows("SELECT log_epoch, log_offset FROM inventory"), ["2|1"]);
    house.audit();
}
