//! Slow, silent and half-open clients of ten kinds, and buyers who are served beside them.
//!
//! `BOXOFFICE_BAD_CLIENTS=1000` measures with a thousand of each; CONTRIBUTING.md has the command.

use std::future::pending;
use std::io::{self, BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{connect, read_reply};
use crate::server::Server;
use crate::venue::{Venue, event_body, section};

const BUYERS: usize = 8;
/// Between two bookings of a buyer.
const PAUSE: Duration = Duration::from_millis(10);
/// Before a client that was cut comes back.
const COMES_BACK_AFTER: Duration = Duration::from_millis(500);
/// Between two bytes of a slow client.
const SLOW: Duration = Duration::from_millis(500);
/// What a bad client may cost in memory: hyper's buffer for a head, what the system takes for a client that does not read, and the rest.
const BYTES_PER_CLIENT_MAX: usize = 128 * 1024;
/// What bookings and fluctuations of the allocator may cost.
const BYTES_BESIDE_MAX: usize = 128 * 1024 * 1024;

#[derive(Debug, Clone, Copy)]
enum Kind {
    NoHead,
    SlowHead,
    HalfHead,
    SlowBody,
    HalfBody,
    NeverReads,
    HalfClosed,
    ExpectsWithoutBody,
    PipelinesWithoutReading,
    WatchesWithoutReading,
}

const KINDS: [Kind; 10] = [
    Kind::NoHead,
    Kind::SlowHead,
    Kind::HalfHead,
    Kind::SlowBody,
    Kind::HalfBody,
    Kind::NeverReads,
    Kind::HalfClosed,
    Kind::ExpectsWithoutBody,
    Kind::PipelinesWithoutReading,
    Kind::WatchesWithoutReading,
];

/// What bad clients send.
struct Requests {
    address: SocketAddr,
    seats: String,
    stream: String,
    /// With a body of [`Requests::BODY_BYTES`] to follow.
    head: String,
}

impl Requests {
    const BODY_BYTES: usize = 60_000;

    fn of(hall: &Venue) -> Requests {
        let address = hall.server.address;
        let get = |below: &str| format!("GET {} HTTP/1.1\r\nHost: {address}\r\n\r\n", hall.at(below));
        let head = format!(
            "POST /v1/bookings HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
            Requests::BODY_BYTES
        );
        Requests { address, seats: get("/seats"), stream: get("/stream"), head }
    }

    /// Until the server cuts the connection.
    async fn misbehave(&self, kind: Kind, connected: impl FnOnce()) -> io::Result<()> {
        let mut stream = TcpStream::connect(self.address).await?;
        connected();
        let half_head = &self.head[..self.head.len() / 2];
        let whole_head = format!("{}\r\n", self.head);
        match kind {
            Kind::NoHead => {}
            Kind::SlowHead => send_slowly(&mut stream, self.head.as_bytes()).await?,
            Kind::HalfHead => stream.write_all(half_head.as_bytes()).await?,
            Kind::SlowBody => {
                stream.write_all(whole_head.as_bytes()).await?;
                send_slowly(&mut stream, &[b' '; Requests::BODY_BYTES]).await?;
            }
            Kind::HalfBody => {
                stream.write_all(whole_head.as_bytes()).await?;
                stream.write_all(&[b' '; Requests::BODY_BYTES / 2]).await?;
            }
            Kind::NeverReads => {
                stream.write_all(self.seats.as_bytes()).await?;
                pending::<()>().await;
            }
            Kind::HalfClosed => {
                stream.write_all(half_head.as_bytes()).await?;
                stream.shutdown().await?;
            }
            Kind::ExpectsWithoutBody => {
                stream.write_all(format!("{}Expect: 100-continue\r\n\r\n", self.head).as_bytes()).await?;
            }
            // Until the server reads no more, and then until it gives up.
            Kind::PipelinesWithoutReading => loop {
                stream.write_all(self.seats.as_bytes()).await?;
            },
            Kind::WatchesWithoutReading => {
                stream.write_all(self.stream.as_bytes()).await?;
                pending::<()>().await;
            }
        }
        stream.read_to_end(&mut Vec::new()).await.map(drop)
    }
}

async fn send_slowly(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    for byte in bytes {
        stream.write_all(&[*byte]).await?;
        tokio::time::sleep(SLOW).await;
    }
    Ok(())
}

/// Bad clients that come back when they are cut. All are gone when this is dropped.
struct BadClients {
    _runtime: tokio::runtime::Runtime,
}

impl BadClients {
    /// Resolves when all are connected.
    fn come(requests: Requests, of_each_kind: usize) -> BadClients {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (requests, connected) = (Arc::new(requests), Arc::new(AtomicUsize::new(0)));
        for kind in KINDS {
            for _ in 0..of_each_kind {
                let (requests, connected) = (Arc::clone(&requests), Arc::clone(&connected));
                runtime.spawn(async move {
                    let mut is_first = true;
                    loop {
                        let count = || {
                            if is_first {
                                connected.fetch_add(1, Ordering::Relaxed);
                            }
                        };
                        if requests.misbehave(kind, count).await.is_ok() {
                            is_first = false;
                        }
                        tokio::time::sleep(COMES_BACK_AFTER).await;
                    }
                });
            }
        }
        let started = Instant::now();
        while connected.load(Ordering::Relaxed) < KINDS.len() * of_each_kind {
            assert!(started.elapsed() < Duration::from_secs(60), "bad clients cannot connect");
            thread::sleep(Duration::from_millis(10));
        }
        BadClients { _runtime: runtime }
    }
}

/// Bookings of all buyers, each of which must be granted; how long each took, in order of length.
fn book(hall: &Venue, bookings_per_buyer: usize) -> Vec<Duration> {
    let waits = thread::scope(|scope| {
        let buyers: Vec<_> = (0..BUYERS)
            .map(|buyer| scope.spawn(move || book_as_one(hall, buyer, bookings_per_buyer)))
            .collect();
        buyers.into_iter().flat_map(|buyer| buyer.join().expect("no panic")).collect::<Vec<_>>()
    });
    let mut waits = waits;
    waits.sort();
    waits
}

fn book_as_one(hall: &Venue, buyer: usize, bookings: usize) -> Vec<Duration> {
    let mut reader = BufReader::new(connect(hall.server.address).expect("a connection"));
    let wish = json!({ "customer": format!("buyer-{buyer}"), "best_available": { "quantity": 1 } });
    let body = hall.wanted(&wish).to_string();
    let request = format!(
        "POST /v1/bookings HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        hall.server.address,
        body.len()
    );
    let book = |_| {
        thread::sleep(PAUSE);
        let began = Instant::now();
        reader.get_mut().write_all(request.as_bytes()).expect("the server reads");
        read_reply(&mut reader, false).expect("a response").expect(201);
        began.elapsed()
    };
    (0..bookings).map(book).collect()
}

fn percentiles(waits: &[Duration]) -> String {
    let of = |share: f64| waits[((waits.len() - 1) as f64 * share) as usize].as_secs_f64() * 1_000.0;
    format!("p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms", of(0.5), of(0.99), of(1.0))
}

fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("files can be opened");
}

#[test]
fn buyers_are_served_beside_bad_clients_and_memory_is_bounded() {
    let of_each_kind =
        std::env::var("BOXOFFICE_BAD_CLIENTS").map_or(5, |text| text.parse().expect("a number"));
    let bookings_per_buyer = if of_each_kind < 100 { 40 } else { 2_000 };
    raise_open_files();
    let server = Arc::new(Server::start(&[]));
    let subsections: Vec<_> =
        (1..=20).map(|number| json!({ "number": number, "rows": 50, "cols": 50 })).collect();
    let sections = json!({ "sections": [{ "name": "A", "price": 100, "subsections": subsections }] });
    let hall = Venue::create(&server, "event", &event_body("gala", &sections));
    let quiet = book(&hall, bookings_per_buyer);
    let before = server.resident_bytes();
    let small_hall = Venue::create(&server, "event", &event_body("small", &section(40, 50)));
    let bad_clients = BadClients::come(Requests::of(&small_hall), of_each_kind);
    // A thousand clients that ask for a map at once are work for the server, whatever they do with it.
    let arriving = book(&hall, bookings_per_buyer / 4);
    let beside = book(&hall, bookings_per_buyer);
    let with_all = server.resident_bytes();
    let clients = KINDS.len() * of_each_kind;
    eprintln!("buyers in a quiet run:         {}", percentiles(&quiet));
    eprintln!("buyers while {clients} bad clients arrive: {}", percentiles(&arriving));
    eprintln!("buyers beside {clients} bad clients: {}", percentiles(&beside));
    let mib = |bytes: usize| bytes / (1024 * 1024);
    eprintln!("server's memory: {} MiB before, {} MiB with all of them", mib(before), mib(with_all));
    assert!(with_all < before + BYTES_BESIDE_MAX + clients * BYTES_PER_CLIENT_MAX);
    drop(bad_clients);
    assert_eq!(server.get("/readyz").status, 200);
}
