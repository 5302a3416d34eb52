//! Closes or opens a slot, or changes its capacity.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::limits::POOL_CAPACITY_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::check_within;
use crate::time::SlotId;

/// Closes or opens a slot, or changes its capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchSlot {
    /// Which.
    pub slot: SlotId,
    /// Whether the operator keeps it closed.
    pub closed: Option<bool>,
    /// Its places.
    pub capacity: Option<u32>,
}

impl PatchSlot {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        if let Some(capacity) = self.capacity {
            check_within(capacity, POOL_CAPACITY_MAX, "/total_capacity")?;
        }
        let schedule = inventory.schedule()?;
        let slot = schedule.slots.get(&self.slot).ok_or(Refusal::SlotNotFound)?;
        let closed = self.closed.unwrap_or(slot.closed);
        let capacity = self.capacity.unwrap_or(slot.pool.capacity);
        let booked = slot.pool.booked();
        if capacity < booked {
            return Err(Refusal::CapacityBelowBookedCount { booked });
        }
        if (closed, capacity) == (slot.closed, slot.pool.capacity) {
            return Ok(Decision::nothing(Reply::Slot(self.slot)));
        }

        let change = Change::SlotPatched { slot: self.slot, closed, capacity };
        Ok(Decision::one(change, Reply::Slot(self.slot)))
    }
}
