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

#[cfg(test)]
pub(crate) mod tests {
    use crate::testing::{Reached, Scene, book, cancel, confirm, extend, id, one_section, redeem};

    #[test]
    fn holds_are_extended_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::of(one_section(1, 4));
        scene.row(extend("b1", 60), "BOOKING_NOT_FOUND");
        scene.row(book("b1", "ann").best(1), "on hold A-1 1-1 for 1000 until 900");
        scene.row(extend("b1", 0), "INVALID_REQUEST /seconds");
        scene.row(extend("b1", 86_401), "INVALID_REQUEST /seconds");
        // Never earlier than it was.
        scene.row(extend("b1", 60), "on hold A-1 1-1 for 1000 until 900");
        scene.row(extend("b1", 900), "on hold A-1 1-1 for 1000 until 900");
        assert_eq!(scene.inventory.booking(id("b1")).unwrap().version, 1);
        scene.at(100).row(extend("b1", 900), "on hold A-1 1-1 for 1000 until 1000");
        assert_eq!(scene.inventory.booking(id("b1")).unwrap().version, 2);
        // Never later than an hour after it was made.
        scene.row(extend("b1", 3_501), "HOLD_LIMIT_REACHED");
        scene.row(extend("b1", 3_500), "on hold A-1 1-1 for 1000 until 3600");
        scene.at(3_599).row(extend("b1", 2), "HOLD_LIMIT_REACHED");
        scene.row(extend("b1", 1), "on hold A-1 1-1 for 1000 until 3600");
        scene.at(3_600).row(extend("b1", 1), "HOLD_EXPIRED");
        scene.row(book("b2", "ann").best(1), "on hold A-1 1-1 for 1000 until 4500");
        scene.row(confirm("b2"), "confirmed A-1 1-1 for 1000");
        scene.row(extend("b2", 60), "NOT_EXTENDABLE");
        scene.row(redeem("b2"), "redeemed A-1 1-1 for 1000");
        scene.row(extend("b2", 60), "NOT_EXTENDABLE");
        scene.row(book("b3", "ann").best(1), "on hold A-1 1-2 for 1000 until 4500");
        scene.row(cancel("b3"), "cancelled A-1 1-2 for 1000");
        scene.row(extend("b3", 60), "NOT_EXTENDABLE");
        scene.reached
    }
}
