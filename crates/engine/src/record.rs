//! What the store keeps, in bytes: journal records in a chain, heads and snapshot manifests, each with its checksum.
//!
//! Everything starts with a format byte and ends with the BLAKE3 hash of all bytes before it. A journal record is
//!
//! ```text
//! format     u8         1
//! inventory  u32 le
//! sequence   u64 le     counted from one, without gaps
//! previous   32 bytes   the hash at the end of the record before; zeros before the first
//! changes    ..         boxoffice_core::codec::encode_changes
//! hash       32 bytes   of all of the above
//! ```
//!
//! so whoever holds the last hash holds proof of every record before it. Heads and manifests are structs in the
//! postcard wire format between their format byte and their hash. The golden bytes in `tests/golden` fail if
//! something moves.

use std::sync::Arc;

use boxoffice_core::change::Change;
use boxoffice_core::codec::{self, DecodeError};
use boxoffice_core::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ids::InventoryNumber;

/// The format byte of everything in this file.
pub const FORMAT: u8 = 1;

const HASH_BYTES: usize = 32;
const HEADER_BYTES: usize = 1 + 4 + 8 + HASH_BYTES;

/// A link of the chain: the hash of a record. Zeros before the first record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hash(pub [u8; HASH_BYTES]);

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Bytes that are not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Fewer bytes than anything can have.
    #[error("cut short to {0} bytes")]
    Short(usize),
    /// Written by a program that this one does not know.
    #[error("format {0} is not known; this program reads format {FORMAT}")]
    UnknownFormat(u8),
    /// The hash at the end is not the hash of the bytes.
    #[error("the checksum does not match")]
    Checksum,
    /// The hash matches, and the bytes cannot be read all the same.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

impl From<DecodeError> for RecordError {
    fn from(error: DecodeError) -> RecordError {
        RecordError::Unreadable(error.to_string())
    }
}

/// One batch of one inventory, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Whose.
    pub inventory: InventoryNumber,
    /// Which batch.
    pub sequence: u64,
    /// Of the record before.
    pub previous: Hash,
    /// Of this record.
    pub hash: Hash,
    /// What happened.
    pub changes: Vec<Change>,
}

/// The bytes of a journal record, and its hash.
pub fn encode_record(
    inventory: InventoryNumber,
    sequence: u64,
    previous: Hash,
    changes: &[Change],
) -> (Vec<u8>, Hash) {
    // About what changes take, so that the bytes of a large batch are not moved again and again.
    let mut bytes = Vec::with_capacity(HEADER_BYTES + changes.len() * 48 + HASH_BYTES);
    bytes.push(FORMAT);
    bytes.extend_from_slice(&inventory.0.to_le_bytes());
    bytes.extend_from_slice(&sequence.to_le_bytes());
    bytes.extend_from_slice(&previous.0);
    let mut bytes = codec::append_changes(changes, bytes);
    let hash = Hash(*blake3::hash(&bytes).as_bytes());
    bytes.extend_from_slice(&hash.0);
    (bytes, hash)
}

/// The record of bytes.
pub fn decode_record(bytes: &[u8]) -> Result<Record, RecordError> {
    if bytes.len() < HEADER_BYTES + HASH_BYTES {
        return Err(RecordError::Short(bytes.len()));
    }
    let (body, hash) = checked(bytes)?;
    let (header, changes) = body.split_at(HEADER_BYTES);
    let number = header[1..5].try_into().expect("four bytes");
    let sequence = header[5..13].try_into().expect("eight bytes");
    let previous = header[13..].try_into().expect("a hash");
    Ok(Record {
        inventory: InventoryNumber(u32::from_le_bytes(number)),
        sequence: u64::from_le_bytes(sequence),
        previous: Hash(previous),
        hash,
        changes: codec::decode_changes(changes)?,
    })
}

/// Where an inventory stands: the last record of its chain, and when it has to be woken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its number in this store.
    pub inventory: InventoryNumber,
    /// Its name, unique in this store.
    pub name: Arc<str>,
    /// Of the last record.
    pub sequence: u64,
    /// Of the last record.
    pub hash: Hash,
    /// When a hold ends or slots are to be made, if nothing happens before.
    pub next_deadline: Option<Timestamp>,
}

/// What a snapshot is of, and how to know that it is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Of which inventory.
    pub inventory: InventoryNumber,
    /// After which record.
    pub sequence: u64,
    /// Of that record.
    pub hash: Hash,
    /// How many bytes `boxoffice_core::codec::encode_inventory` gave.
    pub bytes: u64,
    /// Of these bytes.
    pub contents: Hash,
    /// The first sequence that the journal still has; one if nothing was cut off.
    pub journal_from: u64,
}

/// Postcard bytes between a format byte and a hash.
pub fn seal<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes =
        postcard::to_extend(value, vec![FORMAT]).expect("the values have lengths and the buffer grows");
    let hash = blake3::hash(&bytes);
    bytes.extend_from_slice(hash.as_bytes());
    bytes
}

/// What [`seal`] was given.
pub fn unseal<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, RecordError> {
    if bytes.len() <= HASH_BYTES {
        return Err(RecordError::Short(bytes.len()));
    }
    let (body, _) = checked(bytes)?;
    let (value, rest) =
        postcard::take_from_bytes(&body[1..]).map_err(|error| RecordError::Unreadable(error.to_string()))?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(RecordError::Unreadable(format!("{} bytes left over", rest.len())))
    }
}

/// The hash of a snapshot's bytes.
pub fn hash_of(bytes: &[u8]) -> Hash {
    Hash(*blake3::hash(bytes).as_bytes())
}

/// The bytes before the hash, if it is theirs and the format is known.
fn checked(bytes: &[u8]) -> Result<(&[u8], Hash), RecordError> {
    let (body, hash) = bytes.split_at(bytes.len() - HASH_BYTES);
    // The format first: another program's bytes are not damaged bytes.
    if body[0] != FORMAT {
        return Err(RecordError::UnknownFormat(body[0]));
    }
    let actual = hash_of(body);
    if actual.0 == *hash { Ok((body, actual)) } else { Err(RecordError::Checksum) }
}

#[cfg(test)]
mod tests {
    use boxoffice_core::ids::Actor;

    use super::*;

    fn changes() -> Vec<Change> {
        vec![Change::Act { at: Timestamp(5), by: Actor(7) }, Change::KeysForgotten { through: Timestamp(9) }]
    }

    #[test]
    fn a_record_comes_back_as_it_was_written() {
        let previous = Hash([3; 32]);
        let (bytes, hash) = encode_record(InventoryNumber(8), 21, previous, &changes());
        let record = decode_record(&bytes).unwrap();
        let expected =
            Record { inventory: InventoryNumber(8), sequence: 21, previous, hash, changes: changes() };
        assert_eq!(record, expected);
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_of_a_record_is_noticed() {
        let (bytes, _) = encode_record(InventoryNumber(8), 21, Hash::default(), &changes());
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = decode_record(&damaged).unwrap_err();
            let expected =
                if bit < 8 { RecordError::UnknownFormat(damaged[0]) } else { RecordError::Checksum };
            assert_eq!(error, expected, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(decode_record(&bytes[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn every_flipped_bit_of_a_head_is_noticed() {
        let head = Head {
            inventory: InventoryNumber(1),
            name: "hall".into(),
            sequence: 3,
            hash: Hash([9; 32]),
            next_deadline: Some(Timestamp(77)),
        };
        let bytes = seal(&head);
        assert_eq!(unseal::<Head>(&bytes), Ok(head));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(unseal::<Head>(&damaged).is_err(), "bit {bit}");
        }
    }
}
