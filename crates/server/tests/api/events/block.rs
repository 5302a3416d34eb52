//! `POST /v1/events/{id}/block` and `/unblock`.

use serde_json::{Value, json};

use crate::client::Reply;
use crate::venue::{Venue, best, counts, seats, with};

fn house(hall: &Venue, verb: &str, section: &str, seats: &[&str]) -> Reply {
    hall.server.post(&hall.at(verb), &json!({ "section": section, "seats": seats }))
}

#[test]
fn house_seats_leave_the_sale_and_come_back() {
    let hall = Venue::hall(2, 4);
    let event = house(&hall, "/block", "A-1", &["1-1", "2-4"]).expect(200);
    assert_eq!(counts(&event["stats"]), [6, 0, 0, 2]);
    assert_eq!(event["sections"][0]["subsections"][0]["blocked"], json!(["1-1", "2-4"]));
    assert_eq!(hall.seats(), ["x...", "...x"]);
    assert_eq!(hall.book(&best(4)).told(), "on_hold A-1 1-2 1-3 1-4 2-1 for 4000");
    house(&hall, "/unblock", "A-1", &["1-1"]).expect(200);
    assert_eq!(hall.seats(), [".hhh", "h..x"]);
}

#[test]
fn only_available_seats_can_be_blocked_and_all_or_none_are() {
    let hall = Venue::hall(1, 6);
    hall.booked(&seats(&["1-1"]));
    hall.booked(&with(seats(&["1-2"]), &json!({ "confirm": true })));
    house(&hall, "/block", "A-1", &["1-3"]).expect(200);
    let refused =
        house(&hall, "/block", "A-1", &["1-4", "1-1", "1-2"]).expect_problem(409, "SEAT_UNAVAILABLE");
    let reasons = [("1-1", "held"), ("1-2", "sold")];
    let conflicts: Vec<Value> = reasons
        .iter()
        .map(|(seat, reason)| json!({ "section": "A-1", "seat": seat, "reason": reason }))
        .collect();
    assert_eq!(refused["conflicts"], Value::from(conflicts));
    assert_eq!(hall.seats(), ["hsx..."]);
}

#[test]
fn seats_that_are_not_there_are_told_apart_from_names_that_are_none() {
    let hall = Venue::hall(1, 6);
    for verb in ["/block", "/unblock"] {
        house(&hall, verb, "B-1", &["1-1"]).expect_problem(404, "SECTION_NOT_FOUND");
        house(&hall, verb, "A-1", &["1-7"]).expect_problem(404, "SEAT_NOT_FOUND");
        house(&hall, verb, "A-1", &["2-1"]).expect_problem(404, "SEAT_NOT_FOUND");
        house(&hall, verb, "A-1", &["1-1", "1-1"]).expect_problem(400, "DUPLICATE_SEAT");
        assert_eq!(house(&hall, verb, "A-1", &["1-1", "front"]).pointer(), "/seats/1");
    }
    hall.server
        .post("/v1/events/none/block", &json!({ "section": "A-1", "seats": ["1-1"] }))
        .expect_problem(404, "EVENT_NOT_FOUND");
}
