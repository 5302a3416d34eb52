//! `POST /v1/bookings/{id}/redeem`.

use serde_json::json;

use crate::venue::{Venue, best, places, today_at, with, zone_at_noon};

#[test]
fn a_confirmed_booking_is_redeemed_once_with_its_code() {
    let hall = Venue::hall(1, 4);
    let hold = hall.booked(&best(1));
    let code = json!({ "redeem_code": hold["redeem_code"] });
    assert_eq!(hall.act(&hold, "redeem", &code).told(), "409 NOT_REDEEMABLE");
    hall.act(&hold, "confirm", &json!({})).expect(200);
    for wrong in ["AAAAAA", "", "not a code at all"] {
        assert_eq!(hall.act(&hold, "redeem", &json!({ "redeem_code": wrong })).told(), "409 WRONG_CODE");
    }
    assert_eq!(hall.act(&hold, "redeem", &json!({})).told(), "400 INVALID_REQUEST");
    let redeemed = hall.act(&hold, "redeem", &code).expect(200);
    assert_eq!((&redeemed["status"], &redeemed["version"]), (&json!("redeemed"), &json!(3)));
    let again = hall.act(&hold, "redeem", &code).expect_problem(409, "ALREADY_REDEEMED");
    assert_eq!(again["redeemed_at"], redeemed["redeemed_at"]);
    assert_eq!(hall.seats(), ["s..."]);
    let cancelled = hall.booked(&best(1));
    hall.act(&cancelled, "cancel", &json!({})).expect(200);
    assert_eq!(
        hall.act(&cancelled, "redeem", &json!({ "redeem_code": cancelled["redeem_code"] })).told(),
        "409 NOT_REDEEMABLE"
    );
}

#[test]
fn a_code_is_read_in_small_letters_too() {
    let hall = Venue::hall(1, 4);
    let sold = hall.booked(&with(best(1), &json!({ "confirm": true })));
    let code = sold["redeem_code"].as_str().expect("a code");
    let read = format!(" {} ", code.to_ascii_lowercase());
    assert_eq!(
        hall.act(&sold, "redeem", &json!({ "redeem_code": read })).told(),
        "redeemed A-1 1-1 for 1000"
    );
}

#[test]
fn a_slot_is_redeemed_on_its_day_only() {
    let (timezone, hours) = zone_at_noon();
    let windows = json!([{ "start": "09:00", "end": "23:00", "capacity": 20 }]);
    let museum = Venue::museum(&json!({ "timezone": timezone, "windows": windows }));
    let today = today_at(hours);
    let book = |date: jiff::civil::Date| {
        museum.booked(&with(places(&format!("{date}T09:00"), 1), &json!({ "confirm": true })))
    };
    let (now, later) = (book(today), book(today + jiff::ToSpan::days(1)));
    let redeem = |booking: &serde_json::Value| {
        museum.act(booking, "redeem", &json!({ "redeem_code": booking["redeem_code"] }))
    };
    assert_eq!(redeem(&later).told(), "409 WRONG_DATE");
    assert_eq!(redeem(&now).told(), format!("redeemed {today}T09:00 x1 for 0"));
}
