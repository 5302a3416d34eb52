//! The mirror equals the truth, whatever happens to Redis, and never slows anybody.

use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_cluster::redis::{Mirrored, check, rebuild};
use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::CreateEvent;
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;
use boxoffice_engine::store::Store;
use boxoffice_engine::{Clock, InventoryNumber};
use boxoffice_services::Redis;
use boxoffice_sim::random::Random;
use boxoffice_sim::workload::{START, Workload};

use crate::beside::{Node, ask, await_mirror, instances, redis_server};
use crate::database::Database;
use crate::scene::{HALL, cancel, confirm, eventually, hold, node, open_hall, say};

async fn mirror_shows_the_truth(urls: &str, store: &Arc<dyn Store>) -> Mirrored {
    await_mirror(urls, store).await.unwrap_or_else(|difference| panic!("{difference}"))
}

/// Inventories of the workload as a server would name them.
fn named(name: &str) -> String {
    match name {
        "museum" => "default/schedule:museum".to_owned(),
        "bakery" | "diner" => format!("acme/shop:{name}"),
        event => format!("default/event:{event}"),
    }
}

/// Reads every seat of a subsection as a stranger would, in order.
async fn states(redis: &Redis, key: &str, seats: usize) -> Vec<u8> {
    let mut words = vec!["BITFIELD".to_owned(), key.to_owned()];
    words.extend((0..seats).flat_map(|seat| ["GET".to_owned(), "u2".to_owned(), (2 * seat).to_string()]));
    ask(redis, &words.iter().map(String::as_str).collect::<Vec<_>>()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_mirror_shows_what_two_nodes_sell_of_every_kind() {
    let (database, redis) = (Database::start(), redis_server());
    let urls = redis.url();
    let clock = Clock::manual(START);
    let nodes = [Node::start(&database, &urls, &clock), Node::start(&database, &urls, &clock)];
    let mut random = Random::new(7);
    let mut workload = Workload::new(random.fork());
    for step in 0..900 {
        if random.percent(10) {
            clock.set(clock.now().plus_seconds(u32::try_from(random.below(120)).unwrap()));
        }
        let engine = &nodes[random.index(nodes.len())].engine;
        let (name, command) = workload.next(clock.now(), |name| engine.number(&named(name)));
        engine.submit_to(&named(&name), command).await.unwrap();
        if step % 300 == 299 {
            mirror_shows_the_truth(&urls, &nodes[0].store()).await;
        }
    }
    let mirrored = mirror_shows_the_truth(&urls, &nodes[0].store()).await;
    assert!(mirrored.inventories == 5 && mirrored.bookings > 50, "{mirrored:?}");

    // What the tables say, the mirror says, key by key.
    let subsections = database.rows(
        "SELECT i.id, s.address, s.rows, s.cols FROM section s JOIN inventory i ON i.number = s.inventory",
    );
    assert!(!subsections.is_empty());
    for row in subsections {
        let [event, address, rows, cols]: [&str; 4] = row.split('|').collect::<Vec<_>>().try_into().unwrap();
        let seats = rows.parse::<usize>().unwrap() * cols.parse::<usize>().unwrap();
        let found = states(&redis, &format!("seats_bf:{event}:{address}"), seats).await;
        let claims = database.rows(&format!(
            "SELECT c.seat_row, c.seat, c.state FROM claim c JOIN section s USING (inventory, subsection)
             JOIN inventory i ON i.number = c.inventory WHERE i.id = '{event}' AND s.address = '{address}'"
        ));
        let mut expected = vec![0; seats];
        for claim in &claims {
            let [row, seat, state]: [&str; 3] = claim.split('|').collect::<Vec<_>>().try_into().unwrap();
            let place = (row.parse::<usize>().unwrap() - 1) * cols.parse::<usize>().unwrap();
            expected[place + seat.parse::<usize>().unwrap() - 1] = match state {
                "held" => 1,
                "sold" => 2,
                _ => 3,
            };
        }
        assert_eq!(found, expected, "{event} {address}");
        let taken = claims.len();
        let available: usize = ask(&redis, &["GET", &format!("seats_avail:{event}:{address}")]).await;
        assert_eq!(available, seats - taken, "{event} {address}");
        let mut in_rows = 0;
        for row in 1..=rows.parse::<u16>().unwrap() {
            in_rows +=
                ask::<usize>(&redis, &["GET", &format!("seats_avail_row:{event}:{address}:{row}")]).await;
        }
        assert_eq!(in_rows, available, "{event} {address}");
    }
    for pool in database.rows("SELECT i.kind, i.tenant, i.id, p.name, p.capacity, p.held, p.sold FROM pool p JOIN inventory i ON i.number = p.inventory") {
        let [kind, tenant, id, name, capacity, held, sold]: [&str; 7] =
            pool.split('|').collect::<Vec<_>>().try_into().unwrap();
        let key = match (kind, tenant) {
            ("event", "default") => format!("areas:{id}"),
            ("schedule", "default") => format!("slots:{id}"),
            ("shop", "acme") => format!("boxes:acme/{id}"),
            other => panic!("{other:?}"),
        };
        let found: String = ask(&redis, &["HGET", &key, name]).await;
        for part in [format!("\"capacity\":{capacity}"), format!("\"held\":{held}"), format!("\"sold\":{sold}")] {
            assert!(found.contains(&part), "{key} {name}: {found}, expected {part}");
        }
    }
    let live = database.rows(
        "SELECT i.tenant, b.id, b.status FROM booking b JOIN inventory i ON i.number = b.inventory
         WHERE b.status IN ('on_hold', 'confirmed', 'redeemed')",
    );
    assert!(live.len() > 5);
    for booking in live {
        let [tenant, id, status]: [&str; 3] = booking.split('|').collect::<Vec<_>>().try_into().unwrap();
        let key =
            if tenant == "default" { format!("booking:{id}") } else { format!("booking:{tenant}/{id}") };
        assert_eq!(ask::<String>(&redis, &["HGET", &key, "state"]).await, status);
    }
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_changed_in_the_mirror_is_named_and_repaired() {
    let (database, redis) = (Database::start(), redis_server());
    let urls = redis.url();
    let node = Node::start(&database, &urls, &Clock::system());
    let hall = open_hall(&node.engine, 3, 7).await;
    for customer in ["ann", "bob", "cho"] {
        let id = node.engine.new_booking_id(hall);
        node.engine.submit(hall, hold(id, customer)).await.unwrap();
    }
    mirror_shows_the_truth(&urls, &node.store()).await;
    let spoil: [(&[&str], &str); 5] = [
        (&["BITFIELD", "seats_bf:hall:A-1", "SET", "u2", "0", "0"], "seats_bf:hall:A-1"),
        (&["SET", "seats_avail:hall:A-1", "21"], "seats_avail:hall:A-1"),
        (&["SET", "seats_avail_row:hall:A-1:1", "7"], "seats_avail_row:hall:A-1:1"),
        (&["SET", "event_state:hall", "{}"], "event_state:hall"),
        (&["DEL", "event_sellout_timer:hall"], "event_sellout_timer:hall"),
    ];
    let instances = instances(&urls);
    for (command, key) in spoil {
        ask::<redis::Value>(&redis, command).await;
        // The server finds it by itself, too: sometimes before it is asked for here.
        if let Err(difference) = check(instances.first(), &node.store(), |_, _| {}).await {
            assert!(difference.to_string().contains(key), "{difference}");
        }
        mirror_shows_the_truth(&urls, &node.store()).await;
    }
    node.stop().await;
    // With nobody there to repair it, a booking that is wrong is named, and rebuilding helps.
    let id: Vec<String> = ask(&redis, &["KEYS", "booking:*"]).await;
    ask::<redis::Value>(&redis, &["HSET", &id[0], "state", "confirmed"]).await;
    let store = database.shared_store();
    let difference = check(instances.first(), &store, |_, _| {}).await.unwrap_err().to_string();
    assert!(difference.contains(&id[0]), "{difference}");
    rebuild(instances.first(), &store, |_, _| {}).await.unwrap();
    check(instances.first(), &store, |_, _| {}).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_event_has_no_units_in_the_mirror() {
    let (database, redis) = (Database::start(), redis_server());
    let urls = redis.url();
    let node = Node::start(&database, &urls, &Clock::system());
    let hall = open_hall(&node.engine, 3, 7).await;
    mirror_shows_the_truth(&urls, &node.store()).await;
    assert_eq!(ask::<u32>(&redis, &["GET", "seats_avail:hall:A-1"]).await, 21);
    node.engine.submit(hall, Command::of(Action::DeleteEvent)).await.unwrap();
    let only_the_document = async || {
        mirror_shows_the_truth(&urls, &database.shared_store()).await;
        let mut keys: Vec<String> = ask(&redis, &["KEYS", "*hall*"]).await;
        keys.sort();
        assert_eq!(keys, ["event_sequence:hall", "event_state:hall"]);
        let state: String = ask(&redis, &["GET", "event_state:hall"]).await;
        assert!(state.contains("\"status\":\"deleted\"") && !state.contains("available"), "{state}");
    };
    only_the_document().await;
    node.stop().await;
    // What was written before it was deleted is named and removed.
    ask::<redis::Value>(&redis, &["SET", "seats_avail:hall:A-1", "21"]).await;
    let (instances, store) = (instances(&urls), database.shared_store());
    let difference = check(instances.first(), &store, |_, _| {}).await.unwrap_err().to_string();
    assert!(difference.contains("seats_avail:hall:A-1"), "{difference}");
    rebuild(instances.first(), &store, |_, _| {}).await.unwrap();
    only_the_document().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rebuilding_leaves_no_booking_of_another_history() {
    let (database, redis) = (Database::start(), redis_server());
    let urls = redis.url();
    let node = Node::start(&database, &urls, &Clock::system());
    let hall = open_hall(&node.engine, 3, 7).await;
    let id = node.engine.new_booking_id(hall);
    node.engine.submit(hall, hold(id, "ann")).await.unwrap();
    mirror_shows_the_truth(&urls, &node.store()).await;
    node.stop().await;
    // As if the database had been put back to a moment before these.
    let known: Vec<String> = ask(&redis, &["KEYS", "booking:*"]).await;
    ask::<redis::Value>(&redis, &["HSET", &known[0], "version", "1000", "state", "redeemed"]).await;
    let gone = "booking:11111111-1111-1111-1111-111111111111";
    ask::<redis::Value>(&redis, &["HSET", gone, "version", "1", "inventory", HALL]).await;
    let others = "booking:22222222-2222-2222-2222-222222222222";
    ask::<redis::Value>(&redis, &["HSET", others, "version", "1", "inventory", "default/event:other"]).await;
    let (instances, store) = (instances(&urls), database.shared_store());
    rebuild(instances.first(), &store, |_, _| {}).await.unwrap();
    check(instances.first(), &store, |_, _| {}).await.unwrap();
    assert_eq!(ask::<String>(&redis, &["HGET", &known[0], "state"]).await, "on_hold");
    assert_eq!(ask::<u32>(&redis, &["EXISTS", gone]).await, 0);
    assert_eq!(ask::<u32>(&redis, &["EXISTS", others]).await, 1, "it is nobody's here");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_hangs_dies_and_comes_back_empty_and_nobody_waits_for_it() {
    let (database, mut redis) = (Database::start(), redis_server());
    let urls = redis.url();
    let clock = Clock::system();
    let nodes = [Node::start(&database, &urls, &clock), Node::start(&database, &urls, &clock)];
    let hall = open_hall(&nodes[0].engine, 40, 25).await;
    eventually("the hall is known", || async { nodes[1].engine.number(HALL) == Some(hall) }).await;
    let sell = async |count: usize| {
        let mut slowest = Duration::ZERO;
        for number in 0..count {
            let engine = &nodes[number % 2].engine;
            let id = engine.new_booking_id(hall);
            let began = Instant::now();
            engine.submit(hall, hold(id, "ann")).await.unwrap();
            engine.submit(hall, if number % 3 == 0 { cancel(id) } else { confirm(id) }).await.unwrap();
            slowest = slowest.max(began.elapsed());
        }
        slowest
    };
    sell(30).await;
    mirror_shows_the_truth(&urls, &nodes[0].store()).await;
    redis.pause(true).unwrap();
    let hanging = sell(30).await;
    redis.pause(false).unwrap();
    mirror_shows_the_truth(&urls, &nodes[0].store()).await;
    redis.kill();
    let dead = sell(30).await;
    redis.start_again().unwrap();
    mirror_shows_the_truth(&urls, &nodes[0].store()).await;
    // Half of how long the mirror waits for an answer from Redis.
    assert!(hanging.max(dead) < Duration::from_secs(10), "{hanging:?} {dead:?}");
    // Killed and started again in the middle.
    tokio::join!(sell(200), async {
        for _ in 0..3 {
            redis.kill();
            tokio::time::sleep(Duration::from_millis(100)).await;
            redis.start_again().unwrap();
        }
    });
    mirror_shows_the_truth(&urls, &nodes[0].store()).await;
    for node in nodes {
        node.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_has_in_memory_and_what_is_of_another_history_is_written_too() {
    let (database, redis) = (Database::start(), redis_server());
    let urls = redis.url();
    {
        // A node that never told Redis.
        let engine = node(database.shared_store());
        let hall = open_hall(&engine, 2, 5).await;
        let id = engine.new_booking_id(hall);
        engine.submit(hall, hold(id, "ann")).await.unwrap();
        tokio::task::spawn_blocking(move || engine.close()).await.unwrap().unwrap();
    }
    let other = Node::start(&database, &urls, &Clock::system());
    mirror_shows_the_truth(&urls, &other.store()).await;
    // A mirror of a database that was since put back to an earlier state.
    ask::<redis::Value>(&redis, &["SET", "event_sequence:hall", "1000"]).await;
    ask::<redis::Value>(&redis, &["SET", "seats_avail:hall:A-1", "0"]).await;
    mirror_shows_the_truth(&urls, &other.store()).await;
    other.stop().await;
}

/// Twenty subsections of a thousand rows and fifty seats.
fn create_stadium() -> Command {
    let subsection = |number: u16| SubsectionPlan { number, rows: 1_000, cols: 50, blocked: Vec::new() };
    let subsections = (1..=20).map(subsection).collect();
    let section = SectionPlan { name: "A".to_owned(), price: Money(1_000), subsections };
    Command::of(Action::CreateEvent(Box::new(CreateEvent::new(
        "hall",
        "Stadium",
        Currency(*b"TWD"),
        vec![section],
    ))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_mirror_of_a_million_seats_is_rebuilt_from_nothing() {
    const BOOKINGS: usize = 20_000;
    const TRIES_MAX: usize = 5;
    let (database, redis) = (Database::start(), redis_server());
    let urls = redis.url();
    let store: Arc<dyn Store> = database.shared_store();
    let engine = node(Arc::clone(&store));
    let answer = engine.submit_to(HALL, create_stadium()).await.unwrap();
    assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
    let stadium = engine.number(HALL).unwrap();
    let hold = |_| (stadium, hold(engine.new_booking_id(stadium), "ann"));
    let mut holds: Vec<(InventoryNumber, Command)> = (0..BOOKINGS).map(hold).collect();
    for _ in 0..TRIES_MAX {
        // A busy machine may keep the database from answering for seconds: then the same is asked again, each under its key.
        eventually("the database answers", || async { engine.unavailable_for().is_none() }).await;
        let answers = engine.submit_all(holds.clone()).await;
        let asked = std::mem::take(&mut holds).into_iter().zip(answers);
        holds = asked.filter(|(_, answer)| answer.is_err()).map(|(hold, _)| hold).collect();
    }
    assert_eq!(holds.len(), 0, "not known to be booked");
    let instances = instances(&urls);
    let began = Instant::now();
    let rebuilt = rebuild(instances.first(), &store, |_, _| {}).await.unwrap();
    let took = began.elapsed();
    assert_eq!((rebuilt.seats, rebuilt.bookings), (1_000_000, BOOKINGS as u64));
    let began = Instant::now();
    check(instances.first(), &store, |_, _| {}).await.unwrap();
    say(&format!(
        "a mirror of 1,000,000 seats and {BOOKINGS} bookings: rebuilt in {:.2} s, checked in {:.2} s",
        took.as_secs_f64(),
        began.elapsed().as_secs_f64()
    ));
    let available: u32 = ask(&redis, &["GET", "seats_avail:hall:A-1"]).await;
    assert_eq!(available, 50_000 - u32::try_from(BOOKINGS).unwrap());
    tokio::task::spawn_blocking(move || engine.close()).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_has_the_keys_of_an_inventory_in_one_place() {
    let (database, redis) = (Database::start(), Redis::start(&["--cluster-enabled", "yes"]).unwrap());
    ask::<redis::Value>(&redis, &["CLUSTER", "ADDSLOTSRANGE", "0", "16383"]).await;
    eventually("the cluster is one", || async {
        ask::<String>(&redis, &["CLUSTER", "INFO"]).await.contains("cluster_state:ok")
    })
    .await;
    let urls = format!("redis-cluster://127.0.0.1:{}", redis.port());
    let node = Node::start(&database, &urls, &Clock::system());
    let hall = open_hall(&node.engine, 3, 7).await;
    for customer in ["ann", "bob"] {
        let id = node.engine.new_booking_id(hall);
        node.engine.submit(hall, hold(id, customer)).await.unwrap();
    }
    mirror_shows_the_truth(&urls, &node.store()).await;
    assert_eq!(ask::<String>(&redis, &["GET", "seats_avail:{hall}:A-1"]).await, "19");
    node.stop().await;
    // From nothing, too: what is there is found on all servers.
    let gone = "booking:{11111111-1111-1111-1111-111111111111}";
    ask::<redis::Value>(&redis, &["HSET", gone, "version", "1", "inventory", HALL]).await;
    let (instances, store) = (instances(&urls), database.shared_store());
    rebuild(instances.first(), &store, |_, _| {}).await.unwrap();
    check(instances.first(), &store, |_, _| {}).await.unwrap();
    assert_eq!(ask::<u32>(&redis, &["EXISTS", gone]).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinel_says_where_the_mirror_is() {
    let redis = redis_server();
    let sentinel = sentinel_of(&redis, "");
    let urls = format!("redis+sentinel://127.0.0.1:{}/tickets", sentinel.server.port());
    a_sale_is_mirrored(&urls).await;
    assert_eq!(ask::<String>(&redis, &["GET", "seats_avail:hall:A-1"]).await, "20");
}

/// Each with a password of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinel_and_its_servers_may_want_passwords() {
    let redis = redis_server();
    ask::<()>(&redis, &["CONFIG", "SET", "requirepass", "of the server"]).await;
    let sentinel =
        sentinel_of(&redis, "sentinel auth-pass tickets \"of the server\"\nrequirepass guard&ed\n");
    let address = format!("127.0.0.1:{}/tickets", sentinel.server.port());
    let urls = format!("redis+sentinel://:of%20the%20server@{address}?sentinel_password=guard%26ed");
    let (_database, store) = a_sale_is_mirrored(&urls).await;
    for without in [
        format!("redis+sentinel://{address}?sentinel_password=guard%26ed"),
        format!("redis+sentinel://:of%20the%20server@{address}"),
    ] {
        check(instances(&without).first(), &store, |_, _| {}).await.unwrap_err();
    }
}

struct Sentinel {
    server: Redis,
    /// It writes to its configuration.
    _directory: tempfile::TempDir,
}

/// A Sentinel that watches over a server by the name of `tickets`.
fn sentinel_of(redis: &Redis, settings: &str) -> Sentinel {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sentinel.conf");
    let monitor = format!("sentinel monitor tickets 127.0.0.1 {} 1\n{settings}", redis.port());
    std::fs::write(&file, monitor).unwrap();
    Sentinel { server: Redis::start(&[file.to_str().unwrap(), "--sentinel"]).unwrap(), _directory: directory }
}

async fn a_sale_is_mirrored(urls: &str) -> (Database, Arc<dyn Store>) {
    let database = Database::start();
    let node = Node::start(&database, urls, &Clock::system());
    let hall = open_hall(&node.engine, 3, 7).await;
    let id = node.engine.new_booking_id(hall);
    node.engine.submit(hall, hold(id, "ann")).await.unwrap();
    let store = node.store();
    mirror_shows_the_truth(urls, &store).await;
    node.stop().await;
    (database, store)
}
