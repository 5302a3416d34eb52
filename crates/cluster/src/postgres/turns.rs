//! Turns as advisory locks: those who wait are served in order, and the server ends the session of a node that hangs.

use std::sync::Arc;

use boxoffice_engine::InventoryNumber;
use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection, query};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::TURN_LOCK;
use super::trouble::failed;
use crate::turns::{NoTurn, Pending, Turn, Turns};

/// The server ends a session that says nothing for so long.
const SILENCE_MAX: (&str, &str) = ("idle_session_timeout", "3s");
/// The server lets a session wait as long as a node does ([`TURN_WAIT_MAX`](crate::turns::TURN_WAIT_MAX)): it does not notice
/// that the node has gone.
const WAIT_MAX: (&str, &str) = ("lock_timeout", "1s");
/// Connections with which a node has turns or waits for them. A server has a hundred for everybody: however many inventories
/// are hot, a few nodes must not use them up. A turn lasts for some hundredths of a second, so others come soon.
const CONNECTIONS_MAX: usize = 8;
/// Connections that are kept for the next turns.
const IDLE_MAX: usize = 4;

/// Turns of one database.
pub(super) struct AdvisoryTurns {
    options: PgConnectOptions,
    connections: Arc<Semaphore>,
    idle: Arc<Idle>,
}

/// Connections without a lock.
type Idle = Mutex<Vec<PgConnection>>;

/// The lock of a connection. Closing the connection lets go of it.
struct Lock {
    connection: PgConnection,
    inventory: InventoryNumber,
    idle: Arc<Idle>,
    /// Dropped after the connection, so that there are never more.
    permit: OwnedSemaphorePermit,
}

impl AdvisoryTurns {
    pub(super) fn new(options: &PgConnectOptions) -> AdvisoryTurns {
        AdvisoryTurns {
            options: options.clone().options([SILENCE_MAX, WAIT_MAX]),
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            idle: Arc::default(),
        }
    }

    /// Whoever waits here for too long goes without, as if others had the turn.
    async fn lock(&self, inventory: InventoryNumber) -> Result<Lock, sqlx::Error> {
        let permit = Arc::clone(&self.connections).acquire_owned().await.expect("it is never closed");
        let idle = self.idle.lock().pop();
        // The server may have ended one that was idle.
        let connection = match idle {
            Some(connection) => lock_on(connection, inventory).await.ok(),
            None => None,
        };
        let connection = match connection {
            Some(connection) => connection,
            None => lock_on(self.options.connect().await?, inventory).await?,
        };
        Ok(Lock { connection, inventory, idle: Arc::clone(&self.idle), permit })
    }
}

async fn lock_on(
    mut connection: PgConnection,
    inventory: InventoryNumber,
) -> Result<PgConnection, sqlx::Error> {
    query("SELECT pg_advisory_lock($1, $2)")
        .bind(TURN_LOCK)
        .bind(key(inventory))
        .execute(&mut connection)
        .await?;
    Ok(connection)
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

    fn give_back(self: Box<Self>) -> Pending<'static, ()> {
        let Lock { mut connection, inventory, idle, permit } = *self;
        Box::pin(async move {
            let unlocked = query("SELECT pg_advisory_unlock($1, $2)")
                .bind(TURN_LOCK)
                .bind(key(inventory))
                .execute(&mut connection)
                .await;
            let mut idle = idle.lock();
            if unlocked.is_ok() && idle.len() < IDLE_MAX {
                idle.push(connection);
            }
            drop(permit);
        })
    }
}

/// The second number of an inventory's lock.
fn key(number: InventoryNumber) -> i32 {
    number.0.cast_signed()
}
