//! The same sale with every command through Kafka, while those who decide come, go and hang.

use std::time::Duration;

use boxoffice_services::{Kafka, Postgres};

use crate::nodes::{Nodes, within_deadline};
use crate::sale::{DATABASE, Sale, booking};
use crate::scenes::database;

/// Longer than the group waits for a member before it gives its partitions to others.
const LONGER_THAN_A_SESSION: Duration = Duration::from_secs(9);

fn three_behind_kafka() -> (Postgres, Kafka, Nodes) {
    let database = database();
    let kafka = Kafka::start().unwrap_or_else(|error| panic!("{error}"));
    let arguments = ["--database-url", &database.url(DATABASE), "--kafka-brokers", &kafka.brokers()];
    let nodes = Nodes::start(3, &arguments);
    (database, kafka, nodes)
}

/// The node that owns the hall's partition hangs in the middle of its work. Others own it meanwhile; when it goes on it decides
/// what it has in hand, and does not know yet that it is nobody's owner.
#[test]
fn an_owner_hangs_until_others_own_its_partitions_and_goes_on() {
    let (database, _kafka, nodes) = three_behind_kafka();
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        // One of them has it: each hangs once.
        for (node, reached) in [(0, 15), (1, 40), (2, 65)] {
            sale.reach(reached);
            nodes.signal(node, "-STOP");
            std::thread::sleep(LONGER_THAN_A_SESSION);
            nodes.signal(node, "-CONT");
        }
    });
    sale.audit(&database);
}

#[test]
fn an_owner_is_killed_and_comes_back() {
    let (database, _kafka, nodes) = three_behind_kafka();
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        for (node, reached) in [(0, 15), (1, 40), (2, 65)] {
            sale.reach(reached);
            nodes.kill(node);
            std::thread::sleep(Duration::from_secs(1));
            nodes.start_again(node);
        }
    });
    sale.audit(&database);
}

#[test]
fn the_broker_dies_and_comes_back() {
    let (database, mut kafka, nodes) = three_behind_kafka();
    let sale = Sale::open(&nodes);
    let is_ready = |node: usize| nodes.get(node, "/readyz").status == 200;
    within_deadline(|| (0..3).all(is_ready).then_some(()));
    sale.run(|sale| {
        sale.reach(30);
        kafka.stop();
        within_deadline(|| (0..3).all(|node| !is_ready(node)).then_some(()));
        for node in 0..3 {
            // Reads need no broker; commands are refused, and never happen.
            assert_eq!(nodes.get(node, "/v1/events/hall").status, 200);
            let refused = nodes.ask(node, "POST", "/v1/bookings", &booking("nobody"));
            assert_eq!((refused.status, refused.code().as_str()), (503, "UNAVAILABLE"), "{refused:?}");
            assert!(refused.header("retry-after").is_some(), "{refused:?}");
        }
        kafka.run().unwrap_or_else(|error| panic!("{error}"));
        within_deadline(|| (0..3).all(is_ready).then_some(()));
    });
    let nobody = database.psql(DATABASE, "SELECT count(*) FROM booking WHERE customer = 'nobody'").unwrap();
    assert_eq!(nobody, "0", "what was refused never happens");
    sale.audit(&database);
}
