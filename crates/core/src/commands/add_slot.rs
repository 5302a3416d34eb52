//! Adds one slot by hand.

use serde::{Deserialize, Serialize};

use super::Decision;
use super::create_schedule::check_window;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::limits::SLOTS_PER_SCHEDULE_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::schedule::{Schedule, Window};
use crate::time::{Date, SlotId, Timestamp};

/// Adds one slot by hand, on any date: also on closed ones, and beyond the days that are rolled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddSlot {
    /// The local date.
    pub date: Date,
    /// Times, capacity and price.
    pub window: Window,
}

impl AddSlot {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        self.date.check("/date")?;
        check_window(&self.window, "")?;
        let schedule = inventory.schedule()?;
        if schedule.slots.len() >= SLOTS_PER_SCHEDULE_MAX {
            return Err(Refusal::Overloaded);
        }
        let id = SlotId { date: self.date, start: self.window.start };
        if schedule.slots.contains_key(&id) {
            return Err(Refusal::SlotAlreadyExists);
        }
        let slot = Schedule::slot_at(&schedule.zone, self.date, &self.window);
        if slot.is_past(now) {
            return Err(Refusal::CannotCreatePastSlot);
        }

        Ok(Decision::one(Change::SlotsAdded(vec![(id, slot)]), Reply::Slot(id)))
    }
}
