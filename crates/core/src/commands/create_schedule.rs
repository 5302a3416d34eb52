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

        let plan = SchedulePlan { terms, timezone: self.timezone.clone(), pattern: self.pattern.clone() };
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
            return Err(Refusal::invalid(&format!("{at}/start"), "another window starts then too"));
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
        return Err(Refusal::invalid(&format!("{at}/start"), "must be a time of day from 00:00 to 23:59"));
    }
    if window.end.0 > DAY_MINUTES || window.end <= window.start {
        return Err(Refusal::invalid(&format!("{at}/end"), "must be later than start, at most 24:00"));
    }
    check_within(window.capacity, POOL_CAPACITY_MAX, &format!("{at}/capacity"))?;
    window.price.check_price(&format!("{at}/price"))
}
