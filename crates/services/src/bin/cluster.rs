//! Starts a cluster to try and books through it: `cluster [--once] PATH_OF_BOXOFFICE`. `cargo xtask cluster` runs it.
//!
//! It ends on Ctrl-C or SIGTERM, with `--once` after the bookings.
#![expect(clippy::print_stdout, reason = "the URLs are what it is for")]

use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;

use boxoffice_services::{Cluster, Error, create};
use tokio::signal::unix::{Signal, SignalKind, signal};

const EVENT: &str = r#"{"id":"gala","name":"Summer Gala","currency":"TWD","sections":[{"name":"A","price":300000,"subsections":[{"number":1,"rows":25,"cols":20}]}]}"#;
const BOOKING: &str = r#"{"customer":"ann","event":"gala","best_available":{"quantity":1}}"#;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--once", program] => run(Path::new(program), true),
        [program] => run(Path::new(program), false),
        _ => Err(Error::Wrong("usage: cluster [--once] PATH_OF_BOXOFFICE".to_owned())),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cluster: {error}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn run(program: &Path, once: bool) -> Result<(), Error> {
    // Before anything starts: a signal that comes earlier is acted on when the cluster is up.
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    println!("Starting PostgreSQL, three Redis, Kafka and three nodes ...");
    let cluster = Cluster::start(program)?;
    let balancer = cluster.balancer();
    let mut doors: Vec<(String, SocketAddr)> = vec![("balancer".to_owned(), balancer)];
    doors.extend((1..).map(|number| format!("node {number}")).zip(cluster.nodes()));
    for (name, address) in &doors {
        println!("{name:<11} http://{address}");
    }
    for (name, address) in cluster.services() {
        println!("{name:<11} {address}");
    }
    create(balancer, "/v1/events", "cluster-event", EVENT)?;
    for (name, address) in &doors {
        let booking = create(*address, "/v1/bookings", &format!("cluster-{name}"), BOOKING)?;
        println!("{name:<11} seat {} in booking {}", text(&booking, "seat")?, text(&booking, "id")?);
    }
    if once {
        return Ok(());
    }
    println!("\nThe event: http://{balancer}/events/gala\nCtrl-C stops everything and removes the data.");
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    println!("Stopping ...");
    Ok(())
}

fn listen(kind: SignalKind) -> Result<Signal, Error> {
    signal(kind).map_err(|error| Error::Io { what: "cannot listen for signals".to_owned(), error })
}

/// A text field of a JSON object, the first with this name.
fn text<'a>(json: &'a str, field: &str) -> Result<&'a str, Error> {
    let value = json.split(&format!("\"{field}\":\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.ok_or_else(|| Error::Wrong(format!("there is no `{field}` in {json}")))
}
