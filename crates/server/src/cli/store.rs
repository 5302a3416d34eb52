//! Opening a store whose server is stopped.

use std::path::Path;

use boxoffice_engine::store::EmbeddedStore;

use super::console::Failure;

/// Opens a store that exists: whoever mistypes a path must not be told that an empty store is fine.
pub(super) fn open(directory: &Path) -> Result<EmbeddedStore, Failure> {
    must_exist(directory)?;
    Ok(EmbeddedStore::open(directory)?)
}

pub(super) fn must_exist(directory: &Path) -> Result<(), Failure> {
    if EmbeddedStore::is_in(directory) {
        return Ok(());
    }
    Err(Failure::new(format!("there is no store in {}", directory.display())))
}
