//! `/healthz`, `/readyz`, `/metrics`, and the end of the process.

use std::io::{BufReader, Write};
use std::time::Instant;

use serde_json::json;

use crate::client::{connect, read_reply};
use crate::server::{Server, serve_in_vain};
use crate::venue::{Venue, best, section};

#[test]
fn a_server_says_that_it_lives_and_is_ready() {
    let server = Server::shared();
    for path in ["/healthz", "/readyz"] {
        let reply = server.call("GET", path).header("Authorization", "Bearer wrong").send();
        assert_eq!(reply.status, 200, "{path} needs no key");
    }
}

#[test]
fn metrics_count_requests_refusals_and_commits_and_tell_what_is_left() {
    let hall = Venue::hall(1, 1);
    hall.booked(&best(1));
    hall.book(&best(1)).expect_problem(409, "NOT_ENOUGH_SEATS");
    let metrics = hall.server.get("/metrics");
    assert_eq!(metrics.status, 200);
    assert!(metrics.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")));
    let text = metrics.text();
    for name in [
        "boxoffice_requests_total",
        "boxoffice_request_seconds_bucket",
        "boxoffice_refusals_total",
        "boxoffice_commit_seconds_bucket",
        "boxoffice_expiry_lag_seconds",
    ] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name} in\n{text}");
    }
    let units = format!("inventory=\"event:{}\",state=\"held\"}} 1", hall.id);
    assert!(text.contains(&units), "{units} in\n{text}");
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        assert!(line.starts_with("boxoffice_"), "{line}");
    }
}

#[test]
fn booking_attempts_are_counted_by_kind_result_and_code_and_replays_apart() {
    let server = std::sync::Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &crate::venue::event_body("gala", &section(1, 4)));
    let counted = |line: &str| {
        let text = server.get("/metrics").text().to_owned();
        let value = text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse::<u64>().ok());
        value.unwrap_or_else(|| panic!("{line} is not in\n{text}"))
    };
    let granted = r#"boxoffice_bookings_total{kind="event",result="granted",code=""}"#;
    let taken = r#"boxoffice_bookings_total{kind="event",result="refused",code="SEAT_UNAVAILABLE"}"#;
    let unknown = r#"boxoffice_bookings_total{kind="event",result="refused",code="EVENT_NOT_FOUND"}"#;
    let replays = "boxoffice_idempotency_replays_total";
    for line in [
        granted,
        taken,
        unknown,
        r#"boxoffice_bookings_total{kind="shop",result="failed",code="OUTCOME_UNKNOWN"}"#,
        replays,
        "boxoffice_holds_expired_total",
        "boxoffice_expiry_sweep_seconds_count",
        "boxoffice_lock_wait_seconds_count",
        "boxoffice_lock_failures_total",
    ] {
        assert_eq!(counted(line), 0, "{line}");
    }
    // Plain ones take the express lane, others do not.
    let ways = [("accept", "*/*"), ("prefer", "handling=strict")];
    for (index, (name, value)) in ways.into_iter().enumerate() {
        let seat = format!("1-{}", index + 1);
        let call = || hall.booking_call(&crate::venue::seats(&[&seat])).header(name, value).key(&seat);
        call().send().expect(201);
        assert!(call().send().is_replay());
        let late = hall
            .booking_call(&crate::venue::seats(&[&seat]))
            .header(name, value)
            .key(&format!("late {seat}"));
        late.send().expect_problem(409, "SEAT_UNAVAILABLE");
        assert_eq!(
            [counted(granted), counted(taken), counted(replays)].map(|count| count as usize),
            [index + 1; 3]
        );
    }
    let mut commands =
        vec![hall.wanted(&crate::venue::seats(&["1-3"])), hall.wanted(&crate::venue::seats(&["1-1"]))];
    commands.push(json!({ "customer": "ann", "event": "none", "best_available": { "quantity": 1 } }));
    for command in &mut commands {
        command["op"] = json!("book");
    }
    let batch =
        || server.call("POST", "/v1/batch").key("batch").json(&json!({ "commands": commands })).send();
    batch().expect(200);
    assert_eq!([counted(granted), counted(taken), counted(unknown), counted(replays)], [3, 3, 1, 2]);
    batch().expect(200);
    assert_eq!([counted(granted), counted(taken)], [3, 3], "a replay is no attempt");
    hall.expired(&best(1));
    crate::server::await_some("an expired hold that is counted", || {
        (counted("boxoffice_holds_expired_total") >= 1).then_some(())
    });
    assert!(counted("boxoffice_expiry_sweep_seconds_count") >= 1);
}

#[test]
fn a_planted_inconsistency_is_found_by_the_scrubber_and_counted() {
    let server = std::sync::Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &crate::venue::event_body("gala", &section(1, 2)));
    hall.booked(&best(1));
    drop(hall);
    let server = std::sync::Arc::into_inner(server).expect("this is the only handle");
    server.terminate();
    let (_, store) = server.ended();
    forget_last_change(&*store.open());
    let server = store.serve(&["--scrub-every-seconds", "1"]);
    assert_eq!(server.get("/v1/events/gala").expect(200)["stats"]["held"], json!(0), "the booking is lost");
    let counted = |kind: &str, count: &str| {
        let line = format!("boxoffice_inconsistencies_total{{kind=\"{kind}\"}} {count}");
        server.get("/metrics").text().lines().any(|found| found == line)
    };
    assert!(counted("stock", "0"));
    crate::server::await_some("the scrubber", || (!counted("snapshot", "0")).then_some(()));
    assert!(server.get("/metrics").text().contains("boxoffice_scrub_skipped_inventories 0"));
    assert!(counted("stock", "0"));
}

/// Writes a snapshot in which the last change of the only inventory has not happened.
fn forget_last_change(store: &dyn boxoffice_engine::store::Store) {
    use boxoffice_engine::record::{Manifest, decode_record, hash_of};
    let head = store.heads().unwrap().remove(0);
    let mut inventory = boxoffice_core::inventory::Inventory::default();
    for bytes in store.records(head.inventory, 0, usize::MAX).unwrap() {
        let record = decode_record(&bytes).unwrap();
        let nothing =
            boxoffice_core::change::Change::KeysForgotten { through: boxoffice_core::time::Timestamp(0) };
        let is_last = record.sequence == head.sequence;
        inventory.replay(&if is_last { vec![nothing] } else { record.changes });
    }
    let contents = boxoffice_core::codec::encode_inventory(&inventory);
    let manifest = Manifest {
        inventory: head.inventory,
        sequence: head.sequence,
        hash: head.hash,
        bytes: contents.len() as u64,
        contents: hash_of(&contents),
        journal_from: 1,
    };
    store.write_snapshot(&manifest, &contents).unwrap();
    store.close().unwrap();
}

#[test]
fn a_server_that_is_asked_to_stop_answers_what_it_took_closes_streams_and_exits_with_zero() {
    let server = std::sync::Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &crate::venue::event_body("gala", &section(1, 2)));
    let mut stream = hall.stream();
    stream.expect("snapshot");
    let hold = hall.booked(&best(1));
    stream.expect("change");
    let mut of_booking = server.call("GET", &format!("{}/stream", crate::venue::booking_url(&hold))).watch();
    of_booking.expect("booking");
    // A request whose body is still on its way was taken.
    let body = hall.wanted(&best(1)).to_string();
    let mut taken = connect(server.address).expect("a connection");
    let head = format!(
        "POST /v1/bookings HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    taken.write_all(head.as_bytes()).expect("the head is taken");
    let (first, rest) = body.split_at(10);
    taken.write_all(first.as_bytes()).expect("some of the body is taken");
    // Answered only if the server has looked at the connections that came before.
    assert_eq!(server.get("/healthz").status, 200);

    let asked = Instant::now();
    server.terminate();
    assert_eq!(stream.next(), None, "the stream ends");
    assert_eq!(of_booking.next(), None, "the booking's stream ends");
    taken.write_all(rest.as_bytes()).expect("the rest is taken");
    let answer = read_reply(&mut BufReader::new(taken), false).expect("an answer");
    assert_eq!(answer.told(), "on_hold A-1 1-2 for 1000");
    drop(hall);
    let server = std::sync::Arc::into_inner(server).expect("this is the only handle");
    let (status, store) = server.ended();
    assert_eq!(status.code(), Some(0));
    assert!(asked.elapsed().as_secs() < 10, "nothing was waited for in vain: {:?}", asked.elapsed());
    let again = store.serve(&[]);
    assert_eq!(again.get("/v1/events/gala").expect(200)["stats"]["held"], json!(2));
}

#[test]
fn an_address_that_others_can_reach_is_not_served_without_keys() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let output = serve_in_vain(listen);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("boxoffice keys create"), "{said}");
    }
}

#[test]
fn methods_that_somebody_made_up_are_counted_as_one() {
    let server = Server::start(&[]);
    for number in 0..5 {
        server
            .call(&format!("MADEUP{number}"), "/v1/events")
            .send()
            .expect_problem(405, "METHOD_NOT_ALLOWED");
    }
    let counted = server.get("/metrics");
    assert!(counted.text().contains(r#"method="other""#), "{}", counted.text());
    assert!(!counted.text().contains("MADEUP"), "{}", counted.text());
}
