//! What one node sells, a live stream on another shows at once, and without Redis soon after.

use std::time::{Duration, Instant};

use boxoffice_engine::{Clock, Engine, InventoryNumber};

use crate::beside::{Node, redis_server};
use crate::database::Database;
use crate::scene::{HALL, eventually, hold, node, open_hall, say};

/// How long after its answer each booking on one node is shown by a stream on the other: half of them take less, the slowest.
async fn delays(
    one: &Engine,
    other: &Engine,
    hall: InventoryNumber,
    bookings: usize,
) -> (Duration, Duration) {
    let mut stream = other.subscribe(hall, other.view(hall).await.unwrap().sequence).await.unwrap();
    let mut delays = Vec::new();
    for number in 0..bookings {
        let id = one.new_booking_id(hall);
        let answer = one.submit(hall, hold(id, &format!("customer-{number}"))).await.unwrap();
        let began = Instant::now();
        while stream.next().await.unwrap().sequence < answer.sequence {}
        delays.push(began.elapsed());
    }
    delays.sort_unstable();
    (delays[bookings / 2], delays[bookings - 1])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_on_other_nodes_show_a_sale_at_once() {
    const BOOKINGS: usize = 40;
    let (database, mut redis) = (Database::start(), redis_server());
    let without = {
        let (one, other) = (node(database.shared_store()), node(database.shared_store()));
        let hall = open_hall(&one, 100, 50).await;
        eventually("the hall is known", || async { other.number(HALL) == Some(hall) }).await;
        let measured = delays(&one, &other, hall, BOOKINGS).await;
        for engine in [one, other] {
            tokio::task::spawn_blocking(move || engine.close()).await.unwrap().unwrap();
        }
        measured
    };
    let clock = Clock::system();
    let urls = redis.url();
    let nodes = [Node::start(&database, &urls, &clock), Node::start(&database, &urls, &clock)];
    let [one, other] = [&nodes[0].engine, &nodes[1].engine];
    let hall = one.number(HALL).unwrap();
    // Both are connected when a message is passed on at once.
    eventually("messages arrive", || async {
        delays(one, other, hall, 1).await.0 < Duration::from_millis(20)
    })
    .await;
    // While the machine is busy both take longer: then it is measured again.
    eventually("streams show bookings in a third of the time", || async {
        let with = delays(one, other, hall, BOOKINGS).await;
        say(&format!(
            "shown on another node after (half of all, slowest): without Redis {without:?}, with {with:?}"
        ));
        with.0 * 3 < without.0
    })
    .await;
    // A node that gets no message finds out all the same.
    redis.kill();
    let dead = delays(one, other, hall, 5).await;
    say(&format!("and when Redis has died {dead:?}"));
    redis.start_again().unwrap();
    eventually("messages arrive again", || async {
        delays(one, other, hall, 1).await.0 < Duration::from_millis(20)
    })
    .await;
    for node in nodes {
        node.stop().await;
    }
}
