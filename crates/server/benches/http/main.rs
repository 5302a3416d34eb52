//! Bookings over HTTP beside an echo server on the same stack, and many connections at once:
//! `cargo bench -p boxoffice-server --bench http [-- bookings | waits | batches | connections | watchers]`.
//!
//! The echo server is axum on hyper with the same runtime, in a process of its own, and answers each request with its own
//! body. What lies between the two is ours: JSON, routing, rules, the journal, the disk.
#![expect(clippy::print_stdout, reason = "it prints what it found")]

mod closed_loop;
mod connections;
mod load;
mod open_loop;
mod watchers;

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use closed_loop::closed_loop;
use load::{Answer, Connection, Measured, Server, post, print_machine};
use open_loop::OpenLoop;

const CONNECTIONS: usize = 256;
const LASTING: Duration = Duration::from_secs(4);
const ROUNDS: usize = 3;
/// Many short ones: a machine that others use stands still for a moment now and then, which is the p99 of the round it falls into.
const WAITS_ROUNDS: usize = 11;
const WAITS_LASTING: Duration = Duration::from_secs(2);
const BATCH_COMMANDS: usize = 5_000;
const BATCH_CONNECTIONS: usize = 4;
/// What a commit of some twenty bookings writes.
const COMMIT_PAGES: u64 = 2;
/// At least so many, which take less time than bookings are driven for.
const SYNCS: u64 = 300;
const BETWEEN_SYNCS: Duration = Duration::from_millis(3);
/// Places in a file that are written in turn.
const SLOTS: u64 = 16;
const ECHO: &str = "BOXOFFICE_BENCH_ECHO";

fn main() {
    if std::env::var_os(ECHO).is_some() {
        return echo();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let wanted = std::env::args().nth(1).filter(|argument| argument != "--bench");
    runtime.block_on(async {
        print_machine();
        let is_wanted = |part| wanted.as_deref().is_none_or(|wanted| wanted == part);
        if is_wanted("bookings") {
            bookings().await;
        }
        if is_wanted("waits") {
            waits().await;
        }
        if is_wanted("batches") {
            batches().await;
        }
        if is_wanted("connections") {
            connections::measure().await;
        }
        if is_wanted("watchers") {
            watchers::measure().await;
        }
    });
}

/// Answers every request with its body.
fn echo() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        eprintln!("listening on http://{}", listener.local_addr().expect("bound"));
        let router = axum::Router::new()
            .route("/v1/bookings", axum::routing::post(|body: axum::body::Bytes| async { body }));
        let mut router = router.into_make_service();
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("a socket");
            let service = tower_service::Service::call(&mut router, ()).await.expect("infallible");
            let service = hyper_util::service::TowerToHyperService::new(service);
            let io = hyper_util::rt::TokioIo::new(stream);
            tokio::spawn(async move {
                drop(hyper::server::conn::http1::Builder::new().serve_connection(io, service).await);
            });
        }
    });
}

fn boxoffice(directory: &std::path::Path) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_boxoffice"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.join("store"));
    Server::start(&mut command)
}

fn booking(round: usize, number: u64) -> Vec<u8> {
    let body = format!(
        r#"{{"customer":"customer-{round}-{number}","event":"hall","best_available":{{"quantity":1}}}}"#
    );
    post("/v1/bookings", &format!("idempotency-key: key-{round}-{number}\r\n"), &body)
}

async fn create_hall(server: &Server, id: &str) {
    let body = format!(
        r#"{{"id":"{id}","name":"Hall","currency":"TWD","sections":[{{"name":"A","price":100,"subsections":[{}]}}]}}"#,
        (1..=400)
            .map(|number| format!(r#"{{"number":{number},"rows":50,"cols":50}}"#))
            .collect::<Vec<_>>()
            .join(",")
    );
    let mut connection = Connection::open(server.address).await.expect("it listens");
    let answer = connection.send(&post("/v1/events", "", &body)).await.expect("it answers");
    assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
}

async fn bookings() {
    println!(
        "{CONNECTIONS} connections, one request at a time each, {ROUNDS} rounds of {} s in turn",
        LASTING.as_secs()
    );
    let mut ratios = Vec::new();
    println!("{:>24} {:>12} {:>9} {:>9} {:>14}", "", "requests/s", "p50 ms", "p99 ms", "CPU us/request");
    for round in 0..ROUNDS {
        let echo = Server::start(Command::new(std::env::current_exe().expect("this program")).env(ECHO, "1"));
        let mut echoed = closed_loop(
            echo.address,
            CONNECTIONS,
            LASTING,
            move |number| booking(round, number),
            |answer| answer.status == 200,
        )
        .await;
        print_row("echo", &mut echoed, echo.cpu_seconds());
        drop(echo);
        ratios.push(peak(round).await / echoed.per_second());
    }
    ratios.sort_by(f64::total_cmp);
    println!("bookings / echo: {:.2} (median of {ratios:.2?}); wanted 0.5", ratios[ROUNDS / 2]);
}

/// As many bookings a second as there can be.
async fn peak(round: usize) -> f64 {
    let directory = tempfile::tempdir().expect("a directory");
    let server = boxoffice(directory.path());
    create_hall(&server, "hall").await;
    let before = server.cpu_seconds();
    let mut booked = closed_loop(
        server.address,
        CONNECTIONS,
        LASTING,
        move |number| booking(round, number),
        |answer| answer.status == 201,
    )
    .await;
    print_row("POST /v1/bookings", &mut booked, server.cpu_seconds() - before);
    booked.per_second()
}

async fn waits() {
    let mut peaks = Vec::new();
    for round in 0..ROUNDS {
        peaks.push(peak(round).await);
    }
    peaks.sort_by(f64::total_cmp);
    let mut rounds = Vec::new();
    for _ in 0..WAITS_ROUNDS {
        rounds.push(half_load(peaks[ROUNDS / 2] / 2.0).await);
    }
    let mut print = |what: &str, of: fn(&mut Waits) -> &mut Measured| {
        let p99 = |measured: &mut Measured| measured.percentile(99.0).as_secs_f64();
        let mut ratios: Vec<f64> =
            rounds.iter_mut().map(|round| p99(&mut round.bookings) / p99(of(round))).collect();
        ratios.sort_by(f64::total_cmp);
        let mut all = |of: fn(&mut Waits) -> &mut Measured| {
            let latencies = rounds.iter_mut().flat_map(|round| of(round).latencies.clone()).collect();
            p99(&mut Measured { latencies, took: Duration::ZERO })
        };
        let of_all = all(|round| &mut round.bookings) / all(of);
        println!(
            "p99 of bookings at half the peak / p99 of {what}: {:.1} (median of {ratios:.1?}); of all rounds together {of_all:.1}",
            ratios[WAITS_ROUNDS / 2]
        );
    };
    print("a sync before it (at most 3 wanted)", |round| &mut round.quiet);
    print("a sync meanwhile (at most 3 wanted)", |round| &mut round.meanwhile);
    print("an echo server at the same rate", |round| &mut round.echo);
}

/// What was waited for in one round.
struct Waits {
    bookings: Measured,
    /// Syncs on a quiet disk.
    quiet: Measured,
    /// Syncs beside the bookings, which wait for processors and for the server's own syncs, too.
    meanwhile: Measured,
    echo: Measured,
}

/// What callers of a server that does nothing wait for at the same rate: for processors and the network.
fn echo_at(per_second: f64) -> Measured {
    let echo = Server::start(Command::new(std::env::current_exe().expect("this program")).env(ECHO, "1"));
    let request = |number| booking(9, number);
    let mut echoed =
        OpenLoop::open(echo.address, CONNECTIONS, 200, request).drive(per_second, WAITS_LASTING, request);
    println!(
        "echo at half the peak of bookings: p50 {:.2} ms, p99 {:.2} ms",
        ms(echoed.percentile(50.0)),
        ms(echoed.percentile(99.0))
    );
    echoed
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

fn print_row(name: &str, measured: &mut Measured, cpu_seconds: f64) {
    let (p50, p99) = (ms(measured.percentile(50.0)), ms(measured.percentile(99.0)));
    let cpu = cpu_seconds * 1e6 / measured.latencies.len() as f64;
    println!("{name:>24} {:>12.0} {p50:>9.2} {p99:>9.2} {cpu:>14.1}", measured.per_second());
}

/// Requests at a steady rate: see [`OpenLoop`].
async fn half_load(per_second: f64) -> Waits {
    let echo = echo_at(per_second);
    let directory = tempfile::tempdir().expect("a directory");
    let mut quiet = syncs(directory.path(), || false);
    let server = boxoffice(directory.path());
    create_hall(&server, "hall").await;
    let mut callers = OpenLoop::open(server.address, CONNECTIONS, 201, |number| booking(8, number));
    let before = server.cpu_seconds();
    let is_over = Arc::new(AtomicBool::new(false));
    let meanwhile = std::thread::spawn({
        let (directory, is_over) = (directory.path().to_owned(), Arc::clone(&is_over));
        move || syncs(&directory, || !is_over.load(Ordering::Relaxed))
    });
    let mut measured = callers.drive(per_second, WAITS_LASTING, |number| booking(9, number));
    is_over.store(true, Ordering::Relaxed);
    let mut meanwhile = meanwhile.join().expect("it does not panic");
    let p99 = ms(measured.percentile(99.0));
    println!(
        "bookings at half the peak ({per_second:.0}/s offered, {:.0}/s answered): p50 {:.2} ms, p99 {p99:.2} ms; {:.1} us CPU each",
        measured.per_second(),
        ms(measured.percentile(50.0)),
        (server.cpu_seconds() - before) * 1e6 / measured.latencies.len() as f64,
    );
    let print = |when: &str, syncs: &mut Measured| {
        let (sync_p50, sync_p99) = (ms(syncs.percentile(50.0)), ms(syncs.percentile(99.0)));
        let long = p99 / sync_p99;
        println!(
            "  a sync of {COMMIT_PAGES} pages on the same disk, {when}: p50 {sync_p50:.2} ms, p99 {sync_p99:.2} ms; {long:.1} of these"
        );
    };
    print("before", &mut quiet);
    print("meanwhile", &mut meanwhile);
    Waits { bookings: measured, quiet, meanwhile, echo }
}

/// What the disk takes to make as many pages durable as a commit writes, in a file that has them already, now and then: [`SYNCS`] times, and
/// for as long as there is something beside which it is measured.
fn syncs(directory: &std::path::Path, goes_on: impl Fn() -> bool) -> Measured {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::create(directory.join("pages")).expect("a file");
    let mut measured = Measured::default();
    let start = Instant::now();
    for turn in 0.. {
        if turn >= SYNCS + SLOTS && !goes_on() {
            break;
        }
        std::thread::sleep(BETWEEN_SYNCS);
        let begun = Instant::now();
        for page in 0..COMMIT_PAGES {
            let at = (turn % SLOTS * COMMIT_PAGES + page) * 4096;
            file.write_all_at(&[turn as u8; 4096], at).expect("it is written");
        }
        file.sync_data().expect("it is durable");
        // The first ones make the file longer.
        if turn >= SLOTS {
            measured.latencies.push(begun.elapsed());
        }
    }
    measured.took = start.elapsed();
    measured
}

async fn batches() {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        rates.push(batches_of_one_hall().await);
    }
    rates.sort_by(f64::total_cmp);
    println!("bookings/s in batches: {:.0} (median of {rates:.0?}); wanted 300000", rates[ROUNDS / 2]);
}

/// Half a million bookings; how many a second.
async fn batches_of_one_hall() -> f64 {
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = boxoffice(directory.path());
    create_hall(&server, "hall").await;
    let request = move |number: u64| {
        let commands: Vec<String> = (0..BATCH_COMMANDS as u64)
            .map(|index| {
                let id = number * BATCH_COMMANDS as u64 + index;
                format!(r#"{{"op":"book","idempotency_key":"k{id}","customer":"c{id}","event":"hall","best_available":{{"quantity":1}}}}"#)
            })
            .collect();
        post("/v1/batch", "", &format!(r#"{{"commands":[{}]}}"#, commands.join(",")))
    };
    // Made beforehand: the generator's own work is not what is measured.
    let requests: Vec<Vec<u8>> = (0..100).map(request).collect();
    let requests = std::rc::Rc::new(requests);
    let accepted =
        |answer: &Answer| answer.status == 200 && answer.body.starts_with(br#"{"results":[{"status":201"#);
    let before = server.cpu_seconds();
    let start = Instant::now();
    let local = tokio::task::LocalSet::new();
    let next = std::rc::Rc::new(std::cell::Cell::new(0usize));
    let mut tasks = Vec::new();
    for _ in 0..BATCH_CONNECTIONS {
        let (requests, next) = (std::rc::Rc::clone(&requests), std::rc::Rc::clone(&next));
        let address = server.address;
        tasks.push(local.spawn_local(async move {
            let mut connection = Connection::open(address).await.expect("it listens");
            loop {
                let number = next.get();
                next.set(number + 1);
                let Some(request) = requests.get(number) else { break };
                assert!(accepted(&connection.send(request).await.expect("it answers")));
            }
        }));
    }
    local
        .run_until(async {
            for task in tasks {
                task.await.expect("it does not panic");
            }
        })
        .await;
    let bookings = (requests.len() * BATCH_COMMANDS) as f64;
    let took = start.elapsed().as_secs_f64();
    println!(
        "POST /v1/batch of {BATCH_COMMANDS}, {BATCH_CONNECTIONS} connections: {:.0} bookings/s, {:.1} us CPU each",
        bookings / took,
        (server.cpu_seconds() - before) * 1e6 / bookings,
    );
    server.stop();
    bookings / took
}
