//! Turns as advisory locks: those who wait are served in order, and the server ends the session of a node that hangs.

use std::sync::Arc;

use boxoffice_engine::InventoryNumber;
use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, query};

use super::{TURN_LOCK, failed};
use crate::turns::{NoTurn, Pending, Turn, Turns};

/// The server ends a session that says nothing for so long.
const SILENCE_MAX: (&str, &str) = ("idle_session_timeout", "3s");
/// Connections that are kept for the next turns.
const IDLE_MAX: usize = 4;

/// Turns of one database.
pub(super) struct AdvisoryTurns {
    options: PgConnectOptions,
    idle: Arc<Idle>,
}

/// Connections without a lock.
type Idle = Mutex<Vec<PgConnection>>;

/// The lock of a connection. Closing the connection lets go of it.
struct Lock {
    connection: PgConnection,
    inventory: InventoryNumber,
    idle: Arc<Idle>,
}

impl AdvisoryTurns {
    pub(super) fn new(options: &PgConnectOptions) -> AdvisoryTurns {
        AdvisoryTurns { options: options.clone().options([SILENCE_MAX]), idle: Arc::default() }
    }

    async fn lock(&self, inventory: InventoryNumber) -> Result<Lock, sqlx::Error> {
        let idle = self.idle.lock().pop();
        // The server may have ended one that was idle.
        if let Some(connection) = idle
            && let Ok(lock) = self.lock_on(connection, inventory).await
        {
            return Ok(lock);
        }
        self.lock_on(self.options.connect().await?, inventory).await
    }

    async fn lock_on(
        &self,
        mut connection: PgConnection,
        inventory: InventoryNumber,
    ) -> Result<Lock, sqlx::Error> {
        query("SELECT pg_advisory_lock($1, $2)")
            .bind(TURN_LOCK)
            .bind(key(inventory))
            .execute(&mut connection)
            .await?;
        Ok(Lock { connection, inventory, idle: Arc::clone(&self.idle) })
    }
}

impl Turns for AdvisoryTurns {
    fn take(&self, inventory: InventoryNumber) -> Pending<'_, Result<Box<dyn Turn>, NoTurn>> {
        Box::pin(async move {
            let lock = self.lock(inventory).await.map_err(|error| NoTurn(failed(&error)))?;
            Ok(Box::new(lock) as Box<dyn Turn>)
        })
    }
}

impl Turn for Lock {
    fn extend(&mut self) -> Pending<'_, bool> {
        Box::pin(async { self.connection.ping().await.is_ok() })
    }

    fn give_back(mut self: Box<Self>) -> Pending<'static, ()> {
        Box::pin(async move {
            let unlocked = query("SELECT pg_advisory_unlock($1, $2)")
                .bind(TURN_LOCK)
                .bind(key(self.inventory))
                .execute(&mut self.connection)
                .await;
            let mut idle = self.idle.lock();
            if unlocked.is_ok() && idle.len() < IDLE_MAX {
                idle.push(self.connection);
            }
        })
    }
}

/// The second number of an inventory's lock.
fn key(number: InventoryNumber) -> i32 {
    number.0.cast_signed()
}
