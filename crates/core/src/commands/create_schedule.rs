//! Makes an inventory a schedule, with the slots of its first days.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{Decision, roll_slots};
use crate::change::Change;
use crate::ids::InventoryKind;
use crate::inventory::Inventory;
use crate::limits::{
    CLOSED_DATES_MAX, KEEP_PAST_DAYS_MAX, POOL_CAPACITY_MAX, SCHEDULE_DAYS_MAX, WINDOWS_PER_DAY_MAX,
};
use crate::money::Currency;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::{RulesPatch, SalesWindow, Terms, check_within};
use crate::schedule::{Pattern, SchedulePlan, Window};
use crate::time::{DAY_MINUTES, Timestamp, Zone};

/// Makes an inventory a schedule, with the slots of its first days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateSchedule {
    /// The id of the inventory.
    pub id: String,
    /// For people.
    pub name: String,
    /// IANA name.
    pub timezone: String,
    /// Of all its prices.
    pub currency: Currency,
    /// When bookings can be made.
    pub sales: SalesWindow,
    /// What differs from the default rules of a schedule.
    pub rules: RulesPatch,
    /// Which slots it makes.
    pub pattern: Pattern,
}

impl CreateSchedule {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        let terms =
            Terms::new(InventoryKind::Schedule, &self.id, &self.name, self.currency, self.sales, self.rules)?;
        let zone = Zone::named(&self.timezone, "/timezone")?;
        check_pattern(&self.pattern)?;
        if inventory.stock().is_some() {
            return Err(Refusal::AlreadyExists);
        }

        let plan = SchedulePlan { terms, timezone: zone.name().to_owned(), pattern: self.pattern.clone() };
        let mut changes = vec![Change::ScheduleCreated(Box::new(plan))];
        changes.extend(roll_slots::first_days(&zone, &self.pattern, now));
        Ok(Decision { changes, reply: Reply::Inventory })
    }
}

/// Refuses a pattern that could not be rolled.
pub(crate) fn check_pattern(pattern: &Pattern) -> Result<(), Refusal> {
    if pattern.windows.len() > WINDOWS_PER_DAY_MAX {
        return Err(Refusal::invalid("/windows", format!("must be at most {WINDOWS_PER_DAY_MAX}")));
    }
    let mut starts = HashSet::new();
    for (index, window) in pattern.windows.iter().enumerate() {
        let at = format!("/windows/{index}");
        check_window(window, &at)?;
        if !starts.insert(window.start) {
            return Err(Refusal::invalid(format_args!("{at}/start"), "another window starts then too"));
        }
    }
    check_within(pattern.days.into(), SCHEDULE_DAYS_MAX.into(), "/days")?;
    if pattern.weekdays.is_empty() || !pattern.weekdays.iter().all(|weekday| (1..=7).contains(weekday)) {
        return Err(Refusal::invalid("/weekdays", "must be numbers from 1 (Monday) to 7 (Sunday)"));
    }
    if pattern.closed_dates.len() > CLOSED_DATES_MAX {
        return Err(Refusal::invalid("/closed_dates", format!("must be at most {CLOSED_DATES_MAX}")));
    }
    for date in &pattern.closed_dates {
        date.check("/closed_dates")?;
    }
    if pattern.keep_past_days > KEEP_PAST_DAYS_MAX {
        return Err(Refusal::invalid("/keep_past_days", format!("must be at most {KEEP_PAST_DAYS_MAX}")));
    }
    Ok(())
}

/// Refuses a window that is empty, reaches over midnight, or is out of bounds.
pub(crate) fn check_window(window: &Window, at: &str) -> Result<(), Refusal> {
    if window.start.0 >= DAY_MINUTES {
        return Err(Refusal::invalid(
            format_args!("{at}/start"),
            "must be a time of day from 00:00 to 23:59",
        ));
    }
    if window.end.0 > DAY_MINUTES || window.end <= window.start {
        return Err(Refusal::invalid(format_args!("{at}/end"), "must be later than start, at most 24:00"));
    }
    check_within(window.capacity, POOL_CAPACITY_MAX, format_args!("{at}/capacity"))?;
    window.price.check_price(format_args!("{at}/price"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::commands::PatchSchedule;
    use crate::money::Money;
    use crate::testing::{Reached, Scene, date, museum, slot, window};
    use crate::time::{Date, Minute};

    #[test]
    fn schedules_are_created_with_their_first_slots_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(museum(), "schedule Open");
        scene.shows(
            "2026-12-01T09:00 0h 0s of 4\n2026-12-01T12:00 0h 0s of 4\n\
             2026-12-02T09:00 0h 0s of 4\n2026-12-02T12:00 0h 0s of 4",
        );
        scene.row(museum(), "ALREADY_EXISTS");

        // 12:00 in Taipei: the morning is over, and tomorrow is closed; the day after is a Thursday.
        let mut holidays = museum();
        holidays.pattern.days = 4;
        holidays.pattern.closed_dates.insert(date("2026-12-02"));
        holidays.pattern.weekdays.remove(&4);
        let mut noon = Scene::empty();
        noon.at(4 * 3_600).row(holidays, "schedule Open");
        noon.shows("2026-12-01T12:00 0h 0s of 4\n2026-12-04T09:00 0h 0s of 4\n2026-12-04T12:00 0h 0s of 4");

        // The night in which the clocks of Berlin skip from 02:00 to 03:00 has no slot then.
        let mut nights = CreateSchedule { timezone: "Europe/Berlin".to_owned(), ..museum() };
        nights.pattern.windows = vec![window("02:00", "03:00", 4, 0), window("03:00", "04:00", 4, 0)];
        nights.pattern.days = 118;
        let mut berlin = Scene::of(nights);
        let slots = &berlin.inventory.schedule().unwrap().slots;
        assert_eq!(slots.len(), 2 * 118 - 1);
        assert!(
            !slots.contains_key(&slot("2027-03-28T02:00")) && slots.contains_key(&slot("2027-03-28T03:00"))
        );
        berlin.row(crate::testing::book("b1", "ann").places("2027-03-28T02:00", 1), "SLOT_NOT_FOUND");

        // Of windows that begin or end in that hour there is what the clocks do not skip.
        let mut around = CreateSchedule { timezone: "Europe/Berlin".to_owned(), ..museum() };
        around.pattern.windows = vec![
            window("01:30", "02:30", 4, 0),
            window("02:15", "02:45", 4, 0),
            window("02:30", "03:15", 4, 0),
            window("03:15", "03:45", 4, 0),
        ];
        around.pattern.days = 118;
        let berlin = Scene::of(around);
        let schedule = berlin.inventory.schedule().unwrap();
        let of_the_night = schedule.slots.range(slot("2027-03-28T00:00")..slot("2027-03-29T00:00"));
        let found: Vec<(String, i64)> = of_the_night
            .map(|(id, slot)| (id.to_string(), (slot.ends_at.0 - slot.starts_at.0) / 60_000))
            .collect();
        let expected = [("2027-03-28T01:30", 30), ("2027-03-28T02:30", 15), ("2027-03-28T03:15", 30)];
        assert_eq!(found, expected.map(|(id, minutes)| (id.to_owned(), minutes)));

        type Edit = (&'static str, fn(&mut CreateSchedule));
        let wrong: [Edit; 19] = [
            ("/id", |create| create.id = "-".to_owned()),
            ("/name", |create| create.name = "\u{7}".to_owned()),
            ("/timezone", |create| create.timezone = "Taipei".to_owned()),
            ("/windows", |create| create.pattern.windows = vec![window("09:00", "10:00", 1, 0); 97]),
            ("/windows/1/start", |create| create.pattern.windows[1].start = Minute(9 * 60)),
            ("/windows/0/start", |create| create.pattern.windows[0].start = Minute(1_440)),
            ("/windows/0/end", |create| create.pattern.windows[0].end = Minute(9 * 60)),
            ("/windows/0/end", |create| create.pattern.windows[0].end = Minute(1_441)),
            ("/windows/1/capacity", |create| create.pattern.windows[1].capacity = 0),
            ("/windows/1/capacity", |create| create.pattern.windows[1].capacity = 1_000_001),
            ("/windows/1/price", |create| create.pattern.windows[1].price = Money(-1)),
            ("/days", |create| create.pattern.days = 0),
            ("/days", |create| create.pattern.days = 731),
            ("/weekdays", |create| create.pattern.weekdays.clear()),
            ("/weekdays", |create| assert!(create.pattern.weekdays.insert(8))),
            ("/weekdays", |create| assert!(create.pattern.weekdays.insert(0))),
            ("/closed_dates", |create| create.pattern.closed_dates = (0..1_001).map(Date).collect()),
            ("/closed_dates", |create| assert!(create.pattern.closed_dates.insert(Date(i32::MAX)))),
            ("/keep_past_days", |create| create.pattern.keep_past_days = 731),
        ];
        for (pointer, edit) in wrong {
            let mut create = museum();
            edit(&mut create);
            Scene::empty().row(create, &format!("INVALID_REQUEST {pointer}"));
        }
        let mut widest = museum();
        widest.pattern.windows = (0..96)
            .map(|quarter| Window {
                start: Minute(quarter * 15),
                end: Minute(1_440),
                ..window("00:00", "01:00", 1, 0)
            })
            .collect();
        widest.pattern.days = 730;
        widest.pattern.keep_past_days = 730;
        widest.pattern.closed_dates = (0..1_000).map(Date).collect();
        let mut busy = Scene::empty();
        busy.row(widest, "schedule Open");
        assert_eq!(busy.inventory.schedule().unwrap().slots.len(), 730 * 96);
        // As many others in their place.
        let mut patch = PatchSchedule::default();
        let later = |quarter: u16| Window {
            start: Minute(quarter * 15 + 5),
            end: Minute(1_440),
            ..window("00:00", "01:00", 1, 0)
        };
        patch.pattern.windows = Some((0..96).map(later).collect());
        busy.row(Action::PatchSchedule(Box::new(patch)), "schedule Open");
        assert_eq!(busy.inventory.schedule().unwrap().slots.len(), 730 * 96);
        scene.reached
    }
}
