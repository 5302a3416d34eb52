//! Turns: how a writer that was fenced gets its chance.
//!
//! A writer that commits often could fence another one for ever: the other reads the inventory, decides, and is too late
//! again. So whoever was fenced waits for its turn before it reads the inventory again, and nobody else commits to the
//! inventory until it has committed, or has had its turn for [`TURN_MAX`]. A turn is an advisory lock of a connection; those who
//! wait are served in order. It keeps writers from colliding and nothing more: what keeps them from harm is the fence. So a
//! writer that waits in vain goes without, and the server ends the session of one that was stopped in its turn.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use boxoffice_engine::InventoryNumber;
use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, query};

use super::TURN_LOCK;

/// How long a writer may take to decide and commit after it has read an inventory in its turn.
const TURN_MAX: Duration = Duration::from_secs(1);
/// The server ends a session that says nothing for so long.
const SILENCE_MAX: (&str, &str) = ("idle_session_timeout", "3s");
/// Connections that are kept for the next turns.
const IDLE_MAX: usize = 4;

/// The turns of one store.
#[derive(Debug, Default)]
pub(super) struct Turns {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Inventories whose last commit was fenced.
    wanted: HashSet<InventoryNumber>,
    held: HashMap<InventoryNumber, Held>,
    /// Inventories whose turn did not come: the next commit does not ask whose it is.
    in_vain: HashSet<InventoryNumber>,
    idle: Vec<PgConnection>,
    taken: u64,
}

#[derive(Debug)]
struct Held {
    connection: PgConnection,
    /// Tells it from later turns.
    serial: u64,
}

impl Turns {
    /// Notes who must wait for a turn before the next reading.
    pub(super) fn want(&self, fenced: impl Iterator<Item = InventoryNumber>) {
        self.state.lock().wanted.extend(fenced);
    }

    /// Whether it is this store's turn, or nobody's that it waited for.
    pub(super) fn may_commit(&self, number: InventoryNumber) -> bool {
        let state = self.state.lock();
        state.held.contains_key(&number) || state.in_vain.contains(&number)
    }

    /// Waits for a turn if the last commit to this inventory was fenced. If there is none to be had, it goes without.
    pub(super) async fn begin(&self, options: &PgConnectOptions, number: InventoryNumber) {
        let idle = {
            let mut state = self.state.lock();
            if !state.wanted.remove(&number) || state.held.contains_key(&number) {
                return;
            }
            state.idle.pop()
        };
        // The server may have ended one that was idle.
        if let Some(connection) = idle
            && self.take(connection, number).await.is_ok()
        {
            return;
        }
        let taken = async {
            let connection = options.clone().options([SILENCE_MAX]).connect().await?;
            self.take(connection, number).await
        };
        if let Err(error) = taken.await {
            tracing::debug!(%number, %error, "no turn");
            self.state.lock().in_vain.insert(number);
        }
    }

    async fn take(&self, mut connection: PgConnection, number: InventoryNumber) -> Result<(), sqlx::Error> {
        query("SELECT pg_advisory_lock($1, $2)")
            .bind(TURN_LOCK)
            .bind(key(number))
            .execute(&mut connection)
            .await?;
        let mut state = self.state.lock();
        state.taken += 1;
        let serial = state.taken;
        state.held.insert(number, Held { connection, serial });
        Ok(())
    }

    /// Lets a turn that was just begun end by itself if nobody does.
    pub(super) fn limit(self: &Arc<Turns>, number: InventoryNumber) {
        let serial = self.state.lock().held.get(&number).map(|held| held.serial);
        let Some(serial) = serial else { return };
        let turns = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(TURN_MAX).await;
            let held = {
                let mut state = turns.state.lock();
                let late = state.held.get(&number).is_some_and(|held| held.serial == serial);
                if late { state.held.remove(&number) } else { None }
            };
            if let Some(held) = held {
                turns.give_back(held, number).await;
            }
        });
    }

    /// Ends turns.
    pub(super) async fn end(&self, numbers: impl Iterator<Item = InventoryNumber>) {
        for number in numbers {
            let held = {
                let mut state = self.state.lock();
                state.in_vain.remove(&number);
                state.held.remove(&number)
            };
            if let Some(held) = held {
                self.give_back(held, number).await;
            }
        }
    }

    async fn give_back(&self, mut held: Held, number: InventoryNumber) {
        let unlocked = query("SELECT pg_advisory_unlock($1, $2)")
            .bind(TURN_LOCK)
            .bind(key(number))
            .execute(&mut held.connection)
            .await;
        let mut state = self.state.lock();
        // A connection that is dropped lets go of its locks.
        if unlocked.is_ok() && state.idle.len() < IDLE_MAX {
            state.idle.push(held.connection);
        }
    }
}

/// The lock of an inventory's turn.
pub(super) fn key(number: InventoryNumber) -> i32 {
    number.0.cast_signed()
}
