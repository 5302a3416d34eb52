//! The binary form of commands, changes and whole inventories.
//!
//! One version byte, then a varint length of the list (changes) and the values in the postcard wire format: unsigned
//! integers as LEB128 varints, signed ones zigzag first, text and lists with a varint length before them, an option
//! as one byte, an enum as the varint index of its variant. Structs have no lengths: only variants may be appended, any
//! other change is a new version. The golden bytes in `tests/golden` fail if something moves.

use crate::change::Change;
use crate::command::Command;
use crate::inventory::Inventory;
use crate::snapshot::Snapshot;

/// The version written in front of everything.
pub const FORMAT_VERSION: u8 = 3;

/// Bytes that are not a command, a list of changes or an inventory of a known version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Nothing at all.
    #[error("no bytes")]
    Empty,
    /// Written by a program that this one does not know.
    #[error("format version {0} is not known; this program reads version {FORMAT_VERSION}")]
    UnknownVersion(u8),
    /// Cut short, or not the bytes that were written.
    #[error("damaged: {0}")]
    Damaged(postcard::Error),
    /// More bytes than the values need.
    #[error("{0} bytes left over")]
    LeftOver(usize),
    /// Well-formed, but no inventory is ever in this state.
    #[error("not an inventory: {0}")]
    NotAnInventory(&'static str),
}

/// The bytes of a command.
///
/// # Panics
/// Never: postcard fails on types without a length and on full buffers, and has neither here.
pub fn encode_command(command: &Command) -> Vec<u8> {
    encode(command)
}

/// The command of bytes.
pub fn decode_command(bytes: &[u8]) -> Result<Command, DecodeError> {
    decode(bytes)
}

/// The bytes of the changes of a batch.
///
/// # Panics
/// Never: see [`encode_command`].
pub fn encode_changes(changes: &[Change]) -> Vec<u8> {
    append_changes(changes, Vec::new())
}

/// Bytes, followed by those of the changes of a batch.
///
/// # Panics
/// Never: see [`encode_command`].
pub fn append_changes(changes: &[Change], bytes: Vec<u8>) -> Vec<u8> {
    append(changes, bytes)
}

/// The changes of bytes.
pub fn decode_changes(bytes: &[u8]) -> Result<Vec<Change>, DecodeError> {
    decode(bytes)
}

/// The bytes of a whole inventory; equal inventories have equal bytes.
///
/// Only between batches: answers of an open one are not durable, so they must not be in anything that outlives it.
///
/// # Panics
/// While a batch is open, if built with debug assertions; else never: see [`encode_command`].
pub fn encode_inventory(inventory: &Inventory) -> Vec<u8> {
    encode(&Snapshot::of(inventory))
}

/// The inventory of bytes, without its journal: what follows is `replay` of the batches after its sequence.
pub fn decode_inventory(bytes: &[u8]) -> Result<Inventory, DecodeError> {
    decode::<Snapshot>(bytes)?.restore()
}

fn encode<T: serde::Serialize + ?Sized>(value: &T) -> Vec<u8> {
    append(value, Vec::new())
}

fn append<T: serde::Serialize + ?Sized>(value: &T, mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(FORMAT_VERSION);
    postcard::to_extend(value, bytes).expect("the values have lengths and the buffer grows")
}

fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    let (&version, rest) = bytes.split_first().ok_or(DecodeError::Empty)?;
    if version != FORMAT_VERSION {
        return Err(DecodeError::UnknownVersion(version));
    }
    let (value, rest) = postcard::take_from_bytes(rest).map_err(DecodeError::Damaged)?;
    if rest.is_empty() { Ok(value) } else { Err(DecodeError::LeftOver(rest.len())) }
}
