//! `GET /v1/attempts`.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::server::Server;
use crate::venue::{Venue, best, event_body, seats, section};

fn items(server: &Server, query: &str) -> Vec<Value> {
    let listed = server.get(&format!("/v1/attempts{query}")).expect(200);
    listed["items"].as_array().expect("items").clone()
}

#[test]
fn refused_attempt_is_found_by_request_customer_inventory_and_code_and_granted_one_by_customer_and_inventory()
{
    let hall = Venue::hall(1, 3);
    let inventory = format!("event:{}", hall.id);
    let customer = crate::venue::unique("customer");
    let wanted = |seat: &str| {
        let mut body = hall.wanted(&seats(&[seat]));
        body["customer"] = json!(customer);
        body
    };
    let call = |body: &Value, id: &str| {
        hall.server.call("POST", "/v1/bookings").header("X-Request-Id", id).json(body)
    };
    let made = call(&wanted("1-1"), &format!("{customer}-1")).send().expect(201);
    // By the express lane, by the ordinary route, in a batch, and under a key.
    let second = format!("{customer}-2");
    call(&wanted("1-1"), &second).send().expect_problem(409, "SEAT_UNAVAILABLE");
    let third = format!("{customer}-3");
    call(&wanted("9-9"), &third)
        .header("prefer", "handling=strict")
        .send()
        .expect_problem(404, "SEAT_NOT_FOUND");
    let mut command = wanted("1-1");
    command["op"] = json!("book");
    let fourth = format!("{customer}-4");
    let batch = hall.server.call("POST", "/v1/batch").header("X-Request-Id", &fourth);
    batch.json(&json!({ "commands": [command] })).send().expect(200);
    let fifth = format!("{customer}-5");
    let under_key =
        || call(&wanted("1-1"), &fifth).key(&customer).send().expect_problem(409, "SEAT_UNAVAILABLE");
    let told = under_key();
    assert_eq!(under_key(), told);

    let found = items(&hall.server, &format!("?customer={customer}"));
    let row = |item: &Value| {
        let text = |name: &str| item[name].as_str().unwrap_or("null").to_owned();
        [text("request_id"), text("result"), text("code"), text("booking")]
    };
    let row_of = |id: &str, code: &str| [id, "refused", code, "null"].map(str::to_owned);
    let expected = [
        row_of(&fifth, "SEAT_UNAVAILABLE"),
        row_of(&fourth, "SEAT_UNAVAILABLE"),
        row_of(&third, "SEAT_NOT_FOUND"),
        row_of(&second, "SEAT_UNAVAILABLE"),
        ["null", "granted", "null", made["id"].as_str().expect("an id")].map(str::to_owned),
    ];
    assert_eq!(
        found.iter().map(row).collect::<Vec<_>>(),
        expected,
        "the newest first, and replays are no attempts"
    );
    for item in &found {
        assert_eq!(item["inventory"], json!(inventory));
        assert_eq!(item["customer"], json!(customer));
        assert_eq!(item["operation"], "book");
        assert!(item["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{item}");
    }
    assert_eq!(items(&hall.server, &format!("?request_id={third}")), found[2..3]);
    let in_body = told["request_id"].as_str().expect("an id");
    assert_ne!(in_body, fifth, "the key determines it");
    assert_eq!(items(&hall.server, &format!("?request_id={in_body}")), found[..1]);
    assert_eq!(items(&hall.server, &format!("?customer={customer}&code=SEAT_NOT_FOUND")), found[2..3]);
    assert_eq!(items(&hall.server, &format!("?inventory={inventory}")), found);
    assert_eq!(items(&hall.server, &format!("?customer={customer}&inventory=event:other")), [] as [Value; 0]);

    let mut paged = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = hall.server.get(&format!("/v1/attempts?customer={customer}&limit=2{cursor}")).expect(200);
        paged.extend(page["items"].as_array().expect("items").clone());
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(paged, found);
}

#[test]
fn refused_attempts_survive_a_kill_and_a_stop() {
    let server = Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 1)));
    hall.booked(&best(1));
    hall.book(&best(1)).expect_problem(409, "NOT_ENOUGH_SEATS");
    // What was shown is durable.
    assert_eq!(items(&server, "").len(), 2);
    drop(hall);
    let store = Arc::into_inner(server).expect("this is the only handle").kill();
    let server = store.serve(&[]);
    assert_eq!(items(&server, "").len(), 2);
    let body = json!({ "customer": "ben", "event": "none", "best_available": { "quantity": 1 } });
    server.post("/v1/bookings", &body).expect_problem(404, "EVENT_NOT_FOUND");
    server.terminate();
    let (_, store) = server.ended();
    let codes: Vec<Value> = items(&store.serve(&[]), "").iter().map(|item| item["code"].clone()).collect();
    assert_eq!(codes, [json!("EVENT_NOT_FOUND"), json!("NOT_ENOUGH_SEATS"), Value::Null]);
}

#[test]
fn granted_attempts_of_one_moment_are_all_on_some_page() {
    let hall = Venue::hall(1, 40);
    let mut command = hall.wanted(&best(1));
    command["op"] = json!("book");
    let commands = vec![command; 40];
    hall.server.post("/v1/batch", &json!({ "commands": commands })).expect(200);
    let (mut seen, mut cursor) = (std::collections::BTreeSet::new(), String::new());
    loop {
        let list = format!("/v1/attempts?inventory=event:{}&limit=7{cursor}", hall.id);
        let page = hall.server.get(&list).expect(200);
        for item in page["items"].as_array().expect("items") {
            assert!(seen.insert(item["booking"].as_str().expect("a booking").to_owned()), "{item} twice");
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(seen.len(), 40);
}

#[test]
fn refused_name_with_control_characters_is_kept_without_them() {
    let hall = Venue::hall(1, 1);
    let mut body = hall.wanted(&best(1));
    let customer = crate::venue::unique("nul");
    body["customer"] = json!(format!("{customer}\u{0}"));
    hall.server.post("/v1/bookings", &body).expect_problem(400, "INVALID_REQUEST");
    let found = items(&hall.server, &format!("?customer={customer}%EF%BF%BD"));
    assert_eq!(found.len(), 1, "every store takes it");
    hall.booked(&best(1));
}

#[test]
fn mistyped_booking_is_counted_and_listed_and_unread_one_only_counted() {
    let server = Arc::new(Server::start(&[]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(1, 3)));
    let counted = |kind: &str, code: &str| -> u64 {
        let metric =
            format!("boxoffice_bookings_total{{kind=\"{kind}\",result=\"refused\",code=\"{code}\"}} ");
        let metrics = server.get("/metrics");
        let metrics = metrics.text();
        let value = metrics.lines().find_map(|line| line.strip_prefix(&metric)?.parse().ok());
        value.unwrap_or_else(|| panic!("{metric} is not in {metrics}"))
    };
    let mut mistyped = hall.wanted(&best(1));
    mistyped["best_available"]["quantity"] = json!("1");
    mistyped["customer"] = json!("ann");
    let call =
        |body: &Value, id: &str| server.call("POST", "/v1/bookings").header("X-Request-Id", id).json(body);
    // By the express lane, by the ordinary route, and in a batch.
    call(&mistyped, "express").send().expect_problem(400, "INVALID_REQUEST");
    call(&mistyped, "ordinary")
        .header("prefer", "handling=strict")
        .send()
        .expect_problem(400, "INVALID_REQUEST");
    let mut book = mistyped.clone();
    book["op"] = json!("book");
    let cancel = json!({ "op": "cancel", "id": 7, "event": "gala", "customer": "ann" });
    let batch = server.call("POST", "/v1/batch").header("X-Request-Id", "batch");
    batch.json(&json!({ "commands": [book, cancel] })).send().expect(200);
    assert_eq!(counted("event", "INVALID_REQUEST"), 3);
    let rows: Vec<Value> = items(&server, "?customer=ann&code=INVALID_REQUEST");
    let ids: Vec<&str> = rows.iter().map(|row| row["request_id"].as_str().expect("an id")).collect();
    assert_eq!(ids, ["batch", "ordinary", "express"], "{rows:?}");
    for row in &rows {
        assert_eq!((&row["inventory"], &row["result"]), (&json!("event:gala"), &json!("refused")), "{row}");
    }

    let two = json!({ "customer": "ann", "event": "gala", "shop": "bakery", "quantity": 1 });
    call(&two, "two").send().expect_problem(400, "INVALID_REQUEST");
    assert_eq!(items(&server, "?request_id=two")[0]["inventory"], "unknown");
    assert_eq!(counted("unknown", "INVALID_REQUEST"), 1);
    let unread = call(&hall.wanted(&best(1)), "unread").header("authorization", "Bearer bo_wrong");
    unread.send().expect_problem(401, "UNAUTHENTICATED");
    assert_eq!(counted("unknown", "UNAUTHENTICATED"), 1);
    assert_eq!(items(&server, "?request_id=unread"), [] as [Value; 0]);
}
