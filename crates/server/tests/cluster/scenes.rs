//! What may happen during a sale.

use std::time::{Duration, Instant};

use boxoffice_services::{Postgres, Proxy};

use crate::nodes::{Nodes, within_deadline};
use crate::sale::{BATCHES, DATABASE, FENCED_BATCHES, Sale, booking};

/// Longer than a turn, a session in a transaction or one that is silent may last.
const LONGER_THAN_ALL_LIMITS: Duration = Duration::from_secs(7);
/// How long a machine that has other work may take for what ends within all limits.
const ON_A_BUSY_MACHINE: Duration = Duration::from_secs(30);

const CLUB: &str =
    r#"{"id":"club","name":"Club","currency":"TWD","areas":[{"name":"floor","price":1,"capacity":9}]}"#;

pub(crate) fn database() -> Postgres {
    // Nothing here survives the machine, and nobody asks it to.
    Postgres::start(&["fsync=off", "max_connections=200"]).unwrap_or_else(|error| panic!("{error}"))
}

/// Three nodes, with these arguments beside the database's.
fn three(database: &Postgres, arguments: &[&str]) -> Nodes {
    let url = database.url(DATABASE);
    Nodes::start(3, &[&["--database-url", &url], arguments].concat())
}

#[test]
fn three_nodes_sell_one_hall() {
    let database = database();
    let nodes = three(&database, &[]);
    let sale = Sale::open(&nodes);
    sale.run(|_| {});
    // They take turns: little is decided twice. On a busy machine a turn may end before its holder runs again.
    let (batches, fenced) = (nodes.counted(BATCHES), nodes.counted(FENCED_BATCHES));
    assert!(fenced * 4 < batches, "{fenced} of {batches} batches were fenced");
    assert!(nodes.counted("boxoffice_lock_wait_seconds_count") > 0, "each waited for locks");
    sale.audit(&database);
}

#[test]
fn a_node_is_killed_and_comes_back() {
    let database = database();
    let nodes = three(&database, &[]);
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        sale.reach(25);
        nodes.kill(2);
        sale.reach(60);
        nodes.start_again(2);
    });
    sale.audit(&database);
}

#[test]
fn a_node_hangs_for_longer_than_all_limits_and_goes_on() {
    let database = database();
    let nodes = three(&database, &[]);
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        sale.reach(25);
        nodes.signal(1, "-STOP");
        std::thread::sleep(LONGER_THAN_ALL_LIMITS);
        nodes.signal(1, "-CONT");
    });
    sale.audit(&database);
}

#[test]
fn the_database_restarts() {
    let mut database = database();
    let nodes = three(&database, &[]);
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        sale.reach(25);
        // At once, without a checkpoint.
        database.restart().unwrap();
        sale.reach(60);
        database.restart().unwrap();
    });
    sale.audit(&database);
}

#[test]
fn connections_are_cut_200_times_around_commit() {
    cut_around_commit(&database(), &[], || {});
}

/// Three nodes, with these arguments beside the database's, and what is to be seen before the audit.
pub(crate) fn cut_around_commit(database: &Postgres, arguments: &[&str], look: impl FnOnce()) {
    const CUTS: u32 = 200;
    let proxy = Proxy::start(&database.sockets()).unwrap();
    let url = proxy.url(database.user(), DATABASE);
    let nodes = Nodes::start(3, &[&["--database-url", &url], arguments].concat());
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        proxy.cut(true);
        within_deadline(|| (proxy.cuts() >= CUTS || sale.is_over()).then_some(()));
        proxy.cut(false);
    });
    assert!(proxy.cuts() >= CUTS, "{} cuts: more bookings are needed", proxy.cuts());
    look();
    sale.audit(database);
}

#[test]
fn the_database_is_away_for_longer_than_all_limits() {
    let mut database = database();
    // All nodes will know of the club, and none will have it in memory.
    let founder = Nodes::start(1, &["--database-url", &database.url(DATABASE)]);
    assert_eq!(founder.ask(0, "POST", "/v1/events", CLUB).status, 201);
    assert_eq!(founder.stop(0), Some(0));
    let nodes = three(&database, &[]);
    let sale = Sale::open(&nodes);
    let is_ready = |node: usize| nodes.get(node, "/readyz").status == 200;
    let is_available = |node: usize, shown: &str| {
        nodes.get(node, "/metrics").body.contains(&format!("boxoffice_store_available {shown}"))
    };
    assert!((0..3).all(|node| is_ready(node) && is_available(node, "1")));
    sale.run(|sale| {
        sale.reach(25);
        database.stop();
        let gone = Instant::now();
        within_deadline(|| (0..3).all(|node| !is_ready(node)).then_some(()));
        println!("not ready after {:?}", gone.elapsed());
        assert!(gone.elapsed() < ON_A_BUSY_MACHINE, "callers wait for seconds, not longer");
        for node in 0..3 {
            assert!(is_available(node, "0"));
            // What is in memory is shown, and marked.
            let shown = nodes.get(node, "/v1/events/hall");
            assert_eq!(shown.status, 200, "{shown:?}");
            assert_eq!(shown.header("warning"), Some("110 boxoffice \"Response is Stale\""), "{shown:?}");
            assert!(shown.header("age").is_some_and(|age| age.parse::<u32>().is_ok()), "{shown:?}");
            // New commands are refused before the client gives up.
            let refused = nodes.ask(node, "POST", "/v1/bookings", &booking("nobody"));
            assert_eq!((refused.status, refused.code().as_str()), (503, "UNAVAILABLE"), "{refused:?}");
            assert!(refused.header("retry-after").is_some(), "{refused:?}");
        }
        let unseen = nodes.get(1, "/v1/events/club");
        assert_eq!((unseen.status, unseen.code().as_str()), (503, "UNAVAILABLE"), "{unseen:?}");
        // A node that is asked to stop does so, and says that it does not know what became of its last commit.
        let asked = Instant::now();
        assert_eq!(nodes.stop(2), Some(1));
        println!("stopped after {:?}", asked.elapsed());
        assert!(asked.elapsed() < ON_A_BUSY_MACHINE, "{:?}", asked.elapsed());
        std::thread::sleep(LONGER_THAN_ALL_LIMITS.saturating_sub(gone.elapsed()));
        database.start_again().unwrap();
        nodes.start_again(2);
        within_deadline(|| (0..3).all(|node| is_ready(node) && is_available(node, "1")).then_some(()));
        assert_eq!(nodes.get(0, "/v1/events/hall").header("warning"), None);
    });
    assert!(sale.troubles("OUTCOME_UNKNOWN") > 0, "those who waited were told");
    assert!(sale.troubles("UNAVAILABLE") > 0, "those who came later were refused");
    let nobody = database.psql(DATABASE, "SELECT count(*) FROM booking WHERE customer = 'nobody'").unwrap();
    assert_eq!(nobody, "0", "what was refused never happens");
    sale.audit(&database);
}
