//! What receivers are told, when, and how often.

use serde_json::{Value, json};

use crate::receiver::{Received, Receiver};
use crate::server::{Server, text, wait_for};

const INSECURE: &[&str] = &["--webhooks-allow-insecure"];
const ALL: [&str; 9] = [
    "booking.held",
    "booking.confirmed",
    "booking.cancelled",
    "booking.expired",
    "booking.moved",
    "booking.redeemed",
    "booking.unredeemed",
    "inventory.sold_out",
    "inventory.back_on_sale",
];

fn add_event(server: &Server, id: &str, cols: u32) {
    let event = json!({ "id": id, "name": id, "currency": "TWD",
        "sections": [{ "name": "A", "price": 100, "subsections": [{ "number": 1, "rows": 1, "cols": cols }] }] });
    server.post(None, "/v1/events", &event).expect(201);
}

fn add_webhook(server: &Server, url: &str, events: &[&str]) -> Value {
    server.post(None, "/v1/webhooks", &json!({ "url": url, "events": events })).expect(201)
}

fn hold(server: &Server, event: &str, seat: &str) -> Value {
    let seats = json!([{ "section": "A-1", "ids": [seat] }]);
    server
        .post(None, "/v1/bookings", &json!({ "customer": "ann", "event": event, "seats": seats }))
        .expect(201)
}

fn act(server: &Server, booking: &Value, action: &str, body: &Value) -> Value {
    server.post(None, &format!("/v1/bookings/{}/{action}", text(&booking["id"])), body).expect(200)
}

#[test]
fn a_receiver_is_told_of_every_step_in_order_and_signed() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let receiver = Receiver::start(&[]);
    add_event(&server, "old", 2);
    hold(&server, "old", "1-1");
    let webhook = add_webhook(&server, &receiver.url, &ALL);
    add_event(&server, "gala", 2);
    let first = hold(&server, "gala", "1-1");
    act(&server, &first, "move", &json!({ "seats": [{ "section": "A-1", "ids": ["1-2"] }] }));
    act(&server, &first, "confirm", &json!({ "payment_reference": "pay-1" }));
    act(&server, &first, "redeem", &json!({ "redeem_code": first["redeem_code"] }));
    let second = hold(&server, "gala", "1-1");
    act(&server, &second, "cancel", &json!({}));
    let third = json!({ "customer": "cy", "event": "gala", "confirm": true,
        "seats": [{ "section": "A-1", "ids": ["1-1"] }] });
    server.post(None, "/v1/bookings", &third).expect(201);

    let told = receiver.wait_for(10);
    let topics: Vec<String> = told.iter().map(Received::topic).collect();
    let expected = [
        "booking.held",
        "booking.moved",
        "booking.confirmed",
        "booking.redeemed",
        "booking.held",
        "inventory.sold_out",
        "booking.cancelled",
        "inventory.back_on_sale",
        "booking.confirmed",
        "inventory.sold_out",
    ];
    assert_eq!(topics, expected, "and nothing of what was before the webhook");
    let secret = text(&webhook["secret"]);
    assert!(told.iter().all(|message| message.is_signed_with(&secret)));
    let rows = [
        ("on_hold", 1, "1-1", Value::Null),
        ("on_hold", 2, "1-2", Value::Null),
        ("confirmed", 3, "1-2", json!("pay-1")),
        ("redeemed", 4, "1-2", json!("pay-1")),
    ];
    for (message, (status, version, seat, reference)) in told.iter().zip(rows) {
        let data = &message.json()["data"];
        assert_eq!(data["id"], first["id"]);
        assert_eq!((&data["status"], &data["version"]), (&json!(status), &json!(version)));
        assert_eq!((&data["seats"][0]["seat"], &data["payment_reference"]), (&json!(seat), &reference));
        assert_eq!((&data["event"], &data["hold_token"]), (&json!("gala"), &Value::Null));
    }
    for (number, after) in [(5, 4), (7, 6), (9, 8)] {
        let data = &told[number].json()["data"];
        assert_eq!(
            (&data["event"], &data["slot"], &data["box"]),
            (&json!("gala"), &Value::Null, &Value::Null)
        );
        assert_eq!(data["sequence"], told[after].json()["data"]["sequence"], "as of the same commit");
    }
    let deliveries = format!("/v1/webhooks/{}/deliveries", text(&webhook["id"]));
    wait_for("all to be recorded as delivered", || {
        let list = server.get(None, &deliveries).expect(200);
        let all = list["items"].as_array().unwrap();
        (all.len() == 10 && all.iter().all(|delivery| delivery["status"] == "delivered")).then_some(())
    });
}

#[test]
fn a_receiver_is_told_of_redemptions_in_part_and_of_undone_ones() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let receiver = Receiver::start(&[]);
    add_event(&server, "gala", 3);
    add_webhook(&server, &receiver.url, &["booking.redeemed", "booking.unredeemed"]);
    let wanted = json!({ "customer": "ann", "event": "gala", "confirm": true,
        "seats": [{ "section": "A-1", "ids": ["1-1", "1-2"] }] });
    let sold = server.post(None, "/v1/bookings", &wanted).expect(201);
    let (code, first) = (&sold["redeem_code"], json!([{ "section": "A-1", "seat": "1-1" }]));
    act(&server, &sold, "redeem", &json!({ "redeem_code": code, "seats": first }));
    act(&server, &sold, "redeem", &json!({ "redeem_code": code }));
    act(&server, &sold, "unredeem", &json!({ "seats": first, "reason": "by mistake" }));
    let told = receiver.wait_for(3);
    let rows = [
        ("booking.redeemed", "confirmed", [true, false], 1),
        ("booking.redeemed", "redeemed", [true, true], 2),
        ("booking.unredeemed", "confirmed", [false, true], 1),
    ];
    for (message, (topic, status, redeemed, quantity)) in told.iter().zip(rows) {
        let data = &message.json()["data"];
        assert_eq!((message.topic().as_str(), &data["status"]), (topic, &json!(status)));
        let seats = data["seats"].as_array().unwrap().iter();
        assert_eq!(
            seats.map(|seat| seat["redeemed_at"].is_string()).collect::<Vec<_>>(),
            redeemed,
            "{topic}"
        );
        assert_eq!(data["redeemed_quantity"], quantity);
    }
}

#[test]
fn only_what_was_asked_for_is_told_boxes_sell_out_and_holds_expire() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let shop = json!({ "id": "bakery", "name": "B", "timezone": "Asia/Taipei", "currency": "TWD" });
    server.post(None, "/v1/shops", &shop).expect(201);
    let boxed = json!({ "id": "evening", "name": "E", "quantity": 2, "price": 5 });
    server.post(None, "/v1/shops/bakery/boxes", &boxed).expect(201);
    let receiver = Receiver::start(&[]);
    add_webhook(&server, &receiver.url, &["inventory.sold_out", "booking.expired"]);
    for customer in ["ann", "bob"] {
        let booking = json!({ "customer": customer, "shop": "bakery", "box": "evening", "quantity": 1,
            "hold_ttl_seconds": 1 });
        server.post(None, "/v1/bookings", &booking).expect(201);
    }
    let told = receiver.wait_for(3);
    let sold_out = told[0].json();
    assert_eq!(sold_out["type"], "inventory.sold_out");
    assert_eq!((&sold_out["data"]["shop"], &sold_out["data"]["box"]), (&json!("bakery"), &json!("evening")));
    for message in &told[1..] {
        assert_eq!(
            (message.topic().as_str(), &message.json()["data"]["status"]),
            ("booking.expired", &json!("expired"))
        );
    }
}

/// Topic and part of each message.
fn sales(told: &[Received]) -> Vec<(String, String)> {
    let part = |data: &Value| {
        let named = ["slot", "box", "event"].into_iter().find(|name| data[name].is_string());
        text(&data[named.expect("a part")])
    };
    told.iter().map(|message| (message.topic(), part(&message.json()["data"]))).collect()
}

fn sale(topic: &str, part: &str) -> (String, String) {
    (format!("inventory.{topic}"), part.to_owned())
}

#[test]
fn event_slot_and_box_that_sell_out_twice_are_told_each_time() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    add_event(&server, "gala", 1);
    let schedule = json!({ "id": "museum", "name": "M", "timezone": "UTC", "currency": "TWD", "days": 3,
        "windows": [{ "start": "10:00", "end": "12:00", "capacity": 1 }] });
    server.post(None, "/v1/schedules", &schedule).expect(201);
    let shop = json!({ "id": "bakery", "name": "B", "timezone": "UTC", "currency": "TWD" });
    server.post(None, "/v1/shops", &shop).expect(201);
    let boxed = json!({ "id": "evening", "name": "E", "quantity": 1, "price": 5 });
    server.post(None, "/v1/shops/bakery/boxes", &boxed).expect(201);
    let slots = server.get(None, "/v1/schedules/museum/slots").expect(200);
    let slot = text(&slots["items"].as_array().unwrap().last().unwrap()["id"]);
    for (wanted, part) in [
        (json!({ "customer": "ann", "event": "gala", "best_available": { "quantity": 1 } }), "gala"),
        (json!({ "customer": "ann", "schedule": "museum", "slot": slot, "quantity": 1 }), &*slot),
        (json!({ "customer": "ann", "shop": "bakery", "box": "evening", "quantity": 1 }), "evening"),
    ] {
        let receiver = Receiver::start(&[]);
        let book = || server.post(None, "/v1/bookings", &wanted).expect(201);
        let before = book();
        // What sold out before the webhook was made is not told, and neither is a payment for it.
        add_webhook(&server, &receiver.url, &ALL[7..]);
        act(&server, &before, "confirm", &json!({}));
        act(&server, &before, "cancel", &json!({}));
        for _ in 0..2 {
            let booking = book();
            act(&server, &booking, "cancel", &json!({}));
        }
        let [sold_out, back] = [sale("sold_out", part), sale("back_on_sale", part)];
        let expected = [&back, &sold_out, &back, &sold_out, &back].map(Clone::clone);
        assert_eq!(sales(&receiver.wait_for(5)), expected);
    }
}

#[test]
fn each_sell_out_is_told_once_and_in_order_when_the_server_dies_between() {
    let data = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(&[]);
    let mut server = Server::start(data.path(), INSECURE);
    add_event(&server, "gala", 1);
    add_webhook(&server, &receiver.url, &ALL[7..]);
    let rounds = 6;
    for _ in 0..rounds {
        let booking = hold(&server, "gala", "1-1");
        server.kill();
        server = Server::start(data.path(), INSECURE);
        act(&server, &booking, "cancel", &json!({}));
        let booking = hold(&server, "gala", "1-1");
        act(&server, &booking, "cancel", &json!({}));
    }
    let told = wait_for("all to be told", || {
        let mut told: Vec<Received> = Vec::new();
        // A message that was under way when the server died may come again, under the same id.
        for message in receiver.received() {
            if !told.iter().any(|known| known.id == message.id) {
                told.push(message);
            }
        }
        (told.len() >= 4 * rounds).then_some(told)
    });
    let pair = [sale("sold_out", "gala"), sale("back_on_sale", "gala")];
    assert_eq!(sales(&told), vec![pair; 2 * rounds].concat());
    let sequences: Vec<u64> =
        told.iter().map(|message| message.json()["data"]["sequence"].as_u64().unwrap()).collect();
    assert!(sequences.is_sorted_by(|one, next| one < next), "{sequences:?}");
}

#[test]
fn a_booking_is_told_as_each_change_left_it_whenever_it_was_made() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let receiver = Receiver::start(&[]);
    add_event(&server, "gala", 9);
    let (ann, bob) = (hold(&server, "gala", "1-1"), hold(&server, "gala", "1-2"));
    let topics = ["booking.moved", "booking.confirmed", "booking.cancelled"];
    add_webhook(&server, &receiver.url, &topics);
    let to = |booking: &Value, seat: &str| json!({ "op": "move", "id": booking["id"], "seats": [{ "section": "A-1", "ids": [seat] }] });
    let commands = json!({ "commands": [
        { "op": "extend", "id": ann["id"], "seconds": 1_800 },
        to(&ann, "1-5"),
        { "op": "confirm", "id": ann["id"], "payment_reference": "pay-1" },
        to(&ann, "1-6"),
        to(&bob, "1-7"),
        { "op": "cancel", "id": ann["id"] },
    ] });
    let answer = server.post(None, "/v1/batch", &commands).expect(200);
    assert!(answer["results"].as_array().unwrap().iter().all(|result| result["status"] == 200), "{answer}");
    let told = receiver.wait_for(5);
    let expires_at = &answer["results"][0]["body"]["expires_at"];
    let rows = [
        (&ann, "booking.moved", "on_hold", 3, "1-5", Value::Null, expires_at),
        (&ann, "booking.confirmed", "confirmed", 4, "1-5", json!("pay-1"), &Value::Null),
        (&ann, "booking.moved", "confirmed", 5, "1-6", json!("pay-1"), &Value::Null),
        (&bob, "booking.moved", "on_hold", 2, "1-7", Value::Null, &bob["expires_at"]),
        (&ann, "booking.cancelled", "cancelled", 6, "1-6", json!("pay-1"), &Value::Null),
    ];
    for (message, (booking, topic, status, version, seat, reference, expires_at)) in told.iter().zip(rows) {
        let data = &message.json()["data"];
        assert_eq!((&data["id"], message.topic().as_str()), (&booking["id"], topic));
        assert_eq!((&data["status"], &data["version"]), (&json!(status), &json!(version)), "{data}");
        assert_eq!((&data["seats"][0]["seat"], &data["payment_reference"]), (&json!(seat), &reference));
        assert_eq!(&data["expires_at"], expires_at);
    }
}

#[test]
fn a_webhook_that_was_deleted_does_not_come_back_when_the_request_for_it_is_sent_again() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let receiver = Receiver::start(&[]);
    let body = json!({ "url": receiver.url, "events": ["booking.held"] });
    let first = server.post_once(None, "/v1/webhooks", &body, "hook");
    let path = format!("/v1/webhooks/{}", text(&first.expect(201)["id"]));
    server.delete(None, &path).expect(204);
    let check = |server: &Server| {
        let again = server.post_once(None, "/v1/webhooks", &body, "hook");
        assert_eq!(again.code(409), "SECRET_NO_LONGER_SHOWN");
        let other = json!({ "url": receiver.url, "events": ["booking.moved"] });
        assert_eq!(
            server.post_once(None, "/v1/webhooks", &other, "hook").code(422),
            "IDEMPOTENCY_KEY_REUSED"
        );
        assert_eq!(server.get(None, &path).code(404), "WEBHOOK_NOT_FOUND");
    };
    check(&server);
    server.kill();
    let server = Server::start(data.path(), INSECURE);
    check(&server);
    server.kill();
    let server = Server::start(data.path(), &[INSECURE, &["--idempotency-keep-seconds", "1"]].concat());
    wait_for("the key to be forgotten", || {
        let again = server.post_once(None, "/v1/webhooks", &body, "hook");
        (again.status == 201).then(|| again.expect(201))
    });
    server.get(None, &path).expect(200);
}

#[test]
fn webhook_secret_is_not_shown_again_after_the_first_message() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let receiver = Receiver::start(&[]);
    let body = json!({ "url": receiver.url, "events": ["booking.held"] });
    let first = server.post_once(None, "/v1/webhooks", &body, "hook");
    let deliveries = format!("/v1/webhooks/{}/deliveries", text(&first.expect(201)["id"]));
    let again = server.post_once(None, "/v1/webhooks", &body, "hook");
    assert_eq!(
        (again.expect(201)["secret"].clone(), again.is_replayed()),
        (first.json()["secret"].clone(), true)
    );
    add_event(&server, "gala", 2);
    hold(&server, "gala", "1-1");
    wait_for("a message", || {
        let list = server.get(None, &deliveries).expect(200);
        list["items"].as_array().filter(|items| !items.is_empty()).map(drop)
    });
    let refused = server.post_once(None, "/v1/webhooks", &body, "hook");
    assert_eq!(refused.code(409), "SECRET_NO_LONGER_SHOWN");
    assert!(!refused.text.contains("whsec_"), "{}", refused.text);
    server.kill();
    let server = Server::start(data.path(), INSECURE);
    assert_eq!(server.post_once(None, "/v1/webhooks", &body, "hook").code(409), "SECRET_NO_LONGER_SHOWN");
}

#[test]
fn what_fails_is_tried_again_and_can_be_asked_for_again() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let receiver = Receiver::start(&[500]);
    let webhook = add_webhook(&server, &receiver.url, &["booking.held"]);
    add_event(&server, "gala", 2);
    hold(&server, "gala", "1-1");
    let deliveries = format!("/v1/webhooks/{}/deliveries", text(&webhook["id"]));
    let failed = wait_for("a failed attempt", || {
        let list = server.get(None, &deliveries).expect(200);
        Some(list["items"][0].clone()).filter(|delivery| delivery["attempts"][0]["status"] == 500)
    });
    assert_eq!(failed["status"], "pending");
    // The second comes by itself, after five seconds.
    let told = receiver.wait_for(2);
    assert_eq!((&told[0].id, &told[0].text), (&told[1].id, &told[1].text));
    let id = wait_for("the delivery to be recorded", || {
        let list = server.get(None, &deliveries).expect(200);
        let delivery = &list["items"][0];
        (delivery["status"] == "delivered" && delivery["attempts"].as_array().unwrap().len() == 2)
            .then(|| text(&delivery["id"]))
    });
    assert_eq!(id, told[0].id);
    let replayed = server.post(None, &format!("{deliveries}/{id}/replay"), &json!({})).expect(200);
    assert_eq!(replayed["status"], "pending");
    assert_eq!(receiver.wait_for(3)[2].id, id);
    let unknown = server.post(None, &format!("{deliveries}/msg_nobody/replay"), &json!({}));
    assert_eq!(unknown.code(404), "DELIVERY_NOT_FOUND");
}

#[test]
fn a_message_is_sent_again_once_for_each_key_and_the_answer_is_the_same() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let receiver = Receiver::start(&[]);
    let webhook = add_webhook(&server, &receiver.url, &["booking.held"]);
    add_event(&server, "gala", 2);
    hold(&server, "gala", "1-1");
    let id = receiver.wait_for(1)[0].id.clone();
    let deliveries = format!("/v1/webhooks/{}/deliveries", text(&webhook["id"]));
    let delivered = |server: &Server, attempts: usize| {
        wait_for("the attempt to be recorded", || {
            let list = server.get(None, &deliveries).expect(200);
            let delivery = &list["items"][0];
            let done = delivery["attempts"].as_array().unwrap().len() == attempts;
            (delivery["status"] == "delivered" && done).then_some(())
        });
    };
    delivered(&server, 1);
    let replay = format!("{deliveries}/{id}/replay");
    let first = server.post_once(None, &replay, &json!({}), "again-1");
    assert_eq!(first.expect(200)["status"], "pending");
    receiver.wait_for(2);
    delivered(&server, 2);
    let same = server.post_once(None, &replay, &json!({}), "again-1");
    assert_eq!((&same.text, same.is_replayed(), first.is_replayed()), (&first.text, true, false));
    server.kill();
    let server = Server::start(data.path(), INSECURE);
    assert_eq!(server.post_once(None, &replay, &json!({}), "again-1").text, first.text);
    // Another key sends it again, and what came in between was not sent.
    let other = server.post_once(None, &replay, &json!({}), "again-2").expect(200);
    assert_eq!(other["attempts"].as_array().unwrap().len(), 2);
    receiver.wait_for(3);
    delivered(&server, 3);
    assert_eq!(receiver.received().len(), 3);
}

#[test]
fn a_receiver_that_is_gone_is_told_nothing_more() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let (gone, well) = (Receiver::start(&[410]), Receiver::start(&[]));
    let webhook = add_webhook(&server, &gone.url, &["booking.held"]);
    add_webhook(&server, &well.url, &["booking.held"]);
    assert_eq!(webhook["disabled_at"], Value::Null);
    add_event(&server, "gala", 3);
    hold(&server, "gala", "1-1");
    let path = format!("/v1/webhooks/{}", text(&webhook["id"]));
    wait_for("the webhook to be disabled", || {
        Some(server.get(None, &path).expect(200)).filter(|shown| shown["disabled_at"].is_string())
    });
    hold(&server, "gala", "1-3");
    well.wait_for(2);
    assert_eq!(gone.received().len(), 1);
    let list = server.get(None, &format!("{path}/deliveries")).expect(200);
    assert_eq!(list["items"][0]["status"], "failed");
    let replay = format!("{path}/deliveries/{}/replay", text(&list["items"][0]["id"]));
    assert_eq!(server.post(None, &replay, &json!({})).code(409), "WEBHOOK_DISABLED");
    server.delete(None, &path).expect(204);
    assert_eq!(server.get(None, &path).code(404), "WEBHOOK_NOT_FOUND");
}

#[test]
fn no_message_is_lost_when_the_server_dies() {
    let data = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(&[503; 1_000]);
    let server = Server::start(data.path(), INSECURE);
    add_webhook(&server, &receiver.url, &["booking.held"]);
    add_event(&server, "gala", 20);
    let mut booked: Vec<String> = Vec::new();
    // Some were tried before it dies, some were only just committed.
    for seat in (1..=10).map(|seat| format!("1-{seat}")) {
        booked.push(text(&hold(&server, "gala", &seat)["id"]));
    }
    receiver.wait_for(3);
    for seat in (11..=20).map(|seat| format!("1-{seat}")) {
        booked.push(text(&hold(&server, "gala", &seat)["id"]));
    }
    server.kill();
    receiver.be_well();
    let before = receiver.received().len();
    let server = Server::start(data.path(), INSECURE);
    let told = wait_for("all bookings to be told", || {
        let told: Vec<String> =
            receiver.received()[before..].iter().map(|message| text(&message.json()["data"]["id"])).collect();
        booked.iter().all(|id| told.contains(id)).then_some(told)
    });
    assert!(told.len() >= booked.len());
    server.stop();
}

#[test]
fn webhooks_lead_to_public_addresses_over_https_only() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    for url in [
        "http://example.com/hook",
        "https://127.0.0.1/hook",
        "https://localhost/hook",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://100.64.1.1/",
        "https://224.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[fe80::1]/",
        "ftp://example.com/",
        "hook",
    ] {
        let problem =
            server.post(None, "/v1/webhooks", &json!({ "url": url, "events": ["booking.held"] })).expect(400);
        assert_eq!(
            (&problem["code"], &problem["errors"][0]["pointer"]),
            (&json!("INVALID_REQUEST"), &json!("/url")),
            "{url}"
        );
    }
    for (events, pointer) in [(json!([]), "/events"), (json!(["booking.lost"]), "/events/0")] {
        let body = json!({ "url": "https://93.184.216.34/", "events": events });
        let problem = server.post(None, "/v1/webhooks", &body).expect(400);
        assert_eq!(problem["errors"][0]["pointer"], pointer);
    }
    let body = json!({ "url": "https://93.184.216.34/", "events": ["booking.held"] });
    server.post(None, "/v1/webhooks", &body).expect(201);
}

#[test]
fn webhook_is_sent_contacts_only_if_it_asks_and_the_audit_lists_it() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), INSECURE);
    let (plain, with_contacts) = (Receiver::start(&[]), Receiver::start(&[]));
    add_event(&server, "gala", 3);
    let events = ["booking.held", "booking.confirmed"];
    let webhook = add_webhook(&server, &plain.url, &events);
    assert_eq!(webhook["include_contact"], false);
    let asking = json!({ "url": with_contacts.url, "events": events, "include_contact": true });
    let asking = server.post(None, "/v1/webhooks", &asking).expect(201);
    assert_eq!(asking["include_contact"], true);
    let book = |customer: &str, metadata: Value| {
        let wanted = json!({ "customer": customer, "event": "gala", "best_available": { "quantity": 1 },
            "contact": { "email": "ann@example.com" }, "metadata": metadata });
        server.post(None, "/v1/bookings", &wanted).expect(201)
    };
    let first = book("\",\"contact\":null", json!({ "a": 1, "contact": null }));
    let expected = json!({ "email": "ann@example.com", "phone": null });
    let told = with_contacts.wait_for(1);
    let message = told[0].json();
    assert_eq!(message["data"]["contact"], expected);
    assert_eq!(message["data"]["metadata"], json!({ "a": 1, "contact": null }));
    assert!(told[0].is_signed_with(&text(&asking["secret"])));
    assert_eq!(plain.wait_for(1)[0].json()["data"]["contact"], Value::Null);

    // What is erased before a message is sent is not in it, and no delivery has kept a copy.
    let deliveries = format!("/v1/webhooks/{}/deliveries", text(&asking["id"]));
    let delivered = wait_for("the delivery to be recorded", || {
        let list = server.get(None, &deliveries).expect(200);
        list["items"].as_array().unwrap().iter().find(|one| one["status"] == "delivered").cloned()
    });
    let customer = "%22%2C%22contact%22%3Anull";
    assert_eq!(server.delete(None, &format!("/v1/customers/{customer}/contact")).status, 204);
    server.post(None, &format!("{deliveries}/{}/replay", text(&delivered["id"])), &json!({})).expect(200);
    assert_eq!(with_contacts.wait_for(2)[1].json()["data"]["contact"], Value::Null);

    act(&server, &first, "confirm", &json!({}));
    assert_eq!(server.delete(None, &format!("/v1/webhooks/{}", text(&asking["id"]))).status, 204);
    let audit = server.get(None, &format!("/v1/audit?booking={}", text(&first["id"]))).expect(200);
    let deeds: Vec<_> = audit["items"].as_array().unwrap().iter().map(|deed| text(&deed["action"])).collect();
    assert_eq!(
        deeds,
        ["booked", "contact_shared", "confirmed"],
        "the contact was erased before the last message"
    );
    let details = json!({ "webhook": asking["id"], "event": "booking.held" });
    assert_eq!(audit["items"][1]["details"], details);
    let second = book("ben", Value::Null);
    let audit = server.get(None, &format!("/v1/audit?booking={}", text(&second["id"]))).expect(200);
    assert_eq!(audit["items"].as_array().unwrap().len(), 1, "the webhook was removed before");
}
