//! Where the repository is and which files belong to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::step::output_of;

/// The directory of the workspace that the current directory is in.
pub(crate) fn root() -> Result<PathBuf> {
    let here =
        std::env::current_dir().map_err(|error| Error::new(format!("no current directory: {error}")))?;
    let is_root = |directory: &&Path| {
        std::fs::read_to_string(directory.join("Cargo.toml"))
            .is_ok_and(|manifest| manifest.lines().any(|line| line.trim() == "[workspace]"))
    };
    match here.ancestors().find(is_root) {
        Some(directory) => Ok(directory.to_path_buf()),
        None => Err(Error::new(format!("{} is not inside the workspace", here.display()))),
    }
}

/// All files that are tracked, or would be if they were added: with `/` between folders, in order.
pub(crate) fn files(root: &Path) -> Result<Vec<String>> {
    let listing = output_of(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root),
    )?;
    let listing = String::from_utf8(listing).map_err(|_| Error::new("a file name is not UTF-8"))?;
    let mut files: Vec<String> = listing
        .split('\0')
        .filter(|file| !file.is_empty())
        // A file that was deleted and is still tracked is gone all the same.
        .filter(|file| root.join(file).is_file())
        .map(str::to_owned)
        .collect();
    files.sort_unstable();
    files.dedup();
    Ok(files)
}
