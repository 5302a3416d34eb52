//! Commands that cannot be decided.

use std::time::{Duration, Instant};

use boxoffice_core::command::{Action, Command};
use boxoffice_engine::{InventoryNumber, SubmitError};
use rdkafka::Message;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, OwnedMessage};
use rdkafka::producer::{FutureProducer, FutureRecord};

use super::scene::House;
use crate::scene::{booking_of, eventually, hold, open_hall};

fn header<'a>(message: &'a OwnedMessage, name: &str) -> &'a str {
    let headers = message.headers().expect("dead letters have headers");
    let found = headers.iter().find(|header| header.key == name).and_then(|header| header.value);
    std::str::from_utf8(found.unwrap_or_else(|| panic!("no header {name}"))).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_decided_is_put_aside_and_the_others_go_on() {
    let house = House::open("dead-letters");
    let node = house.node();
    let hall = open_hall(&node.engine, 1, 10).await;
    let producer: FutureProducer = house.config("test").create().unwrap();
    let commands = house.topic("commands");
    for partition in 0..12 {
        let record = FutureRecord::to(&commands).key("nobody").partition(partition).payload("rubbish");
        producer.send(record, Duration::from_secs(10)).await.unwrap();
    }
    let answer = node.engine.submit(hall, hold(node.engine.new_booking_id(hall), "ann")).await.unwrap();
    assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome);
    let nowhere = node.engine.submit(InventoryNumber(77), Command::of(Action::Expire)).await;
    assert_eq!(nowhere, Err(SubmitError::NoSuchInventory), "told before it is sent");

    let reader: BaseConsumer = house.config("readers").set("auto.offset.reset", "earliest").create().unwrap();
    reader.subscribe(&[&house.topic("dead-letters")]).unwrap();
    let mut letters: Vec<OwnedMessage> = Vec::new();
    let start = Instant::now();
    while letters.len() < 12 {
        assert!(start.elapsed() < Duration::from_secs(60), "{} letters", letters.len());
        // An error is told while the reader is not yet where it wants to be.
        if let Some(Ok(letter)) = reader.poll(Duration::from_secs(1)) {
            letters.push(letter.detach());
        }
    }
    for letter in &letters {
        assert_eq!((letter.key(), letter.payload()), (Some(&b"nobody"[..]), Some(&b"rubbish"[..])));
        assert_eq!(header(letter, "topic"), commands);
        assert_eq!(
            header(letter, "reason"),
            "message version 114 is not known; this program reads version 3"
        );
        assert!(header(letter, "offset").parse::<i64>().is_ok());
    }
    let mut partitions: Vec<i32> =
        letters.iter().map(|it| header(it, "partition").parse().unwrap()).collect();
    partitions.sort_unstable();
    assert_eq!(partitions, (0..12).collect::<Vec<i32>>());
    node.leave().await;
    house.audit();
}

/// It may have been answered 202. Whoever can read it decides it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_of_a_newer_program_is_left_to_it() {
    let house = House::open("newer");
    let node = house.node();
    let hall = open_hall(&node.engine, 1, 10).await;
    let answer = node.engine.submit(hall, hold(node.engine.new_booking_id(hall), "ann")).await.unwrap();
    assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome);
    let producer: FutureProducer = house.config("test").create().unwrap();
    let commands = house.topic("commands");
    let newer = FutureRecord::to(&commands).key("hall").partition(0).payload(&[4_u8, 0][..]);
    producer.send(newer, Duration::from_secs(10)).await.unwrap();
    eventually("the server says that it is too old", || async { !node.engine.log_answers() }).await;
    let refused = node.engine.submit(hall, hold(node.engine.new_booking_id(hall), "bob")).await;
    assert!(matches!(refused, Err(SubmitError::Unavailable { .. })), "{refused:?}");
    node.leave().await;
    assert_eq!(house.messages("dead-letters"), 0);
    let next = house.next_of("deciders", 0);
    assert_eq!(next, house.messages_in("commands", 0) - 1, "the next owner is given it");
    house.audit();
}
