//! `POST /v1/bookings/{id}/redeem`.

use serde_json::{Value, json};

use crate::venue::{
    Venue, best, boxes, places, seconds_from_now, section, tickets, today_at, with, zone_at_noon,
};

#[test]
fn a_confirmed_booking_is_redeemed_once_with_its_code() {
    let hall = Venue::hall(1, 4);
    let hold = hall.booked(&best(1));
    let code = json!({ "redeem_code": hold["redeem_code"] });
    assert_eq!(hall.act(&hold, "redeem", &code).told(), "409 NOT_REDEEMABLE");
    hall.act(&hold, "confirm", &json!({})).expect(200);
    for wrong in ["AAAAAA", "", "not a code at all"] {
        assert_eq!(hall.act(&hold, "redeem", &json!({ "redeem_code": wrong })).told(), "409 WRONG_CODE");
    }
    assert_eq!(hall.act(&hold, "redeem", &json!({})).told(), "400 INVALID_REQUEST");
    let redeemed = hall.act(&hold, "redeem", &code).expect(200);
    assert_eq!((&redeemed["status"], &redeemed["version"]), (&json!("redeemed"), &json!(3)));
    let again = hall.act(&hold, "redeem", &code).expect_problem(409, "ALREADY_REDEEMED");
    assert_eq!(again["redeemed_at"], redeemed["redeemed_at"]);
    assert_eq!(hall.seats(), ["s..."]);
    let cancelled = hall.booked(&best(1));
    hall.act(&cancelled, "cancel", &json!({})).expect(200);
    assert_eq!(
        hall.act(&cancelled, "redeem", &json!({ "redeem_code": cancelled["redeem_code"] })).told(),
        "409 NOT_REDEEMABLE"
    );
}

#[test]
fn a_code_is_read_in_small_letters_too() {
    let hall = Venue::hall(1, 4);
    let sold = hall.booked(&with(best(1), &json!({ "confirm": true })));
    let code = sold["redeem_code"].as_str().expect("a code");
    let read = format!(" {} ", code.to_ascii_lowercase());
    assert_eq!(
        hall.act(&sold, "redeem", &json!({ "redeem_code": read })).told(),
        "redeemed A-1 1-1 for 1000"
    );
}

#[test]
fn a_slot_is_redeemed_on_its_day_only() {
    let (timezone, hours) = zone_at_noon();
    let windows = json!([{ "start": "09:00", "end": "23:00", "capacity": 20 }]);
    let museum = Venue::museum(&json!({ "timezone": timezone, "windows": windows }));
    let today = today_at(hours);
    let book = |date: jiff::civil::Date| {
        museum.booked(&with(places(&format!("{date}T09:00"), 1), &json!({ "confirm": true })))
    };
    let (now, later) = (book(today), book(today + jiff::ToSpan::days(1)));
    let redeem =
        |booking: &Value| museum.act(booking, "redeem", &json!({ "redeem_code": booking["redeem_code"] }));
    assert_eq!(redeem(&later).told(), "409 WRONG_DATE");
    assert_eq!(redeem(&now).told(), format!("redeemed {today}T09:00 x1 for 0"));
}

#[test]
fn a_box_is_redeemed_within_its_pickup_window_only_unless_forced() {
    let shop = Venue::bakery(&json!({}));
    let (starts_at, ends_at) = (seconds_from_now(600), seconds_from_now(1200));
    shop.add_box(&json!({ "pickup": { "starts_at": starts_at, "ends_at": ends_at } }));
    let sold = || shop.booked(&with(boxes(1), &json!({ "confirm": true })));
    let (early, late, inside) = (sold(), sold(), sold());
    let redeem = |booking: &Value, more: &Value| {
        shop.act(booking, "redeem", &with(json!({ "redeem_code": booking["redeem_code"] }), more))
    };
    let refused = redeem(&early, &json!({ "force": false })).expect_problem(409, "WRONG_TIME");
    assert_eq!((&refused["opens_at"], &refused["closes_at"]), (&json!(starts_at), &json!(ends_at)));
    assert_eq!(redeem(&early, &json!({ "force": true })).expect(200)["status"], "redeemed");
    let move_window = |from: i64, until: i64| {
        let pickup = json!({ "starts_at": seconds_from_now(from), "ends_at": seconds_from_now(until) });
        shop.server.patch(&shop.at("/boxes/evening"), &json!({ "pickup": pickup })).expect(200);
    };
    move_window(-60, 600);
    redeem(&inside, &json!({ "force": true })).expect(200);
    move_window(-60, -30);
    assert_eq!(redeem(&late, &json!({})).told(), "409 WRONG_TIME");
    assert_eq!(redeem(&late, &json!({ "force": true })).told(), "redeemed evening x1 for 500");
    for (booking, forced) in [(&early, true), (&inside, false), (&late, true)] {
        let id = booking["id"].as_str().expect("an id");
        let audit = shop.server.get(&format!("/v1/audit?booking={id}")).expect(200);
        let deed = audit["items"].as_array().and_then(|items| items.last()).expect("a deed");
        assert_eq!((&deed["action"], &deed["details"]["forced"]), (&json!("redeemed"), &json!(forced)));
    }
}

fn sold(venue: &Venue, want: &Value) -> Value {
    venue.booked(&with(want.clone(), &json!({ "confirm": true })))
}

fn redeem(venue: &Venue, booking: &Value, more: &Value) -> crate::client::Reply {
    venue.act(booking, "redeem", &with(json!({ "redeem_code": booking["redeem_code"] }), more))
}

fn unredeem(venue: &Venue, booking: &Value, more: &Value) -> crate::client::Reply {
    venue.act(booking, "unredeem", &with(json!({ "reason": "by mistake" }), more))
}

fn named(seats: &[&str]) -> Value {
    let seats = seats.iter().map(|seat| json!({ "section": "A-1", "seat": seat }));
    json!({ "seats": seats.collect::<Value>() })
}

fn redeemed_seats(booking: &Value) -> Vec<&str> {
    let seats = booking["seats"].as_array().expect("seats").iter();
    let redeemed = seats.filter(|seat| seat["redeemed_at"].is_string());
    redeemed.map(|seat| seat["seat"].as_str().expect("a name")).collect()
}

#[test]
fn an_event_admits_from_when_its_doors_open_until_it_ends_unless_forced() {
    let (doors, start, end) = (seconds_from_now(600), seconds_from_now(700), seconds_from_now(900));
    let times = json!({ "doors_open_at": doors, "starts_at": start, "ends_at": end });
    let hall = Venue::event(&with(section(1, 4), &times));
    let (first, second, third) = (sold(&hall, &best(1)), sold(&hall, &best(1)), sold(&hall, &best(1)));
    let refused = redeem(&hall, &first, &json!({})).expect_problem(409, "WRONG_TIME");
    assert_eq!((&refused["opens_at"], &refused["closes_at"]), (&json!(doors), &json!(end)));
    assert_eq!(redeem(&hall, &first, &json!({ "force": true })).expect(200)["status"], "redeemed");
    hall.patch(&json!({ "doors_open_at": seconds_from_now(-60) })).expect(200);
    assert_eq!(redeem(&hall, &second, &json!({})).expect(200)["status"], "redeemed");
    let over = json!({ "doors_open_at": null, "starts_at": seconds_from_now(-90), "ends_at": seconds_from_now(-30) });
    hall.patch(&over).expect(200);
    let refused = redeem(&hall, &third, &json!({})).expect_problem(409, "WRONG_TIME");
    assert_eq!(refused["opens_at"], Value::Null);
    // An undone admission is admitted again by the same rule.
    unredeem(&hall, &second, &json!({})).expect(200);
    assert_eq!(redeem(&hall, &second, &json!({})).told(), "409 WRONG_TIME");
}

#[test]
fn a_booking_of_four_is_redeemed_seat_by_seat() {
    let hall = Venue::hall(1, 6);
    let four = sold(&hall, &best(4));
    assert_eq!((redeemed_seats(&four), &four["redeemed_quantity"]), (vec![], &json!(0)));
    let first = redeem(&hall, &four, &named(&["1-2"])).expect(200);
    assert_eq!((&first["status"], &first["redeemed_quantity"]), (&json!("confirmed"), &json!(1)));
    assert_eq!((redeemed_seats(&first), &first["redeemed_at"]), (vec!["1-2"], &Value::Null));
    let twice = redeem(&hall, &four, &named(&["1-1", "1-2"])).expect_problem(409, "ALREADY_REDEEMED");
    assert_eq!(twice["redeemed_at"], first["seats"][1]["redeemed_at"]);
    assert_eq!(hall.booking(&four)["redeemed_quantity"], 1, "all of a request or nothing");
    for (more, told) in [
        (named(&["1-5"]), "409 NOT_IN_BOOKING"),
        (named(&["1-9"]), "404 SEAT_NOT_FOUND"),
        (json!({ "seats": [{ "section": "B-1", "seat": "1-1" }] }), "404 SECTION_NOT_FOUND"),
        (named(&["1-1", "1-1"]), "400 DUPLICATE_SEAT"),
    ] {
        assert_eq!(redeem(&hall, &four, &more).told(), told, "{more}");
    }
    for (more, pointer) in [
        (json!({ "seats": [] }), "/seats"),
        (json!({ "tickets": [] }), "/tickets"),
        (json!({ "tickets": ["T"] }), "/tickets"),
        (json!({ "tickets": ["T "] }), "/tickets/0"),
        (json!({ "quantity": 0 }), "/quantity"),
        (json!({ "quantity": 5 }), "/quantity"),
        (named(&["one"]), "/seats/0/seat"),
    ] {
        assert_eq!(redeem(&hall, &four, &more).pointer(), pointer, "{more}");
    }
    assert_eq!(hall.act(&four, "cancel", &json!({})).told(), "409 NOT_CANCELLABLE");
    assert_eq!(hall.act(&four, "move", &best(4)).told(), "409 NOT_MOVABLE");
    let third = redeem(&hall, &four, &json!({ "quantity": 1 })).expect(200);
    assert_eq!(redeemed_seats(&third), ["1-1", "1-2"], "the first that is left");
    let last = redeem(&hall, &four, &json!({})).expect(200);
    assert_eq!((&last["status"], &last["redeemed_quantity"]), (&json!("redeemed"), &json!(4)));
    assert_eq!(last["redeemed_at"], last["seats"][3]["redeemed_at"]);
    assert_eq!(last["seats"][1], first["seats"][1], "each keeps its own time");
    assert_eq!(hall.booking(&four), with(last, &json!({ "sequence": hall.booking(&four)["sequence"] })));
    assert_eq!(hall.seats(), ["ssss.."]);
}

#[test]
fn places_and_boxes_are_redeemed_by_number_and_tickets_by_name() {
    let area = json!({ "areas": [{ "name": "floor", "price": 5, "capacity": 9 }] });
    let floor = Venue::event(&area);
    let three = sold(&floor, &json!({ "areas": [{ "name": "floor", "quantity": 3 }] }));
    assert_eq!(redeem(&floor, &three, &json!({ "quantity": 2 })).expect(200)["redeemed_quantity"], 2);
    assert_eq!(redeem(&floor, &three, &json!({ "quantity": 2 })).told(), "409 ALREADY_REDEEMED");
    assert_eq!(redeem(&floor, &three, &json!({ "quantity": 1 })).expect(200)["status"], "redeemed");

    let bakery = Venue::bakery(&json!({}));
    bakery.add_box(&json!({}));
    let two = sold(&bakery, &boxes(2));
    assert_eq!(redeem(&bakery, &two, &json!({ "quantity": 1 })).expect(200)["status"], "confirmed");
    assert_eq!(redeem(&bakery, &two, &json!({ "quantity": 1 })).expect(200)["redeemed_quantity"], 2);

    let (timezone, hours) = zone_at_noon();
    let windows = json!([{ "start": "09:00", "end": "23:00", "capacity": 20 }]);
    let museum = Venue::museum(&json!({ "timezone": timezone, "windows": windows }));
    let slot = format!("{}T09:00", today_at(hours));
    let both = sold(&museum, &tickets(&slot, &["T1", "T2"]));
    assert_eq!(redeem(&museum, &both, &json!({ "tickets": ["T2"] })).expect(200)["redeemed_quantity"], 1);
    assert_eq!(redeem(&museum, &both, &json!({ "tickets": ["T3"] })).told(), "409 NOT_IN_BOOKING");
    assert_eq!(museum.book(&tickets(&slot, &["T2"])).told(), "409 TICKET_ALREADY_USED");
    assert_eq!(museum.book(&tickets(&slot, &["T1"])).told(), "409 TICKET_ALREADY_RESERVED");
    unredeem(&museum, &both, &json!({ "tickets": ["T2"] })).expect(200);
    assert_eq!(museum.book(&tickets(&slot, &["T2"])).told(), "409 TICKET_ALREADY_RESERVED");
}

#[test]
fn an_undone_redemption_leaves_a_confirmed_booking_that_can_be_cancelled() {
    let hall = Venue::hall(1, 4);
    let two = sold(&hall, &best(2));
    assert_eq!(unredeem(&hall, &two, &json!({})).told(), "409 NOT_REDEEMED");
    redeem(&hall, &two, &json!({})).expect(200);
    let undo = || hall.act_call(&two, "unredeem", &json!({ "reason": "by mistake" })).key("undo");
    let undone = undo().send().expect(200);
    assert_eq!((&undone["status"], &undone["redeemed_quantity"]), (&json!("confirmed"), &json!(0)));
    assert_eq!((redeemed_seats(&undone), &undone["redeemed_at"]), (vec![], &Value::Null));
    assert_eq!(undone["redeem_code"], two["redeem_code"]);
    assert!(undo().send().is_replay());
    assert_eq!(unredeem(&hall, &two, &json!({})).told(), "409 NOT_REDEEMED");
    redeem(&hall, &two, &json!({})).expect(200);
    let half = unredeem(&hall, &two, &named(&["1-1"])).expect(200);
    assert_eq!((redeemed_seats(&half), &half["status"]), (vec!["1-2"], &json!("confirmed")));
    assert_eq!(unredeem(&hall, &two, &named(&["1-1"])).told(), "409 NOT_REDEEMED");
    assert_eq!(unredeem(&hall, &two, &named(&["1-3"])).told(), "409 NOT_IN_BOOKING");
    for (body, pointer) in [(json!({}), "/reason"), (json!({ "reason": "" }), "/reason")] {
        let refused = hall.act(&two, "unredeem", &body);
        assert_eq!(refused.told(), "400 INVALID_REQUEST", "{pointer}");
    }
    unredeem(&hall, &two, &json!({ "quantity": 1, "reason": "the other, too" })).expect(200);
    hall.act(&two, "cancel", &json!({})).expect(200);
    assert_eq!(hall.seats(), ["...."]);
    let audit = format!("/v1/audit?booking={}", two["id"].as_str().expect("an id"));
    let audit = hall.server.get(&audit).expect(200);
    let deeds = audit["items"].as_array().expect("deeds").iter();
    let deeds: Vec<(&str, &Value)> = deeds
        .filter(|deed| deed["action"] == "unredeemed")
        .map(|deed| (deed["details"]["reason"].as_str().expect("why"), &deed["details"]["redeemed_quantity"]))
        .collect();
    assert_eq!(deeds, [("by mistake", &json!(0)), ("by mistake", &json!(1)), ("the other, too", &json!(0))]);
}

#[test]
fn a_batch_redeems_some_units_of_a_booking() {
    let hall = Venue::hall(1, 4);
    let two = sold(&hall, &best(2));
    let base = json!({ "op": "redeem", "id": two["id"], "redeem_code": two["redeem_code"] });
    let commands =
        [with(base.clone(), &named(&["1-2"])), with(base.clone(), &json!({ "quantity": 1 })), base];
    let answer = hall.server.post("/v1/batch", &json!({ "commands": commands })).expect(200);
    let results = answer["results"].as_array().expect("results").iter();
    let told: Vec<&Value> = results
        .map(
            |result| {
                if result["status"] == 200 { &result["body"]["status"] } else { &result["body"]["code"] }
            },
        )
        .collect();
    assert_eq!(told, [&json!("confirmed"), &json!("redeemed"), &json!("ALREADY_REDEEMED")]);
}

#[test]
fn a_stream_of_a_booking_shows_each_redemption_in_part() {
    let hall = Venue::hall(1, 4);
    let two = sold(&hall, &best(2));
    let url = format!("{}/stream", crate::venue::booking_url(&two));
    let mut stream = hall.server.call("GET", &url).watch();
    assert_eq!(stream.expect("booking").data["redeemed_quantity"], 0);
    redeem(&hall, &two, &named(&["1-1"])).expect(200);
    let message = stream.expect("booking");
    assert_eq!(
        (&message.data["redeemed_quantity"], &message.data["status"]),
        (&json!(1), &json!("confirmed"))
    );
    redeem(&hall, &two, &json!({})).expect(200);
    assert_eq!(stream.expect("booking").data["redeemed_quantity"], 2);
}
