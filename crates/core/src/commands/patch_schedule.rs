//! Changes the terms or the pattern of a schedule, or closes it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::create_schedule::check_pattern;
use super::{Decision, roll_slots};
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::TermsPatch;
use crate::schedule::{Pattern, Window};
use crate::time::{Date, Timestamp};

/// Changes the terms or the pattern of a schedule, or closes it.
///
/// A new pattern replaces the slots that nobody has booked, closes booked ones that it no longer has, and leaves the
/// other booked ones as they are. Slots that both patterns have, unchanged, stay as the operator left them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PatchSchedule {
    /// Name, sales window, status and rules.
    pub terms: TermsPatch,
    /// Which slots it makes.
    pub pattern: PatternPatch,
}

/// A change of some of a pattern; `None` leaves a part as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PatternPatch {
    /// See [`Pattern::windows`].
    pub windows: Option<Vec<Window>>,
    /// See [`Pattern::days`].
    pub days: Option<u16>,
    /// See [`Pattern::weekdays`].
    pub weekdays: Option<BTreeSet<u8>>,
    /// See [`Pattern::closed_dates`].
    pub closed_dates: Option<BTreeSet<Date>>,
    /// See [`Pattern::keep_past_days`].
    pub keep_past_days: Option<u16>,
}

impl PatchSchedule {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        let schedule = inventory.schedule()?;
        let terms = schedule.terms.patched(&self.terms)?;
        let old = schedule.pattern.clone();
        let pattern = Pattern {
            windows: self.pattern.windows.clone().unwrap_or(old.windows),
            days: self.pattern.days.unwrap_or(old.days),
            weekdays: self.pattern.weekdays.clone().unwrap_or(old.weekdays),
            closed_dates: self.pattern.closed_dates.clone().unwrap_or(old.closed_dates),
            keep_past_days: self.pattern.keep_past_days.unwrap_or(old.keep_past_days),
        };
        check_pattern(&pattern)?;

        let mut changes = Vec::new();
        if terms != schedule.terms {
            changes.push(Change::TermsPatched(Box::new(terms)));
        }
        if pattern != schedule.pattern {
            let slots = roll_slots::repattern(schedule, &pattern, now)?;
            changes.push(Change::PatternPatched(Box::new(pattern)));
            changes.extend(slots);
        }
        Ok(Decision { changes, reply: Reply::Inventory })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::testing::{Reached, Scene, add_slot, book, date, museum, window};

    #[test]
    fn schedules_are_patched_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let patch = |edit: fn(&mut PatchSchedule)| {
            let mut patch = PatchSchedule::default();
            edit(&mut patch);
            Action::PatchSchedule(Box::new(patch))
        };
        let mut scene = Scene::empty();
        scene.row(patch(|_| {}), "SCHEDULE_NOT_FOUND");
        scene.row(museum(), "schedule Open");
        scene.row(patch(|_| {}), "schedule Open");
        scene.row(patch(|patch| patch.pattern.days = Some(0)), "INVALID_REQUEST /days");
        scene.row(
            patch(|patch| patch.pattern.windows = Some(vec![window("09:00", "10:00", 0, 0)])),
            "INVALID_REQUEST /windows/0/capacity",
        );
        scene.row(patch(|patch| patch.terms.name = Some(String::new())), "INVALID_REQUEST /name");
        scene.row(patch(|patch| patch.terms.open = Some(false)), "schedule Closed");
        scene.row(book("b1", "ann").places("2026-12-01T09:00", 1), "INVENTORY_CLOSED");
        scene.row(patch(|patch| patch.terms.open = Some(true)), "schedule Open");

        // Booked: this morning and tomorrow noon. By hand: an evening.
        scene.row(
            book("b1", "ann").places("2026-12-01T09:00", 1),
            "on hold 2026-12-01T09:00 x1 for 100 until 600",
        );
        scene.row(
            book("b2", "ann").places("2026-12-02T12:00", 2),
            "on hold 2026-12-02T12:00 x2 for 300 until 600",
        );
        scene.row(
            add_slot("2026-12-02", window("19:00", "21:00", 9, 0)),
            "2026-12-02T19:00 until 21:00 open, 9 of 9 left",
        );
        let evenings = patch(|patch| {
            patch.pattern.windows =
                Some(vec![window("09:00", "12:00", 6, 100), window("18:00", "19:00", 5, 100)]);
            patch.pattern.days = Some(3);
        });
        scene.row(evenings, "schedule Open");
        scene.shows(
            "2026-12-01T09:00 1h 0s of 4\n2026-12-01T18:00 0h 0s of 5\n\
             2026-12-02T09:00 0h 0s of 6\n2026-12-02T12:00 2h 0s of 4 closed\n2026-12-02T18:00 0h 0s of 5\n\
             2026-12-02T19:00 0h 0s of 9\n2026-12-03T09:00 0h 0s of 6\n2026-12-03T18:00 0h 0s of 5",
        );

        // Only today: tomorrow's slots go, except the booked one and the one made by hand.
        scene.row(patch(|patch| patch.pattern.days = Some(1)), "schedule Open");
        scene.shows(
            "2026-12-01T09:00 1h 0s of 4\n2026-12-01T18:00 0h 0s of 5\n\
             2026-12-02T12:00 2h 0s of 4 closed\n2026-12-02T19:00 0h 0s of 9",
        );
        let reopened = patch(|patch| {
            patch.pattern.days = Some(2);
            patch.pattern.weekdays = Some([3].into());
            patch.pattern.keep_past_days = Some(9);
        });
        scene.row(reopened, "schedule Open");
        scene.shows(
            "2026-12-01T09:00 1h 0s of 4 closed\n\
             2026-12-02T09:00 0h 0s of 6\n2026-12-02T12:00 2h 0s of 4 closed\n2026-12-02T18:00 0h 0s of 5\n\
             2026-12-02T19:00 0h 0s of 9",
        );
        // The morning of today is over by now and stays as it was, whatever the pattern.
        scene.at(4 * 3_600).row(
            patch(|patch| patch.pattern.closed_dates = Some([date("2026-12-02")].into())),
            "schedule Open",
        );
        scene.shows(
            "2026-12-01T09:00 0h 0s of 4 closed\n2026-12-02T12:00 0h 0s of 4 closed\n2026-12-02T19:00 0h 0s of 9",
        );
        scene.reached
    }
}
