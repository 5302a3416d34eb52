//! What can be told of a contact that was erased: nothing, by any caller and from any file.

use std::sync::Arc;

use boxoffice_core::ids::parts_of_name;
use boxoffice_engine::load::load;
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use serde_json::{Value, json};

use crate::server::{Server, Store};
use crate::venue::{Venue, best, booking_url, event_body, seats, section, with};

fn reached_at(phone: &str) -> Value {
    with(best(1), &json!({ "contact": { "phone": phone } }))
}

#[test]
fn replay_with_another_contact_is_refused_until_the_contact_is_erased() {
    let server = Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 9)));
    let chosen = json!({ "id": "0199aaaa-0000-7000-8000-0000c0de0001" });
    let command = |want: &Value| with(json!({ "op": "book" }), &hall.wanted(want));
    let batch = |want: &Value| json!({ "commands": [command(want)] });
    let keyed = |want: &Value| hall.booking_call(want).key("keyed").send();
    let named = |want: &Value| hall.booking_call(&with(want.clone(), &chosen)).send();
    let batched = |want: &Value| server.call("POST", "/v1/batch").key("batch").json(&batch(want)).send();
    let code_in = |reply: &Value| reply["results"][0]["body"]["code"].clone();

    let (right, wrong, none) = (reached_at("+12025550000"), reached_at("+12025550001"), best(1));
    let first = [keyed(&right), named(&right), batched(&right)];
    assert_eq!(first.each_ref().map(|reply| reply.status), [201, 201, 200]);
    for other in [&wrong, &none] {
        keyed(other).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
        named(other).expect_problem(409, "BOOKING_ID_TAKEN");
        assert_eq!(code_in(&batched(other).expect(200)), "IDEMPOTENCY_KEY_REUSED");
    }
    hall.booking_call(&none).key("without").send().expect(201);
    hall.booking_call(&right).key("without").send().expect_problem(422, "IDEMPOTENCY_KEY_REUSED");

    server.call("DELETE", "/v1/customers/ann/contact").send().expect(204);
    let again = [keyed(&right), named(&right), batched(&right)];
    for (first, again) in first.iter().zip(&again) {
        assert_eq!((again.text(), again.is_replay()), (first.text(), true));
    }
    // After the erasure no answer tells whether a contact is the one that was erased.
    for reply in [keyed(&wrong), named(&wrong), batched(&wrong)] {
        assert!(reply.is_replay(), "{}", reply.text());
    }
    assert_eq!(hall.seats(), ["hhhh....."]);
}

/// The fingerprints that a store remembers, in the order of their requests.
fn fingerprints(store: &Store) -> Vec<[u8; 16]> {
    let store = store.open();
    let heads = store.heads().expect("heads");
    let gala = heads.iter().find(|head| parts_of_name(&head.name).is_some_and(|(_, _, id)| id == "gala"));
    let loaded = load(&*store, gala.expect("the event").inventory).expect("a journal").expect("the event");
    let remembered = loaded.inventory.memory().queue().map(|remembered| remembered.fingerprint.0).collect();
    store.close().expect("a store");
    remembered
}

#[test]
fn fingerprint_depends_on_the_servers_secret_and_not_on_the_contact() {
    let book = || {
        let server = Arc::new(Server::start(&[]));
        let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 9)));
        for (key, want) in [
            ("first", reached_at("+12025550000")),
            ("same but for the contact", reached_at("+12025550001")),
            ("same without a contact", best(1)),
            ("another reference", with(best(1), &json!({ "reference": "order 7" }))),
        ] {
            hall.booking_call(&want).key(key).send().expect(201);
        }
        server.call("DELETE", "/v1/customers/ann/contact").send().expect(204);
        drop(hall);
        fingerprints(&Arc::into_inner(server).expect("it has no other owner").kill())
    };
    let (one, other) = (book(), book());
    // Whatever the contact was, the journal is the same: a search through all numbers has nothing to compare with.
    assert_eq!((one[0], one[0]), (one[1], one[2]));
    assert_ne!(one[0], one[3], "all else in a request is covered");
    assert_ne!(one[0], other[0], "requests that can be guessed cannot be confirmed without the secret");
}

/// How many refused bookings come with a contact: each had left a key behind.
const REFUSED: usize = 20_000;
const COMMANDS_OF_A_BATCH: usize = 10_000;

#[test]
fn refused_and_replayed_bookings_leave_no_contact_keys() {
    let server = Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 2)));
    let contact = json!({ "contact": { "phone": "+12025550000" } });
    let keyed = || hall.booking_call(&with(best(1), &contact)).key("keyed").send();
    assert!(!keyed().is_replay());
    for _ in 0..10 {
        assert!(keyed().is_replay());
    }
    let refused = with(seats(&["1-1"]), &contact);
    hall.book(&refused).expect_problem(409, "SEAT_UNAVAILABLE");
    let command = with(json!({ "op": "book" }), &hall.wanted(&refused));
    let batch = json!({ "commands": vec![command; COMMANDS_OF_A_BATCH] });
    for _ in 0..REFUSED / COMMANDS_OF_A_BATCH {
        let answer = server.post("/v1/batch", &batch).expect(200);
        assert!(answer["results"].as_array().expect("results").iter().all(|one| one["status"] == 409));
    }
    // Keys are written in the order of the requests: when this one is there, all others are removed.
    hall.booked(&with(best(1), &contact));
    drop(hall);
    let store = Arc::into_inner(server).expect("it has no other owner").kill().open();
    assert_eq!(
        store.documents("contact/").expect("documents").len(),
        2,
        "of the two bookings that were made"
    );
}

#[test]
fn erasure_is_durable_when_it_is_answered() {
    let server = Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 9)));
    let hold = hall.booked(&reached_at("+12025550000"));
    server.call("DELETE", "/v1/customers/ann/contact").send().expect(204);
    drop(hall);
    let store = Arc::into_inner(server).expect("it has no other owner").kill();
    let server = store.serve(&[]);
    assert_eq!(server.get(&booking_url(&hold)).expect(200)["contact"], Value::Null);
    let store = server.kill().open();
    assert_eq!(store.documents("contact/").expect("documents").len(), 0);
    assert_eq!(store.documents("erasure/").expect("documents").len(), 1);
}

/// Whether bytes could be a key: random ones have few that are the same.
fn may_be_key(window: &[u8]) -> bool {
    let mut seen = [false; 256];
    window.iter().filter(|byte| !std::mem::replace(&mut seen[usize::from(**byte)], true)).count() > 20
}

#[test]
fn no_bytes_of_any_file_open_an_erased_contact() {
    let server = Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 9)));
    let hold = hall.booked(&reached_at("+12025550000"));
    let other = hall.booked(&with(reached_at("+12025550001"), &json!({ "customer": "bob" })));
    server.call("DELETE", "/v1/customers/ann/contact").send().expect(204);
    let Some(data) = server.directory() else {
        // Which bytes a database keeps is for the database.
        return;
    };
    drop(hall);
    let store = Arc::into_inner(server).expect("it has no other owner").kill();
    let [sealed, of_other] = [&hold, &other].map(|booking| sealed_contact(&store, booking));
    let (mut keys_tried, mut opened_other) = (0, false);
    for entry in std::fs::read_dir(&data).expect("the store") {
        let bytes = std::fs::read(entry.expect("a file").path()).expect("a file");
        for phone in ["+12025550000", "+12025550001"] {
            assert!(!bytes.windows(phone.len()).any(|window| window == phone.as_bytes()));
        }
        for key in bytes.windows(32).filter(|window| may_be_key(window)) {
            assert!(!opens(key, &sealed), "a key is left");
            opened_other |= opens(key, &of_other);
            keys_tried += 1;
        }
    }
    assert!(opened_other, "the search finds keys that were not erased, among {keys_tried}");
}

/// The contact of a booking as the journal has it, without the name of its key.
fn sealed_contact(store: &Store, booking: &Value) -> Vec<u8> {
    let store = store.open();
    let inventory = store.heads().expect("heads").first().expect("the event").inventory;
    let loaded = load(&*store, inventory).expect("a journal").expect("the event").inventory;
    let id = booking["id"].as_str().expect("an id");
    let is_it = |one: &&Arc<boxoffice_core::booking::Booking>| {
        uuid::Uuid::from_bytes(one.id.to_bytes()).to_string() == id
    };
    let sealed =
        loaded.bookings().find(is_it).expect("the booking").contact().expect("a contact")[32..].to_vec();
    store.close().expect("a store");
    sealed
}

fn opens(key: &[u8], sealed: &[u8]) -> bool {
    let cipher = ChaCha20Poly1305::new_from_slice(key).expect("32 bytes");
    cipher.decrypt(&Nonce::default(), sealed).is_ok()
}
