//! Every committed change out to Kafka: in the form of `GET /v1/journal`, in order for each inventory, at least once.
//!
//! The journal is the queue, as it is for webhooks: a document for each inventory says how far its journal was sent. One server
//! of all does this; for a moment after it is gone two may, and then a message comes twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_cluster::kafka::Changes;
use boxoffice_engine::store::StoreError;
use boxoffice_engine::{Engine, InventoryNumber, Standing};
use serde::Serialize;
use tokio::time::{Instant, MissedTickBehavior};

use crate::app::App;
use crate::journal::unreadable;
use crate::problem::Problem;
use crate::routes::journal::{ChangeBody, changes_of};

/// How often journals are looked at.
const POLL: Duration = Duration::from_millis(200);
/// How often the servers agree on who sends, and inventories are looked at that are not in memory here.
const LOOK_AT_OTHERS: Duration = Duration::from_secs(1);
/// Changes that are sent before it is noted how far this came.
const CHANGES_AT_ONCE: usize = 1_000;
/// How often it is noted that some cannot be sent.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// One change, as it is sent.
#[derive(Debug, Serialize)]
struct Message<'a> {
    /// With its tenant: `default/event:gala`. The message's key, too.
    inventory: &'a str,
    /// Its place among the changes of its sequence.
    index: usize,
    #[serde(flatten)]
    change: ChangeBody,
}

/// Sends what is committed, as long as the server runs.
pub(crate) async fn send(app: Arc<App>, changes: Changes) {
    let mut poll = tokio::time::interval(POLL);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut look_at_others = Instant::now();
    // How far each journal was sent; nothing if another server does so.
    let mut cursors: Option<HashMap<InventoryNumber, u64>> = None;
    let mut noted = None;
    loop {
        poll.tick().await;
        let all = Instant::now() >= look_at_others;
        if all {
            look_at_others = Instant::now() + LOOK_AT_OTHERS;
        }
        if let Err(problem) = follow(&app, &changes, all, &mut cursors, &mut noted).await {
            tracing::warn!(detail = %problem.detail, "changes could not be sent to Kafka");
            // Somebody else may have sent more meanwhile.
            cursors = None;
        }
    }
}

async fn follow(
    app: &App,
    changes: &Changes,
    all: bool,
    cursors: &mut Option<HashMap<InventoryNumber, u64>>,
    noted: &mut Option<Instant>,
) -> Result<(), Problem> {
    if all {
        let (engine, topic, known) = (app.engine.clone(), changes.topic().to_owned(), cursors.is_some());
        let read = move || {
            let leads = engine.leads()?;
            let read = if leads && !known { Some(read_cursors(&engine, &topic)?) } else { None };
            Ok::<_, StoreError>((leads, read))
        };
        match tokio::task::spawn_blocking(read).await.expect("reading does not panic")? {
            (false, _) => *cursors = None,
            (true, Some(read)) => *cursors = Some(read),
            (true, None) => {}
        }
    }
    let Some(cursors) = cursors else { return Ok(()) };
    for standing in standings(app, all).await? {
        let cursor = cursors.entry(standing.number).or_default();
        if all {
            // A cursor of a backup may be ahead of the journal that was saved before it. What is in memory may be behind both.
            *cursor = (*cursor).min(standing.sequence);
        }
        // One that cannot be read, or whose changes are not taken, is in nobody's way.
        if let Err(problem) = send_all(app, changes, &standing, cursor).await
            && noted.is_none_or(|at| at.elapsed() >= NOTED_EVERY)
        {
            *noted = Some(Instant::now());
            let inventory = &standing.name;
            tracing::warn!(%inventory, detail = %problem.detail, "changes could not be sent to Kafka");
        }
    }
    Ok(())
}

/// Sends all that an inventory has, and notes how far this came.
async fn send_all(
    app: &App,
    changes: &Changes,
    standing: &Standing,
    cursor: &mut u64,
) -> Result<(), Problem> {
    while *cursor < standing.sequence {
        let reached = send_some(app, changes, standing, *cursor).await?;
        let name = format!("{}{}", cursor_prefix(changes.topic()), standing.number.0);
        let document = (name, Some(reached.to_string().into()));
        let engine = app.engine.clone();
        let write = move || engine.write_documents(&[document]);
        tokio::task::spawn_blocking(write).await.expect("writing does not panic")?;
        *cursor = reached;
    }
    Ok(())
}

async fn standings(app: &App, all: bool) -> Result<Vec<Standing>, Problem> {
    if !all {
        return Ok(app.engine.standings_in_memory());
    }
    let engine = app.engine.clone();
    let read = move || engine.standings();
    Ok(tokio::task::spawn_blocking(read).await.expect("reading does not panic")?)
}

/// Sends some of what follows a sequence, and says how far that was.
async fn send_some(app: &App, changes: &Changes, standing: &Standing, after: u64) -> Result<u64, Problem> {
    let stock = app.engine.view(standing.number).await?;
    let mut subscription = app.engine.subscribe(standing.number, after).await?;
    let mut messages = Vec::new();
    let mut reached = after;
    while reached < standing.sequence && messages.len() < CHANGES_AT_ONCE {
        let batch = match subscription.next().await {
            Ok(batch) => batch,
            Err(boxoffice_engine::SubscriptionError::Gone { .. }) => {
                tracing::warn!(inventory = %standing.name, "the journal was cut; some changes are not sent");
                return Ok(standing.sequence);
            }
            Err(error) => return Err(unreadable(error)),
        };
        for (index, change) in changes_of(app, &batch, &stock).enumerate() {
            let message = Message { inventory: &standing.name, index, change };
            messages.push(serde_json::to_vec(&message).expect("changes are plain data"));
        }
        reached = batch.sequence;
    }
    let sent = changes.send(&standing.name, &messages).await;
    sent.map_err(|error| Problem::unavailable("UNAVAILABLE", error.to_string(), 1))?;
    Ok(reached)
}

/// Another topic is sent everything from the beginning.
fn cursor_prefix(topic: &str) -> String {
    format!("kafka/changes/{topic}/")
}

fn read_cursors(engine: &Engine, topic: &str) -> Result<HashMap<InventoryNumber, u64>, StoreError> {
    let prefix = cursor_prefix(topic);
    let parsed = |(name, contents): (String, Vec<u8>)| {
        let number = name.strip_prefix(&prefix).and_then(|number| number.parse().ok());
        let sequence = std::str::from_utf8(&contents).ok().and_then(|text| text.parse().ok());
        let damaged = || StoreError::Inconsistent(format!("the document {name:?} cannot be read"));
        number.zip(sequence).map(|(number, sequence)| (InventoryNumber(number), sequence)).ok_or_else(damaged)
    };
    engine.documents(&prefix)?.into_iter().map(parsed).collect()
}
