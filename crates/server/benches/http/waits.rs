//! What callers wait for at half the peak, beside what a sync of the disk takes at the same time.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::load::{Measured, Server};
use crate::open_loop::OpenLoop;
use crate::{CONNECTIONS, ECHO, THIS_BUILD, booking, boxoffice, create_hall, in_turn, ms, peak};

/// Many short ones: a machine that others use stands still for a moment now and then, which is the p99 of the round it falls into.
const ROUNDS: usize = 11;
/// Of several builds: what one round says of one of them is noise.
const ROUNDS_IN_TURN: usize = 21;
const LASTING: Duration = Duration::from_secs(2);
/// How often the peak is measured.
const PEAKS: usize = 3;
/// What a commit of some twenty bookings writes.
const COMMIT_PAGES: u64 = 2;
/// At least so many, which take less time than bookings are driven for.
const SYNCS: u64 = 300;
const SYNC_EVERY: Duration = Duration::from_millis(3);
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
pub(crate) async fn compare(builds: &[String]) {
    let mut peaks = vec![Vec::new(); builds.len()];
    for round in 0..PEAKS {
        for index in in_turn(round, builds.len()) {
            peaks[index].push(peak(Path::new(&builds[index]), round).await);
        }
    }
    // Half the peak of the slowest, so that none has more to do than that.
    let peaks = peaks.iter_mut().map(|peaks| median(peaks));
    let half = peaks.min_by(f64::total_cmp).expect("a build") / 2.0;
    let mut found: Vec<Found> = builds.iter().map(|_| Found::default()).collect();
    for round in 0..ROUNDS_IN_TURN {
        for index in in_turn(round, builds.len()) {
            let (mut bookings, mut syncs) = half_load(Path::new(&builds[index]), half).await;
            let found = &mut found[index];
            found.p50_ms.push(ms(bookings.percentile(50.0)));
            found.p99_ms.push(ms(bookings.percentile(99.0)));
            found.in_syncs.push(p99(&mut bookings) / p99(&mut syncs.meanwhile));
            found.in_syncs_due.push(p99(&mut bookings) / p99(&mut syncs.meanwhile_due));
        }
    }
    println!("medians of {ROUNDS_IN_TURN} rounds of each, in turn, at {half:.0}/s");
    for (build, mut found) in builds.iter().zip(found) {
        println!("{build}: p50 {:.2} ms", median(&mut found.p50_ms));
        println!("  p99 {:.2} ms of {:.1?}", median(&mut found.p99_ms), found.p99_ms);
        println!("  in syncs meanwhile {:.1} of {:.1?}", median(&mut found.in_syncs), found.in_syncs);
        println!(
            "  in syncs meanwhile, both from when they were due {:.1} of {:.1?}",
            median(&mut found.in_syncs_due),
            found.in_syncs_due
        );
    }
}

/// What callers of one build waited for, round by round.
#[derive(Default)]
struct Found {
    p50_ms: Vec<f64>,
    p99_ms: Vec<f64>,
    /// The p99, from when syncs began.
    in_syncs: Vec<f64>,
    /// The same, from when they were due.
    in_syncs_due: Vec<f64>,
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
    let waited = ms(measured.percentile(99.0));
    println!(
        "bookings at half the peak ({per_second:.0}/s offered, {:.0}/s answered): p50 {:.2} ms, p99 {waited:.2} ms; {:.1} us CPU each",
        measured.per_second(),
        ms(measured.percentile(50.0)),
        (server.cpu_seconds() - before) * 1e6 / measured.latencies.len() as f64,
    );
    let print = |when: &str, syncs: &mut Measured| {
        let (sync_p50, sync_p99) = (ms(syncs.percentile(50.0)), ms(syncs.percentile(99.0)));
        let long = waited / sync_p99;
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
    let mut due = Instant::now();
    for turn in 0.. {
        if turn >= SYNCS + SLOTS && !goes_on() {
            break;
        }
        // The first ones make the file longer, which takes longer. They do not count, and nothing that does is late because of them.
        if turn == SLOTS {
            due = Instant::now();
        }
        due += SYNC_EVERY;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let begun = Instant::now();
        for page in 0..COMMIT_PAGES {
            let at = (turn % SLOTS * COMMIT_PAGES + page) * 4096;
            file.write_all_at(&[turn as u8; 4096], at).expect("it is written");
        }
        file.sync_data().expect("it is durable");
        if turn >= SLOTS {
            measured[0].latencies.push(begun.elapsed());
            measured[1].latencies.push(due.elapsed());
        }
    }
    measured
}
