//! Names and identifiers that look like others: invisible characters are refused, those that a script needs are not.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::server::Server;
use crate::venue::{Venue, best, event_body, seats, section, slot_at_ten, unique, with};

/// A right-to-left override, and a zero-width space.
const INVISIBLE: [&str; 2] = ["a\u{202e}b", "a\u{200b}b"];

#[test]
fn invisible_character_is_refused_in_each_name_and_identifier_and_the_field_is_named() {
    let hall = Venue::hall(1, 2);
    let (museum, bakery) = (Venue::museum(&json!({})), Venue::bakery(&json!({})));
    bakery.add_box(&json!({ "id": "lunch" }));
    let slot = slot_at_ten(1);
    for text in INVISIBLE {
        let event = |more: Value| with(event_body(&unique("gala"), &section(1, 1)), &more);
        let (area, subsections) =
            (json!({ "price": 1, "capacity": 1 }), json!([{ "number": 1, "rows": 1, "cols": 1 }]));
        let rows = [
            ("POST", "/v1/events".to_owned(), event(json!({ "name": text })), "/name"),
            ("POST", "/v1/events".to_owned(), event(json!({ "venue": text })), "/venue"),
            (
                "POST",
                "/v1/events".to_owned(),
                event(json!({ "sections": [{ "name": text, "price": 1, "subsections": subsections }] })),
                "/sections/0/name",
            ),
            (
                "POST",
                "/v1/events".to_owned(),
                event(json!({ "areas": [with(area, &json!({ "name": text }))] })),
                "/areas/0/name",
            ),
            ("PATCH", hall.at(""), json!({ "name": text }), "/name"),
            ("PATCH", hall.at(""), json!({ "venue": text }), "/venue"),
            (
                "POST",
                "/v1/schedules".to_owned(),
                crate::venue::schedule_body("museum-x", &json!({ "name": text })),
                "/name",
            ),
            (
                "POST",
                "/v1/shops".to_owned(),
                json!({ "name": text, "timezone": "UTC", "currency": "TWD" }),
                "/name",
            ),
            (
                "POST",
                bakery.at("/boxes"),
                json!({ "id": "evening", "name": text, "quantity": 1, "price": 1 }),
                "/name",
            ),
            ("PATCH", bakery.at("/boxes/lunch"), json!({ "name": text }), "/name"),
            (
                "PUT",
                museum.at("/tickets"),
                json!({ "tickets": [{ "id": text, "status": "active" }] }),
                "/tickets/0/id",
            ),
            (
                "POST",
                "/v1/bookings".to_owned(),
                with(hall.wanted(&best(1)), &json!({ "customer": text })),
                "/customer",
            ),
            (
                "POST",
                "/v1/bookings".to_owned(),
                with(hall.wanted(&best(1)), &json!({ "reference": text })),
                "/reference",
            ),
            (
                "POST",
                "/v1/bookings".to_owned(),
                museum.wanted(&json!({ "slot": slot, "tickets": [text] })),
                "/tickets/0",
            ),
        ];
        for (method, path, body, pointer) in rows {
            let reply = hall.server.call(method, &path).json(&body).send();
            assert_eq!(reply.pointer(), pointer, "{method} {path} {body}");
        }
    }
    assert_eq!(hall.seats(), [".."]);
}

#[test]
fn direction_override_is_refused_in_descriptions_reasons_and_payment_references() {
    let hall = Venue::hall(1, 2);
    let booking = hall.booked(&seats(&["1-1"]));
    let text = INVISIBLE[0];
    assert_eq!(hall.patch(&json!({ "description": text })).pointer(), "/description");
    assert_eq!(
        hall.act(&booking, "confirm", &json!({ "payment_reference": text })).pointer(),
        "/payment_reference"
    );
    assert_eq!(hall.act(&booking, "cancel", &json!({ "reason": text })).pointer(), "/reason");
    hall.patch(&json!({ "description": INVISIBLE[1] })).expect(200);
}

#[test]
fn name_that_needs_a_joiner_is_taken_and_shown_unchanged() {
    let server: Arc<Server> = Server::shared();
    for name in ["\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}", "\u{915}\u{94d}\u{200d}\u{937}"]
    {
        let hall = Venue::create(
            &server,
            "event",
            &with(event_body(&unique("gala"), &section(1, 1)), &json!({ "name": name })),
        );
        assert_eq!(hall.show()["name"], name);
        let booking = with(hall.wanted(&best(1)), &json!({ "customer": name }));
        assert_eq!(server.post("/v1/bookings", &booking).pointer(), "/customer");
    }
}
