//! Servers with Redis beside their database, and `boxoffice mirror`.

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
    // A refused booking whose id its caller knows is shown, too; also one of a batch.
    let ids = ["019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b51", "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b52"];
    let seats = json!([{ "section": "A-1", "ids": ["1-1"] }]);
    let taken = |id: &str| json!({ "id": id, "customer": "dan", "event": "hall", "seats": seats });
    assert_eq!(server.post("/v1/bookings", &taken(ids[0])).0, 409);
    let mut command = taken(ids[1]);
    command["op"] = json!("book");
    let (_, answer) = server.post("/v1/batch", &json!({ "commands": [command] }));
    assert_eq!(answer["results"][0]["status"], 409, "{answer}");
    for id in ids {
        within_deadline(|| {
            let status_bytes = redis.ask(&["HSTRLEN", &format!("booking:{id}"), "status"]).unwrap();
            (status_bytes == format!(":{}", "RESERVE_FAILED".len())).then_some(())
        });
    }
    within_deadline(|| {
        let (_, shown) = server.send("GET", "/metrics", None);
        let shown = String::from_utf8(shown).unwrap();
        let is_shown = |name: &str| shown.lines().any(|line| line == format!("{name} 0"));
        let both = ["boxoffice_mirror_drift_units", "boxoffice_mirror_behind_inventories"];
        both.into_iter().all(is_shown).then_some(())
    });
    // What was sold last is in the mirror before the server is gone.
    for _ in 0..5 {
        assert_eq!(server.book("cho", 1).0, 201);
    }
    server.stop();

    let mirror = |action: &str| run(&["mirror", action, "--database-url", &url, "--redis-urls", &urls]);
    mirror("check").well();
    redis.ask(&["SET", "seats_avail:hall:A-1", "100"]).unwrap();
    mirror("check").badly(1, &["default/event:hall", "seats_avail:hall:A-1", "has 100", "is 91"]);
    redis.ask(&["FLUSHALL"]).unwrap();
    mirror("check").badly(1, &["event_sequence:hall", "has nothing"]);
    let rebuilt = mirror("rebuild").well();
    assert!(rebuilt.contains("rebuilt in") && rebuilt.contains("100 seats"), "{rebuilt}");
    mirror("check").well();
    // The environment may say where it is.
    for variable in ["REDIS_URLS", "REDIS_URL"] {
        let checked = boxoffice(&["mirror", "check", "--database-url", &url]).env(variable, &urls).output();
        said(checked.unwrap()).well();
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (_postgres, url) = database();
    let refused = |arguments: &[&str], words: &[&str]| run(arguments).badly(1, words);
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let data = data.to_str().unwrap();
    let nonsense = |arguments: &[&str], words: &[&str]| run(arguments).badly(2, words);
    nonsense(&["serve", "--data", data, "--redis-urls", "redis://127.0.0.1:1"], &["share a database"]);
    nonsense(
        &["mirror", "check", "--data", data, "--redis-urls", "redis://127.0.0.1:1"],
        &["--database-url"],
    );
    nonsense(&["mirror", "check", "--database-url", &url], &["--redis-urls"]);
    let nowhere = ["mirror", "check", "--database-url", &url, "--redis-urls", "redis://127.0.0.1:1"];
    refused(&nowhere, &["boxoffice migrate"]);
    let two = "redis://a:1,redis://:secret@b:1";
    nonsense(&["serve", "--database-url", &url, "--redis-urls", two], &["two instances"]);
    let secret = run(&["serve", "--database-url", &url, "--redis-urls", "http://:secret@b:1"]);
    assert!(!secret.err.contains("secret"), "{}", secret.err);
    secret.badly(2, &["URL 1"]);
}
