//! What callers are told, and how it reaches them.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::outcome::{Applied, Outcome};
use boxoffice_core::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::limits::OVERLOADED_RETRY_AFTER;

/// The durable answer to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Granted or refused.
    pub outcome: Outcome,
    /// The batch that made it durable; for a refusal that changed nothing, as of which it was decided.
    pub sequence: u64,
    /// When it was decided.
    pub decided_at: Timestamp,
    /// Whether it is the first answer again, from an idempotency key.
    pub replayed: bool,
}

impl Answer {
    pub(crate) fn of(applied: Applied) -> Answer {
        let Applied { outcome, changes: _, sequence, decided_at, replayed } = applied;
        Answer { outcome, sequence, decided_at, replayed }
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// Too much is waiting already. The command was not taken.
    #[error("too many commands are waiting; try again in {} s", retry_after.as_secs())]
    Overloaded {
        /// When it makes sense to try again.
        retry_after: Duration,
    },
    /// Nobody can say whether the command was done. With the same idempotency key it can be sent again safely.
    #[error("the outcome is unknown; send the command again with the same idempotency key")]
    OutcomeUnknown,
    /// The engine has stopped. The command was not done and never will be.
    #[error("the engine has stopped")]
    Stopped,
    /// There is no such inventory.
    #[error("there is no such inventory")]
    NoSuchInventory,
    /// The inventory, or what is needed to decide, cannot be read. The command was not done.
    #[error("{0}")]
    Damaged(Arc<str>),
}

impl SubmitError {
    pub(crate) fn overloaded() -> SubmitError {
        SubmitError::Overloaded { retry_after: OVERLOADED_RETRY_AFTER }
    }
}

/// Where an answer goes.
#[derive(Debug)]
pub(crate) enum ReplyTo {
    /// To the one who asked.
    One(oneshot::Sender<Result<Answer, SubmitError>>),
    /// To one who asked for many things at once.
    Part {
        /// Where the answers gather.
        gathering: Arc<Gathering>,
        /// Which one this is.
        index: usize,
    },
}

impl ReplyTo {
    pub(crate) fn send(self, result: Result<Answer, SubmitError>) {
        match self {
            // Callers may have gone; what they asked for is done all the same.
            ReplyTo::One(sender) => drop(sender.send(result)),
            ReplyTo::Part { gathering, index } => gathering.put(index, result),
        }
    }
}

/// Answers to commands that were submitted together.
#[derive(Debug)]
pub(crate) struct Gathering {
    state: Mutex<Gathered>,
}

#[derive(Debug)]
struct Gathered {
    missing: usize,
    answers: Vec<Result<Answer, SubmitError>>,
    done: Option<oneshot::Sender<Vec<Result<Answer, SubmitError>>>>,
}

impl Gathering {
    pub(crate) fn new(count: usize) -> (Arc<Gathering>, oneshot::Receiver<Vec<Result<Answer, SubmitError>>>) {
        let (done, receiver) = oneshot::channel();
        // A place that is never filled belongs to a command that was lost with its thread.
        let answers = vec![Err(SubmitError::OutcomeUnknown); count];
        let state = Gathered { missing: count, answers, done: Some(done) };
        (Arc::new(Gathering { state: Mutex::new(state) }), receiver)
    }

    fn put(&self, index: usize, result: Result<Answer, SubmitError>) {
        let mut state = self.state.lock();
        state.answers[index] = result;
        state.missing -= 1;
        if state.missing == 0
            && let Some(done) = state.done.take()
        {
            // See `ReplyTo::send`.
            drop(done.send(std::mem::take(&mut state.answers)));
        }
    }
}
