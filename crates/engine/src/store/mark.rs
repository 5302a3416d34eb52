//! The high-water mark beside the embedded store: how many commits it must have, whatever it says itself.
//!
//! The last frame of the log that is not whole is taken for one that nobody was told of, and redb, too, can fall back to an older commit: after a
//! flipped bit that would undo acknowledged work without a word. The mark is written after every commit and before anything of it is
//! acknowledged. It is synced only now and then: a mark that lost its last writes is lower, never higher, than what is durable; and
//! while the machine stays up, nothing is lost from it.
//!
//! Two slots of 48 bytes, written in turn, so that a torn write leaves the other: the count (u64 le), eight zero bytes,
//! and the BLAKE3 hash of both.

use std::io;

use parking_lot::Mutex;
use redb::StorageBackend;

const SLOT_BYTES: usize = 48;
const COUNT_BYTES: usize = 16;

/// The file of the mark.
#[derive(Debug)]
pub(super) struct Mark {
    file: Box<dyn StorageBackend>,
    count: Mutex<u64>,
}

impl Mark {
    /// Reads the mark; zero if the file is new.
    ///
    /// # Errors
    /// If neither slot checks out, or if a part of the file is missing.
    pub(super) fn open(file: Box<dyn StorageBackend>) -> io::Result<Mark> {
        let length = file.len()?;
        let whole = 2 * SLOT_BYTES as u64;
        let mut bytes = [0; 2 * SLOT_BYTES];
        let there = bytes.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        file.read(0, &mut bytes[..there])?;
        if length < whole {
            // Its length is synced before anything is written into it.
            if bytes.iter().any(|&byte| byte != 0) {
                let message = format!("the high-water mark is cut short to {length} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            file.set_len(whole)?;
            file.sync_data()?;
        }
        let slots: Vec<Option<u64>> = bytes.chunks_exact(SLOT_BYTES).map(read_slot).collect();
        let Some(count) = slots.iter().copied().flatten().max() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the high-water mark is damaged in both places",
            ));
        };
        // A slot that was torn is made whole before the other one can be.
        for (slot, _) in slots.iter().enumerate().filter(|(_, count)| count.is_none()) {
            file.write((slot * SLOT_BYTES) as u64, &slot_bytes(count))?;
            file.sync_data()?;
        }
        Ok(Mark { file, count: Mutex::new(count) })
    }

    /// The highest count that was ever set.
    pub(super) fn count(&self) -> u64 {
        *self.count.lock()
    }

    /// Raises the mark.
    pub(super) fn raise(&self, count: u64) -> io::Result<()> {
        let mut known = self.count.lock();
        let slot = usize::from(count % 2 == 1);
        self.file.write((slot * SLOT_BYTES) as u64, &slot_bytes(count))?;
        *known = count;
        Ok(())
    }

    /// Makes it durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    pub(super) fn close(&self) -> io::Result<()> {
        self.sync()?;
        self.file.close()
    }
}

fn slot_bytes(count: u64) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    bytes[..8].copy_from_slice(&count.to_le_bytes());
    let hash = blake3::hash(&bytes[..COUNT_BYTES]);
    bytes[COUNT_BYTES..].copy_from_slice(hash.as_bytes());
    bytes
}

/// What a slot says; one that was never written says zero.
fn read_slot(bytes: &[u8]) -> Option<u64> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Some(0);
    }
    let count = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
    (slot_bytes(count) == bytes).then_some(count)
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    #[test]
    fn a_mark_that_is_cut_short_is_not_taken_for_a_new_one() {
        let file = InMemoryBackend::new();
        file.set_len(SLOT_BYTES as u64).unwrap();
        file.write(0, &slot_bytes(7)).unwrap();
        let error = Mark::open(Box::new(file)).unwrap_err();
        assert_eq!(error.to_string(), "the high-water mark is cut short to 48 bytes");
    }

    /// A mark that was left with these bytes.
    fn left(slots: [&[u8]; 2]) -> io::Result<Mark> {
        let file = InMemoryBackend::new();
        file.set_len(2 * SLOT_BYTES as u64)?;
        file.write(0, slots[0])?;
        file.write(SLOT_BYTES as u64, slots[1])?;
        Mark::open(Box::new(file))
    }

    #[test]
    fn a_torn_slot_leaves_the_other_even_if_that_was_never_written() {
        let torn = &slot_bytes(7)[..20];
        assert_eq!(left([&slot_bytes(6), torn]).unwrap().count(), 6);
        assert_eq!(left([&[], torn]).unwrap().count(), 0);
        assert_eq!(left([torn, torn]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_torn_slot_is_made_whole_before_the_other_can_be_torn() {
        let mark = left([&slot_bytes(6), &slot_bytes(7)[..20]]).unwrap();
        mark.file.write(0, &[1; SLOT_BYTES]).unwrap();
        assert_eq!(Mark::open(mark.file).unwrap().count(), 6);
    }
}
