//! `POST /v1/bookings/{id}/extend`.

use std::time::Instant;

use serde_json::json;

use crate::venue::{Venue, best, ms, section, with};

/// Between a booking's decision and its answer.
const SLACK_MS: i64 = 1_000;

#[test]
fn a_hold_lasts_until_so_many_seconds_from_now_but_never_shorter() {
    let hall = Venue::event(&with(
        section(1, 4),
        &json!({ "rules": { "hold_ttl_seconds": 60, "max_hold_seconds": 120 } }),
    ));
    let hold = hall.booked(&best(1));
    let booked = Instant::now();
    let longer = hall.act(&hold, "extend", &json!({ "seconds": 90 })).expect(200);
    let lasts = ms(&longer["expires_at"]) - ms(&hold["created_at"]);
    let latest = 90_000 + i64::try_from(booked.elapsed().as_millis()).expect("a short time") + SLACK_MS;
    assert!((90_000..=latest).contains(&lasts), "{longer}");
    assert_eq!((&longer["version"], &longer["expires_in_seconds"]), (&json!(2), &json!(90)));
    let shorter = hall.act(&hold, "extend", &json!({ "seconds": 10 })).expect(200);
    assert_eq!((&shorter["expires_at"], &shorter["version"]), (&longer["expires_at"], &json!(2)));
    assert_eq!(hall.act(&hold, "extend", &json!({ "seconds": 121 })).told(), "409 HOLD_LIMIT_REACHED");
    for wrong in
        [json!({}), json!({ "seconds": 0 }), json!({ "seconds": 86_401 }), json!({ "seconds": "60" })]
    {
        hall.act(&hold, "extend", &wrong).expect_problem(400, "INVALID_REQUEST");
    }
    assert_eq!(hall.booking(&hold)["expires_at"], longer["expires_at"]);
}

#[test]
fn an_extended_hold_outlives_its_first_deadline() {
    let hall = Venue::hall(1, 4);
    let want = with(best(1), &json!({ "hold_ttl_seconds": 1 }));
    let (kept, lost) = (hall.booked(&want), hall.booked(&want));
    hall.act(&kept, "extend", &json!({ "seconds": 600 })).expect(200);
    hall.await_status(&lost, "expired");
    assert_eq!(hall.booking(&kept)["status"], "on_hold");
    assert_eq!(hall.act(&lost, "extend", &json!({ "seconds": 60 })).told(), "410 HOLD_EXPIRED");
    assert_eq!(hall.seats(), ["h..."]);
}

#[test]
fn only_holds_can_be_extended() {
    let hall = Venue::hall(1, 4);
    let sold = hall.booked(&with(best(1), &json!({ "confirm": true })));
    assert_eq!(hall.act(&sold, "extend", &json!({ "seconds": 60 })).told(), "409 NOT_EXTENDABLE");
    hall.act(&sold, "cancel", &json!({})).expect(200);
    assert_eq!(hall.act(&sold, "extend", &json!({ "seconds": 60 })).told(), "409 NOT_EXTENDABLE");
}
