//! `/v1/shops/{id}/boxes`.

use serde_json::{Value, json};

use crate::client::Reply;
use crate::server::await_some;
use crate::venue::{Venue, boxes, ms, seconds_from_now, with};

fn patch(shop: &Venue, body: &Value) -> Reply {
    shop.server.patch(&shop.at("/boxes/evening"), body)
}

#[test]
fn a_box_is_shown_with_what_is_left_its_price_and_the_next() {
    let shop = Venue::bakery(&json!({}));
    let (starts_at, ends_at) = (seconds_from_now(3600), seconds_from_now(7200));
    let (past, next, last) = (seconds_from_now(-60), seconds_from_now(600), seconds_from_now(1200));
    let curve =
        json!([{ "at": past, "price": 400 }, { "at": next, "price": 250 }, { "at": last, "price": 100 }]);
    let made = shop
        .add_box(&json!({ "pickup": { "starts_at": starts_at, "ends_at": ends_at }, "price_curve": curve }));
    let listed = json!({
        "id": "evening", "name": "Evening", "quantity": 3, "remaining": 3, "price": 400,
        "next_price": { "at": next, "price": 250 }, "price_curve": curve,
        "pickup": { "starts_at": starts_at, "ends_at": ends_at }, "status": "ACTIVE",
    });
    assert_eq!(made, with(listed.clone(), &json!({ "sequence": 2 })));
    assert_eq!(shop.listed_box("evening"), listed);
    let plain = shop.add_box(&json!({ "id": "plain" }));
    assert_eq!(
        (&plain["pickup"], &plain["next_price"], &plain["price_curve"]),
        (&Value::Null, &Value::Null, &json!([]))
    );
}

#[test]
fn the_price_of_a_booking_is_the_curves_at_the_moment_of_the_hold() {
    let shop = Venue::bakery(&json!({}));
    let falls = seconds_from_now(1);
    shop.add_box(&json!({ "quantity": 10, "price_curve": [{ "at": falls, "price": 250 }] }));
    let before = shop.booked(&boxes(1));
    await_some("the price falls", || (shop.listed_box("evening")["price"] == 250).then_some(()));
    let after = shop.booked(&boxes(2));
    let due = |booking: &Value| if ms(&booking["created_at"]) < ms(&json!(falls)) { 500 } else { 250 };
    assert_eq!(before["total_price"], due(&before));
    assert_eq!(after["total_price"], 500, "two at 250");
    assert_eq!(
        shop.act(&before, "confirm", &json!({})).expect(200)["total_price"],
        before["total_price"],
        "frozen"
    );
    assert_eq!(shop.listed_box("evening")["next_price"], Value::Null);
}

#[test]
fn the_status_tells_why_nothing_can_be_had() {
    let shop = Venue::bakery(&json!({}));
    shop.add_box(&json!({ "quantity": 2 }));
    let status = || shop.listed_box("evening")["status"].as_str().expect("a status").to_owned();
    let hold = shop.booked(&boxes(1));
    assert_eq!(shop.book(&boxes(2)).told(), "409 INSUFFICIENT_INVENTORY");
    assert_eq!(shop.book(&boxes(2)).json()["available"], 1);
    shop.booked(&boxes(1));
    assert_eq!(
        (status().as_str(), shop.book(&boxes(1)).told().as_str()),
        ("SOLD_OUT", "409 BOX_UNAVAILABLE")
    );
    let why = || {
        let problem = shop.book(&boxes(1)).json();
        [problem["reason"].clone(), problem["detail"].clone()]
    };
    assert_eq!(why(), ["sold_out", "This box is sold out."]);
    assert_eq!(patch(&shop, &json!({ "status": "CLOSED" })).expect(200)["status"], "CLOSED");
    assert_eq!(why(), ["closed", "The operator closed sales of this box."]);
    patch(&shop, &json!({ "status": "ACTIVE" })).expect(200);
    shop.act(&hold, "cancel", &json!({})).expect(200);
    assert_eq!(status(), "ACTIVE");
    assert_eq!(patch(&shop, &json!({ "status": "CLOSED" })).expect(200)["status"], "CLOSED");
    assert_eq!((status().as_str(), shop.book(&boxes(1)).told().as_str()), ("CLOSED", "409 BOX_UNAVAILABLE"));
    patch(&shop, &json!({ "status": "ACTIVE" })).expect(200);
    let over =
        json!({ "pickup": { "starts_at": seconds_from_now(-7200), "ends_at": seconds_from_now(-3600) } });
    assert_eq!(patch(&shop, &over).expect(200)["status"], "ENDED");
    assert_eq!(
        (status().as_str(), shop.book(&boxes(1)).told().as_str()),
        ("ENDED", "409 PICKUP_WINDOW_CLOSED")
    );
    assert_eq!(patch(&shop, &json!({ "pickup": null })).expect(200)["pickup"], Value::Null);
    assert_eq!(shop.book(&boxes(1)).told(), "on_hold evening x1 for 500");
    assert_eq!(shop.book(&with(boxes(1), &json!({ "box": "morning" }))).told(), "404 BOX_NOT_FOUND");
}

#[test]
fn boxes_are_patched_within_what_is_booked() {
    let shop = Venue::bakery(&json!({}));
    shop.add_box(&json!({ "quantity": 5 }));
    shop.booked(&boxes(3));
    let refused = patch(&shop, &json!({ "quantity": 2 })).expect_problem(409, "CAPACITY_BELOW_BOOKED_COUNT");
    assert_eq!(refused["booked_count"], 3);
    let patched = patch(&shop, &json!({ "quantity": 4, "price": 300, "price_curve": [] })).expect(200);
    assert_eq!(
        (&patched["quantity"], &patched["remaining"], &patched["price"]),
        (&json!(4), &json!(1), &json!(300))
    );
    shop.server.patch(&shop.at("/boxes/morning"), &json!({})).expect_problem(404, "BOX_NOT_FOUND");
    shop.server.patch("/v1/shops/none/boxes/evening", &json!({})).expect_problem(404, "SHOP_NOT_FOUND");
    for (body, pointer) in [
        (json!({ "quantity": 0 }), "/quantity"),
        (json!({ "price": -1 }), "/price"),
        (json!({ "status": "ENDED" }), "/status"),
        (
            json!({ "price_curve": [{ "at": seconds_from_now(20), "price": 2 }, { "at": seconds_from_now(10), "price": 1 }] }),
            "/price_curve/1",
        ),
        (
            json!({ "pickup": { "starts_at": seconds_from_now(20), "ends_at": seconds_from_now(10) } }),
            "/pickup",
        ),
    ] {
        let told = patch(&shop, &body).pointer();
        assert!(told.starts_with(pointer), "{body}: {told}");
    }
}

#[test]
fn name_of_a_box_is_changed_and_its_id_stays() {
    let shop = Venue::bakery(&json!({}));
    shop.add_box(&json!({}));
    let renamed = patch(&shop, &json!({ "name": "Bread of today" })).expect(200);
    assert_eq!((&renamed["id"], &renamed["name"]), (&json!("evening"), &json!("Bread of today")));
    assert_eq!(shop.listed_box("evening")["name"], "Bread of today");
    assert_eq!(patch(&shop, &json!({ "name": "" })).pointer(), "/name");
    assert_eq!(patch(&shop, &json!({ "name": "x".repeat(201) })).pointer(), "/name");
}

#[test]
fn boxes_are_listed_in_pages_and_named_once() {
    let shop = Venue::bakery(&json!({}));
    for id in ["one", "two", "three"] {
        shop.add_box(&json!({ "id": id }));
    }
    let again = json!({ "id": "two", "name": "Two", "quantity": 1, "price": 1 });
    shop.server.post(&shop.at("/boxes"), &again).expect_problem(409, "ALREADY_EXISTS");
    let first = shop.server.get(&shop.at("/boxes?limit=2")).expect(200);
    let cursor = first["next_cursor"].as_str().expect("more");
    let rest = shop.server.get(&shop.at(&format!("/boxes?limit=2&cursor={cursor}"))).expect(200);
    let ids = |page: &Value| {
        page["items"].as_array().expect("items").iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((ids(&first), ids(&rest)), (vec![json!("one"), json!("two")], vec![json!("three")]));
    assert_eq!(rest["next_cursor"], Value::Null);
    // Without an id, a key makes the same one again.
    let nameless = json!({ "name": "Nameless", "quantity": 1, "price": 1 });
    let add = || shop.server.call("POST", &shop.at("/boxes")).key("box-key").json(&nameless).send();
    let (made, again) = (add(), add());
    assert_eq!((made.status, &made.body), (201, &again.body));
    assert!(again.is_replay() && !made.is_replay());
}
