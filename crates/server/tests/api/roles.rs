//! Who may do what: the roles of keys, route by route.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::Reply;
use crate::server::Server;
use crate::venue::{Venue, best, booking_url, event_body, schedule_body, section, slot_at_ten, with};

const ROLES: [&str; 4] = ["admin", "operator", "seller", "public"];

/// A server with one key of each role, and something to sell.
struct Guarded {
    server: Arc<Server>,
    keys: [String; 4],
}

impl Guarded {
    fn new() -> Guarded {
        let server = Arc::new(Server::start(&[]));
        Venue::create(&server, "event", &event_body("gala", &section(10, 20)));
        Venue::create(&server, "schedule", &schedule_body("museum", &json!({})));
        let shop = json!({ "id": "bakery", "name": "Bakery", "timezone": "UTC", "currency": "TWD" });
        Venue::create(&server, "shop", &shop).add_box(&json!({}));
        let admin = key_text(&server.post("/v1/keys", &json!({ "role": "admin", "name": "admin" })));
        let guarded = Guarded { server, keys: std::array::from_fn(|_| admin.clone()) };
        let keys = ROLES.map(|role| if role == "admin" { admin.clone() } else { guarded.make_key(role) });
        Guarded { keys, ..guarded }
    }

    fn make_key(&self, role: &str) -> String {
        key_text(&self.send("admin", "POST", "/v1/keys", &json!({ "role": role, "name": role })))
    }

    fn key(&self, role: &str) -> &str {
        &self.keys[ROLES.iter().position(|of| *of == role).expect("a role")]
    }

    fn send(&self, role: &str, method: &str, path: &str, body: &Value) -> Reply {
        self.send_by(self.key(role), method, path, body)
    }

    fn send_by(&self, key: &str, method: &str, path: &str, body: &Value) -> Reply {
        let call = self.server.call(method, path).header("Authorization", &format!("Bearer {key}"));
        if method == "GET" { call.send() } else { call.json(body).send() }
    }

    fn book(&self, role: &str, more: &Value) -> Reply {
        let want = with(json!({ "customer": "ann", "event": "gala" }), &best(1));
        self.send(role, "POST", "/v1/bookings", &with(want, more))
    }
}

fn key_text(made: &Reply) -> String {
    made.expect(201)["key"].as_str().expect("a key").to_owned()
}

#[test]
fn every_route_is_open_to_its_roles_and_to_no_others() {
    let guarded = Guarded::new();
    let slot = format!("/v1/schedules/museum/slots/{}", slot_at_ten(1));
    let seats = json!({ "section": "A-1", "seats": ["10-20"] });
    let ticket = json!({ "tickets": [{ "id": "a", "status": "active" }] });
    let new_slot = json!({ "date": "2020-01-01", "start": "10:00", "end": "11:00", "capacity": 1 });
    let new_box = json!({ "id": "evening", "name": "Evening", "quantity": 1, "price": 1 });
    // Which of admin, operator, seller and public are let in, whatever comes of it.
    let rows: Vec<(&str, &str, Value, [bool; 4])> = vec![
        ("GET", "/v1/events", json!({}), [true, true, true, true]),
        ("GET", "/v1/events/gala", json!({}), [true, true, true, true]),
        ("GET", "/v1/events/gala/seats", json!({}), [true, true, true, true]),
        ("POST", "/v1/events", event_body("gala", &section(1, 1)), [true, false, false, false]),
        ("PATCH", "/v1/events/gala", json!({ "name": "Gala" }), [true, false, false, false]),
        ("POST", "/v1/events/none/cancel", json!({ "reason": "storm" }), [true, false, false, false]),
        ("DELETE", "/v1/events/none", json!({}), [true, false, false, false]),
        ("POST", "/v1/events/gala/block", seats.clone(), [true, true, false, false]),
        ("POST", "/v1/events/gala/unblock", seats, [true, true, false, false]),
        ("GET", "/v1/schedules", json!({}), [true, true, true, true]),
        ("GET", "/v1/schedules/museum", json!({}), [true, true, true, true]),
        ("POST", "/v1/schedules", schedule_body("museum", &json!({})), [true, false, false, false]),
        ("PATCH", "/v1/schedules/museum", json!({ "name": "Museum" }), [true, false, false, false]),
        ("GET", "/v1/schedules/museum/slots", json!({}), [true, true, true, true]),
        ("POST", "/v1/schedules/museum/slots", new_slot, [true, true, false, false]),
        ("PATCH", &slot, json!({ "status": "ACTIVE" }), [true, true, false, false]),
        ("DELETE", "/v1/schedules/museum/slots/2020-01-01T10:00", json!({}), [true, true, false, false]),
        ("PUT", "/v1/schedules/museum/tickets", ticket, [true, true, false, false]),
        ("GET", "/v1/schedules/museum/tickets", json!({}), [true, true, false, false]),
        ("GET", "/v1/schedules/museum/tickets/a", json!({}), [true, true, true, false]),
        ("GET", "/v1/schedules/museum/analytics", json!({}), [true, true, false, false]),
        ("GET", "/v1/shops", json!({}), [true, true, true, true]),
        ("GET", "/v1/shops/bakery", json!({}), [true, true, true, true]),
        (
            "POST",
            "/v1/shops",
            json!({ "id": "bakery", "name": "B", "timezone": "UTC", "currency": "TWD" }),
            [true, false, false, false],
        ),
        ("PATCH", "/v1/shops/bakery", json!({ "name": "Bakery" }), [true, false, false, false]),
        ("GET", "/v1/shops/bakery/boxes", json!({}), [true, true, true, true]),
        ("POST", "/v1/shops/bakery/boxes", new_box, [true, true, false, false]),
        ("PATCH", "/v1/shops/bakery/boxes/evening", json!({ "price": 2 }), [true, true, false, false]),
        ("GET", "/v1/bookings", json!({}), [true, true, true, false]),
        ("DELETE", "/v1/customers/nobody/contact", json!({}), [true, true, false, false]),
        ("GET", "/v1/keys", json!({}), [true, false, false, false]),
        ("POST", "/v1/keys", json!({ "role": "public", "name": "more" }), [true, false, false, false]),
        ("DELETE", "/v1/keys/none", json!({}), [true, false, false, false]),
        ("GET", "/v1/webhooks", json!({}), [true, false, false, false]),
        ("GET", "/v1/webhooks/none", json!({}), [true, false, false, false]),
        ("GET", "/v1/webhooks/none/deliveries", json!({}), [true, false, false, false]),
        ("DELETE", "/v1/webhooks/none", json!({}), [true, false, false, false]),
        ("GET", "/v1/journal?inventory=event:gala", json!({}), [true, false, false, false]),
        (
            "GET",
            "/v1/audit?booking=0199aaaa-bbbb-7ccc-8ddd-eeeeffff9999",
            json!({}),
            [true, true, false, false],
        ),
        (
            "POST",
            "/v1/bookings/0199aaaa-bbbb-7ccc-8ddd-eeeeffff9999/unredeem",
            json!({ "reason": "by mistake" }),
            [true, true, false, false],
        ),
        ("GET", "/v1/attempts", json!({}), [true, true, false, false]),
        ("GET", "/v1/export", json!({}), [true, true, false, false]),
        ("GET", "/v1/events/gala/seats/A-1/1-1", json!({}), [true, true, true, true]),
        ("GET", "/metrics", json!({}), [true, true, false, false]),
    ];
    for (method, path, body, allowed) in rows {
        for (role, allowed) in ROLES.into_iter().zip(allowed) {
            let reply = guarded.send(role, method, path, &body);
            assert_ne!(reply.status, 401, "{role} {method} {path}");
            assert_eq!(reply.status != 403, allowed, "{role} {method} {path}: {}", reply.text());
            if !allowed {
                reply.expect_problem(403, "FORBIDDEN");
            }
        }
        let nobody = guarded.server.call(method, path).json(&body).send();
        nobody.expect_problem(401, "UNAUTHENTICATED");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(guarded.server.get(path).status, 200, "{path} needs no key");
    }
}

#[test]
fn sellers_see_and_act_on_their_own_bookings_and_others_are_not_there() {
    let guarded = Guarded::new();
    let other = guarded.make_key("seller");
    let own = guarded.book("seller", &json!({})).expect(201);
    let url = booking_url(&own);
    let acts = [
        ("GET", url.clone(), json!({})),
        ("GET", format!("{url}/stream"), json!({})),
        ("POST", format!("{url}/extend"), json!({ "seconds": 60 })),
        ("POST", format!("{url}/move"), best(1)),
        ("POST", format!("{url}/confirm"), json!({})),
        ("POST", format!("{url}/redeem"), json!({ "redeem_code": own["redeem_code"] })),
        ("POST", format!("{url}/cancel"), json!({})),
    ];
    for (method, path, body) in &acts {
        guarded.send_by(&other, method, path, body).expect_problem(404, "BOOKING_NOT_FOUND");
    }
    // Nor by way of a batch that pretends to have made it.
    let pretended = json!({ "commands": [
        with(with(json!({ "op": "book", "customer": "eve", "event": "gala" }), &best(1)), &json!({ "id": own["id"] })),
        { "op": "cancel", "id": own["id"] },
    ] });
    let answer = guarded.send_by(&other, "POST", "/v1/batch", &pretended).expect(200);
    let codes: Vec<&Value> =
        answer["results"].as_array().expect("results").iter().map(|result| &result["body"]["code"]).collect();
    assert_eq!(codes, [&json!("BOOKING_ID_TAKEN"), &json!("BOOKING_NOT_FOUND")]);
    assert_eq!(guarded.send_by(&other, "GET", "/v1/bookings", &json!({})).expect(200)["items"], json!([]));
    let listed = guarded.send("seller", "GET", "/v1/bookings", &json!({})).expect(200);
    assert_eq!(listed["items"][0]["id"], own["id"]);
    assert_eq!(guarded.send("operator", "GET", &url, &json!({})).expect(200)["version"], 1);
    guarded.send("seller", "POST", &format!("{url}/confirm"), &json!({})).expect(200);
}

#[test]
fn a_browser_holds_and_acts_with_the_token_of_its_booking() {
    let guarded = Guarded::new();
    guarded.book("public", &json!({ "confirm": true })).expect_problem(403, "FORBIDDEN");
    let hold = guarded.book("public", &json!({})).expect(201);
    let other = guarded.book("public", &json!({ "customer": "bob" })).expect(201);
    let url = booking_url(&hold);
    let with_token = |method: &str, path: &str, token: &Value, body: &Value| {
        let call = guarded.server.call(method, path);
        let call = call.header("Authorization", &format!("Bearer {}", guarded.key("public")));
        call.header("Hold-Token", token.as_str().expect("a token")).json(body).send()
    };
    guarded.send("public", "GET", &url, &json!({})).expect_problem(403, "HOLD_TOKEN_REQUIRED");
    with_token("GET", &url, &other["hold_token"], &json!({})).expect_problem(403, "FORBIDDEN");
    let token = &hold["hold_token"];
    with_token("GET", &url, token, &json!({})).expect(200);
    with_token("POST", &format!("{url}/extend"), token, &json!({ "seconds": 1_000 })).expect(200);
    with_token("POST", &format!("{url}/move"), token, &best(1)).expect(200);
    // There is something to pay.
    with_token("POST", &format!("{url}/confirm"), token, &json!({})).expect_problem(403, "FORBIDDEN");
    let code = json!({ "redeem_code": hold["redeem_code"] });
    with_token("POST", &format!("{url}/redeem"), token, &code).expect_problem(403, "FORBIDDEN");
    with_token("POST", &format!("{url}/cancel"), token, &json!({})).expect(200);
    guarded
        .send("admin", "PATCH", "/v1/events/gala", &json!({ "sections": [{ "name": "A", "price": 0 }] }))
        .expect(200);
    let free = guarded.book("public", &json!({})).expect(201);
    with_token("POST", &format!("{}/confirm", booking_url(&free)), &free["hold_token"], &json!({}))
        .expect(200);
}

#[test]
fn whoever_may_not_is_told_so_before_the_body_is_looked_at() {
    let guarded = Guarded::new();
    for path in ["/v1/events", "/v1/keys", "/v1/webhooks", "/v1/events/gala/block", "/v1/shops/bakery/boxes"]
    {
        guarded.send("public", "POST", path, &json!({ "nonsense": 1 })).expect_problem(403, "FORBIDDEN");
    }
}

#[test]
fn a_public_key_acts_on_nobody_elses_booking_through_a_batch() {
    let guarded = Guarded::new();
    let id = "0199bbbb-0000-7abc-8000-0000c0de0077";
    guarded.book("seller", &json!({ "id": id, "confirm": true })).expect(201);
    let book = json!({ "op": "book", "id": id, "customer": "eve", "event": "gala", "best_available": { "quantity": 1 } });
    let commands = json!({ "commands": [book, { "op": "cancel", "id": id }] });
    let answer = guarded.send("public", "POST", "/v1/batch", &commands).expect(200);
    assert_eq!(answer["results"][0]["body"]["code"], "BOOKING_ID_TAKEN");
    assert_eq!(answer["results"][1]["body"]["code"], "HOLD_TOKEN_REQUIRED");
}

#[test]
fn a_key_of_browsers_and_one_of_sellers_do_not_meet() {
    let guarded = Guarded::new();
    let book = |role: &str, key: &str| {
        let want = with(json!({ "customer": "ann", "event": "gala" }), &best(1));
        let call = guarded.server.call("POST", "/v1/bookings").key(key);
        call.header("Authorization", &format!("Bearer {}", guarded.key(role))).json(&want).send()
    };
    let by_browser = book("public", "order-1").expect(201);
    let by_seller = book("seller", "order-1").expect(201);
    assert_ne!(by_browser["id"], by_seller["id"]);
    let by_admin = book("admin", "order-2").expect(201);
    let by_operator = book("operator", "order-2");
    assert!(by_operator.is_replay(), "both see everything of the tenant");
    assert_eq!(by_operator.expect(201)["id"], by_admin["id"]);
}

#[test]
fn the_first_key_may_be_anybodys_and_the_door_says_how_to_knock() {
    let server = Server::start(&[]);
    let seller = server.post("/v1/keys", &json!({ "role": "seller" })).expect(201);
    let bearer = format!("Bearer {}", seller["key"].as_str().expect("a key"));
    let own = server.call("GET", "/v1/events").header("Authorization", &bearer).send();
    own.expect(200);
    let closed = server.get("/v1/events");
    closed.expect_problem(401, "UNAUTHENTICATED");
    assert_eq!(closed.header("www-authenticate"), Some("Bearer"));
}

#[test]
fn a_public_key_holds_no_longer_than_the_inventory_does() {
    let guarded = Guarded::new();
    let longer = json!({ "hold_ttl_seconds": 901 });
    for role in ["admin", "operator", "seller"] {
        guarded.book(role, &longer).expect(201);
    }
    assert_eq!(guarded.book("public", &longer).pointer(), "/hold_ttl_seconds");
    guarded.book("public", &json!({ "hold_ttl_seconds": 900 })).expect(201);
    // The same by the framework, and in a batch.
    let want = with(json!({ "customer": "ann", "event": "gala", "hold_ttl_seconds": 901 }), &best(1));
    let call = guarded.server.call("POST", "/v1/bookings").header("TE", "trailers");
    let call = call.header("Authorization", &format!("Bearer {}", guarded.key("public")));
    assert_eq!(call.json(&want).send().pointer(), "/hold_ttl_seconds");
    let commands = json!({ "commands": [with(json!({ "op": "book" }), &want)] });
    let answer = guarded.send("public", "POST", "/v1/batch", &commands).expect(200);
    assert_eq!(answer["results"][0]["body"]["errors"][0]["pointer"], "/hold_ttl_seconds");
    // The rule is that of the moment of the booking.
    let rules = json!({ "rules": { "hold_ttl_seconds": 60 } });
    guarded.send("admin", "PATCH", "/v1/events/gala", &rules).expect(200);
    assert_eq!(guarded.book("public", &json!({ "hold_ttl_seconds": 61 })).pointer(), "/hold_ttl_seconds");
}

#[test]
fn only_operators_and_admins_force_a_redemption() {
    let guarded = Guarded::new();
    for (role, status) in [("admin", 200), ("operator", 200), ("seller", 403)] {
        let sold = guarded.book(role, &json!({ "confirm": true })).expect(201);
        let redemption = json!({ "redeem_code": sold["redeem_code"], "force": true });
        let url = format!("{}/redeem", booking_url(&sold));
        assert_eq!(guarded.send(role, "POST", &url, &redemption).status, status, "{role}");
        let batch = json!({ "commands": [with(json!({ "op": "redeem", "id": sold["id"] }), &redemption)] });
        let answer = guarded.send(role, "POST", "/v1/batch", &batch).expect(200);
        let code = &answer["results"][0]["body"]["code"];
        assert_eq!(code, if status == 200 { "ALREADY_REDEEMED" } else { "FORBIDDEN" }, "{role}");
    }
}

#[test]
fn contacts_are_shown_to_admins_and_operators_only() {
    let guarded = Guarded::new();
    let contact = json!({ "contact": { "email": "ann@example.com" } });
    let shown = json!({ "email": "ann@example.com", "phone": null });
    for (role, expected) in ROLES.into_iter().zip([shown.clone(), shown.clone(), Value::Null, Value::Null]) {
        let made = guarded.book(role, &contact).expect(201);
        assert_eq!(made["contact"], expected, "{role}");
        let token = made["hold_token"].as_str().expect("a token");
        let call = guarded.server.call("GET", &booking_url(&made)).header("Hold-Token", token);
        let read = call.header("Authorization", &format!("Bearer {}", guarded.key(role))).send().expect(200);
        assert_eq!(read["contact"], expected, "{role}");
    }
    let exported =
        |role: &str| guarded.send(role, "GET", "/v1/export?what=bookings", &json!({})).text().to_owned();
    let lines = |table: &str| table.lines().filter(|line| line.contains(",ann@example.com,")).count();
    assert_eq!((lines(&exported("admin")), lines(&exported("operator"))), (4, 0));
    let bookings = exported("operator").lines().filter(|line| line.contains(",event,gala,")).count();
    assert_eq!(bookings, 4, "without contacts");
}

#[test]
fn booking_of_a_seat_is_named_to_callers_who_may_see_it() {
    let guarded = Guarded::new();
    let made = guarded.book("seller", &json!({})).expect(201);
    let seat = &made["seats"][0]["seat"].as_str().expect("a seat");
    let path = format!("/v1/events/gala/seats/A-1/{seat}");
    let other = guarded.make_key("seller");
    let keys = ["admin", "operator", "seller", "public"].map(|role| guarded.key(role).to_owned());
    let rows = keys.iter().zip([&made["id"], &made["id"], &made["id"], &Value::Null]);
    for (key, expected) in rows.chain([(&other, &Value::Null)]) {
        let shown = guarded.send_by(key, "GET", &path, &json!({})).expect(200);
        assert_eq!(&shown["booking"], expected);
        assert_eq!((&shown["state"], &shown["hold_expires_at"]), (&json!("held"), &made["expires_at"]));
    }
}

#[test]
fn booking_of_a_ticket_is_acted_on_by_callers_who_may_act_on_it() {
    let guarded = Guarded::new();
    let want = json!({ "customer": "ann", "schedule": "museum", "slot": slot_at_ten(1), "tickets": ["t1"] });
    let booking = guarded.send("operator", "POST", "/v1/bookings", &want).expect(201);
    let ticket = "/v1/schedules/museum/tickets/t1";
    assert_eq!(guarded.send("operator", "GET", ticket, &json!({})).expect(200)["booking"], booking["id"]);
    let for_seller = guarded.send("seller", "GET", ticket, &json!({})).expect(200);
    assert_eq!((&for_seller["status"], &for_seller["booking"]), (&json!("reserved"), &Value::Null));
    assert_eq!(for_seller["slot"], Value::Null);
    for (role, named) in [("operator", &booking["id"]), ("seller", &Value::Null), ("public", &Value::Null)] {
        let refused = guarded.send(role, "POST", "/v1/bookings", &want);
        refused.expect_problem(409, "TICKET_ALREADY_RESERVED");
        assert_eq!(refused.json()["booking"], *named, "{role}");
    }

    let (cancel, nothing) = (format!("{ticket}/cancel"), json!({}));
    guarded.send("seller", "POST", &cancel, &nothing).expect_problem(404, "TICKET_NOT_FOUND");
    guarded.send("public", "POST", &cancel, &nothing).expect_problem(403, "HOLD_TOKEN_REQUIRED");
    let with_token = |token: &str| {
        let call = guarded.server.call("POST", &cancel).header("Hold-Token", token);
        let key = format!("Bearer {}", guarded.key("public"));
        call.header("Authorization", &key).json(&nothing).send()
    };
    with_token("ht_wrong").expect_problem(403, "FORBIDDEN");
    let token = booking["hold_token"].as_str().expect("a token");
    assert_eq!(with_token(token).expect(200)["status"], "cancelled");
    let of_seller = guarded.send("seller", "POST", "/v1/bookings", &want).expect(201);
    assert_eq!(guarded.send("seller", "POST", &cancel, &nothing).expect(200)["id"], of_seller["id"]);
}
