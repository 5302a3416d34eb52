//! Turns as locks of a majority of Redis servers; PostgreSQL's own while there is no majority.
//!
//! A turn of either kind is only for not colliding, so it does no harm if one node takes the one and another the other
//! while Redis goes or comes: they collide, and the fence decides.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_engine::InventoryNumber;
use parking_lot::Mutex;

use super::redlock::{Lock, LockError, LockSettings, Redlock};
use super::urls::Instances;
use crate::turns::{NoTurn, Pending, Turn, Turns};

/// A turn is extended every half a second; one whose node has died ends after so long.
const LASTS: Duration = Duration::from_secs(3);
/// Between two attempts, at least and at most. Turns are short, and those who wait find out by asking.
const ASK_AGAIN_AFTER: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(8));
/// Whoever gave a turn back does not ask for the next one sooner than those who have waited for it.
const OTHERS_FIRST: Duration = Duration::from_millis(10);
/// For so long after no majority was there, nobody is asked.
const AWAY_FOR: Duration = Duration::from_secs(1);

/// Turns of all nodes that have the same instances.
pub struct RedlockTurns {
    locks: Arc<Redlock>,
    otherwise: Box<dyn Turns>,
    given_back: Arc<GivenBack>,
    away_until: Mutex<Option<Instant>>,
}

/// When turns were given back, a moment ago.
type GivenBack = Mutex<HashMap<InventoryNumber, Instant>>;

struct LockedTurn {
    inventory: InventoryNumber,
    lock: Lock,
    locks: Arc<Redlock>,
    given_back: Arc<GivenBack>,
}

impl RedlockTurns {
    /// Locks on these instances; `otherwise` while there is no majority of them.
    pub fn new(instances: &Instances, otherwise: Box<dyn Turns>) -> RedlockTurns {
        let settings = LockSettings { lasts: LASTS, ..LockSettings::default() };
        RedlockTurns {
            locks: Arc::new(Redlock::new(instances, settings)),
            otherwise,
            given_back: Arc::default(),
            away_until: Mutex::new(None),
        }
    }

    /// Asks for a lock until it is had, or there is no majority to give it.
    async fn lock(&self, inventory: InventoryNumber) -> Option<Lock> {
        if self.away_until.lock().is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let before = self.given_back.lock().remove(&inventory);
        if let Some(before) = before {
            tokio::time::sleep(OTHERS_FIRST.saturating_sub(before.elapsed())).await;
        }
        let name = format!("boxoffice:turn:{}", inventory.0);
        loop {
            match self.locks.attempt(&name).await {
                Ok(lock) => return Some(lock),
                Err(LockError::Taken) => {
                    let (least, most) = ASK_AGAIN_AFTER;
                    tokio::time::sleep(least + (most - least).mul_f64(rand::random())).await;
                }
                Err(error @ LockError::Unreachable { .. }) => {
                    tracing::debug!(%error, "turns are PostgreSQL's for now");
                    *self.away_until.lock() = Some(Instant::now() + AWAY_FOR);
                    return None;
                }
            }
        }
    }
}

impl Turns for RedlockTurns {
    fn take(&self, inventory: InventoryNumber) -> Pending<'_, Result<Box<dyn Turn>, NoTurn>> {
        Box::pin(async move {
            let Some(lock) = self.lock(inventory).await else { return self.otherwise.take(inventory).await };
            let (locks, given_back) = (Arc::clone(&self.locks), Arc::clone(&self.given_back));
            Ok(Box::new(LockedTurn { inventory, lock, locks, given_back }) as Box<dyn Turn>)
        })
    }
}

impl Turn for LockedTurn {
    fn extend(&mut self) -> Pending<'_, bool> {
        Box::pin(self.locks.extend(&mut self.lock))
    }

    fn give_back(self: Box<Self>) -> Pending<'static, ()> {
        Box::pin(async move {
            {
                let mut given_back = self.given_back.lock();
                given_back.retain(|_, at| at.elapsed() < OTHERS_FIRST);
                given_back.insert(self.inventory, Instant::now());
            }
            // If it is not released it ends by itself.
            self.locks.release(self.lock).await;
        })
    }
}
