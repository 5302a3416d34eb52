//! One commit: a transaction for all batches, tried until its outcome is known.
//!
//! An attempt fences (`UPDATE inventory .. WHERE head = previous`), writes the journal and the tables, and commits. If the
//! connection is lost before COMMIT was sent, nothing has happened: the next attempt does the same. If it is lost afterwards,
//! nobody knows. The next attempt's fence then waits for the row locks of the lost transaction, so that it cannot end later;
//! what it left is in the journal: its record with its hash, or not.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::change::Change;
use boxoffice_core::ids::tenant_of_name;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::record::Hash;
use boxoffice_engine::routing::Span;
use boxoffice_engine::store::{BatchWrite, CommitError};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Row, query, raw_sql};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::rows::Number;
use super::tables::{self, STATEMENT_ROWS_MAX, TablesError};
use super::trouble::{failed, is_full, is_passing};
use super::{CONNECT_MAX, Inner, RETRY_AFTER, STATEMENT_MAX};

/// How soon a connection that was left by the commit before has to answer. It may be dead without anybody having noticed, as
/// when a firewall has forgotten it; then nothing has begun, and another one costs little.
const BEGIN_MAX: Duration = Duration::from_secs(1);
/// How long the fence may take: longer than the server lets it wait for a lock.
const FENCE_MAX: Duration = Duration::from_secs(7);
/// How long each later step may take: longer than the server's own limit, for servers that do not answer at all. One that
/// writes many rows is given so much for each [`STATEMENT_ROWS_MAX`] of them.
const STEP_MAX: Duration = Duration::from_secs(12);
const _: () = assert!(STEP_MAX.as_secs() > STATEMENT_MAX.as_secs());
/// How long a node tries to say that it was too late.
const ANNOUNCE_MAX: Duration = Duration::from_secs(1);

/// For so long after a node was too late, the others need a turn to write.
const CONTENDED_SECONDS: f64 = 1.0;

/// The batches of one inventory, each built on the one before.
struct Chain<'a> {
    number: InventoryNumber,
    batches: Vec<&'a BatchWrite>,
}

/// What an attempt left.
enum Attempt {
    /// It is over: these were fenced.
    Settled(Vec<InventoryNumber>),
    /// A booking's id was taken by another inventory meanwhile: nothing was written. These are fenced.
    Taken(Vec<InventoryNumber>),
}

/// What an attempt was about to commit when it was last heard of.
struct Unsettled {
    /// One batch of it. If it is in the journal, all are.
    inventory: Number,
    sequence: i64,
    hash: Hash,
    fenced: Vec<InventoryNumber>,
}

#[derive(Debug, thiserror::Error)]
enum AttemptError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    #[error(transparent)]
    Tables(#[from] TablesError),
    #[error("no answer within {} s", .0.as_secs())]
    NoAnswer(Duration),
}

impl Inner {
    /// See [`boxoffice_engine::store::Store::commit`].
    pub(super) async fn commit(&self, batches: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        let (chains, mut fenced) = chains(batches);
        let (mut unsettled, mut attempts) = (None, 0_u32);
        let mut out_of_patience = pin!(self.out_of_patience());
        let settled = loop {
            let attempted = tokio::select! {
                attempted = self.attempt(&chains, &fenced, &mut unsettled) => attempted,
                () = &mut out_of_patience => {
                    return Err(CommitError::Unavailable("it has to stop, and nobody answers".to_owned()));
                }
            };
            let error = match attempted {
                Ok(Attempt::Settled(found)) => break found,
                Ok(Attempt::Taken(taken)) => {
                    fenced.extend(taken);
                    continue;
                }
                Err(error) => error,
            };
            if !error.is_passing() {
                return Err(error.into_commit_error());
            }
            // Once is enough: a database may be away for hours.
            if attempts == 0 {
                tracing::warn!(%error, "a commit was interrupted; trying until its outcome is known");
            }
            attempts += 1;
            tokio::time::sleep(RETRY_AFTER).await;
        };
        if attempts > 0 {
            tracing::warn!(attempts, "the outcome of the commit is known");
        }
        // A new inventory gets another number, or turns out to be there: nobody takes turns with it.
        let grown = |number: &&InventoryNumber| {
            chains.iter().any(|chain| chain.number == **number && chain.previous() != Hash::default())
        };
        let late: Vec<InventoryNumber> = settled.iter().filter(grown).copied().collect();
        if !late.is_empty() {
            // Beside: what was committed is durable, and its callers wait.
            tokio::spawn(announce(self.options.clone(), Arc::clone(&self.announcing), late));
        }
        Ok(settled)
    }

    async fn attempt(
        &self,
        chains: &[Chain<'_>],
        already_fenced: &[InventoryNumber],
        unsettled: &mut Option<Unsettled>,
    ) -> Result<Attempt, AttemptError> {
        // Whatever goes wrong, the connection is not used again: dropping it ends its transaction.
        let mut slot = self.commits.lock().await;
        let mut connection = self.begin(slot.take()).await?;
        let left = attempt_on(self, &mut connection, chains, already_fenced, unsettled).await?;
        *slot = Some(connection);
        Ok(left)
    }

    /// A connection on which a transaction has begun: the one that was left, if it answers.
    async fn begin(&self, left: Option<PgConnection>) -> Result<PgConnection, AttemptError> {
        if let Some(mut connection) = left
            && let Ok(Ok(_)) = timeout(BEGIN_MAX, raw_sql("BEGIN").execute(&mut connection)).await
        {
            return Ok(connection);
        }
        within(CONNECT_MAX, async {
            let mut connection = self.options.connect().await?;
            raw_sql("BEGIN").execute(&mut connection).await?;
            Ok::<_, sqlx::Error>(connection)
        })
        .await
    }
}

/// The connection on which a node says that it was too late; none if the last one was lost.
pub(super) type Announcing = Arc<Mutex<Option<PgConnection>>>;

/// Tells the other nodes that this one was too late, and that they must take turns: one that is faster and does not know
/// of it would fence this one for ever. Whatever kind turns are of, the database is where all look.
async fn announce(options: PgConnectOptions, announcing: Announcing, late: Vec<InventoryNumber>) {
    let announced = within(ANNOUNCE_MAX, async {
        let mut slot = announcing.lock().await;
        // Taken out, so that one that fails, or waits for somebody's lock, is not used again.
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => options.connect().await?,
        };
        for number in late {
            query("UPDATE inventory SET contended_at = clock_timestamp() WHERE number = $1")
                .bind(number_of(number))
                .execute(&mut connection)
                .await?;
        }
        *slot = Some(connection);
        Ok::<(), sqlx::Error>(())
    });
    // It will be too late again, then, and say so again.
    if let Err(error) = announced.await {
        tracing::debug!(%error, "others do not know that they are in the way");
    }
}

/// Gives up on a step that takes too long, and with it on its connection.
async fn within<T, E>(limit: Duration, step: impl Future<Output = Result<T, E>>) -> Result<T, AttemptError>
where
    AttemptError: From<E>,
{
    match timeout(limit, step).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(AttemptError::NoAnswer(limit)),
    }
}

async fn rollback(connection: &mut PgConnection) -> Result<(), AttemptError> {
    within(STEP_MAX, raw_sql("ROLLBACK").execute(connection)).await.map(drop)
}

async fn attempt_on(
    inner: &Inner,
    connection: &mut PgConnection,
    chains: &[Chain<'_>],
    already_fenced: &[InventoryNumber],
    unsettled: &mut Option<Unsettled>,
) -> Result<Attempt, AttemptError> {
    let tried: Vec<&Chain<'_>> =
        chains.iter().filter(|chain| !already_fenced.contains(&chain.number)).collect();
    let passage = within(FENCE_MAX, fence(inner, connection, &tried, unsettled.is_some())).await?;
    let (passed, stopped): (Vec<&Chain<'_>>, Vec<&Chain<'_>>) =
        tried.into_iter().partition(|chain| passage.contains_key(&number_of(chain.number)));
    // An earlier attempt that was committed has moved the head, so that this one cannot have passed.
    if let Some(earlier) = unsettled.as_ref().filter(|earlier| !passage.contains_key(&earlier.inventory))
        && is_in_journal(connection, earlier).await?
    {
        let fenced = earlier.fenced.clone();
        rollback(connection).await?;
        return Ok(Attempt::Settled(fenced));
    }
    *unsettled = None;
    let fenced: Vec<InventoryNumber> =
        already_fenced.iter().copied().chain(stopped.iter().map(|chain| chain.number)).collect();
    let batches: Vec<&BatchWrite> = passed.iter().flat_map(|chain| chain.batches.iter().copied()).collect();
    if batches.is_empty() {
        rollback(connection).await?;
        return Ok(Attempt::Settled(fenced));
    }
    let batches: Vec<&BatchWrite> = batches.into_iter().filter(|batch| !batch.is_mark()).collect();
    within(STEP_MAX, write_journal(connection, &batches)).await?;
    let taken = within(STEP_MAX, write_chosen_ids(connection, &batches)).await?;
    if !taken.is_empty() {
        rollback(connection).await?;
        return Ok(Attempt::Taken(taken));
    }
    let changes: Vec<(Number, &[Change])> = batches
        .iter()
        .map(|batch| (number_of(batch.head.inventory), batch.changes.as_slice()))
        .filter(|(number, _)| passage[number].complete)
        .collect();
    let rows = within(STEP_MAX, tables::fold(connection, &changes)).await?;
    let times = u32::try_from(rows.size() / STATEMENT_ROWS_MAX).unwrap_or(u32::MAX).saturating_add(1);
    if times > 1 {
        let limit = format!("{}s", STATEMENT_MAX.saturating_mul(times).as_secs());
        let set = query("SELECT set_config('statement_timeout', $1, true)").bind(limit);
        within(STEP_MAX, set.execute(&mut *connection)).await?;
    }
    let write_max = STEP_MAX.saturating_mul(times);
    within(write_max, tables::write(connection, &rows)).await?;
    // If nothing but positions is written there is no record to look for. Should they be there when they are written again,
    // they fence: then their commands count as decided, and nobody is told what.
    *unsettled = batches.first().map(|first| Unsettled {
        inventory: number_of(first.head.inventory),
        sequence: sequence_of(first.head.sequence),
        hash: first.head.hash,
        fenced: fenced.clone(),
    });
    within(write_max, raw_sql("COMMIT").execute(connection)).await?;
    *unsettled = None;
    Ok(Attempt::Settled(fenced))
}

/// What the fence says of an inventory that it let pass.
struct Passage {
    /// Whether the tables have all that came before.
    complete: bool,
}

/// Moves the heads of the inventories whose batches were built on them, and says which. Until the transaction ends nobody
/// else can. Outside a turn, a batch does not pass either if another node was too late with its own a moment ago: whoever
/// sent it has to take turns from now on.
///
/// Whoever wants to find out what became of an earlier attempt has to wait for its locks, whoever's turn it is.
async fn fence(
    inner: &Inner,
    connection: &mut PgConnection,
    chains: &[&Chain<'_>],
    whoever_has_the_turn: bool,
) -> Result<BTreeMap<Number, Passage>, sqlx::Error> {
    let (new, old): (Vec<&&Chain<'_>>, Vec<&&Chain<'_>>) =
        chains.iter().partition(|chain| chain.previous() == Hash::default());
    let mut passed = BTreeMap::new();
    if !old.is_empty() {
        let numbers: Vec<Number> = old.iter().map(|chain| number_of(chain.number)).collect();
        if let [_, _, ..] = *numbers {
            // In one order for everybody, so that nobody waits for somebody who waits for them.
            query("SELECT 1 FROM inventory WHERE number = ANY($1) ORDER BY number FOR UPDATE")
                .bind(&numbers)
                .execute(&mut *connection)
                .await?;
        }
        let spans: Vec<Option<Span>> = old.iter().map(|chain| chain.positions()).collect();
        let moved = query(
            "UPDATE inventory i SET sequence = w.sequence, head = w.head, next_deadline_ms = w.next_deadline,
                    changed_at = CASE WHEN w.head = i.head THEN i.changed_at ELSE clock_timestamp() END,
                    complete = i.complete AND w.gapless AND (w.head = i.head OR w.first_sequence = i.sequence + 1),
                    log_epoch = coalesce(w.epoch, i.log_epoch),
                    log_partition = coalesce(w.partition, i.log_partition),
                    log_offset = coalesce(w.last_offset, i.log_offset)
             FROM UNNEST($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::boolean[], $7::boolean[],
                         $8::bigint[], $10::bigint[], $11::integer[], $12::bigint[], $13::bigint[])
                  AS w(number, previous, head, sequence, next_deadline, in_turn, gapless, first_sequence,
                       epoch, partition, first_offset, last_offset)
             WHERE i.number = w.number AND i.head = w.previous
               AND (w.in_turn OR i.contended_at IS NULL
                    OR i.contended_at < clock_timestamp() - make_interval(secs => $9))
               AND (w.epoch IS NULL OR i.log_epoch IS NULL
                    OR (i.log_epoch, i.log_offset) < (w.epoch, w.first_offset))
             RETURNING i.number, i.complete",
        )
        .bind(&numbers)
        .bind(old.iter().map(|chain| chain.previous().0.to_vec()).collect::<Vec<_>>())
        .bind(old.iter().map(|chain| chain.last().head.hash.0.to_vec()).collect::<Vec<_>>())
        .bind(old.iter().map(|chain| sequence_of(chain.last().head.sequence)).collect::<Vec<_>>())
        .bind(old.iter().map(|chain| chain.next_deadline()).collect::<Vec<_>>())
        .bind(old.iter().map(|chain| whoever_has_the_turn || inner.turns.may_write(chain.number)).collect::<Vec<_>>())
        .bind(old.iter().map(|chain| chain.is_gapless()).collect::<Vec<_>>())
        .bind(old.iter().map(|chain| chain.first_sequence()).collect::<Vec<_>>())
        .bind(CONTENDED_SECONDS)
        .bind(spans.iter().map(|span| span.map(|span| i64::from(span.last.epoch))).collect::<Vec<_>>())
        .bind(spans.iter().map(|span| span.map(|span| span.last.partition)).collect::<Vec<_>>())
        .bind(spans.iter().map(|span| span.map(|span| span.first.offset)).collect::<Vec<_>>())
        .bind(spans.iter().map(|span| span.map(|span| span.last.offset)).collect::<Vec<_>>())
        .fetch_all(&mut *connection)
        .await?;
        for row in moved {
            passed.insert(row.try_get(0)?, Passage { complete: row.try_get(1)? });
        }
    }
    if !new.is_empty() {
        // Neither the number nor the name may be there.
        let made = query(
            "INSERT INTO inventory (number, name, head, sequence, next_deadline_ms, complete, changed_at)
             SELECT w.*, clock_timestamp()
             FROM UNNEST($1::bigint[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::boolean[]) AS w
             ORDER BY 1
             ON CONFLICT DO NOTHING
             RETURNING number, complete",
        )
        .bind(new.iter().map(|chain| number_of(chain.number)).collect::<Vec<_>>())
        .bind(new.iter().map(|chain| &*chain.last().head.name).collect::<Vec<_>>())
        .bind(new.iter().map(|chain| chain.last().head.hash.0.to_vec()).collect::<Vec<_>>())
        .bind(new.iter().map(|chain| sequence_of(chain.last().head.sequence)).collect::<Vec<_>>())
        .bind(new.iter().map(|chain| chain.next_deadline()).collect::<Vec<_>>())
        .bind(
            new.iter()
                .map(|chain| chain.is_gapless() && chain.first_sequence() == Some(1))
                .collect::<Vec<_>>(),
        )
        .fetch_all(&mut *connection)
        .await?;
        for row in made {
            passed.insert(row.try_get(0)?, Passage { complete: row.try_get(1)? });
        }
    }
    Ok(passed)
}

async fn is_in_journal(connection: &mut PgConnection, earlier: &Unsettled) -> Result<bool, AttemptError> {
    let find = query("SELECT 1 FROM journal WHERE inventory = $1 AND sequence = $2 AND hash = $3")
        .bind(earlier.inventory)
        .bind(earlier.sequence)
        .bind(earlier.hash.0.as_slice())
        .fetch_optional(connection);
    Ok(within(STEP_MAX, find).await?.is_some())
}

async fn write_journal(connection: &mut PgConnection, batches: &[&BatchWrite]) -> Result<(), sqlx::Error> {
    query(
        "INSERT INTO journal (inventory, sequence, hash, record)
         SELECT * FROM UNNEST($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[])",
    )
    .bind(batches.iter().map(|batch| number_of(batch.head.inventory)).collect::<Vec<_>>())
    .bind(batches.iter().map(|batch| sequence_of(batch.head.sequence)).collect::<Vec<_>>())
    .bind(batches.iter().map(|batch| batch.head.hash.0.as_slice()).collect::<Vec<_>>())
    .bind(batches.iter().map(|batch| batch.record.as_slice()).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Claims ids that callers chose, and says which inventories wanted one that another has.
async fn write_chosen_ids(
    connection: &mut PgConnection,
    batches: &[&BatchWrite],
) -> Result<Vec<InventoryNumber>, sqlx::Error> {
    let mut wanted = BTreeMap::new();
    let mut taken = Vec::new();
    for batch in batches {
        let tenant = tenant_of_name(&batch.head.name);
        for &id in &batch.chosen_ids {
            let owner = *wanted.entry((tenant, id)).or_insert(batch.head.inventory);
            if owner != batch.head.inventory {
                taken.push(batch.head.inventory);
            }
        }
    }
    if wanted.is_empty() {
        return Ok(taken);
    }
    // In order, for the same reason as the inventories. The owner of one that is there stays what it is.
    let owners = query(
        "INSERT INTO chosen_id (tenant, booking, inventory)
         SELECT * FROM UNNEST($1::text[], $2::uuid[], $3::bigint[]) ORDER BY 1, 2
         ON CONFLICT (tenant, booking) DO UPDATE SET inventory = chosen_id.inventory
         RETURNING tenant, booking, inventory",
    )
    .bind(wanted.keys().map(|&(tenant, _)| tenant).collect::<Vec<_>>())
    .bind(wanted.keys().map(|&(_, id)| tables::uuid(id)).collect::<Vec<_>>())
    .bind(wanted.values().map(|&number| number_of(number)).collect::<Vec<_>>())
    .fetch_all(connection)
    .await?;
    let owners: BTreeMap<(&str, sqlx::types::Uuid), Number> = owners
        .iter()
        .map(|row| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?)))
        .collect::<Result<_, sqlx::Error>>()?;
    for (&(tenant, id), &number) in &wanted {
        if owners.get(&(tenant, tables::uuid(id))) != Some(&number_of(number)) {
            taken.push(number);
        }
    }
    Ok(taken)
}

/// The batches of each inventory that build on each other, and the inventories of those that do not.
fn chains<'a>(batches: &[&'a BatchWrite]) -> (Vec<Chain<'a>>, Vec<InventoryNumber>) {
    let mut chains: BTreeMap<InventoryNumber, Chain<'a>> = BTreeMap::new();
    let mut fenced = Vec::new();
    for &batch in batches {
        let number = batch.head.inventory;
        let chain = chains.entry(number).or_insert_with(|| Chain { number, batches: Vec::new() });
        match chain.batches.last() {
            Some(last) if last.head.hash != batch.previous => fenced.push(number),
            Some(_) | None => chain.batches.push(batch),
        }
    }
    // The engine never sends such batches. All of them are fenced: it asks again.
    chains.retain(|number, _| !fenced.contains(number));
    (chains.into_values().collect(), fenced)
}

impl Chain<'_> {
    fn previous(&self) -> Hash {
        self.batches[0].previous
    }

    fn last(&self) -> &BatchWrite {
        self.batches.last().expect("chains have batches")
    }

    /// Whether no sequence is left out, as only restoring does.
    fn is_gapless(&self) -> bool {
        let mut pairs = self.batches.windows(2);
        pairs.all(|pair| pair[1].is_mark() || pair[0].head.sequence + 1 == pair[1].head.sequence)
    }

    /// Of the first record, if there is one.
    fn first_sequence(&self) -> Option<i64> {
        let first = self.batches.iter().find(|batch| !batch.is_mark())?;
        Some(sequence_of(first.head.sequence))
    }

    /// Of all commands in it that came from the log.
    fn positions(&self) -> Option<Span> {
        let mut spans = self.batches.iter().filter_map(|batch| batch.positions);
        let first = spans.next()?;
        Some(Span { first: first.first, last: spans.next_back().unwrap_or(first).last })
    }

    fn next_deadline(&self) -> Option<i64> {
        self.last().head.next_deadline.map(|at| at.0)
    }
}

fn number_of(number: InventoryNumber) -> Number {
    number.0.into()
}

fn sequence_of(sequence: u64) -> i64 {
    i64::try_from(sequence).expect("sequences count from one")
}

impl AttemptError {
    /// Whether it may be over in a moment.
    fn is_passing(&self) -> bool {
        match self {
            AttemptError::Sql(error) | AttemptError::Tables(TablesError::Sql(error)) => is_passing(error),
            AttemptError::Tables(TablesError::Inconsistent(_)) => false,
            AttemptError::NoAnswer(_) => true,
        }
    }

    fn into_commit_error(self) -> CommitError {
        match self {
            AttemptError::Sql(error) | AttemptError::Tables(TablesError::Sql(error)) if is_full(&error) => {
                CommitError::Full(failed(&error))
            }
            AttemptError::Sql(error) | AttemptError::Tables(TablesError::Sql(error)) => {
                CommitError::Failed(failed(&error))
            }
            AttemptError::Tables(error @ TablesError::Inconsistent(_)) => {
                CommitError::Failed(error.to_string())
            }
            AttemptError::NoAnswer(_) => CommitError::Failed(self.to_string()),
        }
    }
}
