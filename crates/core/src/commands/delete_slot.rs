//! Removes a slot that nobody booked.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::time::SlotId;

/// Removes a slot that nobody booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteSlot {
    /// Which.
    pub slot: SlotId,
}

impl DeleteSlot {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        let schedule = inventory.schedule()?;
        let slot = schedule.slots.get(&self.slot).ok_or(Refusal::SlotNotFound)?;
        if slot.pool.booked() > 0 {
            return Err(Refusal::SlotHasBookings);
        }

        Ok(Decision::one(Change::SlotsRemoved(vec![self.slot]), Reply::SlotDeleted(self.slot)))
    }
}
