//! The circuit breaker: whether a store that others share answers at the moment, and by the same clock.
//!
//! A store that is away does not stop the engine. What is under way keeps trying until its outcome is known; who waits for it is
//! told that the outcome is unknown, and whoever comes later is refused at once, before anything of theirs is taken. What is in
//! memory can still be read, as of when the store was last heard of. When it answers again, everything goes on by itself.
//!
//! A process whose clock is not the store's would end others' holds too early, or make its own too short: it does nothing of
//! the kind, and refuses commands in the same way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::answer::SubmitError;
use crate::limits::{COMMIT_ANSWER_MAX, STORE_ANSWER_MAX};

/// Whether the store answers.
#[derive(Debug)]
pub(crate) struct Availability {
    /// When it was last heard of, if it is away.
    away: watch::Sender<Option<Instant>>,
    clocks_apart: AtomicBool,
}

impl Default for Availability {
    fn default() -> Availability {
        Availability { away: watch::Sender::new(None), clocks_apart: AtomicBool::new(false) }
    }
}

impl Availability {
    /// Notes when the store last answered, how long a commit has been under way, and whether the clocks are too far apart.
    pub(crate) fn note(&self, answered: Instant, committing_for: Option<Duration>, clocks_apart: bool) {
        self.clocks_apart.store(clocks_apart, Ordering::Release);
        let is_away = clocks_apart
            || answered.elapsed() > STORE_ANSWER_MAX
            || committing_for.is_some_and(|committing_for| committing_for > COMMIT_ANSWER_MAX);
        let changed = self.away.send_if_modified(|away| {
            let changed = away.is_some() != is_away;
            *away = is_away.then_some(away.unwrap_or(answered));
            changed
        });
        match (changed, is_away) {
            // Whoever compared the clocks has said so.
            (true, true) if clocks_apart => {}
            (true, true) => tracing::error!("the store does not answer; commands are refused until it does"),
            (true, false) => tracing::warn!("the store can be used again"),
            (false, _) => {}
        }
    }

    /// Whether this process's clock is not to be trusted.
    pub(crate) fn clocks_apart(&self) -> bool {
        self.clocks_apart.load(Ordering::Acquire)
    }

    /// For how long nothing was heard of a store that is away.
    pub(crate) fn away_for(&self) -> Option<Duration> {
        self.away.borrow().map(|since| since.elapsed())
    }

    /// Refuses while the store is away.
    pub(crate) fn check(&self) -> Result<(), SubmitError> {
        match *self.away.borrow() {
            Some(_) => Err(SubmitError::unavailable()),
            None => Ok(()),
        }
    }

    /// Waits for an answer for as long as the store is not away; `None` if it is before there is one.
    pub(crate) async fn or_away<T>(&self, answer: impl Future<Output = T>) -> Option<T> {
        let mut away = self.away.subscribe();
        tokio::select! {
            biased;
            answer = answer => Some(answer),
            // The sender lives as long as this.
            _ = away.wait_for(Option::is_some) => None,
        }
    }
}
