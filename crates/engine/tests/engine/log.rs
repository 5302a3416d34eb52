//! The embedded store's log: what is in it and what has left it read as one.

use boxoffice_core::change::Change;
use boxoffice_core::ids::{Actor, BookingId};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::record::{Hash, Head, Manifest, encode_record, hash_of};
use boxoffice_engine::store::{BatchWrite, EmbeddedStore, MemoryStore, Store};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Three or four commits fill a file.
const LOG_BYTES_MAX: u64 = 16 * 1024;
const COMMITS: u64 = 400;
const INVENTORIES: u32 = 3;
const TENANTS: [&str; 2] = ["acme", "zeta"];
/// Few, so that both tenants have some of them.
const CHOSEN_IDS: u128 = 40;
/// More than a file of the log takes.
const LARGE: usize = 2_000;

/// Writes batches of some inventories, each after the one before.
struct Writer {
    heads: Vec<Head>,
    random: StdRng,
    ids: Vec<BookingId>,
}

impl Writer {
    fn new(seed: u64) -> Writer {
        let head = |number| Head {
            inventory: InventoryNumber(number),
            name: format!("{}/hall-{number}", TENANTS[number as usize % TENANTS.len()]).into(),
            sequence: 0,
            hash: Hash::default(),
            next_deadline: None,
        };
        Writer {
            heads: (1..=INVENTORIES).map(head).collect(),
            random: StdRng::seed_from_u64(seed),
            ids: Vec::new(),
        }
    }

    fn batch(&mut self) -> BatchWrite {
        let index = self.random.random_range(0..self.heads.len());
        let acts = if self.random.random_ratio(1, 20) { LARGE } else { self.random.random_range(1..100) };
        let changes: Vec<Change> =
            (0..acts).map(|act| Change::Act { at: Timestamp(act as i64), by: Actor(7) }).collect();
        let head = &mut self.heads[index];
        let (previous, sequence) = (head.hash, head.sequence + 1);
        let (record, hash) = encode_record(head.inventory, sequence, previous, &changes);
        (head.sequence, head.hash) = (sequence, hash);
        let chosen_ids: Vec<BookingId> = (self.random.random_ratio(1, 4))
            .then(|| BookingId::from_bytes(self.random.random_range(0..CHOSEN_IDS).to_be_bytes()))
            .into_iter()
            .collect();
        self.ids.extend(&chosen_ids);
        BatchWrite {
            previous,
            head: head.clone(),
            record: record.into(),
            changes: changes.into(),
            chosen_ids,
            positions: None,
        }
    }

    /// A snapshot of what is there, which makes some of the journal unnecessary.
    fn snapshot(&mut self) -> (Manifest, Vec<u8>) {
        let head = &self.heads[self.random.random_range(0..self.heads.len())];
        let contents = vec![7; 100];
        let manifest = Manifest {
            inventory: head.inventory,
            sequence: head.sequence,
            hash: head.hash,
            bytes: contents.len() as u64,
            contents: hash_of(&contents),
            journal_from: head.sequence.saturating_sub(3).max(1),
        };
        (manifest, contents)
    }
}

fn assert_same(store: &dyn Store, model: &dyn Store, ids: &[BookingId], place: &str) {
    assert_eq!(store.heads().unwrap(), model.heads().unwrap(), "{place}");
    for number in (1..=INVENTORIES).map(InventoryNumber) {
        let loaded = |store: &dyn Store| {
            let stored = store.load(number).unwrap()?;
            Some((stored.head, stored.snapshot, stored.records))
        };
        assert_eq!(loaded(store), loaded(model), "{place}, {number}");
        for (after, bytes) in [(0, usize::MAX), (0, 1), (2, 5_000), (u64::MAX - 1, 1)] {
            let records = |store: &dyn Store| store.records(number, after, bytes).unwrap();
            assert_eq!(records(store), records(model), "{place}, {number} after {after}");
        }
    }
    for (tenant, &id) in TENANTS.iter().flat_map(|tenant| ids.iter().map(move |id| (tenant, id))) {
        let found = |store: &dyn Store| store.find_booking(tenant, id).unwrap();
        assert_eq!(found(store), found(model), "{place}, {tenant}");
    }
}

#[test]
fn what_is_in_the_log_and_what_has_left_it_read_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let open = || EmbeddedStore::open_gathering(&path, LOG_BYTES_MAX).unwrap();
    let (mut store, model) = (open(), MemoryStore::default());
    let mut writer = Writer::new(11);
    let (mut with_chores, mut without_chores) = (0, 0);
    for commit in 1..=COMMITS {
        let batches: Vec<BatchWrite> =
            (0..writer.random.random_range(1..4)).map(|_| writer.batch()).collect();
        let batches: Vec<&BatchWrite> = batches.iter().collect();
        assert!(store.commit(&batches).unwrap().is_empty() && model.commit(&batches).unwrap().is_empty());
        if store.has_chores() {
            with_chores += 1;
        } else {
            without_chores += 1;
        }
        match writer.random.random_range(0..20) {
            0..5 => drop(store.do_chores().unwrap()),
            5 => {
                let (manifest, contents) = writer.snapshot();
                if manifest.sequence > 0 {
                    store.write_snapshot(&manifest, &contents).unwrap();
                    model.write_snapshot(&manifest, &contents).unwrap();
                }
            }
            6 => store.close().unwrap(),
            // As after a kill: nothing was moved.
            7 => {}
            _ => {
                assert_same(&store, &model, &writer.ids, &format!("commit {commit}"));
                continue;
            }
        }
        if store.heads().is_err() || writer.random.random_ratio(1, 2) {
            drop(store);
            store = open();
            assert!(!store.has_chores(), "a start moves all there is");
        }
        assert_same(&store, &model, &writer.ids, &format!("commit {commit}, later"));
    }
    assert!(with_chores > 50 && without_chores > 50, "{with_chores} with, {without_chores} without");
}

#[test]
fn what_was_built_on_something_else_is_fenced_wherever_the_head_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let mut store = EmbeddedStore::open_gathering(&path, LOG_BYTES_MAX).unwrap();
    let mut writer = Writer::new(12);
    let mut first_of_each = Vec::new();
    while first_of_each.len() < INVENTORIES as usize {
        let batch = writer.batch();
        assert!(store.commit(&[&batch]).unwrap().is_empty());
        if batch.previous == Hash::default() {
            first_of_each.push(batch);
        }
    }
    let before = store.heads().unwrap();
    for place in ["in the log", "moved"] {
        for again in &first_of_each {
            assert_eq!(store.commit(&[again]).unwrap(), [again.head.inventory], "{place}");
        }
        assert_eq!(store.heads().unwrap(), before, "{place}");
        drop(store);
        store = EmbeddedStore::open_gathering(&path, LOG_BYTES_MAX).unwrap();
    }
}

/// Tells the other threads that it is over.
struct Ending<'a>(&'a std::sync::atomic::AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn readers_find_a_sound_store_while_others_commit_and_move() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = EmbeddedStore::open_gathering(&path, LOG_BYTES_MAX).unwrap();
    let over = std::sync::atomic::AtomicBool::new(false);
    let is_over = || over.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|threads| {
        let reader = threads.spawn(|| {
            let (mut seen, mut looks) = (vec![0; INVENTORIES as usize], 0);
            while !is_over() {
                for head in store.heads().unwrap() {
                    let number = head.inventory;
                    let stored = store.load(number).unwrap().unwrap();
                    assert_eq!(
                        stored.records.len() as u64,
                        stored.head.sequence,
                        "none is missing, none is twice"
                    );
                    let seen = &mut seen[number.0 as usize - 1];
                    assert!(*seen <= head.sequence && head.sequence <= stored.head.sequence, "it goes on");
                    *seen = stored.head.sequence;
                    looks += 1;
                }
            }
            looks
        });
        let housekeeper = threads.spawn(|| {
            let mut moves = 0;
            while !is_over() {
                moves += u32::from(store.do_chores().unwrap());
            }
            moves
        });
        // Also if it panics: nobody would wait for the others' end otherwise.
        let ending = Ending(&over);
        let mut writer = Writer::new(13);
        for _ in 0..COMMITS {
            let batch = writer.batch();
            assert!(store.commit(&[&batch]).unwrap().is_empty());
        }
        drop(ending);
        let (looks, moves) = (reader.join().unwrap(), housekeeper.join().unwrap());
        assert!(looks > 20 && moves > 20, "{looks} looks, {moves} moves");
    });
}
