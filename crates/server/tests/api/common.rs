//! What holds for every route: the shape of errors, what a body may be, methods, lists, malformed HTTP.

use std::io::{BufReader, Read, Write};

use serde_json::{Value, json};

use crate::client::{connect, read_reply};
use crate::server::Server;
use crate::venue::{Venue, best, event_body, section, unique, with};

#[test]
fn every_error_has_the_same_shape_and_the_id_of_its_request() {
    let hall = Venue::hall(1, 1);
    hall.booked(&best(1));
    let calls = [
        hall.server.call("GET", "/nowhere"),
        hall.server.call("GET", "/v1/events/none"),
        hall.server.call("GET", "/v1/events/%ff"),
        hall.server.call("GET", "/v1/bookings?limit=many"),
        hall.server.call("DELETE", "/v1/events"),
        hall.server.call("POST", "/v1/bookings").raw("application/json", b"{"),
        hall.server.call("POST", "/v1/bookings").raw("text/plain", b"{}"),
        hall.server.call("POST", "/v1/bookings").header("Origin", "https://evil.example"),
        hall.server.call("GET", "/v1/events").header("Authorization", "Bearer unknown"),
        hall.booking_call(&best(1)),
    ];
    for call in calls {
        let reply = call.header("X-Request-Id", "my-request-7").send();
        let body = reply.json();
        assert!((400..500).contains(&reply.status), "{}", reply.text());
        assert_eq!(reply.header("content-type"), Some("application/problem+json"), "{body}");
        assert_eq!((&body["status"], &body["request_id"]), (&json!(reply.status), &json!("my-request-7")));
        assert_eq!(reply.header("x-request-id"), Some("my-request-7"));
        for field in ["type", "title", "code", "detail"] {
            assert!(body[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {body}");
        }
        let code = body["code"].as_str().expect("a code");
        assert!(code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{code}");
    }
    let made_up = hall.server.get("/nowhere");
    assert_eq!(made_up.header("x-request-id"), made_up.json()["request_id"].as_str());
}

#[test]
fn addresses_that_lead_nowhere_are_told_from_methods_that_are_not_taken() {
    let server = Server::shared();
    for path in ["/v1", "/v2/events", "/v1/events/a/b", "/v1/events/", "/v1/bookings/a/b/c", "/v1//events"] {
        server.get(path).expect_problem(404, "ROUTE_NOT_FOUND");
    }
    for (method, path, allowed) in [
        ("DELETE", "/v1/events", "GET,HEAD,POST"),
        ("PUT", "/v1/events/a", "GET,HEAD,PATCH,DELETE"),
        ("GET", "/v1/events/a/block", "POST"),
        ("POST", "/v1/events/a/seats", "GET,HEAD"),
        ("POST", "/v1/schedules/a/tickets", "GET,HEAD,PUT"),
        ("GET", "/v1/schedules/a/slots/b", "PATCH,DELETE"),
        ("GET", "/v1/bookings/a/confirm", "POST"),
        ("GET", "/v1/batch", "POST"),
        ("GET", "/v1/customers/a/contact", "DELETE"),
        ("POST", "/healthz", "GET,HEAD"),
        ("BREW", "/v1/events", "GET,HEAD,POST"),
    ] {
        let reply = server.call(method, path).send();
        reply.expect_problem(405, "METHOD_NOT_ALLOWED");
        assert_eq!(reply.header("allow"), Some(allowed), "{method} {path}");
    }
    let head = server.call("HEAD", "/healthz").send();
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn a_body_is_json_in_utf_8_and_says_so() {
    let hall = Venue::hall(1, 9);
    let good = hall.wanted(&best(1)).to_string();
    let send = |kind: &str, body: &[u8]| hall.server.call("POST", "/v1/bookings").raw(kind, body).send();
    for kind in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/vnd.boxoffice+json",
    ] {
        send(kind, good.as_bytes()).expect(201);
    }
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonp"]
    {
        send(kind, good.as_bytes()).expect_problem(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    let packed = hall.server.call("POST", "/v1/bookings").header("Content-Encoding", "gzip");
    packed.raw("application/json", good.as_bytes()).send().expect_problem(415, "UNSUPPORTED_MEDIA_TYPE");
    let mut bad_utf_8 = good.clone().into_bytes();
    let place = good.find("ann").expect("ann is named");
    bad_utf_8[place] = 0xff;
    let bodies: [&[u8]; 8] = [
        b"{",
        b"nonsense",
        b"{\"customer\":",
        b"{'a':1}",
        b"{\"customer\":\"ann\",}",
        b"{\"customer\":\"a\nb\"}",
        b"\xef\xbb\xbf{}",
        &bad_utf_8,
    ];
    for body in bodies {
        send("application/json", body).expect_problem(400, "MALFORMED_JSON");
    }
    for body in ["[]", "null", "7", "\"text\""] {
        send("application/json", body.as_bytes()).expect_problem(400, "INVALID_REQUEST");
    }
}

#[test]
fn unknown_and_duplicate_fields_are_told_by_their_place() {
    let hall = Venue::hall(1, 9);
    let id = &hall.id;
    let rows = [
        (
            format!(
                r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1}},"colour":"red"}}"#
            ),
            "/colour",
        ),
        (
            format!(r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1,"row":2}}}}"#),
            "/best_available/row",
        ),
        (
            format!(
                r#"{{"customer":"ann","event":"{id}","seats":[{{"section":"A-1","ids":["1-1"]}},{{"section":"A-1","ids":["1-2"],"x":0}}]}}"#
            ),
            "/seats/1/x",
        ),
        (
            format!(
                r#"{{"customer":"ann","customer":"bob","event":"{id}","best_available":{{"quantity":1}}}}"#
            ),
            "",
        ),
        (
            format!(r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1,"quantity":2}}}}"#),
            "/best_available",
        ),
        (
            format!(
                r#"{{"customer":"ann","event":"{id}","best_available":{{"quantity":1}},"metadata":{{"a":{{"b":1,"b":2}}}}}}"#
            ),
            "/metadata",
        ),
        (format!(r#"{{"event":"{id}","best_available":{{"quantity":1}}}}"#), ""),
        // The values alone, in any order, are not an object.
        (format!(r#"{{"customer":"ann","event":"{id}","best_available":[1]}}"#), "/best_available"),
        (format!(r#"{{"customer":"ann","event":"{id}","seats":[["A-1",["1-1"]]]}}"#), "/seats/0"),
        (format!(r#"[null,"ann",null,"{id}"]"#), ""),
    ];
    for (body, pointer) in rows {
        let reply = hall.server.call("POST", "/v1/bookings").raw("application/json", body.as_bytes()).send();
        let told = reply.pointer();
        assert!(told.starts_with(pointer), "{body}: {told:?}");
    }
    let patch = |body: &[u8]| {
        let call = hall.server.call("PATCH", &format!("/v1/events/{id}"));
        call.raw("application/json", body).send().pointer()
    };
    assert_eq!(patch(b"[null]"), "");
    assert_eq!(patch(br#"{"status":{"closed":null}}"#), "/status");
    assert_eq!(hall.seats(), ["........."]);
}

#[test]
fn nesting_has_a_bound() {
    let hall = Venue::hall(1, 9);
    let nested = |depth: usize| {
        let metadata = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let body = hall.wanted(&best(1)).to_string();
        let body = format!(r#"{},"metadata":{metadata}}}"#, body.strip_suffix('}').expect("an object"));
        hall.server.call("POST", "/v1/bookings").raw("application/json", body.as_bytes()).send()
    };
    nested(31).expect(201);
    nested(32).expect_problem(400, "INVALID_REQUEST");
    let endless = "[".repeat(60_000);
    let inside = format!(r#"{{"metadata":{{"a":{endless}"#);
    let ended = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    let rows = [
        (endless.clone(), "MALFORMED_JSON"),
        (inside.clone(), "MALFORMED_JSON"),
        (format!(r#"{{"metadata":{{"a":{ended}}}}}"#), "INVALID_REQUEST"),
        (ended, "INVALID_REQUEST"),
    ];
    for (body, code) in rows {
        let call = hall.server.call("POST", "/v1/bookings").raw("application/json", body.as_bytes());
        call.send().expect_problem(400, code);
    }
    for command in [&endless, &inside] {
        let body = format!(r#"{{"commands":[{command}"#);
        let call = hall.server.call("POST", "/v1/batch").raw("application/json", body.as_bytes());
        call.send().expect_problem(400, "MALFORMED_JSON");
    }
}

#[test]
fn a_body_has_64_kib_and_imports_and_batches_have_8_mib() {
    let hall = Venue::hall(1, 9);
    let padded = |body: &Value, bytes: usize| {
        let mut text = body.to_string().into_bytes();
        text.resize(bytes, b' ');
        text
    };
    let send = |method: &str, path: &str, body: &[u8]| {
        hall.server.call(method, path).raw("application/json", body).send()
    };
    let booking = hall.wanted(&best(1));
    send("POST", "/v1/bookings", &padded(&booking, 64 * 1024)).expect(201);
    send("POST", "/v1/bookings", &padded(&booking, 64 * 1024 + 1)).expect_problem(413, "PAYLOAD_TOO_LARGE");
    let batch = json!({ "commands": [with(booking.clone(), &json!({ "op": "book" }))] });
    send("POST", "/v1/batch", &padded(&batch, 8 * 1024 * 1024)).expect(200);
    send("POST", "/v1/batch", &padded(&batch, 8 * 1024 * 1024 + 1)).expect_problem(413, "PAYLOAD_TOO_LARGE");
    let museum = Venue::museum(&json!({}));
    let tickets = json!({ "tickets": [{ "id": "a", "status": "active" }] });
    send("PUT", &museum.at("/tickets"), &padded(&tickets, 1024 * 1024)).expect(200);
    send("PUT", &museum.at("/tickets"), &padded(&tickets, 8 * 1024 * 1024 + 1))
        .expect_problem(413, "PAYLOAD_TOO_LARGE");
    assert_eq!(hall.show()["stats"]["held"], 2);
}

#[test]
fn a_body_in_chunks_is_counted_as_it_comes() {
    let hall = Venue::hall(1, 9);
    let chunked = |body: &[u8]| {
        let mut stream = connect(hall.server.address).expect("a connection");
        let head = format!(
            "POST /v1/bookings HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
            hall.server.address
        );
        stream.write_all(head.as_bytes()).expect("the head is taken");
        for piece in body.chunks(1_000) {
            let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
            // The server may have refused it by now.
            if stream.write_all(&chunk).is_err() {
                break;
            }
        }
        drop(stream.write_all(b"0\r\n\r\n"));
        read_reply(&mut BufReader::new(stream), false).expect("an answer")
    };
    let mut body = hall.wanted(&best(1)).to_string().into_bytes();
    chunked(&body).expect(201);
    body.resize(70_000, b' ');
    chunked(&body).expect_problem(413, "PAYLOAD_TOO_LARGE");
}

#[test]
fn malformed_http_is_refused_and_harms_nobody() {
    let server = Server::shared();
    for request in [
        "nonsense\r\n\r\n".to_owned(),
        "GET /healthz HTTP/9.9\r\n\r\n".to_owned(),
        "GET /health z HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
        "POST /v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n".to_owned(),
        "POST /v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n".to_owned(),
        format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "x".repeat(1_000_000)),
    ] {
        let mut stream = connect(server.address).expect("a connection");
        drop(stream.write_all(request.as_bytes()));
        let mut answer = Vec::new();
        // Closed with or without a word, but never a success.
        drop(stream.read_to_end(&mut answer));
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    assert_eq!(server.get("/healthz").status, 200);
}

#[test]
fn a_head_that_is_refused_is_told_so_in_the_form_of_all_errors() {
    let server = Server::shared();
    let many: String = (0..200).map(|number| format!("X-{number}: x\r\n")).collect();
    for (request, status) in [
        ("GET /health z HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 400),
        ("POST /v1/bookings HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n".to_owned(), 400),
        (format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{many}\r\n"), 431),
    ] {
        let mut stream = connect(server.address).expect("a connection");
        stream.write_all(request.as_bytes()).expect("taken");
        let mut reader = BufReader::new(stream);
        let reply = read_reply(&mut reader, false).expect("an answer");
        let problem = reply.expect_problem(status, "REQUEST_REFUSED");
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        assert_eq!(reply.header("x-request-id"), problem["request_id"].as_str());
        assert_eq!(reader.read_to_end(&mut Vec::new()).expect("the end"), 0, "nothing follows");
    }
}

#[test]
fn a_head_that_is_refused_behind_a_good_one_is_told_so_too() {
    let server = Server::shared();
    let mut stream = connect(server.address).expect("a connection");
    let good = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(format!("{good}{good}GET /health z HTTP/1.1\r\n\r\n").as_bytes()).expect("taken");
    let mut reader = BufReader::new(stream);
    for _ in 0..2 {
        read_reply(&mut reader, false).expect("an answer").expect(200);
    }
    read_reply(&mut reader, false).expect("an answer").expect_problem(400, "REQUEST_REFUSED");
    assert_eq!(reader.read_to_end(&mut Vec::new()).expect("the end"), 0, "nothing follows");
}

#[test]
fn requests_that_come_in_one_piece_are_answered_in_their_order() {
    let hall = Venue::hall(1, 9);
    let mut requests = String::new();
    for customer in ["ann", "bob", "cid"] {
        let body = hall.wanted(&with(best(1), &json!({ "customer": customer }))).to_string();
        requests += &format!(
            "POST /v1/bookings HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            hall.server.address,
            body.len()
        );
    }
    let mut stream = connect(hall.server.address).expect("a connection");
    stream.write_all(requests.as_bytes()).expect("taken");
    let mut reader = BufReader::new(stream);
    for (customer, seat) in [("ann", "1-1"), ("bob", "1-2"), ("cid", "1-3")] {
        let booking = read_reply(&mut reader, false).expect("an answer").expect(201);
        assert_eq!((&booking["customer"], &booking["seats"][0]["seat"]), (&json!(customer), &json!(seat)));
    }
}

#[test]
fn lists_have_limits_and_cursors_of_their_own() {
    let hall = Venue::hall(1, 1);
    let museum = Venue::museum(&json!({}));
    let shop = Venue::bakery(&json!({}));
    for list in
        ["/v1/events", "/v1/schedules", "/v1/shops", "/v1/bookings", &museum.at("/slots"), &shop.at("/boxes")]
    {
        let page = hall.server.get(&format!("{list}?limit=1")).expect(200);
        assert!(page["items"].is_array() && page.get("next_cursor").is_some(), "{list}: {page}");
        assert!(page["items"].as_array().expect("items").len() <= 1, "{list}");
        for wrong in ["limit=0", "limit=501", "limit=-1", "limit=x", "cursor=zz", "page=2", "limit=1&limit=2"]
        {
            hall.server.get(&format!("{list}?{wrong}")).expect_problem(400, "INVALID_REQUEST");
        }
    }
}

#[test]
fn a_write_that_was_answered_is_in_every_read_that_follows() {
    let hall = Venue::hall(10, 10);
    std::thread::scope(|scope| {
        for buyer in 0..4 {
            let hall = &hall;
            scope.spawn(move || {
                for _ in 0..10 {
                    let made = hall.booked(&with(best(1), &json!({ "customer": format!("buyer-{buyer}") })));
                    let sequence = made["sequence"].as_u64();
                    assert_eq!(hall.booking(&made)["status"], "on_hold");
                    assert!(hall.show()["sequence"].as_u64() >= sequence);
                    let own = hall
                        .server
                        .get(&format!("/v1/bookings?event={}&customer=buyer-{buyer}&limit=1", hall.id))
                        .expect(200);
                    assert_eq!(own["items"][0]["id"], made["id"]);
                }
            });
        }
    });
    assert_eq!(hall.show()["stats"]["held"], 40);
}

#[test]
fn ids_that_look_alike_are_different_inventories() {
    let server = Server::shared();
    for wrong in ["A", "a_b", "a b", "é", "", "a/b", "-a", "a.b"] {
        let reply = server
            .post("/v1/events", &event_body("placeholder", &with(section(1, 1), &json!({ "id": wrong }))));
        assert_eq!(reply.pointer(), "/id", "{wrong:?}");
    }
    let longest = format!("{}{}", unique("a"), "-".repeat(63));
    let made = server.post("/v1/events", &event_body(&longest[..63], &section(1, 1))).expect(201);
    assert_eq!(server.get(&format!("/v1/events/{}", &longest[..63])).expect(200)["id"], made["id"]);
}
