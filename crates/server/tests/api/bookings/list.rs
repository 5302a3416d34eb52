//! `GET /v1/bookings` and `GET /v1/bookings/{id}`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::server::{Server, await_some};
use crate::venue::{
    Venue, best, boxes, event_body, ms, now_ms, places, schedule_body, section, slot_at_ten, with,
};

fn ids(server: &Server, query: &str) -> Vec<Value> {
    let page = server.get(&format!("/v1/bookings{query}")).expect(200);
    page["items"].as_array().expect("items").iter().map(|booking| booking["id"].clone()).collect()
}

/// A booking, and the end of its millisecond: inventories have an order among each other only by time.
fn booked_alone(venue: &Venue, want: &Value) -> Value {
    let booking = venue.booked(want);
    await_some("a later moment", || (now_ms() > ms(&booking["created_at"]) + 5).then_some(()));
    booking
}

#[test]
fn bookings_are_listed_newest_first_by_whatever_is_asked_for() {
    let server = Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 9)));
    let museum = Venue::create(&server, "schedule", &schedule_body("museum", &json!({})));
    let shop = json!({ "id": "bakery", "name": "Bakery", "timezone": "UTC", "currency": "TWD" });
    let shop = Venue::create(&server, "shop", &shop);
    shop.add_box(&json!({}));
    let bob = json!({ "customer": "bob" });
    let one = booked_alone(&hall, &best(1));
    let two = booked_alone(&museum, &with(places(&slot_at_ten(1), 1), &bob));
    let three = booked_alone(&shop, &boxes(1));
    let four = booked_alone(&hall, &with(best(1), &bob));
    hall.act(&one, "confirm", &json!({})).expect(200);
    hall.act(&four, "cancel", &json!({})).expect(200);
    let rows: [(&str, &[&Value]); 11] = [
        ("", &[&four, &three, &two, &one]),
        ("?customer=ann", &[&three, &one]),
        ("?customer=nobody", &[]),
        ("?event=gala", &[&four, &one]),
        ("?schedule=museum", &[&two]),
        ("?shop=bakery", &[&three]),
        ("?status=on_hold", &[&three, &two]),
        ("?status=confirmed", &[&one]),
        ("?status=cancelled&customer=bob&event=gala", &[&four]),
        ("?status=redeemed", &[]),
        ("?event=gala&limit=1", &[&four]),
    ];
    for (query, expected) in rows {
        let expected: Vec<Value> = expected.iter().map(|booking| booking["id"].clone()).collect();
        assert_eq!(ids(&server, query), expected, "{query}");
    }
    let listed = server.get("/v1/bookings?event=gala&status=confirmed").expect(200)["items"][0].clone();
    assert_eq!(listed, hall.booking(&one));
    for wrong in [
        "?status=lost",
        "?event=gala&shop=bakery",
        "?limit=0",
        "?limit=501",
        "?limit=x",
        "?cursor=0",
        "?who=ann",
        "?customer=ann&customer=bob",
    ] {
        server.get(&format!("/v1/bookings{wrong}")).expect_problem(400, "INVALID_REQUEST");
    }
    server.get("/v1/bookings?event=none").expect_problem(404, "EVENT_NOT_FOUND");
    server.get("/v1/bookings?schedule=none").expect_problem(404, "SCHEDULE_NOT_FOUND");
    server.get("/v1/bookings?shop=none").expect_problem(404, "SHOP_NOT_FOUND");
}

#[test]
fn pages_follow_each_other_while_new_bookings_are_made() {
    let hall = Venue::hall(10, 10);
    let mut made: Vec<Value> = (0..7).map(|_| hall.booked(&best(1))["id"].clone()).collect();
    made.reverse();
    let mut read = Vec::new();
    let mut query = format!("/v1/bookings?event={}&limit=3", hall.id);
    loop {
        let page = hall.server.get(&query).expect(200);
        read.extend(page["items"].as_array().expect("items").iter().map(|booking| booking["id"].clone()));
        hall.booked(&best(1));
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("/v1/bookings?event={}&limit=3&cursor={cursor}", hall.id),
            None => break,
        }
    }
    assert_eq!(read, made, "none twice, none left out, none that came later");
}

#[test]
fn fifty_are_listed_if_nothing_is_said_and_five_hundred_at_most() {
    let hall = Venue::event(&json!({ "areas": [{ "name": "all", "price": 0, "capacity": 1000 }] }));
    let book = hall.wanted(&json!({ "op": "book", "areas": [{ "name": "all", "quantity": 1 }] }));
    let commands: Vec<Value> = (0..510).map(|_| book.clone()).collect();
    hall.server.post("/v1/batch", &json!({ "commands": commands })).expect(200);
    let of = |query: &str| ids(&hall.server, &format!("?event={}{query}", hall.id)).len();
    assert_eq!((of(""), of("&limit=500")), (50, 500));
}
