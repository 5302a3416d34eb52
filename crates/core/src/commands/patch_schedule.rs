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
