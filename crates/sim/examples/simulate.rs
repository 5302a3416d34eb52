//! `cargo xtask sim`: runs many seeds on all cores and says what went wrong.
#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use boxoffice_sim::{Report, Settings, run};

const USAGE: &str = "usage: simulate [--seed N] [--runs K]";

fn main() -> ExitCode {
    let Some((first, runs)) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    // A panic is reported with its seed, and redb's on damaged pages are caught by the store.
    std::panic::set_hook(Box::new(|_| {}));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("seeds {first} to {} on {cores} cores", first + runs - 1);
    let started = Instant::now();
    let next = AtomicU64::new(0);
    let reports: Vec<Vec<(u64, Option<Report>)>> = std::thread::scope(|scope| {
        let work = || {
            let mut done = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= runs {
                    return done;
                }
                if index > 0 && index.is_multiple_of(1_000) {
                    println!("{index} runs after {:.1} s", started.elapsed().as_secs_f64());
                }
                done.push((first + index, one(first + index, runs == 1)));
            }
        };
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("runs catch panics")).collect()
    });
    let mut failed = Vec::new();
    let mut total = Report::default();
    for (seed, report) in reports.into_iter().flatten() {
        match report {
            Some(report) => add(&mut total, &report),
            None => failed.push(seed),
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{runs} runs in {seconds:.1} s, {:.1} ms each on one core",
        seconds * 1e3 * cores as f64 / runs as f64
    );
    println!("in all {total:?}");
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    failed.sort_unstable();
    println!("{} FAILED, of them the seeds {:?}", failed.len(), &failed[..failed.len().min(20)]);
    ExitCode::FAILURE
}

fn arguments() -> Option<(u64, u64)> {
    let (mut seed, mut runs) = (0, 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?.parse().ok()?;
        match name.as_str() {
            "--seed" => seed = value,
            "--runs" => runs = value,
            _ => return None,
        }
    }
    (runs > 0).then_some((seed, runs))
}

fn one(seed: u64, in_detail: bool) -> Option<Report> {
    let settings = Settings::of_seed(seed);
    if in_detail {
        println!("seed {seed}: {settings:#?}");
    }
    match run(seed, &settings) {
        Ok(report) => Some(report),
        Err(failed) => {
            let steps = failed.last_steps.join("\n");
            println!("{steps}\nFAILED: seed {seed}, {settings:?}\n{}\n", failed.violation);
            None
        }
    }
}

fn add(total: &mut Report, report: &Report) {
    let Report {
        trace,
        asked,
        answered,
        conflicts,
        expired,
        crashes,
        crashes_mid_batch,
        crashes_in_recovery,
        snapshots,
        loads,
    } = report;
    // In no order, because the runs are in none.
    total.trace ^= trace;
    total.asked += asked;
    total.answered += answered;
    total.conflicts += conflicts;
    total.expired += expired;
    total.crashes += crashes;
    total.crashes_mid_batch += crashes_mid_batch;
    total.crashes_in_recovery += crashes_in_recovery;
    total.snapshots += snapshots;
    total.loads += loads;
}
