//! `POST /v1/events/{id}/cancel`.

use serde_json::{Value, json};

use crate::venue::{Venue, best, booking_url, seats, section, with};

fn cancel(hall: &Venue, body: &Value) -> Value {
    hall.server.post(&hall.at("/cancel"), body).expect(200)
}

fn statuses(hall: &Venue, bookings: &[&Value]) -> Vec<String> {
    let status = |booking: &&Value| hall.booking(booking)["status"].as_str().expect("a status").to_owned();
    bookings.iter().map(status).collect()
}

#[test]
fn cancelled_event_ends_holds_and_bookings_after_a_dry_run_counted_them() {
    let standing = json!({ "areas": [{ "name": "standing", "price": 100, "capacity": 5 }] });
    let hall = Venue::event(&with(section(1, 6), &standing));
    let held = hall.booked(&best(1));
    let paid = hall.booked(&with(best(2), &json!({ "confirm": true })));
    let admitted = hall.booked(&with(seats(&["1-5"]), &json!({ "confirm": true })));
    hall.act(&admitted, "redeem", &json!({ "redeem_code": admitted["redeem_code"] })).expect(200);
    let places = json!({ "areas": [{ "name": "standing", "quantity": 2 }], "confirm": true });
    let inside = hall.booked(&places);
    let one = json!({ "redeem_code": inside["redeem_code"], "quantity": 1 });
    hall.act(&inside, "redeem", &one).expect(200);
    let all = [&held, &paid, &admitted, &inside];

    let before = hall.show();
    let counted = cancel(&hall, &json!({ "reason": "storm", "dry_run": true }));
    assert_eq!((&counted["holds_ended"], &counted["bookings_cancelled"]), (&json!(1), &json!(1)));
    assert_eq!(hall.show(), before, "a dry run changes nothing");
    assert_eq!(statuses(&hall, &all), ["on_hold", "confirmed", "redeemed", "confirmed"]);

    let call =
        || hall.server.call("POST", &hall.at("/cancel")).key("storm-1").json(&json!({ "reason": "storm" }));
    let first = call().send();
    let done = first.expect(200);
    assert_eq!((&done["holds_ended"], &done["bookings_cancelled"]), (&json!(1), &json!(1)));
    let again = call().send();
    assert!(again.is_replay());
    assert_eq!(again.text(), first.text());
    assert_eq!(statuses(&hall, &all), ["cancelled", "cancelled", "redeemed", "confirmed"]);
    let after = hall.show();
    assert_eq!(after["status"], "cancelled");
    assert_eq!(hall.seats(), ["....s."], "what was not admitted is free");
    let audit =
        hall.server.get(&format!("/v1/audit?booking={}", paid["id"].as_str().expect("an id"))).expect(200);
    let reasons: Vec<&Value> =
        audit["items"].as_array().expect("items").iter().map(|entry| &entry["details"]["reason"]).collect();
    assert!(reasons.contains(&&json!("storm")), "{audit}");
}

#[test]
fn cancelled_event_sells_nothing_and_is_not_reopened() {
    let hall = Venue::hall(1, 4);
    let hold = hall.expired(&best(1));
    assert_eq!(hall.server.post(&hall.at("/cancel"), &json!({})).pointer(), "/reason");
    assert_eq!(hall.server.post(&hall.at("/cancel"), &json!({ "reason": "" })).pointer(), "/reason");
    cancel(&hall, &json!({ "reason": "storm" }));
    hall.book(&best(1)).expect_problem(409, "INVENTORY_CLOSED");
    let late = hall.act(&hold, "confirm", &json!({ "if_expired": "same_units" }));
    late.expect_problem(409, "INVENTORY_CLOSED");
    for status in ["open", "closed"] {
        hall.patch(&json!({ "status": status })).expect_problem(409, "INVENTORY_CLOSED");
    }
    assert_eq!(hall.patch(&json!({ "status": "cancelled" })).pointer(), "/status");
    assert_eq!(hall.patch(&json!({ "name": "Gala (cancelled)" })).expect(200)["status"], "cancelled");
    hall.server
        .post("/v1/events/no-such-event/cancel", &json!({ "reason": "storm" }))
        .expect_problem(404, "EVENT_NOT_FOUND");
}

#[test]
fn watchers_of_a_cancelled_event_see_its_seats_come_free() {
    let hall = Venue::hall(1, 2);
    let paid = hall.booked(&with(best(1), &json!({ "confirm": true })));
    let mut event = hall.stream();
    let mut booking = hall.server.call("GET", &format!("{}/stream", booking_url(&paid))).watch();
    assert_eq!(event.expect("snapshot").data["stats"]["sold"], 1);
    assert_eq!(booking.expect("booking").data["status"], "confirmed");
    cancel(&hall, &json!({ "reason": "storm" }));
    let change = event.expect("change").data;
    assert_eq!(change["seats"], json!([{ "section": "A-1", "seat": "1-1", "state": "available" }]));
    assert_eq!(booking.expect("booking").data["status"], "cancelled");
    assert_eq!(booking.next(), None, "nothing more becomes of it");
}
