//! `POST /v1/bookings/{id}/confirm`.

use serde_json::{Value, json};

use crate::venue::{Venue, best, boxes, places, seats, seconds_from_now, section, slot_at_ten, with};

#[test]
fn a_live_hold_is_always_confirmed_and_again_with_the_same_reference() {
    let hall = Venue::hall(1, 4);
    let hold = hall.booked(&best(1));
    let paid = hall.act(&hold, "confirm", &json!({ "payment_reference": "pay-1" })).expect(200);
    assert_eq!(
        (&paid["status"], &paid["payment_reference"], &paid["version"]),
        (&json!("confirmed"), &json!("pay-1"), &json!(2))
    );
    assert_eq!((&paid["expires_at"], &paid["hold_token"]), (&Value::Null, &Value::Null));
    let again = hall.act(&hold, "confirm", &json!({ "payment_reference": "pay-1" })).expect(200);
    assert_eq!((&again["version"], &again["confirmed_at"]), (&json!(2), &paid["confirmed_at"]));
    for other in [json!({ "payment_reference": "pay-2" }), json!({})] {
        assert_eq!(hall.act(&hold, "confirm", &other).told(), "409 ALREADY_CONFIRMED");
    }
    hall.patch(&json!({ "status": "closed" })).expect(200);
    let free = hall.seats();
    assert_eq!(free, ["s..."]);
}

#[test]
fn only_holds_can_be_confirmed() {
    let hall = Venue::hall(1, 4);
    let cancelled = hall.booked(&best(1));
    hall.act(&cancelled, "cancel", &json!({})).expect(200);
    assert_eq!(hall.act(&cancelled, "confirm", &json!({})).told(), "409 NOT_CONFIRMABLE");
    let redeemed = hall.booked(&with(best(1), &json!({ "confirm": true })));
    hall.act(&redeemed, "redeem", &json!({ "redeem_code": redeemed["redeem_code"] })).expect(200);
    assert_eq!(hall.act(&redeemed, "confirm", &json!({})).told(), "409 NOT_CONFIRMABLE");
    for (body, pointer) in [
        (json!({ "payment_reference": "" }), "/payment_reference"),
        (json!({ "if_expired": "perhaps" }), "/if_expired"),
        (json!({ "reference": "x" }), "/reference"),
    ] {
        assert_eq!(hall.act(&cancelled, "confirm", &body).pointer(), pointer);
    }
}

#[test]
fn a_late_payment_of_seats_follows_the_rule_and_the_payment_overrides_it() {
    // The rule, what the payment says, whether somebody else has the seat by then, and what comes of it.
    let rows = [
        ("fail", json!({}), false, "410 HOLD_EXPIRED"),
        ("fail", json!({ "if_expired": "same_units" }), false, "confirmed A-1 1-1 for 1000"),
        ("fail", json!({ "if_expired": "same_units" }), true, "409 SEAT_UNAVAILABLE"),
        ("fail", json!({ "if_expired": "equivalent" }), true, "confirmed A-1 1-2 for 1000"),
        ("same_units", json!({}), false, "confirmed A-1 1-1 for 1000"),
        ("same_units", json!({}), true, "409 SEAT_UNAVAILABLE"),
        ("same_units", json!({ "if_expired": "fail" }), false, "410 HOLD_EXPIRED"),
        ("equivalent", json!({}), false, "confirmed A-1 1-1 for 1000"),
        ("equivalent", json!({}), true, "confirmed A-1 1-2 for 1000"),
    ];
    std::thread::scope(|scope| {
        for (rule, payment, taken, told) in rows {
            scope.spawn(move || {
                let hall = Venue::event(&with(section(1, 2), &json!({ "rules": { "late_payment": rule } })));
                let late = hall.expired(&seats(&["1-1"]));
                assert_eq!(late["expires_in_seconds"], Value::Null);
                if taken {
                    hall.booked(&with(seats(&["1-1"]), &json!({ "customer": "bob" })));
                }
                assert_eq!(hall.act(&late, "confirm", &payment).told(), told, "{rule} {payment} {taken}");
            });
        }
    });
}

#[test]
fn a_late_payment_of_places_and_boxes_takes_them_again_if_they_are_free() {
    let museum = Venue::museum(
        &json!({ "windows": [{ "start": "10:00", "end": "12:00", "capacity": 1, "price": 5 }], "rules": { "late_payment": "same_units" } }),
    );
    let slot = slot_at_ten(1);
    let late = museum.expired(&places(&slot, 1));
    assert_eq!(museum.act(&late, "confirm", &json!({})).told(), format!("confirmed {slot} x1 for 5"));
    assert_eq!(museum.slot(&slot)["status"], "FULL");
    let shop = Venue::bakery(&json!({ "late_payment": "same_units" }));
    shop.add_box(&json!({ "quantity": 1 }));
    let late = shop.expired(&boxes(1));
    let other = shop.booked(&with(boxes(1), &json!({ "customer": "bob" })));
    assert_eq!(shop.act(&late, "confirm", &json!({})).told(), "409 BOX_UNAVAILABLE");
    shop.act(&other, "cancel", &json!({})).expect(200);
    assert_eq!(shop.act(&late, "confirm", &json!({})).told(), "confirmed evening x1 for 500");
}

#[test]
fn a_hold_on_a_box_is_not_confirmed_after_its_pickup_window() {
    let shop = Venue::bakery(&json!({}));
    shop.add_box(
        &json!({ "pickup": { "starts_at": seconds_from_now(-60), "ends_at": seconds_from_now(60) } }),
    );
    let (first, second) = (shop.booked(&boxes(1)), shop.booked(&boxes(1)));
    shop.act(&first, "confirm", &json!({})).expect(200);
    let over = json!({ "pickup": { "starts_at": seconds_from_now(-60), "ends_at": seconds_from_now(-30) } });
    shop.server.patch(&shop.at("/boxes/evening"), &over).expect(200);
    assert_eq!(shop.act(&second, "confirm", &json!({})).told(), "409 PICKUP_WINDOW_CLOSED");
    assert_eq!(shop.booking(&second)["status"], "on_hold");
    let batch = json!({ "commands": [{ "op": "confirm", "id": second["id"] }] });
    let answer = shop.server.post("/v1/batch", &batch).expect(200);
    assert_eq!(answer["results"][0]["body"]["code"], "PICKUP_WINDOW_CLOSED");
}
