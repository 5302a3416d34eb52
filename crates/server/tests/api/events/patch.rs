//! `PATCH /v1/events/{id}`.

use serde_json::json;

use crate::venue::{Venue, best, event_body, ms, seconds_from_now, section, unique, with};

#[test]
fn what_is_named_changes_and_the_rest_stays() {
    let areas = json!({ "areas": [{ "name": "standing", "price": 100, "capacity": 5 }] });
    let hall = Venue::event(&with(section(1, 4), &areas));
    let before = hall.show();
    let patch = json!({
        "name": "Winter Gala", "status": "closed", "sales": { "closes_at": "2030-01-01T00:00:00Z" },
        "rules": { "max_units_per_booking": 2, "max_units_per_customer": 3 },
        "sections": [{ "name": "A", "price": 2000 }], "areas": [{ "name": "standing", "price": 50 }],
    });
    let after = hall.patch(&patch).expect(200);
    assert_eq!((&after["name"], &after["status"]), (&json!("Winter Gala"), &json!("closed")));
    assert_eq!(after["sales"], json!({ "opens_at": null, "closes_at": "2030-01-01T00:00:00.000Z" }));
    assert_eq!((&after["sections"][0]["price"], &after["areas"][0]["price"]), (&json!(2000), &json!(50)));
    let rules = json!({ "max_units_per_booking": 2, "max_units_per_customer": 3 });
    assert_eq!(after["rules"], with(before["rules"].clone(), &rules));
    assert_eq!((&after["stats"], &after["currency"]), (&before["stats"], &before["currency"]));
    assert_eq!(after["sequence"], 2);
    assert_eq!(hall.show(), after);
    let lifted = hall.patch(&json!({ "rules": { "max_units_per_customer": null } })).expect(200);
    assert_eq!(lifted["rules"]["max_units_per_customer"], json!(null));
    assert_eq!(lifted["rules"]["max_units_per_booking"], 2);
}

#[test]
fn time_and_place_change_field_by_field_and_null_clears_them() {
    let hall = Venue::hall(1, 4);
    let before = hall.show();
    let unknown = ["starts_at", "doors_open_at", "ends_at", "venue", "description", "starts_at_local"];
    assert!(unknown.iter().all(|field| before[field].is_null()), "{before}");
    assert_eq!(before["timezone"], "UTC");
    let patch = json!({
        "starts_at": "2027-12-24T11:30:00Z", "doors_open_at": "2027-12-24T10:30:00Z", "ends_at": "2027-12-24T18:00:00Z",
        "timezone": "Asia/Taipei", "venue": "Opera House", "description": "First line.\nSecond line.",
    });
    let after = hall.patch(&patch).expect(200);
    let shown = json!({
        "starts_at": "2027-12-24T11:30:00.000Z", "starts_at_local": "2027-12-24T19:30",
        "doors_open_at": "2027-12-24T10:30:00.000Z", "doors_open_at_local": "2027-12-24T18:30",
        "ends_at": "2027-12-24T18:00:00.000Z", "ends_at_local": "2027-12-25T02:00",
    });
    assert_eq!(after, with(with(before, &patch), &with(shown, &json!({ "sequence": 2 }))));
    assert_eq!(hall.show(), after);
    let cleared = json!({ "starts_at": null, "doors_open_at": null, "venue": null, "description": null });
    let after = hall.patch(&cleared).expect(200);
    assert!(
        ["starts_at", "starts_at_local", "venue", "description"].iter().all(|field| after[field].is_null())
    );
    assert_eq!(
        (&after["ends_at_local"], &after["timezone"]),
        (&json!("2027-12-25T02:00"), &json!("Asia/Taipei"))
    );
    assert_eq!(hall.show(), after);
}

#[test]
fn times_out_of_order_and_texts_out_of_bounds_are_refused_with_their_pointers() {
    let times = json!({ "starts_at": "2027-12-24T11:30:00Z", "ends_at": "2027-12-24T14:00:00Z" });
    let hall = Venue::event(&with(section(1, 1), &times));
    for (patch, pointer) in [
        (json!({ "ends_at": "2027-12-24T11:30:00Z" }), "/ends_at"),
        (json!({ "starts_at": "2027-12-24T14:00:00Z" }), "/ends_at"),
        (json!({ "doors_open_at": "2027-12-24T14:00:00.001Z" }), "/doors_open_at"),
        (json!({ "starts_at": "soon" }), "/starts_at"),
        (json!({ "timezone": "Taipei" }), "/timezone"),
        (json!({ "venue": "" }), "/venue"),
        (json!({ "description": "d".repeat(4_001) }), "/description"),
    ] {
        let reply = hall.patch(&patch);
        assert_eq!(reply.pointer(), pointer, "{patch}");
        reply.expect_problem(400, "INVALID_REQUEST");
        let body = event_body(&unique("gala"), &with(section(1, 1), &with(times.clone(), &patch)));
        assert_eq!(hall.server.post("/v1/events", &body).pointer(), pointer, "{patch}");
    }
    assert_eq!(hall.show()["sequence"], 1);
}

#[test]
fn a_new_price_is_for_new_bookings_only() {
    let hall = Venue::hall(1, 4);
    let old = hall.booked(&best(1));
    hall.patch(&json!({ "sections": [{ "name": "A", "price": 7 }] })).expect(200);
    let new = hall.booked(&best(1));
    assert_eq!((&old["total_price"], &new["total_price"]), (&json!(1000), &json!(7)));
    assert_eq!(hall.booking(&old)["total_price"], 1000);
}

#[test]
fn prices_may_be_named_by_section_or_area() {
    let areas = json!({ "areas": [{ "name": "standing", "price": 100, "capacity": 5 }] });
    let hall = Venue::event(&with(section(1, 4), &areas));
    let after = hall.patch(&json!({ "prices": { "A": 7, "standing": 8 } })).expect(200);
    assert_eq!((&after["sections"][0]["price"], &after["areas"][0]["price"]), (&json!(7), &json!(8)));
    assert_eq!(hall.patch(&json!({ "prices": { "A": -1 } })).pointer(), "/prices/A");
    let twice = json!({ "prices": { "A": 1 }, "sections": [{ "name": "A", "price": 2 }] });
    assert_eq!(hall.patch(&twice).pointer(), "/prices/A");
    hall.patch(&json!({ "prices": { "B": 1 } })).expect_problem(404, "SECTION_NOT_FOUND");
    let raw = hall.server.call("PATCH", &hall.at(""));
    let raw = raw.raw("application/json", br#"{"prices":{"A":1,"A":2}}"#).send();
    assert_eq!(raw.pointer(), "/prices/A", "a name that stands there twice");
    assert_eq!(hall.show(), after);
}

#[test]
fn a_closed_event_and_a_sales_window_refuse_new_bookings_but_not_payments() {
    let hall = Venue::hall(1, 9);
    let hold = hall.booked(&best(1));
    let rows = [
        (json!({ "status": "closed" }), "409 INVENTORY_CLOSED"),
        (json!({ "status": "open", "sales": { "opens_at": seconds_from_now(3600) } }), "409 SALES_NOT_OPEN"),
        (json!({ "sales": { "opens_at": null, "closes_at": seconds_from_now(-3600) } }), "409 SALES_CLOSED"),
        (json!({ "sales": { "opens_at": null, "closes_at": null } }), "on_hold A-1 1-2 for 1000"),
    ];
    for (patch, told) in rows {
        hall.patch(&patch).expect(200);
        assert_eq!(hall.book(&best(1)).told(), told, "{patch}");
    }
    hall.patch(&json!({ "status": "closed" })).expect(200);
    assert_eq!(hall.act(&hold, "confirm", &json!({})).told(), "confirmed A-1 1-1 for 1000");
}

#[test]
fn both_ends_of_the_sales_window_may_be_patched_at_the_same_time() {
    let hall = Venue::hall(1, 1);
    for minute in 1..=40 {
        let (opens_at, closes_at) =
            (seconds_from_now(-3_600 - 60 * minute), seconds_from_now(3_600 + 60 * minute));
        let patch = |sales| {
            hall.patch(&json!({ "sales": sales })).expect(200);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| patch(json!({ "opens_at": opens_at })));
            patch(json!({ "closes_at": closes_at }));
        });
        let sales = &hall.show()["sales"];
        assert_eq!(
            (ms(&sales["opens_at"]), ms(&sales["closes_at"])),
            (ms(&json!(opens_at)), ms(&json!(closes_at)))
        );
    }
}

#[test]
fn what_cannot_be_patched_is_refused() {
    let hall = Venue::hall(1, 1);
    for (patch, pointer) in [
        (json!({ "currency": "EUR" }), "/currency"),
        (json!({ "status": "maybe" }), "/status"),
        (json!({ "name": "" }), "/name"),
        (json!({ "rules": { "hold_ttl_seconds": 0 } }), "/rules/hold_ttl_seconds"),
        (json!({ "sections": [{ "name": "A", "price": -1 }] }), "/sections/0/price"),
    ] {
        assert_eq!(hall.patch(&patch).pointer(), pointer, "{patch}");
    }
    hall.patch(&json!({ "sections": [{ "name": "B", "price": 1 }] }))
        .expect_problem(404, "SECTION_NOT_FOUND");
    hall.patch(&json!({ "areas": [{ "name": "B", "price": 1 }] })).expect_problem(404, "AREA_NOT_FOUND");
    hall.server.patch("/v1/events/none", &json!({})).expect_problem(404, "EVENT_NOT_FOUND");
    assert_eq!(hall.show()["sequence"], 1);
}
