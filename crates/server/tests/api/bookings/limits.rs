//! What one booking and one customer may have.

use serde_json::{Value, json};

use crate::venue::{Venue, best, event_body, section, unique, with};

fn hall(rules: &Value) -> Venue {
    Venue::event(&with(section(3, 10), &json!({ "rules": rules })))
}

#[test]
fn a_booking_has_at_most_so_many_units() {
    let areas = json!({ "areas": [{ "name": "standing", "price": 1, "capacity": 50 }], "rules": { "max_units_per_booking": 3 } });
    let hall = Venue::event(&with(section(1, 9), &areas));
    let both = |seats: u32, places: u32| {
        with(best(seats), &json!({ "areas": [{ "name": "standing", "quantity": places }] }))
    };
    assert_eq!(hall.book(&both(2, 2)).told(), "400 TOO_MANY_UNITS");
    assert_eq!(hall.book(&both(2, 2)).json()["most"], 3);
    assert_eq!(hall.book(&both(2, 1)).told(), "on_hold A-1 1-1 1-2 standing x1 for 2001");
}

#[test]
fn a_customer_has_at_most_so_many_active_bookings() {
    for (most, code) in [(1, "ACTIVE_RESERVATION_EXISTS"), (2, "CUSTOMER_LIMIT_REACHED")] {
        let hall = hall(&json!({ "max_active_bookings_per_customer": most }));
        let made: Vec<Value> = (0..most).map(|_| hall.booked(&best(1))).collect();
        let refused = hall.book(&best(1)).expect_problem(409, code);
        let named = refused["booking"].as_str().expect("the caller's own booking");
        assert!(made.iter().any(|booking| booking["id"] == named), "{refused}");
        hall.booked(&with(best(1), &json!({ "customer": "bob" })));
        hall.act(&made[0], "confirm", &json!({})).expect(200);
        hall.book(&best(1)).expect_problem(409, code);
        hall.act(&made[0], "cancel", &json!({})).expect(200);
        hall.booked(&best(1));
    }
}

#[test]
fn the_newest_booking_that_stands_in_the_way_is_named() {
    let hall = hall(&json!({ "max_active_bookings_per_customer": 2, "max_units_per_customer": 4 }));
    let (old, new) = (hall.booked(&best(1)), hall.booked(&best(1)));
    assert_eq!(hall.book(&best(1)).json()["booking"], new["id"]);
    hall.act(&new, "cancel", &json!({})).expect(200);
    let refused = hall.book(&best(4)).expect_problem(409, "CUSTOMER_LIMIT_REACHED");
    assert_eq!(refused["booking"], old["id"], "the newest is over, and an older one is active");
}

#[test]
fn an_expired_hold_does_not_stand_in_its_customers_way() {
    let hall = hall(&json!({ "max_active_bookings_per_customer": 1 }));
    hall.expired(&best(1));
    hall.booked(&best(1));
}

#[test]
fn a_customer_has_at_most_so_many_units_redeemed_ones_included() {
    let hall = hall(&json!({ "max_units_per_customer": 3 }));
    let first = hall.booked(&with(best(2), &json!({ "confirm": true })));
    assert_eq!(hall.book(&best(2)).told(), "409 CUSTOMER_LIMIT_REACHED");
    hall.act(&first, "redeem", &json!({ "redeem_code": first["redeem_code"] })).expect(200);
    assert_eq!(hall.book(&best(2)).told(), "409 CUSTOMER_LIMIT_REACHED");
    let last = hall.booked(&best(1));
    assert_eq!(hall.book(&best(1)).json()["booking"], last["id"]);
}

#[test]
fn a_hold_shorter_than_min_hold_seconds_is_refused() {
    let hall = hall(&json!({ "min_hold_seconds": 30, "hold_ttl_seconds": 60, "max_hold_seconds": 90 }));
    assert_eq!(hall.show()["rules"]["min_hold_seconds"], 30);
    let held_for = |seconds: u32| hall.book(&with(best(1), &json!({ "hold_ttl_seconds": seconds })));
    for outside in [29, 91] {
        assert_eq!(held_for(outside).pointer(), "/hold_ttl_seconds");
    }
    for inside in [30, 90] {
        assert_eq!(held_for(inside).expect(201)["status"], "on_hold");
    }
}

#[test]
fn hold_bounds_out_of_order_are_refused_on_creation_and_patch() {
    let hall = hall(&json!({}));
    assert_eq!(hall.show()["rules"]["min_hold_seconds"], 1, "the default");
    for (rules, pointer) in [
        (json!({ "min_hold_seconds": 0 }), "/rules/min_hold_seconds"),
        (json!({ "min_hold_seconds": 901 }), "/rules/min_hold_seconds"),
        (json!({ "min_hold_seconds": 61, "hold_ttl_seconds": 60 }), "/rules/min_hold_seconds"),
        (json!({ "hold_ttl_seconds": 60, "max_hold_seconds": 59 }), "/rules/max_hold_seconds"),
    ] {
        assert_eq!(hall.patch(&json!({ "rules": rules })).pointer(), pointer, "{rules}");
        let body = event_body(&unique("gala"), &with(section(1, 1), &json!({ "rules": rules })));
        assert_eq!(hall.server.post("/v1/events", &body).pointer(), pointer, "{rules}");
    }
    hall.patch(&json!({ "rules": { "min_hold_seconds": 900 } })).expect(200);
    assert_eq!(
        hall.patch(&json!({ "rules": { "hold_ttl_seconds": 600 } })).pointer(),
        "/rules/min_hold_seconds"
    );
}
