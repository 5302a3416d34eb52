//! What every store promises, and what this one promises besides.

use std::sync::Arc;

use boxoffice_cluster::postgres::{ConnectError, PostgresStore, SchemaError};
use boxoffice_core::change::Change;
use boxoffice_core::ids::{Actor, BookingId};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::record::{self, Hash, Head, Manifest};
use boxoffice_engine::store::{BatchWrite, Store};

use crate::database::Database;

/// A batch that says nothing but when it was made.
pub(crate) fn batch(number: u32, sequence: u64, previous: Hash) -> BatchWrite {
    let changes = vec![Change::Act { at: Timestamp(i64::try_from(sequence).unwrap()), by: Actor(1) }];
    let inventory = InventoryNumber(number);
    let (record, hash) = record::encode_record(inventory, sequence, previous, &changes);
    let name = format!("default/event:hall-{number}").into();
    let next_deadline = Some(Timestamp(7));
    BatchWrite {
        previous,
        head: Head { inventory, name, sequence, hash, next_deadline },
        record: record.into(),
        changes: Arc::new(changes),
        chosen_ids: Vec::new(),
        positions: None,
    }
}

fn chosen(number: u8) -> BookingId {
    BookingId::from_bytes([number; 16])
}

#[test]
fn what_was_committed_is_read_by_everybody() {
    let database = Database::start();
    let (one, other) = (database.store(), database.store());
    let first = batch(1, 1, Hash::default());
    let second = BatchWrite { chosen_ids: vec![chosen(1)], ..batch(1, 2, first.head.hash) };
    let alone = batch(2, 1, Hash::default());
    assert_eq!(one.commit(&[&first, &second, &alone]).unwrap(), []);
    assert_eq!(other.heads().unwrap(), [second.head.clone(), alone.head.clone()]);
    let stored = other.load(InventoryNumber(1)).unwrap().unwrap();
    assert_eq!((&stored.head, stored.snapshot), (&second.head, None));
    assert_eq!(stored.records, [first.record.to_vec(), second.record.to_vec()]);
    assert!(other.load(InventoryNumber(3)).unwrap().is_none());
    assert_eq!(other.find_booking("default", chosen(1)).unwrap(), Some(InventoryNumber(1)));
    assert_eq!(other.find_booking("default", chosen(2)).unwrap(), None);
    // One record at least, however few bytes are asked for.
    assert_eq!(other.records(InventoryNumber(1), 0, 1).unwrap(), [first.record.to_vec()]);
    assert_eq!(other.records(InventoryNumber(1), 0, 1_000).unwrap().len(), 2);
    assert_eq!(other.records(InventoryNumber(1), 1, 1_000).unwrap(), [second.record.to_vec()]);
    assert_eq!(
        database.rows("SELECT tenant, kind, id FROM inventory WHERE number = 2"),
        ["default|event|hall-2"]
    );
}

#[test]
fn batches_on_another_head_are_fenced_and_named() {
    let database = Database::start();
    let (one, other) = (database.store(), database.store());
    let (mine, second_mine) = (batch(1, 1, Hash::default()), batch(2, 1, Hash::default()));
    assert_eq!(one.commit(&[&mine, &second_mine]).unwrap(), []);
    // A number that is taken, a name that is taken, a head that has moved; and one that is as it was.
    let late = batch(2, 1, Hash::default());
    let mut namesake = batch(9, 1, Hash::default());
    namesake.head.name = mine.head.name.clone();
    let next = batch(1, 2, mine.head.hash);
    let fenced = other.commit(&[&late, &namesake, &next]).unwrap();
    assert_eq!(fenced, [InventoryNumber(2), InventoryNumber(9)]);
    let rival = batch(1, 2, Hash([9; 32]));
    assert_eq!(one.commit(&[&rival]).unwrap(), [InventoryNumber(1)]);
    assert_eq!(one.heads().unwrap(), [next.head, second_mine.head]);
}

#[test]
fn an_id_that_another_inventory_took_fences_the_later_one() {
    let database = Database::start();
    let (one, other) = (database.store(), database.store());
    let first = BatchWrite { chosen_ids: vec![chosen(1), chosen(2)], ..batch(1, 1, Hash::default()) };
    assert_eq!(one.commit(&[&first]).unwrap(), []);
    let late = BatchWrite { chosen_ids: vec![chosen(2)], ..batch(2, 1, Hash::default()) };
    let beside = BatchWrite { chosen_ids: vec![chosen(3)], ..batch(3, 1, Hash::default()) };
    assert_eq!(other.commit(&[&late, &beside]).unwrap(), [InventoryNumber(2)]);
    assert_eq!(other.heads().unwrap(), [first.head.clone(), beside.head]);
    // Its own are its own.
    let again = BatchWrite { chosen_ids: vec![chosen(2)], ..batch(1, 2, first.head.hash) };
    assert_eq!(one.commit(&[&again]).unwrap(), []);
}

#[test]
fn two_tenants_choose_the_same_booking_id() {
    let database = Database::start();
    let (one, other) = (database.store(), database.store());
    let of = |name: &str, number, ids: &[u8]| {
        let batch = batch(number, 1, Hash::default());
        let head = Head { name: name.into(), ..batch.head };
        BatchWrite { head, chosen_ids: ids.iter().map(|&id| chosen(id)).collect(), ..batch }
    };
    let acme = of("acme/event:hall", 1, &[1, 2]);
    let zeta = of("zeta/event:hall", 2, &[2, 3]);
    assert_eq!(one.commit(&[&acme, &zeta]).unwrap(), []);
    let late = of("acme/event:club", 3, &[2]);
    assert_eq!(other.commit(&[&late]).unwrap(), [InventoryNumber(3)], "the tenant has it elsewhere");
    for (tenant, id, number) in
        [("acme", 2, Some(1)), ("zeta", 2, Some(2)), ("acme", 3, None), ("zeta", 1, None)]
    {
        let found = other.find_booking(tenant, chosen(id)).unwrap();
        assert_eq!(found, number.map(InventoryNumber), "{tenant} {id}");
    }
}

#[test]
fn snapshots_replace_older_ones_only() {
    let database = Database::start();
    let store = database.store();
    let first = batch(1, 1, Hash::default());
    let second = batch(1, 2, first.head.hash);
    store.commit(&[&first, &second]).unwrap();
    let manifest = |of: &BatchWrite, contents: &[u8]| Manifest {
        inventory: InventoryNumber(1),
        sequence: of.head.sequence,
        hash: of.head.hash,
        bytes: contents.len() as u64,
        contents: record::hash_of(contents),
        journal_from: 1,
    };
    let newer = manifest(&second, b"newer");
    store.write_snapshot(&newer, b"newer").unwrap();
    store.write_snapshot(&manifest(&first, b"older"), b"older").unwrap();
    let stored = store.load(InventoryNumber(1)).unwrap().unwrap();
    assert_eq!(stored.snapshot, Some((newer, b"newer".to_vec())));
    assert_eq!(stored.records, Vec::<Vec<u8>>::new());
}

#[test]
fn documents_are_found_by_the_beginning_of_their_name() {
    let database = Database::start();
    let store = database.store();
    let write = |name: &str, contents: Option<&[u8]>| {
        store.write_documents(&[(name.to_owned(), contents.map(<[u8]>::to_vec))]).unwrap();
    };
    let names = |prefix: &str| -> Vec<String> {
        store.documents(prefix).unwrap().into_iter().map(|(name, _)| name).collect()
    };
    for name in ["key/2", "key/1", "keys", "hook/1"] {
        write(name, Some(name.as_bytes()));
    }
    write("key/2", Some(b"changed"));
    assert_eq!(names("key/"), ["key/1", "key/2"]);
    assert_eq!(store.documents("key/2").unwrap(), [("key/2".to_owned(), b"changed".to_vec())]);
    write("key/1", None);
    assert_eq!(names(""), ["hook/1", "key/2", "keys"]);
}

#[test]
fn tables_of_another_version_are_refused_by_name() {
    let database = Database::start();
    let known = PostgresStore::schema_version();
    let missing = PostgresStore::open(&database.url()).unwrap_err();
    assert!(matches!(missing, ConnectError::Schema(SchemaError::TooOld { found: 0, .. })), "{missing}");
    assert_eq!(PostgresStore::migrate(&database.url()).unwrap().1, 0);
    assert_eq!(PostgresStore::migrate(&database.url()).unwrap().1, known);
    PostgresStore::open(&database.url()).unwrap();
    database.rows("UPDATE boxoffice_schema SET version = version + 1");
    for refused in [
        PostgresStore::open(&database.url()).unwrap_err(),
        PostgresStore::migrate(&database.url()).unwrap_err(),
    ] {
        let expected = format!("the database's tables are of version {}", known + 1);
        assert!(refused.to_string().starts_with(&expected), "{refused}");
    }
}

#[test]
fn tables_of_an_older_version_are_brought_up_to_date_with_what_is_in_them() {
    let database = Database::start();
    for migration in [
        include_str!("../../migrations/0001_tables.sql"),
        include_str!("../../migrations/0002_contention.sql"),
        include_str!("../../migrations/0003_positions.sql"),
        "CREATE TABLE boxoffice_schema AS SELECT 3::bigint AS version",
        "INSERT INTO pool VALUES (1, 'area 0', 'floor', 2, 1, 1), (2, '2026-12-01T09:00', 'nine', 2, 0, 0)",
    ] {
        database.rows(migration);
    }
    assert_eq!(PostgresStore::migrate(&database.url()).unwrap().1, 3);
    // Nobody closes an area. Whether the slot was closed only the journal knows.
    let found = database.rows("SELECT name, coalesce(status, 'not known') FROM pool ORDER BY inventory");
    assert_eq!(found, ["floor|FULL", "nine|not known"]);
}

#[test]
fn passwords_are_in_no_error() {
    let nobody = PostgresStore::open("postgres://ann:secret@127.0.0.1:1/tickets").unwrap_err();
    assert!(
        nobody.to_string().starts_with("the database \"tickets\" on 127.0.0.1:1 cannot be used"),
        "{nobody}"
    );
    let unreadable = PostgresStore::open("postgres://ann:secret@[tickets").unwrap_err();
    for error in [nobody, unreadable] {
        assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
    }
}

#[test]
fn a_server_that_is_restarted_is_waited_for() {
    let mut database = Database::start();
    let store = database.store();
    let first = batch(1, 1, Hash::default());
    store.commit(&[&first]).unwrap();
    database.server.restart().unwrap();
    assert_eq!(store.heads().unwrap(), std::slice::from_ref(&first.head));
    let second = batch(1, 2, first.head.hash);
    assert_eq!(store.commit(&[&second]).unwrap(), []);
    assert_eq!(store.load(InventoryNumber(1)).unwrap().unwrap().head, second.head);
}
