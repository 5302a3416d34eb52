//! `/v1/schedules/{id}/slots`.

use serde_json::{Value, json};

use crate::client::Reply;
use crate::venue::{Venue, day, places, slot_at_ten, today_at, zone_at_noon};

fn patch(museum: &Venue, slot: &str, body: &Value) -> Reply {
    museum.server.patch(&museum.at(&format!("/slots/{slot}")), body)
}

#[test]
fn a_range_has_both_its_ends_and_pages_follow_each_other() {
    let museum = Venue::museum(&json!({ "days": 8 }));
    let ids = |query: &str| {
        let page = museum.server.get(&museum.at(&format!("/slots{query}"))).expect(200);
        let items = page["items"].as_array().expect("items").iter();
        let ids: Vec<String> = items.map(|slot| slot["id"].as_str().expect("an id").to_owned()).collect();
        (ids, page["next_cursor"].as_str().map(str::to_owned))
    };
    let range = format!("?from={}&to={}", day(2), day(4));
    let wanted: Vec<String> = (2..=4).map(slot_at_ten).collect();
    assert_eq!(ids(&range), (wanted.clone(), None));
    let (first, cursor) = ids(&format!("{range}&limit=2"));
    assert_eq!(first, wanted[..2]);
    assert_eq!(
        ids(&format!("{range}&limit=2&cursor={}", cursor.expect("more"))),
        (wanted[2..].to_vec(), None)
    );
    for wrong in [
        "?from=2027-02-29",
        "?from=2027-01-02&to=2027-01-01",
        "?limit=0",
        "?limit=501",
        "?cursor=zz",
        "?form=x",
    ] {
        museum.server.get(&museum.at(&format!("/slots{wrong}"))).expect_problem(400, "INVALID_REQUEST");
    }
}

#[test]
fn exactly_half_is_limited_and_held_places_count_as_booked() {
    let museum = Venue::museum(
        &json!({ "windows": [{ "start": "10:00", "end": "12:00", "capacity": 4, "price": 1 }] }),
    );
    let slot = slot_at_ten(1);
    let looks = |booked: u32, status: &str, availability: &str| {
        let listed = museum.slot(&slot);
        assert_eq!(
            (&listed["booked_count"], &listed["available_count"]),
            (&json!(booked), &json!(4 - booked))
        );
        assert_eq!((&listed["status"], &listed["availability"]), (&json!(status), &json!(availability)));
    };
    looks(0, "ACTIVE", "AVAILABLE");
    let one = museum.booked(&places(&slot, 1));
    looks(1, "ACTIVE", "AVAILABLE");
    museum.act(&one, "confirm", &json!({})).expect(200);
    museum.booked(&places(&slot, 1));
    looks(2, "ACTIVE", "LIMITED");
    let rest = museum.booked(&places(&slot, 2));
    looks(4, "FULL", "FULL");
    museum.act(&rest, "cancel", &json!({})).expect(200);
    looks(2, "ACTIVE", "LIMITED");
    museum.expired(&places(&slot, 2));
    looks(2, "ACTIVE", "LIMITED");
}

#[test]
fn a_closed_slot_stays_closed_whatever_is_cancelled_in_it() {
    let museum = Venue::museum(&json!({ "windows": [{ "start": "10:00", "end": "12:00", "capacity": 2 }] }));
    let slot = slot_at_ten(1);
    let hold = museum.booked(&places(&slot, 2));
    let closed = patch(&museum, &slot, &json!({ "status": "CLOSED" })).expect(200);
    assert_eq!((&closed["status"], &closed["availability"]), (&json!("CLOSED"), &json!("CLOSED")));
    museum.act(&hold, "cancel", &json!({})).expect(200);
    assert_eq!(museum.slot(&slot)["status"], "CLOSED");
    assert_eq!(museum.book(&places(&slot, 1)).told(), "409 SLOT_CLOSED");
    assert_eq!(patch(&museum, &slot, &json!({ "status": "ACTIVE" })).expect(200)["status"], "ACTIVE");
    assert_eq!(museum.book(&places(&slot, 1)).told(), format!("on_hold {slot} x1 for 0"));
}

#[test]
fn capacity_follows_the_operator_but_not_below_what_is_booked() {
    let museum = Venue::museum(&json!({}));
    let slot = slot_at_ten(1);
    museum.booked(&places(&slot, 5));
    let refused = patch(&museum, &slot, &json!({ "total_capacity": 4 }))
        .expect_problem(409, "CAPACITY_BELOW_BOOKED_COUNT");
    assert_eq!(refused["booked_count"], 5);
    let full = patch(&museum, &slot, &json!({ "total_capacity": 5 })).expect(200);
    assert_eq!((&full["status"], &full["sequence"]), (&json!("FULL"), &json!(3)));
    assert_eq!(patch(&museum, &slot, &json!({ "total_capacity": 6 })).expect(200)["status"], "ACTIVE");
    assert_eq!(patch(&museum, &slot, &json!({ "total_capacity": 0 })).pointer(), "/total_capacity");
    assert_eq!(patch(&museum, &slot, &json!({ "status": "FULL" })).pointer(), "/status");
    patch(&museum, "2020-01-01T10:00", &json!({})).expect_problem(404, "SLOT_NOT_FOUND");
    patch(&museum, "noon", &json!({})).expect_problem(404, "SLOT_NOT_FOUND");
}

#[test]
fn new_price_of_a_slot_holds_for_bookings_from_then_on() {
    let museum = Venue::museum(&json!({}));
    let slot = slot_at_ten(1);
    let before = museum.booked(&places(&slot, 2));
    assert_eq!(before["total_price"], 200);
    assert_eq!(patch(&museum, &slot, &json!({ "price": 70 })).expect(200)["price"], 70);
    assert_eq!(museum.booking(&before)["total_price"], 200);
    assert_eq!(museum.booked(&places(&slot, 2))["total_price"], 140);
    assert_eq!(patch(&museum, &slot, &json!({ "price": -1 })).pointer(), "/price");
    assert_eq!(museum.slot(&slot)["price"], 70);
}

#[test]
fn slots_are_added_beside_those_of_the_pattern() {
    let museum = Venue::museum(&json!({}));
    let add = |body: Value| museum.server.post(&museum.at("/slots"), &body);
    let evening =
        json!({ "date": day(1).to_string(), "start": "18:00", "end": "20:00", "capacity": 3, "price": 250 });
    let made = add(evening.clone()).expect(201);
    let id = format!("{}T18:00", day(1));
    assert_eq!((&made["id"], &made["price"], &made["sequence"]), (&json!(id), &json!(250), &json!(2)));
    assert_eq!(museum.slot(&id)["total_capacity"], 3);
    add(evening).expect_problem(409, "SLOT_ALREADY_EXISTS");
    let past = json!({ "date": day(-2).to_string(), "start": "18:00", "end": "20:00", "capacity": 3 });
    add(past).expect_problem(409, "CANNOT_CREATE_PAST_SLOT");
    let late = json!({ "date": day(1).to_string(), "start": "22:00", "end": "21:00", "capacity": 3 });
    add(late).expect_problem(400, "INVALID_REQUEST");
    let path = "/v1/schedules/none/slots";
    let body = json!({ "date": day(1).to_string(), "start": "18:00", "end": "20:00", "capacity": 3 });
    museum.server.post(path, &body).expect_problem(404, "SCHEDULE_NOT_FOUND");
}

#[test]
fn only_a_slot_without_bookings_is_deleted() {
    let museum = Venue::museum(&json!({}));
    let slot = slot_at_ten(1);
    let delete = |slot: &str| museum.server.call("DELETE", &museum.at(&format!("/slots/{slot}"))).send();
    let hold = museum.booked(&places(&slot, 1));
    delete(&slot).expect_problem(409, "SLOT_HAS_BOOKINGS");
    museum.act(&hold, "cancel", &json!({})).expect(200);
    let gone = delete(&slot);
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    delete(&slot).expect_problem(404, "SLOT_NOT_FOUND");
    assert_eq!(museum.book(&places(&slot, 1)).told(), "404 SLOT_NOT_FOUND");
    assert_eq!(museum.booking(&hold)["slot"], slot);
}

#[test]
fn a_slot_that_began_can_be_booked_until_it_has_ended() {
    let (timezone, hours) = zone_at_noon();
    let museum = Venue::museum(&json!({ "timezone": timezone, "days": 1 }));
    let today = today_at(hours);
    let add = |start: &str, end: &str| {
        let body = json!({ "date": today.to_string(), "start": start, "end": end, "capacity": 3 });
        museum.server.post(&museum.at("/slots"), &body)
    };
    let began = add("00:30", "23:30").expect(201);
    assert_eq!(museum.book(&places(began["id"].as_str().expect("an id"), 1)).status, 201);
    add("00:00", "00:20").expect_problem(409, "CANNOT_CREATE_PAST_SLOT");
}

#[test]
fn a_full_slot_names_the_nearest_open_ones() {
    let windows = json!([{ "start": "10:00", "end": "12:00", "capacity": 2 }, { "start": "14:00", "end": "16:00", "capacity": 2 }]);
    let museum = Venue::museum(&json!({ "windows": windows }));
    let slot = slot_at_ten(2);
    museum.booked(&places(&slot, 2));
    let closed = format!("{}T14:00", day(2));
    patch(&museum, &closed, &json!({ "status": "CLOSED" })).expect(200);
    let refused = museum.book(&places(&slot, 1)).expect_problem(409, "SLOT_FULL");
    let alternatives = refused["alternatives"].as_array().expect("alternatives");
    assert_eq!(alternatives.len(), 3);
    // Twenty hours before, a day before and after.
    assert_eq!(alternatives[0]["slot"], format!("{}T14:00", day(1)));
    assert_eq!(alternatives[0]["available_count"], 2);
    assert_eq!(alternatives[0]["starts_at"], format!("{}T14:00:00.000Z", day(1)));
    let slots: Vec<&str> = alternatives.iter().map(|one| one["slot"].as_str().expect("a slot")).collect();
    assert!(
        slots.contains(&slot_at_ten(1).as_str()) && slots.contains(&slot_at_ten(3).as_str()),
        "{slots:?}"
    );
    let three = museum.book(&places(&slot_at_ten(1), 3)).expect_problem(409, "SLOT_FULL");
    assert_eq!((&three["available"], &three["alternatives"]), (&json!(2), &json!([])), "none has three");
}
