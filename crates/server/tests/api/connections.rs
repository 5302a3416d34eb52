//! What one address, and one key, can take of the server: connections, and memory for bodies that are never finished.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::json;

use crate::client::{Reply, connect, read_reply};
use crate::server::{Server, await_some};
use crate::venue::{Venue, best, event_body, section};

const PER_ADDRESS: usize = 4;

fn ask(client: &mut BufReader<TcpStream>, request: &str) -> Option<Reply> {
    client.get_mut().write_all(request.as_bytes()).ok()?;
    read_reply(client, false).ok()
}

/// Whether the server has ended this connection, on which no response is expected.
fn is_over(client: &mut BufReader<TcpStream>) -> bool {
    client.get_ref().set_nonblocking(true).expect("a socket");
    let read = client.read(&mut [0]);
    client.get_ref().set_nonblocking(false).expect("a socket");
    !read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

// Which of them have been idle longest is for the unit tests: from here it cannot be told when the server counts one as idle.
#[test]
fn address_with_too_many_connections_loses_idle_ones() {
    let server = Arc::new(Server::start(&["--connections-per-address", &PER_ADDRESS.to_string()]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(10, 10)));
    let body = hall.wanted(&best(1)).to_string();
    let host = format!("Host: {}\r\n", server.address);
    let list = format!("GET /v1/events HTTP/1.1\r\n{host}\r\n");
    let book = format!(
        "POST /v1/bookings HTTP/1.1\r\n{host}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // Of both lanes.
    let requests = [&list, &book];
    let mut clients: Vec<BufReader<TcpStream>> = (0..2 * PER_ADDRESS)
        .map(|number| {
            let mut client = BufReader::new(connect(server.address).expect("a connection"));
            let status = ask(&mut client, requests[number % 2]).expect("a response").status;
            assert!([200, 201].contains(&status), "client {number}: {status}");
            client
        })
        .collect();
    await_some("only as many are open as may be", || {
        clients.retain_mut(|client| !is_over(client));
        (clients.len() <= PER_ADDRESS).then_some(())
    });
    assert_eq!(clients.len(), PER_ADDRESS);
    for mut client in clients {
        assert_eq!(ask(&mut client, &list).expect("a response").status, 200);
    }
}

#[test]
fn address_whose_connections_are_all_busy_is_turned_away_and_keeps_them() {
    let server = Arc::new(Server::start(&["--connections-per-address", "3"]));
    let hall = Venue::create(&server, "event", &event_body("gala", &section(10, 10)));
    let mut watching = [hall.stream(), hall.stream(), hall.stream()];
    watching.iter_mut().for_each(|stream| drop(stream.expect("snapshot")));
    let list = format!("GET /v1/events HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let refused = await_some("an earlier connection is over", || {
        let mut client = BufReader::new(connect(server.address).ok()?);
        ask(&mut client, &list).filter(|reply| reply.status == 503)
    });
    let problem = refused.expect_problem(503, "OVERLOADED");
    assert_eq!(problem["detail"], "Too many connections are open from this address.");
    let [first, ..] = watching;
    drop(first);
    let book = || hall.booking_call(&best(1)).try_send().ok().filter(|reply| reply.status == 201);
    await_some("a place is free again", book);
}

fn key(server: &Server, admin: Option<&str>, role: &str) -> String {
    let mut call = server.call("POST", "/v1/keys");
    if let Some(admin) = admin {
        call = call.header("Authorization", &format!("Bearer {admin}"));
    }
    let made = call.json(&json!({ "role": role, "name": role })).send().expect(201);
    made["key"].as_str().expect("a key").to_owned()
}

/// Memory of the bodies that are being read.
fn body_bytes(server: &Server, admin: &str) -> usize {
    let metrics = server.call("GET", "/metrics").header("Authorization", &format!("Bearer {admin}")).send();
    let line =
        metrics.text().lines().find(|line| line.starts_with("boxoffice_body_bytes ")).expect("a gauge");
    line.split(' ').nth(1).expect("a value").parse::<f64>().expect("a number") as usize
}

#[test]
fn batch_of_a_public_key_has_a_smaller_body() {
    let server = Server::start(&[]);
    let admin = key(&server, None, "admin");
    let commands = format!("{{\"commands\":[]}}{}", " ".repeat(260 * 1024));
    for (role, status) in [("public", 413), ("seller", 400), ("operator", 400)] {
        let authorization = format!("Bearer {}", key(&server, Some(&admin), role));
        let call = server.call("POST", "/v1/batch").header("Authorization", &authorization);
        let reply = call.raw("application/json", commands.as_bytes()).send();
        assert_eq!(reply.status, status, "{role}: {}", reply.text());
    }
}

#[test]
fn batch_of_a_public_key_has_at_most_100_commands() {
    let server = Server::start(&["--rate-limit-per-key", "1000"]);
    let admin = key(&server, None, "admin");
    let public = format!("Bearer {}", key(&server, Some(&admin), "public"));
    let send = |commands: usize| {
        let body = json!({ "commands": vec![json!({ "op": "steal" }); commands] });
        server.call("POST", "/v1/batch").header("Authorization", &public).json(&body).send()
    };
    for too_many in [101, 10_000] {
        let problem = send(too_many).expect_problem(400, "INVALID_REQUEST").to_string();
        assert!(problem.contains("must be 1 to 100 commands"), "{problem}");
    }
    // What was refused left no debt, which for 10,000 commands would be nine seconds.
    let reply = send(100);
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[test]
fn unfinished_batches_of_public_keys_leave_room_for_others() {
    const PUBLIC_BYTES_MAX: usize = 64 * 1024 * 1024;
    let server = Server::start(&[]);
    let admin = key(&server, None, "admin");
    let public = key(&server, Some(&admin), "public");
    let begin = || {
        let mut stream = connect(server.address).expect("a connection");
        let head = format!(
            "POST /v1/batch HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {public}\r\n\
             Content-Type: application/json\r\nContent-Length: 262144\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).expect("the server reads");
        stream.write_all(&vec![b' '; 262_143]).expect("the server reads");
        stream
    };
    let unfinished: Vec<_> = (0..PUBLIC_BYTES_MAX / 262_144).map(|_| begin()).collect();
    let send = |key: &str| {
        let call = server.call("POST", "/v1/batch").header("Authorization", &format!("Bearer {key}"));
        call.json(&json!({ "commands": [{ "op": "steal" }] })).send()
    };
    await_some("the budget is used up", || (body_bytes(&server, &admin) >= PUBLIC_BYTES_MAX).then_some(()));
    send(&public).expect_problem(503, "OVERLOADED");
    assert_eq!(send(&admin).status, 200);
    drop(unfinished);
    await_some("the budget is free again", || (send(&public).status == 200).then_some(()));
}

#[test]
fn unfinished_bodies_take_memory_for_what_was_sent_until_they_are_given_up() {
    const CLIENTS: usize = 20;
    const SENT_BYTES: usize = 100_000;
    let server = Server::start(&[]);
    let admin = key(&server, None, "admin");
    let public = key(&server, Some(&admin), "public");
    let body_bytes = || body_bytes(&server, &admin);
    let begin = |key: &str, announced_bytes: usize, sent_bytes: usize| {
        let mut stream = connect(server.address).expect("a connection");
        let head = format!(
            "POST /v1/batch HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {announced_bytes}\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).expect("the server reads");
        stream.write_all(&vec![b' '; sent_bytes]).expect("the server reads");
        stream
    };
    let unfinished: Vec<_> = (0..CLIENTS).map(|_| begin(&public, 200_000, SENT_BYTES)).collect();
    let announced: Vec<_> = (0..CLIENTS).map(|_| begin(&admin, 8_000_000, 1)).collect();
    await_some("what was sent is read", || (body_bytes() >= CLIENTS * SENT_BYTES).then_some(()));
    assert!(body_bytes() <= CLIENTS * (256 * 1024 + 1024), "{}", body_bytes());
    drop((unfinished, announced));
    await_some("the memory is given back", || (body_bytes() == 0).then_some(()));
}
