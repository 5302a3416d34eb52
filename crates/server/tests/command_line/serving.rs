//! `serve` and `demo`.

use std::io::{Read, Write};

use serde_json::json;

use crate::process::{Server, boxoffice, path, read_answer, run, within_deadline};

#[test]
fn without_a_word_it_serves_and_says_where_to_click() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Server::start(&["--listen", "127.0.0.1:0", "--data", path(&data)]);
    assert_eq!(server.get("/healthz").0, 200);
    let address = server.address.clone();
    server.ask_to_stop();
    let (code, rest) = server.wait();
    assert_eq!(code, Some(0));
    assert!(rest.contains(&format!("http://{address}/docs")), "{rest}");
    assert!(rest.contains(&format!("curl http://{address}/v1/events")), "{rest}");
}

#[test]
fn an_address_that_is_taken_and_a_store_that_is_in_use_are_named() {
    let home = tempfile::tempdir().unwrap();
    let (data, other) = (home.path().join("data"), home.path().join("other"));
    let server = Server::on(&data);
    run(&["serve", "--data", path(&other), "--listen", &server.address])
        .badly(1, &[&server.address, "another program"]);
    run(&["serve", "--data", path(&data), "--listen", "127.0.0.1:0"])
        .badly(1, &["in use by another process"]);
    run(&["verify", "--data", path(&data)]).badly(1, &["in use by another process"]);
}

#[test]
fn an_address_that_others_can_reach_needs_a_key_first() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    run(&["serve", "--data", path(&data), "--listen", "0.0.0.0:0"])
        .badly(1, &["there is no API key", "boxoffice keys create"]);
    run(&["keys", "create", "--data", path(&data), "--role", "admin"]).well();
    let server = Server::start(&["serve", "--data", path(&data), "--listen", "0.0.0.0:0"]);
    assert!(server.address.starts_with("0.0.0.0:"));
    assert_eq!(server.get("/v1/events").0, 401);
}

#[test]
fn whoever_is_being_served_when_it_is_asked_to_stop_is_answered() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::on(&home.path().join("data"));
    server.create_hall(10);
    // A request whose head was read and whose body is on its way.
    let body = json!({ "customer": "ann", "event": "hall", "best_available": { "quantity": 2 } });
    let request = server.request("POST", "/v1/bookings", Some(&body));
    let (begun, rest) = request.split_at(request.len() - 5);
    let mut stream = server.connect();
    let expected = begun.replace("connection: close", "expect: 100-continue\r\nconnection: close");
    stream.write_all(expected.as_bytes()).unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    server.ask_to_stop();
    // It takes nobody else, which shows that it has heard.
    within_deadline(|| std::net::TcpStream::connect(&server.address).is_err().then_some(()));
    stream.write_all(rest.as_bytes()).unwrap();
    assert_eq!(read_answer(stream).0, 201);
    assert_eq!(server.wait().0, Some(0));
}

#[test]
fn a_live_stream_ends_well_when_it_is_asked_to_stop_packed_or_not() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::on(&home.path().join("data"));
    server.create_hall(10);
    let (_, made) = server.post("/v1/keys", &json!({ "role": "admin" }));
    let key = made["key"].as_str().unwrap();
    let watch = |accepted: &str| {
        let mut stream = server.connect();
        let request = format!(
            "GET /v1/events/hall/stream HTTP/1.0\r\nauthorization: Bearer {key}\r\nsec-fetch-site: same-origin\r\naccept-encoding: {accepted}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        // It has begun to answer.
        assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
        stream
    };
    let streams = [watch("identity"), watch("gzip"), watch("zstd")];
    server.ask_to_stop();
    assert_eq!(server.wait().0, Some(0));
    let [plain, gzip, zstd] = streams.map(|stream| read_answer(stream).1);
    assert!(plain.starts_with(b"event: snapshot\nid: 1\n"));
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&gzip[..]).read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
    unpacked.clear();
    zstd::Decoder::new(&zstd[..]).unwrap().read_to_end(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
}

#[test]
fn the_demo_is_a_filled_arena_a_museum_and_a_bakery_with_life_in_them() {
    let server = Server::start(&["demo", "--listen", "127.0.0.1:0"]);
    let (status, events) = server.get("/v1/events");
    assert_eq!(status, 200);
    let stats = &events["items"][0]["stats"];
    assert_eq!(stats["total"], 20_000);
    let taken = stats["sold"].as_u64().unwrap() + stats["held"].as_u64().unwrap();
    assert!((13_000..15_000).contains(&taken), "{stats}");
    let (_, slots) = server.get("/v1/schedules/museum/slots?limit=500");
    let slots = slots["items"].as_array().unwrap();
    assert!((267..=270).contains(&slots.len()), "{}", slots.len());
    assert_eq!(slots.last().unwrap()["start_time"], "15:00");
    let (_, boxes) = server.get("/v1/shops/bakery/boxes");
    assert!(boxes["items"].as_array().unwrap().iter().all(|boxed| boxed["next_price"].is_object()));
    let before = events["items"][0]["sequence"].as_u64().unwrap();
    within_deadline(|| {
        let (_, arena) = server.get("/v1/events/arena");
        (arena["sequence"].as_u64().unwrap() > before).then_some(())
    });
    server.stop();
}

#[test]
fn a_server_behind_proxies_needs_a_key_first_also_on_loopback() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let arguments =
        ["serve", "--data", path(&data), "--listen", "127.0.0.1:0", "--trusted-proxies", "127.0.0.1,::1"];
    run(&arguments).badly(1, &["can be reached through proxies", "boxoffice keys create"]);
    run(&["keys", "create", "--data", path(&data), "--role", "admin"]).well();
    let server = Server::start(&arguments);
    assert_eq!(server.get("/v1/events").0, 401);
    run(&["serve", "--data", path(&data), "--trusted-proxies", "proxy.example"])
        .badly(2, &["proxy.example", "10.0.0.0/8"]);
}

#[test]
fn a_server_without_keys_warns_at_start() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let log = home.path().join("log");
    let mut command = boxoffice(&["serve", "--data", path(&data), "--listen", "127.0.0.1:0"]);
    let server = Server::spawn_logging(&mut command, std::fs::File::create(&log).unwrap());
    assert_eq!(server.get("/v1/events").0, 200);
    let warning = std::fs::read_to_string(&log).unwrap();
    assert!(warning.contains("no API key exists") && warning.contains("boxoffice keys create"), "{warning}");
}
