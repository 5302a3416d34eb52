//! `GET /v1/events/{id}/seats`.

use serde_json::{Value, json};

use crate::venue::{Venue, seats, with};

#[test]
fn one_letter_a_seat_tells_what_it_is() {
    let subsections = json!([{ "number": 1, "rows": 2, "cols": 7, "blocked": ["1-7"] }, { "number": 2, "rows": 1, "cols": 2 }]);
    let hall =
        Venue::event(&json!({ "sections": [{ "name": "A", "price": 10, "subsections": subsections }] }));
    hall.booked(&seats(&["1-3", "1-4"]));
    hall.booked(&with(seats(&["1-5"]), &json!({ "confirm": true })));
    let one = hall.server.get(&hall.at("/seats?section=A-1")).expect(200);
    let expected = json!({ "section": "A-1", "rows": 2, "cols": 7, "price": 10, "sequence": 3, "seats": ["..hhs.x", "......."] });
    assert_eq!(one, expected);
    let all = hall.server.get(&hall.at("/seats")).expect(200);
    assert_eq!(all["sequence"], 3);
    let second =
        json!({ "section": "A-2", "rows": 1, "cols": 2, "price": 10, "sequence": 3, "seats": [".."] });
    assert_eq!(all["sections"], json!([expected, second]));
    assert_eq!(hall.stream().expect("snapshot").data["sections"], all["sections"]);
}

#[test]
fn whoever_has_the_sequence_is_told_that_nothing_changed() {
    let hall = Venue::hall(1, 3);
    for path in ["/seats", "/seats?section=A-1"] {
        let first = hall.server.get(&hall.at(path));
        let tag = first.header("etag").expect("a tag").to_owned();
        assert_eq!(tag, format!("\"{}\"", first.json()["sequence"]));
        let asked =
            |known: &str| hall.server.call("GET", &hall.at(path)).header("If-None-Match", known).send();
        for known in [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".to_owned()] {
            let same = asked(&known);
            assert_eq!((same.status, same.body.len()), (304, 0), "{known}");
            assert_eq!(same.header("etag"), Some(tag.as_str()));
        }
        let booking = hall.booked(&crate::venue::best(1));
        let changed = asked(&tag);
        assert_eq!((changed.status, &changed.json()["sequence"]), (200, &booking["sequence"]));
    }
}

#[test]
fn sections_that_are_not_there_are_not_found() {
    let hall = Venue::hall(1, 3);
    for section in ["B-1", "A", "A-2", ""] {
        let path = hall.at(&format!("/seats?section={section}"));
        hall.server.get(&path).expect_problem(404, "SECTION_NOT_FOUND");
    }
    hall.server.get("/v1/events/none/seats").expect_problem(404, "EVENT_NOT_FOUND");
    hall.server.get(&hall.at("/seats?sektion=A-1")).expect_problem(400, "INVALID_REQUEST");
}

#[test]
fn one_seat_is_shown_with_its_booking_through_its_life() {
    let hall = Venue::hall(2, 3);
    let seat = |name: &str| hall.server.get(&hall.at(&format!("/seats/A-1/{name}"))).expect(200);
    let free = seat("1-2");
    let expected = json!({ "section": "A-1", "seat": "1-2", "state": "available", "price": 1000, "booking": null,
        "hold_expires_at": null, "version": free["version"] });
    assert_eq!(free, expected);
    let mut version = 0;
    let mut check = |name: &str, state: &str, booking: Option<&Value>, hold_expires_at: &Value| {
        let shown = seat(name);
        let id = booking.map_or(&Value::Null, |booking| &booking["id"]);
        assert_eq!((&shown["state"], &shown["booking"]), (&json!(state), id), "{name}");
        assert_eq!(&shown["hold_expires_at"], hold_expires_at, "{name}");
        let newer = shown["version"].as_u64().expect("a number");
        assert!(newer > version, "{newer} after {version}");
        version = newer;
    };
    let hold = hall.booked(&seats(&["1-2"]));
    check("1-2", "held", Some(&hold), &hold["expires_at"]);
    hall.act(&hold, "confirm", &json!({})).expect(200);
    check("1-2", "sold", Some(&hold), &Value::Null);
    hall.act(&hold, "move", &seats(&["2-1"])).expect(200);
    check("1-2", "available", None, &Value::Null);
    let other = hall.booked(&seats(&["1-2"]));
    check("2-1", "sold", Some(&hold), &Value::Null);
    assert_eq!(seat("1-2")["booking"], other["id"]);
    hall.act(&hold, "cancel", &json!({})).expect(200);
    check("2-1", "available", None, &Value::Null);
    hall.server.post(&hall.at("/block"), &json!({ "section": "A-1", "seats": ["2-1"] })).expect(200);
    check("2-1", "blocked", None, &Value::Null);
    let expired = hall.expired(&seats(&["2-3"]));
    check("2-3", "available", None, &Value::Null);
    let late = json!({ "if_expired": "same_units" });
    hall.act(&expired, "confirm", &late).expect(200);
    check("2-3", "sold", Some(&expired), &Value::Null);
}

#[test]
fn seat_that_does_not_exist_is_not_found() {
    let hall = Venue::hall(2, 3);
    for (path, told) in [
        ("/seats/A-2/1-1", "404 SECTION_NOT_FOUND"),
        ("/seats/A/1-1", "404 SECTION_NOT_FOUND"),
        ("/seats/A-1/3-1", "404 SEAT_NOT_FOUND"),
        ("/seats/A-1/1-4", "404 SEAT_NOT_FOUND"),
        ("/seats/A-1/0-1", "404 SEAT_NOT_FOUND"),
        ("/seats/A-1/1-65536", "404 SEAT_NOT_FOUND"),
    ] {
        assert_eq!(hall.server.get(&hall.at(path)).told(), told, "{path}");
    }
    for name in ["1", "x-1", "01-1"] {
        let reply = hall.server.get(&hall.at(&format!("/seats/A-1/{name}")));
        assert_eq!((reply.status, reply.pointer().as_str()), (400, "/seat"), "{name}");
    }
}
