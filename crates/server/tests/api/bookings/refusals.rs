//! `POST /v1/bookings`: what refusals say beside their code.

use serde_json::json;

use crate::venue::{Venue, best, seats, with};

#[test]
fn seats_that_are_gone_are_named_with_the_reason_and_others_are_offered() {
    let hall = Venue::hall(2, 6);
    hall.booked(&seats(&["1-1"]));
    hall.booked(&with(seats(&["1-2"]), &json!({ "confirm": true })));
    hall.server.post(&hall.at("/block"), &json!({ "section": "A-1", "seats": ["1-3"] })).expect(200);
    let refused = hall.book(&seats(&["1-1", "1-2", "1-3", "1-4"])).expect_problem(409, "SEAT_UNAVAILABLE");
    let conflict = |seat: &str, reason: &str| json!({ "section": "A-1", "seat": seat, "reason": reason });
    assert_eq!(
        refused["conflicts"],
        json!([conflict("1-1", "held"), conflict("1-2", "sold"), conflict("1-3", "blocked")])
    );
    let alternatives = refused["alternatives"].as_array().expect("alternatives");
    assert!((1..=3).contains(&alternatives.len()), "{refused}");
    for alternative in alternatives {
        let offered = alternative["seats"].as_array().expect("seats");
        assert_eq!((offered.len(), &alternative["total_price"]), (4, &json!(4000)));
        assert!(alternative["adjacent"].is_boolean());
        let ids: Vec<&str> = offered.iter().map(|seat| seat["seat"].as_str().expect("a seat")).collect();
        let taken = hall.booked(&seats(&ids));
        assert_eq!(taken["adjacent"], alternative["adjacent"]);
        hall.act(&taken, "cancel", &json!({})).expect(200);
    }
    assert_eq!(refused["sequence"], 4, "as of which it was decided");
}

#[test]
fn a_seat_beyond_its_row_is_no_seat_of_the_next() {
    let hall = Venue::hall(2, 4);
    let rows = [
        (seats(&["1-5"]), "404 SEAT_NOT_FOUND"),
        (seats(&["3-1"]), "404 SEAT_NOT_FOUND"),
        (seats(&["1-70000"]), "404 SEAT_NOT_FOUND"),
        (seats(&["99999999999999999999999-1"]), "404 SEAT_NOT_FOUND"),
        (seats(&["0-1"]), "404 SEAT_NOT_FOUND"),
        (seats(&["1-0"]), "404 SEAT_NOT_FOUND"),
        (seats(&["1-70000", "1-80000"]), "404 SEAT_NOT_FOUND"),
        (json!({ "seats": [{ "section": "B-1", "ids": ["0-70000"] }] }), "404 SECTION_NOT_FOUND"),
        (seats(&["1-01"]), "400 INVALID_REQUEST"),
        (seats(&["00-1"]), "400 INVALID_REQUEST"),
        (seats(&["a-1"]), "400 INVALID_REQUEST"),
        (seats(&["1-1", "1-1"]), "400 DUPLICATE_SEAT"),
        (
            json!({ "seats": [{ "section": "A-1", "ids": ["1-1"] }, { "section": "A-1", "ids": ["1-1"] }] }),
            "400 DUPLICATE_SEAT",
        ),
        (json!({ "seats": [{ "section": "B-1", "ids": ["1-1"] }] }), "404 SECTION_NOT_FOUND"),
        (json!({ "seats": [{ "section": "A", "ids": ["1-1"] }] }), "404 SECTION_NOT_FOUND"),
        (json!({ "seats": [{ "section": "a-1", "ids": ["1-1"] }] }), "404 SECTION_NOT_FOUND"),
        (json!({ "best_available": { "quantity": 1, "section": "B" } }), "404 SECTION_NOT_FOUND"),
        (best(11), "400 TOO_MANY_UNITS"),
        (best(9), "409 NOT_ENOUGH_SEATS"),
        (json!({ "best_available": { "quantity": 5, "adjacent": "required" } }), "409 NOT_ADJACENT"),
    ];
    for (want, told) in rows {
        assert_eq!(hall.book(&want).told(), told, "{want}");
    }
    assert_eq!(hall.book(&best(9)).json()["available"], 8);
    assert_eq!(hall.seats(), ["....", "...."]);
}

fn hall_with(orphans: &str, cols: u16) -> Venue {
    Venue::event(&with(crate::venue::section(1, cols), &json!({ "rules": { "orphans": orphans } })))
}

#[test]
fn a_pick_that_leaves_a_single_seat_is_refused_unless_every_choice_would() {
    let hall = hall_with("forbid", 7);
    let refused = hall.book(&seats(&["1-2", "1-3"])).expect_problem(409, "ORPHAN_SEAT");
    let alternatives = refused["alternatives"].as_array().expect("alternatives");
    assert!((1..=3).contains(&alternatives.len()), "{refused}");
    for alternative in alternatives {
        let ids: Vec<&str> = alternative["seats"]
            .as_array()
            .expect("seats")
            .iter()
            .map(|seat| seat["seat"].as_str().expect("a seat"))
            .collect();
        let taken = hall.booked(&seats(&ids));
        hall.act(&taken, "cancel", &json!({})).expect(200);
    }
    assert_eq!(hall.book(&seats(&["1-1", "1-2"])).told(), "on_hold A-1 1-1 1-2 for 2000");
    // Of five free seats, four leave one whichever they are.
    assert_eq!(
        hall.book(&seats(&["1-3", "1-4", "1-5", "1-6"])).told(),
        "on_hold A-1 1-3 1-4 1-5 1-6 for 4000"
    );
    for rule in ["allow", "avoid"] {
        let hall = hall_with(rule, 7);
        assert_eq!(hall.book(&seats(&["1-2", "1-3"])).told(), "on_hold A-1 1-2 1-3 for 2000", "{rule}");
    }
}

#[test]
fn best_available_avoids_single_seats_where_it_can() {
    // Three free seats, a blocked one, then two: two of the three leave one alone.
    for (rule, told) in [
        ("allow", "on_hold A-1 1-1 1-2 for 2000"),
        ("avoid", "on_hold A-1 1-5 1-6 for 2000"),
        ("forbid", "on_hold A-1 1-5 1-6 for 2000"),
    ] {
        let hall = hall_with(rule, 6);
        hall.server.post(&hall.at("/block"), &json!({ "section": "A-1", "seats": ["1-4"] })).expect(200);
        assert_eq!(hall.book(&best(2)).told(), told, "{rule}");
    }
}
