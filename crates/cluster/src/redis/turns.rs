//! Turns as locks of a majority of Redis servers; PostgreSQL's own while there is no majority.
//!
//! A turn of either kind is only for not colliding, so it does no harm if one node takes the one and another the other
//! while Redis goes or comes: they collide, and the fence decides.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_engine::InventoryNumber;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::redlock::{Lock, LockError, LockSettings, Redlock};
use super::urls::Instances;
use crate::turns::{NoTurn, Pending, Turn, Turns};

/// Whoever gave a turn back does not ask for the next one sooner than those who have waited for it.
const OTHERS_FIRST: Duration = Duration::from_millis(10);
/// For so long after no majority was there, nobody is asked.
const AWAY_FOR: Duration = Duration::from_secs(1);

/// Turns of all nodes that have the same instances.
pub struct RedlockTurns {
    locks: Arc<Redlock>,
    settings: LockSettings,
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
    /// How locks are asked for if nobody says otherwise.
    pub fn settings() -> LockSettings {
        LockSettings {
            // A turn is extended every half a second; one whose node has died ends after so long.
            lasts: Duration::from_secs(3),
            // Turns are short, and those who wait find out by asking. More often than there is time for: who waits stops after a
            // second.
            retries: 1_000,
            retry_delay: Duration::from_millis(2),
            retry_jitter: Duration::from_millis(6),
            ..LockSettings::default()
        }
    }

    /// Locks on these instances; `otherwise` while there is no majority of them.
    pub fn new(instances: &Instances, settings: LockSettings, otherwise: Box<dyn Turns>) -> RedlockTurns {
        RedlockTurns {
            locks: Arc::new(Redlock::new(instances, settings)),
            settings,
            otherwise,
            given_back: Arc::default(),
            away_until: Mutex::new(None),
        }
    }

    /// Asks for a lock until it is had, was asked for often enough, or there is no majority to give it.
    async fn lock(&self, inventory: InventoryNumber) -> Result<Lock, LockError> {
        let before = self.given_back.lock().remove(&inventory);
        if let Some(before) = before {
            tokio::time::sleep(OTHERS_FIRST.saturating_sub(before.elapsed())).await;
        }
        let name = format!("lock:inventory:{}", inventory.0);
        let LockSettings { retries, retry_delay, retry_jitter, .. } = self.settings;
        for _ in 0..retries {
            match self.attempt(&name).await {
                Err(LockError::Taken) => {
                    tokio::time::sleep(retry_delay + retry_jitter.mul_f64(rand::random())).await;
                }
                answer => return answer,
            }
        }
        self.attempt(&name).await
    }
}

impl RedlockTurns {
    /// Asks for a lock once. If nobody waits for it any more when it is given, it is given back: else all others would wait until it
    /// ends.
    async fn attempt(&self, name: &str) -> Result<Lock, LockError> {
        let (locks, name) = (Arc::clone(&self.locks), name.to_owned());
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            if let Err(Ok(lock)) = sender.send(locks.attempt(&name).await) {
                locks.release(lock).await;
            }
        });
        // The runtime ends: so does everything.
        receiver.await.unwrap_or(Err(LockError::Taken))
    }
}

impl Turns for RedlockTurns {
    fn take(&self, inventory: InventoryNumber) -> Pending<'_, Result<Box<dyn Turn>, NoTurn>> {
        Box::pin(async move {
            if self.away_until.lock().is_some_and(|until| Instant::now() < until) {
                return self.otherwise.take(inventory).await;
            }
            let lock = match self.lock(inventory).await {
                Ok(lock) => lock,
                Err(error @ LockError::Taken) => return Err(NoTurn(error.to_string())),
                Err(error @ LockError::Unreachable { .. }) => {
                    tracing::debug!(%error, "turns are PostgreSQL's for now");
                    *self.away_until.lock() = Some(Instant::now() + AWAY_FOR);
                    return self.otherwise.take(inventory).await;
                }
            };
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
