//! A file that is not written before it has proved itself.
//!
//! redb repairs what it opens, in place: a store that is refused because a repair would lose something must not have been
//! repaired by then, or the next start, or whoever comes with tools, finds less than there was. So while a store is being
//! opened its file's writes are held in memory, and reads see them. They are made, in their order and with the syncs
//! between them, when the store has been found whole, and forgotten when it has not.
//!
//! From then on it is made durable as it is written, piece by piece. redb writes all pages of a transaction at once, and the disk
//! would be busy with them for as long as they are many, while commits wait that are a page long.

use std::io;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::RwLock;
use redb::{BackendError, StorageBackend};

use super::pace::Pace;

/// A file for redb, which wants a type and not a box, and a handle to it. Clones are the same file.
#[derive(Debug, Clone)]
pub(super) struct ProvingFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Box<dyn StorageBackend>,
    /// `None` when the file has proved itself.
    held: RwLock<Option<Held>>,
    /// Written since the last sync, from then on.
    unsynced_bytes: AtomicU64,
    unsynced_bytes_max: u64,
    pace: Arc<Pace>,
    /// A sync failed. redb does not hear of all that fails in a write, and the system says it once: so nothing works any more.
    sync_failed: AtomicBool,
}

#[derive(Debug)]
struct Held {
    acts: Vec<Act>,
    length: u64,
}

#[derive(Debug)]
enum Act {
    Write(u64, Vec<u8>),
    SetLength(u64),
    Sync,
}

impl ProvingFile {
    pub(super) fn new(
        file: Box<dyn StorageBackend>,
        unsynced_bytes_max: u64,
        pace: Arc<Pace>,
    ) -> io::Result<ProvingFile> {
        let held = Held { acts: Vec::new(), length: file.len()? };
        Ok(ProvingFile(Arc::new(Inner {
            file,
            held: RwLock::new(Some(held)),
            unsynced_bytes: AtomicU64::new(0),
            unsynced_bytes_max,
            pace,
            sync_failed: AtomicBool::new(false),
        })))
    }

    /// Does what was held back. From here on everything is done at once.
    ///
    /// After an error the file is as a crash in the middle would have left it, and stays so: what follows is held back
    /// for ever, so that redb cannot write that all went well.
    pub(super) fn proved(&self) -> io::Result<()> {
        let mut held = self.0.held.write();
        for act in held.iter().flat_map(|held| &held.acts) {
            match act {
                Act::Write(offset, data) => self.0.file.write(*offset, data)?,
                Act::SetLength(length) => self.0.file.set_len(*length)?,
                Act::Sync => self.0.file.sync_data()?,
            }
        }
        *held = None;
        Ok(())
    }

    fn unless_a_sync_failed(&self) -> io::Result<()> {
        if self.0.sync_failed.load(Ordering::SeqCst) {
            return Err(io::Error::other("an earlier sync failed"));
        }
        Ok(())
    }

    /// Holds an act back; `false` if it is to be done.
    fn hold(&self, act: impl FnOnce() -> Act) -> bool {
        let mut held = self.0.held.write();
        let Some(held) = &mut *held else { return false };
        let act = act();
        match &act {
            Act::Write(offset, data) => held.length = held.length.max(offset + data.len() as u64),
            Act::SetLength(length) => held.length = *length,
            Act::Sync => {}
        }
        held.acts.push(act);
        true
    }
}

impl Held {
    fn read(&self, file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset.checked_add(out.len() as u64).is_none_or(|end| end > self.length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        out.fill(0);
        let there = overlap(offset, out.len(), 0, file.len()?);
        if !there.is_empty() {
            file.read(offset, &mut out[there])?;
        }
        for act in &self.acts {
            match act {
                Act::Write(start, data) => {
                    let part = overlap(offset, out.len(), *start, start + data.len() as u64);
                    if !part.is_empty() {
                        let from =
                            usize::try_from(offset + part.start as u64 - start).expect("within the data");
                        out[part.clone()].copy_from_slice(&data[from..from + part.len()]);
                    }
                }
                Act::SetLength(length) => {
                    let kept = overlap(offset, out.len(), 0, *length).end;
                    out[kept..].fill(0);
                }
                Act::Sync => {}
            }
        }
        Ok(())
    }
}

/// The part of so many bytes from `offset` on that lies between `start` and `end`, counted from `offset`.
fn overlap(offset: u64, count: usize, start: u64, end: u64) -> std::ops::Range<usize> {
    let from_offset = |at: u64| usize::try_from(at.saturating_sub(offset)).unwrap_or(usize::MAX).min(count);
    from_offset(start)..from_offset(end).max(from_offset(start))
}

impl StorageBackend for ProvingFile {
    fn len(&self) -> io::Result<u64> {
        match &*self.0.held.read() {
            Some(held) => Ok(held.length),
            None => self.0.file.len(),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match &*self.0.held.read() {
            Some(held) => held.read(&*self.0.file, offset, out),
            None => self.0.file.read(offset, out),
        }
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        if self.hold(|| Act::SetLength(length)) {
            return Ok(());
        }
        self.unless_a_sync_failed()?;
        self.0.file.set_len(length)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.hold(|| Act::Sync) {
            return Ok(());
        }
        self.unless_a_sync_failed()?;
        self.0.unsynced_bytes.store(0, Ordering::Relaxed);
        let synced = self.0.file.sync_data();
        if synced.is_err() {
            self.0.sync_failed.store(true, Ordering::SeqCst);
        }
        synced
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.hold(|| Act::Write(offset, data.to_vec())) {
            return Ok(());
        }
        self.unless_a_sync_failed()?;
        self.0.file.write(offset, data)?;
        // The header is written while nobody can begin to read.
        if offset > 0 {
            self.0.pace.step(data.len());
        }
        let written = data.len() as u64;
        let unsynced = self.0.unsynced_bytes.fetch_add(written, Ordering::Relaxed) + written;
        if unsynced < self.0.unsynced_bytes_max {
            return Ok(());
        }
        self.sync_data()
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.unlock_range(start, end)
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    fn leisurely() -> Arc<Pace> {
        Arc::new(Pace::new(std::time::Duration::ZERO))
    }

    fn bytes(file: &dyn StorageBackend) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_held_back_reads_as_if_it_were_done_and_is_done_when_proved() {
        let file = InMemoryBackend::new();
        file.set_len(6).unwrap();
        file.write(0, b"abcdef").unwrap();
        let proving = ProvingFile::new(Box::new(file), u64::MAX, leisurely()).unwrap();
        proving.set_len(7).unwrap();
        proving.write(4, b"XYZ").unwrap();
        assert_eq!(bytes(&proving), b"abcdXYZ");
        proving.set_len(5).unwrap();
        proving.set_len(8).unwrap();
        proving.write(1, b"--").unwrap();
        proving.sync_data().unwrap();
        assert_eq!(bytes(&proving), b"a--dX\0\0\0");
        let mut part = [9; 3];
        proving.read(2, &mut part).unwrap();
        assert_eq!(&part, b"-dX");
        assert!(proving.read(6, &mut part).is_err(), "beyond the end");
        assert_eq!(bytes(&*proving.0.file), b"abcdef", "nothing was written yet");

        proving.proved().unwrap();
        assert_eq!(bytes(&*proving.0.file), b"a--dX\0\0\0");
        proving.write(0, b"!").unwrap();
        assert_eq!(bytes(&*proving.0.file), b"!--dX\0\0\0", "from then on at once");
    }

    /// Counts its syncs, one of which fails.
    #[derive(Debug)]
    struct Counting {
        file: InMemoryBackend,
        syncs: Arc<AtomicU64>,
        failing: u64,
    }

    impl StorageBackend for Counting {
        fn len(&self) -> io::Result<u64> {
            self.file.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.file.read(offset, out)
        }

        fn set_len(&self, length: u64) -> io::Result<()> {
            self.file.set_len(length)
        }

        fn sync_data(&self) -> io::Result<()> {
            let turn = self.syncs.fetch_add(1, Ordering::Relaxed) + 1;
            if turn == self.failing { Err(io::Error::other("the disk")) } else { Ok(()) }
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.file.write(offset, data)
        }
    }

    /// A file of 64 bytes that is synced every eight, and how often it was.
    fn counting(failing: u64) -> (ProvingFile, Arc<AtomicU64>) {
        let syncs = Arc::new(AtomicU64::new(0));
        let file = Counting { file: InMemoryBackend::new(), syncs: Arc::clone(&syncs), failing };
        file.set_len(64).unwrap();
        (ProvingFile::new(Box::new(file), 8, leisurely()).unwrap(), syncs)
    }

    #[test]
    fn what_is_written_is_synced_piece_by_piece_once_the_file_has_proved_itself() {
        let (proving, syncs) = counting(u64::MAX);
        let fill = |pieces: u64| (0..pieces).for_each(|at| proving.write(at * 2, b"ab").unwrap());
        let synced = || syncs.load(Ordering::Relaxed);
        fill(8);
        assert_eq!(synced(), 0, "nothing is written yet");
        proving.proved().unwrap();
        fill(3);
        assert_eq!(synced(), 0);
        fill(1);
        assert_eq!(synced(), 1);
        fill(8);
        assert_eq!(synced(), 3);
        fill(3);
        proving.sync_data().unwrap();
        fill(3);
        assert_eq!(synced(), 4, "what was synced counts no more");
    }

    #[test]
    fn after_a_sync_that_failed_in_a_write_nothing_works_whether_or_not_anybody_heard_of_it() {
        let (proving, syncs) = counting(1);
        proving.proved().unwrap();
        assert!(proving.write(0, b"12345678").is_err());
        assert!(proving.sync_data().is_err());
        assert!(proving.write(0, b"1").is_err());
        assert!(proving.set_len(128).is_err());
        assert_eq!(syncs.load(Ordering::Relaxed), 1, "no sync is tried again");
        assert_eq!(proving.len().unwrap(), 64);
    }
}
