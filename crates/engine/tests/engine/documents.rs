//! Small records beside the inventories.

use std::sync::Arc;

use boxoffice_engine::store::{EmbeddedStore, MemoryStore, NextCommit, Store};
use boxoffice_engine::{Clock, Engine, Settings, StopReason, SubmitError};

use crate::scene::START;

fn write(store: &dyn Store, name: &str, contents: Option<&[u8]>) {
    store.write_documents(&[(name.to_owned(), contents.map(<[u8]>::to_vec))]).unwrap();
}

fn names(store: &dyn Store, prefix: &str) -> Vec<String> {
    store.documents(prefix).unwrap().into_iter().map(|(name, _)| name).collect()
}

#[test]
fn documents_are_found_by_the_beginning_of_their_name() {
    let directory = tempfile::tempdir().unwrap();
    let embedded: &dyn Store = &EmbeddedStore::open(&directory.path().join("store")).unwrap();
    let memory: &dyn Store = &MemoryStore::default();
    for store in [embedded, memory] {
        for name in ["key/2", "key/1", "keys", "hook/1"] {
            write(store, name, Some(name.as_bytes()));
        }
        write(store, "key/2", Some(b"changed"));
        assert_eq!(names(store, "key/"), ["key/1", "key/2"]);
        assert_eq!(store.documents("key/2").unwrap(), [("key/2".to_owned(), b"changed".to_vec())]);
        write(store, "key/1", None);
        assert_eq!(names(store, ""), ["hook/1", "key/2", "keys"]);
    }
}

#[test]
fn documents_outlive_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = EmbeddedStore::open(&path).unwrap();
    write(&store, "key/1", Some(b"first"));
    drop(store);
    let again = EmbeddedStore::open(&path).unwrap();
    assert_eq!(again.documents("").unwrap(), [("key/1".to_owned(), b"first".to_vec())]);
}

#[test]
fn an_engine_whose_documents_cannot_be_written_stops() {
    let store = Arc::new(MemoryStore::default());
    let settings = Settings { shards: 1, ..Settings::default() };
    let engine =
        Engine::start(Arc::clone(&store) as Arc<dyn Store>, Clock::manual(START), &settings).unwrap();
    engine.write_documents(&[("a".to_owned(), Some(vec![1]))]).unwrap();
    store.next_commit(NextCommit::Full);
    let change = [("a".to_owned(), Some(vec![2]))];
    assert_eq!(engine.write_documents(&change), Err(SubmitError::OutcomeUnknown));
    assert_eq!(engine.write_documents(&change), Err(SubmitError::Stopped));
    assert!(matches!(engine.close(), Err(StopReason::DiskFull(_))));
}
