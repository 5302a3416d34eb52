//! Many connections at once, some of them bad.
//!
//! Idle and active ones held together, slow senders cut while others are served. Prints what the server's memory comes to in each,
//! and fails if a connection that should be served is not.
use std::cell::Cell;
use std::net::SocketAddr;
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::closed_loop::closed_loop;
use crate::load::{Measured, Server, get};

const IDLE: usize = 10_000;
const ACTIVE: usize = 1_000;
const SLOW: usize = 5_000;
const SLOW_CUT_WITHIN: Duration = Duration::from_secs(10);
const OTHERS: usize = 32;
const LASTING: Duration = Duration::from_secs(4);

/// Idle ones, active ones and slow ones.
pub(crate) async fn measure() {
    raise_open_files();
    idle_and_active().await;
    slow_heads().await;
}

pub(crate) fn raise_open_files() {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("files can be opened");
}

/// A server with an empty store, which goes when it does.
pub(crate) struct Scene {
    pub(crate) server: Server,
    _directory: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn open() -> Scene {
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_boxoffice"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path().join("store"));
        Scene { server: Server::start(&mut command), _directory: directory }
    }
}

pub(crate) async fn open_all(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        streams.push(TcpStream::connect(address).await.expect("it takes connections"));
    }
    streams
}

async fn idle_and_active() {
    let scene = Scene::open();
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
    let scene = Scene::open();
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
