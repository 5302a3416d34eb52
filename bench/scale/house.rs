//! A server with so many events, seats and bookings, and whoever books there.

use std::cell::Cell;
use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::load::{Answer, Connection, Measured, Server, get, post};

/// Callers with one request at a time each.
const CALLERS: u64 = 64;
/// Bookings in one request while the house is filled.
const BATCH: u64 = 5_000;

/// What is there before anything is measured.
pub(crate) struct Stock {
    pub(crate) events: u64,
    /// In each event.
    pub(crate) seats: u64,
    /// In all of them, sold.
    pub(crate) bookings: u64,
}

/// What callers do again and again, under a new key each time.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Hold the best seat of the last event.
    Hold,
    /// Hold the best seat of one event after the other and give it back, so that a small hall is not sold out.
    HoldAndCancel,
}

pub(crate) struct House {
    pub(crate) server: Server,
    directory: tempfile::TempDir,
    events: u64,
    /// Nobody books twice.
    customers: Rc<Cell<u64>>,
}

impl House {
    pub(crate) async fn fill(stock: &Stock) -> House {
        let directory = tempfile::tempdir().expect("a directory");
        let server = start(&directory.path().join("store"));
        let house = House { server, directory, events: stock.events, customers: Rc::default() };
        let rows = stock.seats.div_ceil(1_000).max(10);
        let columns = stock.seats / rows;
        let hall = move |event: u64| {
            format!(
                r#"{{"id":"e{event}","name":"Hall","currency":"TWD","sections":[{{"name":"A","price":100,"subsections":[{{"number":1,"rows":{rows},"cols":{columns}}}]}}]}}"#
            )
        };
        together(
            house.server.address,
            stock.events,
            CALLERS,
            move |event| post("/v1/events", "", &hall(event)),
            201,
            |_| true,
        )
        .await;
        let (events, batches) = (stock.events, stock.bookings / BATCH);
        let each = batches.div_ceil(events);
        let request = move |batch: u64| batch_of(batch / each, batch * BATCH..(batch + 1) * BATCH);
        let all_sold = |answer: &Answer<'_>| {
            let text = String::from_utf8_lossy(answer.body);
            text.matches(r#""status":"confirmed""#).count() as u64 == BATCH
        };
        together(house.server.address, batches, 2, request, 200, all_sold).await;
        house
    }

    /// Keeps the callers busy for a while.
    pub(crate) async fn drive(&self, work: Work, lasting: Duration) -> Measured {
        let (address, events) = (self.server.address, self.events);
        let local = tokio::task::LocalSet::new();
        let start = Instant::now();
        let tasks: Vec<_> = (0..CALLERS)
            .map(|_| {
                let customers = Rc::clone(&self.customers);
                local.spawn_local(async move {
                    let mut connection = Connection::open(address).await.expect("it listens");
                    let mut latencies = Vec::new();
                    while start.elapsed() < lasting {
                        let customer = customers.replace(customers.get() + 1);
                        let event = match work {
                            Work::Hold => events - 1,
                            Work::HoldAndCancel => customer % events,
                        };
                        let sent = Instant::now();
                        let booking = book(&mut connection, event, customer).await;
                        latencies.push(sent.elapsed());
                        if let Work::HoldAndCancel = work {
                            let request = post(&format!("/v1/bookings/{booking}/cancel"), "", "{}");
                            expect(&mut connection, &request, 200).await;
                        }
                    }
                    latencies
                })
            })
            .collect();
        let mut latencies = Vec::new();
        local
            .run_until(async {
                for task in tasks {
                    latencies.extend(task.await.expect("it does not panic"));
                }
            })
            .await;
        Measured { latencies, took: start.elapsed() }
    }

    /// How long the map of one event takes, and its bytes.
    pub(crate) async fn read_map(&self) -> (Duration, usize) {
        let mut connection = Connection::open(self.server.address).await.expect("it listens");
        let start = Instant::now();
        let answer = expect(&mut connection, &get("/v1/events/e0/seats"), 200).await;
        (start.elapsed(), answer.body.len())
    }

    /// Starts the server again after it was ended: until it listens, and until it has booked.
    pub(crate) async fn restart(&mut self, end: fn(&mut Server)) -> (Duration, Duration) {
        end(&mut self.server);
        let begun = Instant::now();
        self.server = start(&self.store());
        let ready = begun.elapsed();
        let mut connection = Connection::open(self.server.address).await.expect("it listens");
        let customer = self.customers.replace(self.customers.get() + 1);
        book(&mut connection, self.events - 1, customer).await;
        (ready, begun.elapsed())
    }

    pub(crate) fn stored_mib(&self) -> f64 {
        let files = std::fs::read_dir(self.store()).expect("a store");
        let bytes: u64 = files.map(|file| file.and_then(|file| file.metadata()).expect("a file").len()).sum();
        bytes as f64 / 1024.0 / 1024.0
    }

    fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }
}

fn start(store: &std::path::Path) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boxoffice"));
    Server::start(command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(store))
}

/// Holds a seat; the booking's id.
async fn book(connection: &mut Connection, event: u64, customer: u64) -> String {
    let body =
        format!(r#"{{"customer":"c{customer}","event":"e{event}","best_available":{{"quantity":1}}}}"#);
    let request = post("/v1/bookings", &format!("idempotency-key: k{customer}\r\n"), &body);
    let answer = expect(connection, &request, 201).await;
    let text = std::str::from_utf8(answer.body).expect("text");
    let (_, id) = text.split_once(r#""id":""#).expect("a booking has an id");
    id.split('"').next().expect("it ends").to_owned()
}

async fn expect<'a>(connection: &'a mut Connection, request: &[u8], status: u16) -> Answer<'a> {
    let answer = connection.send(request).await.expect("it answers");
    assert_eq!(answer.status, status, "{}", String::from_utf8_lossy(answer.body));
    answer
}

fn batch_of(event: u64, customers: std::ops::Range<u64>) -> Vec<u8> {
    let mut body = r#"{"commands":["#.to_owned();
    for customer in customers.clone() {
        let comma = if customer == customers.start { "" } else { "," };
        write!(
            body,
            r#"{comma}{{"op":"book","idempotency_key":"s{customer}","customer":"s{customer}","event":"e{event}","confirm":true,"best_available":{{"quantity":1}}}}"#
        )
        .expect("a string takes everything");
    }
    body.push_str("]}");
    post("/v1/batch", "", &body)
}

/// Sends so many requests, some callers at the same time; all must be answered as wanted.
async fn together(
    address: SocketAddr,
    requests: u64,
    callers: u64,
    request: impl Fn(u64) -> Vec<u8> + Clone + 'static,
    status: u16,
    is_right: fn(&Answer<'_>) -> bool,
) {
    let next = Rc::new(Cell::new(0));
    let local = tokio::task::LocalSet::new();
    let tasks: Vec<_> = (0..callers.min(requests))
        .map(|_| {
            let (next, request) = (Rc::clone(&next), request.clone());
            local.spawn_local(async move {
                let mut connection = Connection::open(address).await.expect("it listens");
                while next.get() < requests {
                    let number = next.replace(next.get() + 1);
                    let answer = expect(&mut connection, &request(number), status).await;
                    assert!(is_right(&answer), "{}", String::from_utf8_lossy(answer.body));
                }
            })
        })
        .collect();
    local
        .run_until(async {
            for task in tasks {
                task.await.expect("it does not panic");
            }
        })
        .await;
}
