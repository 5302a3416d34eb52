//! `boxoffice restore`.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_engine::archive;
use boxoffice_engine::private_files;
use boxoffice_engine::store::{Document, EmbeddedStore, Store};
use clap::Args;

use super::backup::{parent_of, sync_directory_of};
use super::console::{Failure, say, weighing};
use super::store::{Data, Place};
use super::verify::{describe, prove};
use crate::erasures::Erasures;

/// Which backup, and where to.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// A file that `boxoffice backup` made.
    #[arg(long, env = "BOXOFFICE_RESTORE_FROM")]
    from: PathBuf,
    /// A list that `boxoffice erasures` wrote after the backup: these contacts stay erased.
    #[arg(long, value_name = "FILE", env = "BOXOFFICE_RESTORE_ERASURES")]
    erasures: Option<PathBuf>,
    /// It must be empty, or not exist.
    #[command(flatten)]
    data: Data,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let Some(place) = options.data.given()? else {
        return Err(Failure::nonsense("say where to: --data DIRECTORY or --database-url URL"));
    };
    let open = || {
        let describe = |error| Failure::new(format!("{}: {error}", options.from.display()));
        File::open(&options.from).map_err(describe)
    };
    let erasures = options.erasures.as_deref().map(read_erasures).transpose()?;
    match place {
        Place::Directory(directory) => into_directory(open, &directory, erasures.as_ref())?,
        Place::Database(url) => into_database(open()?, &url, erasures.as_ref())?,
    }
    if erasures.is_none() {
        say(
            "Contacts that were erased after the backup can be read again. To keep them erased, restore with --erasures FILE; \
             `boxoffice erasures` writes the file from the newest data.",
        )?;
    }
    Ok(())
}

fn read_erasures(path: &Path) -> Result<Erasures, Failure> {
    let describe = |problem: String| Failure::new(format!("{}: {problem}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| describe(error.to_string()))?;
    Erasures::parse(&text).map_err(describe)
}

fn into_directory(
    open: impl Fn() -> Result<File, Failure>,
    directory: &Path,
    erasures: Option<&Erasures>,
) -> Result<(), Failure> {
    if !is_empty_or_missing(directory)? {
        let problem = format!("{} is not empty, and nothing is restored over it", directory.display());
        return Err(Failure::new(problem));
    }
    private_files::check_directory(directory)?;
    let file = open()?;
    let aside = aside_of(directory)?;
    // What an earlier attempt left has never been used by anybody.
    remove(&aside)?;
    private_files::create_directories(parent_of(directory))?;
    let made = EmbeddedStore::open(&aside)?;
    let report = restore(file, &made, erasures).inspect_err(|_| drop(remove(&aside)))?;
    std::fs::rename(&aside, directory)?;
    sync_directory_of(directory)?;
    say(report)
}

fn into_database(file: File, url: &str, erasures: Option<&Erasures>) -> Result<(), Failure> {
    let (store, _) = PostgresStore::migrate(url)?;
    if !store.heads()?.is_empty() || !store.documents("")?.is_empty() {
        return Err(Failure::new("the database is not empty, and nothing is restored over it"));
    }
    let unfinished = |failure: Failure| {
        Failure::new(format!(
            "{failure}; the database has a part of the backup: begin again with an empty one"
        ))
    };
    say(restore(file, &store, erasures).map_err(unfinished)?)
}

/// Fills a store and proves that it is whole.
fn restore(file: File, store: &dyn Store, erasures: Option<&Erasures>) -> Result<String, Failure> {
    let bar = weighing("restoring");
    bar.set_length(file.metadata()?.len());
    let mut keys = 0;
    let erase = |documents: &mut Vec<Document>| {
        keys = erasures.map_or(Ok(0), |erasures| erasures.apply(documents))?;
        Ok(())
    };
    archive::restore(&mut BufReader::new(file), store, erase, |bytes| bar.set_position(bytes))?;
    bar.finish_and_clear();
    let report = prove(store)?;
    store.close()?;
    let mut told = describe(&report);
    if erasures.is_some() {
        told.push_str(&format!("\nContacts erased again: {keys}"));
    }
    Ok(told)
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
