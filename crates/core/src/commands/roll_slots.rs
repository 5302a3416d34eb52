//! Makes the slots of the days that came into view, and removes old ones. Sent when due.

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::limits::SLOTS_PER_SCHEDULE_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::schedule::{Pattern, Schedule};
use crate::time::{Date, SlotId, Timestamp, Zone};

pub(crate) fn decide(inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
    let schedule = inventory.schedule()?;
    let today = schedule.zone.date_at(now);

    let oldest_kept = today.plus_days(-i32::from(schedule.pattern.keep_past_days));
    let stale: Vec<SlotId> = schedule
        .slots
        .iter()
        .take_while(|(id, _)| id.date < oldest_kept)
        .filter(|(_, slot)| slot.pool.booked() == 0)
        .map(|(id, _)| *id)
        .collect();
    let mut changes = Vec::new();
    if !stale.is_empty() {
        changes.push(Change::SlotsRemoved(stale));
    }
    let through = horizon(today, &schedule.pattern);
    let made = schedule.rolled_through();
    if through > made {
        let first = made.plus_days(1).max(today);
        let mut added = Schedule::planned(&schedule.zone, &schedule.pattern, first..=through, now);
        added.retain(|(id, _)| !schedule.slots.contains_key(id));
        if !added.is_empty() {
            changes.push(Change::SlotsAdded(added));
        }
        changes.push(Change::RolledThrough(through));
    }
    Ok(Decision { changes, reply: Reply::Done })
}

/// The changes that make the slots of a new schedule.
pub(crate) fn first_days(zone: &Zone, pattern: &Pattern, now: Timestamp) -> Vec<Change> {
    let today = zone.date_at(now);
    let through = horizon(today, pattern);
    let slots = Schedule::planned(zone, pattern, today..=through, now);
    vec![Change::SlotsAdded(slots), Change::RolledThrough(through)]
}

/// The changes that turn the slots of today and later from one pattern to another.
pub(crate) fn repattern(
    schedule: &Schedule,
    pattern: &Pattern,
    now: Timestamp,
) -> Result<Vec<Change>, Refusal> {
    let today = schedule.zone.date_at(now);
    let through = horizon(today, pattern);
    let made = schedule.rolled_through();
    let is_kept = |id: &SlotId| {
        let old = schedule.pattern.window_of(*id).filter(|_| id.date <= made);
        let new = pattern.window_of(*id).filter(|_| id.date <= through);
        old == new
    };

    let mut removed = Vec::new();
    let mut closed = Vec::new();
    let first = SlotId { date: today, start: crate::time::Minute(0) };
    for (id, slot) in schedule.slots.range(first..).filter(|(id, slot)| !slot.is_past(now) && !is_kept(id)) {
        if slot.pool.booked() == 0 {
            removed.push(*id);
        } else if pattern.window_of(*id).is_none() {
            let (capacity, price) = (slot.pool.capacity, slot.price);
            closed.push(Change::SlotPatched { slot: *id, closed: true, capacity, price });
        }
    }
    let mut added = Schedule::planned(&schedule.zone, pattern, today..=through, now);
    added.retain(|(id, _)| {
        let taken = schedule.slots.contains_key(id) && removed.binary_search(id).is_err();
        !taken && !is_kept(id)
    });
    if schedule.slots.len() - removed.len() + added.len() > SLOTS_PER_SCHEDULE_MAX {
        let message = format!("would make more than {SLOTS_PER_SCHEDULE_MAX} slots");
        return Err(Refusal::invalid("/windows", message));
    }
    Ok([
        some_slots(removed, Change::SlotsRemoved),
        closed,
        some_slots(added, Change::SlotsAdded),
        vec![Change::RolledThrough(through)],
    ]
    .concat())
}

fn some_slots<T>(slots: Vec<T>, change: fn(Vec<T>) -> Change) -> Vec<Change> {
    if slots.is_empty() { Vec::new() } else { vec![change(slots)] }
}

fn horizon(today: Date, pattern: &Pattern) -> Date {
    today.plus_days(i32::from(pattern.days) - 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::command::Action;
    use crate::testing::{Reached, Scene, add_slot, bakery, book, museum, second, window};

    #[test]
    fn slots_roll_with_the_days() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let day = 86_400;
        let midnight = 16 * 3_600;
        let mut scene = Scene::of(museum());
        assert_eq!(
            scene.inventory.next_deadlines().roll,
            Some(second(midnight)),
            "the next day begins at 16:00Z"
        );
        scene.row(
            book("b1", "ann").places("2026-12-01T09:00", 1).paid(),
            "confirmed 2026-12-01T09:00 x1 for 100",
        );
        scene.row(
            add_slot("2026-12-03", window("09:00", "10:00", 1, 0)),
            "2026-12-03T09:00 until 10:00 open, 1 of 1 left",
        );
        scene.at(midnight - 1).row(Action::RollSlots, "done");
        assert_eq!(scene.inventory.schedule().unwrap().slots.len(), 5, "nothing is due a second early");
        scene.at(midnight).row(Action::RollSlots, "done");
        assert_eq!(scene.inventory.next_deadlines().roll, Some(second(midnight + day)));
        scene.shows(
            "2026-12-01T09:00 0h 1s of 4\n2026-12-01T12:00 0h 0s of 4\n\
             2026-12-02T09:00 0h 0s of 4\n2026-12-02T12:00 0h 0s of 4\n\
             2026-12-03T09:00 0h 0s of 1\n2026-12-03T12:00 0h 0s of 4",
        );
        assert_eq!(scene.apply(&Action::RollSlots.into()).changes, [], "nothing is due twice");
        // Kept for a day: the first of December goes on the third, except what was booked.
        scene.at(midnight + day).row(Action::RollSlots, "done");
        scene.shows(
            "2026-12-01T09:00 0h 1s of 4\n2026-12-02T09:00 0h 0s of 4\n2026-12-02T12:00 0h 0s of 4\n\
             2026-12-03T09:00 0h 0s of 1\n2026-12-03T12:00 0h 0s of 4\n\
             2026-12-04T09:00 0h 0s of 4\n2026-12-04T12:00 0h 0s of 4",
        );
        // A week without a roll: no slots for the days that were missed, and today's morning is over.
        scene.at(midnight + 7 * day + 12 * 3_600).row(Action::RollSlots, "done");
        scene.shows(
            "2026-12-01T09:00 0h 1s of 4\n2026-12-09T12:00 0h 0s of 4\n\
             2026-12-10T09:00 0h 0s of 4\n2026-12-10T12:00 0h 0s of 4",
        );
        Scene::of(bakery()).row(Action::RollSlots, "SCHEDULE_NOT_FOUND");
        scene.reached
    }
}
