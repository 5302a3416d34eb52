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
//! | `rebuild.rs` | the whole mirror from the store, and the whole check |
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
mod turns;
mod urls;
mod write;

use std::sync::Arc;

use boxoffice_engine::Engine;
use boxoffice_engine::store::Store;
use tokio::task::JoinHandle;

pub use check::Difference;
pub use instance::Instance;
pub use mirror::{BEHIND, DRIFT};
pub use rebuild::{Mirrored, RebuildError, check, rebuild};
pub use redlock::{Lock, LockError, LockSettings, Redlock};
pub use turns::RedlockTurns;
pub use urls::{Instances, UrlsError};

/// What runs beside an engine, until it is dropped.
#[derive(Debug)]
pub struct Beside {
    tasks: Vec<JoinHandle<()>>,
}

impl Beside {
    /// Keeps the mirror, and tells and hears what has moved. Needs a runtime; waits for nobody, also not for Redis.
    pub fn start(instances: &Instances, engine: &Engine, store: Arc<dyn Store>) -> Beside {
        let first = || Arc::clone(instances.first());
        Beside {
            tasks: vec![
                tokio::spawn(mirror::keep(first(), engine.clone())),
                tokio::spawn(mirror::repair(first(), engine.clone(), store)),
                tokio::spawn(fan_out::tell(first(), engine.clone())),
                tokio::spawn(fan_out::hear(first(), engine.clone())),
            ],
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}
