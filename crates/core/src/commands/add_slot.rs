//! Adds one slot by hand.

use serde::{Deserialize, Serialize};

use super::Decision;
use super::create_schedule::check_window;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::limits::SLOTS_PER_SCHEDULE_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::check_room;
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
        check_room(schedule.slots.len(), SLOTS_PER_SCHEDULE_MAX)?;
        let id = SlotId { date: self.date, start: self.window.start };
        if schedule.slots.contains_key(&id) {
            return Err(Refusal::SlotAlreadyExists);
        }
        let slot = Schedule::slot_at(&schedule.zone, self.date, &self.window);
        if !slot.exists() {
            return Err(Refusal::invalid("/start", "the clocks skip this time on that date"));
        }
        if slot.is_past(now) {
            return Err(Refusal::CannotCreatePastSlot);
        }

        Ok(Decision::one(Change::SlotsAdded(vec![(id, slot)]), Reply::Slot(id)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::commands::CreateSchedule;
    use crate::testing::{Reached, Scene, add_slot, museum, window};
    use crate::time::Minute;

    #[test]
    fn slots_are_added_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let evening = window("18:00", "24:00", 5, 0);
        let mut scene = Scene::empty();
        scene.row(add_slot("2026-12-01", evening), "SCHEDULE_NOT_FOUND");
        let mut scene = Scene::of(museum());
        scene.row(add_slot("2026-12-01", evening), "2026-12-01T18:00 until 24:00 open, 5 of 5 left");
        scene.row(add_slot("2026-12-01", evening), "SLOT_ALREADY_EXISTS");
        scene.row(add_slot("2026-12-01", window("09:00", "10:00", 5, 0)), "SLOT_ALREADY_EXISTS");
        scene.row(add_slot("2026-11-30", evening), "CANNOT_CREATE_PAST_SLOT");
        // It is 08:00: what ends then is past, what ends a minute later is not.
        scene.row(add_slot("2026-12-01", window("06:00", "08:00", 5, 0)), "CANNOT_CREATE_PAST_SLOT");
        scene.row(
            add_slot("2026-12-01", window("06:00", "08:01", 5, 0)),
            "2026-12-01T06:00 until 08:01 open, 5 of 5 left",
        );
        scene.row(
            add_slot("2027-12-01", window("06:00", "08:00", 5, 0)),
            "2027-12-01T06:00 until 08:00 open, 5 of 5 left",
        );
        scene.row(add_slot("2026-12-01", Window { capacity: 0, ..evening }), "INVALID_REQUEST /capacity");
        scene.row(add_slot("2026-12-01", Window { end: Minute(0), ..evening }), "INVALID_REQUEST /end");
        let never = Action::AddSlot(AddSlot { date: Date(i32::MIN), window: evening });
        scene.row(never, "INVALID_REQUEST /date");

        // In Berlin the clocks skip from 02:00 to 03:00 on this date.
        let mut berlin = Scene::of(CreateSchedule { timezone: "Europe/Berlin".to_owned(), ..museum() });
        let night = "2027-03-28";
        berlin.row(add_slot(night, window("02:00", "03:00", 5, 0)), "INVALID_REQUEST /start");
        berlin.row(add_slot(night, window("02:30", "03:00", 5, 0)), "INVALID_REQUEST /start");
        berlin.row(add_slot(night, window("02:10", "02:50", 5, 0)), "INVALID_REQUEST /start");
        berlin.row(
            add_slot(night, window("02:31", "03:15", 5, 0)),
            "2027-03-28T02:31 until 03:15 open, 5 of 5 left",
        );
        berlin.row(
            add_slot(night, window("01:59", "03:00", 5, 0)),
            "2027-03-28T01:59 until 03:00 open, 5 of 5 left",
        );
        scene.reached
    }
}
