//! What callers are told, and how it reaches them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::booking::Units;
use boxoffice_core::change::Change;
use boxoffice_core::command::Command;
use boxoffice_core::outcome::{Applied, Grant, Outcome};
use boxoffice_core::time::Timestamp;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::ids::InventoryNumber;
use crate::limits::{OVERLOADED_RETRY_AFTER, UNAVAILABLE_RETRY_AFTER};
use crate::store::StoreError;

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
    /// What to answer, and what changed.
    pub(crate) fn of(applied: Applied) -> (Answer, Vec<Change>) {
        let Applied { outcome, changes, sequence, decided_at, replayed } = applied;
        (Answer { outcome, sequence, decided_at, replayed }, changes)
    }

    /// The seats and tickets of the booking that was made or changed.
    pub(crate) fn units(&self) -> usize {
        let booking = match &self.outcome {
            Outcome::Granted(Grant::Booking(booking)) => booking,
            Outcome::Granted(Grant::Moved(moved)) => &moved.booking,
            Outcome::Granted(_) | Outcome::Refused(_) => return 0,
        };
        match &booking.units {
            Units::Event { seats, .. } => seats.len(),
            Units::Slot { tickets, .. } => tickets.len(),
            Units::Box { .. } => 0,
        }
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
    /// The store, or the log that commands go through, does not answer at the moment. The command was not taken, or the
    /// question not answered.
    #[error("the store or the log does not answer; try again in {} s", retry_after.as_secs())]
    Unavailable {
        /// When it makes sense to try again.
        retry_after: Duration,
    },
    /// Nobody can say whether the command was done. With the same idempotency key it can be sent again safely.
    #[error("the outcome is unknown; send the command again with the same idempotency key")]
    OutcomeUnknown,
    /// The command came from the log before, and was decided then: see [`crate::Engine::submit_from_log`].
    #[error("the command was decided before")]
    AlreadyDecided,
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

    pub(crate) fn unavailable() -> SubmitError {
        SubmitError::Unavailable { retry_after: UNAVAILABLE_RETRY_AFTER }
    }
}

/// Why something that only reads has no answer.
impl From<StoreError> for SubmitError {
    fn from(error: StoreError) -> SubmitError {
        match error {
            StoreError::Unavailable(_) => SubmitError::unavailable(),
            StoreError::Failed(_) | StoreError::Damaged { .. } | StoreError::Inconsistent(_) => {
                SubmitError::Damaged(Arc::from(error.to_string()))
            }
        }
    }
}

/// A command, and where its answer goes.
///
/// Whoever asked keeps hold of the command, too, and is the last to do so: memory is cheapest to give back where it was
/// taken.
#[derive(Debug)]
pub(crate) enum Asked {
    /// By one who waits for this answer.
    One(Arc<Command>, oneshot::Sender<Result<Answer, SubmitError>>),
    /// By one who asked for many things at once, by its place among them.
    Part(Arc<Group>, usize),
}

impl Asked {
    pub(crate) fn command(&self) -> &Command {
        match self {
            Asked::One(command, _) => command,
            Asked::Part(group, index) => &group.commands[*index].1,
        }
    }

    /// Whether an earlier command of its inventory, of those it was asked for with, was not taken.
    pub(crate) fn follows_one_not_taken(&self) -> bool {
        match self {
            Asked::One(..) => false,
            Asked::Part(group, index) => {
                let inventory = group.commands[*index].0;
                group.answers.lock().not_taken.contains(&inventory)
            }
        }
    }

    pub(crate) fn answer(self, result: Result<Answer, SubmitError>) {
        match self {
            Asked::One(command, sender) => {
                drop(command);
                // Callers may have gone; what they asked for is done all the same.
                drop(sender.send(result));
            }
            Asked::Part(group, index) => group.put(index, result),
        }
    }
}

/// Commands that were submitted together, and the answers to them.
#[derive(Debug)]
pub(crate) struct Group {
    commands: Arc<Vec<(InventoryNumber, Command)>>,
    answers: Mutex<Answers>,
}

#[derive(Debug)]
struct Answers {
    missing: usize,
    /// Inventories of commands that were not taken, and may be later.
    not_taken: BTreeSet<InventoryNumber>,
    answers: Vec<Result<Answer, SubmitError>>,
    done: Option<oneshot::Sender<Vec<Result<Answer, SubmitError>>>>,
}

impl Group {
    pub(crate) fn new(
        commands: Arc<Vec<(InventoryNumber, Command)>>,
    ) -> (Arc<Group>, oneshot::Receiver<Vec<Result<Answer, SubmitError>>>) {
        let (done, receiver) = oneshot::channel();
        let missing = commands.len();
        // A place that is never filled belongs to a command that was lost with its thread.
        let answers = vec![Err(SubmitError::OutcomeUnknown); missing];
        let answers = Mutex::new(Answers { missing, not_taken: BTreeSet::new(), answers, done: Some(done) });
        (Arc::new(Group { commands, answers }), receiver)
    }

    fn put(&self, index: usize, result: Result<Answer, SubmitError>) {
        let mut state = self.answers.lock();
        if let Err(SubmitError::Overloaded { .. } | SubmitError::Unavailable { .. }) = result {
            state.not_taken.insert(self.commands[index].0);
        }
        state.answers[index] = result;
        state.missing -= 1;
        if state.missing == 0
            && let Some(done) = state.done.take()
        {
            // See `Asked::answer`.
            drop(done.send(std::mem::take(&mut state.answers)));
        }
    }
}
