//! What a thousand live streams of one hall cost those who buy in it.
//!
//! Two servers stand side by side, one that nobody watches and one with all the watchers, and are driven in turn for a short while each: what
//! the machine's neighbours do meets both alike. Half of the watchers read as browsers do, half never. What they read takes processor
//! time of the generator, too, so what the servers take for a booking is printed beside it.

use std::cell::{Cell, RefCell};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, LocalSet};

use crate::closed_loop::closed_loop_after;
use crate::connections::{Scene, open_all, raise_open_files};
use crate::host::Host;
use crate::load::{Connection, post};

const WATCHERS: usize = 1_000;
const READ_BYTES: usize = 256 * 1024;
const BOOKERS: usize = 256;
/// Each on servers of its own, whose halls fill alike and are never sold out.
const ROUNDS: usize = 13;
/// Of each server in a round.
const TURNS: usize = 3;
/// Longer than changes gather before they are sent: from then on as much is sent as is booked.
const LEAD_IN: Duration = Duration::from_millis(1_100);
/// A multiple of the time that changes gather.
const LASTING: Duration = Duration::from_millis(2_000);
/// Until what gathered last is sent, too.
const QUIET: Duration = Duration::from_millis(1_100);

/// A server with its hall.
struct Hall {
    scene: Scene,
    per_second: Vec<f64>,
    /// The same by the share of the processors that the host gave meanwhile, lead-in included.
    per_second_given: Vec<f64>,
    /// Microseconds of the server's processors for each booking.
    cpu_us: Vec<f64>,
}

impl Hall {
    async fn open() -> Hall {
        let scene = Scene::open();
        let mut connection = Connection::open(scene.server.address).await.expect("it listens");
        let body = r#"{"id":"hall","name":"Hall","currency":"TWD","sections":[{"name":"A","price":100,"subsections":[{"number":1,"rows":1000,"cols":1000}]}]}"#;
        assert_eq!(connection.send(&post("/v1/events", "", body)).await.expect("it answers").status, 201);
        Hall { scene, per_second: Vec::new(), per_second_given: Vec::new(), cpu_us: Vec::new() }
    }

    /// Books as fast as it goes, and waits until all is told.
    async fn book(&mut self) {
        let server = &self.scene.server;
        let booked = Rc::new(Cell::new(0));
        let request = {
            let booked = Rc::clone(&booked);
            move |number: u64| {
                booked.set(booked.get() + 1);
                let body =
                    format!(r#"{{"customer":"c{number}","event":"hall","best_available":{{"quantity":1}}}}"#);
                post("/v1/bookings", "", &body)
            }
        };
        let before = server.cpu_seconds();
        let host = Host::watch();
        let measured = closed_loop_after(LEAD_IN, server.address, BOOKERS, LASTING, request, |answer| {
            answer.status == 201
        });
        let per_second = measured.await.per_second();
        self.per_second.push(per_second);
        self.per_second_given.push(per_second / host.share_given());
        tokio::time::sleep(QUIET).await;
        self.cpu_us.push((server.cpu_seconds() - before) * 1e6 / f64::from(booked.get()));
    }
}

/// Bookings as fast as they go, without watchers and with them in turn.
pub(crate) async fn measure() {
    raise_open_files();
    let (mut lost, mut lost_of_given, mut dearer) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (mut alone, mut watched) = (Hall::open().await, Hall::open().await);
        let streams = watch(watched.scene.server.address).await;
        let (local, read) = (LocalSet::new(), Rc::new(Cell::new(0)));
        let (readers, unread) = read_half(streams, &local, &read);
        local
            .run_until(async {
                for turn in 0..TURNS {
                    // Who comes first changes: neither always follows the other.
                    if turn % 2 == 0 {
                        alone.book().await;
                        watched.book().await;
                    } else {
                        watched.book().await;
                        alone.book().await;
                    }
                }
            })
            .await;
        // How much more the second is than the first.
        let percents = |first: &[f64], second: &[f64]| -> Vec<f64> {
            first.iter().zip(second).map(|(first, second)| (second / first - 1.0) * 100.0).collect()
        };
        println!(
            "bookings/s {:.0?} alone, {:.0?} with {WATCHERS} live streams, half of them unread ({} MiB read, resident {:.0} MiB, {:.0} MiB alone)",
            alone.per_second,
            watched.per_second,
            read.get() / 1024 / 1024,
            watched.scene.server.resident_mib(),
            alone.scene.server.resident_mib(),
        );
        assert!(readers.iter().all(|reader| !reader.is_finished()), "a stream ended");
        let less = |first, second| percents(first, second).iter().map(|more| -more).collect::<Vec<f64>>();
        lost.push(less(&alone.per_second, &watched.per_second));
        lost_of_given.push(less(&alone.per_second_given, &watched.per_second_given));
        dearer.push(percents(&alone.cpu_us, &watched.cpu_us));
        drop((local, unread));
    }
    print_spread("lost to watchers", " (at most 5 wanted)", &lost);
    print_spread("the same, by the processor time that the host gave", "", &lost_of_given);
    print_spread("bookings took more of the server", "", &dearer);
}

/// Of pairs, round by round. The error is that of the rounds' means: pairs of one round have their servers in common.
fn print_spread(what: &str, wanted: &str, rounds: &[Vec<f64>]) {
    let mut pairs = rounds.concat();
    pairs.sort_by(f64::total_cmp);
    let count = pairs.len();
    let mean_of = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means: Vec<f64> = rounds.iter().map(|round| mean_of(round)).collect();
    let mean = mean_of(&means);
    let squares: Vec<f64> = means.iter().map(|of_round| (of_round - mean).powi(2)).collect();
    let error = (squares.iter().sum::<f64>() / (ROUNDS * (ROUNDS - 1)) as f64).sqrt();
    println!(
        "{what}: {:.1} %{wanted}, median of {count} pairs; half of them {:.1} to {:.1} %; mean {mean:.1} with a standard error of {error:.1}",
        pairs[count / 2],
        pairs[count / 4],
        pairs[count * 3 / 4],
    );
}

async fn watch(address: SocketAddr) -> Vec<TcpStream> {
    let mut streams = open_all(address, WATCHERS).await;
    let mut buffer = vec![0; 64 * 1024];
    for stream in &mut streams {
        let request =
            b"GET /v1/events/hall/stream HTTP/1.1\r\nhost: 127.0.0.1\r\nsec-fetch-site: same-origin\r\naccept-encoding: gzip, deflate, br, zstd\r\n\r\n";
        stream.write_all(request).await.expect("it listens");
        let read = stream.read(&mut buffer).await.expect("it answers");
        let head = String::from_utf8_lossy(&buffer[..read]);
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("content-encoding: zstd"), "{head}");
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
