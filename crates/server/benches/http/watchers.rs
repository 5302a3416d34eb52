//! What a thousand live streams of one hall cost those who buy in it.
//!
//! Two servers stand side by side, one that nobody watches and one with all the watchers. Each in turn books as fast as it goes for a moment in
//! which the other is stopped as a debugger stops a process, so that nothing it has still to do, or to send, is paid for by the other, and what the
//! machine's neighbours do meets both alike. Half of the watchers read, half never. What they read takes processor
//! time of the generator, too, so what the servers take for a booking is printed beside it.

use std::cell::{Cell, RefCell};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, LocalSet};

use crate::connections::{Scene, open_all, raise_open_files};
use crate::host::Host;
use crate::in_turn;
use crate::load::{Connection, post};

const WATCHERS: usize = 1_000;
const READ_BYTES: usize = 256 * 1024;
const BOOKERS: usize = 256;
/// Each on servers of its own, whose halls fill alike and are never sold out.
const ROUNDS: usize = 16;
/// Of each server in a round, all in less time than it takes until streams are cut that nobody reads.
const SLICES: usize = 12;
/// The first slices, which do not count: connections are made, and streams that nobody reads fill up.
const LEAD_IN_SLICES: usize = 2;
/// A little less than changes gather before they are sent to so many, and than an inventory has to be quiet before a snapshot is made of it. So in each slice
/// goes out what was booked in the one before, once, as it does without stops.
const SLICE: Duration = Duration::from_millis(900);

/// How what watchers are told comes.
#[derive(Clone, Copy)]
pub(crate) enum Packing {
    /// As to browsers.
    Zstd,
    /// As to most libraries.
    Gzip,
    /// As to whoever does not ask for either.
    Plain,
}

impl Packing {
    /// What watchers say, and what must be in the answer.
    fn headers(self) -> (&'static str, &'static str) {
        match self {
            Packing::Zstd => (
                "sec-fetch-site: same-origin\r\naccept-encoding: gzip, deflate, br, zstd\r\n",
                "content-encoding: zstd",
            ),
            Packing::Gzip => ("accept-encoding: gzip, deflate\r\n", "content-encoding: gzip"),
            Packing::Plain => ("", "content-type: text/event-stream"),
        }
    }
}

/// A server with its hall, stopped but for its slices.
struct Hall {
    scene: Scene,
    booked: Rc<Cell<u64>>,
    /// Bookings, seconds, seconds of the server's processors, and bytes that watchers read, of each slice.
    slices: Vec<[f64; 4]>,
}

impl Hall {
    async fn open(binary: &Path) -> Hall {
        let scene = Scene::open(binary);
        let mut connection = Connection::open(scene.server.address).await.expect("it listens");
        let body = r#"{"id":"hall","name":"Hall","currency":"TWD","sections":[{"name":"A","price":100,"subsections":[{"number":1,"rows":1000,"cols":1000}]}]}"#;
        assert_eq!(connection.send(&post("/v1/events", "", body)).await.expect("it answers").status, 201);
        Hall { scene, booked: Rc::default(), slices: Vec::new() }
    }

    /// Books as fast as it goes from now on, whenever the server is not stopped.
    async fn open_sales(&self, local: &LocalSet) -> Vec<JoinHandle<()>> {
        let mut bookers = Vec::new();
        for _ in 0..BOOKERS {
            let mut connection = Connection::open(self.scene.server.address).await.expect("it listens");
            let booked = Rc::clone(&self.booked);
            bookers.push(local.spawn_local(async move {
                loop {
                    let number = booked.get();
                    booked.set(number + 1);
                    let body = format!(
                        r#"{{"customer":"c{number}","event":"hall","best_available":{{"quantity":1}}}}"#
                    );
                    let answer = connection.send(&post("/v1/bookings", "", &body)).await.expect("it answers");
                    assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(answer.body));
                }
            }));
        }
        bookers
    }

    async fn slice(&mut self, read: &Cell<usize>) {
        let server = &self.scene.server;
        let (booked, already_read) = (self.booked.get(), read.get());
        let (cpu_seconds, start) = (server.cpu_seconds(), Instant::now());
        server.signal(Signal::CONT);
        tokio::time::sleep(SLICE).await;
        server.signal(Signal::STOP);
        let seconds = start.elapsed().as_secs_f64();
        let (booked, read) = (self.booked.get() - booked, read.get() - already_read);
        self.slices.push([booked as f64, seconds, server.cpu_seconds() - cpu_seconds, read as f64]);
    }

    /// Bookings a second, microseconds of the server's processors for each, and MiB that watchers read.
    fn rates(&self) -> [f64; 3] {
        let sum = |index: usize| self.slices[LEAD_IN_SLICES..].iter().map(|slice| slice[index]).sum::<f64>();
        [sum(0) / sum(1), sum(2) / sum(0) * 1e6, sum(3) / 1024.0 / 1024.0]
    }
}

/// Bookings as fast as they go, without watchers and with them in turn, on one build or several.
pub(crate) async fn measure(builds: &[String], packing: Packing) {
    raise_open_files();
    let mut found = vec![(Vec::new(), Vec::new()); builds.len()];
    for round in 0..ROUNDS {
        for index in in_turn(round, builds.len()) {
            let (lost, dearer) = round_of(Path::new(&builds[index]), packing).await;
            found[index].0.push(lost);
            found[index].1.push(dearer);
        }
    }
    for (build, (lost, dearer)) in builds.iter().zip(&mut found) {
        print_spread("lost to watchers (at most 5 % wanted)", lost, build);
        print_spread("bookings took more of the server", dearer, build);
    }
}

/// By how many per cent fewer bookings were made beside watchers, and by how many each took more of the server.
async fn round_of(binary: &Path, packing: Packing) -> (f64, f64) {
    let (mut alone, mut watched) = (Hall::open(binary).await, Hall::open(binary).await);
    let streams = watch(watched.scene.server.address, packing).await;
    let (local, read) = (LocalSet::new(), Rc::new(Cell::new(0)));
    let (mut at_work, unread) = read_half(streams, &local, &read);
    alone.scene.server.signal(Signal::STOP);
    watched.scene.server.signal(Signal::STOP);
    let host = Host::watch();
    local
        .run_until(async {
            at_work.extend(alone.open_sales(&local).await);
            at_work.extend(watched.open_sales(&local).await);
            for slice in 0..SLICES {
                // Who comes first changes: neither always follows the other.
                let mut halls = [&mut alone, &mut watched];
                halls.rotate_left(slice % 2);
                for hall in halls {
                    hall.slice(&read).await;
                }
            }
        })
        .await;
    let [alone_rate, alone_cpu_us, read_late] = alone.rates();
    let [watched_rate, watched_cpu_us, read_in_time] = watched.rates();
    println!(
        "bookings/s {alone_rate:.0} alone, {watched_rate:.0} with {WATCHERS} live streams, half of them unread; CPU {alone_cpu_us:.1} and {watched_cpu_us:.1} us each; {read_in_time:.0} MiB read meanwhile, {read_late:.0} beside the other; resident {:.0} and {:.0} MiB; others had {:.0} % of the processors",
        alone.scene.server.resident_mib(),
        watched.scene.server.resident_mib(),
        (1.0 - host.share_given()) * 100.0,
    );
    assert!(at_work.iter().all(|task| !task.is_finished()), "a stream ended, or a booking was refused");
    drop((local, unread));
    ((1.0 - watched_rate / alone_rate) * 100.0, (watched_cpu_us / alone_cpu_us - 1.0) * 100.0)
}

fn print_spread(what: &str, rounds: &mut [f64], build: &str) {
    rounds.sort_by(f64::total_cmp);
    let count = rounds.len();
    let mean = rounds.iter().sum::<f64>() / count as f64;
    let squares = rounds.iter().map(|of_round| (of_round - mean).powi(2)).sum::<f64>();
    let error = (squares / (count * (count - 1)) as f64).sqrt();
    println!(
        "{what}: {mean:.1} % with a standard error of {error:.1}, mean of {count} rounds; their median {:.1}, half of them {:.1} to {:.1} ({build})",
        rounds[count / 2],
        rounds[count / 4],
        rounds[count * 3 / 4],
    );
}

async fn watch(address: SocketAddr, packing: Packing) -> Vec<TcpStream> {
    let mut streams = open_all(address, WATCHERS).await;
    let mut buffer = vec![0; 64 * 1024];
    let (said, answered) = packing.headers();
    let request = format!("GET /v1/events/hall/stream HTTP/1.1\r\nhost: 127.0.0.1\r\n{said}\r\n");
    for stream in &mut streams {
        stream.write_all(request.as_bytes()).await.expect("it listens");
        let read = stream.read(&mut buffer).await.expect("it answers");
        let head = String::from_utf8_lossy(&buffer[..read]);
        assert!(head.starts_with("HTTP/1.1 200") && head.contains(answered), "{head}");
    }
    streams
}

/// Lets half of them read; those that do and those that do not.
fn read_half(
    mut streams: Vec<TcpStream>,
    local: &LocalSet,
    read: &Rc<Cell<usize>>,
) -> (Vec<JoinHandle<()>>, Vec<TcpStream>) {
    let unread = streams.split_off(streams.len() / 2);
    // One buffer for all: what they read is thrown away, and memory of their own would cost the generator more than the reading.
    let buffer = Rc::new(RefCell::new(vec![0; READ_BYTES]));
    let reader = |stream: TcpStream| {
        let (read, buffer) = (Rc::clone(read), Rc::clone(&buffer));
        local.spawn_local(async move {
            while stream.readable().await.is_ok() {
                match stream.try_read(&mut buffer.borrow_mut()) {
                    Ok(length @ 1..) => read.set(read.get() + length),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Ok(_) | Err(_) => break,
                }
            }
        })
    };
    (streams.into_iter().map(reader).collect(), unread)
}
