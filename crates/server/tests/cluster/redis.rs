//! The same with three Redis servers beside the database: whatever fails, the mirror shows the truth afterwards.

use std::time::Duration;

use boxoffice_services::{Postgres, Redis};

use crate::nodes::{Nodes, run, within_deadline};
use crate::sale::{DATABASE, Sale};
use crate::scenes::{cut_around_commit, database};

/// Longer than a lock lasts.
const LONGER_THAN_A_LOCK: Duration = Duration::from_secs(4);

pub(crate) fn three_redis() -> ([Redis; 3], String) {
    let redis = [(); 3].map(|()| Redis::start(&[]).unwrap_or_else(|error| panic!("{error}")));
    let urls = redis.iter().map(Redis::url).collect::<Vec<_>>().join(",");
    (redis, urls)
}

fn three_nodes(database: &Postgres, redis_urls: &str) -> Nodes {
    Nodes::start(3, &["--database-url", &database.url(DATABASE), "--redis-urls", redis_urls])
}

/// Waits until the mirror shows the truth.
pub(crate) fn check_mirror(database: &Postgres, redis_urls: &str) {
    let url = database.url(DATABASE);
    let check = ["mirror", "check", "--database-url", &url, "--redis-urls", redis_urls];
    within_deadline(|| run(&check).status.success().then_some(()));
}

#[test]
fn all_redis_servers_are_killed_and_come_back_empty() {
    let (database, (mut redis, urls)) = (database(), three_redis());
    let nodes = three_nodes(&database, &urls);
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        sale.reach(25);
        redis.iter_mut().for_each(Redis::kill);
        sale.reach(60);
        redis.iter_mut().for_each(|redis| redis.start_again().unwrap());
    });
    check_mirror(&database, &urls);
    sale.audit(&database);
}

#[test]
fn one_node_hangs_in_its_turn_and_one_is_killed_before_it_has_written_to_the_mirror() {
    let (mut database, (_redis, urls)) = (database(), three_redis());
    let nodes = three_nodes(&database, &urls);
    let sale = Sale::open(&nodes);
    sale.run(|sale| {
        sale.reach(20);
        nodes.signal(1, "-STOP");
        std::thread::sleep(LONGER_THAN_A_LOCK);
        nodes.signal(1, "-CONT");
        sale.reach(40);
        nodes.kill(2);
        sale.reach(60);
        nodes.start_again(2);
        database.restart().unwrap();
    });
    check_mirror(&database, &urls);
    sale.audit(&database);
}

#[test]
fn connections_are_cut_200_times_around_commit_and_the_mirror_shows_the_truth() {
    let (database, (_redis, urls)) = (database(), three_redis());
    cut_around_commit(&database, &["--redis-urls", &urls], || check_mirror(&database, &urls));
}

#[test]
fn idle_node_reports_each_redis_as_available_until_it_dies() {
    let (database, (mut redis, urls)) = (database(), three_redis());
    let nodes = Nodes::start(1, &["--database-url", &database.url(DATABASE), "--redis-urls", &urls]);
    let available = |redis: &Redis| {
        let metric = format!("boxoffice_redis_available{{redis=\"127.0.0.1:{}\"}} ", redis.port());
        let metrics = nodes.get(0, "/metrics").body;
        metrics.lines().find_map(|line| line.strip_prefix(&metric)?.parse::<u8>().ok())
    };
    let shown = |redis: &[Redis; 3], expected: [u8; 3]| {
        within_deadline(|| (redis.each_ref().map(available) == expected.map(Some)).then_some(()));
    };
    shown(&redis, [1, 1, 1]);
    for killed in [0, 1] {
        redis[killed].kill();
        shown(&redis, if killed == 0 { [0, 1, 1] } else { [1, 0, 1] });
        redis[killed].start_again().unwrap();
        shown(&redis, [1, 1, 1]);
    }
}
