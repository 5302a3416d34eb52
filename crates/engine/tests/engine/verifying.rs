//! `verify` finds nothing in a store that is right, and the difference in one that is not.

use boxoffice_engine::record::{self, Head};
use boxoffice_engine::snapshot::{self, Retention};
use boxoffice_engine::store::{BatchWrite, Store};
use boxoffice_engine::verify::{Report, verify};

use crate::scene::{Scene, cancel, chosen, hold, nth};

async fn sold() -> Scene {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    scene.hall("other", 2, 4).await;
    scene.grant(hall, hold(nth(hall, 1), 2)).await;
    scene.grant(hall, hold(chosen(2), 2)).await;
    scene.grant(hall, cancel(nth(hall, 1))).await;
    scene
}

#[tokio::test]
async fn a_store_that_is_right_is_verified() {
    let scene = sold().await;
    let mut seen = Vec::new();
    let report = verify(&*scene.store, |done, all| seen.push((done, all))).unwrap();
    assert_eq!((report.inventories, report.records, report.bookings, report.from_snapshot), (2, 5, 2, 0));
    assert_eq!(seen, [(0, 2), (1, 2), (2, 2)]);

    let hall = scene.engine.number("hall").unwrap();
    snapshot::write(&*scene.store, hall, Retention::All).unwrap().unwrap();
    assert_eq!(verify(&*scene.store, |_, _| {}).unwrap(), report);
    scene.grant(hall, hold(nth(hall, 3), 1)).await;
    snapshot::write(&*scene.store, hall, Retention::Records(1)).unwrap().unwrap();
    let cut = verify(&*scene.store, |_, _| {}).unwrap();
    assert_eq!((cut.from_snapshot, cut.bookings), (1, 3));
    assert_ne!(cut, Report::default());
}

#[tokio::test]
async fn a_snapshot_that_the_journal_does_not_lead_to_is_named() {
    let scene = sold().await;
    let hall = scene.engine.number("hall").unwrap();
    snapshot::write(&*scene.store, hall, Retention::All).unwrap().unwrap();
    let (mut manifest, _) = scene.store.load(hall).unwrap().unwrap().snapshot.unwrap();
    let other = Scene::new();
    other.hall("hall", 2, 4).await;
    let state = boxoffice_engine::load::load(&*other.store, hall).unwrap().unwrap().inventory;
    let contents = boxoffice_core::codec::encode_inventory(&state);
    manifest.bytes = contents.len() as u64;
    manifest.contents = record::hash_of(&contents);
    scene.store.write_snapshot(&manifest, &contents).unwrap();
    let error = verify(&*scene.store, |_, _| {}).unwrap_err().to_string();
    assert_eq!(error, "inventory #1 at sequence 4: the snapshot is not the state that the journal leads to");
}

#[tokio::test]
async fn a_deadline_that_the_head_does_not_know_is_named() {
    let scene = sold().await;
    let hall = scene.engine.number("hall").unwrap();
    let head = scene.store.load(hall).unwrap().unwrap().head;
    let changes = vec![boxoffice_core::change::Change::KeysForgotten { through: crate::scene::START }];
    let (bytes, hash) = record::encode_record(hall, 5, head.hash, &changes);
    let forgetful = Head { sequence: 5, hash, next_deadline: None, ..head.clone() };
    let write = BatchWrite {
        previous: head.hash,
        head: forgetful,
        record: bytes.into(),
        changes: std::sync::Arc::new(changes),
        chosen_ids: Vec::new(),
        positions: None,
    };
    assert_eq!(scene.store.commit(&[&write]).unwrap(), []);
    let error = verify(&*scene.store, |_, _| {}).unwrap_err().to_string();
    assert!(error.starts_with("inventory #1 at sequence 5: the next deadline is Some("), "{error}");
}

#[tokio::test]
async fn a_snapshot_that_comes_late_does_not_replace_a_newer_one() {
    let scene = sold().await;
    let hall = scene.engine.number("hall").unwrap();
    snapshot::write(&*scene.store, hall, Retention::Records(0)).unwrap().unwrap();
    let (old, contents) = scene.store.load(hall).unwrap().unwrap().snapshot.unwrap();
    scene.grant(hall, hold(nth(hall, 3), 1)).await;
    snapshot::write(&*scene.store, hall, Retention::Records(0)).unwrap().unwrap();
    scene.store.write_snapshot(&old, &contents).unwrap();
    assert_eq!(verify(&*scene.store, |_, _| {}).unwrap().bookings, 3);
}
