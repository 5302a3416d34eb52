//! The same sale with every command through Kafka and three Redis servers beside the database, while those who decide come, go
//! and hang.

use std::time::Duration;

use boxoffice_services::{Kafka, Postgres, Redis};

use crate::nodes::{Nodes, within_deadline};
use crate::redis::{check_mirror, three_redis};
use crate::sale::{DATABASE, Sale, booking};
use crate::scenes::database;

/// Longer than the group waits for a member before it gives its partitions to others.
const LONGER_THAN_A_SESSION: Duration = Duration::from_secs(9);

/// Everything that there can be.
struct House {
    database: Postgres,
    kafka: Kafka,
    _redis: [Redis; 3],
    redis_urls: String,
}

impl House {
    fn open() -> House {
        let kafka = Kafka::start().unwrap_or_else(|error| panic!("{error}"));
        let (redis, redis_urls) = three_redis();
        House { database: database(), kafka, _redis: redis, redis_urls }
    }

    fn three_nodes(&self) -> Nodes {
        let (url, brokers) = (self.database.url(DATABASE), self.kafka.brokers());
        let services =
            ["--database-url", &url, "--kafka-brokers", &brokers, "--redis-urls", &self.redis_urls];
        Nodes::start(3, &services)
    }

    fn audit(&self, sale: Sale<'_>) {
        check_mirror(&self.database, &self.redis_urls);
        sale.audit(&self.database);
    }
}

/// The node that owns the hall's partition hangs in the middle of its work. Others own it meanwhile; when it goes on it decides
/// what it has in hand, and does not know yet that it is nobody's owner.
#[test]
fn an_owner_hangs_until_others_own_its_partitions_and_goes_on() {
    let house = House::open();
    let nodes = house.three_nodes();
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
    house.audit(sale);
}

#[test]
fn an_owner_is_killed_and_comes_back() {
    let house = House::open();
    let nodes = house.three_nodes();
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        for (node, reached) in [(0, 15), (1, 40), (2, 65)] {
            sale.reach(reached);
            nodes.kill(node);
            std::thread::sleep(Duration::from_secs(1));
            nodes.start_again(node);
        }
    });
    house.audit(sale);
}

#[test]
fn the_broker_dies_and_comes_back() {
    let mut house = House::open();
    let nodes = house.three_nodes();
    let sale = Sale::open(&nodes);
    let is_ready = |node: usize| nodes.get(node, "/readyz").status == 200;
    within_deadline(|| (0..3).all(is_ready).then_some(()));
    sale.run(|sale| {
        sale.reach(30);
        house.kafka.stop();
        within_deadline(|| (0..3).all(|node| !is_ready(node)).then_some(()));
        for node in 0..3 {
            // Reads need no broker; commands are refused, and never happen.
            assert_eq!(nodes.get(node, "/v1/events/hall").status, 200);
            let refused = nodes.ask(node, "POST", "/v1/bookings", &booking("nobody"));
            assert_eq!((refused.status, refused.code().as_str()), (503, "UNAVAILABLE"), "{refused:?}");
            assert!(refused.header("retry-after").is_some(), "{refused:?}");
        }
        house.kafka.run().unwrap_or_else(|error| panic!("{error}"));
        within_deadline(|| (0..3).all(is_ready).then_some(()));
    });
    let nobody =
        house.database.psql(DATABASE, "SELECT count(*) FROM booking WHERE customer = 'nobody'").unwrap();
    assert_eq!(nobody, "0", "what was refused never happens");
    house.audit(sale);
}
