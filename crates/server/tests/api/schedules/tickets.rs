//! `/v1/schedules/{id}/tickets`, and bookings by ticket.

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
        (
            json!([{ "id": "a", "status": "active" }, { "id": "b\u{a0}", "status": "active" }]),
            "/tickets/1/id",
        ),
        (json!([{ "id": "a" }]), "/tickets/0/status"),
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

fn shown(museum: &Venue, ticket: &str) -> Value {
    museum.server.get(&museum.at(&format!("/tickets/{ticket}"))).expect(200)
}

fn act_on_ticket(museum: &Venue, ticket: &str, verb: &str, body: &Value) -> Reply {
    museum.server.post(&museum.at(&format!("/tickets/{ticket}/{verb}")), body)
}

/// The ids and states of a page of tickets.
fn listed(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().expect("items").iter();
    let word = |value: &Value| value.as_str().expect("a text").to_owned();
    items.map(|ticket| format!("{} {}", word(&ticket["id"]), word(&ticket["status"]))).collect()
}

/// A museum in a zone where it is about noon, and its slot of today.
fn museum_now() -> (Venue, String) {
    let (timezone, hours) = zone_at_noon();
    let windows = json!([{ "start": "09:00", "end": "23:00", "capacity": 20, "price": 100 }]);
    let museum = Venue::museum(&json!({ "timezone": timezone, "windows": windows }));
    (museum, format!("{}T09:00", today_at(hours)))
}

#[test]
fn ticket_shows_its_state_and_its_booking_through_its_life() {
    let (museum, slot) = museum_now();
    museum.server.get(&museum.at("/tickets/t1")).expect_problem(404, "TICKET_NOT_FOUND");
    import(&museum, &json!([{ "id": "t1", "status": "active", "expires_at": seconds_from_now(3600) }]));
    let new = shown(&museum, "t1");
    assert_eq!((&new["id"], &new["status"]), (&json!("t1"), &json!("activated")));
    assert_eq!((&new["booking"], &new["slot"]), (&Value::Null, &Value::Null));
    assert!(new["expires_at"].is_string(), "{new}");

    let booking = museum.booked(&with(tickets(&slot, &["t1", "t2"]), &json!({ "confirm": true })));
    let reserved = shown(&museum, "t1");
    assert_eq!(reserved["status"], "reserved");
    assert_eq!((&reserved["booking"], &reserved["slot"]), (&booking["id"], &json!(slot)));

    let one = json!({ "redeem_code": booking["redeem_code"], "tickets": ["t1"] });
    museum.act(&booking, "redeem", &one).expect(200);
    assert_eq!(shown(&museum, "t1")["status"], "used");
    assert_eq!(shown(&museum, "t2")["status"], "reserved");
    museum.act(&booking, "unredeem", &json!({ "reason": "wrong door" })).expect(200);
    museum.act(&booking, "cancel", &json!({})).expect(200);
    for ticket in ["t1", "t2"] {
        let free = shown(&museum, ticket);
        assert_eq!((&free["status"], &free["booking"]), (&json!("activated"), &Value::Null), "{ticket}");
    }
}

#[test]
fn tickets_are_listed_by_id_and_state() {
    let museum = Venue::museum(&json!({}));
    let slot = slot_at_ten(1);
    let given = json!([
        { "id": "c", "status": "active" },
        { "id": "e", "status": "inactive" },
        { "id": "a", "status": "active", "expires_at": seconds_from_now(-1) },
    ]);
    import(&museum, &given).expect(200);
    let held = museum.booked(&tickets(&slot, &["d", "b"]));
    museum.act(&held, "cancel", &json!({})).expect(200);
    museum.booked(&tickets(&slot, &["b", "f"]));
    let list = |query: &str| museum.server.get(&museum.at(&format!("/tickets{query}"))).expect(200);

    let all = list("");
    let states = ["a expired", "b reserved", "c activated", "d activated", "e inactive", "f reserved"];
    assert_eq!((listed(&all), &all["next_cursor"]), (states.map(str::to_owned).into(), &Value::Null));
    for (status, found) in [
        ("activated", vec!["c activated", "d activated"]),
        ("reserved", vec!["b reserved", "f reserved"]),
        ("expired", vec!["a expired"]),
        ("inactive", vec!["e inactive"]),
        ("used", vec![]),
    ] {
        assert_eq!(listed(&list(&format!("?status={status}"))), found);
    }
    assert_eq!(museum.server.get(&museum.at("/tickets?status=lost")).pointer(), "/status");

    let (mut cursor, mut pages) = (String::new(), Vec::new());
    loop {
        let page = list(&format!("?limit=4{cursor}"));
        pages.extend(listed(&page));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(pages, states);

    museum.patch(&json!({ "rules": { "tickets": "registered" } })).expect(200);
    assert_eq!(shown(&museum, "d")["status"], "inactive", "it is not registered");
}

#[test]
fn booking_is_cancelled_by_its_ticket_once() {
    let museum = Venue::museum(&json!({}));
    let slot = slot_at_ten(1);
    act_on_ticket(&museum, "t1", "cancel", &json!({})).expect_problem(404, "TICKET_NOT_FOUND");
    import(&museum, &json!([{ "id": "t1", "status": "active" }]));
    act_on_ticket(&museum, "t1", "cancel", &json!({})).expect_problem(409, "TICKET_NOT_RESERVED");
    let booking = museum.booked(&tickets(&slot, &["t1", "t2"]));
    let cancel = || {
        let path = museum.at("/tickets/t2/cancel");
        museum.server.call("POST", &path).key("away").json(&json!({ "reason": "ill" })).send()
    };
    let first = cancel();
    let cancelled = first.expect(200);
    assert_eq!((&cancelled["id"], &cancelled["status"]), (&booking["id"], &json!("cancelled")));
    assert_eq!(museum.slot(&slot)["booked_count"], 0);
    for ticket in ["t1", "t2"] {
        act_on_ticket(&museum, ticket, "cancel", &json!({})).expect_problem(409, "TICKET_NOT_RESERVED");
    }
    assert!(cancel().is_replay());
    assert_eq!(cancel().text(), first.text());
    // The tickets may book again, and the key's answer stays the first one.
    let again = museum.booked(&tickets(&slot, &["t1"]));
    assert!(cancel().is_replay());
    assert_eq!(museum.booking(&again)["status"], "on_hold");
}

#[test]
fn booking_is_moved_by_its_ticket() {
    let museum = Venue::museum(&json!({ "windows": [{ "start": "10:00", "end": "12:00", "capacity": 2 }] }));
    let (from, to, full) = (slot_at_ten(1), slot_at_ten(2), slot_at_ten(3));
    let booking = museum.booked(&tickets(&from, &["t1", "t2"]));
    museum.booked(&places(&full, 2));
    let moved = act_on_ticket(&museum, "t1", "move", &json!({ "slot": to })).expect(200);
    assert_eq!((&moved["id"], &moved["slot"]), (&booking["id"], &json!(to)));
    assert_eq!(
        (&museum.slot(&from)["booked_count"], &museum.slot(&to)["booked_count"]),
        (&json!(0), &json!(2))
    );
    assert_eq!(shown(&museum, "t2")["slot"], json!(to));
    act_on_ticket(&museum, "t1", "move", &json!({ "slot": full })).expect_problem(409, "NEW_SLOT_FULL");
    act_on_ticket(&museum, "t1", "move", &json!({ "slot": "2020-01-01T10:00" }))
        .expect_problem(404, "SLOT_NOT_FOUND");
    assert_eq!(act_on_ticket(&museum, "t1", "move", &json!({ "slot": "soon" })).pointer(), "/slot");
    museum.act(&booking, "cancel", &json!({})).expect(200);
    act_on_ticket(&museum, "t1", "move", &json!({ "slot": from })).expect_problem(409, "TICKET_NOT_RESERVED");
}

#[test]
fn bookings_are_found_by_ticket_newest_first() {
    let museum = Venue::museum(&json!({}));
    let ticket = format!("{}-1", museum.id);
    let slot = slot_at_ten(1);
    let first = museum.booked(&tickets(&slot, &[&ticket]));
    museum.act(&first, "cancel", &json!({})).expect(200);
    let second = museum.booked(&tickets(&slot, &[&ticket, "other"]));
    museum.booked(&tickets(&slot, &["third"]));
    let found = |query: &str| -> Vec<Value> {
        let page = museum.server.get(&format!("/v1/bookings?ticket={ticket}{query}")).expect(200);
        let items = page["items"].as_array().expect("items");
        items.iter().map(|booking| booking["id"].clone()).collect()
    };
    assert_eq!(found(""), [second["id"].clone(), first["id"].clone()]);
    assert_eq!(found(&format!("&schedule={}", museum.id)), [second["id"].clone(), first["id"].clone()]);
    assert_eq!(found("&status=on_hold"), [second["id"].clone()]);
    assert_eq!(found("&limit=1"), [second["id"].clone()]);
    assert_eq!(found("&customer=nobody"), Vec::<Value>::new());
    let refused = museum.book(&tickets(&slot, &[&ticket]));
    refused.expect_problem(409, "TICKET_ALREADY_RESERVED");
    assert_eq!(refused.json()["booking"], second["id"], "the booking that has it");
}

#[test]
fn booking_says_when_its_slot_is_and_on_request_how_full() {
    let windows = json!([{ "start": "10:00", "end": "12:00", "capacity": 20, "price": 100 }]);
    let museum = Venue::museum(&json!({ "timezone": "Asia/Taipei", "windows": windows }));
    let slot = slot_at_ten(2);
    let date = slot.split('T').next().expect("a date");
    let call = |expand: &str| {
        let call = museum.server.call("POST", &format!("/v1/bookings{expand}")).key("two");
        call.json(&museum.wanted(&places(&slot, 2))).send()
    };
    let first = call("?expand=slot");
    let booking = first.expect(201);
    let info = json!({
        "date": date, "start_time": "10:00", "end_time": "12:00",
        "starts_at": format!("{date}T02:00:00.000Z"), "ends_at": format!("{date}T04:00:00.000Z"),
        "booked_count": 2, "available_count": 18,
    });
    assert_eq!((&booking["slot"], &booking["slot_info"]), (&json!(slot), &info));
    assert_eq!(
        museum.server.call("POST", "/v1/bookings?expand=seat").json(&json!({})).send().pointer(),
        "/expand"
    );

    let other = museum.booked(&places(&slot, 3));
    assert_eq!(other["slot_info"].get("booked_count"), None, "it was not asked for");
    let again = call("?expand=slot");
    assert!(again.is_replay());
    assert_eq!(again.text(), first.text(), "as of its sequence");

    let url = crate::venue::booking_url(&other);
    let now = museum.server.get(&format!("{url}?expand=slot")).expect(200);
    assert_eq!(
        (&now["slot_info"]["booked_count"], &now["slot_info"]["available_count"]),
        (&json!(5), &json!(15))
    );
    let cancelled = museum.server.post(&format!("{url}/cancel?expand=slot"), &json!({})).expect(200);
    assert_eq!(cancelled["slot_info"]["booked_count"], 2);
    let list = format!("/v1/bookings?schedule={}&expand=slot", museum.id);
    let listed = museum.server.get(&list).expect(200);
    assert_eq!(listed["items"][1]["slot_info"], info);
}

#[test]
fn booking_keeps_the_times_of_its_slot_when_another_takes_its_place() {
    let museum = Venue::museum(&json!({}));
    let slot = slot_at_ten(2);
    let call = || museum.booking_call(&places(&slot, 1)).key("one").send();
    let first = call();
    let booking = first.expect(201);
    assert_eq!(booking["slot_info"]["end_time"], "12:00");
    museum.act(&booking, "cancel", &json!({})).expect(200);
    let shorter = json!([{ "start": "10:00", "end": "11:00", "capacity": 20, "price": 100 }]);
    museum.patch(&json!({ "windows": shorter })).expect(200);
    assert_eq!(museum.slot(&slot)["end_time"], "11:00");
    assert_eq!(call().text(), first.text());
    assert_eq!(museum.booking(&booking)["slot_info"], booking["slot_info"]);
    assert_eq!(museum.booked(&places(&slot, 1))["slot_info"]["end_time"], "11:00");
}
