//! `boxoffice mirror`.

use std::sync::Arc;
use std::time::Instant;

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_cluster::redis::{Instances, Mirrored, check, rebuild};
use boxoffice_engine::store::Store;
use clap::{Args, Subcommand};
use indicatif::ProgressBar;

use super::console::{Failure, counting, say};
use super::redis::Redis;
use super::store::{Data, Place};

/// What to do with the mirror.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Write all of it anew from the database, also while servers sell.
    Rebuild(Places),
    /// Compare all of it with the database, also while servers sell. Exit code 1 names the first difference.
    Check(Places),
}

/// Where the truth is, and where the mirror.
#[derive(Debug, Args)]
struct Places {
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    redis: Redis,
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let began = Instant::now();
    let seconds = || began.elapsed().as_secs_f64();
    match &options.action {
        Action::Rebuild(places) => {
            let (store, instances) = places.open()?;
            let bar = counting("rebuilding");
            let rebuilt = runtime.block_on(rebuild(instances.first(), &store, progress(&bar)));
            bar.finish_and_clear();
            say(format!("the mirror was rebuilt in {:.2} s: {}", seconds(), describe(&rebuilt?)))
        }
        Action::Check(places) => {
            let (store, instances) = places.open()?;
            let bar = counting("checking");
            let checked = runtime.block_on(check(instances.first(), &store, progress(&bar)));
            bar.finish_and_clear();
            say(format!("the mirror shows the truth: {}", describe(&checked?)))
        }
    }
}

impl Places {
    fn open(&self) -> Result<(Arc<dyn Store>, Instances), Failure> {
        let Place::Database(url) = self.data.place()? else {
            return Err(Failure::nonsense("only a database has a mirror: say which with --database-url"));
        };
        let Some(instances) = self.redis.instances()? else {
            return Err(Failure::nonsense("say where the mirror is with --redis-urls"));
        };
        Ok((Arc::new(PostgresStore::open(&url)?), instances))
    }
}

fn progress(bar: &ProgressBar) -> impl FnMut(u64, u64) {
    |done, all| {
        bar.set_length(all);
        bar.set_position(done);
    }
}

fn describe(mirrored: &Mirrored) -> String {
    let Mirrored { inventories, seats, bookings } = mirrored;
    format!("{inventories} inventories, {seats} seats, {bookings} bookings")
}
