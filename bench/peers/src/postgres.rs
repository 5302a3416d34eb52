//! A PostgreSQL of our own, durable and tuned for short transactions.

use tokio_postgres::{Client, Config, NoTls};

use crate::error::Result;

/// What differs from how it comes. Commits wait for the disk, as they do by default; pages reach it at checkpoints, of
/// which there is none in a run this short.
const SETTINGS: &[&str] = &[
    "fsync=on",
    "synchronous_commit=on",
    "full_page_writes=on",
    "shared_buffers=1GB",
    "max_connections=300",
    "wal_buffers=64MB",
    "max_wal_size=8GB",
    "min_wal_size=1GB",
    "checkpoint_timeout=1h",
    "jit=off",
    "huge_pages=try",
];

/// Of 16 MiB each: more than is written in a run.
const LOG_FILES: usize = 12;

/// A running server with an empty database. Its socket is in the file system, which is faster than a port.
#[derive(Debug)]
pub(crate) struct Postgres {
    pub(crate) server: boxoffice_services::Postgres,
}

/// Says what is missing before anything is measured.
pub(crate) fn check_installed() -> Result<()> {
    Ok(boxoffice_services::Postgres::check_installed()?)
}

impl Postgres {
    pub(crate) fn start() -> Result<Postgres> {
        Ok(Postgres { server: boxoffice_services::Postgres::start(SETTINGS)? })
    }

    fn configuration(&self) -> Config {
        let mut configuration = Config::new();
        let user = self.server.user();
        configuration.host_path(self.server.sockets()).user(user).dbname(user);
        configuration
    }

    /// A connection, driven by a task beside its user.
    pub(crate) async fn connect(&self) -> Result<Client> {
        let (client, connection) = self.configuration().connect(NoTls).await?;
        // Its user is told of errors too.
        tokio::task::spawn_local(async move { drop(connection.await) });
        Ok(client)
    }

    /// Runs statements, and leaves everything as it would be after a while: vacuumed, on disk, with files of the log to
    /// use again, because making a new one costs as much as thousands of bookings.
    pub(crate) async fn prepare(&self, statements: &str) -> Result<()> {
        let client = self.connect().await?;
        client.batch_execute(statements).await?;
        for _ in 0..LOG_FILES {
            client.batch_execute("SELECT pg_logical_emit_message(false, '', ''), pg_switch_wal()").await?;
        }
        client.batch_execute("VACUUM ANALYZE").await?;
        client.batch_execute("CHECKPOINT").await?;
        Ok(())
    }
}
