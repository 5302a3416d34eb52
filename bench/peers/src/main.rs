//! The same work (one seat, best available, of one hot event; a new customer and a new key each) done in the ways of other designs
//! and by Boxoffice, on real servers: `cargo run --release -p boxoffice-peers [-- quick]`; `-- ours` leaves the others out; `-- cluster [quick]`
//! compares Boxoffice on PostgreSQL with a row lock there.
//!
//! Everything runs on this machine, the generator too. Only one contender's servers run at a time, on data of their own, which
//! are gone afterwards. A contender that sells a seat twice, or has not what it acknowledged, ends the run.
#![expect(clippy::print_stdout, reason = "it prints what it found")]

mod cluster;
mod contender;
mod designs;
mod drive;
mod error;
mod postgres;
mod process;
mod redis_server;
mod table;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use contender::Contender;
use drive::Span;
use error::{Error, Result};
use table::Row;

/// How much time a run takes.
struct Plan {
    rounds: usize,
    /// To find out how many clients suit a contender.
    trial: Span,
    round: Span,
}

const WHOLE: Plan = Plan {
    rounds: 5,
    trial: Span { warm_up: Duration::from_millis(300), measured: Duration::from_millis(1_200) },
    round: Span { warm_up: Duration::from_millis(500), measured: Duration::from_secs(3) },
};
/// To see that everything works.
const QUICK: Plan = Plan {
    rounds: 1,
    trial: Span { warm_up: Duration::from_millis(100), measured: Duration::from_millis(200) },
    round: Span { warm_up: Duration::from_millis(100), measured: Duration::from_millis(500) },
};

/// What is compared.
enum What {
    Designs(&'static [Contender]),
    /// Boxoffice on PostgreSQL with a row lock there.
    Cluster,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (plan, what) = match words.as_slice() {
        [] => (WHOLE, What::Designs(&Contender::ALL)),
        ["quick"] => (QUICK, What::Designs(&Contender::ALL)),
        ["ours"] => (WHOLE, What::Designs(&Contender::OURS)),
        ["cluster"] => (WHOLE, What::Cluster),
        ["cluster", "quick"] => (QUICK, What::Cluster),
        other => {
            let said =
                format!("{other:?} is not known; there are `quick`, `ours`, `cluster` and `cluster quick`");
            return fail(&Error::Wrong(said));
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&Error::io("cannot start a runtime")(error)),
    };
    let local = tokio::task::LocalSet::new();
    let done = local.block_on(&runtime, async {
        // Whoever is interrupted still stops what it started.
        tokio::select! {
            done = compare(&plan, what) => done,
            _ = tokio::signal::ctrl_c() => Err(Error::Wrong("interrupted".to_owned())),
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn fail(error: &Error) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}

async fn compare(plan: &Plan, what: What) -> Result<()> {
    let contenders = match what {
        What::Designs(contenders) => contenders,
        What::Cluster => {
            postgres::check_installed()?;
            let boxoffice = boxoffice()?;
            print_machine();
            return cluster::compare(&boxoffice, plan.round).await;
        }
    };
    if contenders != Contender::OURS {
        postgres::check_installed()?;
        redis_server::check_installed()?;
    }
    let boxoffice = boxoffice()?;
    print_machine();
    let mut rows = Vec::new();
    for &contender in contenders {
        rows.push(Row::new(contender, best_clients(contender, plan, &boxoffice).await?));
    }
    println!(
        "{} rounds of {:?} in turn, after {:?} to warm up; medians",
        plan.rounds, plan.round.measured, plan.round.warm_up
    );
    for _ in 0..plan.rounds {
        for row in &mut rows {
            row.samples.push(row.contender.measure(&boxoffice, row.clients, plan.round).await?);
        }
    }
    table::print(&rows);
    Ok(())
}

/// Tries how many clients suit a contender.
async fn best_clients(contender: Contender, plan: &Plan, boxoffice: &std::path::Path) -> Result<usize> {
    let mut tried = Vec::new();
    for &clients in contender.clients() {
        let sample = contender.measure(boxoffice, clients, plan.trial).await?;
        tried.push((clients, sample.per_second));
    }
    let said: Vec<String> =
        tried.iter().map(|(clients, per_second)| format!("{clients}: {per_second:.0}/s")).collect();
    println!("{:<44} clients {}", contender.name(), said.join(", "));
    let best = tried.iter().max_by(|one, other| one.1.total_cmp(&other.1));
    Ok(best.expect("some are tried").0)
}

/// The server's binary, built as this program was and beside it.
fn boxoffice() -> Result<PathBuf> {
    if cfg!(debug_assertions) {
        return Err(Error::Wrong("build it with --release: else it measures the compiler".to_owned()));
    }
    let this = std::env::current_exe().map_err(Error::io("cannot find this program"))?;
    let release = this.parent().expect("a program is in a directory");
    // Set by `cargo run`. Without cargo there is what was built before.
    if let (Some(cargo), Some(target)) = (std::env::var_os("CARGO"), release.parent()) {
        let built = Command::new(cargo)
            .args([
                "build",
                "--quiet",
                "--locked",
                "--release",
                "--package",
                "boxoffice-server",
                "--target-dir",
            ])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .map_err(Error::io("cannot run cargo"))?;
        if !built.success() {
            return Err(Error::Wrong("boxoffice does not build".to_owned()));
        }
    }
    let program = release.join("boxoffice");
    if !program.is_file() {
        return Err(Error::Wrong(
            "there is no boxoffice: cargo build --release -p boxoffice-server".to_owned(),
        ));
    }
    Ok(program)
}

fn print_machine() {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: u64 =
        memory.lines().next().and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0);
    println!(
        "machine: {cores} cores, {} GiB; servers and load generator on the same cores",
        kib / 1024 / 1024
    );
}
