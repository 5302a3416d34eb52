//! `DELETE /v1/customers/{customer}/contact`, and where contacts are kept.

use boxoffice_engine::store::{EmbeddedStore, Store};
use serde_json::{Value, json};

use crate::server::Server;
use crate::venue::{Venue, best, booking_url, event_body, section, unique, with};

#[test]
fn contact_details_are_never_stored_in_the_clear_and_can_be_erased() {
    let server = std::sync::Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 9)));
    let contact = json!({ "contact": { "email": "ann-reachable@example.com", "phone": "+12025551234" } });
    let hold = hall.booked(&with(best(1), &contact));
    let erase = |customer: &str| server.call("DELETE", &format!("/v1/customers/{customer}/contact")).send();
    for customer in ["ann", "ann", "nobody", "a%20b"] {
        let erased = erase(customer);
        assert_eq!((erased.status, erased.body.len()), (204, 0), "{customer}");
    }
    assert_eq!(hall.booking(&hold)["customer"], "ann", "the books stay");
    assert_eq!(hall.seats(), ["h........"]);
    // Whoever was erased can be reached again if they say how.
    hall.booked(&with(best(1), &contact));
    erase("ann").expect(204);
    let Some(data) = server.directory() else {
        // The bytes of its records are the same wherever they are.
        return;
    };
    drop(hall);
    let store = std::sync::Arc::into_inner(server).expect("nobody else has it").kill();
    let mut looked_at = 0;
    for entry in std::fs::read_dir(&data).expect("the store") {
        let bytes = std::fs::read(entry.expect("a file").path()).expect("a file");
        for secret in ["ann-reachable", "12025551234"] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} can be read from the store");
        }
        looked_at += bytes.len();
    }
    assert!(looked_at > 0);
    drop(store);
}

#[test]
fn a_retry_after_an_erasure_still_gets_the_first_answer() {
    let hall = Venue::hall(1, 9);
    let customer = unique("customer");
    let want = with(best(1), &json!({ "customer": customer, "contact": { "email": "a@example.com" } }));
    let first = hall.booking_call(&want).key("key").send();
    hall.server.call("DELETE", &format!("/v1/customers/{customer}/contact")).send().expect(204);
    let again = hall.booking_call(&want).key("key").send();
    assert_eq!((again.text(), again.is_replay()), (first.text(), true));
}

#[test]
fn a_name_that_no_customer_can_have_is_refused() {
    let server = Server::shared();
    let erase = |name: &str| server.call("DELETE", &format!("/v1/customers/{name}/contact")).send();
    erase(&"a".repeat(200)).expect(204);
    assert_eq!(erase(&"a".repeat(201)).pointer(), "/customer");
}

#[test]
fn who_cannot_book_leaves_no_key_behind() {
    let server = std::sync::Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 9)));
    let contact = json!({ "contact": { "email": "a@example.com" } });
    let wrong: Vec<Value> = [
        json!({ "event": "none" }),
        json!({ "contact": { "email": "nowhere" } }),
        json!({ "customer": "" }),
        json!({ "customer": "x".repeat(201) }),
    ]
    .iter()
    .map(|wrong| hall.wanted(&with(with(best(1), &contact), wrong)))
    .collect();
    for wish in &wrong {
        assert!(server.post("/v1/bookings", wish).status >= 400, "{wish}");
    }
    let commands: Vec<Value> = wrong.iter().map(|wish| with(json!({ "op": "book" }), wish)).collect();
    let answer = server.post("/v1/batch", &json!({ "commands": commands })).expect(200);
    assert!(
        answer["results"].as_array().expect("results").iter().all(|one| one["status"] != 201),
        "{answer}"
    );
    hall.booked(&with(best(1), &contact));
    let Some(data) = server.directory() else {
        // Which keys are made does not depend on where.
        return;
    };
    drop(hall);
    let _files = std::sync::Arc::into_inner(server).expect("nobody else has it").kill();
    let keys = EmbeddedStore::open(&data).expect("a store").documents("contact/").expect("its documents");
    assert_eq!(keys.len(), 1, "of the one who booked");
}

#[test]
fn each_booking_keeps_its_own_contact_until_it_is_erased() {
    let hall = Venue::hall(1, 9);
    let customer = unique("customer");
    let want = |email: &str| with(best(1), &json!({ "customer": customer, "contact": { "email": email } }));
    let contact = |email: &str| json!({ "email": email, "phone": null });
    let first = hall.booked(&want("a@example.com"));
    let second = hall.booked(&want("b@example.com"));
    let none = hall.booked(&with(best(1), &json!({ "customer": customer })));
    assert_eq!(
        (&first["contact"], &second["contact"]),
        (&contact("a@example.com"), &contact("b@example.com"))
    );
    assert_eq!(hall.booking(&first)["contact"], contact("a@example.com"), "a later booking changes nothing");
    let paid = hall.act(&first, "confirm", &json!({})).expect(200);
    assert_eq!(paid["contact"], contact("a@example.com"));
    let listed = || {
        let list = hall.server.get(&format!("/v1/bookings?customer={customer}")).expect(200);
        list["items"].as_array().expect("items").iter().map(|one| one["contact"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(), [Value::Null, contact("b@example.com"), contact("a@example.com")]);
    let mut stream = hall.server.call("GET", &format!("{}/stream", booking_url(&second))).watch();
    assert_eq!(stream.expect("booking").data["contact"], contact("b@example.com"));
    let extend = json!({ "op": "extend", "id": second["id"], "seconds": 60 });
    let cancel = json!({ "op": "cancel", "id": none["id"] });
    let batch = hall.server.post("/v1/batch", &json!({ "commands": [extend, cancel] })).expect(200);
    let told = |index: usize| &batch["results"][index]["body"]["contact"];
    assert_eq!((told(0), told(1)), (&contact("b@example.com"), &Value::Null));

    hall.server.call("DELETE", &format!("/v1/customers/{customer}/contact")).send().expect(204);
    assert_eq!(listed(), [Value::Null, Value::Null, Value::Null]);
    assert_eq!(hall.booking(&first)["contact"], Value::Null);
    let third = hall.booked(&want("c@example.com"));
    assert_eq!(hall.booking(&third)["contact"], contact("c@example.com"));
    assert_eq!(hall.booking(&first)["contact"], Value::Null, "what was erased stays so");
}
