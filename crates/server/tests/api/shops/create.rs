//! `POST /v1/shops`, `GET` and `PATCH` of one.

use serde_json::{Value, json};

use crate::server::Server;
use crate::venue::{Venue, boxes, unique, with};

#[test]
fn a_shop_lets_each_customer_have_one_active_booking_unless_it_says_otherwise() {
    let server = Server::shared();
    let body =
        json!({ "id": unique("plain"), "name": "Bakery", "timezone": "Asia/Taipei", "currency": "TWD" });
    let shop = Venue::create(&server, "shop", &body);
    let shown = shop.show();
    assert_eq!(shown["timezone"], "Asia/Taipei");
    assert_eq!(shown["rules"]["hold_ttl_seconds"], 1200);
    assert_eq!(shown["rules"]["max_active_bookings_per_customer"], 1);
    shop.add_box(&json!({}));
    let first = shop.booked(&boxes(1));
    let refused = shop.book(&boxes(1)).expect_problem(409, "ACTIVE_RESERVATION_EXISTS");
    assert_eq!(refused["booking"], first["id"]);
    shop.booked(&with(boxes(1), &json!({ "customer": "bob" })));
    shop.act(&first, "cancel", &json!({})).expect(200);
    shop.booked(&boxes(1));
    let patched = shop
        .patch(&json!({ "name": "Cakes", "rules": { "max_active_bookings_per_customer": null } }))
        .expect(200);
    assert_eq!(
        (&patched["name"], &patched["rules"]["max_active_bookings_per_customer"]),
        (&json!("Cakes"), &Value::Null)
    );
    assert_eq!(shop.show(), patched);
    shop.booked(&boxes(1));
}

#[test]
fn shops_are_listed_and_others_are_not_found() {
    let server = std::sync::Arc::new(Server::start(&[]));
    let body = |id: &str| json!({ "id": id, "name": "Bakery", "timezone": "UTC", "currency": "TWD" });
    let shops: Vec<Value> =
        ["one", "two"].iter().map(|id| server.post("/v1/shops", &body(id)).expect(201)).collect();
    assert_eq!(server.get("/v1/shops").expect(200), json!({ "items": shops, "next_cursor": null }));
    server.post("/v1/shops", &body("one")).expect_problem(409, "ALREADY_EXISTS");
    server.get("/v1/shops/none").expect_problem(404, "SHOP_NOT_FOUND");
    server.patch("/v1/shops/none", &json!({})).expect_problem(404, "SHOP_NOT_FOUND");
    for (more, pointer) in [
        (json!({ "timezone": "Nowhere" }), "/timezone"),
        (json!({ "currency": "" }), "/currency"),
        (json!({ "boxes": [] }), "/boxes"),
        (
            json!({ "rules": { "max_active_bookings_per_customer": 0 } }),
            "/rules/max_active_bookings_per_customer",
        ),
    ] {
        let told = server.post("/v1/shops", &with(body("three"), &more)).pointer();
        assert_eq!(told, pointer, "{more}");
    }
}
