//! `POST /v1/bookings/{id}/cancel`.

use serde_json::json;

use crate::venue::{Venue, best, booking_url, counts, with};

#[test]
fn units_are_free_at_once_and_nothing_is_freed_twice() {
    let hall = Venue::hall(1, 4);
    for want in [best(2), with(best(2), &json!({ "confirm": true }))] {
        let booking = hall.booked(&want);
        let cancelled = hall.act(&booking, "cancel", &json!({ "reason": "rain" })).expect(200);
        assert_eq!((&cancelled["status"], &cancelled["version"]), (&json!("cancelled"), &json!(2)));
        assert_eq!(cancelled["confirmed_at"], booking["confirmed_at"]);
        let other = hall.booked(&with(best(2), &json!({ "customer": "bob" })));
        assert_eq!(other["seats"], booking["seats"]);
        let again = hall.act(&booking, "cancel", &json!({ "reason": "rain" })).expect(200);
        assert_eq!((&again["cancelled_at"], &again["version"]), (&cancelled["cancelled_at"], &json!(2)));
        assert_eq!(counts(&hall.show()["stats"]), [2, 2, 0, 0]);
        // No body is as good as an empty one.
        hall.server.call("POST", &format!("{}/cancel", booking_url(&other))).send().expect(200);
    }
}

#[test]
fn what_is_redeemed_or_expired_is_not_cancelled() {
    let hall = Venue::hall(1, 4);
    let expired = hall.expired(&best(1));
    assert_eq!(hall.act(&expired, "cancel", &json!({})).told(), "409 NOT_CANCELLABLE");
    let redeemed = hall.booked(&with(best(1), &json!({ "confirm": true })));
    hall.act(&redeemed, "redeem", &json!({ "redeem_code": redeemed["redeem_code"] })).expect(200);
    assert_eq!(hall.act(&redeemed, "cancel", &json!({})).told(), "409 NOT_CANCELLABLE");
    assert_eq!(hall.seats(), ["s..."]);
    assert_eq!(hall.act(&expired, "cancel", &json!({ "why": "x" })).pointer(), "/why");
    assert_eq!(hall.act(&expired, "cancel", &json!({ "reason": "x".repeat(501) })).pointer(), "/reason");
}

#[test]
fn ten_cancellations_at_once_free_the_units_once() {
    let hall = Venue::hall(1, 4);
    hall.booked(&best(2));
    let booking = hall.booked(&best(2));
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| hall.act(&booking, "cancel", &json!({})).expect(200));
        }
    });
    assert_eq!(counts(&hall.show()["stats"]), [2, 2, 0, 0]);
    assert_eq!(hall.booking(&booking)["version"], 2);
}
