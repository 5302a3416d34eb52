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
use boxoffice_sim::disk::{Damage, Disk, Failure};
use boxoffice_sim::history::History;
use boxoffice_sim::random::Random;
use boxoffice_sim::simulator::{Recording, record};

const SEED: u64 = 7;

fn settings() -> Settings {
    Settings {
        commands: 200,
        lives: 1,
        shards: 2,
        idle_after: Duration::from_secs(5),
        retention: Retention::All,
        snapshot_journal_bytes_min: 1_500,
        seal_ahead_commands_min: 4,
        hurry: 2,
        faults: false,
        bit_flip: false,
    }
}

fn opened(disk: &Disk, place: &str) -> EmbeddedStore {
    EmbeddedStore::open_files(disk.files()).unwrap_or_else(|error| panic!("{place}: {error}"))
}

/// Starts an engine on what is left, later, and lets it end what is due.
fn assert_goes_on(store: EmbeddedStore, history: &History, now: Timestamp, place: &str) {
    let store: Arc<dyn Store> = Arc::new(store);
    let later = Timestamp(now.0 + 3_600_000);
    let clock = Clock::manual(later);
    let mut engine = SteppedEngine::start(Arc::clone(&store), clock, &settings().engine()).expect(place);
    engine.settle().expect(place);
    let archive = Archive::default();
    auditor::audit_at_rest(&engine, &*store, &archive, history, later)
        .unwrap_or_else(|violation| panic!("{place}, going on: {violation}"));
}

#[test]
fn a_crash_at_any_operation_loses_nothing_that_was_acknowledged() {
    let recording = record(SEED, &settings()).expect("the run itself keeps all promises");
    let Recording { operations_before, moments, history, now } = recording;
    assert!(moments.len() > 500, "{} moments", moments.len());
    let archive = Archive::default();
    let mut random = Random::new(SEED);
    let mut second_crashes = 0;
    for (operations, moment) in (operations_before..).zip(&moments) {
        let known = history.until(operations);
        for damage in [Damage::Lost, Damage::Kept, Damage::Torn] {
            let place = format!("after {operations} operations, {damage:?}");
            let mut disk = moment.crash(damage, random.fork());
            if random.percent(10) {
                disk.fail_after(random.below(10), Failure::Crash);
                // Whether it got that far or not: the next one starts from what this one left.
                drop(EmbeddedStore::open_files(disk.files()));
                disk.stop();
                disk = disk.moment().crash(Damage::Torn, random.fork());
                second_crashes += 1;
            }
            let store = opened(&disk, &place);
            auditor::audit(&store, &archive, &known)
                .unwrap_or_else(|violation| panic!("{place}: {violation}"));
            if random.percent(5) {
                assert_goes_on(store, &known, now, &place);
            }
        }
    }
    assert!(second_crashes > 50, "{second_crashes} second crashes");
}
