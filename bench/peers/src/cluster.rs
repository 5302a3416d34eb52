//! `-- cluster`: Boxoffice on PostgreSQL with one node and with three, beside the row lock on the same settings, by how many
//! clients ask at the same time. What waits together is committed together: that is what batching buys.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use crate::designs::on_postgres::OnPostgres;
use crate::designs::slot_row::SlotRow;
use crate::drive::{Sample, Span, drive};
use crate::error::Result;

/// Each with one request at a time.
const CLIENTS: [usize; 5] = [1, 16, 64, 256, 1_024];
/// Of the row lock, which needs a connection to PostgreSQL for each.
const ROW_LOCK_CLIENTS_MAX: usize = 256;
/// How many times as fast it should be on one hot inventory, at least.
const WANTED: f64 = 10.0;

/// What was measured with so many clients.
struct Line {
    clients: usize,
    row_lock: Option<Sample>,
    one: (Sample, f64),
    three: (Sample, f64),
}

pub(crate) async fn compare(boxoffice: &Path, span: Span) -> Result<()> {
    println!("{:?} each, in turn, after {:?} to warm up", span.measured, span.warm_up);
    let mut lines = Vec::new();
    for clients in CLIENTS {
        let row_lock = if clients <= ROW_LOCK_CLIENTS_MAX {
            Some(drive(SlotRow::start().await?, clients, span).await?)
        } else {
            None
        };
        let one = nodes(boxoffice, 1, clients, span).await?;
        let three = nodes(boxoffice, 3, clients, span).await?;
        lines.push(Line { clients, row_lock, one, three });
    }
    print(&lines);
    Ok(())
}

/// So many nodes on one database, and how many bookings shared a commit.
async fn nodes(boxoffice: &Path, nodes: usize, clients: usize, span: Span) -> Result<(Sample, f64)> {
    let bookings_a_commit = Rc::new(Cell::new(0.0));
    let sample = drive(OnPostgres::start(boxoffice, nodes, &bookings_a_commit).await?, clients, span).await?;
    Ok((sample, bookings_a_commit.get()))
}

fn print(lines: &[Line]) {
    println!("\n{:>8} | {:^18} | {:^42} | {:^42}", "", "(b) row lock", "(e) one node", "(e') three nodes");
    let columns =
        format!("{:>10} {:>8} {:>8} {:>6} {:>6}", "bookings/s", "p50 ms", "a commit", "/ (b)", "/ best");
    println!("{:>8} | {:>10} {:>7} | {columns} | {columns}", "clients", "bookings/s", "p50 ms");
    let of_row_lock = |line: &Line| line.row_lock.map(|sample| sample.per_second);
    let best = lines.iter().filter_map(of_row_lock).fold(f64::NAN, f64::max);
    for line in lines {
        let beside = of_row_lock(line).unwrap_or(f64::NAN);
        let columns = |(sample, a_commit): &(Sample, f64)| {
            format!(
                "{:>10.0} {:>8.2} {a_commit:>8.1} {:>6.1} {:>6.1}",
                sample.per_second,
                sample.p50_ms,
                sample.per_second / beside,
                sample.per_second / best
            )
        };
        println!(
            "{:>8} | {:>10.0} {:>7.2} | {} | {}",
            line.clients,
            beside,
            line.row_lock.map_or(f64::NAN, |sample| sample.p50_ms),
            columns(&line.one),
            columns(&line.three)
        );
    }
    for (name, of) in [
        ("one node", (|line| line.one.0.per_second) as fn(&Line) -> f64),
        ("three nodes", |line| line.three.0.per_second),
    ] {
        let found = lines.iter().map(of).fold(f64::NAN, f64::max) / best;
        let verdict = if found >= WANTED { "reached" } else { "NOT REACHED" };
        println!(
            "{name}, best of all clients, / (b), best of all clients: {found:.1}; wanted {WANTED}: {verdict}"
        );
    }
}
