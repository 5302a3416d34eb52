//! Kept connections: after every early response the next request is answered, or the response announces the close.

use std::io::{self, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::client::{Reply, connect, read_reply};
use crate::server::Server;
use crate::venue::{Venue, best, event_body, section, with};

const CONNECTIONS: usize = 8;
/// A header that the express lane leaves to the framework.
const FRAMEWORK: &str = "TE: trailers\r\n";

/// Requests that are sent over all connections.
fn requests_max() -> usize {
    std::env::var("BOXOFFICE_KEPT_REQUESTS").map_or(1_000, |text| text.parse().expect("a number"))
}

fn seed() -> u64 {
    std::env::var("BOXOFFICE_SEED").map_or_else(|_| rand::random(), |text| text.parse().expect("a number"))
}

/// A server with keys and an event.
struct Sale {
    server: Arc<Server>,
    admin: String,
    seller: String,
    public: String,
}

impl Sale {
    fn start(arguments: &[&str]) -> Sale {
        let server = Arc::new(Server::start(arguments));
        Venue::create(&server, "event", &event_body("gala", &section(100, 100)));
        let text = |made: &Reply| made.expect(201)["key"].as_str().expect("a key").to_owned();
        let admin = text(&server.post("/v1/keys", &json!({ "role": "admin", "name": "admin" })));
        let make_key = |role: &str| {
            let call = server.call("POST", "/v1/keys").header("Authorization", &format!("Bearer {admin}"));
            text(&call.json(&json!({ "role": role, "name": role })).send())
        };
        let (seller, public) = (make_key("seller"), make_key("public"));
        Sale { server, admin, seller, public }
    }

    fn booking() -> Value {
        with(json!({ "customer": "ann", "event": "gala" }), &best(1))
    }

    /// A request whose body is JSON.
    fn request(&self, line: &str, key: &str, headers: &str, body: &str) -> Request {
        let length = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        self.request_with(line, key, &format!("{length}{headers}"), body)
    }

    fn request_with(&self, line: &str, key: &str, headers: &str, body: &str) -> Request {
        let address = self.server.address;
        let head = format!("{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n{headers}");
        Request { head, body: body.to_owned() }
    }

    /// Every request of the mix, with its status.
    fn mix(&self) -> Vec<(Expected, Request)> {
        let booking = Sale::booking().to_string();
        let large = " ".repeat(150_000);
        let long_key = format!("Idempotency-Key: {}\r\n", "k".repeat(300));
        let framework_key = format!("{long_key}{FRAMEWORK}");
        let text = format!("Content-Type: text/plain\r\nContent-Length: {}\r\n", booking.len());
        let chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
        let chunks = format!("{:x}\r\n{booking}\r\n0\r\n\r\n", booking.len());
        let expecting = "Expect: 100-continue\r\n";
        let (kept, closed) = (Close::Never, Close::Allowed);
        let book = "POST /v1/bookings";
        let rows: Vec<(&'static str, u16, Close, Request)> = vec![
            ("booking", 201, kept, self.request(book, &self.seller, "", &booking)),
            ("booking by the framework", 201, kept, self.request(book, &self.seller, FRAMEWORK, &booking)),
            ("booking in chunks", 201, kept, self.request_with(book, &self.seller, chunked, &chunks)),
            ("list", 200, kept, self.request_with("GET /v1/events", &self.seller, "", "")),
            (
                "delete with a body",
                404,
                kept,
                self.request("DELETE /v1/keys/none", &self.admin, "", &booking),
            ),
            ("long key", 400, kept, self.request(book, &self.seller, &long_key, &booking)),
            ("long key, framework", 400, kept, self.request(book, &self.seller, &framework_key, &booking)),
            ("long key of a batch", 400, kept, self.request("POST /v1/batch", &self.seller, &long_key, "{}")),
            ("no body yet", 400, kept, self.request(book, &self.seller, "", "{")),
            ("wrong key", 401, kept, self.request(book, "wrong", "", &booking)),
            ("wrong key, framework", 401, kept, self.request(book, "wrong", FRAMEWORK, &booking)),
            ("wrong key, chunks", 401, kept, self.request_with(book, "wrong", chunked, &chunks)),
            ("wrong key, large", 401, closed, self.request("POST /v1/batch", "wrong", "", &large)),
            ("wrong key, expecting", 401, closed, self.request(book, "wrong", expecting, &booking)),
            ("wrong role", 403, kept, self.request("POST /v1/events", &self.public, "", &booking)),
            ("wrong role, large", 403, closed, self.request("POST /v1/events", &self.public, "", &large)),
            ("no route", 404, kept, self.request("POST /v1/nothing", &self.seller, "", &booking)),
            ("no method", 405, kept, self.request("PUT /v1/events", &self.seller, "", &booking)),
            ("too large", 413, closed, self.request(book, &self.seller, "", &large)),
            ("plain text", 415, kept, self.request_with(book, &self.seller, &text, &booking)),
            ("broken chunks", 400, closed, self.request_with(book, &self.seller, chunked, "zz\r\n\r\n")),
        ];
        rows.into_iter()
            .map(|(name, status, close, request)| (Expected { name, status, close }, request))
            .collect()
    }
}

#[derive(Debug, Clone)]
struct Request {
    head: String,
    body: String,
}

#[derive(Debug, Clone, Copy)]
struct Expected {
    name: &'static str,
    status: u16,
    close: Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    /// The body is small, and was sent with its head.
    Never,
    Allowed,
}

/// What became of the requests.
#[derive(Debug, Default)]
struct Tally {
    answered: AtomicUsize,
    announced: AtomicUsize,
    broken: AtomicUsize,
}

impl Tally {
    fn count(counter: &AtomicUsize) -> usize {
        counter.load(Ordering::Relaxed)
    }
}

/// A client that keeps its connection for as long as it can.
struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    fn connect(address: SocketAddr) -> Client {
        Client { reader: BufReader::new(connect(address).expect("a connection")) }
    }

    /// Sends some requests and reads their responses, up to the one that announces the close. Returns whether the connection is open.
    fn exchange(
        &mut self,
        requests: &[(Expected, String, Request)],
        in_one_write: bool,
        may_limit: bool,
        tally: &Tally,
    ) -> io::Result<bool> {
        let mut bytes = Vec::new();
        for (_, id, Request { head, body }) in requests {
            bytes.extend_from_slice(format!("{head}X-Request-Id: {id}\r\n\r\n").as_bytes());
            if !in_one_write {
                drop(self.reader.get_mut().write_all(&bytes));
                bytes.clear();
            }
            bytes.extend_from_slice(body.as_bytes());
        }
        // The server may stop reading at a response that announces the close.
        drop(self.reader.get_mut().write_all(&bytes));
        for (expected, id, _) in requests {
            let reply = read_reply(&mut self.reader, false)?;
            tally.answered.fetch_add(1, Ordering::Relaxed);
            let limited = may_limit && reply.status == 429;
            assert!(
                reply.status == expected.status || limited,
                "{expected:?}: {} {}",
                reply.status,
                reply.text()
            );
            assert_eq!(reply.header("x-request-id"), Some(id.as_str()), "out of step: {expected:?}");
            if reply.header("connection") == Some("close") {
                assert!(expected.close == Close::Allowed || !in_one_write, "{expected:?} closes");
                tally.announced.fetch_add(1, Ordering::Relaxed);
                let mut rest = Vec::new();
                self.reader.read_to_end(&mut rest)?;
                assert!(rest.is_empty(), "after the announced close: {:?}", String::from_utf8_lossy(&rest));
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Sends the mix over kept connections in any order, one by one and several at once.
fn send_mix(sale: &Sale, requests: usize, may_limit: bool) -> Tally {
    let (mix, tally, seed) = (sale.mix(), Tally::default(), seed());
    eprintln!("BOXOFFICE_SEED={seed}");
    std::thread::scope(|scope| {
        for connection in 0..CONNECTIONS {
            let (mix, tally) = (&mix, &tally);
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(seed + connection as u64);
                let mut client = Client::connect(sale.server.address);
                let mut sent = 0;
                while sent < requests / CONNECTIONS {
                    let several: Vec<_> = (0..random.random_range(1..=3))
                        .map(|_| {
                            sent += 1;
                            let (expected, request) = &mix[random.random_range(0..mix.len())];
                            (*expected, format!("c{connection}-{sent}"), request.clone())
                        })
                        .collect();
                    let in_one_write = random.random_bool(0.7);
                    let exchanged = client.exchange(&several, in_one_write, may_limit, tally);
                    match exchanged {
                        Ok(true) => {}
                        Ok(false) => client = Client::connect(sale.server.address),
                        Err(error) => {
                            let names: Vec<_> = several.iter().map(|(expected, ..)| expected.name).collect();
                            eprintln!("broken: {error} {names:?} in one write: {in_one_write}");
                            tally.broken.fetch_add(1, Ordering::Relaxed);
                            client = Client::connect(sale.server.address);
                        }
                    }
                }
            });
        }
    });
    eprintln!("{tally:?}");
    tally
}

#[test]
fn kept_connection_stays_in_step_through_every_early_response() {
    let tally = send_mix(&Sale::start(&[]), requests_max(), false);
    assert_eq!(Tally::count(&tally.broken), 0, "connections that closed without an announcement");
    assert!(Tally::count(&tally.answered) > requests_max() / 2);
    assert!(Tally::count(&tally.announced) > 0);
}

#[test]
fn kept_connection_stays_in_step_through_responses_of_the_rate_limit() {
    let tally = send_mix(&Sale::start(&["--rate-limit-per-key", "10"]), requests_max() / 4, true);
    assert_eq!(Tally::count(&tally.broken), 0, "connections that closed without an announcement");
}

#[test]
fn client_that_is_turned_away_receives_the_response_to_its_request() {
    let server = Server::start(&["--connections-max", "1"]);
    let head = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", server.address);
    let mut first = crate::server::await_some("a connection is taken", || {
        let mut first = BufReader::new(connect(server.address).ok()?);
        first.get_mut().write_all(head.as_bytes()).ok()?;
        read_reply(&mut first, false).ok().filter(|reply| reply.status == 200).map(|_| first)
    });
    for _ in 0..20 {
        let mut turned_away = BufReader::new(connect(server.address).expect("a connection"));
        turned_away.get_mut().write_all(head.as_bytes()).expect("the server reads");
        let reply = read_reply(&mut turned_away, false).expect("a response");
        assert_eq!((reply.status, reply.header("connection")), (503, Some("close")));
        assert_eq!(turned_away.read_to_end(&mut Vec::new()).expect("no reset"), 0);
    }
    first.get_mut().write_all(head.as_bytes()).expect("the server reads");
    assert_eq!(read_reply(&mut first, false).expect("a response").status, 200);
}
