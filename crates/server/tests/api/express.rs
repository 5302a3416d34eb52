//! Bookings are read and answered in two ways, by the express lane and by the framework: nobody may notice which.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

use crate::client::{Reply, connect, read_reply};
use crate::venue::{Venue, best};

/// A header that the express lane leaves to the framework.
const FRAMEWORK: (&str, &str) = ("TE", "trailers");
/// A server that is asked to stop waits 20 s for connections that do not end.
const STOP_WAITS_FOR: std::time::Duration = std::time::Duration::from_secs(20);

fn request(hall: &Venue, body: &str, header: &str) -> String {
    format!(
        "POST /v1/bookings HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{header}\r\n{body}",
        hall.server.address,
        body.len()
    )
}

/// What may differ from one answer to the next.
fn without_what_changes(reply: &Reply) -> (u16, Vec<(String, String)>, Value) {
    let mut headers: Vec<(String, String)> = reply.headers.clone();
    headers.retain(|(name, _)| !["date", "x-request-id", "content-length"].contains(&name.as_str()));
    headers.sort();
    let mut body = reply.json();
    for changing in
        ["id", "seats", "hold_token", "redeem_code", "created_at", "expires_at", "sequence", "request_id"]
    {
        if let Some(field) = body.get_mut(changing) {
            *field = Value::Null;
        }
    }
    (reply.status, headers, body)
}

#[test]
fn both_ways_give_the_same_answers_and_the_same_refusals() {
    let hall = Venue::hall(2, 8);
    let requests: [(&str, Value); 9] = [
        ("a booking", hall.wanted(&best(1))),
        ("too many", hall.wanted(&best(11))),
        ("seats that are taken", hall.wanted(&json!({ "seats": [{ "section": "A-1", "ids": ["1-1"] }] }))),
        ("no such section", hall.wanted(&json!({ "best_available": { "quantity": 1, "section": "Z" } }))),
        (
            "no such event",
            json!({ "customer": "ann", "event": "nowhere", "best_available": { "quantity": 1 } }),
        ),
        ("an unknown field", hall.wanted(&json!({ "best_available": { "quantity": 1 }, "colour": "red" }))),
        ("a wrong type", hall.wanted(&json!({ "best_available": { "quantity": "many" } }))),
        ("nothing", json!({})),
        ("a list", json!([])),
    ];
    for (name, body) in requests {
        let call = || hall.server.call("POST", "/v1/bookings").header("X-Request-Id", "r-1").json(&body);
        let express = call().send();
        let framework = call().header(FRAMEWORK.0, FRAMEWORK.1).send();
        assert_eq!(without_what_changes(&express), without_what_changes(&framework), "{name}");
    }
    let broken = || hall.server.call("POST", "/v1/bookings").raw("application/json", b"{\"customer\":");
    let framework = broken().header(FRAMEWORK.0, FRAMEWORK.1).send();
    assert_eq!(without_what_changes(&broken().send()), without_what_changes(&framework));
}

#[test]
fn a_key_sent_both_ways_has_one_effect_and_one_answer() {
    let hall = Venue::hall(2, 8);
    let call = || hall.server.call("POST", "/v1/bookings").key("k-1").json(&hall.wanted(&best(2)));
    let first = call().send();
    let again = call().header(FRAMEWORK.0, FRAMEWORK.1).send();
    assert_eq!((first.status, again.status), (201, 201));
    assert_eq!(first.body, again.body);
    assert_eq!(
        (first.header("idempotent-replayed"), again.header("idempotent-replayed")),
        (None, Some("true"))
    );
    assert_eq!(call().send().header("idempotent-replayed"), Some("true"));
    assert_eq!(hall.show()["stats"]["held"], 2);
}

#[test]
fn answer_of_the_api_is_kept_by_no_cache() {
    let hall = Venue::hall(2, 8);
    let booking = hall.wanted(&best(1)).to_string();
    let book = |body: &str, header: &str| request(&hall, body, header);
    let other = |line: &str, headers: &str| {
        format!("{line} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", hall.server.address)
    };
    let preflight = "Origin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n\
                     Access-Control-Request-Headers: authorization\r\n";
    let rows = [
        (201, book(&booking, "")),
        (201, book(&booking, "TE: trailers\r\n")),
        (400, book("{}", "")),
        (400, book("{}", "TE: trailers\r\n")),
        (401, book(&booking, "Authorization: Bearer wrong\r\n")),
        (401, book(&booking, "Authorization: Bearer wrong\r\nTE: trailers\r\n")),
        (200, other(&format!("GET {}", hall.at("/seats")), "")),
        (304, other(&format!("GET {}", hall.at("/seats")), "If-None-Match: *\r\n")),
        (404, other("GET /v1/nothing", "")),
        (405, other("PUT /v1/events", "Content-Length: 0\r\n")),
        (204, other("OPTIONS /v1/events", preflight)),
        (200, other("GET /v1/export", "Connection: close\r\n")),
        (431, other("GET /v1/events", &format!("X: {}\r\n", "x".repeat(70_000)))),
    ];
    for (status, text) in rows {
        let mut stream = connect(hall.server.address).expect("a connection");
        // An answer to a head that is too long may come before all of it is written.
        drop(stream.write_all(text.as_bytes()));
        let reply = read_reply(&mut BufReader::new(stream), false).expect("an answer");
        let told = (reply.status, reply.header("cache-control"));
        assert_eq!(told, (status, Some("no-store")), "{}", &text[..text.len().min(200)]);
    }
}

/// More than are decided together, and more bytes than are read in one go.
const MANY: usize = 600;

#[test]
fn requests_sent_without_waiting_are_answered_in_order_whatever_they_are() {
    // In pieces that end anywhere, and all at once.
    for piece_bytes in [1_777, usize::MAX] {
        let hall = Venue::hall(61, 10);
        let mut bytes = Vec::new();
        let book = |customer: &str| {
            let mut body = hall.wanted(&best(1));
            body["customer"] = customer.into();
            request(&hall, &body.to_string(), "")
        };
        for number in 0..MANY {
            bytes.extend_from_slice(book(&format!("c-{number}")).as_bytes());
        }
        bytes.extend_from_slice(
            format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", hall.server.address).as_bytes(),
        );
        bytes.extend_from_slice(book("last").as_bytes());
        let mut stream = connect(hall.server.address).expect("a connection");
        let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
        let writer = std::thread::spawn(move || {
            for piece in bytes.chunks(piece_bytes) {
                stream.write_all(piece).expect("the server reads");
            }
        });
        let mut seats = Vec::new();
        for number in 0..MANY {
            let reply = read_reply(&mut reader, false).expect("an answer");
            let body = reply.expect(201);
            assert_eq!(body["customer"], format!("c-{number}"));
            seats.push(body["seats"][0]["seat"].as_str().expect("a seat").to_owned());
        }
        assert_eq!(seats[0], "1-1");
        assert_eq!(seats[MANY - 1], "60-10", "decided in the order they were sent");
        assert_eq!(read_reply(&mut reader, false).expect("an answer").status, 200);
        assert_eq!(read_reply(&mut reader, false).expect("an answer").expect(201)["customer"], "last");
        writer.join().expect("all was sent");
    }
}

#[test]
fn a_request_that_arrives_byte_by_byte_is_understood_and_one_that_stops_is_cut() {
    let hall = Venue::hall(1, 4);
    let whole = request(&hall, &hall.wanted(&best(1)).to_string(), "Connection: close\r\n");
    let mut stream = connect(hall.server.address).expect("a connection");
    for byte in whole.as_bytes() {
        stream.write_all(&[*byte]).expect("the server reads");
    }
    let mut reader = BufReader::new(stream);
    let reply = read_reply(&mut reader, false).expect("an answer");
    assert_eq!((reply.status, reply.header("connection")), (201, Some("close")));
    let mut rest = Vec::new();
    reader.read_to_end(&mut rest).expect("the connection is closed");
    assert!(rest.is_empty());
    let mut stream = connect(hall.server.address).expect("a connection");
    stream.write_all(&whole.as_bytes()[..40]).expect("the server reads");
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).expect("the server hangs up before the test gives up");
    assert!(rest.is_empty());
}

#[test]
fn what_is_sent_first_is_decided_first_whatever_it_has_to_wait_for() {
    let hall = Venue::hall(1, 10);
    for seat in 1..=5 {
        let name = format!("1-{seat}");
        let wish = json!({ "seats": [{ "section": "A-1", "ids": [name] }] });
        // A new customer's contact gets a key of its own, which takes a commit.
        let mut first = hall.wanted(&wish);
        first["customer"] = format!("first-{seat}").into();
        first["contact"] = json!({ "email": "a@example.com" });
        let second = hall.wanted(&wish);
        let mut stream = connect(hall.server.address).expect("a connection");
        let both: String = [first, second].iter().map(|body| request(&hall, &body.to_string(), "")).collect();
        stream.write_all(both.as_bytes()).expect("the server reads");
        let mut reader = BufReader::new(stream);
        assert_eq!(read_reply(&mut reader, false).expect("an answer").status, 201, "seat {seat}");
        read_reply(&mut reader, false).expect("an answer").expect_problem(409, "SEAT_UNAVAILABLE");
    }
}

#[test]
fn a_server_that_stops_answers_busy_connections_and_says_that_it_was_the_last() {
    let server = std::sync::Arc::new(crate::server::Server::start(&[]));
    let hall =
        Venue::create(&server, "event", &crate::venue::event_body("gala", &crate::venue::section(100, 100)));
    let (begun, beginning) = std::sync::mpsc::channel();
    let clients: Vec<_> = (0..4)
        .map(|number| {
            let (address, begun) = (server.address, begun.clone());
            let mut body = hall.wanted(&best(1));
            body["customer"] = format!("c-{number}").into();
            let text = request(&hall, &body.to_string(), "");
            std::thread::spawn(move || {
                let mut stream = connect(address).expect("a connection");
                let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
                for sent in 0.. {
                    // Always one more on its way than was answered.
                    if stream.write_all(text.as_bytes()).is_err() {
                        return false;
                    }
                    let Ok(reply) = read_reply(&mut reader, false) else { return false };
                    assert_eq!(reply.status, 201);
                    if sent == 0 {
                        begun.send(()).expect("the test waits");
                    }
                    if reply.header("connection") == Some("close") {
                        return true;
                    }
                }
                unreachable!("it goes on until the server stops")
            })
        })
        .collect();
    (0..4).for_each(|_| beginning.recv().expect("a first answer"));
    let asked = std::time::Instant::now();
    server.terminate();
    let told =
        clients.into_iter().map(|client| client.join().expect("no panic")).filter(|told| *told).count();
    assert!(told > 0, "nobody was told");
    assert!(asked.elapsed() < STOP_WAITS_FOR, "{:?}", asked.elapsed());
}

#[test]
fn who_has_booked_can_watch_on_the_same_connection() {
    let hall = Venue::hall(1, 4);
    let mut stream = connect(hall.server.address).expect("a connection");
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    stream.write_all(request(&hall, &hall.wanted(&best(1)).to_string(), "").as_bytes()).expect("it is read");
    read_reply(&mut reader, false).expect("an answer").expect(201);
    let watch = format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", hall.at("/stream"), hall.server.address);
    stream.write_all(watch.as_bytes()).expect("it is read");
    let mut lines = reader.lines().map(|line| line.expect("the stream goes on"));
    assert_eq!(lines.next().as_deref(), Some("HTTP/1.1 200 OK"));
    assert!(lines.any(|line| line == "event: snapshot"));
    hall.booked(&best(1));
    assert!(lines.any(|line| line == "event: change"), "told of what others book");
}

#[test]
fn connections_that_want_nothing_do_not_keep_a_server_from_stopping() {
    let server = std::sync::Arc::new(crate::server::Server::start(&[]));
    let hall =
        Venue::create(&server, "event", &crate::venue::event_body("gala", &crate::venue::section(1, 4)));
    let mut silent = connect(server.address).expect("a connection");
    let mut quiet = connect(server.address).expect("a connection");
    quiet.write_all(request(&hall, &hall.wanted(&best(1)).to_string(), "").as_bytes()).expect("it is read");
    let mut quiet = BufReader::new(quiet);
    read_reply(&mut quiet, false).expect("an answer").expect(201);
    drop(hall);
    let asked = std::time::Instant::now();
    server.terminate();
    let mut rest = Vec::new();
    silent.read_to_end(&mut rest).expect("it is closed");
    quiet.read_to_end(&mut rest).expect("it is closed");
    assert!(rest.is_empty());
    let (status, _store) = std::sync::Arc::into_inner(server).expect("nobody else has it").ended();
    assert_eq!(status.code(), Some(0));
    assert!(asked.elapsed() < STOP_WAITS_FOR, "{:?}", asked.elapsed());
}

#[test]
fn a_request_that_a_stop_finds_between_two_pieces_is_answered() {
    let server = std::sync::Arc::new(crate::server::Server::start(&[]));
    let hall =
        Venue::create(&server, "event", &crate::venue::event_body("gala", &crate::venue::section(1, 4)));
    let whole = request(&hall, &hall.wanted(&best(1)).to_string(), "");
    let (first, rest) = whole.split_at(60);
    let mut stream = connect(server.address).expect("a connection");
    stream.write_all(first.as_bytes()).expect("it is read");
    // Answered only if the server has looked at the connections that came before.
    assert_eq!(server.get("/healthz").status, 200);
    server.terminate();
    crate::server::await_some("no more connections are taken", || connect(server.address).err());
    // Longer than what the express lane waits for the pieces of a request.
    std::thread::sleep(std::time::Duration::from_millis(500));
    stream.write_all(rest.as_bytes()).expect("it is read");
    read_reply(&mut BufReader::new(stream), false).expect("an answer").expect(201);
}

#[test]
fn a_connection_on_which_a_stream_was_asked_for_serves_nothing_else() {
    let hall = Venue::hall(1, 4);
    let mut stream = connect(hall.server.address).expect("a connection");
    let watch = format!("GET /v1/events/nowhere/stream HTTP/1.1\r\nHost: {}\r\n\r\n", hall.server.address);
    stream.write_all(watch.as_bytes()).expect("it is read");
    let refused = read_reply(&mut BufReader::new(stream), false).expect("an answer");
    assert_eq!((refused.status, refused.header("connection")), (404, Some("close")));
}
