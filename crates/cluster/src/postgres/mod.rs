//! The truth of a cluster: a [`Store`] on PostgreSQL that any number of processes may share.
//!
//! | file | what it is |
//! |---|---|
//! | `commit.rs` | one transaction a commit, guarded by the fence; what became of it when a connection is lost |
//! | `attempts.rs` | refused and failed booking attempts |
//! | `rows.rs`, `tables.rs` | the tables that people read: from changes to rows, and the statements |
//! | `turns.rs` | turns as advisory locks |
//! | `trouble.rs` | what may go wrong, and what of it is over in a moment |
//! | `schema.rs` | the migrations |
//!
//! What decides is the snapshot and the journal, as with every store. The other tables follow in the same transaction.

mod attempts;
mod commit;
mod rows;
mod schema;
mod tables;
mod trouble;
mod turns;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::codec;
use boxoffice_core::ids::BookingId;
use boxoffice_core::inventory::Inventory;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::attempt::{Attempt, AttemptFilter, AttemptId, AttemptPage};
use boxoffice_engine::record::{self, Hash, Head, Manifest};
use boxoffice_engine::routing::Position;
use boxoffice_engine::store::{BatchWrite, CommitError, Document, Store, StoreError, Stored, ToldOfTurn};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::{ConnectOptions, Connection, Row, query, raw_sql};
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use commit::Announcing;
pub use schema::SchemaError;
use tables::TablesError;
use trouble::{Trouble, failed};
use turns::AdvisoryTurns;

use crate::turns::{Held, Turns};

use crate::wait::wait;

/// How long the database may be gone before what is read fails. A commit tries until it knows.
const OUTAGE_MAX: Duration = Duration::from_secs(2);
/// How long an answer may take, and one that may be large: `write_snapshot` tells the server so.
const ANSWER_MAX: Duration = Duration::from_secs(2);
const LARGE_ANSWER_MAX: Duration = Duration::from_secs(60);
/// How long a commit may go on trying when whoever uses the store wants to stop.
const HURRY_MAX: Duration = Duration::from_secs(3);
/// Between two attempts.
const RETRY_AFTER: Duration = Duration::from_millis(50);
/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Connections for everything but what has its own below.
const READ_CONNECTIONS_MAX: u32 = 4;
/// Connections for small questions: of the follower, the committer, both finders, and two others. However much others read, what
/// is new is heard of, and whoever was decided over is answered.
const QUICK_CONNECTIONS_MAX: u32 = 6;
/// Threads of the store: they only wait for the network.
const THREADS: usize = 1;
/// Journal records that are no longer wanted stay this long: whoever lost a connection may still look for one.
const RECORDS_KEPT_SECONDS: f64 = 60.0;
/// A change can be seen this much later than it was made: what was changed so long before the last change is asked for
/// again. One that is seen even later (its commit waited for a replica that was away) is found when all are asked for.
const COMMITTED_LATE_MICROSECONDS_MAX: i64 = 30_000_000;
/// Journal records that are read at a time, whatever their size.
const RECORDS_AT_ONCE: i64 = 10_000;

/// The first PostgreSQL that ends idle sessions.
const OLDEST_SERVER: i32 = 14;

/// What the advisory locks are for; the second number says of what.
const SCHEMA_LOCK: i32 = 0x626f_7801;
const TURN_LOCK: i32 = 0x626f_7802;
const LEADER_LOCK: i32 = 0x626f_7803;
/// The server ends the session of a leader that says nothing for so long, so that another one can lead.
const LEADER_SILENCE_MAX: (&str, &str) = ("idle_session_timeout", "10s");

/// How long the server lets a statement take, as [`SESSION`] says. One that writes many rows is given more: see `commit.rs`.
const STATEMENT_MAX: Duration = Duration::from_secs(10);
/// What every connection asks of the server. A transaction whose client has vanished must not hold its locks for long.
const SESSION: [(&str, &str); 4] = [
    ("statement_timeout", "10s"),
    ("lock_timeout", "5s"),
    ("idle_in_transaction_session_timeout", "5s"),
    ("synchronous_commit", "on"),
];

/// A database as a store.
pub struct PostgresStore {
    inner: Arc<Inner>,
    /// Taken when the store is dropped.
    runtime: Option<tokio::runtime::Runtime>,
}

struct Inner {
    options: PgConnectOptions,
    reads: PgPool,
    quick: PgPool,
    /// Of whoever commits; none if the last one was lost.
    commits: Mutex<Option<PgConnection>>,
    announcing: Announcing,
    turns: Arc<Held>,
    /// Whether whoever uses the store wants to stop.
    hurried: watch::Sender<bool>,
    /// The connection that leads, or tries to: its lock ends with it.
    leader: Mutex<Option<Leader>>,
}

struct Leader {
    connection: PgConnection,
    leads: bool,
}

/// Without the URL: its password is nobody's business.
impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PostgresStore({})", self.inner.place())
    }
}

/// Why there is no store. Never says the URL, which may have a password in it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL cannot be read.
    #[error("the database's URL is not of the form postgres://user:password@host:port/database")]
    Url,
    /// Nobody answers, or not to us.
    #[error("the database {place} cannot be used: {error}")]
    Unreachable {
        /// Host, port and database.
        place: String,
        /// What the driver said.
        error: String,
    },
    /// A server without what the store needs.
    #[error("the database's server is PostgreSQL {found}, and at least PostgreSQL {OLDEST_SERVER} is needed")]
    OldServer {
        /// Its version.
        found: i32,
    },
    /// The tables are missing, or of another version.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The machine gives no thread.
    #[error("no thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl PostgresStore {
    /// Connects to a database whose tables are there.
    pub fn open(url: &str) -> Result<PostgresStore, ConnectError> {
        let store = PostgresStore::connect(url)?;
        store.wait(async {
            let mut connection = store.inner.first_connection().await?;
            Ok::<(), ConnectError>(schema::check(&mut connection).await?)
        })?;
        Ok(store)
    }

    /// Connects to a database and makes the tables that are missing; says which version they had.
    pub fn migrate(url: &str) -> Result<(PostgresStore, i64), ConnectError> {
        let store = PostgresStore::connect(url)?;
        let found = store.wait(async {
            let mut connection = store.inner.first_connection().await?;
            Ok::<i64, ConnectError>(schema::migrate(&mut connection).await?)
        })?;
        Ok((store, found))
    }

    /// The version of the tables that this program makes.
    pub fn schema_version() -> i64 {
        schema::known()
    }

    /// The last position of each partition that was decided in any inventory, of one epoch of the log.
    pub(crate) fn log_ends(&self, epoch: u32) -> Result<Vec<(i32, i64)>, StoreError> {
        self.wait(self.inner.read(async |connection| {
            let rows = query(
                "SELECT log_partition, max(log_offset) FROM inventory WHERE log_epoch = $1 GROUP BY log_partition",
            )
            .bind(i64::from(epoch))
            .fetch_all(connection)
            .await?;
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
        }))
    }

    /// The same with turns of another kind than advisory locks, which that kind may fall back to. All nodes must have the same
    /// kind.
    #[must_use]
    pub fn with_turns(mut self, kind: impl FnOnce(Box<dyn Turns>) -> Box<dyn Turns>) -> PostgresStore {
        let inner = Arc::get_mut(&mut self.inner).expect("nobody else has it before it is used");
        let advisory = AdvisoryTurns::new(&inner.options);
        inner.turns = Arc::new(Held::new(kind(Box::new(advisory))));
        self
    }

    /// Its name, host and port.
    pub fn place(&self) -> String {
        self.inner.place()
    }

    fn connect(url: &str) -> Result<PostgresStore, ConnectError> {
        let options = PgConnectOptions::from_str(url).map_err(|_| ConnectError::Url)?;
        let options = options.application_name("boxoffice").options(SESSION).disable_statement_logging();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("postgres")
            .enable_all()
            .build()?;
        let pool = |connections_max| {
            let _entered = runtime.enter();
            PgPoolOptions::new()
                .max_connections(connections_max)
                .acquire_timeout(CONNECT_MAX)
                .connect_lazy_with(options.clone())
        };
        let (reads, quick) = (pool(READ_CONNECTIONS_MAX), pool(QUICK_CONNECTIONS_MAX));
        let turns = AdvisoryTurns::new(&options);
        let inner = Inner {
            options,
            reads,
            quick,
            commits: Mutex::new(None),
            announcing: Announcing::default(),
            turns: Arc::new(Held::new(Box::new(turns))),
            hurried: watch::Sender::new(false),
            leader: Mutex::new(None),
        };
        Ok(PostgresStore { inner: Arc::new(inner), runtime: Some(runtime) })
    }

    /// Waits for the network on this thread, whatever else runs on it.
    fn wait<F: Future>(&self, future: F) -> F::Output {
        let _entered = self.runtime.as_ref().expect("only taken at the end").enter();
        wait(future)
    }
}

/// Also where waiting is not allowed, as in another runtime.
impl Drop for PostgresStore {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Store for PostgresStore {
    fn heads(&self) -> Result<Vec<Head>, StoreError> {
        self.wait(self.inner.read(async |connection| {
            let rows =
                query("SELECT number, name, sequence, head, next_deadline_ms FROM inventory ORDER BY number")
                    .fetch_all(connection)
                    .await?;
            rows.iter().map(head_of).collect()
        }))
    }

    fn commit(&self, batches: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        self.wait(self.inner.commit(batches))
    }

    fn load(&self, inventory: InventoryNumber) -> Result<Option<Stored>, StoreError> {
        self.wait(self.inner.read_much(async |connection| load(connection, inventory).await))
    }

    fn snapshot(&self, inventory: InventoryNumber) -> Result<Option<(Manifest, Vec<u8>)>, StoreError> {
        self.wait(self.inner.read_much(async |connection| read_snapshot(connection, inventory).await))
    }

    fn records(
        &self,
        inventory: InventoryNumber,
        after: u64,
        bytes: usize,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.wait(self.inner.read_much(async |connection| {
            let rows = query(
                "SELECT record FROM (
                     SELECT sequence, record,
                            sum(octet_length(record)) OVER (ORDER BY sequence) - octet_length(record) AS before
                     FROM (SELECT sequence, record FROM journal WHERE inventory = $1 AND sequence > $2
                           ORDER BY sequence LIMIT $3) AS next
                 ) AS sized
                 WHERE before < $4 ORDER BY sequence",
            )
            .bind(i64::from(inventory.0))
            .bind(after)
            .bind(RECORDS_AT_ONCE)
            .bind(bytes)
            .fetch_all(connection)
            .await?;
            rows.iter().map(|row| row.try_get(0)).collect()
        }))
    }

    fn find_booking(&self, tenant: &str, booking: BookingId) -> Result<Option<InventoryNumber>, StoreError> {
        self.wait(self.inner.read(async |connection| {
            let row = query("SELECT inventory FROM chosen_id WHERE tenant = $1 AND booking = $2")
                .bind(tenant)
                .bind(tables::uuid(booking))
                .fetch_optional(connection)
                .await?;
            row.map(|row| number_in(&row, 0)).transpose()
        }))
    }

    fn write_snapshot(&self, manifest: &Manifest, contents: &[u8]) -> Result<(), CommitError> {
        self.wait(
            self.inner.write(LARGE_ANSWER_MAX, async |connection| {
                write_snapshot(connection, manifest, contents).await
            }),
        )
    }

    fn documents(&self, prefix: &str) -> Result<Vec<Document>, StoreError> {
        self.wait(self.inner.read(async |connection| {
            let rows = query(
                "SELECT name, contents FROM document
                 WHERE name >= $1 AND name < $1 || chr(1114111) AND starts_with(name, $1) ORDER BY name",
            )
            .bind(prefix)
            .fetch_all(connection)
            .await?;
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
        }))
    }

    fn documents_named(&self, names: &[String]) -> Result<Vec<Document>, StoreError> {
        self.wait(self.inner.read(async |connection| {
            let rows = query("SELECT name, contents FROM document WHERE name = ANY($1)")
                .bind(names)
                .fetch_all(connection)
                .await?;
            rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
        }))
    }

    fn write_documents(&self, documents: &[(String, Option<Vec<u8>>)]) -> Result<(), CommitError> {
        self.wait(
            self.inner.write(ANSWER_MAX, async |connection| write_documents(connection, documents).await),
        )
    }

    fn create_document(&self, name: &str, contents: &[u8]) -> Result<bool, CommitError> {
        self.wait(self.inner.write(ANSWER_MAX, async |connection| {
            let made = query("INSERT INTO document (name, contents) VALUES ($1, $2) ON CONFLICT DO NOTHING")
                .bind(name)
                .bind(contents)
                .execute(connection)
                .await?;
            Ok(made.rows_affected() > 0)
        }))
    }

    fn keep_attempts(&self, attempts: &[Attempt]) -> Result<(), CommitError> {
        self.wait(self.inner.write(ANSWER_MAX, async |connection| attempts::keep(connection, attempts).await))
    }

    fn prune_attempts(&self, oldest: AttemptId) -> Result<(), CommitError> {
        self.wait(
            self.inner.write(LARGE_ANSWER_MAX, async |connection| attempts::prune(connection, oldest).await),
        )
    }

    fn attempts(
        &self,
        filter: &AttemptFilter,
        before: AttemptId,
        limit: usize,
    ) -> Result<AttemptPage, StoreError> {
        self.wait(
            self.inner.read_much(async |connection| attempts::find(connection, filter, before, limit).await),
        )
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn time(&self) -> Result<Option<Timestamp>, StoreError> {
        self.wait(self.inner.read_quickly(async |connection| {
            let row = query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
                .fetch_one(connection)
                .await?;
            Ok(Some(Timestamp(row.try_get(0)?)))
        }))
    }

    fn leads(&self) -> Result<bool, StoreError> {
        let leads = self.wait(async { tokio::time::timeout(CONNECT_MAX, self.inner.leads()).await });
        match leads {
            Ok(leads) => leads.map_err(|error| Trouble::of(error).into()),
            Err(_) => Ok(false),
        }
    }

    fn head_named(&self, name: &str) -> Result<Option<Head>, StoreError> {
        self.wait(self.inner.read(async |connection| {
            let row =
                query("SELECT number, name, sequence, head, next_deadline_ms FROM inventory WHERE name = $1")
                    .bind(name)
                    .fetch_optional(connection)
                    .await?;
            row.map(|row| head_of(&row)).transpose()
        }))
    }

    fn heads_of(&self, inventories: &[InventoryNumber]) -> Result<Vec<Head>, StoreError> {
        let numbers: Vec<i64> = inventories.iter().map(|number| number.0.into()).collect();
        self.wait(self.inner.read_quickly(async |connection| {
            let rows = query(
                "SELECT number, name, sequence, head, next_deadline_ms FROM inventory WHERE number = ANY($1)",
            )
            .bind(&numbers)
            .fetch_all(connection)
            .await?;
            rows.iter().map(head_of).collect()
        }))
    }

    fn last_positions(
        &self,
        inventories: &[InventoryNumber],
    ) -> Result<Vec<(InventoryNumber, Position)>, StoreError> {
        let numbers: Vec<i64> = inventories.iter().map(|number| number.0.into()).collect();
        self.wait(self.inner.read_quickly(async |connection| {
            let rows = query(
                "SELECT number, log_epoch, log_partition, log_offset FROM inventory
                 WHERE number = ANY($1) AND log_epoch IS NOT NULL",
            )
            .bind(&numbers)
            .fetch_all(connection)
            .await?;
            rows.iter().map(|row| Ok((number_in(row, 0)?, position_in(row)?))).collect()
        }))
    }

    fn changed_heads(&self, since: i64) -> Result<(Vec<Head>, i64), StoreError> {
        self.wait(self.inner.read_quickly(async |connection| {
            let rows = query(
                "SELECT number, name, sequence, head, next_deadline_ms,
                        (extract(epoch FROM changed_at) * 1000000)::bigint AS changed_at
                 FROM inventory WHERE changed_at >= to_timestamp(($1 - $2) / 1000000.0)",
            )
            .bind(since)
            .bind(COMMITTED_LATE_MICROSECONDS_MAX)
            .fetch_all(connection)
            .await?;
            let mut next = since;
            let mut heads = Vec::with_capacity(rows.len());
            for row in &rows {
                next = next.max(row.try_get("changed_at")?);
                heads.push(head_of(row)?);
            }
            Ok((heads, next))
        }))
    }

    fn take_turn(&self, inventory: InventoryNumber, then: ToldOfTurn) {
        let turns = Arc::clone(&self.inner.turns);
        self.runtime.as_ref().expect("only taken at the end").spawn(turns.take(inventory, then));
    }

    fn end_turn(&self, inventory: InventoryNumber) {
        self.inner.turns.end(inventory);
    }

    fn hurry(&self) {
        self.inner.hurried.send_replace(true);
    }

    fn close(&self) -> Result<(), StoreError> {
        self.wait(async {
            self.inner.reads.close().await;
            self.inner.quick.close().await;
            drop(self.inner.leader.lock().await.take());
            drop(self.inner.announcing.lock().await.take());
            if let Some(connection) = self.inner.commits.lock().await.take() {
                // The server notices anyway.
                drop(connection.close().await);
            }
        });
        Ok(())
    }
}

impl Inner {
    fn place(&self) -> String {
        let database = self.options.get_database().unwrap_or_else(|| self.options.get_username());
        format!("{database:?} on {}:{}", self.options.get_host(), self.options.get_port())
    }

    /// A connection, or why there can be none; asked once.
    async fn first_connection(&self) -> Result<PgConnection, ConnectError> {
        let unreachable = |error: String| ConnectError::Unreachable { place: self.place(), error };
        match tokio::time::timeout(CONNECT_MAX, PgConnection::connect_with(&self.options)).await {
            Ok(Ok(mut connection)) => {
                let version = query("SELECT current_setting('server_version_num')::integer / 10000")
                    .fetch_one(&mut connection)
                    .await
                    .and_then(|row| row.try_get(0));
                match version {
                    Ok(found) if found < OLDEST_SERVER => Err(ConnectError::OldServer { found }),
                    Ok(_) => Ok(connection),
                    Err(error) => Err(unreachable(failed(&error))),
                }
            }
            Ok(Err(error)) => Err(unreachable(failed(&error))),
            Err(_) => Err(unreachable(format!("no answer within {} s", CONNECT_MAX.as_secs()))),
        }
    }

    async fn leads(&self) -> Result<bool, sqlx::Error> {
        let mut slot = self.leader.lock().await;
        // Taken out, so that a connection that fails is not asked again.
        let mut leader = match slot.take() {
            Some(leader) => leader,
            None => {
                let options = self.options.clone().options([LEADER_SILENCE_MAX]);
                Leader { connection: PgConnection::connect_with(&options).await?, leads: false }
            }
        };
        if leader.leads {
            leader.connection.ping().await?;
        } else {
            let row = query("SELECT pg_try_advisory_lock($1, 0)")
                .bind(LEADER_LOCK)
                .fetch_one(&mut leader.connection)
                .await?;
            leader.leads = row.try_get(0)?;
        }
        let leads = leader.leads;
        *slot = Some(leader);
        Ok(leads)
    }

    /// Reads something small, again and again while the database is gone, if it is not for long.
    async fn read<T>(
        &self,
        read: impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        Ok(self.persist(&self.reads, ANSWER_MAX, read).await?)
    }

    /// The same, for those who must not wait for what others read.
    async fn read_quickly<T>(
        &self,
        read: impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        Ok(self.persist(&self.quick, ANSWER_MAX, read).await?)
    }

    /// Reads something that may be large.
    async fn read_much<T>(
        &self,
        read: impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        Ok(self.persist(&self.reads, LARGE_ANSWER_MAX, read).await?)
    }

    /// Writes something that can be written twice.
    async fn write<T>(
        &self,
        answer_max: Duration,
        write: impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, CommitError> {
        Ok(self.persist(&self.reads, answer_max, write).await?)
    }

    async fn persist<T>(
        &self,
        pool: &PgPool,
        answer_max: Duration,
        work: impl AsyncFn(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, Trouble> {
        let deadline = Instant::now() + OUTAGE_MAX;
        loop {
            let attempt = async {
                let mut connection = pool.acquire().await?;
                let result = work(&mut connection).await;
                if result.is_err() {
                    // It may be in the middle of anything.
                    drop(connection.close().await);
                }
                result
            };
            let trouble = match tokio::time::timeout(answer_max, attempt).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(error)) => Trouble::of(error),
                Err(_) => Trouble::Away(format!("no answer within {} s", answer_max.as_secs())),
            };
            if matches!(trouble, Trouble::Wrong(_)) || Instant::now() >= deadline {
                return Err(trouble);
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    /// Resolves some seconds after whoever uses the store wanted to stop.
    async fn out_of_patience(&self) {
        // The sender lives as long as this.
        drop(self.hurried.subscribe().wait_for(|&hurried| hurried).await);
        tokio::time::sleep(HURRY_MAX).await;
    }
}

/// Head, snapshot and records, as of one moment.
async fn load(
    connection: &mut PgConnection,
    inventory: InventoryNumber,
) -> Result<Option<Stored>, sqlx::Error> {
    let number = i64::from(inventory.0);
    // Whoever waits may give up at any moment: then the transaction must not stay with the connection.
    let mut transaction = connection.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
    let head =
        query("SELECT number, name, sequence, head, next_deadline_ms FROM inventory WHERE number = $1")
            .bind(number)
            .fetch_optional(&mut *transaction)
            .await?;
    let Some(head) = head.map(|row| head_of(&row)).transpose()? else {
        transaction.commit().await?;
        return Ok(None);
    };
    let snapshot = read_snapshot(&mut transaction, inventory).await?;
    let after = snapshot.as_ref().map_or(0, |(manifest, _)| manifest.sequence);
    let records =
        query("SELECT record FROM journal WHERE inventory = $1 AND sequence > $2 ORDER BY sequence")
            .bind(number)
            .bind(i64::try_from(after).unwrap_or(i64::MAX))
            .fetch_all(&mut *transaction)
            .await?;
    let records = records.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    transaction.commit().await?;
    Ok(Some(Stored { head, snapshot, records }))
}

async fn read_snapshot(
    connection: &mut PgConnection,
    inventory: InventoryNumber,
) -> Result<Option<(Manifest, Vec<u8>)>, sqlx::Error> {
    let snapshot = query("SELECT manifest, contents FROM snapshot WHERE inventory = $1")
        .bind(i64::from(inventory.0))
        .fetch_optional(connection)
        .await?;
    let read = |row: PgRow| {
        let manifest: Vec<u8> = row.try_get(0)?;
        let manifest: Manifest = record::unseal(&manifest)
            .map_err(|error| damaged(&format!("the manifest of inventory {inventory}: {error}")))?;
        Ok((manifest, row.try_get(1)?))
    };
    snapshot.map(read).transpose()
}

async fn write_snapshot(
    connection: &mut PgConnection,
    manifest: &Manifest,
    contents: &[u8],
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    // A large one takes its time, but no longer than whoever writes it waits.
    raw_sql("SET LOCAL statement_timeout = '60s'; SET LOCAL idle_in_transaction_session_timeout = '60s'")
        .execute(&mut *transaction)
        .await?;
    let number = i64::from(manifest.inventory.0);
    let written = query(
        "INSERT INTO snapshot AS s (inventory, sequence, manifest, contents) VALUES ($1, $2, $3, $4)
         ON CONFLICT (inventory)
         DO UPDATE SET sequence = excluded.sequence, manifest = excluded.manifest, contents = excluded.contents
         WHERE s.sequence <= excluded.sequence",
    )
    .bind(number)
    .bind(i64::try_from(manifest.sequence).unwrap_or(i64::MAX))
    .bind(record::seal(manifest))
    .bind(contents)
    .execute(&mut *transaction)
    .await?;
    if written.rows_affected() > 0 {
        query(
            "DELETE FROM journal WHERE inventory = $1 AND sequence < $2
               AND recorded_at < now() - make_interval(secs => $3)",
        )
        .bind(number)
        .bind(i64::try_from(manifest.journal_from).unwrap_or(i64::MAX))
        .bind(RECORDS_KEPT_SECONDS)
        .execute(&mut *transaction)
        .await?;
    }
    // Only what is restored lacks something, and nobody sells it meanwhile. Everywhere else no lock is taken: a node that hangs
    // here must not be in the way of those who sell.
    let lacks_rows = query("SELECT 1 FROM inventory WHERE number = $1 AND NOT complete")
        .bind(number)
        .fetch_optional(&mut *transaction)
        .await?;
    if lacks_rows.is_some() {
        query("SELECT 1 FROM inventory WHERE number = $1 FOR UPDATE")
            .bind(number)
            .execute(&mut *transaction)
            .await?;
        let inventory = replayed(&mut transaction, manifest, contents).await?;
        tables::rebuild(&mut transaction, number, &inventory).await.map_err(|error| match error {
            TablesError::Sql(error) => error,
            TablesError::Inconsistent(problem) => damaged(&problem),
        })?;
    }
    transaction.commit().await
}

/// The inventory of a snapshot and the records after it. Only restoring comes here, and proves afterwards what it restored.
async fn replayed(
    connection: &mut PgConnection,
    manifest: &Manifest,
    contents: &[u8],
) -> Result<Inventory, sqlx::Error> {
    let wrong = |error: String| damaged(&format!("inventory {}: {error}", manifest.inventory));
    let mut inventory = codec::decode_inventory(contents).map_err(|error| wrong(error.to_string()))?;
    let records =
        query("SELECT record FROM journal WHERE inventory = $1 AND sequence > $2 ORDER BY sequence")
            .bind(i64::from(manifest.inventory.0))
            .bind(i64::try_from(manifest.sequence).unwrap_or(i64::MAX))
            .fetch_all(connection)
            .await?;
    for row in records {
        let bytes: Vec<u8> = row.try_get(0)?;
        let record = record::decode_record(&bytes).map_err(|error| wrong(error.to_string()))?;
        inventory.replay(&record.changes);
    }
    Ok(inventory)
}

async fn write_documents(
    connection: &mut PgConnection,
    documents: &[(String, Option<Vec<u8>>)],
) -> Result<(), sqlx::Error> {
    let mut transaction = connection.begin().await?;
    // The last of a name counts.
    let last: std::collections::BTreeMap<&str, Option<&[u8]>> =
        documents.iter().map(|(name, contents)| (name.as_str(), contents.as_deref())).collect();
    let removed: Vec<&str> =
        last.iter().filter(|(_, contents)| contents.is_none()).map(|(name, _)| *name).collect();
    let (names, contents): (Vec<&str>, Vec<&[u8]>) =
        last.iter().filter_map(|(name, contents)| Some((*name, (*contents)?))).unzip();
    query("DELETE FROM document WHERE name = ANY($1)").bind(removed).execute(&mut *transaction).await?;
    query(
        "INSERT INTO document (name, contents) SELECT * FROM UNNEST($1::text[], $2::bytea[]) ORDER BY 1
         ON CONFLICT (name) DO UPDATE SET contents = excluded.contents",
    )
    .bind(names)
    .bind(contents)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await
}

fn head_of(row: &PgRow) -> Result<Head, sqlx::Error> {
    let name: String = row.try_get(1)?;
    let (sequence, hash): (i64, Vec<u8>) = (row.try_get(2)?, row.try_get(3)?);
    let next_deadline: Option<i64> = row.try_get(4)?;
    let wrong = || damaged(&format!("the row of {name:?} in the table inventory"));
    Ok(Head {
        inventory: number_in(row, 0)?,
        sequence: u64::try_from(sequence).map_err(|_| wrong())?,
        hash: Hash(hash.try_into().map_err(|_| wrong())?),
        next_deadline: next_deadline.map(Timestamp),
        name: name.into(),
    })
}

fn number_in(row: &PgRow, column: usize) -> Result<InventoryNumber, sqlx::Error> {
    let number: i64 = row.try_get(column)?;
    u32::try_from(number).map(InventoryNumber).map_err(|_| damaged(&format!("inventory number {number}")))
}

fn position_in(row: &PgRow) -> Result<Position, sqlx::Error> {
    let epoch: i64 = row.try_get(1)?;
    let epoch = u32::try_from(epoch).map_err(|_| damaged(&format!("log epoch {epoch}")))?;
    Ok(Position { epoch, partition: row.try_get(2)?, offset: row.try_get(3)? })
}

/// Somebody else wrote there.
fn damaged(what: &str) -> sqlx::Error {
    sqlx::Error::Decode(format!("{what} is damaged").into())
}

#[cfg(test)]
mod tests;
