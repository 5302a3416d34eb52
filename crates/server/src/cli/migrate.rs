//! `boxoffice migrate`.

use boxoffice_cluster::postgres::PostgresStore;
use clap::Args;

use super::console::{Failure, say};
use super::store::{Data, Place};

/// Which database.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    data: Data,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let Place::Database(url) = options.data.place()? else {
        return Err(Failure::nonsense(
            "a directory needs no migration: say which database with --database-url",
        ));
    };
    let (_, found) = PostgresStore::migrate(&url)?;
    let known = PostgresStore::schema_version();
    if found == known {
        return say(format!("the tables are of version {known} already"));
    }
    say(format!("the tables are of version {known} now; they were of version {found}"))
}
