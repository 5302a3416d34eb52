//! Who decides, when that changes, and when two think it is them.

use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_core::seats::Counts;
use boxoffice_engine::{Engine, InventoryNumber, SubmitError};

use super::scene::{House, KafkaNode};
use crate::scene::{HALL, assert_no_seat_twice, booking_of, cancel, confirm, hold, open_hall};

const CLIENTS: usize = 64;

/// What a client was told.
#[derive(Default)]
struct Told {
    kept: Vec<Arc<Booking>>,
    granted: usize,
    refused: usize,
}

/// What is sold, and how.
#[derive(Clone, Copy)]
struct Sale {
    rows: u16,
    cols: u16,
    attempts: usize,
    /// Without one nothing but the position of the log keeps a booking that was refused from being granted later.
    with_keys: bool,
}

/// A client that books, and pays or cancels on another node. What it is not told it asks again, if its key allows.
async fn buy(nodes: Vec<Engine>, client: usize, sale: Sale, hall: InventoryNumber) -> Told {
    let mut told = Told::default();
    for attempt in 0..sale.attempts {
        let of = |step: usize| &nodes[(client + attempt + step) % nodes.len()];
        let id = of(0).new_booking_id(hall);
        let mut book = hold(id, &format!("client-{client}"));
        book.idempotency = book.idempotency.filter(|_| sale.with_keys);
        let booking = loop {
            match of(0).submit(hall, book.clone()).await {
                Ok(answer) => break booking_of(&answer),
                Err(SubmitError::OutcomeUnknown) if sale.with_keys => {}
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
        let (_, read) = of(1).booking("default", id).await.unwrap().expect("it was answered, so it is there");
        assert_eq!(read.is_active(), !gone, "{read:?}");
        if !gone {
            told.kept.push(booking);
        }
    }
    told
}

/// Sells a hall through these nodes while something happens, and holds what clients were told against what is there.
async fn sell(house: &House, nodes: &[KafkaNode], sale: Sale, meanwhile: impl AsyncFnOnce()) {
    let hall = open_hall(&nodes[0].engine, sale.rows, sale.cols).await;
    for node in nodes {
        node.knows(hall).await;
    }
    let engines: Vec<Engine> = nodes.iter().map(|node| node.engine.clone()).collect();
    let clients: Vec<_> =
        (0..CLIENTS).map(|client| tokio::spawn(buy(engines.clone(), client, sale, hall))).collect();
    meanwhile().await;
    let mut all = Told::default();
    for client in clients {
        let told = client.await.unwrap();
        all.kept.extend(told.kept);
        all.granted += told.granted;
        all.refused += told.refused;
    }
    assert_eq!(all.granted + all.refused, CLIENTS * sale.attempts);
    assert_no_seat_twice(all.kept.iter());
    let sold = u32::try_from(all.kept.len()).unwrap();
    let seats = u32::from(sale.rows) * u32::from(sale.cols);
    let expected = Counts { available: seats - sold, held: 0, sold, blocked: 0 };
    for node in nodes {
        node.shows(hall, expected).await;
        let (_, bookings) = node.engine.bookings(hall).await.unwrap();
        assert_eq!(bookings.len(), all.granted, "one booking for each that was granted");
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
    let sale = Sale { rows: 50, cols: 60, attempts: 40, with_keys: true };
    sell(&house, &nodes, sale, async || {}).await;
    close(&house, nodes).await;
}

/// Both own everything and are given every command: each is decided by both, and counts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_owners_of_everything_at_once_change_nothing() {
    let house = House::open("two-owners");
    let nodes = vec![house.node(), house.node_in("zombies")];
    // Sold out in between: what was refused would be granted when a seat comes free.
    let sale = Sale { rows: 10, cols: 20, attempts: 10, with_keys: false };
    sell(&house, &nodes, sale, async || {}).await;
    house.caught_up("deciders").await;
    house.caught_up("zombies").await;
    let booked = house.database.rows("SELECT count(*) FROM booking");
    let (_, bookings) = nodes[0].engine.bookings(nodes[0].engine.number(HALL).unwrap()).await.unwrap();
    assert_eq!(booked, [bookings.len().to_string()], "nothing came after the last answer");
    close(&house, nodes).await;
}

/// Nodes come and go: what one has in hand when it loses a partition, the next is given again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partitions_change_hands_in_the_middle_of_batches() {
    let house = House::open("changing-hands");
    let nodes = vec![house.node(), house.node()];
    let sale = Sale { rows: 50, cols: 60, attempts: 20, with_keys: true };
    sell(&house, &nodes, sale, async || {
        for _ in 0..3 {
            let passing = house.node();
            tokio::time::sleep(std::time::Duration::from_millis(700)).await;
            passing.leave().await;
        }
    })
    .await;
    close(&house, nodes).await;
}
