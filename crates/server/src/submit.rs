//! The way from a handler to the engine and back.

use std::sync::Arc;

use axum::http::StatusCode;
use boxoffice_core::booking::Booking;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::ids::BookingId;
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_engine::view::StockView;
use boxoffice_engine::{Answer, Engine, InventoryNumber, SubmitError};
use serde_json::Value;

use crate::answer;
use crate::app::App;
use crate::caller::Caller;
use crate::contacts::Contact;
use crate::idempotency::{IdempotencyKey, Understood};
use crate::keys::Role;
use crate::measure;
use crate::problem::Problem;
use crate::routes::bookings::create::used_for_another_request;
use crate::routes::bookings::kind_of;

/// A request on its way: who sends it, under which key, and what it is, for the fingerprint.
pub(crate) struct Asked<'a, T> {
    pub(crate) app: &'a App,
    pub(crate) caller: &'a Caller,
    pub(crate) key: &'a IdempotencyKey,
    /// Names what is asked, and of what.
    pub(crate) operation: &'a str,
    /// As it was understood.
    pub(crate) request: &'a T,
}

/// What was granted, durable and published.
pub(crate) struct Granted {
    pub(crate) answer: Answer,
    pub(crate) stock: Arc<StockView>,
    /// The caller's.
    pub(crate) tenant: Arc<str>,
    /// How to reach the customer of the booking, for callers who may know.
    pub(crate) contact: Option<Box<Contact>>,
}

impl Granted {
    /// Counts a booking, unless it is the first answer again.
    pub(crate) fn count(&self) {
        if !self.answer.replayed {
            measure::count_granted(kind_of(&self.stock));
        }
    }

    /// The booking that was made or acted on.
    pub(crate) fn booking(&self) -> &Booking {
        booking_of(self.grant())
    }

    pub(crate) fn grant(&self) -> &Grant {
        match &self.answer.outcome {
            Outcome::Granted(grant) => grant,
            Outcome::Refused(_) => unreachable!("refusals became problems"),
        }
    }
}

fn booking_of(grant: &Grant) -> &Booking {
    match grant {
        Grant::Booking(booking) => booking,
        Grant::Moved(moved) => &moved.booking,
        Grant::Inventory(_)
        | Grant::Slot(_)
        | Grant::SlotDeleted(_)
        | Grant::Box(_)
        | Grant::Tickets { .. }
        | Grant::Done
        | Grant::EventCancelled { .. } => unreachable!("commands on bookings are answered with a booking"),
    }
}

/// The bookings of answers that granted something to one.
pub(crate) fn granted_bookings(answers: &[Result<Answer, SubmitError>]) -> impl Iterator<Item = &Booking> {
    answers.iter().filter_map(|answer| granted_booking(answer.as_ref().ok()?))
}

/// The same of those answers that are first answers again.
pub(crate) fn replayed_bookings(answers: &[Result<Answer, SubmitError>]) -> impl Iterator<Item = &Booking> {
    answers.iter().filter_map(|answer| {
        let answer = answer.as_ref().ok()?;
        if answer.replayed { granted_booking(answer) } else { None }
    })
}

fn granted_booking(answer: &Answer) -> Option<&Booking> {
    match &answer.outcome {
        Outcome::Granted(Grant::Booking(booking)) => Some(booking),
        Outcome::Granted(Grant::Moved(moved)) => Some(&moved.booking),
        Outcome::Granted(_) | Outcome::Refused(_) => None,
    }
}

impl<T: Understood> Asked<'_, T> {
    /// The command that asks for an action.
    pub(crate) fn command(&self, action: Action) -> Command {
        let idempotency = self.key.for_request(self.app, self.caller, self.operation, self.request);
        Command { by: self.caller.actor, idempotency, action }
    }

    /// Sends an action to an inventory and waits for its durable answer.
    pub(crate) async fn send(&self, inventory: InventoryNumber, action: Action) -> Result<Granted, Problem> {
        let answer = self.app.engine.submit(inventory, self.command(action)).await?;
        self.understand(stock_after(&self.app.engine, inventory).await?, answer).await
    }

    /// Sends an action that creates the inventory of a name.
    pub(crate) async fn create(&self, name: &str, action: Action) -> Result<Granted, Problem> {
        let answer = self.app.engine.submit_to(name, self.command(action)).await?;
        match self.app.engine.number(name) {
            Some(inventory) => self.understand(stock_after(&self.app.engine, inventory).await?, answer).await,
            // Refused, and so not made.
            None => match answer::granted(&answer, None, self.caller) {
                Err(problem) => Err(problem),
                Ok(_) => unreachable!("what was created has a number"),
            },
        }
    }

    /// Turns refusals into problems, with the names of seats from the stock.
    pub(crate) async fn understand(&self, stock: Arc<StockView>, answer: Answer) -> Result<Granted, Problem> {
        if answer.replayed {
            measure::count_replay();
        }
        match answer::granted(&answer, Some(&stock), self.caller) {
            Ok(_) => {
                let tenant = Arc::clone(&self.caller.tenant);
                Ok(Granted { answer, stock, tenant, contact: None })
            }
            Err(problem) if problem.code == "IDEMPOTENCY_KEY_REUSED" && self.key.is_booking_id() => {
                Err(used_for_another_request(self.key))
            }
            Err(mut problem) => {
                self.hide_others_booking(&mut problem).await?;
                let remembered =
                    matches!(problem.status, StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::GONE);
                if remembered {
                    problem.answer_id = self.key.answer_id(self.app, self.caller);
                }
                Err(problem)
            }
        }
    }

    /// A customer's other booking is named only to those who may see it.
    async fn hide_others_booking(&self, problem: &mut Problem) -> Result<(), Problem> {
        if self.caller.role != Role::Seller {
            return Ok(());
        }
        let Some(named) = problem.more.get("booking").and_then(Value::as_str) else { return Ok(()) };
        let id = BookingId::from_bytes(uuid::Uuid::try_parse(named).expect("we wrote it").into_bytes());
        let found = self.app.engine.booking(&self.caller.tenant, id).await.map_err(|error| untold(&error))?;
        if !found.is_some_and(|(_, booking)| self.caller.sees(&booking)) {
            problem.more.insert("booking".to_owned(), Value::Null);
        }
        Ok(())
    }
}

/// The stock with which an answer of the engine is told. The command was decided: whoever cannot be told how must not be told that
/// nothing was done.
pub(crate) async fn stock_after(
    engine: &Engine,
    inventory: InventoryNumber,
) -> Result<Arc<StockView>, SubmitError> {
    engine.view(inventory).await.map_err(|error| untold(&error))
}

/// What is left to say when something cannot be read that is needed to tell an answer.
pub(crate) fn untold(error: &SubmitError) -> SubmitError {
    tracing::warn!(%error, "a command was decided, and its answer cannot be told");
    SubmitError::OutcomeUnknown
}

#[cfg(test)]
mod tests {
    use boxoffice_engine::store::MemoryStore;
    use boxoffice_engine::{Clock, Settings};

    use super::*;

    #[tokio::test]
    async fn whoever_cannot_be_told_an_answer_is_not_told_that_nothing_was_done() {
        let store = Arc::new(MemoryStore::default());
        let engine = Engine::start(store, Clock::system(), &Settings::default()).unwrap();
        let unreadable = stock_after(&engine, InventoryNumber(7)).await;
        assert_eq!(Problem::from(unreadable.unwrap_err()).code, "OUTCOME_UNKNOWN");
    }
}
