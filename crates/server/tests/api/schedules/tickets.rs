//! `PUT /v1/schedules/{id}/tickets`, and bookings by ticket.

use serde_json::{Value, json};

use crate::client::Reply;
use crate::venue::{Venue, places, seconds_from_now, slot_at_ten, tickets, today_at, with, zone_at_noon};

fn import(museum: &Venue, tickets: &Value) -> Reply {
    museum.server.call("PUT", &museum.at("/tickets")).json(&json!({ "tickets": tickets })).send()
}

#[test]
fn registered_tickets_that_are_active_and_not_expired_may_book() {
    let museum = Venue::museum(&json!({ "rules": { "tickets": "registered" } }));
    let given = json!([
        { "id": "good", "status": "active" },
        { "id": "later", "status": "active", "expires_at": seconds_from_now(3600) },
        { "id": "off", "status": "inactive" },
        { "id": "old", "status": "active", "expires_at": seconds_from_now(-1) },
    ]);
    assert_eq!(import(&museum, &given).expect(200), json!({ "added": 4, "updated": 0, "sequence": 2 }));
    let slot = slot_at_ten(1);
    let rows = [
        ("unknown", "409 TICKET_NOT_FOUND"),
        ("off", "409 TICKET_NOT_ACTIVE"),
        ("old", "409 TICKET_EXPIRED"),
    ];
    for (ticket, told) in rows {
        let refused = museum.book(&tickets(&slot, &["good", ticket]));
        assert_eq!((refused.told().as_str(), &refused.json()["ticket"]), (told, &json!(ticket)));
    }
    let without = museum.book(&places(&slot, 1));
    without.expect_problem(400, "INVALID_REQUEST");
    assert_eq!(without.json()["errors"][0]["pointer"], "/tickets");
    let booking = museum.booked(&tickets(&slot, &["good", "later"]));
    assert_eq!((&booking["tickets"], &booking["quantity"]), (&json!(["good", "later"]), &json!(2)));
    assert_eq!((&booking["total_price"], &booking["slot"]), (&json!(200), &json!(slot)));
    let update = json!([{ "id": "off", "status": "active" }, { "id": "new", "status": "active" }]);
    assert_eq!(import(&museum, &update).expect(200)["updated"], 1);
    museum.booked(&tickets(&slot, &["off"]));
}

#[test]
fn a_ticket_has_one_live_booking_and_is_free_again_after_cancel_or_expiry() {
    let museum = Venue::museum(&json!({}));
    let slot = slot_at_ten(1);
    let want = tickets(&slot, &["TKT-2025-ABC123"]);
    let taken = |slot: &str| {
        assert_eq!(museum.book(&tickets(slot, &["TKT-2025-ABC123"])).told(), "409 TICKET_ALREADY_RESERVED");
    };
    let first = museum.booked(&want);
    taken(&slot);
    taken(&slot_at_ten(2));
    museum.act(&first, "cancel", &json!({})).expect(200);
    museum.act(&first, "cancel", &json!({})).expect(200);
    museum.expired(&want);
    let third = museum.booked(&with(want, &json!({ "confirm": true })));
    taken(&slot);
    assert_eq!(third["status"], "confirmed");
    assert_eq!(museum.slot(&slot)["booked_count"], 1);
    for twice in [tickets(&slot, &["a", "a"]), tickets(&slot, &[]), tickets(&slot, &[""])] {
        museum.book(&twice).expect_problem(400, "INVALID_REQUEST");
    }
}

#[test]
fn a_redeemed_ticket_is_used_for_ever() {
    let (timezone, hours) = zone_at_noon();
    let museum = Venue::museum(
        &json!({ "timezone": timezone, "windows": [{ "start": "09:00", "end": "23:00", "capacity": 20 }] }),
    );
    let slot = format!("{}T09:00", today_at(hours));
    let booking = museum.booked(&with(tickets(&slot, &["one"]), &json!({ "confirm": true })));
    museum.act(&booking, "redeem", &json!({ "redeem_code": booking["redeem_code"] })).expect(200);
    assert_eq!(museum.book(&tickets(&slot, &["one"])).told(), "409 TICKET_ALREADY_USED");
}

#[test]
fn imports_have_a_form_and_a_schedule() {
    let museum = Venue::museum(&json!({}));
    for (given, pointer) in [
        (json!([{ "id": "a", "status": "lost" }]), "/tickets/0/status"),
        (json!([{ "id": "", "status": "active" }]), "/tickets/0/id"),
        (json!([{ "id": "x".repeat(101), "status": "active" }]), "/tickets/0/id"),
        (json!([{ "id": "a" }]), "/tickets/0"),
        (json!([{ "id": "a", "status": "active", "colour": "red" }]), "/tickets/0/colour"),
    ] {
        assert_eq!(import(&museum, &given).pointer(), pointer, "{given}");
    }
    let nobody = museum
        .server
        .call("PUT", "/v1/schedules/none/tickets")
        .json(&json!({ "tickets": [{ "id": "a", "status": "active" }] }))
        .send();
    nobody.expect_problem(404, "SCHEDULE_NOT_FOUND");
    // Far more than other bodies may have.
    let many: Vec<Value> =
        (0..20_000).map(|number| json!({ "id": format!("t-{number:05}"), "status": "active" })).collect();
    assert_eq!(import(&museum, &Value::from(many)).expect(200)["added"], 20_000);
}
