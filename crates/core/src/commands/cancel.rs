//! Frees the units of a booking.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::booking::Status;
use crate::change::Change;
use crate::ids::{BookingId, check_text};
use crate::inventory::Inventory;
use crate::limits::REFERENCE_CHARACTERS_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;

/// Frees the units of a booking at once. Cancelling again frees nothing again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// Which.
    pub booking: BookingId,
    /// Why, in the caller's words.
    pub reason: Option<Arc<str>>,
}

impl Cancel {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        if let Some(reason) = &self.reason {
            check_text(reason, REFERENCE_CHARACTERS_MAX, "/reason")?;
        }
        let reply = Reply::Booking(self.booking);
        match inventory.find_booking(self.booking)?.status {
            Status::OnHold { .. } | Status::Confirmed { .. } => {
                let change = Change::Cancelled { booking: self.booking, reason: self.reason.clone() };
                Ok(Decision::one(change, reply))
            }
            Status::Cancelled { .. } => Ok(Decision::nothing(reply)),
            Status::Redeemed { .. } | Status::Expired { .. } => Err(Refusal::NotCancellable),
        }
    }
}
