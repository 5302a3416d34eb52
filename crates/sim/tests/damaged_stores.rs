//! Stores whose parts are whole and do not belong together.

use std::time::Duration;

use boxoffice_core::change::Change;
use boxoffice_core::ids::{Actor, BookingId};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::load::{LoadError, load};
use boxoffice_engine::record::{Head, Manifest, decode_record, encode_record};
use boxoffice_engine::snapshot::Retention;
use boxoffice_engine::store::{BatchWrite, CommitError, Document, EmbeddedStore, Store, StoreError, Stored};
use boxoffice_sim::Settings;
use boxoffice_sim::disk::Damage;
use boxoffice_sim::random::Random;
use boxoffice_sim::simulator::{Recording, record};

/// Little, so that the store has most of it.
const LOG_BYTES_MAX: u64 = 32 * 1024;

fn recording() -> Recording {
    let settings = Settings {
        commands: 80,
        lives: 1,
        shards: 1,
        idle_after: Duration::from_secs(60),
        retention: Retention::All,
        snapshot_journal_bytes_min: 1_000_000,
        seal_ahead_commands_min: 4,
        log_bytes_max: LOG_BYTES_MAX,
        hurry: 1,
        faults: false,
        bit_flip: false,
    };
    record(3, &settings).expect("the run itself keeps all promises")
}

/// A store of one inventory that somebody had their hands on.
struct Tampered(Stored);

impl Store for Tampered {
    fn heads(&self) -> Result<Vec<Head>, StoreError> {
        Ok(vec![self.0.head.clone()])
    }

    fn commit(&self, _: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        Err(CommitError::Failed("only to be read".to_owned()))
    }

    fn load(&self, _: InventoryNumber) -> Result<Option<Stored>, StoreError> {
        Ok(Some(self.0.clone()))
    }

    fn records(&self, _: InventoryNumber, _: u64, _: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        Ok(self.0.records.clone())
    }

    fn find_booking(&self, _: &str, _: BookingId) -> Result<Option<InventoryNumber>, StoreError> {
        Ok(None)
    }

    fn write_snapshot(&self, _: &Manifest, _: &[u8]) -> Result<(), CommitError> {
        Err(CommitError::Failed("only to be read".to_owned()))
    }

    fn documents(&self, _: &str) -> Result<Vec<Document>, StoreError> {
        Ok(Vec::new())
    }

    fn write_documents(&self, _: &[(String, Option<Vec<u8>>)]) -> Result<(), CommitError> {
        Err(CommitError::Failed("only to be read".to_owned()))
    }

    fn close(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn whole_records_in_the_wrong_place_are_refused() {
    let moments = recording().moments;
    let disk = moments.last().expect("some").crash(Damage::Kept, Random::new(1));
    let store = EmbeddedStore::open_files(disk.files(LOG_BYTES_MAX)).expect("it is sound");
    let heads = store.heads().expect("it is sound");
    let head = heads.iter().max_by_key(|head| head.sequence).expect("some");
    let stored = store.load(head.inventory).expect("it is sound").expect("it exists");
    assert!(stored.records.len() > 5);
    assert!(load(&Tampered(stored.clone()), head.inventory).is_ok());

    let tampered = |change: fn(&mut Stored)| {
        let mut stored = stored.clone();
        change(&mut stored);
        load(&Tampered(stored), head.inventory).expect_err("it is not sound")
    };
    // Idle batches, so that only their place is wrong.
    let forged = |stored: &Stored, index: usize| {
        let record = decode_record(&stored.records[index]).expect("it is whole");
        let changes = [Change::Act { at: Timestamp(i64::MAX / 4), by: Actor(9) }];
        encode_record(record.inventory, record.sequence, record.previous, &changes).0
    };
    let missing = tampered(|stored| drop(stored.records.pop()));
    assert!(matches!(missing, LoadError::End { .. }), "{missing}");
    let swapped = tampered(|stored| stored.records.swap(3, 4));
    assert!(matches!(swapped, LoadError::Chain { sequence: 4, .. }), "{swapped}");

    let mut last_forged = stored.clone();
    let last = last_forged.records.len() - 1;
    last_forged.records[last] = forged(&stored, last);
    let refused = load(&Tampered(last_forged), head.inventory).expect_err("it is not sound");
    assert!(matches!(refused, LoadError::Chain { .. }), "{refused}");
}

#[test]
fn a_store_that_lost_acknowledged_commits_is_refused() {
    let moments = recording().moments;
    let (earlier, now) = (&moments[moments.len() / 2], moments.last().expect("some"));
    let sound = now.crash(Damage::Kept, Random::new(1));
    EmbeddedStore::open_files(sound.files(LOG_BYTES_MAX)).expect("it is sound");
    let put_back = now.with_store_of(earlier).crash(Damage::Kept, Random::new(1));
    let Err(refused) = EmbeddedStore::open_files(put_back.files(LOG_BYTES_MAX)) else { panic!("it opened") };
    assert!(refused.to_string().contains("commits were acknowledged"), "{refused}");
}
