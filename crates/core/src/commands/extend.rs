//! Keeps a hold longer.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::booking::Status;
use crate::change::Change;
use crate::ids::BookingId;
use crate::inventory::Inventory;
use crate::limits::HOLD_SECONDS_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::check_within;
use crate::time::Timestamp;

/// Keeps a hold longer: until `seconds` from now, never shorter than it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extend {
    /// Which.
    pub booking: BookingId,
    /// From now.
    pub seconds: u32,
}

impl Extend {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        check_within(self.seconds, HOLD_SECONDS_MAX, "/seconds")?;
        let booking = inventory.find_booking(self.booking)?;
        let reply = Reply::Booking(self.booking);
        let current = match booking.status {
            Status::OnHold { expires_at } => expires_at,
            Status::Expired { .. } => return Err(Refusal::HoldExpired),
            Status::Confirmed { .. } | Status::Redeemed { .. } | Status::Cancelled { .. } => {
                return Err(Refusal::NotExtendable);
            }
        };
        let expires_at = now.plus_seconds(self.seconds);
        if expires_at <= current {
            return Ok(Decision::nothing(reply));
        }
        let terms = inventory.terms().expect("bookings are in inventories that exist");
        if expires_at > booking.created_at.plus_seconds(terms.rules.max_hold_seconds) {
            return Err(Refusal::HoldLimitReached);
        }

        Ok(Decision::one(Change::Extended { booking: self.booking, expires_at }, reply))
    }
}
