//! Who may ask, and how much: open mode, rates, holds that are alive.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::server::{Server, await_some};
use crate::venue::{Venue, best, event_body, section, with};

/// Names and values of headers.
type Headers<'a> = Vec<(&'a str, String)>;

#[test]
fn without_keys_only_this_machines_own_pages_and_programs_may_ask() {
    let hall = Venue::hall(1, 9);
    let here = hall.server.address.to_string();
    let name = format!("localhost:{}", hall.server.address.port());
    let rows: Vec<(&str, Headers<'_>, u16)> = vec![
        ("POST", vec![], 201),
        ("POST", vec![("Origin", format!("http://{here}"))], 201),
        ("POST", vec![("Host", name.clone()), ("Origin", format!("http://{name}"))], 201),
        ("POST", vec![("Sec-Fetch-Site", "same-origin".into())], 201),
        ("POST", vec![("Origin", "https://evil.example".into())], 403),
        ("POST", vec![("Origin", "null".into())], 403),
        ("POST", vec![("Origin", format!("http://{name}"))], 403),
        ("POST", vec![("Sec-Fetch-Site", "cross-site".into())], 403),
        ("POST", vec![("Host", "evil.example".into())], 403),
        ("GET", vec![("Origin", "https://evil.example".into())], 200),
        ("GET", vec![("Host", "evil.example".into())], 403),
        ("POST", vec![("Authorization", "Bearer bo_none_none".into())], 401),
        ("POST", vec![("Authorization", "Basic YTpi".into())], 401),
        ("GET", vec![("Authorization", "Bearer".into())], 401),
    ];
    for (method, headers, status) in rows {
        let mut call = match method {
            "GET" => hall.server.call("GET", &hall.at("")),
            _ => hall.booking_call(&best(1)),
        };
        for (name, value) in &headers {
            call = call.header(name, value);
        }
        let reply = call.send();
        assert_eq!(reply.status, status, "{method} {headers:?}: {}", reply.text());
        if status != 201 && status != 200 {
            reply.expect_problem(status, if status == 401 { "UNAUTHENTICATED" } else { "FORBIDDEN" });
        }
    }
}

#[test]
fn requests_beyond_the_rate_are_refused_and_admitted_again_later() {
    for flag in ["--rate-limit-per-key", "--rate-limit-per-address"] {
        let server = Server::start(&[flag, "3"]);
        let replies: Vec<u16> = (0..20).map(|_| server.get("/v1/events").status).collect();
        assert!(replies.starts_with(&[200, 200, 200]) && replies.contains(&429), "{flag}: {replies:?}");
        assert_eq!(server.get("/healthz").status, 200, "health is not limited");
        let limited =
            await_some("refused", || Some(server.get("/v1/events")).filter(|reply| reply.status == 429));
        limited.expect_problem(429, "RATE_LIMITED");
        assert_eq!(limited.header("retry-after"), Some("1"));
        await_some("admitted again", || (server.get("/v1/events").status == 200).then_some(()));
    }
}

#[test]
fn a_batch_uses_up_the_limit_by_its_commands() {
    for flag in ["--rate-limit-per-key", "--rate-limit-per-address"] {
        let server = Server::start(&[flag, "2"]);
        let confirm = json!({ "op": "confirm", "id": "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b55" });
        let batch = || server.post("/v1/batch", &json!({ "commands": vec![&confirm; 200] }));
        assert_eq!(batch().status, 200, "{flag}: more than a second's worth, and none of it was used");
        for refused in [batch(), server.get("/v1/events")] {
            refused.expect_problem(429, "RATE_LIMITED");
            let wait: u64 = refused.header("retry-after").expect("a time").parse().expect("seconds");
            assert!((50..=100).contains(&wait), "{flag}: {wait}");
        }
    }
}

fn capped(most: &str) -> Venue {
    let server = Arc::new(Server::start(&["--live-holds-per-caller", most]));
    Venue::create(&server, "event", &event_body("gala", &section(5, 10)))
}

#[test]
fn a_caller_has_at_most_so_many_live_holds() {
    let hall = capped("2");
    let first = hall.booked(&best(1));
    let second = hall.booked(&best(1));
    let refused = hall.book(&best(1));
    refused.expect_problem(429, "RATE_LIMITED");
    let wait: u64 = refused.header("retry-after").expect("a time").parse().expect("seconds");
    assert!((1..=900).contains(&wait), "{wait}");
    hall.booked(&with(best(1), &json!({ "confirm": true })));
    hall.act(&first, "confirm", &json!({})).expect(200);
    hall.booked(&best(1));
    hall.book(&best(1)).expect_problem(429, "RATE_LIMITED");
    hall.act(&second, "cancel", &json!({})).expect(200);
    let short = hall.booked(&with(best(1), &json!({ "hold_ttl_seconds": 1 })));
    hall.await_status(&short, "expired");
    hall.booked(&best(1));
}

#[test]
fn a_refused_hold_does_not_count() {
    let hall = capped("1");
    for _ in 0..3 {
        assert_eq!(
            hall.book(&json!({ "seats": [{ "section": "B-1", "ids": ["1-1"] }] })).told(),
            "404 SECTION_NOT_FOUND"
        );
    }
    hall.booked(&best(1));
}

#[test]
fn neither_a_batch_nor_a_crowd_of_requests_gets_around_the_cap() {
    let hall = capped("3");
    let book = with(json!({ "op": "book" }), &hall.wanted(&best(1)));
    let answer = hall.server.post("/v1/batch", &json!({ "commands": vec![book; 10] })).expect(200);
    let statuses: Vec<&Value> =
        answer["results"].as_array().expect("results").iter().map(|result| &result["status"]).collect();
    assert_eq!(statuses.iter().filter(|status| ***status == 201).count(), 3, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| ***status == 429).count(), 7, "{statuses:?}");
    let hall = capped("3");
    let made: usize = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..16).map(|_| scope.spawn(|| hall.book(&best(1)).status)).collect();
        calls
            .into_iter()
            .filter(|_| true)
            .map(|call| usize::from(call.join().expect("no caller panics") == 201))
            .sum()
    });
    assert_eq!(made, 3);
}

#[test]
fn whoever_retries_under_a_key_gets_the_first_answer_even_at_the_cap() {
    let hall = capped("1");
    let first = hall.booking_call(&best(1)).key("one").send();
    let again = hall.booking_call(&best(1)).key("one").send();
    assert_eq!((again.status, again.text(), again.is_replay()), (201, first.text(), true));
    hall.booking_call(&best(1)).key("two").send().expect_problem(429, "RATE_LIMITED");
}
