//! Servers with Redis beside their database, and `boxoffice mirror`.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use boxoffice_services::{Postgres, Redis};
use serde_json::json;

use crate::process::{Server, boxoffice, run, said, within_deadline};

const DATABASE: &str = "postgres";

fn redis() -> Redis {
    Redis::start(&[]).unwrap_or_else(|error| panic!("{error}"))
}

/// A database, and the URL of it.
fn database() -> (Postgres, String) {
    let postgres = Postgres::start(&["fsync=off"]).unwrap_or_else(|error| panic!("{error}"));
    let url = postgres.url(DATABASE);
    (postgres, url)
}

fn serve(url: &str, redis_urls: &str) -> Server {
    let options = ["--database-url", url, "--redis-urls", redis_urls, "--listen", "127.0.0.1:0"];
    Server::start(&[&["serve"], &options[..]].concat())
}

/// Waits until the mirror shows the truth.
fn mirror_is_right(url: &str, redis_urls: &str) -> String {
    within_deadline(|| {
        let checked = run(&["mirror", "check", "--database-url", url, "--redis-urls", redis_urls]);
        (checked.code == Some(0)).then_some(checked.out)
    })
}

#[test]
fn a_mirror_is_checked_and_rebuilt() {
    let ((_postgres, url), redis) = (database(), redis());
    let urls = redis.url();
    let server = serve(&url, &urls);
    server.create_hall(10);
    for customer in ["ann", "bob"] {
        assert_eq!(server.book(customer, 2).0, 201);
    }
    let checked = mirror_is_right(&url, &urls);
    assert!(checked.contains("1 inventories, 100 seats, 2 bookings"), "{checked}");
    within_deadline(|| {
        let (_, shown) = server.send("GET", "/metrics", None);
        let shown = String::from_utf8(shown).unwrap();
        let is_shown = |name: &str| shown.lines().any(|line| line == format!("{name} 0"));
        let both = ["boxoffice_mirror_drift_units", "boxoffice_mirror_behind_inventories"];
        both.into_iter().all(is_shown).then_some(())
    });
    server.stop();

    let mirror = |action: &str| run(&["mirror", action, "--database-url", &url, "--redis-urls", &urls]);
    redis.ask(&["SET", "seats_avail:hall:A-1", "100"]).unwrap();
    mirror("check").badly(1, &["default/event:hall", "seats_avail:hall:A-1", "has 100", "is 96"]);
    redis.ask(&["FLUSHALL"]).unwrap();
    mirror("check").badly(1, &["event_sequence:hall", "has nothing"]);
    let rebuilt = mirror("rebuild").well();
    assert!(rebuilt.contains("rebuilt in") && rebuilt.contains("100 seats"), "{rebuilt}");
    mirror("check").well();
    // The environment may say where it is.
    let checked = boxoffice(&["mirror", "check", "--database-url", &url]).env("REDIS_URLS", &urls).output();
    said(checked.unwrap()).well();
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_postgres, url) = database();
    let refused = |arguments: &[&str], words: &[&str]| run(arguments).badly(1, words);
    let home = tempfile::tempdir().unwrap();
    let data = home.path().to_str().unwrap();
    refused(&["serve", "--data", data, "--redis-urls", "redis://127.0.0.1:1"], &["share a database"]);
    refused(&["mirror", "check", "--data", data, "--redis-urls", "redis://127.0.0.1:1"], &["--database-url"]);
    refused(&["mirror", "check", "--database-url", &url], &["boxoffice migrate"]);
    run(&["migrate", "--database-url", &url]).well();
    refused(&["mirror", "check", "--database-url", &url], &["--redis-urls"]);
    let two = "redis://a:1,redis://:secret@b:1";
    refused(&["serve", "--database-url", &url, "--redis-urls", two], &["two instances"]);
    let secret = run(&["serve", "--database-url", &url, "--redis-urls", "http://:secret@b:1"]);
    assert!(!secret.err.contains("secret"), "{}", secret.err);
    secret.badly(1, &["URL 1"]);
}

#[test]
fn three_servers_sell_one_hall_while_all_redis_servers_are_killed_and_come_back_empty() {
    const CLIENTS: usize = 16;
    const ATTEMPTS: usize = 40;
    let (postgres, url) = database();
    let mut redis = [redis(), redis(), redis()];
    let urls = redis.iter().map(Redis::url).collect::<Vec<_>>().join(",");
    let servers: Vec<Server> = (0..3).map(|_| serve(&url, &urls)).collect();
    servers[0].create_hall(50);
    for server in &servers {
        within_deadline(|| (server.get("/v1/events/hall").0 == 200).then_some(()));
    }
    let (sold, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (servers, sold, done) = (&servers, &sold, &done);
            scope.spawn(move || {
                for attempt in 0..ATTEMPTS {
                    let server = |step: usize| &servers[(client + attempt + step) % servers.len()];
                    let (status, booking) = server(0).book(&format!("client-{client}"), 1);
                    done.fetch_add(1, Ordering::Relaxed);
                    if status == 409 {
                        assert_eq!(booking["code"], "NOT_ENOUGH_SEATS", "{booking}");
                        continue;
                    }
                    assert_eq!(status, 201, "{booking}");
                    let confirm = format!("/v1/bookings/{}/confirm", booking["id"].as_str().unwrap());
                    let (status, confirmed) = server(1).post(&confirm, &json!({}));
                    assert_eq!(status, 200, "{confirmed}");
                    sold.lock().unwrap().push(booking["seats"][0]["seat"].as_str().unwrap().to_owned());
                }
            });
        }
        let reached =
            |bookings: usize| within_deadline(|| (done.load(Ordering::Relaxed) > bookings).then_some(()));
        reached(CLIENTS * ATTEMPTS / 4);
        redis.iter_mut().for_each(Redis::kill);
        reached(CLIENTS * ATTEMPTS / 2);
        redis.iter_mut().for_each(|redis| redis.start_again().unwrap());
    });
    let sold = sold.into_inner().unwrap();
    let seats: BTreeSet<&String> = sold.iter().collect();
    assert_eq!((seats.len(), sold.len()), (500, 500), "every seat once, and all of them");
    let stats = json!({ "available": 0, "held": 0, "sold": 500, "blocked": 0, "total": 500 });
    for server in &servers {
        within_deadline(|| (server.get("/v1/events/hall").1["stats"] == stats).then_some(()));
    }
    let counts = "SELECT held, sold, (SELECT count(*) FROM claim WHERE state = 'sold') FROM inventory";
    assert_eq!(postgres.psql(DATABASE, counts).unwrap(), "0|500|500");
    mirror_is_right(&url, &urls);
    servers.into_iter().for_each(Server::stop);
    run(&["verify", "--database-url", &url]).well();
}
