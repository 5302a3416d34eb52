//! Many connections at once, some of them bad.
//!
//! Idle and active ones held together, slow senders cut while others are served, live streams that nobody reads. Prints what
//! the server's memory comes to in each, and fails if a connection that should be served is not.
use std::cell::{Cell, RefCell};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::closed_loop::closed_loop;
use crate::load::{Connection, Measured, Server, get, post};

const IDLE: usize = 10_000;
const ACTIVE: usize = 1_000;
const SLOW: usize = 5_000;
const SLOW_CUT_WITHIN: Duration = Duration::from_secs(10);
const OTHERS: usize = 32;
const WATCHERS: usize = 1_000;
const WATCHED_ROUNDS: usize = 5;
const READ_BYTES: usize = 256 * 1024;
const LASTING: Duration = Duration::from_secs(4);
const BOOKERS: usize = 64;
/// One for each time that bookings are made: none of them is sold out, and tables grow in each as they do in the others.
const HALLS: usize = 3;
const BEFORE: usize = 0;
const WATCHED: usize = 1;
const AFTER: usize = 2;

/// Idle ones, active ones and slow ones.
pub(crate) async fn measure() {
    raise_open_files();
    idle_and_active().await;
    slow_heads().await;
}

fn raise_open_files() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("files can be opened");
}

struct Scene {
    server: Server,
    _directory: tempfile::TempDir,
}

async fn scene(halls: usize) -> Scene {
    let directory = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(env!("CARGO_BIN_EXE_boxoffice"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path().join("store"));
    let server = Server::start(&mut command);
    let mut connection = Connection::open(server.address).await.expect("it listens");
    for hall in 0..halls {
        let body = format!(
            r#"{{"id":"hall-{hall}","name":"Hall","currency":"TWD","sections":[{{"name":"A","price":100,"subsections":[{{"number":1,"rows":1000,"cols":1000}}]}}]}}"#
        );
        assert_eq!(connection.send(&post("/v1/events", "", &body)).await.expect("it answers").status, 201);
    }
    Scene { server, _directory: directory }
}

async fn open_all(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        streams.push(TcpStream::connect(address).await.expect("it takes connections"));
    }
    streams
}

async fn idle_and_active() {
    let scene = scene(0).await;
    let server = &scene.server;
    println!("resident with no connections: {:.0} MiB", server.resident_mib());
    let mut idle = open_all(server.address, IDLE).await;
    println!("resident with {IDLE} idle connections: {:.0} MiB", server.resident_mib());
    let show = get("/v1/bookings?limit=1");
    let mut active =
        closed_loop(server.address, ACTIVE, LASTING, move |_| show.clone(), |answer| answer.status == 200)
            .await;
    println!(
        "{ACTIVE} active beside them: {:.0} requests/s, p99 {:.1} ms; resident {:.0} MiB",
        active.per_second(),
        active.percentile(99.0).as_secs_f64() * 1_000.0,
        server.resident_mib()
    );
    let mut buffer = [0; 512];
    for stream in &mut idle {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await.expect("still open");
        let read = stream.read(&mut buffer).await.expect("still open");
        assert!(buffer[..read].starts_with(b"HTTP/1.1 200"), "an idle connection is served when it asks");
    }
    println!("all {IDLE} idle ones were served when they asked");
}

async fn others(address: SocketAddr) -> Measured {
    let show = get("/v1/bookings?limit=1");
    closed_loop(address, OTHERS, LASTING, move |_| show.clone(), |answer| answer.status == 200).await
}

async fn slow_heads() {
    let scene = scene(0).await;
    let address = scene.server.address;
    let mut before = others(address).await;
    let slow = open_all(address, SLOW).await;
    let start = Instant::now();
    let cut = Rc::new(Cell::new(Duration::ZERO));
    let local = tokio::task::LocalSet::new();
    let mut tasks = Vec::new();
    for mut stream in slow {
        let cut = Rc::clone(&cut);
        tasks.push(local.spawn_local(async move {
            let mut buffer = [0; 256];
            for byte in b"GET /v1/events HTTP/1.1\r\nhost: slow" {
                if stream.write_all(&[*byte]).await.is_err() {
                    break;
                }
                let heard = tokio::time::timeout(Duration::from_secs(1), stream.read(&mut buffer)).await;
                if matches!(heard, Ok(Ok(0) | Err(_))) {
                    break;
                }
            }
            cut.set(cut.get().max(start.elapsed()));
        }));
    }
    let mut during = local.run_until(others(address)).await;
    println!("resident with {SLOW} slow senders: {:.0} MiB", scene.server.resident_mib());
    local
        .run_until(async {
            for task in tasks {
                task.await.expect("it does not panic");
            }
        })
        .await;
    println!("{SLOW} slow senders: the last was cut after {:.1} s", cut.get().as_secs_f64());
    assert!(cut.get() < SLOW_CUT_WITHIN, "slow senders are cut in time");
    let (p99_before, p99_during) = (before.percentile(99.0), during.percentile(99.0));
    println!(
        "others' p99: {:.2} ms before, {:.2} ms meanwhile: {:.2}x (wanted at most 2)",
        p99_before.as_secs_f64() * 1_000.0,
        p99_during.as_secs_f64() * 1_000.0,
        p99_during.as_secs_f64() / p99_before.as_secs_f64()
    );
}

/// Bookings a second, and what each took of the server's processor time, in microseconds.
async fn book(server: &Server, hall: usize) -> (f64, f64) {
    let request = move |number: u64| {
        let body =
            format!(r#"{{"customer":"c{number}","event":"hall-{hall}","best_available":{{"quantity":1}}}}"#);
        post("/v1/bookings", "", &body)
    };
    let before = server.cpu_seconds();
    let booked = closed_loop(server.address, BOOKERS, LASTING, request, |answer| answer.status == 201).await;
    (booked.per_second(), (server.cpu_seconds() - before) * 1e6 / booked.latencies.len() as f64)
}

/// Bookings as fast as they go, without watchers and with them in turn. Half of the watchers read as browsers do, half never. What they read
/// takes processor time of the generator, too, so what the server takes for a booking is printed beside it.
pub(crate) async fn watchers() {
    raise_open_files();
    let (mut left, mut dearer) = (Vec::new(), Vec::new());
    for _ in 0..WATCHED_ROUNDS {
        let scene = scene(HALLS).await;
        let address = scene.server.address;
        let (before, cpu_before) = book(&scene.server, BEFORE).await;
        let mut streams = open_all(address, WATCHERS).await;
        let mut buffer = vec![0; 64 * 1024];
        for stream in &mut streams {
            let request = format!(
                "GET /v1/events/hall-{WATCHED}/stream HTTP/1.1\r\nhost: 127.0.0.1\r\naccept-encoding: gzip\r\n\r\n"
            );
            stream.write_all(request.as_bytes()).await.expect("it listens");
            assert_ne!(stream.read(&mut buffer).await.expect("it answers"), 0, "it stays open");
        }
        let local = tokio::task::LocalSet::new();
        let read = Rc::new(Cell::new(0usize));
        let unread = streams.split_off(WATCHERS / 2);
        // One buffer for all: what they read is thrown away, and memory of their own would cost the generator more than the reading.
        let buffer = Rc::new(RefCell::new(vec![0; READ_BYTES]));
        for stream in streams {
            let (read, buffer) = (Rc::clone(&read), Rc::clone(&buffer));
            local.spawn_local(async move {
                while stream.readable().await.is_ok() {
                    match stream.try_read(&mut buffer.borrow_mut()) {
                        Ok(length @ 1..) => read.set(read.get() + length),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                        Ok(_) | Err(_) => break,
                    }
                }
            });
        }
        let (watched, cpu_watched) = local.run_until(book(&scene.server, WATCHED)).await;
        let resident = scene.server.resident_mib();
        drop((local, unread));
        let (after, cpu_after) = book(&scene.server, AFTER).await;
        println!(
            "bookings: {before:.0}/s before, {watched:.0}/s with {WATCHERS} live streams, half of them unread ({} MiB read, resident {resident:.0} MiB), {after:.0}/s after; the server's CPU a booking: {cpu_before:.1}, {cpu_watched:.1}, {cpu_after:.1} us",
            read.get() / 1024 / 1024,
        );
        left.push(watched / f64::midpoint(before, after));
        dearer.push((cpu_watched / f64::midpoint(cpu_before, cpu_after) - 1.0) * 100.0);
    }
    left.sort_by(f64::total_cmp);
    let lost = left.iter().map(|left| (1.0 - left) * 100.0).collect::<Vec<_>>();
    println!("lost to watchers: {:.1} % (median of {lost:.1?}; wanted at most 5)", lost[WATCHED_ROUNDS / 2]);
    dearer.sort_by(f64::total_cmp);
    println!("bookings took {:.1} % more of the server (median of {dearer:.1?})", dearer[WATCHED_ROUNDS / 2]);
}
