//! What callers wait for at half the peak, beside what a sync of the disk takes at the same time.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::load::{Measured, Server};
use crate::open_loop::OpenLoop;
use crate::{CONNECTIONS, ECHO, THIS_BUILD, booking, boxoffice, create_hall, ms, peak};

/// Many short ones: a machine that others use stands still for a moment now and then, which is the p99 of the round it falls into.
const ROUNDS: usize = 11;
/// Of two builds: what one round says of one of them is noise.
const ROUNDS_IN_TURN: usize = 21;
const LASTING: Duration = Duration::from_secs(2);
/// How often the peak is measured.
const PEAKS: usize = 3;
/// What a commit of some twenty bookings writes.
const COMMIT_PAGES: u64 = 2;
/// At least so many, which take less time than bookings are driven for.
const SYNCS: u64 = 300;
const BETWEEN_SYNCS: Duration = Duration::from_millis(3);
/// Places in a file that are written in turn.
const SLOTS: u64 = 16;

pub(crate) async fn measure() {
    let this = Path::new(THIS_BUILD);
    let mut peaks = Vec::new();
    for round in 0..PEAKS {
        peaks.push(peak(this, round).await);
    }
    let half = median(&mut peaks) / 2.0;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let echo = echo_at(half);
        let (bookings, syncs) = half_load(this, half).await;
        rounds.push(Round { bookings, syncs, echo });
    }
    let mut print = |what: &str, of: fn(&mut Round) -> &mut Measured| {
        let mut ratios: Vec<f64> =
            rounds.iter_mut().map(|round| p99(&mut round.bookings) / p99(of(round))).collect();
        let mut all = |of: fn(&mut Round) -> &mut Measured| {
            let latencies = rounds.iter_mut().flat_map(|round| of(round).latencies.clone()).collect();
            p99(&mut Measured { latencies, took: Duration::ZERO })
        };
        let of_all = all(|round| &mut round.bookings) / all(of);
        let middle = median(&mut ratios);
        println!(
            "p99 of bookings at half the peak / p99 of {what}: {middle:.1} (median of {ratios:.1?}); of all rounds together {of_all:.1}",
        );
    };
    print("a sync before it (at most 3 wanted)", |round| &mut round.syncs.quiet);
    print("a sync meanwhile (at most 3 wanted)", |round| &mut round.syncs.meanwhile);
    print("a sync meanwhile, both from when they were due (at most 3 wanted)", |round| {
        &mut round.syncs.meanwhile_due
    });
    print("an echo server at the same rate", |round| &mut round.echo);
}

/// Several builds at the same rate, one after the other again and again: what the machine's neighbours do meets all alike.
pub(crate) async fn in_turn(builds: &[String]) {
    let mut peaks = Vec::new();
    for round in 0..PEAKS {
        for build in builds {
            peaks.push(peak(Path::new(build), round).await);
        }
    }
    let half = median(&mut peaks) / 2.0;
    // p50, p99, and the p99 in syncs meanwhile, from when these began and were due; of each.
    let mut found: Vec<[Vec<f64>; 4]> = vec![Default::default(); builds.len()];
    for _ in 0..ROUNDS_IN_TURN {
        for (build, found) in builds.iter().zip(&mut found) {
            let (mut bookings, mut syncs) = half_load(Path::new(build), half).await;
            found[0].push(ms(bookings.percentile(50.0)));
            found[1].push(ms(bookings.percentile(99.0)));
            found[2].push(p99(&mut bookings) / p99(&mut syncs.meanwhile));
            found[3].push(p99(&mut bookings) / p99(&mut syncs.meanwhile_due));
        }
    }
    for (build, mut found) in builds.iter().zip(found) {
        let [p50, p99, syncs, syncs_due] = found.each_mut().map(|found| median(found));
        println!(
            "{build}: p50 {p50:.2} ms, p99 {p99:.2} ms, p99 in syncs meanwhile {syncs:.1}, {syncs_due:.1} from when these were due (medians of {ROUNDS_IN_TURN} rounds)\n  p99 {:.1?}\n  in syncs {:.1?}\n  in syncs from when they were due {:.1?}",
            found[1], found[2], found[3],
        );
    }
}

fn p99(measured: &mut Measured) -> f64 {
    measured.percentile(99.0).as_secs_f64()
}

/// Sorts them.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What was waited for in one round.
struct Round {
    bookings: Measured,
    syncs: Syncs,
    echo: Measured,
}

struct Syncs {
    /// On a quiet disk.
    quiet: Measured,
    /// Beside the bookings: they wait for processors and for the server's own syncs, too.
    meanwhile: Measured,
    /// The same, from when they were due, as bookings are measured.
    meanwhile_due: Measured,
}

/// What callers of a server that does nothing wait for at the same rate: for processors and the network.
fn echo_at(per_second: f64) -> Measured {
    let echo = Server::start(Command::new(std::env::current_exe().expect("this program")).env(ECHO, "1"));
    let request = |number| booking(9, number);
    let mut echoed =
        OpenLoop::open(echo.address, CONNECTIONS, 200, request).drive(per_second, LASTING, request);
    println!(
        "echo at half the peak of bookings: p50 {:.2} ms, p99 {:.2} ms",
        ms(echoed.percentile(50.0)),
        ms(echoed.percentile(99.0))
    );
    echoed
}

/// Requests at a steady rate: see [`OpenLoop`].
async fn half_load(binary: &Path, per_second: f64) -> (Measured, Syncs) {
    let directory = tempfile::tempdir().expect("a directory");
    let [mut quiet, _] = syncs(directory.path(), || false);
    let server = boxoffice(binary, directory.path());
    create_hall(&server, "hall").await;
    let mut callers = OpenLoop::open(server.address, CONNECTIONS, 201, |number| booking(8, number));
    let before = server.cpu_seconds();
    let is_over = Arc::new(AtomicBool::new(false));
    let meanwhile = std::thread::spawn({
        let (directory, is_over) = (directory.path().to_owned(), Arc::clone(&is_over));
        move || syncs(&directory, || !is_over.load(Ordering::Relaxed))
    });
    let mut measured = callers.drive(per_second, LASTING, |number| booking(9, number));
    is_over.store(true, Ordering::Relaxed);
    let [mut meanwhile, mut meanwhile_due] = meanwhile.join().expect("it does not panic");
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
    print("meanwhile, from when it was due", &mut meanwhile_due);
    (measured, Syncs { quiet, meanwhile, meanwhile_due })
}

/// What the disk takes to make as many pages durable as a commit writes, in a file that has them already, now and then: [`SYNCS`] times, and
/// for as long as there is something beside which it is measured. From when each began, and from when it was due: whoever waits for a
/// booking waits for processors before it is sent, too.
fn syncs(directory: &Path, goes_on: impl Fn() -> bool) -> [Measured; 2] {
    use std::os::unix::fs::FileExt;
    let file = std::fs::File::create(directory.join("pages")).expect("a file");
    let mut measured: [Measured; 2] = Default::default();
    let start = Instant::now();
    let mut due = start;
    for turn in 0.. {
        if turn >= SYNCS + SLOTS && !goes_on() {
            break;
        }
        due += BETWEEN_SYNCS;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let begun = Instant::now();
        for page in 0..COMMIT_PAGES {
            let at = (turn % SLOTS * COMMIT_PAGES + page) * 4096;
            file.write_all_at(&[turn as u8; 4096], at).expect("it is written");
        }
        file.sync_data().expect("it is durable");
        // The first ones make the file longer.
        if turn >= SLOTS {
            measured[0].latencies.push(begun.elapsed());
            measured[1].latencies.push(due.elapsed());
        }
    }
    measured
}
