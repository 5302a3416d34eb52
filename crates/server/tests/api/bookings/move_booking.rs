//! `POST /v1/bookings/{id}/move`.

use serde_json::{Value, json};

use crate::venue::{Venue, best, boxes, places, seats, slot_at_ten, tickets, with};

fn two_sections() -> Venue {
    let section = |name: &str, price: u32| json!({ "name": name, "price": price, "subsections": [{ "number": 1, "rows": 1, "cols": 4 }] });
    Venue::event(&json!({ "sections": [section("A", 1000), section("B", 400)] }))
}

#[test]
fn seats_are_swapped_in_one_step_and_the_difference_is_told() {
    let hall = two_sections();
    let booking = hall.booked(&with(seats(&["1-1", "1-2"]), &json!({ "confirm": true })));
    let rows = [
        // Its own seats count as free.
        (seats(&["1-2", "1-3"]), "confirmed A-1 1-2 1-3 for 2000", 0),
        (
            json!({ "seats": [{ "section": "B-1", "ids": ["1-1", "1-2"] }] }),
            "confirmed B-1 1-1 1-2 for 800",
            -1200,
        ),
        (
            json!({ "best_available": { "quantity": 2, "section": "A" } }),
            "confirmed A-1 1-1 1-2 for 2000",
            1200,
        ),
        (best(2), "confirmed A-1 1-1 1-2 for 2000", 0),
    ];
    for (to, told, difference) in rows {
        let moved = hall.act(&booking, "move", &to);
        assert_eq!(
            (moved.told().as_str(), &moved.json()["price_difference"]),
            (told, &json!(difference)),
            "{to}"
        );
    }
    assert_eq!(hall.seats(), ["ss.."]);
    assert_eq!(hall.booking(&booking)["version"], 4, "where it was already, nothing changed");
}

#[test]
fn a_move_that_cannot_be_changes_nothing() {
    let hall = two_sections();
    let booking = hall.booked(&seats(&["1-1", "1-2"]));
    hall.booked(&with(seats(&["1-4"]), &json!({ "customer": "bob" })));
    let before = hall.show();
    let rows = [
        (seats(&["1-3", "1-4"]), "409 SEAT_UNAVAILABLE"),
        (seats(&["1-3"]), "400 INVALID_REQUEST"),
        (best(3), "400 INVALID_REQUEST"),
        (json!({}), "400 INVALID_REQUEST"),
        (with(best(2), &json!({ "slot": "2027-01-01T10:00" })), "400 INVALID_REQUEST"),
        (seats(&["1-3", "1-5"]), "404 SEAT_NOT_FOUND"),
        (seats(&["1-3", "1-3"]), "400 DUPLICATE_SEAT"),
        (json!({ "seats": [{ "section": "C-1", "ids": ["1-1", "1-2"] }] }), "404 SECTION_NOT_FOUND"),
        (json!({ "slot": "2027-01-01T10:00" }), "409 NOT_MOVABLE"),
    ];
    for (to, told) in rows {
        assert_eq!(hall.act(&booking, "move", &to).told(), told, "{to}");
    }
    assert_eq!(hall.show(), before);
    hall.act(&booking, "cancel", &json!({})).expect(200);
    assert_eq!(hall.act(&booking, "move", &best(2)).told(), "409 NOT_MOVABLE");
}

#[test]
fn places_move_to_another_slot_with_their_tickets() {
    let windows = json!([{ "start": "10:00", "end": "12:00", "capacity": 2, "price": 100 }]);
    let museum = Venue::museum(&json!({ "windows": windows }));
    let (from, to) = (slot_at_ten(1), slot_at_ten(2));
    let booking = museum.booked(&tickets(&from, &["one", "two"]));
    let moved = museum.act(&booking, "move", &json!({ "slot": to }));
    assert_eq!(moved.told(), format!("on_hold {to} x2 for 200"));
    assert_eq!(
        (&moved.json()["tickets"], &moved.json()["price_difference"]),
        (&json!(["one", "two"]), &json!(0))
    );
    let booked = |slot: &str| museum.slot(slot)["booked_count"].clone();
    assert_eq!((booked(&from), booked(&to)), (json!(0), json!(2)));
    museum.booked(&places(&slot_at_ten(3), 1));
    let full =
        museum.act(&booking, "move", &json!({ "slot": slot_at_ten(3) })).expect_problem(409, "NEW_SLOT_FULL");
    assert_eq!(full["available"], 1);
    assert!(full["alternatives"].is_array());
    museum.server.patch(&museum.at(&format!("/slots/{from}")), &json!({ "status": "CLOSED" })).expect(200);
    let rows: [(Value, &str); 4] = [
        (json!({ "slot": from }), "409 SLOT_CLOSED"),
        (json!({ "slot": "2020-01-01T10:00" }), "404 SLOT_NOT_FOUND"),
        (json!({ "slot": "noon" }), "400 INVALID_REQUEST"),
        (best(2), "409 NOT_MOVABLE"),
    ];
    for (wish, told) in rows {
        assert_eq!(museum.act(&booking, "move", &wish).told(), told, "{wish}");
    }
    assert_eq!((booked(&from), booked(&to)), (json!(0), json!(2)));
}

#[test]
fn boxes_do_not_move() {
    let shop = Venue::bakery(&json!({}));
    shop.add_box(&json!({}));
    let booking = shop.booked(&boxes(1));
    assert_eq!(shop.act(&booking, "move", &json!({ "slot": "2027-01-01T10:00" })).told(), "409 NOT_MOVABLE");
}

#[test]
fn two_bookings_that_move_to_each_others_slots_do_not_wait_for_each_other() {
    let museum = Venue::museum(&json!({ "windows": [{ "start": "10:00", "end": "12:00", "capacity": 10 }] }));
    let slots = [slot_at_ten(1), slot_at_ten(2)];
    let bookings = [museum.booked(&places(&slots[0], 5)), museum.booked(&places(&slots[1], 5))];
    std::thread::scope(|scope| {
        for (index, booking) in bookings.iter().enumerate() {
            let (museum, slots) = (&museum, &slots);
            scope.spawn(move || {
                for round in 1..=10 {
                    museum.act(booking, "move", &json!({ "slot": slots[(index + round) % 2] })).expect(200);
                }
            });
        }
    });
    for (booking, slot) in bookings.iter().zip(&slots) {
        assert_eq!(museum.booking(booking)["slot"], *slot);
        assert_eq!(museum.slot(slot)["booked_count"], 5);
    }
}
