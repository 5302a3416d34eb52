//! What becomes of open live streams when a key is revoked, or the first one is made.

use std::io::BufRead;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{Server, next_message, text};

/// Sooner than the next heartbeat, which is 15 s after the last message, and much later than what is promised.
const ENDED_WITHIN: Duration = Duration::from_secs(12);

#[test]
fn revoked_key_loses_its_open_streams_and_another_key_keeps_its_own() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let admin = server.first_key();
    let event = json!({ "id": "gala", "name": "Gala", "currency": "TWD",
        "areas": [{ "name": "floor", "price": 0, "capacity": 5 }] });
    server.post(Some(&admin), "/v1/events", &event).expect(201);
    let made = server.post(Some(&admin), "/v1/keys", &json!({ "role": "seller" })).expect(201);
    let seller = text(&made["key"]);
    let wanted = json!({ "customer": "ann", "event": "gala", "areas": [{ "name": "floor", "quantity": 1 }] });
    let booking = server.post(Some(&seller), "/v1/bookings", &wanted).expect(201);
    let booking = format!("/v1/bookings/{}", text(&booking["id"]));
    let paths = ["/v1/events/gala/stream", &*format!("{booking}/stream")];
    let of_seller = paths.map(|path| server.stream(Some(&seller), path));
    let of_admin = paths.map(|path| server.stream(Some(&admin), path));

    server.delete(Some(&admin), &format!("/v1/keys/{}", text(&made["id"]))).expect(204);
    let revoked = Instant::now();
    for (mut stream, path) in of_seller.into_iter().zip(paths) {
        let mut line = String::new();
        while stream.read_line(&mut line).expect("it ends or says something") > 0 {
            assert!(revoked.elapsed() < ENDED_WITHIN, "{path} is still open");
            line.clear();
        }
    }

    server.post(Some(&admin), &format!("{booking}/confirm"), &json!({})).expect(200);
    for (mut stream, path) in of_admin.into_iter().zip(paths) {
        assert!(next_message(&mut stream), "{path} of another key has ended");
    }
}

#[test]
fn stream_without_a_key_ends_when_the_first_key_is_made() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let event = json!({ "id": "gala", "name": "Gala", "currency": "TWD",
        "areas": [{ "name": "floor", "price": 0, "capacity": 5 }] });
    server.post(None, "/v1/events", &event).expect(201);
    let mut stream = server.stream(None, "/v1/events/gala/stream");
    server.first_key();
    let made = Instant::now();
    let mut line = String::new();
    while stream.read_line(&mut line).expect("it ends or says something") > 0 {
        assert!(made.elapsed() < ENDED_WITHIN, "it is still open");
        line.clear();
    }
}
