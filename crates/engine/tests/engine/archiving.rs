//! A backup has everything, comes back as it was, and is refused if a bit of it is not what was written.

use std::io::{self, Write};

use boxoffice_engine::InventoryNumber;
use boxoffice_engine::archive::{self, Contents};
use boxoffice_engine::snapshot::{self, Retention};
use boxoffice_engine::store::{EmbeddedStore, MemoryStore, Store};
use boxoffice_engine::verify::verify;

use crate::scene::{Scene, cancel, chosen, hold, nth};

async fn sold() -> (Scene, InventoryNumber) {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    scene.hall("other", 2, 4).await;
    scene.grant(hall, hold(nth(hall, 1), 2)).await;
    scene.grant(hall, hold(chosen(2), 2)).await;
    scene.grant(hall, cancel(nth(hall, 1))).await;
    scene
        .engine
        .write_documents(&[("key/a".to_owned(), Some(vec![1, 2])), ("b".to_owned(), Some(vec![]))])
        .unwrap();
    (scene, hall)
}

fn archived(store: &dyn Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    let written = archive::write(store, &mut bytes, |_, _| {}).unwrap();
    assert_eq!(archive::check(&mut bytes.as_slice(), |_| {}).unwrap(), written);
    bytes
}

/// Restores into the embedded store, which must then be right and give the same archive.
#[track_caller]
fn assert_comes_back(bytes: &[u8], of: &dyn Store) {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(&directory.path().join("store")).unwrap();
    archive::restore(&mut &*bytes, &store, |_| Ok(()), |_| {}).unwrap();
    assert_eq!(store.heads().unwrap(), of.heads().unwrap());
    assert_eq!(verify(&store, |_, _| {}).unwrap(), verify(of, |_, _| {}).unwrap());
    assert_eq!(store.documents("").unwrap(), of.documents("").unwrap());
    assert_eq!(store.find_booking("", chosen(2)).unwrap(), of.find_booking("", chosen(2)).unwrap());
    assert!(archived(&store) == bytes, "the same bytes again");
}

#[tokio::test]
async fn a_store_comes_back_as_it_was_with_and_without_snapshots() {
    let (scene, hall) = sold().await;
    let contents = archive::write(&*scene.store, &mut io::sink(), |_, _| {}).unwrap();
    assert_eq!(contents, Contents { inventories: 2, records: 5, documents: 2 });
    assert_comes_back(&archived(&*scene.store), &*scene.store);
    for retention in [Retention::All, Retention::Records(1), Retention::Records(0)] {
        let id =
            nth(hall, 10 + u8::try_from(scene.store.load(hall).unwrap().unwrap().head.sequence).unwrap());
        scene.grant(hall, hold(id, 1)).await;
        snapshot::write(&*scene.store, hall, retention).unwrap().unwrap();
        assert_comes_back(&archived(&*scene.store), &*scene.store);
        scene.grant(hall, cancel(id)).await;
        assert_comes_back(&archived(&*scene.store), &*scene.store);
    }
}

/// Cuts the journal when the first inventory's frame is written: its state was read, its earlier records were not.
struct CutMeanwhile<'a> {
    store: &'a MemoryStore,
    hall: InventoryNumber,
    bytes: Vec<u8>,
    writes: u32,
}

impl Write for CutMeanwhile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        if self.writes == 2 {
            snapshot::write(self.store, self.hall, Retention::Records(1)).unwrap().unwrap();
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_journal_that_is_cut_while_it_is_read_comes_back_from_its_snapshot() {
    let (scene, hall) = sold().await;
    snapshot::write(&*scene.store, hall, Retention::All).unwrap().unwrap();
    scene.grant(hall, hold(nth(hall, 3), 1)).await;
    let mut out = CutMeanwhile { store: &scene.store, hall, bytes: Vec::new(), writes: 0 };
    archive::write(&*scene.store, &mut out, |_, _| {}).unwrap();
    let store = MemoryStore::default();
    archive::restore(&mut out.bytes.as_slice(), &store, |_| Ok(()), |_| {}).unwrap();
    let report = verify(&store, |_, _| {}).unwrap();
    assert_eq!((report.inventories, report.bookings, report.from_snapshot), (2, 3, 1));
    assert_eq!(store.find_booking("", chosen(2)).unwrap(), Some(hall));
}

#[tokio::test]
async fn every_flipped_bit_and_every_missing_byte_is_noticed() {
    let (scene, hall) = sold().await;
    snapshot::write(&*scene.store, hall, Retention::All).unwrap().unwrap();
    let bytes = archived(&*scene.store);
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(archive::check(&mut damaged.as_slice(), |_| {}).is_err(), "byte {place}");
        assert!(archive::check(&mut &bytes[..place], |_| {}).is_err(), "{place} bytes");
    }
    let twice = [bytes.as_slice(), b"\n"].concat();
    assert!(archive::check(&mut twice.as_slice(), |_| {}).is_err());
}
