//! The embedded store: redb as a container for our records.
//!
//! Tables: `journal (inventory, sequence) -> record`, `heads inventory -> head`, `manifests inventory -> manifest`,
//! `snapshots (inventory, sequence, piece) -> bytes`, `booking_ids id -> inventory`, `documents name -> sealed bytes`, and one
//! sealed [`Meta`] with the format and the number of inventories. Beside it lies the high-water mark (`mark.rs`).
//!
//! What is trusted: nothing that redb says about what is there. Each record has its own checksum and its place in a
//! chain; the number of inventories and of commits is kept twice; stores up to [`CHECKED_AT_OPEN_BYTES_MAX`] have all
//! their pages checked when they are opened, larger ones when they were not closed properly. Until then nothing is written
//! (`proving.rs`): a store that is refused is left byte for byte as it was.
//!
//! What that leaves open: in a store above [`CHECKED_AT_OPEN_BYTES_MAX`] that was closed properly, pages are not checked.
//! Heads, records, manifests, snapshots and the meta record are found out when they are read, damaged or missing, by their
//! own checksums, numbers and chain; documents by their checksum, if they are damaged and not missing. The entries of `booking_ids` have none: a flipped bit there may hide an id that a caller
//! chose, so that its booking is found by its inventory only, and the id can be chosen once more in another one.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boxoffice_core::ids::BookingId;
use parking_lot::{Mutex, RwLock};
use redb::backends::FileBackend;
use redb::{
    Database, Durability, ReadTransaction, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    WriteTransaction,
};
use serde::{Deserialize, Serialize};

use super::mark::Mark;
use super::proving::ProvingFile;
use super::{BatchWrite, CommitError, Document, Store, StoreError, Stored};
use crate::ids::InventoryNumber;
use crate::limits::SNAPSHOT_CHUNK_BYTES;
use crate::record::{self, Hash, Head, Manifest, RecordError};

const JOURNAL: TableDefinition<(u32, u64), &[u8]> = TableDefinition::new("journal");
const HEADS: TableDefinition<u32, &[u8]> = TableDefinition::new("heads");
const MANIFESTS: TableDefinition<u32, &[u8]> = TableDefinition::new("manifests");
const SNAPSHOTS: TableDefinition<(u32, u64, u32), &[u8]> = TableDefinition::new("snapshots");
const BOOKING_IDS: TableDefinition<u128, u32> = TableDefinition::new("booking_ids");
const DOCUMENTS: TableDefinition<&str, &[u8]> = TableDefinition::new("documents");
const META: TableDefinition<(), &[u8]> = TableDefinition::new("meta");

/// The version of the tables above.
const FORMAT_VERSION: u32 = 1;
/// Checking every page of a larger store would keep its users waiting for more than seconds.
const CHECKED_AT_OPEN_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// Pages that redb may keep in memory. Journals are written once and read when an inventory is loaded.
const CACHE_BYTES: usize = 64 * 1024 * 1024;

const STORE_FILE: &str = "store.redb";
const MARK_FILE: &str = "mark";

/// The truth on one machine's disk.
pub struct EmbeddedStore {
    /// `None` after it was closed.
    database: RwLock<Option<Database>>,
    mark: Mark,
    progress: Mutex<Progress>,
}

/// The two files of a store, whatever they are: on a disk, or on a simulated one.
#[derive(Debug)]
pub struct Files {
    /// redb's.
    pub store: Box<dyn StorageBackend>,
    /// The high-water mark's.
    pub mark: Box<dyn StorageBackend>,
}

/// What the store knows about itself, in one sealed record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Meta {
    format: u32,
    /// Inventories so far.
    inventories: u64,
}

/// A head, and the number of the commit that wrote it: the highest of all is the number of the last commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct KeptHead {
    commit: u64,
    head: Head,
}

/// How far the store is.
#[derive(Debug, Clone, Copy)]
struct Progress {
    commits: u64,
    inventories: u64,
}

/// Why a store cannot be opened. Nothing was changed, except that a torn slot of the mark was made whole.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
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
    /// Creation is atomic: the files are made in a directory beside it, synced, and moved into place.
    pub fn open(directory: &Path) -> Result<EmbeddedStore, OpenError> {
        if !EmbeddedStore::is_in(directory) {
            create_files(directory).map_err(io_at(directory))?;
        }
        named(directory, EmbeddedStore::open_files(files_in(directory)?))
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
        let io_error = |error| OpenError::Io { path: MARK_FILE.into(), error };
        let store_bytes = files.store.len().map_err(io_error)?;
        let mark = Mark::open(files.mark).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => OpenError::Damaged(error.to_string()),
            _ => io_error(error),
        })?;
        let file = ProvingFile::new(files.store).map_err(io_error)?;
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
        let store = EmbeddedStore {
            progress: Mutex::new(Progress { commits: 0, inventories: 0 }),
            mark,
            database: RwLock::new(Some(database)),
        };
        let marked = store.mark.count();
        match store.read_meta()? {
            None if marked == 0 && care == Care::Use => {
                store.initialize().map_err(|error| OpenError::Damaged(error.to_string()))?;
            }
            None => {
                let message = format!("{marked} commits were acknowledged, and it is empty");
                return Err(OpenError::Damaged(message));
            }
            Some(Meta { inventories, .. }) => {
                store.progress.lock().inventories = inventories;
                let heads = store.kept_heads().map_err(|error| OpenError::Damaged(error.to_string()))?;
                let commits = heads.iter().map(|kept| kept.commit).max().unwrap_or(0);
                if commits < marked {
                    let message = format!("{marked} commits were acknowledged, and it has {commits}");
                    return Err(OpenError::Damaged(message));
                }
                store.progress.lock().commits = commits;
            }
        }
        match care {
            Care::Use => file.proved().map_err(|error| OpenError::Io { path: STORE_FILE.into(), error })?,
            // What is not proved is not written.
            Care::Look => {}
        }
        Ok(store)
    }

    /// All heads, in order of number, none of them missing.
    fn kept_heads(&self) -> Result<Vec<KeptHead>, StoreError> {
        let expected = self.progress.lock().inventories;
        self.read(|transaction| {
            let mut heads = Vec::new();
            for entry in transaction.open_table(HEADS)?.iter()? {
                let (number, bytes) = entry?;
                heads.push(read_head(number.value(), bytes.value())?);
            }
            if heads.len() as u64 != expected {
                let message = format!("{expected} inventories were created, and {} are there", heads.len());
                return Err(ReadError::Ours(StoreError::Inconsistent(message)));
            }
            Ok(heads)
        })
    }

    fn read_meta(&self) -> Result<Option<Meta>, OpenError> {
        let damaged = |error: &dyn std::fmt::Display| OpenError::Damaged(error.to_string());
        let database = self.database.read();
        let transaction =
            database.as_ref().expect("just opened").begin_read().map_err(|error| damaged(&error))?;
        let table = match transaction.open_table(META) {
            Ok(table) => table,
            Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
            Err(error) => return Err(damaged(&error)),
        };
        let Some(bytes) = table.get(()).map_err(|error| damaged(&error))? else { return Ok(None) };
        let meta: Meta = match record::unseal(bytes.value()) {
            Ok(meta) => meta,
            Err(RecordError::UnknownFormat(format)) => {
                return Err(OpenError::UnknownFormat { found: format.into() });
            }
            Err(error) => return Err(damaged(&error)),
        };
        if meta.format != FORMAT_VERSION {
            return Err(OpenError::UnknownFormat { found: meta.format });
        }
        Ok(Some(meta))
    }

    /// Makes the tables, so that a missing one is never taken for an empty one.
    fn initialize(&self) -> Result<(), CommitError> {
        let meta = Meta { format: FORMAT_VERSION, inventories: 0 };
        self.write(Durability::Immediate, |transaction| {
            transaction.open_table(JOURNAL)?;
            transaction.open_table(HEADS)?;
            transaction.open_table(MANIFESTS)?;
            transaction.open_table(SNAPSHOTS)?;
            transaction.open_table(BOOKING_IDS)?;
            transaction.open_table(DOCUMENTS)?;
            transaction.open_table(META)?.insert((), record::seal(&meta).as_slice())?;
            Ok(())
        })
    }

    fn write<R>(
        &self,
        durability: Durability,
        change: impl FnOnce(&WriteTransaction) -> Result<R, redb::Error>,
    ) -> Result<R, CommitError> {
        let database = self.database.read();
        let database = database.as_ref().ok_or_else(|| CommitError::Failed("it was closed".to_owned()))?;
        let attempt = || {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(durability)?;
            let result = change(&transaction)?;
            transaction.commit()?;
            Ok(result)
        };
        let result = catch_panic(attempt).map_err(CommitError::Failed)?;
        result.map_err(|error: redb::Error| match error {
            redb::Error::Io(error) if is_full(&error) => CommitError::Full(error.to_string()),
            other => CommitError::Failed(other.to_string()),
        })
    }

    fn read<R>(&self, look: impl FnOnce(&ReadTransaction) -> Result<R, ReadError>) -> Result<R, StoreError> {
        let database = self.database.read();
        let database = database.as_ref().ok_or_else(|| StoreError::Failed("it was closed".to_owned()))?;
        let transaction = database.begin_read().map_err(|error| StoreError::Failed(error.to_string()))?;
        let result = catch_panic(|| look(&transaction))
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
        let mut progress = self.progress.lock();
        let commit = progress.commits + 1;
        let (fenced, created) = self.write(Durability::Immediate, |transaction| {
            let mut journal = transaction.open_table(JOURNAL)?;
            let mut heads = transaction.open_table(HEADS)?;
            let mut fenced = Vec::new();
            let mut created = 0;
            for batch in batches {
                let number = batch.head.inventory;
                let standing = match heads.get(number.0)? {
                    Some(bytes) => {
                        record::unseal::<KeptHead>(bytes.value())
                            .map_err(|error| redb::Error::Corrupted(error.to_string()))?
                            .head
                            .hash
                    }
                    None => Hash::default(),
                };
                if standing != batch.previous || fenced.contains(&number) {
                    fenced.push(number);
                    continue;
                }
                created += u64::from(standing == Hash::default());
                journal.insert((number.0, batch.head.sequence), batch.record.as_slice())?;
                let kept = KeptHead { commit, head: batch.head.clone() };
                heads.insert(number.0, record::seal(&kept).as_slice())?;
                if !batch.chosen_ids.is_empty() {
                    let mut booking_ids = transaction.open_table(BOOKING_IDS)?;
                    for id in &batch.chosen_ids {
                        booking_ids.insert(u128::from_be_bytes(id.to_bytes()), number.0)?;
                    }
                }
            }
            if created > 0 {
                let inventories = progress.inventories + created;
                let meta = Meta { format: FORMAT_VERSION, inventories };
                transaction.open_table(META)?.insert((), record::seal(&meta).as_slice())?;
            }
            Ok((fenced, created))
        })?;
        // A commit in which everything was fenced left no trace, and has no number.
        if fenced.len() < batches.len() {
            progress.commits = commit;
            progress.inventories += created;
            // Before anybody is told: from here on a store that lost this commit is found out.
            self.mark.raise(commit).map_err(|error| failed_mark(&error))?;
        }
        Ok(fenced)
    }

    fn load(&self, inventory: InventoryNumber) -> Result<Option<Stored>, StoreError> {
        self.read(|transaction| {
            let heads = transaction.open_table(HEADS)?;
            let Some(head) = heads.get(inventory.0)? else { return Ok(None) };
            let head = read_head(inventory.0, head.value())?.head;
            let snapshot = read_snapshot(transaction, inventory)?;
            let after = snapshot.as_ref().map_or(0, |(manifest, _)| manifest.sequence);
            let journal = transaction.open_table(JOURNAL)?;
            let mut records = Vec::new();
            for entry in journal.range((inventory.0, after + 1)..=(inventory.0, u64::MAX))? {
                records.push(entry?.1.value().to_vec());
            }
            Ok(Some(Stored { head, snapshot, records }))
        })
    }

    fn records(
        &self,
        inventory: InventoryNumber,
        after: u64,
        bytes: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        self.read(|transaction| {
            let journal = transaction.open_table(JOURNAL)?;
            let mut records = Vec::new();
            let mut taken = 0;
            for entry in journal.range((inventory.0, after + 1)..=(inventory.0, u64::MAX))? {
                let record = entry?.1.value().to_vec();
                taken += record.len();
                records.push(record);
                if taken >= bytes {
                    break;
                }
            }
            Ok(records)
        })
    }

    fn find_booking(&self, booking: BookingId) -> Result<Option<InventoryNumber>, StoreError> {
        self.read(|transaction| {
            let booking_ids = transaction.open_table(BOOKING_IDS)?;
            let found = booking_ids.get(u128::from_be_bytes(booking.to_bytes()))?;
            Ok(found.map(|number| InventoryNumber(number.value())))
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
        self.read(|transaction| {
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
        })
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

    fn close(&self) -> Result<(), StoreError> {
        drop(self.database.write().take());
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

fn io_at(path: &Path) -> impl Fn(io::Error) -> OpenError {
    let path = path.to_owned();
    move |error| OpenError::Io { path: path.clone(), error }
}

fn files_in(directory: &Path) -> Result<Files, OpenError> {
    let open = |name: &str| {
        let path = directory.join(name);
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).map_err(io_at(&path))?;
        match FileBackend::new(file) {
            Ok(backend) => Ok(Box::new(backend) as Box<dyn StorageBackend>),
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => Err(OpenError::InUse(directory.to_owned())),
            Err(error) => Err(OpenError::Damaged(error.to_string())),
        }
    };
    Ok(Files { store: open(STORE_FILE)?, mark: open(MARK_FILE)? })
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

enum ReadError {
    Below(redb::Error),
    Ours(StoreError),
}

impl<E: Into<redb::Error>> From<E> for ReadError {
    fn from(error: E) -> ReadError {
        ReadError::Below(error.into())
    }
}

fn damaged(what: String, error: RecordError) -> ReadError {
    ReadError::Ours(StoreError::Damaged { what, error })
}

fn read_head(number: u32, bytes: &[u8]) -> Result<KeptHead, ReadError> {
    let kept: KeptHead =
        record::unseal(bytes).map_err(|error| damaged(format!("the head of inventory #{number}"), error))?;
    if kept.head.inventory.0 != number {
        let message = format!("the head of inventory #{number} is that of {}", kept.head.inventory);
        return Err(ReadError::Ours(StoreError::Inconsistent(message)));
    }
    Ok(kept)
}

fn read_snapshot(
    transaction: &ReadTransaction,
    inventory: InventoryNumber,
) -> Result<Option<(Manifest, Vec<u8>)>, ReadError> {
    let manifests = transaction.open_table(MANIFESTS)?;
    let Some(manifest) = manifests.get(inventory.0)? else { return Ok(None) };
    let manifest: Manifest = record::unseal(manifest.value())
        .map_err(|error| damaged(format!("the snapshot's manifest of inventory {inventory}"), error))?;
    let mut contents = Vec::new();
    let pieces = (inventory.0, manifest.sequence, 0)..=(inventory.0, manifest.sequence, u32::MAX);
    for piece in transaction.open_table(SNAPSHOTS)?.range(pieces)? {
        contents.extend_from_slice(piece?.1.value());
    }
    Ok(Some((manifest, contents)))
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

fn failed_mark(error: &io::Error) -> CommitError {
    let message = format!("the high-water mark: {error}");
    if is_full(error) { CommitError::Full(message) } else { CommitError::Failed(message) }
}

fn create_files(directory: &Path) -> io::Result<()> {
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(parent)?;
    let name = directory.file_name().ok_or_else(|| io::Error::other("not the name of a directory"))?;
    let mut aside_name = name.to_owned();
    aside_name.push(".new");
    let aside = parent.join(aside_name);
    // What an earlier attempt left has never been used by anybody.
    match std::fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    std::fs::create_dir(&aside)?;
    let create = |name: &str| std::fs::File::create_new(aside.join(name));
    let backend = |file| FileBackend::new(file).map_err(io::Error::other);
    let reopen = |name: &str| std::fs::OpenOptions::new().read(true).write(true).open(aside.join(name));
    create(STORE_FILE)?;
    create(MARK_FILE)?;
    let files = Files {
        store: Box::new(backend(reopen(STORE_FILE)?)?),
        mark: Box::new(backend(reopen(MARK_FILE)?)?),
    };
    let store = EmbeddedStore::open_files(files).map_err(io::Error::other)?;
    store.close().map_err(io::Error::other)?;
    for name in [STORE_FILE, MARK_FILE] {
        reopen(name)?.sync_all()?;
    }
    std::fs::File::open(&aside)?.sync_all()?;
    // An empty directory that somebody made beforehand is replaced.
    std::fs::rename(&aside, directory)?;
    std::fs::File::open(parent)?.sync_all()
}
