//! Closes or opens a slot, or changes its capacity or price.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::limits::POOL_CAPACITY_MAX;
use crate::money::Money;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::check_within;
use crate::time::SlotId;

/// Closes or opens a slot, or changes its capacity or price. Bookings keep the price they were made at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchSlot {
    /// Which.
    pub slot: SlotId,
    /// Whether the operator keeps it closed.
    pub closed: Option<bool>,
    /// Its places.
    pub capacity: Option<u32>,
    /// Of one place.
    pub price: Option<Money>,
}

impl PatchSlot {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        if let Some(capacity) = self.capacity {
            check_within(capacity, POOL_CAPACITY_MAX, "/total_capacity")?;
        }
        if let Some(price) = self.price {
            price.check_price("/price")?;
        }
        let schedule = inventory.schedule()?;
        let slot = schedule.slots.get(&self.slot).ok_or(Refusal::SlotNotFound)?;
        let closed = self.closed.unwrap_or(slot.closed);
        let capacity = self.capacity.unwrap_or(slot.pool.capacity);
        let price = self.price.unwrap_or(slot.price);
        let booked = slot.pool.booked();
        if capacity < booked {
            return Err(Refusal::CapacityBelowBookedCount { booked });
        }
        if (closed, capacity, price) == (slot.closed, slot.pool.capacity, slot.price) {
            return Ok(Decision::nothing(Reply::Slot(self.slot)));
        }

        let change = Change::SlotPatched { slot: self.slot, closed, capacity, price };
        Ok(Decision::one(change, Reply::Slot(self.slot)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::testing::{Reached, Scene, book, cancel, confirm, museum, slot};

    #[test]
    fn slots_are_patched_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let patch = |name: &str, closed, capacity| {
            Action::PatchSlot(PatchSlot { slot: slot(name), closed, capacity, price: None })
        };
        let priced = |name: &str, price| {
            let price = Some(Money(price));
            Action::PatchSlot(PatchSlot { slot: slot(name), closed: None, capacity: None, price })
        };
        let nine = "2026-12-01T09:00";
        let mut scene = Scene::empty();
        scene.row(patch(nine, None, None), "SCHEDULE_NOT_FOUND");
        let mut scene = Scene::of(museum());
        scene.row(patch("2026-12-01T10:00", Some(true), None), "SLOT_NOT_FOUND");
        scene.row(patch(nine, None, None), "2026-12-01T09:00 until 12:00 open, 4 of 4 left");
        scene.row(patch(nine, None, Some(0)), "INVALID_REQUEST /total_capacity");
        scene.row(patch(nine, None, Some(1_000_001)), "INVALID_REQUEST /total_capacity");
        scene.row(book("b1", "ann").places(nine, 3), "on hold 2026-12-01T09:00 x3 for 300 until 600");
        scene.row(patch(nine, None, Some(2)), "CAPACITY_BELOW_BOOKED_COUNT 3 booked");
        scene.row(patch(nine, None, Some(3)), "2026-12-01T09:00 until 12:00 open, 0 of 3 left");
        scene.row(patch(nine, Some(true), Some(5)), "2026-12-01T09:00 until 12:00 closed, 2 of 5 left");
        scene.row(book("b2", "bob").places(nine, 1), "SLOT_CLOSED");
        // A closed slot stays closed whatever is cancelled in it.
        scene.row(cancel("b1"), "cancelled 2026-12-01T09:00 x3 for 300");
        scene.row(book("b2", "bob").places(nine, 1), "SLOT_CLOSED");
        scene.row(patch(nine, Some(false), None), "2026-12-01T09:00 until 12:00 open, 5 of 5 left");
        scene.row(priced(nine, -1), "INVALID_REQUEST /price");
        scene.row(priced("2026-12-01T10:00", 1), "SLOT_NOT_FOUND");
        scene.row(book("b3", "cy").places(nine, 1), "on hold 2026-12-01T09:00 x1 for 100 until 600");
        scene.row(priced(nine, 70), "2026-12-01T09:00 until 12:00 open, 4 of 5 left");
        scene.row(priced(nine, 70), "2026-12-01T09:00 until 12:00 open, 4 of 5 left");
        scene.row(confirm("b3"), "confirmed 2026-12-01T09:00 x1 for 100");
        scene.row(book("b2", "bob").places(nine, 4), "on hold 2026-12-01T09:00 x4 for 280 until 600");
        scene.reached
    }
}
