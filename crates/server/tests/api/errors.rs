//! Every error code of the API, each provoked once: none is missing, and none is made up.

use std::collections::BTreeSet;
use std::io::{BufReader, Write};

use boxoffice_core::refusal::RefusalCode;
use serde_json::json;
use strum::IntoEnumIterator;

use crate::client::{Reply, connect, read_reply};
use crate::server::{Server, await_some};
use crate::venue::{
    Venue, best, boxes, day, event_body, places, seats, seconds_from_now, section, slot_at_ten, tickets, with,
};

/// How an error comes about.
type Provoke = fn() -> Reply;

/// Codes with their status and a way to get them.
const CODES: &[(u16, &str, Provoke)] = &[
    (400, "INVALID_REQUEST", || Server::shared().post("/v1/bookings", &json!({ "customer": "ann" }))),
    (400, "MALFORMED_JSON", || {
        Server::shared().call("POST", "/v1/bookings").raw("application/json", b"{").send()
    }),
    (400, "IDEMPOTENCY_KEY_REQUIRED", || {
        Venue::event(&with(section(1, 1), &json!({ "rules": { "require_idempotency_key": true } })))
            .book(&best(1))
    }),
    (400, "DUPLICATE_SEAT", || Venue::hall(1, 2).book(&seats(&["1-1", "1-1"]))),
    (400, "TOO_MANY_UNITS", || Venue::hall(1, 20).book(&best(11))),
    (401, "UNAUTHENTICATED", || {
        Server::shared().call("GET", "/v1/events").header("Authorization", "Bearer wrong").send()
    }),
    (403, "FORBIDDEN", || {
        Server::shared().call("POST", "/v1/events").header("Origin", "https://evil.example").send()
    }),
    (404, "ROUTE_NOT_FOUND", || Server::shared().get("/v1/nothing")),
    (404, "EVENT_NOT_FOUND", || Server::shared().get("/v1/events/none")),
    (404, "SCHEDULE_NOT_FOUND", || Server::shared().get("/v1/schedules/none")),
    (404, "SHOP_NOT_FOUND", || Server::shared().get("/v1/shops/none")),
    (404, "BOOKING_NOT_FOUND", || Server::shared().get("/v1/bookings/none")),
    (404, "KEY_NOT_FOUND", || Server::shared().call("DELETE", "/v1/keys/none").send()),
    (404, "WEBHOOK_NOT_FOUND", || Server::shared().get("/v1/webhooks/none")),
    (404, "SECTION_NOT_FOUND", || Server::shared().get(&Venue::hall(1, 1).at("/seats?section=B-1"))),
    (404, "SEAT_NOT_FOUND", || Venue::hall(1, 1).book(&seats(&["1-2"]))),
    (404, "AREA_NOT_FOUND", || {
        Venue::hall(1, 1).book(&json!({ "areas": [{ "name": "lounge", "quantity": 1 }] }))
    }),
    (404, "SLOT_NOT_FOUND", || Venue::museum(&json!({})).book(&places("2020-01-01T10:00", 1))),
    (404, "BOX_NOT_FOUND", || Venue::bakery(&json!({})).book(&boxes(1))),
    (405, "METHOD_NOT_ALLOWED", || Server::shared().call("PUT", "/v1/events").send()),
    (408, "REQUEST_TIMEOUT", || {
        let server = Server::shared();
        let mut stream = connect(server.address).expect("a connection");
        let head = format!(
            "POST /v1/bookings HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{{",
            server.address
        );
        stream.write_all(head.as_bytes()).expect("the head is taken");
        read_reply(&mut BufReader::new(stream), false).expect("an answer")
    }),
    (409, "ALREADY_EXISTS", || {
        let hall = Venue::hall(1, 1);
        hall.server.post("/v1/events", &event_body(&hall.id, &section(1, 1)))
    }),
    (409, "ALREADY_CONFIRMED", || {
        let hall = Venue::hall(1, 1);
        let sold = hall.booked(&with(best(1), &json!({ "confirm": true })));
        hall.act(&sold, "confirm", &json!({ "payment_reference": "other" }))
    }),
    (409, "NOT_CONFIRMABLE", || cancelled_and("confirm", &json!({}))),
    (409, "NOT_EXTENDABLE", || cancelled_and("extend", &json!({ "seconds": 60 }))),
    (409, "NOT_MOVABLE", || cancelled_and("move", &best(1))),
    (409, "NOT_REDEEMABLE", || cancelled_and("redeem", &json!({ "redeem_code": "AAAAAA" }))),
    (409, "NOT_CANCELLABLE", || {
        let hall = Venue::hall(1, 1);
        let over = hall.expired(&best(1));
        hall.act(&over, "cancel", &json!({}))
    }),
    (409, "HOLD_LIMIT_REACHED", || {
        let hall = Venue::hall(1, 1);
        let hold = hall.booked(&best(1));
        hall.act(&hold, "extend", &json!({ "seconds": 3_601 }))
    }),
    (409, "ALREADY_REDEEMED", || {
        let hall = Venue::hall(1, 1);
        let sold = hall.booked(&with(best(1), &json!({ "confirm": true })));
        let code = json!({ "redeem_code": sold["redeem_code"] });
        hall.act(&sold, "redeem", &code).expect(200);
        hall.act(&sold, "redeem", &code)
    }),
    (409, "WRONG_CODE", || {
        let hall = Venue::hall(1, 1);
        let sold = hall.booked(&with(best(1), &json!({ "confirm": true })));
        hall.act(&sold, "redeem", &json!({ "redeem_code": "?" }))
    }),
    (409, "WRONG_DATE", || {
        let museum = Venue::museum(&json!({}));
        let sold = museum.booked(&with(places(&slot_at_ten(2), 1), &json!({ "confirm": true })));
        museum.act(&sold, "redeem", &json!({ "redeem_code": sold["redeem_code"] }))
    }),
    (409, "NOT_REDEEMED", || {
        let hall = Venue::hall(1, 1);
        let sold = hall.booked(&with(best(1), &json!({ "confirm": true })));
        hall.act(&sold, "unredeem", &json!({ "reason": "by mistake" }))
    }),
    (409, "NOT_IN_BOOKING", || {
        let hall = Venue::hall(1, 2);
        let sold = hall.booked(&with(best(1), &json!({ "confirm": true })));
        let other = json!([{ "section": "A-1", "seat": "1-2" }]);
        hall.act(&sold, "redeem", &json!({ "redeem_code": sold["redeem_code"], "seats": other }))
    }),
    (409, "WRONG_TIME", || {
        let shop = Venue::bakery(&json!({}));
        let pickup = json!({ "starts_at": seconds_from_now(600), "ends_at": seconds_from_now(900) });
        shop.add_box(&json!({ "pickup": pickup }));
        let sold = shop.booked(&with(boxes(1), &json!({ "confirm": true })));
        shop.act(&sold, "redeem", &json!({ "redeem_code": sold["redeem_code"] }))
    }),
    (409, "BOOKING_ID_TAKEN", || {
        let hall = Venue::hall(1, 2);
        let first = hall.booked(&best(1));
        hall.book(&with(best(1), &json!({ "id": first["id"] })))
    }),
    (409, "INVENTORY_CLOSED", || patched_and_booked(&json!({ "status": "closed" }))),
    (409, "SALES_NOT_OPEN", || patched_and_booked(&json!({ "sales": { "opens_at": seconds_from_now(60) } }))),
    (409, "SALES_CLOSED", || patched_and_booked(&json!({ "sales": { "closes_at": seconds_from_now(-60) } }))),
    (409, "SLOT_PAST", || {
        let museum = crate::schedules::museum_of_yesterday();
        museum.book(&places(&slot_at_ten(-1), 1))
    }),
    (409, "SLOT_CLOSED", || {
        let museum = Venue::museum(&json!({}));
        museum
            .server
            .patch(&museum.at(&format!("/slots/{}", slot_at_ten(1))), &json!({ "status": "CLOSED" }))
            .expect(200);
        museum.book(&places(&slot_at_ten(1), 1))
    }),
    (409, "PICKUP_WINDOW_CLOSED", || {
        let shop = Venue::bakery(&json!({}));
        shop.add_box(
            &json!({ "pickup": { "starts_at": seconds_from_now(-3), "ends_at": seconds_from_now(60) } }),
        );
        let over =
            json!({ "pickup": { "starts_at": seconds_from_now(-60), "ends_at": seconds_from_now(-30) } });
        shop.server.patch(&shop.at("/boxes/evening"), &over).expect(200);
        shop.book(&boxes(1))
    }),
    (409, "TICKET_NOT_FOUND", || ticket_of(&json!({ "id": "other", "status": "active" }))),
    (409, "TICKET_NOT_ACTIVE", || ticket_of(&json!({ "id": "mine", "status": "inactive" }))),
    (409, "TICKET_EXPIRED", || {
        ticket_of(&json!({ "id": "mine", "status": "active", "expires_at": seconds_from_now(-60) }))
    }),
    (409, "TICKET_ALREADY_USED", || {
        let (timezone, hours) = crate::venue::zone_at_noon();
        let windows = json!([{ "start": "09:00", "end": "23:00", "capacity": 20 }]);
        let museum = Venue::museum(&json!({ "timezone": timezone, "windows": windows }));
        let want = tickets(&format!("{}T09:00", crate::venue::today_at(hours)), &["mine"]);
        let sold = museum.booked(&with(want.clone(), &json!({ "confirm": true })));
        museum.act(&sold, "redeem", &json!({ "redeem_code": sold["redeem_code"] })).expect(200);
        museum.book(&want)
    }),
    (409, "TICKET_NOT_RESERVED", || {
        let museum = Venue::museum(&json!({}));
        let booking = museum.booked(&tickets(&slot_at_ten(1), &["mine"]));
        museum.act(&booking, "cancel", &json!({})).expect(200);
        museum.server.post(&museum.at("/tickets/mine/cancel"), &json!({}))
    }),
    (409, "TICKET_ALREADY_RESERVED", || {
        let museum = Venue::museum(&json!({}));
        museum.booked(&tickets(&slot_at_ten(1), &["mine"]));
        museum.book(&tickets(&slot_at_ten(1), &["mine"]))
    }),
    (409, "ACTIVE_RESERVATION_EXISTS", || second_booking(&json!({ "max_active_bookings_per_customer": 1 }))),
    (409, "CUSTOMER_LIMIT_REACHED", || second_booking(&json!({ "max_units_per_customer": 1 }))),
    (409, "SEAT_UNAVAILABLE", || {
        let hall = Venue::hall(1, 1);
        hall.booked(&seats(&["1-1"]));
        hall.book(&seats(&["1-1"]))
    }),
    (409, "ORPHAN_SEAT", || {
        Venue::event(&with(section(1, 5), &json!({ "rules": { "orphans": "forbid" } })))
            .book(&seats(&["1-2"]))
    }),
    (409, "NOT_ENOUGH_SEATS", || Venue::hall(1, 1).book(&best(2))),
    (409, "NOT_ADJACENT", || {
        Venue::hall(2, 1).book(&json!({ "best_available": { "quantity": 2, "adjacent": "required" } }))
    }),
    (409, "AREA_FULL", || {
        let areas = json!({ "areas": [{ "name": "all", "price": 1, "capacity": 1 }] });
        Venue::event(&areas).book(&json!({ "areas": [{ "name": "all", "quantity": 2 }] }))
    }),
    (409, "SLOT_FULL", || {
        let museum = Venue::museum(&json!({ "rules": { "max_units_per_booking": 30 } }));
        museum.book(&places(&slot_at_ten(1), 21))
    }),
    (409, "NEW_SLOT_FULL", || {
        let museum = Venue::museum(&json!({ "rules": { "max_units_per_booking": 30 } }));
        museum.booked(&places(&slot_at_ten(1), 20));
        let other = museum.booked(&places(&slot_at_ten(2), 1));
        museum.act(&other, "move", &json!({ "slot": slot_at_ten(1) }))
    }),
    (409, "BOX_UNAVAILABLE", || {
        let shop = Venue::bakery(&json!({}));
        shop.add_box(&json!({ "quantity": 1 }));
        shop.booked(&boxes(1));
        shop.book(&boxes(1))
    }),
    (409, "INSUFFICIENT_INVENTORY", || {
        let shop = Venue::bakery(&json!({}));
        shop.add_box(&json!({ "quantity": 1 }));
        shop.book(&boxes(2))
    }),
    (409, "SLOT_ALREADY_EXISTS", || add_slot(1)),
    (409, "CANNOT_CREATE_PAST_SLOT", || add_slot(-3)),
    (409, "CAPACITY_BELOW_BOOKED_COUNT", || {
        let museum = Venue::museum(&json!({}));
        museum.booked(&places(&slot_at_ten(1), 2));
        museum
            .server
            .patch(&museum.at(&format!("/slots/{}", slot_at_ten(1))), &json!({ "total_capacity": 1 }))
    }),
    (409, "SLOT_HAS_BOOKINGS", || {
        let museum = Venue::museum(&json!({}));
        museum.booked(&places(&slot_at_ten(1), 2));
        museum.server.call("DELETE", &museum.at(&format!("/slots/{}", slot_at_ten(1)))).send()
    }),
    (409, "EVENT_HAS_BOOKINGS", || {
        let hall = Venue::hall(1, 1);
        hall.booked(&best(1));
        hall.server.call("DELETE", &hall.at("")).send()
    }),
    (410, "HOLD_EXPIRED", || {
        let hall = Venue::hall(1, 1);
        let over = hall.expired(&best(1));
        hall.act(&over, "confirm", &json!({}))
    }),
    (413, "PAYLOAD_TOO_LARGE", || {
        Server::shared().call("POST", "/v1/bookings").raw("application/json", &vec![b' '; 70_000]).send()
    }),
    (415, "UNSUPPORTED_MEDIA_TYPE", || {
        Server::shared().call("POST", "/v1/bookings").raw("text/plain", b"{}").send()
    }),
    (422, "IDEMPOTENCY_KEY_REUSED", || {
        let hall = Venue::hall(1, 9);
        hall.booking_call(&best(1)).key("one").send().expect(201);
        hall.booking_call(&best(2)).key("one").send()
    }),
    (429, "RATE_LIMITED", || {
        let server = Server::start(&["--rate-limit-per-address", "1"]);
        let replies = [server.get("/v1/events"), server.get("/v1/events"), server.get("/v1/events")];
        replies.into_iter().find(|reply| reply.status == 429).expect("three in one second are too many")
    }),
    (503, "OVERLOADED", || {
        let server = Server::start(&["--connections-max", "1"]);
        // Until the one that asked whether it is ready is gone.
        let first = await_some("a connection is taken", || {
            let mut first = BufReader::new(connect(server.address).ok()?);
            let head = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
            first.get_mut().write_all(head.as_bytes()).ok()?;
            read_reply(&mut first, false).ok().filter(|reply| reply.status == 200).map(|_| first)
        });
        let answer = read_reply(&mut BufReader::new(connect(server.address).expect("a connection")), false);
        drop(first);
        answer.expect("told before it is turned away")
    }),
];

/// Codes of a store that fails: `crash.rs` lets a disk be full.
const CODES_OF_FAILURES: &[&str] = &["OUTCOME_UNKNOWN", "UNAVAILABLE"];

/// Codes that nobody is meant to see: of bugs, and of what the framework refuses that no test knows a way to.
const CODES_OF_BUGS: &[&str] = &["INTERNAL_ERROR", "REQUEST_REFUSED"];

/// Codes that only callers without the right keys see (`roles.rs`), and those of webhooks and journals, which have tests of
/// their own.
const CODES_ELSEWHERE: &[&str] = &[
    "HOLD_TOKEN_REQUIRED",
    "DELIVERY_NOT_FOUND",
    "WEBHOOK_DISABLED",
    "WEBHOOK_LIMIT_REACHED",
    "SECRET_NO_LONGER_SHOWN",
    "JOURNAL_CUT",
];

fn cancelled_and(verb: &str, body: &serde_json::Value) -> Reply {
    let hall = Venue::hall(1, 1);
    let booking = hall.booked(&best(1));
    hall.act(&booking, "cancel", &json!({})).expect(200);
    hall.act(&booking, verb, body)
}

fn patched_and_booked(patch: &serde_json::Value) -> Reply {
    let hall = Venue::hall(1, 1);
    hall.patch(patch).expect(200);
    hall.book(&best(1))
}

fn ticket_of(ticket: &serde_json::Value) -> Reply {
    let museum = Venue::museum(&json!({ "rules": { "tickets": "registered" } }));
    museum
        .server
        .call("PUT", &museum.at("/tickets"))
        .json(&json!({ "tickets": [ticket] }))
        .send()
        .expect(200);
    museum.book(&tickets(&slot_at_ten(1), &["mine"]))
}

fn second_booking(rules: &serde_json::Value) -> Reply {
    let hall = Venue::event(&with(section(1, 5), &json!({ "rules": rules })));
    hall.booked(&best(1));
    hall.book(&best(1))
}

fn add_slot(after_today: i32) -> Reply {
    let museum = Venue::museum(&json!({}));
    let slot =
        json!({ "date": day(after_today).to_string(), "start": "10:00", "end": "11:00", "capacity": 1 });
    museum.server.post(&museum.at("/slots"), &slot)
}

#[test]
fn every_code_comes_with_its_status() {
    std::thread::scope(|scope| {
        for (status, code, provoke) in CODES {
            scope.spawn(move || {
                let reply = provoke();
                let body = reply.expect_problem(*status, code);
                assert_eq!(reply.header("retry-after").is_some(), matches!(status, 429 | 503), "{body}");
                assert!(body["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{body}");
                assert!(reply.header("x-request-id").is_some_and(|id| !id.is_empty()), "{body}");
            });
        }
    });
}

#[test]
fn no_code_is_missing_and_none_is_made_up() {
    let provoked = CODES.iter().map(|(_, code, _)| *code);
    let elsewhere = [CODES_OF_FAILURES, CODES_OF_BUGS, CODES_ELSEWHERE].concat();
    let provoked: BTreeSet<&str> = provoked.chain(elsewhere).collect();
    let of_rules = RefusalCode::iter().map(<&str>::from);
    let mut all: BTreeSet<String> = of_rules.map(str::to_owned).collect();
    all.extend(codes_in_sources(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))));
    assert_eq!(provoked.iter().map(|code| (*code).to_owned()).collect::<BTreeSet<_>>(), all);
}

/// The string literals of the server that look like codes: capital letters and underscores only.
fn codes_in_sources(folder: &std::path::Path) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            codes.extend(codes_in_sources(&path));
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        // Tests at the end of files may name anything.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let literals = code.split('"').skip(1).step_by(2);
        let shape = |literal: &&str| {
            literal.len() > 7 && literal.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        };
        let others = |literal: &&str| {
            !literal.starts_with("BOXOFFICE_")
                && !literal.starts_with("REDLOCK_")
                && ![
                    "SCREAMING_SNAKE_CASE",
                    "CARGO_PKG_VERSION",
                    "DATABASE_URL",
                    "HOLD_TTL_MS",
                    "IDEMPOTENCY_TTL_MS",
                    "KAFKA_BROKERS",
                    "LOCK_TTL_MS",
                    "REDIS_URL",
                    "REDIS_URLS",
                    "_SERVICE_HOST",
                    "_SERVICE_PORT",
                ]
                .contains(literal)
        };
        codes.extend(literals.filter(shape).filter(others).map(str::to_owned));
    }
    codes
}
