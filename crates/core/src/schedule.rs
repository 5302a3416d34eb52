//! Time slots, made ahead for a rolling number of days.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::BookingId;
use crate::limits::{ALTERNATIVE_SLOTS_EXAMINED_MAX, ALTERNATIVES_MAX};
use crate::map::HashMap;
use crate::money::Money;
use crate::pool::Pool;
use crate::refusal::{Refusal, SlotAlternative};
use crate::rules::{Terms, TicketRule};
use crate::time::{Date, Minute, SlotId, Timestamp, Zone};

/// What a schedule is made from: the journal's form of its creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchedulePlan {
    /// Name, currency, sales window and rules.
    pub terms: Terms,
    /// IANA name.
    pub timezone: String,
    /// Which slots there are.
    pub pattern: Pattern,
}

/// Which slots a schedule makes by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The slots of a day.
    pub windows: Vec<Window>,
    /// How many days ahead, today included.
    pub days: u16,
    /// On which weekdays: Monday is 1.
    pub weekdays: BTreeSet<u8>,
    /// Not on these dates.
    pub closed_dates: BTreeSet<Date>,
    /// How long past slots without bookings are kept.
    pub keep_past_days: u16,
}

/// One slot of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Local time.
    pub start: Minute,
    /// Local time, later on the same day.
    pub end: Minute,
    /// Places.
    pub capacity: u32,
    /// Of one place.
    pub price: Money,
}

impl Pattern {
    /// The window that makes this slot, if the pattern has it.
    pub(crate) fn window_of(&self, slot: SlotId) -> Option<&Window> {
        if !self.is_open_on(slot.date) {
            return None;
        }
        self.windows.iter().find(|window| window.start == slot.start)
    }

    fn is_open_on(&self, date: Date) -> bool {
        self.weekdays.contains(&date.weekday()) && !self.closed_dates.contains(&date)
    }
}

/// Time slots and what is left of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// Name, currency, sales window and rules.
    pub terms: Terms,
    /// IANA name.
    pub timezone: String,
    /// The rules of the time zone.
    pub zone: Zone,
    /// Which slots it makes by itself.
    pub pattern: Pattern,
    /// In order of time.
    pub slots: BTreeMap<SlotId, Slot>,
    /// See [`Schedule::rolled_through`]; `None` for a moment while the schedule is created.
    pub(crate) rolled_through: Option<Date>,
    /// What was imported.
    pub tickets: HashMap<Arc<str>, Ticket>,
    /// Tickets with a live booking, and used ones.
    pub ticket_uses: HashMap<Arc<str>, TicketUse>,
}

/// One time slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// When it begins.
    pub starts_at: Timestamp,
    /// The first moment after it.
    pub ends_at: Timestamp,
    /// Local time of its end.
    pub end: Minute,
    /// Of one place.
    pub price: Money,
    /// Closed by the operator. Stays so whatever happens in it.
    pub closed: bool,
    /// Its places.
    pub pool: Pool,
}

/// What a slot is, whatever the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotStatus {
    /// Has places left.
    Active,
    /// Has none left.
    Full,
    /// Closed by the operator, full or not.
    Closed,
}

/// What to tell somebody who looks for a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotAvailability {
    /// More than half is left.
    Available,
    /// At most half is left.
    Limited,
    /// Nothing is left.
    Full,
    /// Closed by the operator, or over.
    Closed,
}

impl Slot {
    /// Whether there is time between its start and its end: not if the clocks skip them.
    pub(crate) fn exists(&self) -> bool {
        self.starts_at < self.ends_at
    }

    /// Over, at a moment.
    pub fn is_past(&self, now: Timestamp) -> bool {
        now >= self.ends_at
    }

    /// What it is, whatever the time.
    pub fn status(&self) -> SlotStatus {
        if self.closed {
            SlotStatus::Closed
        } else if self.pool.available() == 0 {
            SlotStatus::Full
        } else {
            SlotStatus::Active
        }
    }

    /// What to tell somebody who looks for a place now.
    pub fn availability(&self, now: Timestamp) -> SlotAvailability {
        if self.closed || self.is_past(now) {
            SlotAvailability::Closed
        } else if self.pool.available() == 0 {
            SlotAvailability::Full
        } else if u64::from(self.pool.available()) * 2 <= u64::from(self.pool.capacity) {
            SlotAvailability::Limited
        } else {
            SlotAvailability::Available
        }
    }
}

/// A registered ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Whether it may book.
    pub active: bool,
    /// Until when it may book.
    pub expires_at: Option<Timestamp>,
}

/// What became of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TicketUse {
    /// In a booking on hold or confirmed.
    Reserved(BookingId),
    /// In a redeemed booking.
    Used(BookingId),
}

impl Schedule {
    /// The schedule of a plan that was checked, without slots.
    pub(crate) fn new(plan: &SchedulePlan) -> Schedule {
        Schedule {
            terms: plan.terms.clone(),
            timezone: plan.timezone.clone(),
            zone: Zone::named(&plan.timezone, "").expect("the plan was checked"),
            pattern: plan.pattern.clone(),
            slots: BTreeMap::new(),
            rolled_through: None,
            tickets: HashMap::default(),
            ticket_uses: HashMap::default(),
        }
    }

    /// A new slot of a window on a date.
    pub(crate) fn slot_at(zone: &Zone, date: Date, window: &Window) -> Slot {
        Slot {
            starts_at: zone.moment(date, window.start),
            ends_at: zone.moment(date, window.end),
            end: window.end,
            price: window.price,
            closed: false,
            pool: Pool::of(window.capacity),
        }
    }

    /// The slots that a pattern has in a range of dates and that have not ended.
    pub(crate) fn planned(
        zone: &Zone,
        pattern: &Pattern,
        dates: std::ops::RangeInclusive<Date>,
        now: Timestamp,
    ) -> Vec<(SlotId, Slot)> {
        let mut planned = Vec::new();
        for day in dates.start().0..=dates.end().0 {
            let date = Date(day);
            if !pattern.is_open_on(date) {
                continue;
            }
            let slots = pattern
                .windows
                .iter()
                .map(|window| (SlotId { date, start: window.start }, Schedule::slot_at(zone, date, window)));
            planned.extend(slots.filter(|(_, slot)| slot.exists() && !slot.is_past(now)));
        }
        planned
    }

    /// The last date whose slots were made.
    ///
    /// # Panics
    /// Never outside the creation of the schedule, which makes the first slots.
    pub fn rolled_through(&self) -> Date {
        self.rolled_through.expect("slots are made when the schedule is")
    }

    /// When the slots of the next day are due to be made.
    pub(crate) fn next_roll(&self) -> Timestamp {
        let first_day_missing = self.rolled_through().plus_days(2 - i32::from(self.pattern.days));
        self.zone.moment(first_day_missing, Minute(0))
    }

    /// Refuses tickets that may not book: not registered as the rule demands, used, or in another live booking.
    pub(crate) fn check_tickets(&self, tickets: &[Arc<str>], now: Timestamp) -> Result<(), Refusal> {
        let registered = self.terms.rules.tickets == TicketRule::Registered;
        for ticket in tickets.iter().filter(|_| registered) {
            let refusal = match self.tickets.get(ticket) {
                None => Refusal::TicketNotFound { ticket: Arc::clone(ticket) },
                Some(known) if !known.active => Refusal::TicketNotActive { ticket: Arc::clone(ticket) },
                Some(known) if known.expires_at.is_some_and(|expires_at| expires_at <= now) => {
                    Refusal::TicketExpired { ticket: Arc::clone(ticket) }
                }
                Some(_) => continue,
            };
            return Err(refusal);
        }
        for ticket in tickets {
            match self.ticket_uses.get(ticket) {
                None => {}
                Some(TicketUse::Used(_)) => {
                    return Err(Refusal::TicketAlreadyUsed { ticket: Arc::clone(ticket) });
                }
                Some(&TicketUse::Reserved(booking)) => {
                    return Err(Refusal::TicketAlreadyReserved { ticket: Arc::clone(ticket), booking });
                }
            }
        }
        Ok(())
    }

    /// The slots nearest in time to one that is full, which have room for as many.
    pub(crate) fn alternatives(&self, full: SlotId, quantity: u32, now: Timestamp) -> Vec<SlotAlternative> {
        let asked = self.slots[&full].starts_at;
        let with_room = |(&slot, state): (&SlotId, &Slot)| {
            let open =
                !state.closed && !state.is_past(now) && state.pool.available() >= quantity && slot != full;
            let available_count = state.pool.available();
            open.then_some(SlotAlternative { slot, starts_at: state.starts_at, available_count })
        };
        let earlier = self.slots.range(..full).rev().take(ALTERNATIVE_SLOTS_EXAMINED_MAX);
        let later = self.slots.range(full..).take(ALTERNATIVE_SLOTS_EXAMINED_MAX);
        let mut nearest: Vec<SlotAlternative> =
            earlier.filter_map(with_room).take(ALTERNATIVES_MAX).collect();
        nearest.extend(later.filter_map(with_room).take(ALTERNATIVES_MAX));
        nearest.sort_by_key(|found| ((found.starts_at.0 - asked.0).abs(), found.slot));
        nearest.truncate(ALTERNATIVES_MAX);
        nearest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_says_what_is_left_of_it() {
        let rows = [
            (0, false, 9, SlotStatus::Active, SlotAvailability::Available),
            (99, false, 9, SlotStatus::Active, SlotAvailability::Available),
            (100, false, 9, SlotStatus::Active, SlotAvailability::Limited),
            (199, false, 9, SlotStatus::Active, SlotAvailability::Limited),
            (200, false, 9, SlotStatus::Full, SlotAvailability::Full),
            (200, true, 9, SlotStatus::Closed, SlotAvailability::Closed),
            (0, true, 9, SlotStatus::Closed, SlotAvailability::Closed),
            (0, false, 10, SlotStatus::Active, SlotAvailability::Closed),
        ];
        for (held, closed, now, status, availability) in rows {
            let slot = Slot {
                starts_at: Timestamp(0),
                ends_at: Timestamp(10),
                end: Minute(1),
                price: Money::ZERO,
                closed,
                pool: Pool { capacity: 200, held, sold: 0 },
            };
            let said = (slot.status(), slot.availability(Timestamp(now)));
            assert_eq!(said, (status, availability), "{held} held, closed {closed}, at {now}");
        }
    }
}
