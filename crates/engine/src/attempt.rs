//! Booking attempts that were refused or failed, as stores keep them: beside the journal, bounded in age and number.

use boxoffice_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::limits::{ATTEMPTS_KEPT_MS, ATTEMPTS_MAX};

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Orders attempts by time; unique as long as no node has a million in one millisecond.
    pub id: AttemptId,
    /// Whose inventory it was for.
    pub tenant: String,
    /// Of the request.
    pub request_id: String,
    /// The request id in the response, where an idempotency key determines that.
    pub answer_id: Option<String>,
    /// Such as `event:gala`.
    pub inventory: String,
    /// The caller's reference.
    pub customer: String,
    /// The code of the refusal or failure.
    pub code: String,
    /// Whether the server is to blame.
    pub failed: bool,
}

/// When an attempt was made, in milliseconds, and a number that tells it from others of that millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttemptId(pub u64);

const NUMBER_BITS: u32 = 20;

impl AttemptId {
    /// Later than every attempt.
    pub const END: AttemptId = AttemptId(i64::MAX.cast_unsigned());

    /// Uses the lowest 20 bits of the number.
    pub fn new(at: Timestamp, number: u64) -> AttemptId {
        let ms = u64::try_from(at.0).unwrap_or(0);
        AttemptId(ms << NUMBER_BITS | number & ((1 << NUMBER_BITS) - 1))
    }

    /// When the attempt was made.
    pub fn at(self) -> Timestamp {
        Timestamp((self.0 >> NUMBER_BITS).cast_signed())
    }

    /// Attempts before this one are no longer kept at a time.
    pub fn oldest_kept(now: Timestamp) -> AttemptId {
        AttemptId::new(Timestamp(now.0.saturating_sub(ATTEMPTS_KEPT_MS)), 0)
    }
}

/// How many attempts a store may have beyond those that it keeps.
pub fn surplus(attempts: u64) -> u64 {
    attempts.saturating_sub(ATTEMPTS_MAX)
}

/// Which attempts are wanted: of one tenant, and of all that is given.
#[derive(Debug, Clone)]
pub struct AttemptFilter {
    /// Whose.
    pub tenant: String,
    /// Of the request or of its response.
    pub request_id: Option<String>,
    /// The caller's reference.
    pub customer: Option<String>,
    /// Such as `event:gala`.
    pub inventory: Option<String>,
    /// The code of the refusal or failure.
    pub code: Option<String>,
}

/// Attempts that were found, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttemptPage {
    /// As many as were asked for, if there are so many.
    pub found: Vec<Attempt>,
    /// Where the search stopped because it had looked at enough: there may be more before this one.
    pub searched_to: Option<AttemptId>,
}

impl AttemptFilter {
    /// Whether an attempt is wanted.
    pub fn matches(&self, attempt: &Attempt) -> bool {
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        let of_request = is(&self.request_id, &attempt.request_id)
            || attempt.answer_id.as_deref().is_some_and(|id| is(&self.request_id, id));
        self.tenant == attempt.tenant
            && of_request
            && is(&self.customer, &attempt.customer)
            && is(&self.inventory, &attempt.inventory)
            && is(&self.code, &attempt.code)
    }
}
