//! Behind a proxy: a server without keys refuses, and a server with keys counts each visitor for itself.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use socket2::{Domain, Socket, Type};

use crate::client::{Reply, connect, read_reply};
use crate::server::{Server, Store};
use crate::venue::{Venue, best, event_body, section};

/// A header that the express lane leaves to the framework.
const FRAMEWORK: (&str, &str) = ("TE", "trailers");

/// Sends these bytes on a connection of their own.
fn send(server: &Server, bytes: &str) -> Reply {
    let mut stream = connect(server.address).expect("the server takes connections");
    stream.write_all(bytes.as_bytes()).expect("the server reads");
    read_reply(&mut BufReader::new(stream), false).expect("an answer")
}

fn expect_refusal(reply: &Reply, reason: &str) {
    let detail = reply.expect_problem(403, "FORBIDDEN")["detail"].to_string();
    for words in [reason, "no API keys", "keys create --role admin"] {
        assert!(detail.contains(words), "{words:?} is not in {detail}");
    }
    assert!(!detail.contains("  "), "{detail}");
}

#[test]
fn a_server_without_keys_refuses_what_a_proxy_forwarded() {
    let hall = Venue::hall(1, 9);
    for (name, value) in [
        ("X-Forwarded-For", "192.0.2.1"),
        ("x-forwarded-for", ""),
        ("Forwarded", "for=192.0.2.1"),
        ("X-Real-IP", "192.0.2.1"),
        ("Via", "1.1 proxy"),
        ("X-Forwarded-Host", "tickets.example"),
        ("x-forwarded-proto", "https"),
    ] {
        let shown = match name.to_ascii_lowercase() {
            other if ["x-forwarded-host", "x-forwarded-proto"].contains(&&*other) => {
                "x-forwarded-*".to_owned()
            }
            known => known,
        };
        let reason = format!("through a proxy (`{shown}`)");
        let book = || hall.booking_call(&best(1)).header(name, value);
        expect_refusal(&book().send(), &reason);
        expect_refusal(&book().header(FRAMEWORK.0, FRAMEWORK.1).send(), &reason);
        expect_refusal(&hall.server.call("GET", &hall.at("")).header(name, value).send(), &reason);
        assert_eq!(hall.server.call("GET", "/healthz").header(name, value).send().status, 200);
    }
    hall.booked(&best(1));
}

/// What nginx 1.22 sends with `proxy_pass http://127.0.0.1:8080;` or `proxy_pass http://boxoffice;` and nothing else configured.
#[test]
fn a_server_without_keys_refuses_what_nginx_sends_by_default() {
    let hall = Venue::hall(1, 9);
    let here = hall.server.address.to_string();
    let body = hall.wanted(&best(1)).to_string();
    for host in [here.as_str(), "boxoffice"] {
        let read = format!(
            "GET {} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
            hall.at("")
        );
        expect_refusal(&send(&hall.server, &read), "through a proxy (`HTTP/1.0`)");
        let book = format!(
            "POST /v1/bookings HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\nContent-Length: {}\r\n\
             User-Agent: curl/7.88.1\r\nAccept: */*\r\nContent-Type: application/json\r\n\r\n{body}",
            body.len()
        );
        expect_refusal(&send(&hall.server, &book), "through a proxy (`HTTP/1.0`)");
    }
    // With `proxy_http_version 1.1` only the name of the upstream shows.
    let read = format!("GET {} HTTP/1.1\r\nHost: boxoffice\r\nConnection: close\r\n\r\n", hall.at(""));
    expect_refusal(&send(&hall.server, &read), "`Host` is not a name of this machine");
    assert_eq!(hall.show()["stats"]["held"], 0);
}

/// A hall on a server that trusts these proxies and lets each visitor hold one booking; the visitors' key.
fn hall_behind(proxies: &str, more: &[&str]) -> (Venue, String) {
    let server = Arc::new(Store::new().serve(&[]));
    Venue::create(&server, "event", &event_body("gala", &section(5, 10)));
    let public = server.post("/v1/keys", &json!({ "role": "public" }));
    let key = public.expect(201)["key"].as_str().expect("a key").to_owned();
    let store = Arc::into_inner(server).expect("the only owner").kill();
    let server =
        store.serve(&[&["--trusted-proxies", proxies, "--live-holds-per-caller", "1"], more].concat());
    (Venue { server: Arc::new(server), kind: "event", id: "gala".to_owned() }, key)
}

#[test]
fn limits_count_the_visitor_that_a_trusted_proxy_names_on_both_lanes() {
    for framework in [false, true] {
        let (hall, key) = hall_behind("127.0.0.1, 10.0.0.0/8", &[]);
        for (name, value, expected) in [
            ("X-Forwarded-For", "192.0.2.1", 201),
            ("X-Forwarded-For", "192.0.2.1", 429),
            ("X-Forwarded-For", "198.51.100.7, 192.0.2.1, 10.0.0.3", 429),
            ("Forwarded", "for=\"192.0.2.1:4711\";proto=https", 429),
            ("X-Forwarded-For", "192.0.2.2", 201),
            ("X-Forwarded-For", "2001:db8::1", 201),
            ("X-Forwarded-For", "2001:db8::2", 429),
            ("Forwarded", "for=\"[2001:db8:0:1::1]:4711\"", 201),
            // Not an address: the proxy itself is the caller.
            ("X-Forwarded-For", "unknown", 201),
            ("Accept", "*/*", 429),
        ] {
            let mut call = hall.booking_call(&best(1)).header("Authorization", &format!("Bearer {key}"));
            call = call.header(name, value);
            if framework {
                call = call.header(FRAMEWORK.0, FRAMEWORK.1);
            }
            let reply = call.send();
            assert_eq!(reply.status, expected, "{name}: {value} (framework: {framework}): {}", reply.text());
        }
        let both = hall.booking_call(&best(1)).header("Authorization", &format!("Bearer {key}"));
        let both = both.header("X-Forwarded-For", "192.0.2.8").header("Forwarded", "for=192.0.2.9");
        let both = if framework { both.header(FRAMEWORK.0, FRAMEWORK.1) } else { both };
        both.send().expect_problem(400, "REQUEST_REFUSED");
    }
}

#[test]
fn a_header_of_a_client_that_is_no_trusted_proxy_changes_nothing() {
    let (hall, key) = hall_behind("10.0.0.0/8", &[]);
    let book = |client: &str| {
        let call = hall.booking_call(&best(1)).header("Authorization", &format!("Bearer {key}"));
        call.header("X-Forwarded-For", client).send().status
    };
    assert_eq!(["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(book), [201, 429, 429]);
}

/// The address of the proxy in these tests; the tests themselves connect from 127.0.0.1.
const PROXY: &str = "127.0.0.2";

fn connect_from_proxy(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    let from: SocketAddr = format!("{PROXY}:0").parse().expect("an address");
    socket.bind(&from.into()).expect("an address of this machine");
    socket.connect(&address.into()).expect("the server takes connections");
    socket.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    socket.into()
}

/// What a booking with the visitors' key is answered on a connection that begins with these bytes; `None` if it is closed
/// without an answer.
fn book_after(hall: &Venue, key: &str, start: &[u8], header: &str) -> Option<u16> {
    let body = hall.wanted(&best(1)).to_string();
    let request = format!(
        "POST /v1/bookings HTTP/1.1\r\nHost: tickets.example\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n{header}\r\n{body}",
        body.len()
    );
    let mut stream = connect_from_proxy(hall.server.address);
    // A server that closes the connection may do so before all is written.
    drop(stream.write_all(&[start, request.as_bytes()].concat()));
    read_reply(&mut BufReader::new(stream), false).ok().map(|reply| reply.status)
}

#[test]
fn the_proxy_protocol_names_the_visitor_on_both_lanes() {
    let v2 = |command: u8, source: u8| {
        let addresses = [192, 0, 2, source, 198, 51, 100, 1, 0x12, 0x67, 0x01, 0xBB];
        [&b"\r\n\r\n\0\r\nQUIT\n"[..], &[command, 0x11, 0, 12], &addresses].concat()
    };
    for header in ["", "TE: trailers\r\n"] {
        let (hall, key) = hall_behind(PROXY, &["--proxy-protocol"]);
        let book = |start: &[u8]| book_after(&hall, &key, start, header);
        assert_eq!(book(b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n"), Some(201));
        assert_eq!(book(b"PROXY TCP4 192.0.2.1 198.51.100.1 4712 443\r\n"), Some(429));
        assert_eq!(book(&v2(0x21, 1)), Some(429));
        assert_eq!(book(&v2(0x21, 2)), Some(201));
        assert_eq!(book(b"PROXY TCP6 2001:db8::1 2001:db8::2 4711 443\r\n"), Some(201));
        // The proxy for itself, as in a health check.
        assert_eq!(book(b"PROXY UNKNOWN\r\n"), Some(201));
        assert_eq!(book(&v2(0x20, 3)), Some(429));
        assert_eq!(book(b""), None, "a trusted proxy must send the header");
        assert_eq!(book(b"PROXY TCP4 192.0.2.9 nonsense\r\n"), None);
        // The visitor is no trusted proxy, so a header of theirs changes nothing.
        let forwarded = format!("{header}X-Forwarded-For: 192.0.2.77\r\n");
        let start = b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n";
        assert_eq!(book_after(&hall, &key, start, &forwarded), Some(429));
    }
}

#[test]
fn only_trusted_proxies_may_send_a_proxy_header() {
    let (hall, key) = hall_behind("10.0.0.0/8", &["--proxy-protocol"]);
    let header = b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n";
    assert_eq!(book_after(&hall, &key, header, ""), Some(400));
    assert_eq!(book_after(&hall, &key, b"", ""), Some(201));
}
