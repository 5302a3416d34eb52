//! `POST /v1/events`.

use serde_json::{Value, json};

use crate::server::Server;
use crate::venue::{Venue, counts, event_body, section, unique, with};

#[test]
fn an_event_is_answered_as_it_was_asked_for_with_the_defaults_filled_in() {
    let server = Server::shared();
    let id = unique("full");
    let body = json!({
        "id": id, "name": "Summer Gala", "currency": "TWD", "starts_at": "2027-12-24T19:00:00Z",
        "sales": { "opens_at": "2026-11-01T00:00:00+08:00", "closes_at": "2027-12-24T18:00:00Z" },
        "rules": {
            "hold_ttl_seconds": 600, "max_hold_seconds": 1200, "max_units_per_booking": 4,
            "max_units_per_customer": 8, "max_active_bookings_per_customer": 2, "orphans": "avoid",
            "prefer": "center", "late_payment": "equivalent", "require_idempotency_key": true,
        },
        "sections": [{ "name": "A", "price": 3000, "subsections": [{ "number": 1, "rows": 25, "cols": 20, "blocked": ["1-1"] }] }],
        "areas": [{ "name": "standing", "price": 1500, "capacity": 5000 }],
    });
    let made = server.post("/v1/events", &body).expect(201);
    for field in ["id", "name", "currency"] {
        assert_eq!(made[field], body[field], "{field}");
    }
    assert_eq!(made["starts_at"], "2027-12-24T19:00:00.000Z");
    assert_eq!(made["sales"]["opens_at"], "2026-10-31T16:00:00.000Z");
    assert_eq!(made["status"], "open");
    assert_eq!(made["sequence"], 1);
    assert_eq!(
        made["rules"],
        with(body["rules"].clone(), &json!({ "min_hold_seconds": 1, "tickets": "any" }))
    );
    assert_eq!(counts(&made["stats"]), [5_499, 0, 0, 1]);
    assert_eq!(counts(&made["sections"][0]["stats"]), [499, 0, 0, 1]);
    assert_eq!(counts(&made["sections"][0]["subsections"][0]["stats"]), [499, 0, 0, 1]);
    assert_eq!(made["sections"][0]["subsections"][0]["blocked"], json!(["1-1"]));
    assert_eq!(counts(&made["areas"][0]["stats"]), [5_000, 0, 0, 0]);
    assert_eq!(made["sellout"], json!({ "first_sale_at": null, "sold_out_at": null, "seconds": null }));
    assert_eq!(server.get(&format!("/v1/events/{id}")).expect(200), made);
}

#[test]
fn only_a_name_a_currency_and_something_to_sell_are_required() {
    let server = Server::shared();
    let least =
        json!({ "name": "Gala", "currency": "TWD", "areas": [{ "name": "all", "price": 0, "capacity": 1 }] });
    let made = server.post("/v1/events", &least).expect(201);
    let id = made["id"].as_str().expect("an id");
    assert!((1..=63).contains(&id.len()), "{id}");
    assert_eq!((&made["starts_at"], &made["timezone"]), (&Value::Null, &json!("UTC")));
    assert_eq!(made["sales"], json!({ "opens_at": null, "closes_at": null }));
    let defaults = json!({
        "hold_ttl_seconds": 900, "min_hold_seconds": 1, "max_hold_seconds": 3600, "max_units_per_booking": 10,
        "max_units_per_customer": null, "max_active_bookings_per_customer": null, "orphans": "allow",
        "prefer": "front", "late_payment": "fail", "tickets": "any", "require_idempotency_key": false,
    });
    assert_eq!(made["rules"], defaults);
    for missing in ["name", "currency", "areas"] {
        let mut body = least.clone();
        body.as_object_mut().expect("an object").remove(missing);
        server.post("/v1/events", &body).expect_problem(400, "INVALID_REQUEST");
    }
}

#[test]
fn a_hold_and_its_cap_follow_each_other_unless_both_are_named() {
    for (rules, hold, cap) in [
        (json!({ "max_hold_seconds": 60 }), 60, 60),
        (json!({ "max_hold_seconds": 7_200 }), 900, 7_200),
        (json!({ "hold_ttl_seconds": 7_200 }), 7_200, 7_200),
        (json!({ "hold_ttl_seconds": 60 }), 60, 3_600),
    ] {
        let made = Venue::event(&with(section(1, 1), &json!({ "rules": rules }))).show();
        let told = (&made["rules"]["hold_ttl_seconds"], &made["rules"]["max_hold_seconds"]);
        assert_eq!(told, (&json!(hold), &json!(cap)), "{rules}");
    }
    let refused = |rules: Value| {
        let more = with(section(1, 1), &json!({ "rules": rules }));
        Server::shared().post("/v1/events", &event_body(&unique("gala"), &more)).pointer()
    };
    let both = json!({ "hold_ttl_seconds": 61, "max_hold_seconds": 60 });
    assert_eq!(refused(both), "/rules/max_hold_seconds");
    assert_eq!(refused(json!({ "max_hold_seconds": 0 })), "/rules/max_hold_seconds");
}

#[test]
fn what_is_out_of_bounds_is_refused_by_its_place() {
    let server = Server::shared();
    let subsection = |more: Value| {
        let one = with(json!({ "number": 1, "rows": 2, "cols": 2 }), &more);
        json!({ "sections": [{ "name": "A", "price": 1, "subsections": [one] }] })
    };
    let named = |name: &str| json!({ "sections": [{ "name": name, "price": 1, "subsections": [{ "number": 1, "rows": 1, "cols": 1 }] }] });
    let rules = |rules: Value| with(section(1, 1), &json!({ "rules": rules }));
    let long = "x".repeat(201);
    let thousands = json!({ "sections": [
        { "name": "A", "price": 1, "subsections": [{ "number": 1, "rows": 1000, "cols": 1000 }, { "number": 2, "rows": 1, "cols": 1 }] },
    ] });
    let rows: Vec<(Value, &str)> = vec![
        (json!({}), ""),
        (with(section(1, 1), &json!({ "id": "Gala" })), "/id"),
        (with(section(1, 1), &json!({ "id": "-gala" })), "/id"),
        (with(section(1, 1), &json!({ "id": "x".repeat(64) })), "/id"),
        (with(section(1, 1), &json!({ "id": "x".repeat(10_000) })), "/id"),
        (with(section(1, 1), &json!({ "name": "" })), "/name"),
        (with(section(1, 1), &json!({ "name": long })), "/name"),
        (with(section(1, 1), &json!({ "currency": "twd" })), "/currency"),
        (with(section(1, 1), &json!({ "currency": "TW" })), "/currency"),
        (with(section(1, 1), &json!({ "starts_at": "tomorrow" })), "/starts_at"),
        (subsection(json!({ "rows": 0 })), "/sections/0/subsections/0/rows"),
        (subsection(json!({ "rows": 1001 })), "/sections/0/subsections/0/rows"),
        (subsection(json!({ "cols": 0 })), "/sections/0/subsections/0/cols"),
        (subsection(json!({ "cols": 1001 })), "/sections/0/subsections/0/cols"),
        (subsection(json!({ "blocked": ["1"] })), "/sections/0/subsections/0/blocked/0"),
        (subsection(json!({ "blocked": ["3-1"] })), "/sections/0/subsections/0/blocked/0"),
        (thousands, "/sections"),
        (named(""), "/sections/0/name"),
        (named("A-1"), "/sections/0/name"),
        (named(&"x".repeat(33)), "/sections/0/name"),
        (json!({ "areas": [{ "name": "all", "price": -1, "capacity": 1 }] }), "/areas/0/price"),
        (json!({ "areas": [{ "name": "all", "price": 1, "capacity": 0 }] }), "/areas/0/capacity"),
        (rules(json!({ "hold_ttl_seconds": 0 })), "/rules/hold_ttl_seconds"),
        (rules(json!({ "hold_ttl_seconds": 86_401 })), "/rules/hold_ttl_seconds"),
        (rules(json!({ "max_units_per_booking": 0 })), "/rules/max_units_per_booking"),
        (rules(json!({ "max_units_per_booking": 1_001 })), "/rules/max_units_per_booking"),
        (rules(json!({ "orphans": "perhaps" })), "/rules/orphans"),
        (rules(json!({ "hold_seconds": 1 })), "/rules/hold_seconds"),
    ];
    for (more, pointer) in rows {
        let told = server.post("/v1/events", &event_body(&unique("wrong"), &more)).pointer();
        assert!(told.starts_with(pointer), "{more}: {told}");
    }
}

#[test]
fn the_largest_hall_has_a_million_seats_and_section_names_tell_case_apart() {
    Venue::event(&section(1_000, 1_000));
    let section = |name: &str| json!({ "name": name, "price": 1, "subsections": [{ "number": 1, "rows": 1, "cols": 1 }] });
    Venue::event(&json!({ "sections": [section("A"), section("a"), section(&"é".repeat(32))] }));
    let twice = event_body(&unique("twice"), &json!({ "sections": [section("A"), section("A")] }));
    Server::shared().post("/v1/events", &twice).expect_problem(400, "INVALID_REQUEST");
}

#[test]
fn an_id_is_taken_once_for_each_kind() {
    let hall = Venue::hall(1, 1);
    let again = event_body(&hall.id, &section(1, 1));
    hall.server.post("/v1/events", &again).expect_problem(409, "ALREADY_EXISTS");
    let shop = json!({ "id": hall.id, "name": "Shop", "timezone": "UTC", "currency": "TWD" });
    hall.server.post("/v1/shops", &shop).expect(201);
    assert_eq!(hall.show()["sequence"], 1, "a refusal changes nothing");
}
