//! `POST /v1/bookings`: what is answered, and what can be asked.

use serde_json::{Value, json};

use crate::venue::{
    Venue, best, booking_url, boxes, ms, now_ms, places, seats, section, slot_at_ten, tickets, with,
};

/// The server's clock never goes back, whatever is done to the machine's.
const CLOCKS_APART_MS: i64 = 1_000;

#[test]
fn a_hold_is_answered_with_everything_about_it() {
    let areas = json!({ "areas": [{ "name": "standing", "price": 150, "capacity": 5 }] });
    let hall = Venue::event(&with(section(2, 4), &areas));
    let asked_at = now_ms();
    let want = json!({
        "customer": "user-42", "contact": { "email": "a@example.com", "phone": "+12025551234" },
        "seats": [{ "section": "A-1", "ids": ["2-1", "1-2", "1-1"] }], "areas": [{ "name": "standing", "quantity": 2 }],
        "metadata": { "order": 7, "tags": ["vip", null] },
    });
    let reply = hall.book(&want);
    let hold = reply.expect(201);
    let seat = |seat: &str| json!({ "section": "A-1", "seat": seat, "price": 1000, "redeemed_at": null });
    let expected = json!({
        "id": hold["id"], "status": "on_hold", "customer": "user-42", "event": hall.id, "schedule": null, "shop": null,
        "seats": [seat("1-1"), seat("1-2"), seat("2-1")], "areas": [{ "name": "standing", "quantity": 2, "price": 150 }],
        "slot": null, "slot_info": null, "tickets": [], "box": null, "quantity": 5, "redeemed_quantity": 0,
        "total_price": 3300, "currency": "TWD", "adjacent": false,
        "hold_token": hold["hold_token"], "redeem_code": hold["redeem_code"], "created_at": hold["created_at"],
        "expires_at": hold["expires_at"], "expires_in_seconds": 900, "confirmed_at": null, "cancelled_at": null,
        "redeemed_at": null, "payment_reference": null, "metadata": { "order": 7, "tags": ["vip", null] },
        "version": 1, "sequence": 2, "reference": null,
        "contact": { "email": "a@example.com", "phone": "+12025551234" },
    });
    assert_eq!(hold, expected);
    let id = hold["id"].as_str().expect("an id");
    assert_eq!((id.len(), &id[14..15]), (36, "7"), "a UUID of version 7");
    let created = ms(&hold["created_at"]);
    assert!(
        (asked_at - CLOCKS_APART_MS..=now_ms() + CLOCKS_APART_MS).contains(&created),
        "{asked_at} {created}"
    );
    assert_eq!(ms(&hold["expires_at"]) - created, 900_000);
    let code = hold["redeem_code"].as_str().expect("a code");
    assert!((4..=12).contains(&code.len()) && !code.contains(['O', '0', 'I', '1', 'l']), "{code}");
    assert!(hold["hold_token"].as_str().is_some_and(|token| token.len() >= 20), "{hold}");
    let shown = with(hall.booking(&hold), &json!({ "expires_in_seconds": 900 }));
    assert_eq!(shown, with(hold, &json!({ "hold_token": null })), "the token is shown once");
}

#[test]
fn places_tickets_and_boxes_are_answered_in_the_same_shape() {
    let museum = Venue::museum(&json!({}));
    let slot = slot_at_ten(1);
    let by_number = museum.booked(&places(&slot, 3));
    assert_eq!(
        (&by_number["slot"], &by_number["quantity"], &by_number["tickets"]),
        (&json!(slot), &json!(3), &json!([]))
    );
    assert_eq!(
        (&by_number["schedule"], &by_number["event"], &by_number["total_price"]),
        (&json!(museum.id), &Value::Null, &json!(300))
    );
    assert_eq!((&by_number["expires_in_seconds"], &by_number["adjacent"]), (&json!(600), &Value::Null));
    let by_ticket = museum.booked(&tickets(&slot, &["TKT-1"]));
    assert_eq!((&by_ticket["quantity"], &by_ticket["tickets"]), (&json!(1), &json!(["TKT-1"])));
    let shop = Venue::bakery(&json!({}));
    shop.add_box(&json!({}));
    let one = shop.booked(&json!({ "box": "evening" }));
    assert_eq!(
        (&one["box"], &one["quantity"], &one["shop"]),
        (&json!("evening"), &json!(1), &json!(shop.id))
    );
    assert_eq!(one["expires_in_seconds"], 1200);
}

#[test]
fn chosen_id_with_another_request_is_taken() {
    let hall = Venue::hall(1, 4);
    let id = "0199aaaa-bbbb-7ccc-8ddd-eeeeffff0001";
    let chosen = hall.booked(&with(best(1), &json!({ "id": id })));
    assert_eq!(chosen["id"], id);
    assert_eq!(hall.booking(&chosen)["version"], 1);
    assert_eq!(hall.book(&with(best(2), &json!({ "id": id }))).told(), "409 BOOKING_ID_TAKEN");
    let other = Venue::hall(1, 4);
    assert_eq!(other.book(&with(best(1), &json!({ "id": id }))).told(), "409 BOOKING_ID_TAKEN");
    assert_eq!(hall.book(&with(best(1), &json!({ "id": "mine" }))).pointer(), "/id");
    assert_eq!(hall.seats(), ["h..."]);
}

#[test]
fn chosen_id_with_the_same_request_returns_the_first_answer() {
    let hall = Venue::hall(1, 4);
    let want =
        |number: u32| with(best(1), &json!({ "id": format!("0199aaaa-bbbb-7ccc-8ddd-eeee0002{number:04}") }));
    let first = hall.book(&want(1));
    let hold = first.expect(201);
    hall.act(&hold, "cancel", &json!({})).expect(200);
    let again = hall.book(&want(1));
    assert_eq!((again.text(), again.is_replay()), (first.text(), true));
    assert_eq!(hall.seats(), ["...."], "nothing was taken again");

    // A refusal is an answer, too.
    hall.booked(&best(4));
    let refused = hall.book(&want(2));
    assert_eq!(refused.told(), "409 NOT_ENOUGH_SEATS");
    let again = hall.book(&want(2));
    assert_eq!((again.told(), again.is_replay()), (refused.told(), true));

    // A key goes before the id: under a new key the booking that exists is in the way.
    let under_key = hall.booking_call(&want(1)).key("key").send();
    assert_eq!(under_key.told(), "409 BOOKING_ID_TAKEN");
}

#[test]
fn chosen_ids_in_a_batch_work_as_keys() {
    let hall = Venue::hall(1, 4);
    let book = |quantity: u32, number: u32| {
        let id = json!({ "op": "book", "id": format!("0199aaaa-bbbb-7ccc-8ddd-eeee0003{number:04}") });
        with(id, &hall.wanted(&best(quantity)))
    };
    let send = |commands: Value| {
        let answer = hall.server.post("/v1/batch", &json!({ "commands": commands })).expect(200);
        answer["results"].as_array().expect("results").clone()
    };
    let first = send(json!([book(1, 1), book(1, 2)]));
    let again = send(json!([book(1, 1), book(2, 2), book(1, 3)]));
    assert_eq!(again[0], first[0]);
    assert_eq!((&again[1]["status"], &again[1]["body"]["code"]), (&json!(409), &json!("BOOKING_ID_TAKEN")));
    assert_eq!(again[2]["status"], 201);
    assert_eq!(hall.seats(), ["hhh."]);
}

#[test]
fn reference_is_kept_with_the_booking() {
    let hall = Venue::hall(1, 4);
    let hold = hall.booked(&with(best(1), &json!({ "reference": "order 7" })));
    assert_eq!(hold["reference"], "order 7");
    let paid = hall.act(&hold, "confirm", &json!({ "payment_reference": "pay-1" })).expect(200);
    assert_eq!((&paid["reference"], &paid["payment_reference"]), (&json!("order 7"), &json!("pay-1")));
    assert_eq!(hall.booked(&best(1))["reference"], Value::Null);
    for wrong in ["", "a\nb", &"r".repeat(65)] {
        assert_eq!(hall.book(&with(best(1), &json!({ "reference": wrong }))).pointer(), "/reference");
    }
}

#[test]
fn a_booking_can_be_sold_at_once() {
    let hall = Venue::hall(1, 4);
    let sold = hall.booked(&with(best(2), &json!({ "confirm": true })));
    assert_eq!(
        (&sold["status"], &sold["expires_at"], &sold["expires_in_seconds"]),
        (&json!("confirmed"), &Value::Null, &Value::Null)
    );
    assert_eq!(sold["confirmed_at"], sold["created_at"]);
    assert_eq!(hall.seats(), ["ss.."]);
}

#[test]
fn a_hold_may_be_as_long_as_it_says_within_the_rules() {
    let hall = Venue::event(&with(
        section(1, 9),
        &json!({ "rules": { "hold_ttl_seconds": 60, "max_hold_seconds": 120 } }),
    ));
    for seconds in [1, 120] {
        let hold = hall.booked(&with(best(1), &json!({ "hold_ttl_seconds": seconds })));
        assert_eq!(hold["expires_in_seconds"], seconds);
    }
    for seconds in [0, 121, 86_401] {
        assert_eq!(
            hall.book(&with(best(1), &json!({ "hold_ttl_seconds": seconds }))).pointer(),
            "/hold_ttl_seconds"
        );
    }
}

#[test]
fn everything_in_a_booking_is_taken_or_nothing_is() {
    let areas = json!({ "areas": [{ "name": "standing", "price": 1, "capacity": 2 }] });
    let hall = Venue::event(&with(section(1, 4), &areas));
    let standing = |quantity: u32| json!({ "areas": [{ "name": "standing", "quantity": quantity }] });
    let too_many = hall.book(&with(best(2), &standing(3)));
    assert_eq!((too_many.told().as_str(), &too_many.json()["available"]), ("409 AREA_FULL", &json!(2)));
    hall.booked(&seats(&["1-2"]));
    assert_eq!(hall.book(&with(seats(&["1-1", "1-2"]), &standing(1))).told(), "409 SEAT_UNAVAILABLE");
    assert_eq!(crate::venue::counts(&hall.show()["stats"]), [5, 1, 0, 0]);
    assert_eq!(hall.book(&with(best(2), &standing(2))).told(), "on_hold A-1 1-3 1-4 standing x2 for 2002");
    assert_eq!(
        hall.book(&json!({ "areas": [{ "name": "lounge", "quantity": 1 }] })).told(),
        "404 AREA_NOT_FOUND"
    );
}

#[test]
fn wishes_that_contradict_themselves_are_refused_by_their_place() {
    let hall = Venue::hall(2, 4);
    let museum = Venue::museum(&json!({}));
    let shop = Venue::bakery(&json!({}));
    let slot = slot_at_ten(1);
    let rows: Vec<(&Venue, Value, &str)> = vec![
        (&hall, json!({}), ""),
        (&hall, with(seats(&["1-1"]), &best(1)), "/best_available"),
        (&hall, seats(&["front"]), "/seats/0/ids/0"),
        (&hall, seats(&["1-00"]), "/seats/0/ids/0"),
        (&hall, seats(&["1-1", "01-2"]), "/seats/0/ids/1"),
        (&hall, seats(&[]), "/seats"),
        (&hall, best(0), "/best_available/quantity"),
        (
            &hall,
            json!({ "best_available": { "quantity": 1, "adjacent": "maybe" } }),
            "/best_available/adjacent",
        ),
        (&hall, json!({ "best_available": { "quantity": -1 } }), "/best_available/quantity"),
        (&hall, json!({ "best_available": { "quantity": 1.5 } }), "/best_available/quantity"),
        (&hall, with(best(1), &json!({ "slot": slot })), "/slot"),
        (&hall, with(best(1), &json!({ "quantity": 1 })), "/quantity"),
        (&hall, with(best(1), &json!({ "shop": "bakery" })), ""),
        (&hall, with(best(1), &json!({ "customer": "" })), "/customer"),
        (&hall, with(best(1), &json!({ "customer": "x".repeat(201) })), "/customer"),
        (&hall, with(best(1), &json!({ "customer": "a\u{7}b" })), "/customer"),
        (&hall, with(best(1), &json!({ "customer": "ann " })), "/customer"),
        (&hall, with(best(1), &json!({ "customer": "\u{3000}ann" })), "/customer"),
        (&hall, with(best(1), &json!({ "customer": 7 })), "/customer"),
        (&hall, with(best(1), &json!({ "metadata": [] })), "/metadata"),
        (&hall, with(best(1), &json!({ "metadata": { "a": "x".repeat(4_096) } })), "/metadata"),
        (&hall, with(best(1), &json!({ "contact": { "email": "nobody" } })), "/contact/email"),
        (&hall, with(best(1), &json!({ "contact": { "fax": "1" } })), "/contact/fax"),
        (&hall, json!({ "areas": [{ "name": "all", "quantity": 0 }] }), "/areas/0/quantity"),
        (&museum, json!({ "quantity": 1 }), "/slot"),
        (&museum, json!({ "slot": slot }), "/quantity"),
        (&museum, with(tickets(&slot, &["a"]), &json!({ "quantity": 1 })), "/quantity"),
        (&museum, tickets(&slot, &["a", " b"]), "/tickets/1"),
        (&museum, places("noon", 1), "/slot"),
        (&museum, places(&slot, 0), "/quantity"),
        (&museum, with(places(&slot, 1), &best(1)), "/best_available"),
        (&shop, json!({ "quantity": 1 }), "/box"),
        (&shop, boxes(0), "/quantity"),
        (&shop, with(boxes(1), &json!({ "slot": slot })), "/slot"),
    ];
    for (venue, want, pointer) in rows {
        let told = venue.book(&want).pointer();
        assert!(told.starts_with(pointer) && (told.is_empty() || !pointer.is_empty()), "{want}: {told}");
    }
    hall.server.post("/v1/bookings", &json!({ "customer": "ann" })).expect_problem(400, "INVALID_REQUEST");
    assert_eq!(hall.server.post("/v1/bookings", &json!({ "event": hall.id })).pointer(), "/customer");
    assert_eq!(hall.book(&json!({ "best_available": {} })).pointer(), "/best_available/quantity");
    hall.booked(&with(
        best(1),
        &json!({ "customer": "x".repeat(200), "metadata": { "a": "x".repeat(4_000) } }),
    ));
}

#[test]
fn what_is_not_there_is_not_found() {
    let server = crate::server::Server::shared();
    let booking = |inventory: Value| with(json!({ "customer": "ann" }), &inventory);
    let rows = [
        (with(booking(json!({ "event": "none" })), &best(1)), "404 EVENT_NOT_FOUND"),
        (
            with(booking(json!({ "schedule": "none" })), &places("2027-01-01T10:00", 1)),
            "404 SCHEDULE_NOT_FOUND",
        ),
        (with(booking(json!({ "shop": "none" })), &boxes(1)), "404 SHOP_NOT_FOUND"),
    ];
    for (body, told) in rows {
        assert_eq!(server.post("/v1/bookings", &body).told(), told);
    }
    for id in ["0199aaaa-bbbb-7ccc-8ddd-eeeeffff9999", "0199aaaabbbb7ccc8dddeeeeffff9999", "none"] {
        let booking = json!({ "id": id });
        server.get(&booking_url(&booking)).expect_problem(404, "BOOKING_NOT_FOUND");
        server.get(&format!("{}/stream", booking_url(&booking))).expect_problem(404, "BOOKING_NOT_FOUND");
        for (verb, body) in [
            ("confirm", json!({})),
            ("extend", json!({ "seconds": 60 })),
            ("cancel", json!({})),
            ("move", json!({ "slot": "2027-01-01T10:00" })),
            ("redeem", json!({ "redeem_code": "AAAAAA" })),
        ] {
            server
                .post(&format!("{}/{verb}", booking_url(&booking)), &body)
                .expect_problem(404, "BOOKING_NOT_FOUND");
        }
    }
}
