//! Collects or admits a booking.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::booking::{Status, Units};
use crate::change::Change;
use crate::ids::{BookingId, RedeemCode};
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::time::Timestamp;

/// Collects or admits a confirmed booking, once, with its code; in a schedule only on the day of its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redeem {
    /// Which.
    pub booking: BookingId,
    /// As read out at the door; `None` if it was not even the form of a code.
    pub redeem_code: Option<RedeemCode>,
}

impl Redeem {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        let booking = inventory.find_booking(self.booking)?;
        match booking.status {
            Status::Confirmed { .. } => {}
            Status::Redeemed { redeemed_at, .. } => return Err(Refusal::AlreadyRedeemed { redeemed_at }),
            Status::OnHold { .. } | Status::Cancelled { .. } | Status::Expired { .. } => {
                return Err(Refusal::NotRedeemable);
            }
        }
        if self.redeem_code != Some(booking.redeem_code) {
            return Err(Refusal::WrongCode);
        }
        if let Units::Slot { slot, .. } = booking.units
            && inventory.schedule()?.zone.date_at(now) != slot.date
        {
            return Err(Refusal::WrongDate);
        }

        Ok(Decision::one(Change::Redeemed { booking: self.booking }, Reply::Booking(self.booking)))
    }
}
