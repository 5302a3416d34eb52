//! Who decides, when that changes, and when two think it is them.

use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_core::seats::Counts;
use boxoffice_engine::{Engine, InventoryNumber, SubmitError};

use super::scene::{House, KafkaNode};
use crate::scene::{assert_no_seat_twice, booking_of, cancel, confirm, hold, open_hall};

const CLIENTS: usize = 64;
const SEATS: u32 = 3_000;

/// What a client was told.
#[derive(Default)]
struct Told {
    kept: Vec<Arc<Booking>>,
    granted: usize,
    refused: usize,
}

/// A client that books with a key, and pays or cancels on another node. What it is not told it asks again, as its key allows.
async fn buy(nodes: Vec<Engine>, client: usize, attempts: usize, hall: InventoryNumber) -> Told {
    let mut told = Told::default();
    for attempt in 0..attempts {
        let of = |step: usize| &nodes[(client + attempt + step) % nodes.len()];
        let id = of(0).new_booking_id(hall);
        let booking = loop {
            match of(0).submit(hall, hold(id, &format!("client-{client}"))).await {
                Ok(answer) => break booking_of(&answer),
                Err(SubmitError::OutcomeUnknown) => {}
                Err(error) => panic!("{error}"),
            }
        };
        let Some(booking) = booking else {
            told.refused += 1;
            continue;
        };
        told.granted += 1;
        let gone = attempt % 4 == 0;
        let next = if gone { cancel(id) } else { confirm(id) };
        loop {
            match of(1).submit(hall, next.clone()).await {
                Ok(answer) => break assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome),
                Err(SubmitError::OutcomeUnknown) => {}
                Err(error) => panic!("{error}"),
            }
        }
        // Whoever was answered reads it on that node at once.
        let (_, read) = of(1).booking(id).await.unwrap().expect("it was answered, so it is there");
        assert_eq!(read.is_active(), !gone, "{read:?}");
        if !gone {
            told.kept.push(booking);
        }
    }
    told
}

/// Sells a hall through these nodes while something happens, and holds what clients were told against what is there.
async fn sell(house: &House, nodes: &[KafkaNode], attempts: usize, meanwhile: impl AsyncFnOnce()) {
    let hall = open_hall(&nodes[0].engine, 50, 60).await;
    for node in nodes {
        node.knows(hall).await;
    }
    let engines: Vec<Engine> = nodes.iter().map(|node| node.engine.clone()).collect();
    let clients: Vec<_> =
        (0..CLIENTS).map(|client| tokio::spawn(buy(engines.clone(), client, attempts, hall))).collect();
    meanwhile().await;
    let mut all = Told::default();
    for client in clients {
        let told = client.await.unwrap();
        all.kept.extend(told.kept);
        all.granted += told.granted;
        all.refused += told.refused;
    }
    assert_eq!(all.granted + all.refused, CLIENTS * attempts);
    assert_no_seat_twice(all.kept.iter());
    let sold = u32::try_from(all.kept.len()).unwrap();
    let expected = Counts { available: SEATS - sold, held: 0, sold, blocked: 0 };
    for node in nodes {
        node.shows(hall, expected).await;
        let (_, bookings) = node.engine.bookings(hall).await.unwrap();
        assert_eq!(bookings.len(), all.granted, "one booking for each key that was granted");
    }
    assert_eq!(house.messages("dead-letters"), 0);
}

async fn close(house: &House, nodes: Vec<KafkaNode>) {
    for node in nodes {
        node.leave().await;
    }
    house.audit();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_sell_one_hall_to_64_clients_through_kafka() {
    let house = House::open("three-nodes");
    let nodes: Vec<KafkaNode> = (0..3).map(|_| house.node()).collect();
    sell(&house, &nodes, 40, async || {}).await;
    close(&house, nodes).await;
}

/// Both own everything and are given every command: each is decided by both, and counts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_owners_of_everything_at_once_change_nothing() {
    let house = House::open("two-owners");
    let nodes = vec![house.node(), house.node_in("zombies")];
    sell(&house, &nodes, 10, async || {}).await;
    house.caught_up("deciders").await;
    house.caught_up("zombies").await;
    close(&house, nodes).await;
}

/// Nodes come and go: what one has in hand when it loses a partition, the next is given again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_change_hands_in_the_middle_of_batches() {
    let house = House::open("changing-hands");
    let nodes = vec![house.node(), house.node()];
    sell(&house, &nodes, 20, async || {
        for _ in 0..3 {
            let passing = house.node();
            tokio::time::sleep(std::time::Duration::from_millis(700)).await;
            passing.leave().await;
        }
    })
    .await;
    close(&house, nodes).await;
}
