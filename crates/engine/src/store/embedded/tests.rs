//! When moves pause, what becomes of stores of other formats, and what removed documents leave behind.

use std::time::Duration;

use boxoffice_core::change::Change;
use boxoffice_core::ids::Actor;
use boxoffice_core::time::Timestamp;
use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::*;

/// A file that outlives the store it is in.
#[derive(Debug, Clone)]
struct SharedFile(Arc<InMemoryBackend>);

impl StorageBackend for SharedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

/// Commits batches to one inventory.
struct Writer<'a> {
    store: &'a EmbeddedStore,
    head: Head,
}

impl Writer<'_> {
    fn commit(&mut self, acts: usize) {
        let (previous, sequence) = (self.head.hash, self.head.sequence + 1);
        let changes = vec![Change::Act { at: Timestamp(1), by: Actor(7) }; acts];
        let (record, hash) = record::encode_record(self.head.inventory, sequence, previous, &changes);
        (self.head.sequence, self.head.hash) = (sequence, hash);
        let batch = BatchWrite {
            previous,
            head: self.head.clone(),
            record: record.into(),
            changes: changes.into(),
            chosen_ids: Vec::new(),
            positions: None,
        };
        assert_eq!(self.store.commit(&[&batch]).unwrap(), []);
    }

    /// Each fills a page of the log.
    fn commit_pages(&mut self, pages: usize) {
        (0..pages).for_each(|_| self.commit(1));
    }

    /// Until a file of the log is full, and the other one has one page.
    fn fill_a_file(&mut self) {
        while !self.store.has_chores() {
            self.commit(1);
        }
    }
}

#[test]
fn only_a_move_that_nobody_waits_for_pauses() {
    const FILE_PAGES: usize = 32;
    let log_bytes_max = FILE_PAGES as u64 * 4096;
    let files = Files { log_bytes_max, pause: Duration::from_nanos(1), ..Files::in_memory() };
    let store = EmbeddedStore::open_files(files).unwrap();
    let (inventory, hash) = (InventoryNumber(1), Hash::default());
    let head = Head { inventory, name: "hall".into(), sequence: 0, hash, next_deadline: None };
    let mut writer = Writer { store: &store, head };
    let pauses_in = |act: &mut dyn FnMut()| {
        let before = store.pace.pauses();
        act();
        store.pace.pauses() - before
    };
    let move_by_itself = || assert!(store.do_chores().unwrap());
    writer.fill_a_file();
    assert!(pauses_in(&mut || move_by_itself()) >= 2, "thirty-two records are as many steps");
    writer.fill_a_file();
    let mut fill_the_other = || writer.commit_pages(FILE_PAGES);
    assert_eq!(pauses_in(&mut fill_the_other), 0, "whoever commits has to move it");
    let documents: Vec<_> = (0..100).map(|n| (format!("{n:0>1000}"), Some(vec![7; 1_000]))).collect();
    assert_eq!(pauses_in(&mut || store.write_documents(&documents).unwrap()), 0);
    assert_eq!(pauses_in(&mut || writer.commit(100_000)), 0, "more than a file takes goes to redb at once");
    writer.fill_a_file();
    assert!(pauses_in(&mut || move_by_itself()) >= 2);
    writer.fill_a_file();
    writer.commit_pages(FILE_PAGES / 2);
    assert_eq!(pauses_in(&mut || move_by_itself()), 0, "the other file is half full");
    writer.fill_a_file();
    store.hurry();
    assert_eq!(pauses_in(&mut || move_by_itself()), 0, "it is to be closed");
    writer.commit_pages(1);
    assert_eq!(pauses_in(&mut || store.close().unwrap()), 0);
}

#[test]
fn store_of_another_format_or_without_its_log_is_refused() {
    let [store, mark, first, second] = [(); 4].map(|()| SharedFile(Arc::new(InMemoryBackend::new())));
    let open = || {
        let file = |file: &SharedFile| -> Box<dyn StorageBackend> { Box::new(file.clone()) };
        let logs = [file(&first), file(&second)];
        let files = Files { store: file(&store), mark: file(&mark), logs, ..Files::in_memory() };
        EmbeddedStore::open_files(files).map_err(|error| error.to_string())
    };
    let opened = open().unwrap();
    second.set_len(0).unwrap();
    drop(opened);
    let refused = open().map(drop).unwrap_err();
    assert!(refused.contains("its log is missing"), "{refused}");
    second.set_len(4096).unwrap();
    // What another version of the program wrote is not damage.
    let opened = open().unwrap();
    let meta = Meta { format: FORMAT_VERSION - 1, inventories: 0 };
    let put = |transaction: &WriteTransaction| {
        transaction.open_table(META)?.insert((), record::seal(&meta).as_slice())?;
        Ok(())
    };
    opened.write(Durability::Immediate, put).unwrap();
    drop(opened);
    let refused = open().map(drop).unwrap_err();
    assert!(refused.contains("the store has format 2"), "{refused}");
}

#[test]
fn wiped_document_leaves_no_bytes_in_any_page() {
    let [store, mark] = [(); 2].map(|()| SharedFile(Arc::new(InMemoryBackend::new())));
    let logs = [(); 2].map(|()| SharedFile(Arc::new(InMemoryBackend::new())));
    let open = || {
        let file = |file: &SharedFile| -> Box<dyn StorageBackend> { Box::new(file.clone()) };
        let logs = logs.each_ref().map(file);
        EmbeddedStore::open_files(Files {
            store: file(&store),
            mark: file(&mark),
            logs,
            ..Files::in_memory()
        })
    };
    let copies_of = |secret: &[u8]| {
        let mut bytes = vec![0; usize::try_from(store.len().unwrap()).unwrap()];
        store.read(0, &mut bytes).unwrap();
        bytes.windows(secret.len()).filter(|window| *window == secret).count()
    };
    let opened = open().unwrap();
    let secrets: Vec<Vec<u8>> = (0..3).map(|_| rand::random::<[u8; 32]>().to_vec()).collect();
    let named = |number: usize| format!("contact/{number:04}");
    for round in 0..20 {
        let others = (0..100).map(|n| (format!("{}/{round}", named(n)), Some(vec![7; 500])));
        let kept = secrets.iter().enumerate().map(|(n, secret)| (named(n), Some(secret.clone())));
        opened.write_documents(&others.chain(kept).collect::<Vec<_>>()).unwrap();
    }
    let removed: Vec<_> = (0..3).map(|number| (named(number), None)).collect();
    opened.write_documents(&removed).unwrap();
    let left: usize = secrets.iter().map(|secret| copies_of(secret)).sum();
    assert!(left > 0, "redb does not overwrite what it removes");
    let starts: Vec<_> = secrets.iter().map(|secret| *secret.first_chunk().unwrap()).collect();
    opened.wipe(&starts).unwrap();
    for secret in &secrets {
        assert_eq!(copies_of(secret), 0);
    }
    let before = opened.documents("").unwrap();
    assert_eq!(before.len(), 2_000);
    opened.close().unwrap();
    drop(opened);
    // All pages are checked when it is opened.
    let opened = open().unwrap();
    assert!(opened.documents("").unwrap() == before);
    opened.write_documents(&[(named(0), Some(vec![1]))]).unwrap();
}
