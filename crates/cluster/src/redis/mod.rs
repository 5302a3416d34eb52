//! What Redis or Kvrocks does beside a store that several nodes share. Nothing that is true is only there.
//!
//! | file | what it is |
//! |---|---|
//! | `urls.rs` | from `REDIS_URLS` to instances: servers, Sentinel, Cluster |
//! | `instance.rs` | one of them: connections that come back, commands that travel together |
//! | `keys.rs`, `picture.rs`, `bookings.rs` | the mirror's keys; what stands in them, whole or since an earlier view |
//! | `write.rs` | the scripts that write it, guarded by the sequence |
//! | `check.rs` | whether it shows the truth, and what it does not |
//! | `mirror.rs` | the task that keeps it up to date beside an engine |
//! | `rebuild.rs`, `shown.rs` | the whole mirror from the store, and the whole check; which bookings are shown, so that none of another history stays |
//! | `refused.rs` | refused bookings, which are in no journal |
//! | `fan_out.rs` | nodes tell each other what has moved |
//! | `redlock.rs`, `turns.rs` | locks that a majority of independent instances gives; turns made of them |
//!
//! Everything here may be late, lost or empty. The engine never waits for it.

mod bookings;
mod check;
mod fan_out;
mod instance;
mod keys;
mod mirror;
mod picture;
mod rebuild;
mod redlock;
mod refused;
mod shown;
mod turns;
mod urls;
mod write;

use std::sync::Arc;
use std::time::Duration;

use boxoffice_engine::Engine;
use boxoffice_engine::store::Store;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use check::Difference;
pub use instance::{AVAILABLE, Instance};
pub use mirror::{BEHIND, DRIFT};
pub use rebuild::{Mirrored, RebuildError, check, rebuild};
pub use redlock::{Lock, LockError, LockSettings, Redlock};
pub use refused::{RefusedBooking, RefusedBookings};
pub use turns::RedlockTurns;
pub use urls::{Instances, UrlsError};

/// How long the mirror may take to write what is left.
const FINISH_MAX: Duration = Duration::from_secs(2);

/// What runs beside an engine. Dropping it ends it without a last word.
#[derive(Debug)]
pub struct Beside {
    mirror: JoinHandle<()>,
    finish: oneshot::Sender<()>,
    refused: RefusedBookings,
    others: Aborted,
}

/// Tasks that end with whoever started them.
#[derive(Debug)]
struct Aborted(Vec<JoinHandle<()>>);

impl Beside {
    /// Keeps the mirror, tells and hears what has moved, and pings each Redis. Needs a runtime; does not wait for Redis.
    pub fn start(instances: &Instances, engine: &Engine, store: Arc<dyn Store>) -> Beside {
        let first = || Arc::clone(instances.first());
        let (finish, told) = oneshot::channel();
        let (refused, queued) = refused::queue();
        let mut others = vec![
            tokio::spawn(refused::write(first(), queued)),
            tokio::spawn(mirror::repair(first(), engine.clone(), store)),
            tokio::spawn(fan_out::tell(first(), engine.clone())),
            tokio::spawn(fan_out::hear(first(), engine.clone())),
        ];
        others.extend(instances.all().iter().map(|instance| tokio::spawn(Arc::clone(instance).ping())));
        Beside {
            mirror: tokio::spawn(mirror::keep(first(), engine.clone(), told)),
            finish,
            refused,
            others: Aborted(others),
        }
    }

    /// Where to say which bookings this node refused.
    pub fn refused_bookings(&self) -> RefusedBookings {
        self.refused.clone()
    }

    /// Writes to the mirror what the engine committed last, if Redis lets it, and ends. The engine may be closed already.
    pub async fn finish(self) {
        let Beside { mut mirror, finish, refused: _, others } = self;
        drop(others);
        // It is there until it is told.
        let _ = finish.send(());
        if tokio::time::timeout(FINISH_MAX, &mut mirror).await.is_err() {
            mirror.abort();
        }
    }
}

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}
