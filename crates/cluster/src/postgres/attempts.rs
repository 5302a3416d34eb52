//! Refused and failed booking attempts: a table beside the journal, bounded in age and number.

use boxoffice_engine::attempt::{Attempt, AttemptFilter, AttemptId, AttemptPage};
use boxoffice_engine::limits::ATTEMPTS_MAX;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Row, query};

pub(super) async fn keep(connection: &mut PgConnection, attempts: &[Attempt]) -> Result<(), sqlx::Error> {
    let texts = |text: fn(&Attempt) -> &str| attempts.iter().map(text).collect::<Vec<&str>>();
    query(
        "INSERT INTO attempt (id, at, tenant, request_id, answer_id, inventory, customer, code, failed)
         SELECT id, to_timestamp(at_ms / 1000.0), tenant, request_id, answer_id, inventory, customer, code, failed
         FROM UNNEST($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                     $8::text[], $9::boolean[])
              AS t (id, at_ms, tenant, request_id, answer_id, inventory, customer, code, failed)
         ON CONFLICT DO NOTHING",
    )
    .bind(attempts.iter().map(|attempt| number(attempt.id)).collect::<Vec<i64>>())
    .bind(attempts.iter().map(|attempt| attempt.id.at().0).collect::<Vec<i64>>())
    .bind(texts(|attempt| &attempt.tenant))
    .bind(texts(|attempt| &attempt.request_id))
    .bind(attempts.iter().map(|attempt| attempt.answer_id.as_deref()).collect::<Vec<Option<&str>>>())
    .bind(texts(|attempt| &attempt.inventory))
    .bind(texts(|attempt| &attempt.customer))
    .bind(texts(|attempt| &attempt.code))
    .bind(attempts.iter().map(|attempt| attempt.failed).collect::<Vec<bool>>())
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn prune(connection: &mut PgConnection, oldest: AttemptId) -> Result<(), sqlx::Error> {
    query("DELETE FROM attempt WHERE id < $1").bind(number(oldest)).execute(&mut *connection).await?;
    query("DELETE FROM attempt WHERE id <= (SELECT id FROM attempt ORDER BY id DESC OFFSET $1 LIMIT 1)")
        .bind(i64::try_from(ATTEMPTS_MAX).unwrap_or(i64::MAX))
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn find(
    connection: &mut PgConnection,
    filter: &AttemptFilter,
    before: AttemptId,
    limit: usize,
) -> Result<AttemptPage, sqlx::Error> {
    let rows = query(
        "SELECT id, tenant, request_id, answer_id, inventory, customer, code, failed FROM attempt
         WHERE id < $1 AND tenant = $2 AND ($3::text IS NULL OR request_id = $3 OR answer_id = $3)
           AND ($4::text IS NULL OR customer = $4) AND ($5::text IS NULL OR inventory = $5)
           AND ($6::text IS NULL OR code = $6)
         ORDER BY id DESC LIMIT $7",
    )
    .bind(number(before))
    .bind(&filter.tenant)
    .bind(&filter.request_id)
    .bind(&filter.customer)
    .bind(&filter.inventory)
    .bind(&filter.code)
    .bind(i64::try_from(limit).unwrap_or(i64::MAX))
    .fetch_all(connection)
    .await?;
    let found = rows.iter().map(attempt_of).collect::<Result<_, _>>()?;
    Ok(AttemptPage { found, searched_to: None })
}

fn attempt_of(row: &PgRow) -> Result<Attempt, sqlx::Error> {
    let id: i64 = row.try_get(0)?;
    Ok(Attempt {
        id: AttemptId(id.cast_unsigned()),
        tenant: row.try_get(1)?,
        request_id: row.try_get(2)?,
        answer_id: row.try_get(3)?,
        inventory: row.try_get(4)?,
        customer: row.try_get(5)?,
        code: row.try_get(6)?,
        failed: row.try_get(7)?,
    })
}

fn number(id: AttemptId) -> i64 {
    id.0.cast_signed()
}
