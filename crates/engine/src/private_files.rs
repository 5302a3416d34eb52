//! Creates the files and directories that hold secrets or personal data: modes 0600 and 0700, whatever the umask.
//!
//! `cargo xtask tidy` refuses other ways to create files in the server and the crates below it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;
/// Read, write and search, for the group and for all other users.
const SHARED_BITS: u32 = 0o077;

/// Creates a file for writing.
///
/// # Errors
/// `AlreadyExists` if the path has a file, a directory or a symbolic link.
pub fn create_new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
}

/// Creates a file for writing. An existing file is replaced by a new one, so that neither its mode nor a reader that
/// has it open matters. A device or a pipe is written to as it is.
///
/// # Errors
/// Those of removing the old file and creating the new one. The old file may be gone then.
pub fn replace_file(path: &Path) -> io::Result<File> {
    // Follows symbolic links: /dev/stdout is one.
    let path = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return create_new_file(path),
        found => found?,
    };
    if !path.metadata()?.is_file() {
        return OpenOptions::new().write(true).open(path);
    }
    std::fs::remove_file(&path)?;
    create_new_file(&path)
}

/// Creates a directory.
///
/// # Errors
/// `AlreadyExists` if the path exists.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY_MODE).create(path)
}

/// Creates the directories of a path that do not exist. Those that exist keep their modes.
pub fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY_MODE).recursive(true).create(path)
}

/// Why a data directory is refused.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// The mode of the directory or of a file in it grants access to the group or to all users.
    #[error(
        "other users may access {path} (mode {mode:04o}), which holds secrets: \
         run `chmod -R go= {directory}`",
        path = path.display(),
        directory = directory.display()
    )]
    Shared {
        /// The directory, or the file in it.
        path: PathBuf,
        /// Permission bits of the path.
        mode: u32,
        /// The data directory.
        directory: PathBuf,
    },
    /// The directory cannot be read.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The directory, or the file in it.
        path: PathBuf,
        /// What the system answered.
        error: io::Error,
    },
}

/// Checks that neither the group nor other users may access a directory or the files in it. A directory that does not
/// exist passes.
pub fn check_directory(directory: &Path) -> Result<(), AccessError> {
    let io_at = |path: &Path| {
        let path = path.to_owned();
        move |error| AccessError::Io { path, error }
    };
    let check = |path: &Path| {
        let mode = match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            found => found.map_err(io_at(path))?.mode() & 0o7777,
        };
        if mode & SHARED_BITS == 0 {
            return Ok(());
        }
        Err(AccessError::Shared { path: path.to_owned(), mode, directory: directory.to_owned() })
    };
    check(directory)?;
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(io_at(directory))?,
    };
    for entry in entries {
        check(&entry.map_err(io_at(directory))?.path())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn replaced_file_with_a_loose_mode_is_a_new_private_file() {
        let home = tempfile::tempdir().unwrap();
        let (path, link) = (home.path().join("export.csv"), home.path().join("link"));
        std::fs::write(&path, "old").unwrap();
        set_mode(&path, 0o666);
        symlink(&path, &link).unwrap();
        let mut read_before = File::open(&path).unwrap();
        replace_file(&link).unwrap().write_all(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(mode_of(&path), 0o600);
        let read = io::read_to_string(&mut read_before).unwrap();
        assert_eq!(read, "old", "a reader of the old file sees nothing of the new one");
    }

    #[test]
    fn replaced_device_is_written_to_and_stays() {
        let home = tempfile::tempdir().unwrap();
        let link = home.path().join("out");
        symlink("/dev/null", &link).unwrap();
        replace_file(&link).unwrap().write_all(b"nothing").unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
        assert!(link.is_symlink());
    }

    #[test]
    fn data_directory_is_refused_if_it_or_a_file_in_it_grants_access_to_others() {
        let home = tempfile::tempdir().unwrap();
        let data = home.path().join("data");
        check_directory(&data).unwrap();
        create_directories(&data).unwrap();
        let file = data.join("store");
        create_new_file(&file).unwrap();
        for (directory_mode, file_mode, expected) in [
            (0o700, 0o600, None),
            (0o2700, 0o400, None),
            (0o750, 0o600, Some((&data, 0o750))),
            (0o701, 0o600, Some((&data, 0o701))),
            (0o2770, 0o660, Some((&data, 0o2770))),
            (0o700, 0o640, Some((&file, 0o640))),
            (0o700, 0o604, Some((&file, 0o604))),
        ] {
            set_mode(&data, directory_mode);
            set_mode(&file, file_mode);
            let refused = match check_directory(&data) {
                Ok(()) => None,
                Err(AccessError::Shared { path, mode, .. }) => Some((path, mode)),
                Err(error) => panic!("{error}"),
            };
            assert_eq!(refused, expected.map(|(path, mode)| (path.clone(), mode)));
        }
    }
}
