//! Overwrites what removed secrets leave behind in the file of redb.
//!
//! redb never writes into a page that is in use: what was removed stays in the freed page until that is used again. So secrets are looked
//! for in the whole file and overwritten with zeros. The caller has removed them and made that durable, and keeps out readers that began
//! before: no page that is read has them, except perhaps behind its values, where no checksum covers them and no reader looks.

use std::io;

use aho_corasick::AhoCorasick;
use redb::StorageBackend;

use super::{SECRET_BYTES, SecretStart};

/// Bytes that are read and searched together.
const PIECE_BYTES: usize = 1024 * 1024;

/// Where each of the secrets is, by the order in which they were given.
pub(super) fn find(file: &dyn StorageBackend, starts: &[SecretStart]) -> io::Result<Vec<(u64, usize)>> {
    let mut found = Vec::new();
    let searcher = AhoCorasick::new(starts).map_err(io::Error::other)?;
    // The start of a secret may lie across the end of a piece.
    const SHARED_BYTES: u64 = size_of::<SecretStart>() as u64 - 1;
    let (mut length, mut offset) = (file.len()?, 0);
    let mut piece = vec![0; PIECE_BYTES];
    while offset < length {
        let bytes = usize::try_from(length - offset).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        if let Err(error) = file.read(offset, &mut piece[..bytes]) {
            // A commit of another writer may have shortened the file.
            let now = file.len()?;
            if now < length {
                length = now;
                continue;
            }
            return Err(error);
        }
        let matches = searcher.find_iter(&piece[..bytes]);
        found.extend(matches.map(|at| (offset + at.start() as u64, at.pattern().as_usize())));
        let next = offset + bytes as u64;
        offset = if next < length { next - SHARED_BYTES } else { next };
    }
    Ok(found)
}

/// Overwrites those that are still there, and syncs the file. No other writer may change the file meanwhile, and no reader read what was
/// removed.
pub(super) fn overwrite(
    file: &dyn StorageBackend,
    starts: &[SecretStart],
    found: &[(u64, usize)],
) -> io::Result<()> {
    let length = file.len()?;
    for &(offset, index) in found {
        let secret_bytes = length.saturating_sub(offset).min(SECRET_BYTES as u64);
        let mut there = SecretStart::default();
        if secret_bytes < there.len() as u64 {
            // The file ends before it now.
            continue;
        }
        file.read(offset, &mut there)?;
        if there == starts[index] {
            file.write(offset, &[0; SECRET_BYTES][..usize::try_from(secret_bytes).expect("few bytes")])?;
        }
    }
    file.sync_data()
}
