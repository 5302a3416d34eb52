//! Overwrites what removed documents leave behind in the file of redb.
//!
//! redb never writes into a page that is in use: what was removed stays in the freed page until that is used again. So secrets are looked
//! for in the whole file and overwritten with zeros. The caller has removed them and made that durable, so no page in use has them, except
//! perhaps behind its values, where no checksum covers them and no reader looks.

use std::io;

use memchr::memmem::Finder;
use redb::StorageBackend;

/// Bytes that are read and searched together.
const PIECE_BYTES: usize = 1024 * 1024;

/// Where each of the secrets is.
pub(super) fn find<'a>(
    file: &dyn StorageBackend,
    secrets: &'a [Vec<u8>],
) -> io::Result<Vec<(u64, &'a [u8])>> {
    let mut found = Vec::new();
    let finders: Vec<Finder<'a>> = secrets.iter().map(|secret| Finder::new(secret.as_slice())).collect();
    // A secret may lie across the end of a piece.
    let shared = secrets.iter().map(Vec::len).max().unwrap_or(1).saturating_sub(1);
    let (length, mut offset) = (file.len()?, 0);
    let mut piece = vec![0; PIECE_BYTES];
    while offset < length {
        let bytes = usize::try_from(length - offset).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        file.read(offset, &mut piece[..bytes])?;
        for (finder, secret) in finders.iter().zip(secrets) {
            found.extend(finder.find_iter(&piece[..bytes]).map(|at| (offset + at as u64, secret.as_slice())));
        }
        let next = offset + bytes as u64;
        offset = if next < length { next - shared as u64 } else { next };
    }
    Ok(found)
}

/// Overwrites those that are still there, and syncs the file. Nothing else may write it meanwhile.
pub(super) fn overwrite(file: &dyn StorageBackend, found: &[(u64, &[u8])]) -> io::Result<()> {
    for (offset, secret) in found {
        let mut there = vec![0; secret.len()];
        file.read(*offset, &mut there)?;
        if there == *secret {
            file.write(*offset, &vec![0; secret.len()])?;
        }
    }
    file.sync_data()
}
