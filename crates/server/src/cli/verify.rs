//! `boxoffice verify`.

use std::path::Path;

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_engine::store::{EmbeddedStore, OpenError, Store};
use boxoffice_engine::verify::{Report, verify};
use clap::Args;

use super::console::{Failure, counting, say};
use super::store::{Data, Place, must_exist};

/// Which store to verify.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    data: Data,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let store: Box<dyn Store> = match options.data.place()? {
        Place::Directory(directory) => {
            must_exist(&directory)?;
            let opened = EmbeddedStore::open(&directory);
            Box::new(opened.map_err(|error| what_is_wrong(&directory, &error))?)
        }
        Place::Database(url) => Box::new(PostgresStore::open(&url)?),
    };
    let report = prove(&*store)?;
    store.close()?;
    say(describe(&report))
}

/// The store says that it is damaged; the journals may say where.
fn what_is_wrong(directory: &Path, error: &OpenError) -> Failure {
    let found = match error {
        OpenError::Damaged(_) => EmbeddedStore::open_to_look(directory).map_err(Failure::from),
        OpenError::Access(_)
        | OpenError::InUse(_)
        | OpenError::Io { .. }
        | OpenError::UnknownFormat { .. } => {
            return Failure::new(error.to_string());
        }
    };
    match found.and_then(|store| prove(&store)) {
        Ok(_) => Failure::new(format!("{error} (the journals are whole)")),
        Err(difference) => Failure::new(format!("{difference} ({error})")),
    }
}

/// Replays everything, with a bar for whoever waits.
pub(super) fn prove(store: &dyn Store) -> Result<Report, Failure> {
    let bar = counting("verifying");
    let mut verified = 0;
    let result = verify(store, |done, all| {
        verified = done;
        bar.set_length(all);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    result.map_err(|difference| {
        // Numbers are the store's; people know names.
        let heads = store.heads().unwrap_or_default();
        let at = usize::try_from(verified).ok().and_then(|verified| heads.get(verified));
        match at {
            Some(head) => Failure::new(format!("{}: {difference}", head.name)),
            None => Failure::from(difference),
        }
    })
}

pub(super) fn describe(report: &Report) -> String {
    let Report { inventories, records, changes, bookings, from_snapshot } = report;
    let cut = match from_snapshot {
        0 => String::new(),
        cut => format!("; of {cut} the beginning of the journal was cut off, and the snapshot believed"),
    };
    format!(
        "all is as the journals say: {inventories} inventories, {records} records, {changes} changes, {bookings} bookings{cut}"
    )
}
