//! Many connections at once, some of them bad.
//!
//! Idle and active ones held together, slow senders cut while others are served. Prints what the server's memory comes to in each,
//! and fails if a connection that should be served is not.
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::closed_loop::closed_loop;
use crate::load::{Measured, Server, get};
use crate::{THIS_BUILD, boxoffice};

const IDLE: usize = 10_000;
const ACTIVE: usize = 1_000;
const SLOW: usize = 5_000;
/// What others wait for is short, and differs by as much from one time to the next.
const SLOW_ROUNDS: usize = 5;
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
    pub(crate) fn open(binary: &Path) -> Scene {
        let directory = tempfile::tempdir().expect("a directory");
        Scene { server: boxoffice(binary, directory.path()), _directory: directory }
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
    let scene = Scene::open(Path::new(THIS_BUILD));
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
    let mut ratios = Vec::new();
    for _ in 0..SLOW_ROUNDS {
        ratios.push(slow_heads_beside_others().await);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "others' p99 beside slow senders / before them: {:.2} (median of {ratios:.2?}; wanted at most 2)",
        ratios[SLOW_ROUNDS / 2]
    );
}

/// How many times as long others wait.
async fn slow_heads_beside_others() -> f64 {
    let scene = Scene::open(Path::new(THIS_BUILD));
    let address = scene.server.address;
    let mut before = others(address).await;
    let slow = open_all(address, SLOW).await;
    // By a thread of their own: whoever measures what others wait for must not be late for what slow ones do.
    let slow: Vec<_> = slow.into_iter().map(|stream| stream.into_std().expect("a socket")).collect();
    let cut = std::thread::spawn(move || cut_after(slow));
    let mut during = others(address).await;
    println!("resident with {SLOW} slow senders: {:.0} MiB", scene.server.resident_mib());
    let cut = cut.join().expect("it does not panic");
    println!("{SLOW} slow senders: the last was cut after {:.1} s", cut.as_secs_f64());
    assert!(cut < SLOW_CUT_WITHIN, "slow senders are cut in time");
    let (p99_before, p99_during) = (before.percentile(99.0), during.percentile(99.0));
    let ratio = p99_during.as_secs_f64() / p99_before.as_secs_f64();
    println!(
        "others' p99: {:.2} ms before, {:.2} ms meanwhile: {ratio:.2}x",
        p99_before.as_secs_f64() * 1_000.0,
        p99_during.as_secs_f64() * 1_000.0,
    );
    ratio
}

/// Sends a byte a second on each until the server hangs up; after how long the last was cut.
fn cut_after(slow: Vec<std::net::TcpStream>) -> Duration {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let start = Instant::now();
    runtime.block_on(async {
        let send_slowly = |stream: std::net::TcpStream| async move {
            let mut stream = TcpStream::from_std(stream).expect("a socket");
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
            start.elapsed()
        };
        let tasks: Vec<_> = slow.into_iter().map(|stream| tokio::spawn(send_slowly(stream))).collect();
        let mut last = Duration::ZERO;
        for task in tasks {
            last = last.max(task.await.expect("it does not panic"));
        }
        last
    })
}
