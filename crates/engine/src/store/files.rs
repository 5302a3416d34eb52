//! The files of an embedded store: which there are, and how they come to be.

use std::io;
use std::path::Path;
use std::time::Duration;

use redb::StorageBackend;
use redb::backends::{FileBackend, InMemoryBackend};

use super::Store;
use super::embedded::{EmbeddedStore, OpenError};
use super::pace::PAUSE;
use crate::limits::{LOG_FILE_BYTES_MAX, UNSYNCED_BYTES_MAX};
use crate::private_files::{create_directories, create_directory, create_new_file};

pub(super) const STORE_FILE: &str = "store.redb";
pub(super) const MARK_FILE: &str = "mark";
pub(super) const LOG_FILES: [&str; 2] = ["log-0", "log-1"];

/// The files of a store, whatever they are: on a disk, or on a simulated one.
#[derive(Debug)]
pub struct Files {
    /// redb's.
    pub store: Box<dyn StorageBackend>,
    /// The high-water mark's.
    pub mark: Box<dyn StorageBackend>,
    /// The log's.
    pub logs: [Box<dyn StorageBackend>; 2],
    /// So much is gathered in one of the log's files before it is moved. What is larger goes to redb at once.
    pub log_bytes_max: u64,
    /// So much of redb's is written before it is synced.
    pub unsynced_bytes_max: u64,
    /// How long whoever moves the log pauses between some steps, if nobody waits for it; zero for not at all.
    pub pause: Duration,
}

impl Files {
    /// Of a new store that is gone with the process.
    pub fn in_memory() -> Files {
        let file = || Box::new(InMemoryBackend::new());
        Files {
            store: file(),
            mark: file(),
            logs: [file(), file()],
            log_bytes_max: LOG_FILE_BYTES_MAX,
            unsynced_bytes_max: UNSYNCED_BYTES_MAX,
            pause: Duration::ZERO,
        }
    }
}

/// Makes a new store in a directory that is not there, or is empty.
pub(super) fn create_files(directory: &Path) -> io::Result<()> {
    let parent = match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    create_directories(parent)?;
    let name = directory.file_name().ok_or_else(|| io::Error::other("not the name of a directory"))?;
    let mut aside_name = name.to_owned();
    aside_name.push(".new");
    let aside = parent.join(aside_name);
    // What an earlier attempt left has never been used by anybody.
    match std::fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    create_directory(&aside)?;
    let names = [STORE_FILE, MARK_FILE].into_iter().chain(LOG_FILES);
    for name in names.clone() {
        create_new_file(&aside.join(name))?;
    }
    let store = files_in(&aside).and_then(EmbeddedStore::open_files).map_err(io::Error::other)?;
    store.close().map_err(io::Error::other)?;
    for name in names {
        std::fs::File::open(aside.join(name))?.sync_all()?;
    }
    std::fs::File::open(&aside)?.sync_all()?;
    // Replaces an empty directory that was made beforehand, which was as private: others are refused.
    std::fs::rename(&aside, directory)?;
    std::fs::File::open(parent)?.sync_all()
}

pub(super) fn io_at(path: &Path) -> impl Fn(io::Error) -> OpenError {
    let path = path.to_owned();
    move |error| OpenError::Io { path: path.clone(), error }
}

/// Those in a directory.
pub(super) fn files_in(directory: &Path) -> Result<Files, OpenError> {
    // A store that should have a log does not take an empty one for it.
    if LOG_FILES.iter().any(|name| !directory.join(name).exists()) {
        for path in LOG_FILES.map(|name| directory.join(name)).iter().filter(|path| !path.exists()) {
            create_new_file(path).map_err(io_at(path))?;
        }
        std::fs::File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(io_at(directory))?;
    }
    let open = |name: &str| -> Result<Box<dyn StorageBackend>, OpenError> {
        let path = directory.join(name);
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).map_err(io_at(&path))?;
        let backend = FileBackend::new(file).map_err(|error| io_at(&path)(io::Error::other(error)))?;
        Ok(Box::new(backend))
    };
    Ok(Files {
        store: open(STORE_FILE)?,
        mark: open(MARK_FILE)?,
        logs: [open(LOG_FILES[0])?, open(LOG_FILES[1])?],
        log_bytes_max: LOG_FILE_BYTES_MAX,
        unsynced_bytes_max: UNSYNCED_BYTES_MAX,
        pause: PAUSE,
    })
}
