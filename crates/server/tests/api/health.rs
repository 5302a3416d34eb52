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
    let server = std::sync::Arc::into_inner(server).expect("nobody else has it");
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
