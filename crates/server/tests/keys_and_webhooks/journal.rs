//! What the journal and the audit say.

use serde_json::{Value, json};

use crate::server::{Server, text, wait_for};

#[test]
fn the_journal_has_every_change_in_order_and_in_pages() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let admin = server.first_key();
    let key = Some(admin.as_str());
    let event = json!({ "id": "gala", "name": "Gala", "currency": "TWD",
        "sections": [{ "name": "A", "price": 100, "subsections": [{ "number": 1, "rows": 2, "cols": 5 }] }] });
    server.post(key, "/v1/events", &event).expect(201);
    server.post(key, "/v1/events/gala/block", &json!({ "section": "A-1", "seats": ["2-5"] })).expect(200);
    let booking = json!({ "customer": "ann", "contact": { "email": "ann@example.com" }, "event": "gala",
        "seats": [{ "section": "A-1", "ids": ["1-1", "1-2"] }] });
    let booking = server.post(key, "/v1/bookings", &booking).expect(201);
    let path = format!("/v1/bookings/{}", text(&booking["id"]));
    server.post(key, &format!("{path}/confirm"), &json!({ "payment_reference": "pay-1" })).expect(200);
    server.post(key, &format!("{path}/cancel"), &json!({ "reason": "rain" })).expect(200);
    let other = json!({ "customer": "bob", "event": "gala", "best_available": { "quantity": 1 } });
    server.post(key, "/v1/bookings", &other).expect(201);
    server.post(key, "/v1/events/gala/cancel", &json!({ "reason": "storm" })).expect(200);

    let journal = server.get(key, "/v1/journal?inventory=event:gala");
    let page = journal.expect(200);
    assert!(!journal.text.contains("example.com"), "contacts are never shown");
    let items = page["items"].as_array().unwrap();
    let types: Vec<&str> = items.iter().map(|item| item["type"].as_str().unwrap()).collect();
    let bookings = ["booked", "confirmed", "cancelled", "booked", "event_cancelled", "cancelled"];
    assert_eq!(types, [&["event_created", "seats_blocked"], &bookings[..]].concat());
    let keys = server.get(key, "/v1/keys").expect(200);
    assert!(items.iter().all(|item| item["by"] == keys["items"][0]["id"]));
    assert_eq!(items[1]["data"], json!({ "seats": [{ "section": "A-1", "seat": "2-5" }] }));
    assert_eq!(
        items[2]["data"]["units"]["seats"][1],
        json!({ "section": "A-1", "seat": "1-2", "price": 100 })
    );
    assert_eq!(items[2]["data"]["booking"], booking["id"]);
    assert_eq!(items[3]["data"]["payment_reference"], "pay-1");
    assert_eq!(items[4]["data"], json!({ "booking": booking["id"], "reason": "rain" }));
    assert_eq!(items[6]["data"], json!({ "reason": "storm" }));
    assert_eq!((&page["next_cursor"], &page["next_after"]), (&Value::Null, &items[7]["sequence"]));

    let mut read = Vec::new();
    let mut after = 0;
    loop {
        // Enough for any of these commits: `next_after` leads past what is whole.
        let path = format!("/v1/journal?inventory=event:gala&limit=2&after={after}");
        let page = server.get(key, &path).expect(200);
        after = page["next_after"].as_u64().unwrap();
        let whole =
            page["items"].as_array().unwrap().iter().filter(|item| item["sequence"].as_u64() <= Some(after));
        read.extend(whole.cloned());
        if page["next_cursor"].is_null() {
            break;
        }
    }
    assert_eq!(&read, items);
    // One command makes several changes at once: a page has no more than was asked for all the same.
    for limit in [1, 2, 4] {
        let (mut read, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/journal?inventory=event:gala&limit={limit}{cursor}");
            let page = server.get(key, &path).expect(200);
            let some = page["items"].as_array().unwrap();
            assert!((1..=limit).contains(&some.len()), "{page}");
            read.extend(some.clone());
            if page["next_cursor"].is_null() {
                assert_eq!(page["next_after"], items[7]["sequence"]);
                break;
            }
            assert_eq!(some.len(), limit);
            cursor = format!("&cursor={}", text(&page["next_cursor"]));
        }
        assert_eq!(&read, items, "{limit} at a time");
    }
    for (inventory, status, code) in [
        ("event:nobody", 404, "EVENT_NOT_FOUND"),
        ("schedule:gala", 404, "SCHEDULE_NOT_FOUND"),
        ("shop:gala", 404, "SHOP_NOT_FOUND"),
        ("gala", 400, "INVALID_REQUEST"),
    ] {
        assert_eq!(server.get(key, &format!("/v1/journal?inventory={inventory}")).code(status), code);
    }
    assert_eq!(server.get(key, "/v1/journal").code(400), "INVALID_REQUEST");
}

#[test]
fn the_audit_says_who_did_what_to_a_booking() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let admin = server.first_key();
    let make = |role: &str, name: &str| {
        server.post(Some(&admin), "/v1/keys", &json!({ "role": role, "name": name })).expect(201)
    };
    let (seller, operator) = (make("seller", "till"), make("operator", "door"));
    let (seller_key, operator_key) = (text(&seller["key"]), text(&operator["key"]));
    let event = json!({ "id": "gala", "name": "Gala", "currency": "TWD",
        "areas": [{ "name": "floor", "price": 10, "capacity": 5 }] });
    server.post(Some(&admin), "/v1/events", &event).expect(201);
    let wanted = json!({ "customer": "ann", "event": "gala", "areas": [{ "name": "floor", "quantity": 1 }] });
    let booking = server.post(Some(&seller_key), "/v1/bookings", &wanted).expect(201);
    server.post(Some(&seller_key), "/v1/bookings", &wanted).expect(201);
    let path = format!("/v1/bookings/{}", text(&booking["id"]));
    server.post(Some(&seller_key), &format!("{path}/confirm"), &json!({})).expect(200);
    let code = json!({ "redeem_code": booking["redeem_code"] });
    server.post(Some(&operator_key), &format!("{path}/redeem"), &code).expect(200);
    let audit =
        server.get(Some(&operator_key), &format!("/v1/audit?booking={}", text(&booking["id"]))).expect(200);
    let items = audit["items"].as_array().unwrap();
    let till = json!({ "id": seller["id"], "name": "till", "role": "seller" });
    let door = json!({ "id": operator["id"], "name": "door", "role": "operator" });
    let deeds: Vec<(&Value, &Value)> = items.iter().map(|item| (&item["action"], &item["by"])).collect();
    assert_eq!(deeds, [(&json!("booked"), &till), (&json!("confirmed"), &till), (&json!("redeemed"), &door)]);
    assert!(items.iter().all(|item| item["details"]["booking"] == booking["id"] && item["at"].is_string()));
    assert_eq!(audit["next_cursor"], Value::Null);
    assert_eq!(server.get(Some(&operator_key), "/v1/audit").code(400), "INVALID_REQUEST");
    let page = |more: &str| {
        let path = format!("/v1/audit?booking={}&limit=2{more}", text(&booking["id"]));
        server.get(Some(&operator_key), &path).expect(200)
    };
    let first = page("");
    assert_eq!(first["items"].as_array().unwrap()[..], items[..2]);
    let rest = page(&format!("&cursor={}", text(&first["next_cursor"])));
    assert_eq!((&rest["items"], &rest["next_cursor"]), (&json!([items[2]]), &Value::Null));
}

#[test]
fn a_journal_that_was_cut_says_where_it_begins_and_the_audit_tells_what_is_left() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--journal-retention", "2"]);
    let event = json!({ "id": "gala", "name": "Gala", "currency": "TWD",
        "areas": [{ "name": "all", "price": 1, "capacity": 100_000 }] });
    server.post(None, "/v1/events", &event).expect(201);
    let want = json!({ "op": "book", "customer": "ann", "event": "gala", "areas": [{ "name": "all", "quantity": 1 }],
        "metadata": { "text": "x".repeat(4_000) } });
    let commands = vec![want; 2_000];
    // Until there is enough of it for a snapshot, and a quiet second to make one.
    let mut bookings = Vec::new();
    for _ in 0..5 {
        let answer = server.post(None, "/v1/batch", &json!({ "commands": commands })).expect(200);
        bookings.push(text(&answer["results"][0]["body"]["id"]));
    }
    let from_the_beginning = "/v1/journal?inventory=event:gala";
    let cut = wait_for("the journal to be cut", || {
        Some(server.get(None, from_the_beginning)).filter(|answer| answer.status == 404)
    });
    assert_eq!(cut.code(404), "JOURNAL_CUT");
    let first = cut.json()["first_sequence"].as_u64().expect("where it begins");
    assert!(first > 1);
    let from_there = format!("{from_the_beginning}&limit=1&after={}", first - 1);
    assert_eq!(server.get(None, &from_there).expect(200)["items"][0]["sequence"], first);

    let newest = bookings.last().unwrap();
    server.post(None, &format!("/v1/bookings/{newest}/cancel"), &json!({ "reason": "rain" })).expect(200);
    let actions = |booking: &str| -> Vec<String> {
        let page = server.get(None, &format!("/v1/audit?booking={booking}")).expect(200);
        page["items"].as_array().unwrap().iter().map(|deed| text(&deed["action"])).collect()
    };
    assert_eq!(actions(newest).last().map(String::as_str), Some("cancelled"));
    assert_eq!(actions(&bookings[0]), [""; 0], "what was done to it is no longer known");
}
