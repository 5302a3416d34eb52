//! The log in front of redb: where a commit becomes durable.
//!
//! A commit into redb touches many pages and is found again after a crash by reading all of them. So a commit is first one frame
//! at the end of a log, one write and one sync; what has gathered there is moved into redb later, many commits together, beside
//! whoever commits. There are two files, written in turn: one is filled while the other is moved, and a file is written from its
//! beginning again when redb has durably all that was in it.
//!
//! A frame begins at a multiple of [`PAGE_BYTES`], so that a page that is durable is not written again while it counts:
//!
//! ```text
//! magic      8 bytes    no text has them
//! commit     u64 le     which: without gaps from frame to frame, and from redb to the first frame
//! length     u64 le     of what follows, up to the hash
//! entries    ..         see [`Entry`]
//! hash       32 bytes   BLAKE3 of all of the above, under the store's own key: nobody can have bytes stored that look like a frame
//! ```
//!
//! What the log has after a crash is every frame with a number that redb does not have. They must follow each other without a gap:
//! only the very last write may have been torn, and was acknowledged to nobody. Frames of earlier rounds have lower numbers.

use std::io;
use std::sync::Arc;

use redb::StorageBackend;

use super::BatchWrite;
use crate::record::{Hash, Head};

const PAGE_BYTES: usize = 4096;
const MAGIC: [u8; 8] = *b"\xffBOXLOG\x01";
const HEADER_BYTES: usize = 24;
const HASH_BYTES: usize = 32;
/// Zeros are written in pieces of this size.
const FILLING_BYTES: u64 = 1024 * 1024;

/// The log, by whoever commits.
#[derive(Debug)]
pub(super) struct Log {
    files: [Box<dyn StorageBackend>; 2],
    /// Which one is filled.
    current: usize,
    /// Where the next frame goes.
    offset: u64,
    /// As long as the files are at least: see [`Log::fill`].
    bytes_max: u64,
    key: Key,
    /// The next frame.
    frame: Vec<u8>,
}

/// Of one store, known to nobody else.
pub(super) type Key = [u8; 32];

/// What a frame has of one batch.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) head: Head,
    /// Whether the batch created the inventory.
    pub(super) creates: bool,
    pub(super) record: Arc<Vec<u8>>,
    /// See [`BatchWrite::chosen_ids`].
    pub(super) chosen_ids: Vec<u128>,
}

/// A commit that redb does not have yet.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) commit: u64,
    pub(super) entries: Vec<Entry>,
}

impl Entry {
    pub(super) fn of(batch: &BatchWrite) -> Entry {
        Entry {
            head: batch.head.clone(),
            creates: batch.previous == Hash::default(),
            record: Arc::clone(&batch.record),
            chosen_ids: batch.chosen_ids.iter().map(|id| u128::from_be_bytes(id.to_bytes())).collect(),
        }
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        let head = postcard::to_extend(&self.head, Vec::new()).expect("heads have lengths");
        bytes.push(u8::from(self.creates));
        for length in [head.len(), self.chosen_ids.len(), self.record.len()] {
            bytes.extend_from_slice(&(length as u64).to_le_bytes());
        }
        bytes.extend_from_slice(&head);
        self.chosen_ids.iter().for_each(|id| bytes.extend_from_slice(&id.to_le_bytes()));
        bytes.extend_from_slice(&self.record);
    }

    fn read_from(bytes: &mut &[u8]) -> Option<Entry> {
        let creates = *bytes.split_off_first()? == 1;
        let [head, ids, record] = [read_length(bytes)?, read_length(bytes)?, read_length(bytes)?];
        let head = postcard::from_bytes(bytes.split_off(..head)?).ok()?;
        let ids = bytes.split_off(..ids.checked_mul(16)?)?.chunks_exact(16);
        let ids = ids.map(|id| u128::from_le_bytes(id.try_into().expect("sixteen bytes")));
        let record = Arc::new(bytes.split_off(..record)?.to_vec());
        Some(Entry { head, creates, record, chosen_ids: ids.collect() })
    }
}

fn read_length(bytes: &mut &[u8]) -> Option<usize> {
    let length = bytes.split_off(..8)?.try_into().expect("eight bytes");
    usize::try_from(u64::from_le_bytes(length)).ok()
}

impl Log {
    /// A log that is written from its beginning. What it has is to be read first ([`read`]), then it is to be filled ([`Log::fill`]).
    pub(super) fn new(files: [Box<dyn StorageBackend>; 2], bytes_max: u64, key: Key) -> Log {
        Log { files, current: 0, offset: 0, bytes_max, key, frame: Vec::new() }
    }

    /// The files, to be read before anything is appended.
    pub(super) fn files(&self) -> &[Box<dyn StorageBackend>; 2] {
        &self.files
    }

    /// Sees to it that the files are as long as they get, with zeros that are on the disk: a sync of pages that were written before has
    /// nothing else to write, neither lengths nor where the pages are. Whoever dies meanwhile leaves a hole, which costs time and nothing
    /// else. An error comes with the index of the file.
    pub(super) fn fill(&self) -> Result<(), (usize, io::Error)> {
        for (index, file) in self.files.iter().enumerate() {
            self.fill_file(&**file).map_err(|error| (index, error))?;
        }
        Ok(())
    }

    fn fill_file(&self, file: &dyn StorageBackend) -> io::Result<()> {
        let mut length = file.len()?;
        while length < self.bytes_max {
            let end = self.bytes_max.min(length + FILLING_BYTES);
            file.set_len(end)?;
            file.write(length, &vec![0; usize::try_from(end - length).map_err(io::Error::other)?])?;
            length = end;
        }
        // Whoever made it longer before may have died before this.
        file.sync_data()
    }

    /// Makes the frame of a commit; says whether a file has room for it at all.
    pub(super) fn prepare(&mut self, commit: u64, entries: &[Entry]) -> bool {
        let frame = &mut self.frame;
        let records: usize = entries.iter().map(|entry| entry.record.len()).sum();
        if records as u64 > self.bytes_max {
            return false;
        }
        frame.clear();
        frame.extend_from_slice(&MAGIC);
        frame.extend_from_slice(&commit.to_le_bytes());
        frame.extend_from_slice(&[0; 8]);
        entries.iter().for_each(|entry| entry.append_to(frame));
        let length = (frame.len() - HEADER_BYTES) as u64;
        frame[HEADER_BYTES - 8..HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
        let hash = blake3::keyed_hash(&self.key, frame);
        frame.extend_from_slice(hash.as_bytes());
        frame.resize(frame.len().next_multiple_of(PAGE_BYTES), 0);
        frame.len() as u64 <= self.bytes_max
    }

    /// Whether the file that is filled has room for the frame.
    pub(super) fn has_room(&self) -> bool {
        self.offset + self.frame.len() as u64 <= self.bytes_max
    }

    /// How much of the file that is filled is full, and how much it takes.
    pub(super) fn filled(&self) -> (u64, u64) {
        (self.offset, self.bytes_max)
    }

    /// From here on the other file is filled, from its beginning. redb must have durably all that is in it.
    pub(super) fn turn(&mut self) {
        self.current = 1 - self.current;
        self.offset = 0;
    }

    /// Makes the frame durable.
    pub(super) fn append(&mut self) -> io::Result<()> {
        let file = &self.files[self.current];
        file.write(self.offset, &self.frame)?;
        file.sync_data()?;
        self.offset += self.frame.len() as u64;
        Ok(())
    }

    pub(super) fn close(&self) -> io::Result<()> {
        self.files.iter().try_for_each(|file| file.close())
    }
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LogError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Damaged(String),
}

/// The commits of a log after those that redb has, in order.
pub(super) fn read(
    files: &[Box<dyn StorageBackend>; 2],
    key: &Key,
    stored: u64,
) -> Result<Vec<Frame>, LogError> {
    let mut frames = Vec::new();
    for file in files {
        let length = usize::try_from(file.len()?).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        file.read(0, &mut bytes)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let pages = match read_frame(rest, key, stored)? {
                Some((frame, bytes)) => {
                    frames.push(frame);
                    bytes.next_multiple_of(PAGE_BYTES)
                }
                None => PAGE_BYTES,
            };
            rest = rest.get(pages..).unwrap_or_default();
        }
    }
    frames.sort_by_key(|frame| frame.commit);
    for (frame, expected) in frames.iter().zip(stored + 1..) {
        if frame.commit != expected {
            let message = format!("commit {expected} is missing in its log, which has {}", frame.commit);
            return Err(LogError::Damaged(message));
        }
    }
    Ok(frames)
}

/// The frame at the beginning of bytes and its length, if there is a whole one that redb does not have.
fn read_frame(bytes: &[u8], key: &Key, stored: u64) -> Result<Option<(Frame, usize)>, LogError> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER_BYTES) else { return Ok(None) };
    let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let commit = number(8);
    if header[..8] != MAGIC || commit <= stored {
        return Ok(None);
    }
    let Ok(length) = usize::try_from(number(16)) else { return Ok(None) };
    let Some((mut entries, hash)) = rest.split_at_checked(length) else { return Ok(None) };
    let hashed = &bytes[..HEADER_BYTES + length];
    if hash.get(..HASH_BYTES) != Some(blake3::keyed_hash(key, hashed).as_bytes().as_slice()) {
        return Ok(None);
    }
    let mut frame = Frame { commit, entries: Vec::new() };
    while !entries.is_empty() {
        let entry = Entry::read_from(&mut entries);
        let unreadable = || LogError::Damaged(format!("commit {commit} in its log cannot be read"));
        frame.entries.push(entry.ok_or_else(unreadable)?);
    }
    Ok(Some((frame, hashed.len() + HASH_BYTES)))
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;
    use crate::ids::InventoryNumber;

    const KEY: Key = [3; 32];

    fn files() -> [Box<dyn StorageBackend>; 2] {
        [Box::new(InMemoryBackend::new()), Box::new(InMemoryBackend::new())]
    }

    fn entry(bytes: usize) -> Entry {
        let inventory = InventoryNumber(7);
        let head =
            Head { inventory, name: "hall".into(), sequence: 3, hash: Hash([5; 32]), next_deadline: None };
        Entry { head, creates: true, record: Arc::new(vec![9; bytes]), chosen_ids: vec![1, u128::MAX] }
    }

    /// A log with the given commits, each so many bytes long, and where each begins.
    fn filled(bytes_max: u64, commits: &[(u64, usize)]) -> (Log, Vec<(usize, u64)>) {
        let mut log = Log::new(files(), bytes_max, KEY);
        log.fill().unwrap();
        let mut places = Vec::new();
        for &(commit, bytes) in commits {
            assert!(log.prepare(commit, &[entry(bytes), entry(1)]));
            if !log.has_room() {
                log.turn();
            }
            places.push((log.current, log.offset));
            log.append().unwrap();
        }
        (log, places)
    }

    fn commits(log: &Log, stored: u64) -> Result<Vec<u64>, String> {
        let frames = read(&log.files, &KEY, stored).map_err(|error| error.to_string())?;
        Ok(frames.iter().map(|frame| frame.commit).collect())
    }

    #[test]
    fn frames_come_back_as_they_were_written_and_those_that_redb_has_do_not() {
        let (log, _) = filled(64 * 1024, &[(4, 10), (5, 9_000), (6, 4_000)]);
        assert_eq!(commits(&log, 3), Ok(vec![4, 5, 6]));
        assert_eq!(commits(&log, 5), Ok(vec![6]));
        assert_eq!(commits(&log, 6), Ok(vec![]));
        assert!(read(&log.files, &[4; 32], 3).unwrap().is_empty(), "another store's");
        let frames = read(&log.files, &KEY, 4).unwrap();
        let read = &frames[0].entries[0];
        assert_eq!((&read.head, read.creates), (&entry(1).head, true));
        assert_eq!((read.record.len(), &read.chosen_ids), (9_000, &vec![1, u128::MAX]));
        assert_eq!(frames[0].entries.len(), 2);
    }

    #[test]
    fn a_file_that_is_written_again_has_only_what_is_new() {
        let (log, places) = filled(8 * 1024, &[(1, 9), (2, 9), (3, 9), (4, 9), (5, 9)]);
        assert_eq!(places, [(0, 0), (0, 4096), (1, 0), (1, 4096), (0, 0)]);
        // The first file still has the second commit behind the fifth.
        assert_eq!(commits(&log, 2), Ok(vec![3, 4, 5]));
        assert_eq!(commits(&log, 4), Ok(vec![5]));
    }

    #[test]
    fn what_is_larger_than_a_file_is_not_taken() {
        let mut log = Log::new(files(), 8 * 1024, KEY);
        assert!(!log.prepare(1, &[entry(9_000)]));
        assert!(log.prepare(1, &[entry(8_000)]));
    }

    #[test]
    fn any_bit_turned_over_before_the_last_frame_is_found_out_and_in_the_last_one_it_is_missing() {
        let (log, places) = filled(64 * 1024, &[(1, 10), (2, 10), (3, 10)]);
        let mut frame = vec![0; PAGE_BYTES];
        for (commit, &(file, offset)) in (1..).zip(&places) {
            let file = &log.files[file];
            file.read(offset, &mut frame).unwrap();
            let used = frame.iter().rposition(|&byte| byte != 0).unwrap() + 1;
            for bit in 0..used * 8 {
                let mut damaged = frame.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                file.write(offset, &damaged).unwrap();
                match commits(&log, 0) {
                    Ok(found) => assert_eq!((commit, found), (3, vec![1, 2]), "bit {bit}"),
                    Err(error) => {
                        assert!(error.contains("is missing in its log"), "{error}");
                        assert_ne!(commit, 3, "bit {bit}: {error}");
                    }
                }
            }
            file.write(offset, &frame).unwrap();
        }
        assert_eq!(commits(&log, 0), Ok(vec![1, 2, 3]));
    }
}
