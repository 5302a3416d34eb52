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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::rules::LatePayment;
    use crate::testing::{Reached, Scene, book, confirm, museum, slot};

    #[test]
    fn slots_are_deleted_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let delete = |name: &str| Action::DeleteSlot(DeleteSlot { slot: slot(name) });
        let nine = "2026-12-01T09:00";
        let mut scene = Scene::empty();
        scene.row(delete(nine), "SCHEDULE_NOT_FOUND");
        let mut scene = Scene::of(museum());
        scene.row(book("b1", "ann").places(nine, 1), "on hold 2026-12-01T09:00 x1 for 100 until 600");
        scene.row(delete(nine), "SLOT_HAS_BOOKINGS");
        scene.at(600).row(delete(nine), "2026-12-01T09:00 deleted");
        scene.row(delete(nine), "SLOT_NOT_FOUND");
        scene.row(book("b2", "ann").places(nine, 1), "SLOT_NOT_FOUND");
        scene.row(confirm("b1").if_expired(LatePayment::SameUnits), "SLOT_NOT_FOUND");
        scene.shows("2026-12-01T12:00 0h 0s of 4\n2026-12-02T09:00 0h 0s of 4\n2026-12-02T12:00 0h 0s of 4");
        scene.reached
    }
}
