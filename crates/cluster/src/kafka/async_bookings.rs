//! Bookings whose caller got 202 and does not wait for the decision.
//!
//! The node that decides one queues the outcome here, without waiting, so that it can be counted and listed, and the key of an unused
//! contact removed. The id of the request
//! travels as a header of the command's message. What is in the queue when the node dies is not counted.

use std::sync::Arc;

use boxoffice_core::command::{Action, Command};
use boxoffice_core::outcome::Outcome;
use boxoffice_core::refusal::Refusal;
use boxoffice_engine::{Answer, InventoryNumber};
use rdkafka::message::{Header, Headers, OwnedHeaders};
use tokio::sync::mpsc;

/// Outcomes that wait to be counted: some hundred bytes each. A node decides at most 1,024 in one round.
const QUEUED_MAX: usize = 16_384;
/// The header with the request's id.
const REQUEST_ID: &str = "request-id";

/// A booking that was decided after its caller got 202.
#[derive(Debug, Clone)]
pub struct AsyncBooking {
    /// Of the request that was answered 202.
    pub request_id: String,
    /// Where it was decided.
    pub inventory: InventoryNumber,
    /// The caller's reference.
    pub customer: Arc<str>,
    /// How to reach the customer, as the caller sealed it.
    pub contact: Option<Arc<[u8]>>,
    /// The decision.
    pub outcome: AsyncOutcome,
}

/// What became of such a booking.
#[derive(Debug, Clone)]
pub enum AsyncOutcome {
    /// It was made.
    Granted,
    /// It was decided before: this request changed nothing.
    Replayed,
    /// The rules or the stock forbid it.
    Refused(Box<Refusal>),
    /// It cannot be decided and is a dead letter.
    Failed,
}

/// Takes the outcomes.
#[derive(Debug, Clone)]
pub(super) struct AsyncBookings(mpsc::Sender<AsyncBooking>);

pub(super) fn queue() -> (AsyncBookings, mpsc::Receiver<AsyncBooking>) {
    let (sender, receiver) = mpsc::channel(QUEUED_MAX);
    (AsyncBookings(sender), receiver)
}

/// The headers of a command whose caller does not wait.
pub(super) fn headers_of(request_id: &str) -> OwnedHeaders {
    OwnedHeaders::new().insert(Header { key: REQUEST_ID, value: Some(request_id) })
}

fn request_id(headers: &OwnedHeaders) -> Option<String> {
    let header = headers.iter().find(|header| header.key == REQUEST_ID)?;
    std::str::from_utf8(header.value?).ok().map(str::to_owned)
}

impl AsyncBookings {
    /// Queues the outcome of a command whose caller does not wait, if it is a booking. `answer` is `None` of a dead letter.
    pub(super) fn note(
        &self,
        inventory: InventoryNumber,
        command: &Command,
        headers: Option<&OwnedHeaders>,
        answer: Option<Answer>,
    ) {
        let Action::Book(book) = &command.action else { return };
        let Some(request_id) = headers.and_then(request_id) else { return };
        let outcome = match answer {
            Some(Answer { replayed: true, .. }) => AsyncOutcome::Replayed,
            Some(Answer { outcome: Outcome::Granted(_), .. }) => AsyncOutcome::Granted,
            Some(Answer { outcome: Outcome::Refused(refusal), .. }) => AsyncOutcome::Refused(refusal),
            None => AsyncOutcome::Failed,
        };
        let (customer, contact) = (Arc::clone(&book.customer), book.contact.clone());
        let booking = AsyncBooking { request_id, inventory, customer, contact, outcome };
        if self.0.try_send(booking).is_err() {
            tracing::debug!("a booking decided after 202 is not counted: too many wait");
        }
    }
}
