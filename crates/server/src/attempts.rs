//! Booking attempts: who tried to book what, and what became of it.
//!
//! A granted attempt is counted and is in the journal. One that is refused or fails travels inside its [`Problem`] to the
//! place that knows the request's id. It is counted there and queued; one task logs what is queued and writes it to the store in
//! batches, every second and before attempts are listed. The queue is bounded: attempts beyond it are counted as dropped, and
//! a flood of refusals slows no booking.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use boxoffice_cluster::kafka::{AsyncBooking, AsyncOutcome};
use boxoffice_core::ids::{InventoryKind, parts_of_name};
use boxoffice_engine::attempt::{Attempt, AttemptId};
use boxoffice_engine::{Engine, SubmitError};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;

use crate::answer::status_of;
use crate::app::App;
use crate::caller::Caller;
use crate::contacts;
use crate::measure;
use crate::problem::Problem;
use crate::routes::bookings::create::ROUTE;
use crate::routes::bookings::new_booking::NewBooking;

/// Attempts that wait to be written: under one kilobyte each.
const QUEUED_MAX: usize = 10_000;
/// Attempts in one transaction of the store: commits wait for it.
const WRITTEN_AT_ONCE: usize = 1_000;
/// How often the queue is written.
const WRITTEN_EVERY: Duration = Duration::from_secs(1);
/// How often attempts that are too old or too many are removed, in writes of the queue.
const PRUNED_EVERY_WRITES: u64 = 30;

/// The bit by which an attempt that was not granted comes after a granted one of the same millisecond.
pub(crate) const AFTER_GRANTED: u64 = 1 << 19;

/// A booking attempt that was not granted.
#[derive(Debug, Clone)]
pub(crate) struct BookingAttempt {
    pub(crate) tenant: Arc<str>,
    /// The kind and id of the inventory; `None` if the request does not name exactly one.
    pub(crate) inventory: Option<(InventoryKind, String)>,
    pub(crate) customer: String,
}

/// The attempt of a request.
pub(crate) fn attempt_of(caller: &Caller, request: &NewBooking) -> Box<BookingAttempt> {
    Box::new(BookingAttempt {
        tenant: Arc::clone(&caller.tenant),
        inventory: request.inventory_id().ok().map(|(kind, id)| (kind, id.to_owned())),
        customer: request.customer.clone(),
    })
}

/// A problem that says which booking attempt it answers.
pub(crate) fn with_attempt(problem: Problem, caller: &Caller, request: &NewBooking) -> Problem {
    Problem { attempt: Some(attempt_of(caller, request)), ..problem }
}

/// The fields of a booking request that describe an attempt, whatever else is in the body.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Sketch {
    op: Value,
    event: Value,
    schedule: Value,
    shop: Value,
    customer: Value,
}

impl Sketch {
    /// Of a body that may be anything.
    fn of(body: &[u8]) -> Sketch {
        serde_json::from_slice(body).unwrap_or_default()
    }

    fn attempt(&self, caller: &Caller) -> Box<BookingAttempt> {
        let kinds = [
            (InventoryKind::Event, &self.event),
            (InventoryKind::Schedule, &self.schedule),
            (InventoryKind::Shop, &self.shop),
        ];
        let mut named = kinds.into_iter().filter_map(|(kind, id)| Some((kind, id.as_str()?.to_owned())));
        let first = named.next();
        let inventory = first.filter(|_| named.next().is_none());
        let customer = self.customer.as_str().unwrap_or_default().to_owned();
        Box::new(BookingAttempt { tenant: Arc::clone(&caller.tenant), inventory, customer })
    }
}

/// The problem of a body that is no booking request, with the attempt as far as the body tells it.
pub(crate) fn with_attempt_of_body(problem: Problem, caller: &Caller, body: &[u8]) -> Problem {
    Problem { attempt: Some(Sketch::of(body).attempt(caller)), ..problem }
}

/// The same for a command of a batch that may be none; it counts as an attempt only if it says that it books.
pub(crate) fn with_attempt_of_command(problem: Problem, caller: &Caller, command: &[u8]) -> Problem {
    let sketch = Sketch::of(command);
    Problem { attempt: (sketch.op == "book").then(|| sketch.attempt(caller)), ..problem }
}

/// Counts a request to book that was refused before its body was read, and so has no attempt to list.
pub(crate) fn count_unread(method: &Method, route: &str, problem: &Problem) {
    if problem.attempt.is_none() && *method == Method::POST && route == ROUTE {
        measure::count_not_granted(None, problem.code);
    }
}

/// Counts and queues the attempt that a problem answers, if it answers one for the first time.
pub(crate) fn note(app: &App, request_id: &str, problem: &Problem) {
    let Some(attempt) = problem.attempt.as_deref().filter(|_| !problem.replayed) else { return };
    let answer_id = problem.answer_id.as_deref();
    record(app, request_id, answer_id, attempt, problem.code, problem.status.is_server_error());
}

fn record(
    app: &App,
    request_id: &str,
    answer_id: Option<&str>,
    attempt: &BookingAttempt,
    code: &'static str,
    failed: bool,
) {
    let (kind, id) = attempt.inventory.as_ref().map(|(kind, id)| (*kind, id.as_str())).unzip();
    measure::count_not_granted(kind, code);
    app.attempts.push(|number| Attempt {
        id: AttemptId::new(app.engine.now(), number),
        tenant: attempt.tenant.as_ref().into(),
        request_id: printable(request_id),
        answer_id: answer_id.map(str::to_owned),
        inventory: match kind.zip(id) {
            Some((kind, id)) => format!("{}:{}", kind.word(), printable(id)),
            None => "unknown".to_owned(),
        },
        customer: printable(&attempt.customer),
        code: code.into(),
        failed,
    });
}

/// Counts, and queues if they were not granted, the bookings that this server decides after their callers got 202. Ends when it
/// decides no more.
pub(crate) async fn note_async_bookings(app: Arc<App>, mut decided: mpsc::Receiver<AsyncBooking>) {
    while let Some(decided) = decided.recv().await {
        let AsyncBooking { request_id, inventory, customer, contact, outcome } = decided;
        let Some(name) = app.engine.name(inventory) else { continue };
        let Some((tenant, kind, id)) = parts_of_name(&name) else { continue };
        if matches!(outcome, AsyncOutcome::Replayed | AsyncOutcome::Refused(_)) {
            let unused = contact.and_then(|sealed| contacts::document_of(tenant, &sealed));
            app.contacts.remove(unused.into_iter().collect()).await;
        }
        let (code, status) = match outcome {
            AsyncOutcome::Granted => {
                measure::count_granted(kind);
                continue;
            }
            AsyncOutcome::Replayed => continue,
            AsyncOutcome::Refused(refusal) => (refusal.code(), status_of(refusal.kind())),
            AsyncOutcome::Failed => ("OUTCOME_UNKNOWN", StatusCode::SERVICE_UNAVAILABLE),
        };
        measure::count_code(code);
        let (inventory, customer) = (Some((kind, id.to_owned())), customer.as_ref().to_owned());
        let attempt = BookingAttempt { tenant: tenant.into(), inventory, customer };
        record(&app, &request_id, None, &attempt, code, status.is_server_error());
    }
}

/// A name that was sent and may be none: cut, and without control characters, which PostgreSQL does not take.
fn printable(text: &str) -> String {
    const CHARACTERS_MAX: usize = 200;
    let replaced = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    text.chars().take(CHARACTERS_MAX).map(replaced).collect()
}

/// The attempts of this server on their way to the store.
pub(crate) struct Attempts {
    queued: Mutex<VecDeque<Attempt>>,
    /// Tells attempts of one millisecond apart. Starts at random, so that two nodes rarely use the same number.
    numbers: AtomicU64,
    /// Held by the one who writes, and by a reader who wants to see what is queued.
    writing: tokio::sync::Mutex<u64>,
}

impl Attempts {
    pub(crate) fn new() -> Attempts {
        Attempts {
            queued: Mutex::default(),
            numbers: AtomicU64::new(rand::random()),
            writing: tokio::sync::Mutex::new(0),
        }
    }

    fn push(&self, attempt: impl FnOnce(u64) -> Attempt) {
        // Looked at twice, so that a flood makes no attempts only to drop them.
        if self.queued.lock().len() >= QUEUED_MAX {
            return measure::count_dropped_attempt();
        }
        let attempt = attempt(AFTER_GRANTED | self.numbers.fetch_add(1, Ordering::Relaxed));
        let mut queued = self.queued.lock();
        if queued.len() >= QUEUED_MAX {
            drop(queued);
            return measure::count_dropped_attempt();
        }
        queued.push_back(attempt);
    }

    fn take(&self) -> Vec<Attempt> {
        let mut queued = self.queued.lock();
        let count = queued.len().min(WRITTEN_AT_ONCE);
        queued.drain(..count).collect()
    }

    /// Puts back what could not be written, as far as there is room.
    fn put_back(&self, attempts: Vec<Attempt>) {
        let mut queued = self.queued.lock();
        for attempt in attempts.into_iter().rev() {
            if queued.len() < QUEUED_MAX {
                queued.push_front(attempt);
            } else {
                measure::count_dropped_attempt();
            }
        }
    }
}

/// Logs and writes what is queued at this moment.
pub(crate) async fn write_queued(app: &App) -> Result<(), SubmitError> {
    let mut writes = app.attempts.writing.lock().await;
    let mut left = app.attempts.queued.lock().len();
    while left > 0 {
        let attempts = app.attempts.take();
        left = left.saturating_sub(attempts.len());
        if attempts.is_empty() {
            break;
        }
        let lines: Vec<String> =
            attempts.iter().map(|attempt| app.secret.pseudonym(&attempt.tenant, &attempt.customer)).collect();
        let engine = app.engine.clone();
        let prune = writes.is_multiple_of(PRUNED_EVERY_WRITES);
        let (attempts, written) =
            tokio::task::spawn_blocking(move || log_and_keep(&engine, attempts, &lines, prune))
                .await
                .map_err(|_| SubmitError::Stopped)?;
        if let Err(error) = written {
            app.attempts.put_back(attempts);
            return Err(error);
        }
        *writes += 1;
    }
    Ok(())
}

fn log_and_keep(
    engine: &Engine,
    attempts: Vec<Attempt>,
    customers: &[String],
    prune: bool,
) -> (Vec<Attempt>, Result<(), SubmitError>) {
    let written = engine.keep_attempts(&attempts);
    if written.is_ok() {
        for (attempt, customer) in attempts.iter().zip(customers) {
            let Attempt { request_id, inventory, code, failed, .. } = attempt;
            let event = if *failed { "booking failed" } else { "booking refused" };
            tracing::info!(request_id, inventory, code, customer, "{event}");
        }
    }
    if written.is_ok()
        && prune
        && let Err(error) = engine.prune_attempts()
    {
        tracing::warn!(%error, "old booking attempts could not be removed");
    }
    (attempts, written)
}

/// Writes what is queued, as long as there is an app.
pub(crate) async fn keep_writing(app: Weak<App>) {
    let mut every = tokio::time::interval(WRITTEN_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let Some(app) = app.upgrade() else { return };
        match write_queued(&app).await {
            Ok(()) => {}
            Err(SubmitError::Stopped) => return,
            Err(error) => tracing::warn!(%error, "booking attempts cannot be written now"),
        }
    }
}

#[cfg(test)]
mod tests {
    use boxoffice_engine::Settings;
    use boxoffice_engine::attempt::AttemptFilter;

    use super::*;
    use crate::app::AppSettings;

    fn attempt(number: u64) -> Attempt {
        Attempt {
            id: AttemptId(number),
            tenant: "default".into(),
            request_id: number.to_string(),
            answer_id: None,
            inventory: "event:gala".into(),
            customer: "ann".into(),
            code: "SEAT_UNAVAILABLE".into(),
            failed: false,
        }
    }

    #[test]
    fn queue_of_attempts_is_bounded_and_dropped_ones_are_not_built() {
        let attempts = Attempts::new();
        let mut made = 0;
        for _ in 0..100_000 {
            attempts.push(|number| {
                made += 1;
                attempt(number)
            });
        }
        assert_eq!((made, attempts.queued.lock().len()), (QUEUED_MAX, QUEUED_MAX));
        let taken = attempts.take();
        assert_eq!(taken.len(), WRITTEN_AT_ONCE);
        attempts.push(attempt);
        attempts.put_back(taken);
        assert_eq!(attempts.queued.lock().len(), QUEUED_MAX, "what is put back has the same bound");
    }

    #[tokio::test]
    async fn queued_attempts_are_written_and_found_by_customer_and_inventory() {
        let directory = tempfile::tempdir().unwrap();
        let engine = Engine::open(&directory.path().join("store"), &Settings::default()).unwrap();
        let app = App::new(engine, AppSettings::default()).unwrap();
        let now = app.engine.now();
        for number in 0..2_500 {
            let id = AttemptId::new(now, number);
            let inventory = format!("event:{}", number % 5);
            app.attempts.push(|_| Attempt { id, inventory, ..attempt(number) });
        }
        write_queued(&app).await.unwrap();
        let filter = AttemptFilter {
            tenant: "default".into(),
            request_id: None,
            customer: Some("ann".into()),
            inventory: Some("event:3".into()),
            code: None,
        };
        let found = app.engine.attempts(&filter, AttemptId::END, 10_000).unwrap().found;
        assert_eq!(found.len(), 500);
        assert!(found.is_sorted_by(|newer, older| newer.id > older.id));
        assert_eq!(found[0].request_id, "2498");
        let next = app.engine.attempts(&filter, found[0].id, 1).unwrap().found;
        assert_eq!(next[0].request_id, "2493");
    }
}
