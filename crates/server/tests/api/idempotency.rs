//! `Idempotency-Key`: one key, one effect, one answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Call, Reply};
use crate::server::Server;
use crate::venue::{
    Venue, best, booking_url, counts, event_body, places, schedule_body, seats, section, slot_at_ten, unique,
    with,
};

/// Sends the same twice; the second answer is the first again.
fn replayed(call: impl Fn() -> Call) -> Reply {
    let (first, again) = (call().send(), call().send());
    assert_eq!(first.status, again.status, "{} {}", first.text(), again.text());
    assert_eq!(first.text(), again.text());
    assert!(!first.is_replay() && again.is_replay(), "{}", first.text());
    first
}

#[test]
fn a_retry_gets_the_first_answer_byte_for_byte_and_changes_nothing() {
    let hall = Venue::hall(2, 10);
    let hold = replayed(|| hall.booking_call(&best(2)).key("book")).expect(201);
    assert!(hold["hold_token"].is_string(), "the token is in replays too");
    hall.act(&hold, "extend", &json!({ "seconds": 1_000 })).expect(200);
    let again = hall.booking_call(&best(2)).key("book").send();
    assert_eq!(again.expect(201), hold, "as of when it was decided, whatever came after");
    replayed(|| hall.act_call(&hold, "extend", &json!({ "seconds": 1_100 })).key("extend")).expect(200);
    replayed(|| hall.act_call(&hold, "move", &seats(&["2-1", "2-2"])).key("move")).expect(200);
    replayed(|| hall.act_call(&hold, "confirm", &json!({ "payment_reference": "p" })).key("confirm"))
        .expect(200);
    let code = json!({ "redeem_code": hold["redeem_code"] });
    replayed(|| hall.act_call(&hold, "redeem", &code).key("redeem")).expect(200);
    let other = hall.booked(&best(1));
    replayed(|| hall.act_call(&other, "cancel", &json!({})).key("cancel")).expect(200);
    let house = json!({ "section": "A-1", "seats": ["1-10"] });
    replayed(|| hall.server.call("POST", &hall.at("/block")).key("block").json(&house)).expect(200);
    replayed(|| hall.server.call("POST", &hall.at("/unblock")).key("unblock").json(&house)).expect(200);
    replayed(|| hall.server.call("PATCH", &hall.at("")).key("patch").json(&json!({ "name": "New" })))
        .expect(200);
    assert_eq!(counts(&hall.show()["stats"]), [18, 0, 2, 0]);
    assert_eq!(hall.booking(&hold)["version"], 6);
}

#[test]
fn refusals_by_the_rules_are_answers_too() {
    let hall = Venue::hall(1, 2);
    let first = hall.booked(&with(best(2), &json!({ "id": "0199aaaa-0000-7000-8000-0000c0de0001" })));
    let refused = [
        replayed(|| hall.booking_call(&best(1)).key("full")),
        replayed(|| hall.booking_call(&seats(&["1-1"])).key("taken")),
        replayed(|| hall.booking_call(&seats(&["9-1"])).key("no seat")),
        replayed(|| hall.act_call(&first, "redeem", &json!({ "redeem_code": "x" })).key("redeem")),
        replayed(|| hall.act_call(&first, "extend", &json!({ "seconds": 86_400 })).key("extend")),
    ];
    let told: Vec<String> = refused.iter().map(Reply::told).collect();
    let expected = [
        "409 NOT_ENOUGH_SEATS",
        "409 SEAT_UNAVAILABLE",
        "404 SEAT_NOT_FOUND",
        "409 NOT_REDEEMABLE",
        "409 HOLD_LIMIT_REACHED",
    ];
    assert_eq!(told, expected);
    // What was refused never happens later.
    hall.act(&first, "cancel", &json!({})).expect(200);
    let again = hall.booking_call(&best(1)).key("full").send();
    assert_eq!((again.is_replay(), again.text()), (true, refused[0].text()));
    assert_eq!(hall.seats(), [".."]);
    let expired = hall.expired(&best(1));
    assert_eq!(
        replayed(|| hall.act_call(&expired, "confirm", &json!({})).key("late")).told(),
        "410 HOLD_EXPIRED"
    );
}

#[test]
fn answers_are_the_same_after_the_server_was_killed() {
    let server = Server::start(&[]);
    let hall = event_body("gala", &section(1, 3));
    let museum = schedule_body("museum", &json!({}));
    let slot = slot_at_ten(1);
    let booking = |want: &Value| with(json!({ "customer": "ann", "event": "gala" }), want);
    let id = "0199aaaa-0000-7000-8000-0000c0de0002";
    let calls: Vec<(&str, String, Value)> = vec![
        ("POST", "/v1/events".into(), hall.clone()),
        (
            "POST",
            "/v1/events".into(),
            json!({ "name": "Nameless", "currency": "TWD", "areas": [{ "name": "all", "price": 0, "capacity": 1 }] }),
        ),
        ("POST", "/v1/schedules".into(), museum),
        ("POST", "/v1/bookings".into(), with(booking(&best(2)), &json!({ "id": id }))),
        ("POST", "/v1/bookings".into(), booking(&best(2))),
        (
            "POST",
            "/v1/bookings".into(),
            with(json!({ "customer": "ann", "schedule": "museum" }), &places(&slot, 2)),
        ),
        (
            "POST",
            "/v1/bookings".into(),
            with(json!({ "customer": "ann", "schedule": "museum" }), &places(&slot, 10)),
        ),
        (
            "POST",
            "/v1/bookings".into(),
            with(json!({ "customer": "ann", "schedule": "museum" }), &places(&slot, 9)),
        ),
        ("PATCH", format!("/v1/schedules/museum/slots/{slot}"), json!({ "total_capacity": 12 })),
        ("PATCH", "/v1/events/gala".into(), json!({ "rules": { "late_payment": "equivalent" } })),
        ("POST", format!("/v1/bookings/{id}/confirm"), json!({ "payment_reference": "p" })),
        ("POST", format!("/v1/bookings/{id}/confirm"), json!({ "payment_reference": "q" })),
    ];
    let send = |server: &Server, (index, (method, path, body)): (usize, &(&str, String, Value))| {
        server.call(method, path).key(&format!("key-{index}")).json(body).send()
    };
    let first: Vec<Reply> = calls.iter().enumerate().map(|call| send(&server, call)).collect();
    let statuses: Vec<u16> = first.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, [201, 201, 201, 201, 409, 201, 201, 409, 200, 200, 200, 409]);
    let server = server.kill().serve(&[]);
    for (index, call) in calls.iter().enumerate() {
        let again = send(&server, (index, call));
        assert_eq!((again.status, again.text()), (first[index].status, first[index].text()));
        assert!(again.is_replay(), "{}", again.text());
    }
    assert_eq!(counts(&server.get("/v1/events/gala").expect(200)["stats"]), [1, 0, 2, 0]);
}

#[test]
fn another_request_under_the_same_key_is_refused() {
    let hall = Venue::hall(1, 9);
    let hold = hall.booking_call(&best(1)).key("key").send().expect(201);
    let others = [
        hall.booking_call(&best(2)),
        hall.booking_call(&with(best(1), &json!({ "customer": "bob" }))),
        hall.booking_call(&with(best(1), &json!({ "metadata": {} }))),
        hall.act_call(&hold, "confirm", &json!({})),
        hall.server.call("PATCH", &hall.at("")).json(&json!({ "name": "New" })),
    ];
    for call in others {
        call.key("key").send().expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
    }
    let again = hall.booking_call(&best(1)).key("key").send();
    assert_eq!((again.is_replay(), again.expect(201)), (true, hold));
}

#[test]
fn what_counts_is_the_request_as_it_was_understood() {
    let hall = Venue::hall(1, 9);
    let send = |key: &str, body: &str| {
        hall.server.call("POST", "/v1/bookings").key(key).raw("application/json", body.as_bytes()).send()
    };
    let id = &hall.id;
    let first =
        send("key", &format!(r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1}}}}"#));
    for (key, same) in [
        (
            "\"key\"",
            format!(r#"{{ "event": "{id}", "customer": "ann", "best_available": {{ "quantity": 1 }} }}"#),
        ),
        (
            "key",
            format!(
                r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1,"adjacent":"preferred"}},"metadata":null}}"#
            ),
        ),
        (
            "key",
            format!(
                r#"{{"customer":"\u0061nn","event":"{id}","best_available":{{"quantity":1,"section":null}}}}"#
            ),
        ),
    ] {
        let again = send(key, &same);
        assert_eq!((again.text(), again.is_replay()), (first.text(), true), "{same}");
    }
}

#[test]
fn null_is_another_request_than_nothing_where_it_means_something_else() {
    let shop = Venue::bakery(&json!({}));
    shop.add_box(&json!({}));
    let patch = |key: &str, path: &str, body: &Value| {
        shop.server.call("PATCH", &shop.at(path)).key(key).json(body).send()
    };
    let rows = [
        (
            "",
            json!({ "rules": { "hold_ttl_seconds": 600 } }),
            json!({ "rules": { "hold_ttl_seconds": 600, "max_active_bookings_per_customer": null } }),
        ),
        (
            "",
            json!({ "rules": { "hold_ttl_seconds": 601 } }),
            json!({ "rules": { "hold_ttl_seconds": 601, "max_units_per_customer": null } }),
        ),
        ("", json!({ "name": "B", "sales": {} }), json!({ "name": "B", "sales": { "opens_at": null } })),
        ("", json!({ "name": "C", "sales": {} }), json!({ "name": "C", "sales": { "closes_at": null } })),
        ("/boxes/evening", json!({ "price": 1 }), json!({ "price": 1, "pickup": null })),
    ];
    for (number, (path, without, with_null)) in rows.iter().enumerate() {
        let (key, reversed) = (format!("without-{number}"), format!("with-{number}"));
        patch(&key, path, without).expect(200);
        patch(&key, path, with_null).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
        patch(&reversed, path, with_null).expect(200);
        patch(&reversed, path, without).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
        assert!(patch(&key, path, without).is_replay() && patch(&reversed, path, with_null).is_replay());
    }
}

#[test]
fn a_time_that_cannot_be_written_is_refused_under_a_key_too() {
    let server = Server::shared();
    for time in ["0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"] {
        let body = event_body(&unique("gala"), &with(section(1, 1), &json!({ "starts_at": time })));
        let reply = server.call("POST", "/v1/events").key(&unique("key")).json(&body).send();
        reply.expect_problem(400, "INVALID_REQUEST");
        assert_eq!(reply.pointer(), "/starts_at");
    }
}

#[test]
fn a_key_belongs_to_the_inventory_it_acts_on() {
    let (one, two) = (Venue::hall(1, 9), Venue::hall(1, 9));
    let first = one.booking_call(&best(1)).key("key").send().expect(201);
    let second = two.booking_call(&best(1)).key("key").send().expect(201);
    assert_ne!(first["id"], second["id"]);
}

#[test]
fn an_inventory_without_an_id_is_found_again_by_its_key() {
    let server = Server::shared();
    for (path, body) in [
        (
            "/v1/events",
            json!({ "name": "Gala", "currency": "TWD", "areas": [{ "name": "all", "price": 0, "capacity": 1 }] }),
        ),
        (
            "/v1/schedules",
            json!({ "name": "Museum", "timezone": "UTC", "currency": "TWD", "windows": [{ "start": "10:00", "end": "12:00", "capacity": 1 }] }),
        ),
        ("/v1/shops", json!({ "name": "Bakery", "timezone": "UTC", "currency": "TWD" })),
    ] {
        let key = unique("create");
        let made = replayed(|| server.call("POST", path).key(&key).json(&body)).expect(201);
        let other = with(body.clone(), &json!({ "name": "Other" }));
        server.call("POST", path).key(&key).json(&other).send().expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
        let new = server.call("POST", path).key(&unique("create")).json(&body).send().expect(201);
        assert_ne!(new["id"], made["id"]);
    }
}

#[test]
fn duplicates_in_flight_wait_and_get_the_same_answer() {
    let hall = Venue::hall(10, 10);
    let replies: Vec<Reply> = std::thread::scope(|scope| {
        let calls: Vec<_> =
            (0..16).map(|_| scope.spawn(|| hall.booking_call(&best(3)).key("one").send())).collect();
        calls.into_iter().map(|call| call.join().expect("no caller panics")).collect()
    });
    let answers: BTreeSet<&str> = replies.iter().map(Reply::text).collect();
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(replies.iter().filter(|reply| !reply.is_replay()).count(), 1);
    assert_eq!(hall.show()["stats"]["held"], 3);
}

#[test]
fn what_was_not_decided_by_the_rules_is_not_remembered() {
    let server = Arc::new(Server::start(&["--live-holds-per-caller", "1"]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 9)));
    let call = |want: &Value| hall.booking_call(want).key("key");
    let wrong: [(Call, u16); 7] = [
        (call(&best(0)), 400),
        (call(&best(99)), 400),
        (call(&seats(&["1-1", "1-1"])), 400),
        (hall.server.call("POST", "/v1/bookings").key("key").raw("application/json", b"{"), 400),
        (call(&best(1)).header("Authorization", "Bearer wrong"), 401),
        (call(&best(1)).header("Origin", "https://evil.example"), 403),
        (hall.server.call("POST", "/v1/booking").key("key").json(&json!({})), 404),
    ];
    for (call, status) in wrong {
        let reply = call.send();
        assert_eq!((reply.status, reply.is_replay()), (status, false), "{}", reply.text());
    }
    let hold = hall.booked(&best(1));
    let limited = call(&best(1)).send();
    limited.expect_problem(429, "RATE_LIMITED");
    assert!(
        limited
            .header("retry-after")
            .is_some_and(|seconds| seconds.parse::<u64>().is_ok_and(|seconds| seconds > 0))
    );
    hall.act(&hold, "cancel", &json!({})).expect(200);
    let made = call(&best(1)).send();
    assert_eq!((made.status, made.is_replay()), (201, false), "{}", made.text());
}

#[test]
fn a_key_has_1_to_255_printable_characters() {
    let hall = Venue::hall(1, 9);
    for key in ["x", &"y".repeat(255), "a b c", "~!@#$%^&*()"] {
        replayed(|| hall.booking_call(&best(1)).key(key)).expect(201);
    }
    for key in ["", "\"\"", &"y".repeat(256), "tab\there", "schlüssel"] {
        hall.booking_call(&best(1)).key(key).send().expect_problem(400, "INVALID_REQUEST");
    }
}

#[test]
fn an_inventory_can_demand_keys() {
    let hall = Venue::event(&with(section(1, 9), &json!({ "rules": { "require_idempotency_key": true } })));
    hall.book(&best(1)).expect_problem(400, "IDEMPOTENCY_KEY_REQUIRED");
    let hold = hall.booking_call(&best(1)).key("book").send().expect(201);
    for (verb, body) in [
        ("confirm", json!({})),
        ("extend", json!({ "seconds": 60 })),
        ("cancel", json!({})),
        ("move", best(1)),
    ] {
        hall.act(&hold, verb, &body).expect_problem(400, "IDEMPOTENCY_KEY_REQUIRED");
        hall.act_call(&hold, verb, &body).key(verb).send();
    }
    assert_eq!(hall.server.get(&booking_url(&hold)).expect(200)["status"], "cancelled");
}

#[test]
fn what_a_request_would_mean_anyway_may_be_said_or_left_out() {
    let hall = Venue::hall(1, 5);
    let book = |want: &Value| hall.booking_call(&with(best(1), want)).key("same").send();
    let hold = book(&json!({})).expect(201);
    assert_eq!(book(&json!({ "confirm": false })).expect(201), hold);
    assert_eq!(book(&json!({ "confirm": null })).expect(201), hold);
    book(&json!({ "confirm": true })).expect_problem(422, "IDEMPOTENCY_KEY_REUSED");
    assert_eq!(hall.seats(), ["h...."]);
}

#[test]
fn a_request_has_one_key() {
    let hall = Venue::hall(1, 5);
    let twice = hall.booking_call(&best(1)).key("one").key("two").send();
    twice.expect_problem(400, "INVALID_REQUEST");
    assert_eq!(hall.seats(), ["....."]);
}
