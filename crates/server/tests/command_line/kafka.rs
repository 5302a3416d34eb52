//! Servers whose commands go through a Kafka broker of the test's own.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use boxoffice_services::{Kafka, Postgres};
use rdkafka::Message;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use serde_json::{Value, json};

use crate::process::{Server, boxoffice, run, said, within_deadline};

/// Asks for a booking with these headers: status, head in lower case, body.
fn book(server: &Server, headers: &[&str], customer: &str) -> (u16, String, Value) {
    ask(
        server,
        headers,
        &json!({ "customer": customer, "event": "hall", "best_available": { "quantity": 2 } }),
    )
}

fn ask(server: &Server, headers: &[&str], body: &Value) -> (u16, String, Value) {
    let request = server.request("POST", "/v1/bookings", Some(body));
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let mut stream = server.connect();
    stream.write_all(request.replacen("\r\n", &format!("\r\n{headers}"), 1).as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_ascii_lowercase(), serde_json::from_str(body).unwrap())
}

/// All changes that went out so far to a topic.
fn changes(kafka: &Kafka, topic: &str, at_least: usize) -> Vec<(String, Value)> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", kafka.brokers()).set("group.id", "readers");
    // Whoever reads again begins again.
    config.set("enable.auto.commit", "false");
    let reader: BaseConsumer = config.set("auto.offset.reset", "earliest").create().unwrap();
    reader.subscribe(&[topic]).unwrap();
    let mut read = Vec::new();
    let start = Instant::now();
    while read.len() < at_least {
        assert!(start.elapsed() < Duration::from_secs(60), "{} changes: {read:?}", read.len());
        if let Some(Ok(message)) = reader.poll(Duration::from_millis(200)) {
            let key = String::from_utf8(message.key().unwrap().to_vec()).unwrap();
            read.push((key, serde_json::from_slice(message.payload().unwrap()).unwrap()));
        }
    }
    read
}

#[test]
fn two_servers_sell_through_kafka_and_tell_it_what_changed() {
    let postgres = Postgres::start(&["fsync=off"]).unwrap_or_else(|error| panic!("{error}"));
    let kafka = Kafka::start().unwrap_or_else(|error| panic!("{error}"));
    let (url, brokers) = (postgres.url("postgres"), kafka.brokers());
    let serve = || {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--database-url", &url];
        Server::start(&[&arguments[..], &["--kafka-brokers", &brokers, "--kafka-prefix", "sales"]].concat())
    };
    let (one, other) = (serve(), serve());
    one.create_hall(30);
    within_deadline(|| (other.get("/v1/events/hall").0 == 200).then_some(()));
    for server in [&one, &other] {
        let (status, booking) = server.book("ann", 2);
        assert_eq!(status, 201, "{booking}");
        let id = booking["id"].as_str().unwrap();
        assert_eq!(server.get(&format!("/v1/bookings/{id}")).0, 200, "whoever was answered reads it");
        let (status, paid) = server.post(&format!("/v1/bookings/{id}/confirm"), &json!({}));
        assert_eq!((status, &paid["status"]), (200, &json!("confirmed")), "{paid}");
    }

    // A booking that is taken before it is decided.
    const LATER: &str = "prefer: wait=5, Respond-Async";
    const KEY: &str = "idempotency-key: later";
    let (status, head, taken) = book(&one, &[LATER, KEY], "bob");
    assert_eq!(status, 202, "{taken}");
    let place = taken["url"].as_str().unwrap();
    assert!(head.contains(&format!("location: {place}\r\n")), "{head}");
    assert!(head.contains("preference-applied: respond-async"), "{head}");
    assert_eq!(taken["stream"], json!(format!("{place}/stream")));
    let booking = within_deadline(|| Some(one.get(place)).filter(|(status, _)| *status == 200)).1;
    assert_eq!((&booking["id"], &booking["customer"]), (&taken["id"], &json!("bob")));
    let again = book(&other, &[LATER, KEY], "bob");
    assert_eq!((again.0, &again.2), (202, &taken), "the same key names the same booking");
    let (status, _, answer) = book(&one, &[KEY], "bob");
    assert_eq!((status, &answer["id"]), (201, &taken["id"]), "its answer is there to be asked for");
    assert_eq!(answer["hold_token"], taken["hold_token"]);
    // Nobody is told the token of a booking that they did not ask for.
    let (status, _, others) = book(&one, &[LATER, KEY], "eve");
    assert_eq!(status, 202, "{others}");
    assert_ne!((&others["id"], &others["hold_token"]), (&taken["id"], &taken["hold_token"]));
    let chosen = "6f1c1f44-6d1d-4b7e-9d4e-1f0a3c5b7d90";
    let mut wish =
        json!({ "id": chosen, "customer": "dan", "event": "hall", "best_available": { "quantity": 1 } });
    assert_eq!(ask(&one, &[LATER], &wish).0, 201, "an id that was chosen is answered when it is decided");
    wish["customer"] = json!("eve");
    let (status, _, refused) = ask(&one, &[LATER], &wish);
    assert_eq!((status, &refused["code"]), (409, &json!("BOOKING_ID_TAKEN")), "{refused}");
    // And whoever waited first and does not any more is told of the same booking.
    let (status, _, waited) = book(&one, &["idempotency-key: first"], "fay");
    assert_eq!(status, 201, "{waited}");
    let (status, _, later) = book(&other, &["idempotency-key: first", LATER], "fay");
    assert_eq!((status, &later["id"]), (202, &waited["id"]), "{later}");
    let (status, _, keyless) = book(&other, &[LATER], "cid");
    assert_eq!(status, 202, "{keyless}");
    let place = keyless["url"].as_str().unwrap();
    within_deadline(|| (other.get(place).0 == 200).then_some(()));

    // What changed goes out in order, as the journal has it.
    let (_, journal) = one.get("/v1/journal?inventory=event:hall&limit=500");
    let expected = journal["items"].as_array().unwrap();
    let sent = changes(&kafka, "sales.changes", expected.len());
    for ((key, change), expected) in sent.iter().zip(expected) {
        assert_eq!(
            (key.as_str(), &change["inventory"]),
            ("default/event:hall", &json!("default/event:hall"))
        );
        for field in ["sequence", "at", "by", "type", "data"] {
            assert_eq!(change[field], expected[field], "{field} of {change}");
        }
    }
    let metrics = String::from_utf8(one.send("GET", "/metrics", None).1).unwrap();
    assert!(metrics.contains("boxoffice_kafka_dead_letters_total 0"), "{metrics}");
    one.stop();
    other.stop();
    run(&["verify", "--database-url", &url]).well();
}

#[test]
fn booking_decided_after_202_is_counted_once_and_its_refusal_is_listed() {
    let postgres = Postgres::start(&["fsync=off"]).unwrap_or_else(|error| panic!("{error}"));
    let kafka = Kafka::start().unwrap_or_else(|error| panic!("{error}"));
    let (url, brokers) = (postgres.url("postgres"), kafka.brokers());
    let serve = || {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--database-url", &url];
        Server::start(&[&arguments[..], &["--kafka-brokers", &brokers]].concat())
    };
    let servers = [serve(), serve()];
    servers[0].create_hall(1);
    within_deadline(|| (servers[1].get("/v1/events/hall").0 == 200).then_some(()));
    let counted = |result: &str, code: &str| -> u64 {
        let labels = format!("kind=\"event\",result=\"{result}\",code=\"{code}\"");
        let metric = format!("boxoffice_bookings_total{{{labels}}} ");
        let of_server = |server: &Server| {
            let metrics = String::from_utf8(server.send("GET", "/metrics", None).1).unwrap();
            let value = metrics.lines().find_map(|line| line.strip_prefix(&metric)?.parse::<u64>().ok());
            value.unwrap_or_else(|| panic!("{metric} is not in {metrics}"))
        };
        servers.iter().map(of_server).sum()
    };
    let ask_later = |server: &Server, request_id: &str, key: &str, quantity: u32| {
        let (id, key) = (format!("x-request-id: {request_id}"), format!("idempotency-key: {key}"));
        let best = json!({ "quantity": quantity });
        let wanted = json!({ "customer": "bob", "event": "hall", "best_available": best });
        let (status, _, taken) = ask(server, &["prefer: respond-async", &id, &key], &wanted);
        assert_eq!(status, 202, "{taken}");
    };
    // The second is the first again, under its key. Commands of one inventory are decided in order.
    ask_later(&servers[0], "first", "a", 2);
    ask_later(&servers[1], "again", "a", 2);
    ask_later(&servers[0], "too-many-1", "b", 9);
    ask_later(&servers[1], "too-many-2", "c", 9);
    within_deadline(|| (counted("refused", "NOT_ENOUGH_SEATS") == 2).then_some(()));
    assert_eq!(counted("granted", ""), 1);
    for request_id in ["too-many-1", "too-many-2"] {
        let found = within_deadline(|| {
            let (_, found) = servers[0].get(&format!("/v1/attempts?request_id={request_id}"));
            found["items"].get(0).cloned()
        });
        for (field, expected) in [
            ("result", json!("refused")),
            ("code", json!("NOT_ENOUGH_SEATS")),
            ("customer", json!("bob")),
            ("inventory", json!("event:hall")),
            ("booking", Value::Null),
        ] {
            assert_eq!(found[field], expected, "{field} of {found}");
        }
    }
    for request_id in ["first", "again"] {
        let (_, found) = servers[0].get(&format!("/v1/attempts?request_id={request_id}"));
        assert_eq!(found["items"], json!([]), "{request_id}");
    }
    servers.into_iter().for_each(Server::stop);
}

/// A backup has the documents that say how far changes were sent, and may have them later than the journal.
#[test]
fn changes_go_out_after_a_restore_and_all_of_them_under_another_prefix() {
    let postgres = Postgres::start(&["fsync=off"]).unwrap_or_else(|error| panic!("{error}"));
    let kafka = Kafka::start().unwrap_or_else(|error| panic!("{error}"));
    let (url, brokers) = (postgres.url("postgres"), kafka.brokers());
    let serve = |prefix: &str| {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--database-url", &url];
        Server::start(&[&arguments[..], &["--kafka-brokers", &brokers, "--kafka-prefix", prefix]].concat())
    };
    let journal = |server: &Server| {
        let (_, journal) = server.get("/v1/journal?inventory=event:hall&limit=500");
        journal["items"].as_array().unwrap().len()
    };
    let server = serve("sales");
    server.create_hall(30);
    assert_eq!(server.book("ann", 2).0, 201);
    changes(&kafka, "sales.changes", journal(&server));
    server.stop();
    let ahead =
        "UPDATE document SET contents = '999' WHERE name LIKE 'kafka/changes/sales.changes/%' RETURNING 1";
    assert_eq!(postgres.psql("postgres", ahead).unwrap(), "1");
    let server = serve("sales");
    within_deadline(|| (server.book("bob", 2).0 == 201).then_some(()));
    let sent = changes(&kafka, "sales.changes", journal(&server));
    assert!(sent.iter().any(|(_, change)| change.to_string().contains("bob")), "{sent:?}");
    server.stop();
    let server = serve("others");
    let sent = changes(&kafka, "others.changes", journal(&server));
    assert_eq!(sent[0].1["sequence"], 1, "{sent:?}");
    server.stop();
}

#[test]
fn kafka_is_for_servers_on_a_database() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let data = crate::process::path(&data);
    let mut command = boxoffice(&["serve", "--data", data, "--listen", "127.0.0.1:0"]);
    command.env("KAFKA_BROKERS", "127.0.0.1:1").env("BOXOFFICE_LOG", "error");
    said(command.output().unwrap()).badly(2, &["--database-url"]);
}
