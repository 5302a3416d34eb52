//! What can be told of a contact that was erased: nothing, by any caller and from any file.

use std::sync::Arc;

use boxoffice_core::ids::parts_of_name;
use boxoffice_engine::load::load;
use serde_json::{Value, json};

use crate::server::{Server, Store};
use crate::venue::{Venue, best, event_body, section, with};

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
