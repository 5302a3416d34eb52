//! The embedded store: redb as a container for our records, and a log in front of it.
//!
//! A commit is durable when it is in the log (`log.rs`); until it is moved into redb it is in memory as well (`waiting.rs`), and
//! whoever reads sees both as one. Whoever opens a store moves what is in the log first.
//!
//! Tables (`tables.rs`): `journal (inventory, sequence) -> record`, `heads inventory -> head`, `manifests inventory -> manifest`,
//! `snapshots (inventory, sequence, piece) -> bytes`, `booking_ids (tenant, id) -> inventory`, `documents name -> sealed bytes`, and one
//! sealed [`Meta`] with the format and the number of inventories, and the key of the log. Beside it lies the high-water mark (`mark.rs`). Every
//! durable commit of redb writes down which pages are free, so that a store opens as fast after a kill as after a clean stop.
//!
//! What is trusted: nothing that redb says about what is there. Each record has its own checksum and its place in a
//! chain; the number of inventories and of commits is kept twice; stores up to [`CHECKED_AT_OPEN_BYTES_MAX`] have all
//! their pages checked when they are opened. Until then nothing is written
//! (`proving.rs`): a store that is refused is left byte for byte as it was.
//!
//! What that leaves open: in a store above [`CHECKED_AT_OPEN_BYTES_MAX`] pages are not checked.
//! Heads, records, manifests, snapshots and the meta record are found out when they are read, damaged or missing, by their
//! own checksums, numbers and chain; documents by their checksum, if they are damaged and not missing. The entries of `booking_ids` have none: a flipped bit there may hide an id that a caller
//! chose, so that its booking is found by its inventory only, and the id can be chosen once more in another one of the tenant. And redb's own list of
//! free pages is believed: a flipped bit there may let it write over a page that is in use, which is found out when that is read.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use boxoffice_core::ids::BookingId;
use parking_lot::{Mutex, RwLock};
use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction,
};
use serde::de::DeserializeOwned;

use super::attempts;
use super::files::{Files, LOG_FILES, MARK_FILE, STORE_FILE, create_files, files_in, io_at};
use super::log::{self, Entry, Frame, Key, Log, LogError};
use super::mark::Mark;
use super::pace::Pace;
use super::proving::ProvingFile;
use super::tables::{
    BOOKING_IDS, DOCUMENTS, HEADS, JOURNAL, KeptHead, LOG_KEY, MANIFESTS, META, Meta, ReadError, SNAPSHOTS,
    damaged, put, read_head, read_records, read_snapshot,
};
use super::waiting::{Gathered, Waiting};
use super::wiping;
use super::{BatchWrite, CommitError, Document, SecretStart, Store, StoreError, Stored};
use crate::attempt::{Attempt, AttemptFilter, AttemptId, AttemptPage};
use crate::ids::InventoryNumber;
use crate::limits::{ATTEMPTS_PRUNED_AT_ONCE, LOG_FILE_BYTES_MAX, SNAPSHOT_CHUNK_BYTES};
use crate::private_files::{AccessError, check_directory};
use crate::record::{self, Hash, Head, Manifest, RecordError};

/// The version of the tables and of the log.
const FORMAT_VERSION: u32 = 3;
/// Checking every page of a larger store would keep its users waiting for more than a second.
const CHECKED_AT_OPEN_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Pages that redb may keep in memory. Journals are written once and read when an inventory is loaded.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// The truth on one machine's disk.
pub struct EmbeddedStore {
    /// `None` after it was closed.
    database: RwLock<Option<Database>>,
    /// The file that the database is in.
    file: ProvingFile,
    mark: Mark,
    /// Locked by whoever commits.
    log: Mutex<Log>,
    /// Never locked while something is written.
    waiting: RwLock<Waiting>,
    /// Locked by readers of documents. A reader that began before an erasure may still read pages with what was erased.
    document_readers: RwLock<()>,
    /// Locked by whoever moves what waits into redb.
    moving: Mutex<()>,
    /// Of whoever moves it. Whoever else wants to use redb is in a hurry.
    pace: Arc<Pace>,
    /// The first error. After it nothing more is written than what was under way.
    failed: OnceLock<CommitError>,
}

/// Why a store cannot be opened. Nothing in its files was changed, except that a torn slot of the mark was made whole, or that what was
/// found sound could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Other users may access its files.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// Another process has it open.
    #[error("{0} is in use by another process")]
    InUse(PathBuf),
    /// A file is missing, or cannot be read or written.
    #[error("{path}: {error}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Written by a program that this one does not know.
    #[error(
        "the store has format {found}, and this program knows format {FORMAT_VERSION}; use the version that wrote it"
    )]
    UnknownFormat {
        /// Of the store.
        found: u32,
    },
    /// It does not have what it must have.
    #[error("the store is damaged and was left as it is: {0}; restore it from a backup")]
    Damaged(String),
}

impl EmbeddedStore {
    /// Opens the store in a directory, which is created if it does not exist.
    ///
    /// Creation is atomic: the files are made in a directory beside it, synced, and moved into place. Only the user of
    /// this process may access what is created; a directory that grants access to other users is refused.
    pub fn open(directory: &Path) -> Result<EmbeddedStore, OpenError> {
        EmbeddedStore::open_gathering(directory, LOG_FILE_BYTES_MAX)
    }

    /// The same with a log that gathers so much in each of its files.
    pub fn open_gathering(directory: &Path, log_bytes_max: u64) -> Result<EmbeddedStore, OpenError> {
        check_directory(directory)?;
        if !EmbeddedStore::is_in(directory) {
            create_files(directory).map_err(io_at(directory))?;
        }
        named(directory, EmbeddedStore::open_files(Files { log_bytes_max, ..files_in(directory)? }))
    }

    /// Opens a store that is damaged, to see what is wrong with it: its pages are not checked, and nothing is written.
    pub fn open_to_look(directory: &Path) -> Result<EmbeddedStore, OpenError> {
        named(directory, open_caught(files_in(directory)?, Care::Look))
    }

    /// Whether a directory has a store, or a part of one.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(STORE_FILE).exists() || directory.join(MARK_FILE).exists()
    }

    /// Opens a store in the given files; empty ones become a new store.
    pub fn open_files(files: Files) -> Result<EmbeddedStore, OpenError> {
        open_caught(files, Care::Use)
    }

    /// As [`EmbeddedStore::open_files`], except that redb may panic on pages that it has not checked yet.
    fn open_trusting(files: Files, care: Care) -> Result<EmbeddedStore, OpenError> {
        let io_of = |name: &'static str| move |error| OpenError::Io { path: name.into(), error };
        let store_bytes = files.store.len().map_err(io_of(STORE_FILE))?;
        let pace = Arc::new(Pace::new(files.pause));
        let file = ProvingFile::new(files.store, files.unsynced_bytes_max, Arc::clone(&pace))
            .map_err(io_of(STORE_FILE))?;
        let repaired = Arc::new(AtomicBool::new(false));
        let mut builder = redb::Builder::new();
        builder.set_cache_size(CACHE_BYTES).set_repair_callback({
            let repaired = Arc::clone(&repaired);
            move |_| repaired.store(true, Ordering::Relaxed)
        });
        let mut database = builder.create_with_backend(file.clone()).map_err(|error| match error {
            redb::DatabaseError::DatabaseAlreadyOpen => OpenError::InUse(PathBuf::new()),
            other => refused_by_redb(other),
        })?;
        // A repair has checked every page already. Whether there was one does not matter otherwise: what it may have lost is looked
        // for below.
        let checked = repaired.load(Ordering::Relaxed) || store_bytes > CHECKED_AT_OPEN_BYTES_MAX;
        if care == Care::Use && store_bytes > 0 && !checked {
            database.check_integrity().map_err(refused_by_redb)?;
        }
        // Nobody else has the store open from here on.
        let mark = Mark::open(files.mark).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => OpenError::Damaged(error.to_string()),
            _ => io_of(MARK_FILE)(error),
        })?;
        let marked = mark.count();
        let meta = read_sealed::<Meta>(&database, META)?;
        let log_key = read_sealed::<Key>(&database, LOG_KEY)?;
        let mut log_is_there = true;
        for (log, name) in files.logs.iter().zip(LOG_FILES) {
            log_is_there &= log.len().map_err(io_of(name))? > 0;
        }
        let is_new = match &meta {
            Some(Meta { format: FORMAT_VERSION, .. }) => false,
            Some(Meta { format, .. }) => return Err(OpenError::UnknownFormat { found: *format }),
            None if marked > 0 || log_is_there || care == Care::Look => {
                let message = format!("it is empty; at least {marked} commits were acknowledged");
                return Err(OpenError::Damaged(message));
            }
            None => true,
        };
        let key = match log_key {
            _ if is_new => rand::random(),
            Some(key) if log_is_there => key,
            _ => return Err(OpenError::Damaged("its log is missing".to_owned())),
        };
        let store = EmbeddedStore {
            mark,
            log: Mutex::new(Log::new(files.logs, files.log_bytes_max, key)),
            waiting: RwLock::default(),
            document_readers: RwLock::default(),
            moving: Mutex::default(),
            pace,
            failed: OnceLock::new(),
            database: RwLock::new(Some(database)),
            file: file.clone(),
        };
        if !is_new {
            store.read_log(&key)?;
            let commits = store.waiting.read().commits;
            if commits < marked {
                let message = format!("{marked} commits were acknowledged, and it has {commits}");
                return Err(OpenError::Damaged(message));
            }
        }
        match care {
            Care::Use => file.proved().map_err(io_of(STORE_FILE))?,
            // What is not proved is not written.
            Care::Look => return Ok(store),
        }
        // A store that says that it has a log is never seen without its files.
        store.log.lock().fill().map_err(|(file, error)| io_of(LOG_FILES[file])(error))?;
        let written = if is_new { store.initialize(&key) } else { store.move_all() };
        written.map_err(|error| {
            let kind = match &error {
                CommitError::Full(_) => io::ErrorKind::StorageFull,
                CommitError::Failed(_) | CommitError::Unavailable(_) => io::ErrorKind::Other,
            };
            io_of(STORE_FILE)(io::Error::new(kind, error))
        })?;
        Ok(store)
    }

    /// Counts what redb has, and takes what only the log has into memory.
    fn read_log(&self, key: &Key) -> Result<(), OpenError> {
        let damaged = |error: StoreError| OpenError::Damaged(error.to_string());
        let stored = self.kept_heads().map_err(damaged)?.iter().map(|kept| kept.commit).max().unwrap_or(0);
        let frames = log::read(self.log.lock().files(), key, stored).map_err(|error| match error {
            LogError::Io(error) => OpenError::Io { path: LOG_FILES[0].into(), error },
            LogError::Damaged(message) => OpenError::Damaged(message),
        })?;
        let mut waiting = self.waiting.write();
        waiting.commits = stored;
        frames.into_iter().for_each(|frame| waiting.add(frame));
        Ok(())
    }

    /// All heads, in order of number, none of them missing.
    fn kept_heads(&self) -> Result<Vec<KeptHead>, StoreError> {
        self.read(Waiting::heads, |transaction, waiting| {
            let metas = transaction.open_table(META)?;
            let meta = metas.get(())?.map(|bytes| record::unseal::<Meta>(bytes.value()));
            let meta = meta.transpose().map_err(|error| damaged("the meta record".to_owned(), error))?;
            let expected = meta.map_or(0, |meta| meta.inventories);
            let mut heads = BTreeMap::new();
            for entry in transaction.open_table(HEADS)?.iter()? {
                let (number, bytes) = entry?;
                heads.insert(InventoryNumber(number.value()), read_head(number.value(), bytes.value())?);
            }
            if heads.len() as u64 != expected {
                let message = format!("{expected} inventories were created, and {} are there", heads.len());
                return Err(ReadError::Ours(StoreError::Inconsistent(message)));
            }
            let waiting = waiting.into_iter();
            heads.extend(waiting.map(|(number, (commit, head))| (number, KeptHead { commit, head })));
            Ok(heads.into_values().collect())
        })
    }

    /// Makes the tables, so that a missing one is never taken for an empty one.
    fn initialize(&self, key: &Key) -> Result<(), CommitError> {
        self.write(Durability::Immediate, |transaction| {
            transaction.open_table(JOURNAL)?;
            transaction.open_table(HEADS)?;
            transaction.open_table(MANIFESTS)?;
            transaction.open_table(SNAPSHOTS)?;
            transaction.open_table(BOOKING_IDS)?;
            transaction.open_table(DOCUMENTS)?;
            transaction.open_table(LOG_KEY)?.insert((), record::seal(key).as_slice())?;
            let meta = Meta { format: FORMAT_VERSION, inventories: 0 };
            transaction.open_table(META)?.insert((), record::seal(&meta).as_slice())?;
            Ok(())
        })
    }

    /// Where the inventories of batches stand; zeros if they do not exist.
    fn standings(&self, batches: &[&BatchWrite]) -> Result<HashMap<InventoryNumber, Hash>, CommitError> {
        let mut standings = HashMap::with_capacity(batches.len());
        let waiting = self.waiting.read();
        let mut elsewhere = Vec::new();
        for number in batches.iter().map(|batch| batch.head.inventory) {
            match waiting.head(number) {
                Some((_, head)) => drop(standings.insert(number, head.hash)),
                None => elsewhere.push(number),
            }
        }
        drop(waiting);
        if elsewhere.is_empty() {
            return Ok(standings);
        }
        // Whoever commits is alone: a head that does not wait does not begin to.
        let nothing = |_: &Waiting| ();
        let read = self.read(nothing, |transaction, ()| {
            let heads = transaction.open_table(HEADS)?;
            for number in elsewhere {
                let hash = match heads.get(number.0)? {
                    Some(bytes) => read_head(number.0, bytes.value())?.head.hash,
                    None => Hash::default(),
                };
                standings.insert(number, hash);
            }
            Ok(standings)
        });
        read.map_err(CommitError::from)
    }

    /// As [`Store::commit`], by whoever has the log.
    fn commit_to(&self, log: &mut Log, batches: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        let mut standings = self.standings(batches)?;
        let mut entries: Vec<Entry> = Vec::with_capacity(batches.len());
        let mut fenced = Vec::new();
        for batch in batches {
            let number = batch.head.inventory;
            if standings[&number] != batch.previous || fenced.contains(&number) {
                fenced.push(number);
            } else {
                standings.insert(number, batch.head.hash);
                entries.push(Entry::of(batch));
            }
        }
        // A commit in which everything was fenced left no trace, and has no number.
        if entries.is_empty() {
            return Ok(fenced);
        }
        let commit = self.waiting.read().commits + 1;
        let is_for_log = log.prepare(commit, &entries);
        let frame = Frame { commit, entries };
        if is_for_log {
            if !log.has_room() {
                self.move_waiting()?;
                self.waiting.write().turn();
                log.turn();
                self.note_filled(log);
            }
            log.append().map_err(|error| failed_write("the log", &error))?;
            self.note_filled(log);
            self.waiting.write().add(frame);
        } else {
            self.move_all()?;
            let mut gathered = Gathered::default();
            gathered.add(frame);
            self.write(Durability::Immediate, |transaction| put(transaction, &gathered, &self.pace))?;
            self.waiting.write().commits = commit;
        }
        // Before anybody is told: from here on a store that lost this commit is found out.
        self.mark.raise(commit).map_err(|error| failed_write("the high-water mark", &error))?;
        Ok(fenced)
    }

    fn note_filled(&self, log: &Log) {
        let (bytes, bytes_max) = log.filled();
        self.pace.note_filled(bytes, bytes_max);
    }

    /// Writes, unless something failed before: then the first error is the answer to everything.
    fn unless_failed<R>(&self, write: impl FnOnce() -> Result<R, CommitError>) -> Result<R, CommitError> {
        match self.failed.get() {
            Some(first) => Err(first.clone()),
            None => write().map_err(|error| self.failed.get_or_init(|| error).clone()),
        }
    }

    /// Moves what is not being filled into redb, for somebody who waits for it.
    fn move_waiting(&self) -> Result<bool, CommitError> {
        let _hurry = self.pace.hurry();
        self.move_at_leisure()
    }

    /// Moves what is not being filled into redb; says whether there was anything.
    fn move_at_leisure(&self) -> Result<bool, CommitError> {
        let _alone = self.moving.lock();
        let Some(gathered) = self.waiting.read().moving().cloned() else { return Ok(false) };
        self.write_at_leisure(Durability::Immediate, |transaction| put(transaction, &gathered, &self.pace))?;
        self.waiting.write().moved();
        // Not that anybody waits for it: after a power cut it is no older than this.
        self.unless_failed(|| self.mark.sync().map_err(|error| failed_write("the high-water mark", &error)))?;
        Ok(true)
    }

    /// Moves everything into redb. Nobody else may commit meanwhile.
    fn move_all(&self) -> Result<(), CommitError> {
        self.move_waiting()?;
        self.waiting.write().turn();
        self.move_waiting()?;
        Ok(())
    }

    fn write<R>(
        &self,
        durability: Durability,
        change: impl FnOnce(&WriteTransaction) -> Result<R, redb::Error>,
    ) -> Result<R, CommitError> {
        let _hurry = self.pace.hurry();
        self.write_at_leisure(durability, change)
    }

    fn write_at_leisure<R>(
        &self,
        durability: Durability,
        change: impl FnOnce(&WriteTransaction) -> Result<R, redb::Error>,
    ) -> Result<R, CommitError> {
        let database = self.database.read();
        let database = database.as_ref().ok_or_else(|| CommitError::Failed("it was closed".to_owned()))?;
        let attempt = || {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(durability)?;
            // Otherwise all pages would have to be read after a crash.
            transaction.set_quick_repair(true);
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        self.unless_failed(|| {
            let result = catch_panic(attempt).map_err(CommitError::Failed)?;
            result.map_err(|error: redb::Error| match error {
                redb::Error::Io(error) if is_full(&error) => CommitError::Full(error.to_string()),
                other => CommitError::Failed(other.to_string()),
            })
        })
    }

    /// Looks at what redb has and at what waits, both as of one moment.
    fn read<W, R>(
        &self,
        note: impl FnOnce(&Waiting) -> W,
        look: impl FnOnce(&ReadTransaction, W) -> Result<R, ReadError>,
    ) -> Result<R, StoreError> {
        let hurry = self.pace.hurry();
        let database = self.database.read();
        let database = database.as_ref().ok_or_else(|| StoreError::Failed("it was closed".to_owned()))?;
        let waiting = self.waiting.read();
        // While this is locked nothing ceases to wait: what is not there is in redb.
        let transaction = database.begin_read().map_err(|error| StoreError::Failed(error.to_string()))?;
        let noted = note(&waiting);
        drop(waiting);
        // From here on whoever writes is in nobody's way.
        drop(hurry);
        let result = catch_panic(|| look(&transaction, noted))
            .map_err(|panic| StoreError::Inconsistent(format!("its pages do not fit together: {panic}")))?;
        result.map_err(|error| match error {
            ReadError::Below(error) => StoreError::Failed(error.to_string()),
            ReadError::Ours(error) => error,
        })
    }
}

impl Store for EmbeddedStore {
    fn heads(&self) -> Result<Vec<Head>, StoreError> {
        Ok(self.kept_heads()?.into_iter().map(|kept| kept.head).collect())
    }

    fn commit(&self, batches: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        let mut log = self.log.lock();
        self.unless_failed(|| self.commit_to(&mut log, batches))
    }

    fn has_chores(&self) -> bool {
        self.waiting.read().moving().is_some()
    }

    fn do_chores(&self) -> Result<bool, CommitError> {
        self.move_at_leisure()
    }

    fn load(&self, inventory: InventoryNumber) -> Result<Option<Stored>, StoreError> {
        let noted = |waiting: &Waiting| (waiting.head(inventory).cloned(), waiting.records(inventory));
        self.read(noted, |transaction, (head, waiting)| {
            let head = match head {
                Some((_, head)) => head,
                None => {
                    let heads = transaction.open_table(HEADS)?;
                    let Some(head) = heads.get(inventory.0)? else { return Ok(None) };
                    read_head(inventory.0, head.value())?.head
                }
            };
            let snapshot = read_snapshot(transaction, inventory)?;
            let after = snapshot.as_ref().map_or(0, |(manifest, _)| manifest.sequence);
            let records = read_records(transaction, waiting, inventory, after, usize::MAX)?;
            Ok(Some(Stored { head, snapshot, records }))
        })
    }

    fn snapshot(&self, inventory: InventoryNumber) -> Result<Option<(Manifest, Vec<u8>)>, StoreError> {
        self.read(|_| (), |transaction, ()| read_snapshot(transaction, inventory))
    }

    fn records(
        &self,
        inventory: InventoryNumber,
        after: u64,
        bytes: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let noted = |waiting: &Waiting| waiting.records(inventory);
        self.read(noted, |transaction, waiting| read_records(transaction, waiting, inventory, after, bytes))
    }

    fn find_booking(&self, tenant: &str, booking: BookingId) -> Result<Option<InventoryNumber>, StoreError> {
        let id = u128::from_be_bytes(booking.to_bytes());
        let noted = |waiting: &Waiting| waiting.find_booking(tenant, id);
        self.read(noted, |transaction, waiting| {
            let booking_ids = transaction.open_table(BOOKING_IDS)?;
            let found = || {
                let number = booking_ids.get((tenant, id))?;
                Ok::<_, ReadError>(number.map(|number| InventoryNumber(number.value())))
            };
            waiting.map_or_else(found, |number| Ok(Some(number)))
        })
    }

    fn write_snapshot(&self, manifest: &Manifest, contents: &[u8]) -> Result<(), CommitError> {
        let number = manifest.inventory.0;
        // The pieces become durable with whatever commit comes next; only the manifest makes them count.
        for (piece, bytes) in (0u32..).zip(contents.chunks(SNAPSHOT_CHUNK_BYTES)) {
            self.write(Durability::None, |transaction| {
                let mut snapshots = transaction.open_table(SNAPSHOTS)?;
                snapshots.insert((number, manifest.sequence, piece), bytes)?;
                Ok(())
            })?;
        }
        let pieces =
            u32::try_from(contents.len().div_ceil(SNAPSHOT_CHUNK_BYTES)).expect("snapshots are bounded");
        self.write(Durability::Immediate, |transaction| {
            let mut manifests = transaction.open_table(MANIFESTS)?;
            let newer = match manifests.get(number)? {
                Some(bytes) => record::unseal::<Manifest>(bytes.value())
                    .is_ok_and(|standing| standing.sequence > manifest.sequence),
                None => false,
            };
            if newer {
                return Ok(());
            }
            manifests.insert(number, record::seal(manifest).as_slice())?;
            let mut snapshots = transaction.open_table(SNAPSHOTS)?;
            let others = (number, 0, 0)..=(number, u64::MAX, u32::MAX);
            snapshots.retain_in(others, |(_, sequence, piece), _| {
                sequence == manifest.sequence && piece < pieces
            })?;
            let mut journal = transaction.open_table(JOURNAL)?;
            journal.retain_in((number, 0)..(number, manifest.journal_from), |_, _| false)?;
            Ok(())
        })
    }

    fn documents(&self, prefix: &str) -> Result<Vec<Document>, StoreError> {
        let _reader = self.document_readers.read();
        self.read(
            |_| (),
            |transaction, ()| {
                let mut found = Vec::new();
                for entry in transaction.open_table(DOCUMENTS)?.range(prefix..)? {
                    let (name, bytes) = entry?;
                    if !name.value().starts_with(prefix) {
                        break;
                    }
                    let contents = record::unseal(bytes.value())
                        .map_err(|error| damaged(format!("the document {:?}", name.value()), error))?;
                    found.push((name.value().to_owned(), contents));
                }
                Ok(found)
            },
        )
    }

    fn write_documents(&self, documents: &[(String, Option<Vec<u8>>)]) -> Result<(), CommitError> {
        self.write(Durability::Immediate, |transaction| {
            let mut table = transaction.open_table(DOCUMENTS)?;
            for (name, contents) in documents {
                match contents {
                    Some(contents) => {
                        table.insert(name.as_str(), record::seal(contents).as_slice())?;
                    }
                    None => {
                        table.remove(name.as_str())?;
                    }
                }
            }
            Ok(())
        })
    }

    fn wipe(&self, starts: &[SecretStart]) -> Result<(), CommitError> {
        // The file is read before other writers are kept out.
        let found = wiping::find(&self.file, starts).map_err(|error| failed_write("the store", &error))?;
        let _no_reader = self.document_readers.write();
        self.write(Durability::Immediate, |_| Ok(wiping::overwrite(&self.file, starts, &found)?))
    }

    fn keep_attempts(&self, attempts: &[Attempt]) -> Result<(), CommitError> {
        self.write_at_leisure(Durability::Immediate, |transaction| attempts::keep(transaction, attempts))
    }

    fn prune_attempts(&self, oldest: AttemptId) -> Result<(), CommitError> {
        let some =
            |transaction: &WriteTransaction| attempts::prune(transaction, oldest, ATTEMPTS_PRUNED_AT_ONCE);
        while self.write_at_leisure(Durability::Immediate, some)? {}
        Ok(())
    }

    fn attempts(
        &self,
        filter: &AttemptFilter,
        before: AttemptId,
        limit: usize,
    ) -> Result<AttemptPage, StoreError> {
        self.read(|_| (), |transaction, ()| attempts::find(transaction, filter, before, limit))
    }

    fn hurry(&self) {
        // For good.
        std::mem::forget(self.pace.hurry());
    }

    fn close(&self) -> Result<(), StoreError> {
        self.hurry();
        let log = self.log.lock();
        if self.failed.get().is_none() && self.database.read().is_some() {
            self.move_all().map_err(|error| StoreError::Failed(error.to_string()))?;
        }
        drop(self.database.write().take());
        log.close().map_err(|error| StoreError::Failed(error.to_string()))?;
        self.mark.close().map_err(|error| StoreError::Failed(error.to_string()))
    }
}

/// What a store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Care {
    /// To be trusted and written.
    Use,
    /// To see what is wrong with it.
    Look,
}

fn open_caught(files: Files, care: Care) -> Result<EmbeddedStore, OpenError> {
    catch_panic(|| EmbeddedStore::open_trusting(files, care))
        .unwrap_or_else(|panic| Err(OpenError::Damaged(format!("its pages do not fit together: {panic}"))))
}

fn named(directory: &Path, opened: Result<EmbeddedStore, OpenError>) -> Result<EmbeddedStore, OpenError> {
    opened.map_err(|error| match error {
        OpenError::InUse(_) => OpenError::InUse(directory.to_owned()),
        other => other,
    })
}

/// A sealed record that has a table for itself, if it is there.
fn read_sealed<T: DeserializeOwned>(
    database: &Database,
    table: TableDefinition<(), &[u8]>,
) -> Result<Option<T>, OpenError> {
    let damaged = |error: &dyn std::fmt::Display| OpenError::Damaged(error.to_string());
    let transaction = database.begin_read().map_err(|error| damaged(&error))?;
    let table = match transaction.open_table(table) {
        Ok(table) => table,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(damaged(&error)),
    };
    let Some(bytes) = table.get(()).map_err(|error| damaged(&error))? else { return Ok(None) };
    match record::unseal(bytes.value()) {
        Ok(value) => Ok(Some(value)),
        Err(RecordError::UnknownFormat(format)) => Err(OpenError::UnknownFormat { found: format.into() }),
        Err(error) => Err(damaged(&error)),
    }
}

/// A disk that cannot be read or written now says nothing about what is on it.
fn refused_by_redb(error: redb::DatabaseError) -> OpenError {
    match error {
        redb::DatabaseError::Storage(redb::StorageError::Io(error)) if is_of_the_disk(&error) => {
            OpenError::Io { path: STORE_FILE.into(), error }
        }
        other => OpenError::Damaged(other.to_string()),
    }
}

/// Whether the system reported it, and not redb: it has used this type for bytes that it does not like, too.
fn is_of_the_disk(error: &io::Error) -> bool {
    error.raw_os_error().is_some()
}

/// redb refuses most damaged files and panics on some, where it follows a page's numbers before it checked them. To us
/// both are the same: a store that must not be used. What the panic left half done is dropped with the database, or
/// met by an error in every later use of it.
fn catch_panic<R>(act: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
    })
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn failed_write(what: &str, error: &io::Error) -> CommitError {
    let message = format!("{what}: {error}");
    if is_full(error) { CommitError::Full(message) } else { CommitError::Failed(message) }
}

#[cfg(test)]
mod tests;
