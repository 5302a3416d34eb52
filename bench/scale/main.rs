//! How cost grows with the size of a hall, the number of events, and what is stored:
//! `cargo bench -p boxoffice-server --bench scale [-- seats | events | bookings | quick]`.
//!
//! Every row is driven in turn with a server of the table's first size, so that its ratio says what the size costs and not what the
//! machine did meanwhile. The first row is driven beside another of its own size: how far its ratio is from 1 is the noise. A whole
//! run draws `docs/scale.svg`.
#![expect(clippy::print_stdout, reason = "it prints what it found")]

mod chart;
mod house;
#[path = "../../crates/server/benches/http/load.rs"]
mod load;

use std::time::Duration;

use house::{House, Stock, Work};
use load::{Measured, Server};

const ROUNDS: usize = 3;
/// A median of medians needs no more, and 10^7 bookings take their time.
const LASTING: Duration = Duration::from_secs(3);

/// What one size came to.
pub(crate) struct Row {
    pub(crate) size: u64,
    pub(crate) per_second: f64,
    /// Times as many as the first size, in turn with it.
    pub(crate) ratio: f64,
    p50: Duration,
    p99: Duration,
    /// Processor time of the server for one booking, and for giving it back where that is done.
    cpu_us: f64,
    pub(crate) resident_mib: f64,
    stored_mib: f64,
    /// Reading the whole map of one event.
    map: Duration,
    map_kib: f64,
    /// From the start of a server that was stopped until it listens.
    ready: Duration,
    /// The same of one that was killed.
    ready_after_kill: Duration,
    /// Until that one has answered a booking, which loads the event.
    first_booking: Duration,
}

/// One of the three questions.
pub(crate) struct Table {
    pub(crate) name: &'static str,
    /// What grows.
    pub(crate) axis: &'static str,
    work: Work,
    sizes: &'static [u64],
    quick: &'static [u64],
    stock: fn(u64) -> Stock,
}

const TABLES: [Table; 3] = [
    Table {
        name: "seats",
        axis: "seats in the event",
        work: Work::HoldAndCancel,
        sizes: &[1_000, 10_000, 100_000, 1_000_000],
        quick: &[1_000, 10_000],
        stock: |seats| Stock { events: 1, seats, bookings: 0 },
    },
    Table {
        name: "events",
        axis: "events of 1,000 seats",
        work: Work::HoldAndCancel,
        sizes: &[1, 100, 10_000],
        quick: &[1, 20],
        stock: |events| Stock { events, seats: 1_000, bookings: 0 },
    },
    Table {
        name: "bookings",
        axis: "bookings in the store",
        work: Work::Hold,
        sizes: &[10_000, 100_000, 1_000_000, 10_000_000],
        quick: &[10_000, 20_000],
        // Half of the seats at most are sold, and the last hall is the one that is booked on.
        stock: |bookings| Stock { events: bookings.div_ceil(500_000), seats: 1_000_000, bookings },
    },
];

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| argument != "--bench");
    let is_quick = wanted.as_deref() == Some("quick");
    let known = |wanted: &str| is_quick || TABLES.iter().any(|table| table.name == wanted);
    assert!(wanted.as_deref().is_none_or(known), "there are seats, events, bookings and quick");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    load::print_machine();
    let mut drawn = Vec::new();
    for table in
        TABLES.iter().filter(|table| is_quick || wanted.as_deref().is_none_or(|name| name == table.name))
    {
        let sizes = if is_quick { table.quick } else { table.sizes };
        drawn.push((table, runtime.block_on(measure(table, sizes))));
    }
    if wanted.is_none() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scale.svg");
        std::fs::write(path, chart::draw(&drawn)).expect("docs can be written");
        println!("drawn: docs/scale.svg");
    }
}

async fn measure(table: &Table, sizes: &[u64]) -> Vec<Row> {
    println!(
        "\n{:>22} bookings/s  x first    CPU us    p50 ms    p99 ms  resident    stored    map ms   map KiB   ready s    killed  booked s",
        table.axis
    );
    let mut rows = Vec::new();
    for &size in sizes {
        // A new one for each row: it is of its size only as long as it was not driven.
        let first = House::fill(&(table.stock)(sizes[0])).await;
        let row = row(table, size, &first).await;
        println!(
            "{size:>22} {:>10.0} {:>8.2} {:>9.1} {:>9.2} {:>9.2} {:>5.0} MiB {:>5.0} MiB {:>9.1} {:>9.0} {:>9.2} {:>9.2} {:>9.2}",
            row.per_second,
            row.ratio,
            row.cpu_us,
            row.p50.as_secs_f64() * 1e3,
            row.p99.as_secs_f64() * 1e3,
            row.resident_mib,
            row.stored_mib,
            row.map.as_secs_f64() * 1e3,
            row.map_kib,
            row.ready.as_secs_f64(),
            row.ready_after_kill.as_secs_f64(),
            row.first_booking.as_secs_f64(),
        );
        rows.push(row);
    }
    rows
}

async fn row(table: &Table, size: u64, first: &House) -> Row {
    let mut house = House::fill(&(table.stock)(size)).await;
    let mut rounds: Vec<(f64, f64, Measured)> = Vec::new();
    for _ in 0..ROUNDS {
        let beside = first.drive(table.work, LASTING).await.per_second();
        let before = house.server.cpu_seconds();
        let driven = house.drive(table.work, LASTING).await;
        let cpu_us = (house.server.cpu_seconds() - before) * 1e6 / driven.latencies.len() as f64;
        rounds.push((driven.per_second() / beside, cpu_us, driven));
    }
    let resident_mib = house.server.resident_mib();
    let (map, map_bytes) = house.read_map().await;
    rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, cpu_us, mut driven) = rounds.swap_remove(ROUNDS / 2);
    let (per_second, p50, p99) = (driven.per_second(), driven.percentile(50.0), driven.percentile(99.0));
    let (ready, _) = house.restart(Server::stop).await;
    let (ready_after_kill, first_booking) = house.restart(Server::kill).await;
    Row {
        size,
        per_second,
        ratio,
        cpu_us,
        p50,
        p99,
        resident_mib,
        stored_mib: house.stored_mib(),
        map,
        map_kib: map_bytes as f64 / 1024.0,
        ready,
        ready_after_kill,
        first_booking,
    }
}
