//! The same sale with every command through Kafka, while those who decide come, go and hang.

use std::time::Duration;

use boxoffice_services::Kafka;

use crate::nodes::Nodes;
use crate::sale::{DATABASE, Sale, bookings};
use crate::scenes::database;

/// Longer than the group waits for a member before it gives its partitions to others.
const LONGER_THAN_A_SESSION: Duration = Duration::from_secs(9);

/// The node that owns the hall's partition hangs in the middle of its work. Others own it meanwhile; when it goes on it decides
/// what it has in hand, and does not know yet that it is nobody's owner.
#[test]
fn an_owner_hangs_until_others_own_its_partitions_and_goes_on() {
    let database = database();
    let kafka = Kafka::start().unwrap_or_else(|error| panic!("{error}"));
    let arguments = ["--database-url", &database.url(DATABASE), "--kafka-brokers", &kafka.brokers()];
    let nodes = Nodes::start(3, &arguments);
    let sale = Sale::open(&nodes, bookings(3_000));
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
    let database = database();
    let kafka = Kafka::start().unwrap_or_else(|error| panic!("{error}"));
    let arguments = ["--database-url", &database.url(DATABASE), "--kafka-brokers", &kafka.brokers()];
    let nodes = Nodes::start(3, &arguments);
    let sale = Sale::open(&nodes, bookings(3_000));
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
