//! A whole store as one stream of bytes: backups, made while sales go on, and the way back.
//!
//! A line of text says what it is; frames follow:
//!
//! ```text
//! kind     u8         see [`Kind`]
//! length   u64 le     of the payload
//! payload  ..
//! hash     32 bytes   of the hash of the frame before (zeros before the first), kind, length and payload
//! ```
//!
//! so a frame that is damaged, missing or out of place is noticed, and the last one says how many there were of each kind. An
//! inventory is its head and manifest, the pieces of its snapshot, and its records in order; all inventories come first. The
//! documents are read last: the key of every contact that is in the archive is there, and what was erased before the end is
//! not.

use std::io::{self, Read, Write};
use std::sync::Arc;

use boxoffice_core::codec;
use boxoffice_core::inventory::Inventory;
use serde::{Deserialize, Serialize};

use crate::chosen_ids::chosen_ids;
use crate::ids::{InventoryNumber, inventory_of};
use crate::limits::{JOURNAL_READ_BYTES, SNAPSHOT_CHUNK_BYTES};
use crate::record::{self, Hash, Head, Manifest, RecordError};
use crate::store::{BatchWrite, CommitError, Document, Store, StoreError, Stored};

/// The first line. A program that changes anything about the frames changes the number.
const TITLE: &str = "boxoffice backup, format 1\n";
/// Documents that are written together.
const DOCUMENTS_AT_ONCE: usize = 1_000;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// A head and the manifest of the snapshot, if there is one.
    Inventory = 1,
    /// A piece of the snapshot.
    Snapshot = 2,
    /// A journal record.
    Record = 3,
    /// A name and its contents.
    Document = 4,
    /// [`Contents`]; nothing follows.
    End = 5,
}

impl Kind {
    fn of(byte: u8) -> Option<Kind> {
        [Kind::Inventory, Kind::Snapshot, Kind::Record, Kind::Document, Kind::End]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// What an archive has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Contents {
    /// Inventories.
    pub inventories: u64,
    /// Journal records of all of them.
    pub records: u64,
    /// Documents.
    pub documents: u64,
}

impl Contents {
    fn count(&mut self, kind: Kind) {
        match kind {
            Kind::Inventory => self.inventories += 1,
            Kind::Record => self.records += 1,
            Kind::Document => self.documents += 1,
            Kind::Snapshot | Kind::End => {}
        }
    }
}

/// Why an archive was not written, or not read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file, or whoever takes the bytes, failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file begins otherwise.
    #[error("this is not a backup that this program can read: it does not begin with {:?}", TITLE.trim_end())]
    NotAnArchive,
    /// A frame is not what was written.
    #[error("the backup is damaged: {0}")]
    Damaged(String),
    /// The end is missing.
    #[error("the backup is cut short after {0} frames")]
    CutShort(u64),
    /// The caller cannot use its documents.
    #[error("{0}")]
    Documents(String),
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store cannot be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Writes everything that a store has, while others may go on writing to it. Each inventory is as of one moment.
///
/// `progress` is called for every inventory, with how many are done and how many there are.
pub fn write(
    store: &dyn Store,
    out: &mut dyn Write,
    mut progress: impl FnMut(u64, u64),
) -> Result<Contents, ArchiveError> {
    out.write_all(TITLE.as_bytes())?;
    let mut frames = FrameWriter { out, hash: Hash::default() };
    let mut contents = Contents::default();
    let heads = store.heads()?;
    for head in &heads {
        progress(contents.inventories, heads.len() as u64);
        contents.records += write_inventory(store, head.inventory, &mut frames)?;
        contents.inventories += 1;
    }
    for document in store.documents("")? {
        frames.write(Kind::Document, &to_bytes(&document))?;
        contents.documents += 1;
    }
    frames.write(Kind::End, &to_bytes(&contents))?;
    frames.out.flush()?;
    progress(contents.inventories, heads.len() as u64);
    Ok(contents)
}

/// Writes one inventory and says how many records it has.
fn write_inventory(
    store: &dyn Store,
    number: InventoryNumber,
    frames: &mut FrameWriter<'_>,
) -> Result<u64, ArchiveError> {
    let missing =
        || StoreError::Inconsistent(format!("inventory {number} is in the list and not in the store"));
    let Stored { head, snapshot, records } = store.load(number)?.ok_or_else(missing)?;
    let (manifest, contents) = snapshot.unzip();
    frames.write(Kind::Inventory, &to_bytes(&(&head, &manifest)))?;
    for piece in contents.iter().flat_map(|contents| contents.chunks(SNAPSHOT_CHUNK_BYTES)) {
        frames.write(Kind::Snapshot, piece)?;
    }
    let mut written = records.len() as u64;
    if let Some(manifest) = manifest {
        written += write_records_before(store, &manifest, frames)?;
    }
    for record in &records {
        frames.write(Kind::Record, record)?;
    }
    Ok(written)
}

/// The records that the snapshot made unnecessary and that are still kept. A later snapshot may cut some of them off
/// while they are read: that leaves a gap which this snapshot covers, and [`restore`] begins after it.
fn write_records_before(
    store: &dyn Store,
    manifest: &Manifest,
    frames: &mut FrameWriter<'_>,
) -> Result<u64, ArchiveError> {
    let (mut after, mut written) = (manifest.journal_from - 1, 0);
    while after < manifest.sequence {
        let records = store.records(manifest.inventory, after, JOURNAL_READ_BYTES)?;
        if records.is_empty() {
            break;
        }
        for bytes in records {
            after = decoded(manifest.inventory, &bytes)?.sequence;
            if after > manifest.sequence {
                break;
            }
            frames.write(Kind::Record, &bytes)?;
            written += 1;
        }
    }
    Ok(written)
}

/// Reads an archive to its end and says what it has. `progress` is called for every frame, with how many bytes were read.
pub fn check(from: &mut dyn Read, mut progress: impl FnMut(u64)) -> Result<Contents, ArchiveError> {
    let mut frames = FrameReader::new(from)?;
    let mut contents = Contents::default();
    loop {
        let (kind, payload) = frames.next()?;
        progress(frames.bytes);
        contents.count(kind);
        if kind == Kind::End {
            frames.finish(&contents, &payload)?;
            return Ok(contents);
        }
    }
}

/// Writes what an archive has into an empty store. The records are those that were written, byte for byte, so the chain of
/// every journal is the same.
///
/// That the parts of each inventory belong together is for [`crate::verify::verify`] to prove. After an error the store is
/// good for nothing.
///
/// `amend` changes the documents before they are written: what it takes out leaves no trace in the store. `progress` is called for every
/// frame, with how many bytes were read.
pub fn restore(
    from: &mut dyn Read,
    store: &dyn Store,
    amend: impl FnOnce(&mut Vec<Document>) -> Result<(), String>,
    mut progress: impl FnMut(u64),
) -> Result<Contents, ArchiveError> {
    let mut frames = FrameReader::new(from)?;
    let mut contents = Contents::default();
    let mut current: Option<Restoring> = None;
    let mut documents = Vec::new();
    loop {
        let (kind, payload) = frames.next()?;
        progress(frames.bytes);
        contents.count(kind);
        match kind {
            Kind::Inventory => {
                finish(store, current.take())?;
                current = Some(Restoring::new(from_bytes(&payload)?));
            }
            Kind::Snapshot => in_inventory(&mut current)?.snapshot.extend_from_slice(&payload),
            Kind::Record => in_inventory(&mut current)?.add(store, payload)?,
            Kind::Document => documents.push(from_bytes::<Document>(&payload)?),
            Kind::End => {
                finish(store, current.take())?;
                frames.finish(&contents, &payload)?;
                amend(&mut documents).map_err(ArchiveError::Documents)?;
                for some in documents.chunks(DOCUMENTS_AT_ONCE) {
                    let some: Vec<_> =
                        some.iter().map(|(name, bytes)| (name.clone(), Some(bytes.clone()))).collect();
                    store.write_documents(&some)?;
                }
                return Ok(contents);
            }
        }
    }
}

fn in_inventory(current: &mut Option<Restoring>) -> Result<&mut Restoring, ArchiveError> {
    current.as_mut().ok_or_else(|| ArchiveError::Damaged("a record comes before its inventory".to_owned()))
}

fn finish(store: &dyn Store, current: Option<Restoring>) -> Result<(), ArchiveError> {
    current.map_or(Ok(()), |restoring| restoring.finish(store))
}

/// An inventory whose frames are being read.
struct Restoring {
    head: Head,
    manifest: Option<Manifest>,
    snapshot: Vec<u8>,
    /// Records that wait to be committed together: the last is kept back, because it comes with the head.
    waiting: Vec<BatchWrite>,
    waiting_bytes: usize,
    /// The hash and sequence of the last record.
    last: Option<(Hash, u64)>,
    /// The first record after the last gap.
    journal_from: Option<u64>,
}

impl Restoring {
    fn new((head, manifest): (Head, Option<Manifest>)) -> Restoring {
        Restoring {
            head,
            manifest,
            snapshot: Vec::new(),
            waiting: Vec::new(),
            waiting_bytes: 0,
            last: None,
            journal_from: None,
        }
    }

    fn add(&mut self, store: &dyn Store, bytes: Vec<u8>) -> Result<(), ArchiveError> {
        if self.waiting_bytes >= JOURNAL_READ_BYTES {
            self.commit(store)?;
        }
        let record = decoded(self.head.inventory, &bytes)?;
        if self.last.is_none_or(|(_, sequence)| sequence + 1 != record.sequence) {
            self.journal_from = Some(record.sequence);
        }
        let (hash, sequence) = (record.hash, record.sequence);
        self.waiting_bytes += bytes.len();
        self.waiting.push(BatchWrite {
            // What the store has: only across a gap is it not the record before.
            previous: self.last.map_or(Hash::default(), |(hash, _)| hash),
            head: Head { sequence, hash, next_deadline: None, ..self.head.clone() },
            record: Arc::new(bytes),
            chosen_ids: chosen_ids(self.head.inventory, &record.changes).collect(),
            changes: Arc::new(record.changes),
            positions: None,
        });
        self.last = Some((hash, sequence));
        Ok(())
    }

    fn finish(mut self, store: &dyn Store) -> Result<(), ArchiveError> {
        let number = self.head.inventory;
        if self.waiting.is_empty() {
            // All records were cut off. The store wants one with the head; the snapshot cuts it off again.
            self.waiting.push(BatchWrite {
                previous: Hash::default(),
                head: self.head.clone(),
                record: Arc::default(),
                changes: Arc::default(),
                chosen_ids: Vec::new(),
                positions: None,
            });
        }
        let inventory = match &self.manifest {
            Some(_) => Some(codec::decode_inventory(&self.snapshot).map_err(|error| {
                ArchiveError::Damaged(format!("the snapshot of inventory {number} cannot be read: {error}"))
            })?),
            None => None,
        };
        let last = self.waiting.last_mut().expect("at least one was put there");
        if (last.head.sequence, last.head.hash) != (self.head.sequence, self.head.hash) {
            let problem = format!("the journal of inventory {number} does not end where it should");
            return Err(ArchiveError::Damaged(problem));
        }
        last.head = self.head.clone();
        // Those of bookings whose records were cut off are in the snapshot only.
        let bookings = inventory.iter().flat_map(Inventory::bookings);
        let chosen = bookings.map(|booking| booking.id).filter(|&id| inventory_of(id) != Some(number));
        last.chosen_ids.extend(chosen);
        self.commit(store)?;
        if let Some(manifest) = &self.manifest {
            let journal_from = self.journal_from.unwrap_or(self.head.sequence + 1).min(manifest.sequence + 1);
            store.write_snapshot(&Manifest { journal_from, ..manifest.clone() }, &self.snapshot)?;
        }
        Ok(())
    }

    fn commit(&mut self, store: &dyn Store) -> Result<(), ArchiveError> {
        let fenced = store.commit(&self.waiting.iter().collect::<Vec<_>>())?;
        if !fenced.is_empty() {
            let problem = format!("inventory {} comes twice", self.head.inventory);
            return Err(ArchiveError::Damaged(problem));
        }
        self.waiting.clear();
        self.waiting_bytes = 0;
        Ok(())
    }
}

fn decoded(number: InventoryNumber, bytes: &[u8]) -> Result<record::Record, ArchiveError> {
    record::decode_record(bytes).map_err(|error: RecordError| {
        ArchiveError::Damaged(format!("a journal record of inventory {number}: {error}"))
    })
}

fn to_bytes(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).expect("the values have lengths and the buffer grows")
}

fn from_bytes<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ArchiveError> {
    postcard::from_bytes(bytes)
        .map_err(|error| ArchiveError::Damaged(format!("a frame cannot be read: {error}")))
}

struct FrameWriter<'a> {
    out: &'a mut dyn Write,
    hash: Hash,
}

impl FrameWriter<'_> {
    fn write(&mut self, kind: Kind, payload: &[u8]) -> io::Result<()> {
        let length = payload.len() as u64;
        self.hash = frame_hash(self.hash, kind as u8, length, payload);
        self.out.write_all(&[kind as u8])?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(payload)?;
        self.out.write_all(&self.hash.0)
    }
}

fn frame_hash(previous: Hash, kind: u8, length: u64, payload: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&previous.0).update(&[kind]).update(&length.to_le_bytes()).update(payload);
    Hash(*hasher.finalize().as_bytes())
}

struct FrameReader<'a> {
    from: &'a mut dyn Read,
    hash: Hash,
    frames: u64,
    bytes: u64,
}

impl<'a> FrameReader<'a> {
    fn new(from: &'a mut dyn Read) -> Result<FrameReader<'a>, ArchiveError> {
        let mut title = [0; TITLE.len()];
        from.read_exact(&mut title).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::NotAnArchive,
            _ => ArchiveError::Io(error),
        })?;
        if title != *TITLE.as_bytes() {
            return Err(ArchiveError::NotAnArchive);
        }
        Ok(FrameReader { from, hash: Hash::default(), frames: 0, bytes: title.len() as u64 })
    }

    fn next(&mut self) -> Result<(Kind, Vec<u8>), ArchiveError> {
        let mut start = [0; 9];
        self.fill(&mut start)?;
        let [kind, length @ ..] = start;
        let length = u64::from_le_bytes(length);
        // What is there decides how much is read, not what a damaged length says.
        let mut payload = Vec::new();
        Read::take(&mut *self.from, length).read_to_end(&mut payload)?;
        let mut hash = Hash::default();
        self.fill(&mut hash.0)?;
        self.hash = frame_hash(self.hash, kind, length, &payload);
        if self.hash != hash {
            return Err(ArchiveError::Damaged(format!(
                "the checksum of frame {} does not match",
                self.frames
            )));
        }
        self.frames += 1;
        self.bytes += length + 41;
        let unknown =
            || ArchiveError::Damaged(format!("frame {} is of a kind that is not known", self.frames));
        Ok((Kind::of(kind).ok_or_else(unknown)?, payload))
    }

    /// Whether everything was there, and nothing else.
    fn finish(&mut self, contents: &Contents, end: &[u8]) -> Result<(), ArchiveError> {
        let expected: Contents = from_bytes(end)?;
        if *contents != expected {
            return Err(ArchiveError::Damaged(format!("it has {contents:?} and says {expected:?}")));
        }
        match self.from.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(ArchiveError::Damaged("something follows its end".to_owned())),
        }
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::CutShort(self.frames),
            _ => ArchiveError::Io(error),
        })
    }
}
