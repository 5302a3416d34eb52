//! Bookings over HTTP beside an echo server on the same stack, and many connections at once:
//! `cargo bench -p boxoffice-server --bench http [-- bookings | waits | batches | connections | watchers]`,
//! `-- watchers-gzip` and `-- watchers-plain` for watchers that unpack less than browsers do, and
//! `-- waits BINARY..`, `-- batches BINARY..` or `-- watchers BINARY..` for several builds in turn, whose binaries were kept (with their whole paths).
//!
//! The echo server is axum on hyper with the same runtime, in a process of its own, and answers each request with its own
//! body. What lies between the two is ours: JSON, routing, rules, the journal, the disk.
#![expect(clippy::print_stdout, reason = "it prints what it found")]

mod closed_loop;
mod connections;
mod host;
mod load;
mod open_loop;
mod waits;
mod watchers;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use closed_loop::closed_loop;
use host::Host;
use load::{Answer, Connection, Measured, Server, post, print_machine};
use watchers::Packing;

const CONNECTIONS: usize = 256;
const LASTING: Duration = Duration::from_secs(4);
const ROUNDS: usize = 3;
const BATCH_ROUNDS: usize = 7;
const BATCH_COMMANDS: usize = 5_000;
const BATCH_CONNECTIONS: usize = 4;
/// What is measured, unless other binaries are named.
const THIS_BUILD: &str = env!("CARGO_BIN_EXE_boxoffice");
const PARTS: [&str; 7] =
    ["bookings", "waits", "batches", "connections", "watchers", "watchers-gzip", "watchers-plain"];
const ECHO: &str = "BOXOFFICE_BENCH_ECHO";

fn main() {
    if std::env::var_os(ECHO).is_some() {
        return echo();
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let wanted = arguments.next();
    assert!(wanted.as_deref().is_none_or(|wanted| PARTS.contains(&wanted)), "there are {PARTS:?}");
    runtime.block_on(async {
        print_machine();
        let builds: Vec<String> = arguments.collect();
        if !builds.is_empty() {
            return match wanted.as_deref() {
                Some("waits") => waits::compare(&builds).await,
                Some("batches") => batches(&builds).await,
                Some("watchers") => watchers::measure(&builds, Packing::Zstd).await,
                _ => panic!("waits, batches and watchers can be measured of several builds"),
            };
        }
        let is_wanted = |part| wanted.as_deref().is_none_or(|wanted| wanted == part);
        if is_wanted("bookings") {
            bookings().await;
        }
        if is_wanted("waits") {
            waits::measure().await;
        }
        if is_wanted("batches") {
            batches(&[THIS_BUILD.to_owned()]).await;
        }
        if is_wanted("connections") {
            connections::measure().await;
        }
        if is_wanted("watchers") {
            watchers::measure(&[THIS_BUILD.to_owned()], Packing::Zstd).await;
        }
        // Only if they are asked for.
        match wanted.as_deref() {
            Some("watchers-gzip") => watchers::measure(&[THIS_BUILD.to_owned()], Packing::Gzip).await,
            Some("watchers-plain") => watchers::measure(&[THIS_BUILD.to_owned()], Packing::Plain).await,
            _ => {}
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

fn boxoffice(binary: &Path, directory: &Path) -> Server {
    let mut command = Command::new(binary);
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
    assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(answer.body));
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
        ratios.push(peak(Path::new(THIS_BUILD), round).await / echoed.per_second());
    }
    ratios.sort_by(f64::total_cmp);
    println!("bookings / echo: {:.2} (median of {ratios:.2?}); wanted 0.5", ratios[ROUNDS / 2]);
}

/// As many bookings a second as there can be.
async fn peak(binary: &Path, round: usize) -> f64 {
    let directory = tempfile::tempdir().expect("a directory");
    let server = boxoffice(binary, directory.path());
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

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

fn print_row(name: &str, measured: &mut Measured, cpu_seconds: f64) {
    let (p50, p99) = (ms(measured.percentile(50.0)), ms(measured.percentile(99.0)));
    let cpu = cpu_seconds * 1e6 / measured.latencies.len() as f64;
    println!("{name:>24} {:>12.0} {p50:>9.2} {p99:>9.2} {cpu:>14.1}", measured.per_second());
}

/// Who comes first changes from round to round: nobody always follows the same one.
fn in_turn(round: usize, builds: usize) -> impl Iterator<Item = usize> {
    (0..builds).map(move |index| if round.is_multiple_of(2) { index } else { builds - 1 - index })
}

async fn batches(builds: &[String]) {
    let mut rates = vec![Vec::new(); builds.len()];
    for round in 0..BATCH_ROUNDS {
        for index in in_turn(round, builds.len()) {
            rates[index].push(batches_of_one_hall(Path::new(&builds[index])).await);
        }
    }
    for (build, rates) in builds.iter().zip(rates) {
        let (mut rates, mut given): (Vec<f64>, Vec<f64>) = rates.into_iter().unzip();
        rates.sort_by(f64::total_cmp);
        given.sort_by(f64::total_cmp);
        println!(
            "bookings/s in batches: {:.0} (median of {rates:.0?}); wanted 300000; by the processor time that the host gave {:.0} ({build})",
            rates[BATCH_ROUNDS / 2],
            given[BATCH_ROUNDS / 2],
        );
    }
}

/// Half a million bookings; how many a second, and that by the share of the processors that the host gave meanwhile.
async fn batches_of_one_hall(binary: &Path) -> (f64, f64) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut server = boxoffice(binary, directory.path());
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
    let accepted = |answer: &Answer<'_>| {
        answer.status == 200 && answer.body.starts_with(br#"{"results":[{"status":201"#)
    };
    let before = server.cpu_seconds();
    let (start, host) = (Instant::now(), Host::watch());
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
    let (rate, share_given) = (bookings / start.elapsed().as_secs_f64(), host.share_given());
    println!(
        "POST /v1/batch of {BATCH_COMMANDS}, {BATCH_CONNECTIONS} connections: {rate:.0} bookings/s, {:.1} us CPU each; others had {:.0} % of the processors",
        (server.cpu_seconds() - before) * 1e6 / bookings,
        (1.0 - share_given) * 100.0,
    );
    server.stop();
    (rate, rate / share_given)
}
