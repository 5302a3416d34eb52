//! A crash at every write, sync and change of length of one workload, with every kind of damage.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::time::Timestamp;
use boxoffice_engine::Clock;
use boxoffice_engine::snapshot::Retention;
use boxoffice_engine::stepped::SteppedEngine;
use boxoffice_engine::store::{EmbeddedStore, Store};
use boxoffice_sim::Settings;
use boxoffice_sim::auditor::{self, Archive};
use boxoffice_sim::disk::{Damage, Failure};
use boxoffice_sim::history::History;
use boxoffice_sim::random::Random;
use boxoffice_sim::simulator::{Recording, record};

const SEED: u64 = 7;
/// Some commits are too large for the first, both files of the log are filled many times in the second, and hardly once in the third.
const LOG_BYTES_MAX: [u64; 3] = [4 * 1024, 24 * 1024, 256 * 1024];

fn settings(log_bytes_max: u64) -> Settings {
    Settings {
        commands: 200,
        lives: 1,
        shards: 2,
        idle_after: Duration::from_secs(5),
        retention: Retention::All,
        snapshot_journal_bytes_min: 1_500,
        seal_ahead_commands_min: 4,
        log_bytes_max,
        hurry: 2,
        faults: false,
        bit_flip: false,
    }
}

/// Starts an engine on what is left, later, and lets it end what is due.
fn assert_goes_on(store: EmbeddedStore, history: &History, now: Timestamp, place: &str) {
    let store: Arc<dyn Store> = Arc::new(store);
    let later = Timestamp(now.0 + 3_600_000);
    let clock = Clock::manual(later);
    let mut engine = SteppedEngine::start(Arc::clone(&store), clock, &settings(0).engine()).expect(place);
    engine.settle().expect(place);
    let archive = Archive::default();
    auditor::audit_at_rest(&engine, &*store, &archive, history, later)
        .unwrap_or_else(|violation| panic!("{place}, going on: {violation}"));
}

#[test]
fn a_crash_at_any_operation_loses_nothing_that_was_acknowledged() {
    LOG_BYTES_MAX.into_iter().for_each(crash_everywhere);
}

fn crash_everywhere(log_bytes_max: u64) {
    let recording = record(SEED, &settings(log_bytes_max)).expect("the run itself keeps all promises");
    let Recording { operations_before, moments, history, now } = recording;
    assert!(moments.len() > 200, "{} moments", moments.len());
    let archive = Archive::default();
    let mut random = Random::new(SEED);
    let mut second_crashes = 0;
    for (operations, moment) in (operations_before..).zip(&moments) {
        let known = history.until(operations);
        for damage in [Damage::Lost, Damage::Kept, Damage::Torn] {
            let place = format!("{log_bytes_max} bytes of log, after {operations} operations, {damage:?}");
            let mut disk = moment.crash(damage, random.fork());
            if random.percent(10) {
                disk.fail_after(random.below(40), Failure::Crash);
                // Whether it got that far or not: the next one starts from what this one left. Half of them want more log than there is.
                let log_bytes_wanted = log_bytes_max << random.below(2);
                drop(EmbeddedStore::open_files(disk.files(log_bytes_wanted)));
                disk.stop();
                disk = disk.moment().crash(Damage::Torn, random.fork());
                second_crashes += 1;
            }
            let store = EmbeddedStore::open_files(disk.files(log_bytes_max));
            let store = store.unwrap_or_else(|error| panic!("{place}: {error}"));
            auditor::audit(&store, &archive, &known)
                .unwrap_or_else(|violation| panic!("{place}: {violation}"));
            if random.percent(5) {
                assert_goes_on(store, &known, now, &place);
            }
        }
    }
    eprintln!("{log_bytes_max} bytes of log: {} moments, {second_crashes} second crashes", moments.len());
    assert!(second_crashes > 50, "{second_crashes} second crashes");
}
