//! `GET /v1/events/{id}/seats`.

use serde_json::json;

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
