//! The tables, and how they come to be.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Row, query, raw_sql};

use super::SCHEMA_LOCK;

/// What makes each version of the tables from the one before. Never changed, only added to.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/0001_tables.sql"),
    include_str!("../../migrations/0002_contention.sql"),
    include_str!("../../migrations/0003_positions.sql"),
    include_str!("../../migrations/0004_people_ask.sql"),
    include_str!("../../migrations/0005_attempts.sql"),
    include_str!("../../migrations/0006_booking_ids_by_tenant.sql"),
];

/// The first version of the tables whose journals this program reads.
const JOURNALS_READ_SINCE: i64 = 6;

/// Why the tables cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// The database failed.
    #[error("the tables cannot be made: {0}")]
    Database(#[from] sqlx::Error),
    /// A newer program made them.
    #[error(
        "the database's tables are of version {found}, and this program knows versions up to {known}: use a newer program"
    )]
    TooNew {
        /// What is there.
        found: i64,
        /// What this program makes.
        known: i64,
    },
    /// They have journals in a format that this program does not read.
    #[error(
        "the database's tables are of version {found}, and their journals cannot be read by this program: use the version that wrote them"
    )]
    OldJournals {
        /// What is there.
        found: i64,
    },
    /// They do not exist, or are older.
    #[error(
        "the database's tables are of version {found}, and this program needs version {known}: run `boxoffice migrate`"
    )]
    TooOld {
        /// What is there; zero if nothing is.
        found: i64,
        /// What this program makes.
        known: i64,
    },
}

/// The version of the tables that this program makes.
pub(super) fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).expect("few migrations")
}

/// Makes the tables, or those that are missing; says which version there was before. All or nothing, and one program at a
/// time.
pub(super) async fn migrate(connection: &mut PgConnection) -> Result<i64, SchemaError> {
    let mut transaction = connection.begin().await?;
    query("SELECT pg_advisory_xact_lock($1, 0)").bind(SCHEMA_LOCK).execute(&mut *transaction).await?;
    raw_sql("CREATE TABLE IF NOT EXISTS boxoffice_schema (version bigint NOT NULL)")
        .execute(&mut *transaction)
        .await?;
    let found = version(&mut transaction).await?;
    if found > known() {
        return Err(SchemaError::TooNew { found, known: known() });
    }
    if (1..JOURNALS_READ_SINCE).contains(&found) {
        let has_journals: bool =
            query("SELECT EXISTS (SELECT FROM inventory)").fetch_one(&mut *transaction).await?.try_get(0)?;
        if has_journals {
            return Err(SchemaError::OldJournals { found });
        }
    }
    let done = usize::try_from(found).expect("not negative and below the number of migrations");
    for migration in &MIGRATIONS[done..] {
        raw_sql(AssertSqlSafe(*migration)).execute(&mut *transaction).await?;
    }
    if found < known() {
        raw_sql("DELETE FROM boxoffice_schema").execute(&mut *transaction).await?;
        query("INSERT INTO boxoffice_schema VALUES ($1)").bind(known()).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(found)
}

/// Refuses tables of another version.
pub(super) async fn check(connection: &mut PgConnection) -> Result<(), SchemaError> {
    let there: bool = query("SELECT to_regclass('boxoffice_schema') IS NOT NULL")
        .fetch_one(&mut *connection)
        .await?
        .try_get(0)?;
    let found = if there { version(connection).await? } else { 0 };
    match found.cmp(&known()) {
        std::cmp::Ordering::Less => Err(SchemaError::TooOld { found, known: known() }),
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(SchemaError::TooNew { found, known: known() }),
    }
}

async fn version(connection: &mut PgConnection) -> Result<i64, sqlx::Error> {
    query("SELECT coalesce(max(version), 0) FROM boxoffice_schema").fetch_one(connection).await?.try_get(0)
}
