//! What is left when the process or its disk dies: everything that was acknowledged, and nothing twice.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::client::{Call, Reply};
use crate::server::{Server, Store, await_some};
use crate::venue::{counts, event_body, section, with};

const CLIENTS: usize = 16;
const REQUESTS_PER_CLIENT: usize = 40;

/// The request of a client: mostly bookings, some of seats that others want too.
fn wanted(client: usize, request: usize) -> Value {
    let customer = format!("client-{client}");
    let booking =
        json!({ "customer": customer, "event": "gala", "metadata": { "key": key(client, request) } });
    match request % 4 {
        0 => {
            with(booking, &json!({ "seats": [{ "section": "A-1", "ids": [format!("1-{}", request + 1)] }] }))
        }
        1 => with(booking, &json!({ "best_available": { "quantity": 2 }, "confirm": true })),
        _ => with(booking, &json!({ "best_available": { "quantity": 1 } })),
    }
}

fn key(client: usize, request: usize) -> String {
    format!("key-{client}-{request}")
}

fn send(address: SocketAddr, client: usize, request: usize) -> std::io::Result<Reply> {
    let call = Call::new(address, "POST", "/v1/bookings");
    call.key(&key(client, request)).json(&wanted(client, request)).try_send()
}

#[test]
fn after_a_kill_every_acknowledged_answer_is_there_and_every_retried_key_has_one_effect() {
    let server = Server::start(&[]);
    server.post("/v1/events", &event_body("gala", &section(40, 50))).expect(201);
    let acknowledged: Mutex<Vec<((usize, usize), Reply)>> = Mutex::default();
    let answered = AtomicUsize::new(0);
    let address = server.address;
    let store = std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (acknowledged, answered) = (&acknowledged, &answered);
            scope.spawn(move || {
                for request in 0..REQUESTS_PER_CLIENT {
                    // Gone in the middle: nobody knows, and the retry will tell.
                    let Ok(reply) = send(address, client, request) else { return };
                    acknowledged.lock().expect("no client panics").push(((client, request), reply));
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        await_some("a third is answered", || {
            (answered.load(Ordering::Relaxed) > CLIENTS * REQUESTS_PER_CLIENT / 3).then_some(())
        });
        server.kill()
    });
    let server = store.serve(&[]);
    let acknowledged = acknowledged.into_inner().expect("no client panicked");
    assert!(acknowledged.len() < CLIENTS * REQUESTS_PER_CLIENT, "it was killed in the middle");
    for ((client, request), reply) in &acknowledged {
        let again = send(server.address, *client, *request).expect("an answer");
        assert_eq!((again.status, again.text(), again.is_replay()), (reply.status, reply.text(), true));
    }
    // Everybody tries again what they did not hear of, at once and twice.
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let server = &server;
            scope.spawn(move || {
                for request in 0..REQUESTS_PER_CLIENT {
                    let first = send(server.address, client, request).expect("an answer");
                    let second = send(server.address, client, request).expect("an answer");
                    assert!(matches!(first.status, 201 | 409), "{}", first.text());
                    assert_eq!((first.status, first.text()), (second.status, second.text()));
                }
            });
        }
    });
    audit(&server);
}

/// Every key has at most one booking, every seat at most one owner, and the counts are those of the bookings.
fn audit(server: &Server) {
    let mut keys = std::collections::BTreeSet::new();
    let mut seats = std::collections::BTreeSet::new();
    let (mut held, mut sold) = (0, 0);
    let mut query = "/v1/bookings?event=gala&limit=500".to_owned();
    loop {
        let page = server.get(&query).expect(200);
        for booking in page["items"].as_array().expect("items") {
            let key = booking["metadata"]["key"].as_str().expect("our own").to_owned();
            assert!(keys.insert(key.clone()), "{key} has two bookings");
            for seat in booking["seats"].as_array().expect("seats") {
                assert!(seats.insert(seat["seat"].to_string()), "{seat} has two owners");
                match booking["status"].as_str() {
                    Some("on_hold") => held += 1,
                    Some("confirmed") => sold += 1,
                    other => panic!("nobody ended a booking: {other:?}"),
                }
            }
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("/v1/bookings?event=gala&limit=500&cursor={cursor}"),
            None => break,
        }
    }
    let total = server.get("/v1/events/gala").expect(200);
    assert_eq!(counts(&total["stats"]), [2_000 - held - sold, held, sold, 0]);
    let granted =
        (0..CLIENTS).flat_map(|client| (0..REQUESTS_PER_CLIENT).map(move |request| (client, request)));
    let granted = granted
        .filter(|&(client, request)| send(server.address, client, request).expect("an answer").status == 201);
    assert_eq!(granted.count(), keys.len());
}

#[test]
fn a_disk_that_is_full_ends_the_server_and_nothing_acknowledged_is_lost() {
    let store = Store::new();
    if store.directory().is_none() {
        // Another program's disk.
        return;
    }
    let serve = store.serve_command("127.0.0.1:0");
    let mut limited = Command::new("sh");
    // The signal of a file that grows too large is ignored, so that the write fails as on a full disk. There is room for the log, whose
    // files are made at their full length, and not for all that comes through it: the limit is 18,000 blocks of 512 bytes.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 18000; exec \"$0\" \"$@\""]);
    limited.arg(serve.get_program()).args(serve.get_args()).env("NO_COLOR", "1");
    let mut server = store.serve_by(limited);
    server
        .post(
            "/v1/events",
            &event_body("gala", &json!({ "areas": [{ "name": "all", "price": 1, "capacity": 1_000_000 }] })),
        )
        .expect(201);
    let metadata = "x".repeat(4_000);
    let mut acknowledged = Vec::new();
    let mut refused = Vec::new();
    for number in 0..100_000 {
        let booking = json!({
            "customer": "ann", "event": "gala", "areas": [{ "name": "all", "quantity": 1 }],
            "metadata": { "text": metadata },
        });
        let key = format!("key-{number}");
        let Ok(reply) = server.call("POST", "/v1/bookings").key(&key).json(&booking).try_send() else {
            break;
        };
        if reply.status == 503 {
            assert!(reply.header("retry-after").is_some(), "{}", reply.text());
            refused.push((key, booking, reply.json()["code"].as_str().expect("a code").to_owned()));
            if !server.is_running() {
                break;
            }
            continue;
        }
        assert_eq!((reply.status, refused.len()), (201, 0), "{}", reply.text());
        acknowledged.push((key, booking, reply));
    }
    assert!(!acknowledged.is_empty());
    let codes: Vec<&str> = refused.iter().map(|(.., code)| code.as_str()).collect();
    assert!(codes.iter().all(|code| ["OUTCOME_UNKNOWN", "UNAVAILABLE"].contains(code)), "{codes:?}");
    let (status, store) = server.ended();
    assert!(!status.success(), "{status}");
    let server = store.serve(&[]);
    for (key, booking, reply) in &acknowledged {
        let again = server.call("POST", "/v1/bookings").key(key).json(booking).send();
        assert_eq!((again.text(), again.is_replay()), (reply.text(), true));
    }
    for (key, booking, code) in &refused {
        let again = server.call("POST", "/v1/bookings").key(key).json(booking).send();
        again.expect(201);
        // Whoever was told that nothing was done must find it so.
        assert!(code == "OUTCOME_UNKNOWN" || !again.is_replay(), "{}", again.text());
    }
}
