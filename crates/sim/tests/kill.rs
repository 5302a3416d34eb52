//! A real process on a real disk is killed in the middle of its work, again and again, and nothing is forgotten.

use std::path::Path;
use std::time::Instant;

use boxoffice_engine::private_files::create_directory;
use boxoffice_sim::hammer::audit::{Scope, audit};
use boxoffice_sim::hammer::history::History;
use boxoffice_sim::hammer::process::Place;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const HAMMER: &str = env!("CARGO_BIN_EXE_hammer");

/// `BOXOFFICE_KILLS=500` for an afternoon of it.
const KILLS: u64 = 30;
/// A life is this many answers long, at most.
const ANSWERS_OF_A_LIFE_MAX: usize = 1_500;
/// Every request of all lives is repeated after so many kills; in between, those of the last life.
const EVERYTHING_EVERY: u64 = 10;

const BOOKINGS: &str = "1000000";
/// Twenty stadiums of a real one's size. `BOXOFFICE_STADIUM_SEATS=1000000` puts all bookings into one inventory, which
/// takes as long to be ready as it takes to read it.
const STADIUM_SEATS: u64 = 50_000;
const READY_MILLISECONDS_MAX: u64 = 2_000;

/// Held by each test: what one of them measures must not depend on the other.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn what_was_acknowledged_survives_every_kill() {
    let _alone = ALONE.lock();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let kills = number_from("BOXOFFICE_KILLS").unwrap_or(KILLS);
    let seed = number_from("BOXOFFICE_SEED").unwrap_or_else(rand::random);
    eprintln!("kill: BOXOFFICE_SEED={seed}, {kills} kills");
    let mut random = StdRng::seed_from_u64(seed);
    let directory = tempfile::tempdir().unwrap();
    let place = Place::within(directory.path(), HAMMER);
    let mut history = History::default();
    let started = Instant::now();
    let mut last = None;
    for kill in 1..=kills {
        let seed_of_life = random.random::<u64>().to_string();
        // Some lives end before the store is open, or before it is there.
        let answers = if kill == 1 || random.random_ratio(1, 10) {
            0
        } else {
            random.random_range(1..=ANSWERS_OF_A_LIFE_MAX)
        };
        let mut hammer = place.start("run", &["--seed", &seed_of_life]);
        assert_eq!(hammer.await_answers(answers), answers, "life {kill} ended by itself");
        hammer.kill();

        let before = history.requests.len();
        history.read_on(&place.log).unwrap();
        let everything = kill == kills || kill.is_multiple_of(EVERYTHING_EVERY);
        let scope = if everything { Scope::Everything } else { Scope::RequestsFrom(before) };
        let report = runtime.block_on(audit(&place.store, &history, scope)).unwrap();
        assert!(report.findings.is_empty(), "seed {seed}, after kill {kill}: {report}");
        last = Some(report);
    }
    let answered = history.answered();
    assert!(answered > 0, "nothing was answered in {kills} lives");
    let report = last.map(|report| report.to_string()).unwrap_or_default();
    eprintln!("kill: {kills} kills, {answered} answers, 0 lost, {:.1?}; {report}", started.elapsed());
}

/// A log and a store that do not belong together are told apart: otherwise the other tests prove nothing.
#[test]
fn the_audit_notices_what_is_missing_unasked_or_answered_otherwise() {
    let _alone = ALONE.lock();
    let directory = tempfile::tempdir().unwrap();
    let place = Place::within(directory.path(), HAMMER);
    let live = |seed| place.start("run", &["--commands", "300", "--seed", seed]).finish().0.success();
    assert!(live("1"));
    let early_store = directory.path().join("early");
    create_directory(&early_store).unwrap();
    for name in ["store.redb", "mark", "log-0", "log-1"] {
        std::fs::copy(place.store.join(name), early_store.join(name)).unwrap();
    }
    let early_log = std::fs::read_to_string(&place.log).unwrap();
    assert!(live("2"));
    let full_log = std::fs::read_to_string(&place.log).unwrap();
    let otherwise = full_log.replace(" granted booking ", " refused FORBIDDEN ");

    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let findings = |store: &Path, log: &str| {
        let path = directory.path().join("another-log");
        std::fs::write(&path, log).unwrap();
        let history = History::of(&path).unwrap();
        runtime.block_on(audit(store, &history, Scope::Everything)).unwrap().findings.join("\n")
    };
    assert_eq!(findings(&place.store, &full_log), "");
    assert!(findings(&early_store, &full_log).contains("acknowledged and lost"));
    assert!(findings(&place.store, &early_log).contains("nobody asked for"));
    let otherwise = findings(&place.store, &otherwise);
    assert!(otherwise.contains("refused or never taken, and done"), "{otherwise}");
    let shifted = full_log.replace(" false granted booking ", "0 false granted booking ");
    assert!(findings(&place.store, &shifted).contains("was told"));
}

#[test]
fn a_killed_store_of_a_million_bookings_is_ready_within_two_seconds() {
    let _alone = ALONE.lock();
    let directory = tempfile::tempdir().unwrap();
    let place = Place::within(directory.path(), HAMMER);
    let started = Instant::now();
    let seats = number_from("BOXOFFICE_STADIUM_SEATS").unwrap_or(STADIUM_SEATS).to_string();
    let mut hammer = place.start("fill", &["--bookings", BOOKINGS, "--seats", &seats, "--wait"]);
    let history = loop {
        hammer.await_answers(1);
        let history = History::of(&place.log).unwrap();
        let filled: u64 = history.filled.iter().map(|(_, count)| count).sum();
        if filled.to_string() == BOOKINGS {
            break history;
        }
    };
    hammer.kill();
    eprintln!("kill: {BOOKINGS} bookings in {} ranges, {:.1?}", history.filled.len(), started.elapsed());

    let (status, said) = place.start("check", &[]).finish();
    eprintln!("kill: {said}{:.1?} in all", started.elapsed());
    assert!(status.success(), "{status}: {said}");
    let ready = said.strip_prefix("ready ").and_then(|rest| rest.split(' ').next());
    let ready: u64 = ready.and_then(|number| number.parse().ok()).expect("it says when it was ready");
    assert!(ready <= READY_MILLISECONDS_MAX, "ready after {ready} ms");
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().expect("a number"))
}
