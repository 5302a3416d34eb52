//! `GET /v1/shops/{id}/stream`.

use serde_json::json;

use crate::venue::{Venue, boxes};

#[test]
fn changes_carry_the_boxes_as_they_are_listed() {
    let shop = Venue::bakery(&json!({}));
    shop.add_box(&json!({}));
    let mut stream = shop.stream();
    let snapshot = stream.expect("snapshot");
    assert_eq!((snapshot.id, &snapshot.data["boxes"]), (Some(2), &json!([shop.listed_box("evening")])));
    shop.booked(&boxes(2));
    let change = stream.expect("change");
    assert_eq!((change.id, &change.data["boxes"]), (Some(3), &json!([shop.listed_box("evening")])));
    shop.add_box(&json!({ "id": "morning" }));
    let added = stream.expect("change");
    assert_eq!((added.id, &added.data["boxes"]), (Some(4), &json!([shop.listed_box("morning")])));
    assert_eq!(shop.stream_after(3).expect("change"), added);
    shop.server.get("/v1/shops/none/stream").expect_problem(404, "SHOP_NOT_FOUND");
}
