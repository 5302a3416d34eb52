//! `boxoffice backup`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use boxoffice_engine::Clock;
use boxoffice_engine::archive;
use boxoffice_engine::private_files;
use clap::Args;

use super::client::Server;
use super::console::{Failure, counting, say, weighing};
use super::store::Data;
use crate::time::Moment;

/// What to back up, and where to.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The server of a directory must be stopped.
    #[command(flatten)]
    data: Data,
    /// A running server, such as http://127.0.0.1:8080, instead of a stopped one's data.
    #[arg(long, env = "BOXOFFICE_SERVER")]
    server: Option<String>,
    /// An admin's key of the server.
    #[arg(long, env = "BOXOFFICE_KEY", hide_env_values = true)]
    key: Option<String>,
    /// A new file, or a directory in which a file is made with the time in its name.
    #[arg(long, env = "BOXOFFICE_BACKUP_TO")]
    to: PathBuf,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let path = file_for(&options.to);
    if path.exists() {
        return Err(Failure::new(format!("{} is there already", path.display())));
    }
    // Only a backup that is whole gets its name.
    let mut unfinished = path.clone().into_os_string();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let contents = write(options, &unfinished).inspect_err(|_| drop(std::fs::remove_file(&unfinished)))?;
    std::fs::rename(&unfinished, &path)?;
    sync_directory_of(&path)?;
    let archive::Contents { inventories, records, documents } = contents;
    say(format!("{}: {inventories} inventories, {records} records, {documents} documents", path.display()))
}

fn file_for(to: &Path) -> PathBuf {
    if !to.is_dir() {
        return to.to_owned();
    }
    let now = Moment(Clock::system().now()).to_string();
    to.join(format!("boxoffice-{}.backup", now.replace(':', "-")))
}

fn write(options: &Options, path: &Path) -> Result<archive::Contents, Failure> {
    let describe = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    // It has the secrets of the store.
    let mut out = BufWriter::new(private_files::replace_file(path).map_err(describe)?);
    match &options.server {
        Some(url) => {
            let server = Server::new(url, options.key.clone())?;
            let bar = weighing("receiving");
            server.download("/v1/backup", &mut out, |bytes| bar.set_position(bytes))?;
            bar.finish_and_clear();
        }
        None => {
            let store = options.data.open()?;
            let bar = counting("writing");
            archive::write(&*store, &mut out, |done, all| {
                bar.set_length(all);
                bar.set_position(done);
            })?;
            bar.finish_and_clear();
            store.close()?;
        }
    }
    out.flush().map_err(describe)?;
    out.get_ref().sync_all().map_err(describe)?;
    let bar = weighing("checking");
    bar.set_length(std::fs::metadata(path)?.len());
    let contents = archive::check(&mut BufReader::new(File::open(path)?), |bytes| bar.set_position(bytes))?;
    bar.finish_and_clear();
    Ok(contents)
}

/// A name is durable when its directory is.
pub(super) fn sync_directory_of(path: &Path) -> Result<(), Failure> {
    Ok(File::open(parent_of(path))?.sync_all()?)
}

pub(super) fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}
