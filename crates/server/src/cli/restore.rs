//! `boxoffice restore`.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use boxoffice_engine::archive;
use boxoffice_engine::store::{EmbeddedStore, Store};
use clap::Args;

use super::backup::{parent_of, sync_directory_of};
use super::console::{Failure, say, weighing};
use super::verify::{describe, prove};

/// Which backup, and where to.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// A file that `boxoffice backup` made.
    #[arg(long)]
    from: PathBuf,
    /// Where the data will be: a directory that is empty or does not exist.
    #[arg(long, env = "BOXOFFICE_DATA")]
    data: PathBuf,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    if !is_empty_or_missing(&options.data)? {
        let problem = format!("{} is not empty, and nothing is restored over it", options.data.display());
        return Err(Failure::new(problem));
    }
    let file = File::open(&options.from)
        .map_err(|error| Failure::new(format!("{}: {error}", options.from.display())))?;
    let aside = aside_of(&options.data)?;
    // What an earlier attempt left has never been used by anybody.
    remove(&aside)?;
    std::fs::create_dir_all(parent_of(&options.data))?;
    let report = restore(file, &aside).inspect_err(|_| drop(remove(&aside)))?;
    std::fs::rename(&aside, &options.data)?;
    sync_directory_of(&options.data)?;
    say(report)
}

/// Makes a store and proves that it is whole.
fn restore(file: File, directory: &Path) -> Result<String, Failure> {
    let bar = weighing("restoring");
    bar.set_length(file.metadata()?.len());
    let store = EmbeddedStore::open(directory)?;
    archive::restore(&mut BufReader::new(file), &store, |bytes| bar.set_position(bytes))?;
    bar.finish_and_clear();
    let report = prove(&store)?;
    store.close()?;
    Ok(describe(&report))
}

fn is_empty_or_missing(directory: &Path) -> Result<bool, Failure> {
    match std::fs::read_dir(directory) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(Failure::new(format!("{}: {error}", directory.display()))),
    }
}

fn aside_of(directory: &Path) -> Result<PathBuf, Failure> {
    let name = directory.file_name();
    let name = name.ok_or_else(|| Failure::new(format!("{} has no name", directory.display())))?;
    let mut name = name.to_owned();
    name.push(".restoring");
    Ok(parent_of(directory).join(name))
}

fn remove(directory: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}
