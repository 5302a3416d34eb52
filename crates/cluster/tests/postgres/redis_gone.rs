//! Three nodes that take turns by Redlock sell one hall, with Redis and without.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use boxoffice_core::booking::{Booking, Status};
use boxoffice_core::seats::Counts;
use boxoffice_engine::verify::verify;
use boxoffice_engine::view::KindView;
use boxoffice_engine::{Clock, Engine, InventoryNumber};
use boxoffice_services::Redis;

use crate::beside::{Node, await_mirror, redis_server};
use crate::database::Database;
use crate::scene::{
    HALL, assert_no_seat_twice, booking_of, cancel, confirm, eventually, hold, node, open_hall, say,
};
use crate::tables::assert_tables_agree;

const CLIENTS: usize = 64;

/// What clients were told.
#[derive(Default)]
struct Told {
    kept: Vec<Arc<Booking>>,
    granted: usize,
    took: Duration,
}

impl Told {
    fn per_second(&self, attempts: usize) -> f64 {
        (CLIENTS * attempts) as f64 / self.took.as_secs_f64()
    }
}

/// Clients on all nodes, who hold the best seat, then pay or leave, each on another node than before.
async fn sell(engines: &[Engine], hall: InventoryNumber, attempts: usize, done: &Arc<AtomicUsize>) -> Told {
    let began = Instant::now();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (engines, done) = (engines.to_vec(), Arc::clone(done));
            tokio::spawn(async move {
                let mut told = Told::default();
                for attempt in 0..attempts {
                    let of = |step: usize| &engines[(client + attempt + step) % engines.len()];
                    let id = of(0).new_booking_id(hall);
                    let answer = of(0).submit(hall, hold(id, &format!("client-{client}"))).await.unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                    let Some(booking) = booking_of(&answer) else { continue };
                    told.granted += 1;
                    let leaves = attempt % 4 == 0;
                    let end = if leaves { cancel(id) } else { confirm(id) };
                    let answer = of(1).submit(hall, end).await.unwrap();
                    assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome);
                    told.kept.extend((!leaves).then_some(booking));
                }
                told
            })
        })
        .collect();
    let mut all = Told::default();
    for client in clients {
        let told = client.await.unwrap();
        all.kept.extend(told.kept);
        all.granted += told.granted;
    }
    all.took = began.elapsed();
    all
}

async fn totals(engine: &Engine, hall: InventoryNumber) -> Counts {
    match &engine.view(hall).await.unwrap().kind {
        KindView::Event(event) => event.totals,
        KindView::Schedule(_) | KindView::Shop(_) => panic!("a hall is an event"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_redis_servers_die_in_an_on_sale_and_come_back_empty() {
    const ATTEMPTS: usize = 30;
    const SEATS: u32 = 3_000;
    let database = Database::start();
    let mut servers = [redis_server(), redis_server(), redis_server()];
    let urls = servers.iter().map(Redis::url).collect::<Vec<_>>().join(",");
    let clock = Clock::system();
    let nodes: Vec<Node> = (0..3).map(|_| Node::start(&database, &urls, &clock)).collect();
    let engines: Vec<Engine> = nodes.iter().map(|node| node.engine.clone()).collect();
    let hall = open_hall(&engines[0], 50, 60).await;
    for engine in &engines {
        eventually("the hall is known", || async { engine.number(HALL) == Some(hall) }).await;
    }
    let done = Arc::default();
    let reached = async |bookings: usize| {
        eventually("sales go on", || async { done_so_far(&done) > bookings }).await;
    };
    let (told, ()) = tokio::join!(sell(&engines, hall, ATTEMPTS, &done), async {
        reached(CLIENTS * ATTEMPTS / 4).await;
        servers.iter_mut().for_each(Redis::kill);
        reached(CLIENTS * ATTEMPTS / 2).await;
        servers.iter_mut().for_each(|server| server.start_again().unwrap());
    });
    assert_no_seat_twice(told.kept.iter());
    let sold = u32::try_from(told.kept.len()).unwrap();
    let expected = Counts { available: SEATS - sold, held: 0, sold, blocked: 0 };
    for engine in &engines {
        eventually("every node shows the same", || async { totals(engine, hall).await == expected }).await;
        let (_, bookings) = engine.bookings(hall).await.unwrap();
        assert_eq!(bookings.len(), told.granted);
        let confirmed = bookings.iter().filter(|it| matches!(it.status, Status::Confirmed { .. })).count();
        assert_eq!(confirmed, told.kept.len(), "nothing is lost");
    }
    await_mirror(&urls, &nodes[0].store()).await.unwrap();
    drop(engines);
    for node in nodes {
        node.stop().await;
    }
    let store = database.store();
    assert_tables_agree(&database, &*store);
    verify(&*store, |_, _| {}).unwrap();
}

fn done_so_far(done: &Arc<AtomicUsize>) -> usize {
    done.load(Ordering::Relaxed)
}

/// Not who is faster is judged, only that sales go on: the machine may be busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_redis_turns_are_those_of_the_database() {
    const ATTEMPTS: usize = 12;
    let done = Arc::default();
    let with_database = {
        let database = Database::start();
        let engines: Vec<Engine> = (0..3).map(|_| node(database.shared_store())).collect();
        let hall = open_hall(&engines[0], 50, 60).await;
        for engine in &engines {
            eventually("the hall is known", || async { engine.number(HALL) == Some(hall) }).await;
        }
        sell(&engines, hall, ATTEMPTS, &done).await
    };
    let database = Database::start();
    let mut servers = [redis_server(), redis_server(), redis_server()];
    let urls = servers.iter().map(Redis::url).collect::<Vec<_>>().join(",");
    let nodes: Vec<Node> = (0..3).map(|_| Node::start(&database, &urls, &Clock::system())).collect();
    let engines: Vec<Engine> = nodes.iter().map(|node| node.engine.clone()).collect();
    let hall = open_hall(&engines[0], 50, 60).await;
    for engine in &engines {
        eventually("the hall is known", || async { engine.number(HALL) == Some(hall) }).await;
    }
    let with_redis = sell(&engines, hall, ATTEMPTS, &done).await;
    servers.iter_mut().for_each(Redis::kill);
    let with_dead_redis = sell(&engines, hall, ATTEMPTS, &done).await;
    assert_no_seat_twice(with_redis.kept.iter().chain(&with_dead_redis.kept));
    assert_eq!((with_redis.granted, with_dead_redis.granted), (CLIENTS * ATTEMPTS, CLIENTS * ATTEMPTS));
    say(&format!(
        "three nodes, one hall, {CLIENTS} clients, bookings a second: turns of PostgreSQL {:.0}, of three Redis {:.0}, of three dead Redis {:.0}",
        with_database.per_second(ATTEMPTS),
        with_redis.per_second(ATTEMPTS),
        with_dead_redis.per_second(ATTEMPTS),
    ));
    drop(engines);
    for node in nodes {
        node.stop().await;
    }
}
