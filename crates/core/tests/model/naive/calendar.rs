//! Time slots of a zone that is always eight hours ahead of UTC.

use std::collections::BTreeMap;
use std::sync::Arc;

use boxoffice_core::booking::{Status, Units};
use boxoffice_core::commands::{AddSlot, ImportTickets, PatchSchedule, PatchSlot, Places};
use boxoffice_core::ids::BookingId;
use boxoffice_core::money::Money;
use boxoffice_core::outcome::{Grant, ScheduleSummary};
use boxoffice_core::pool::Pool;
use boxoffice_core::refusal::{Refusal, SlotAlternative};
use boxoffice_core::rules::{Terms, TicketRule};
use boxoffice_core::schedule::{Pattern, Slot, Ticket, Window};
use boxoffice_core::time::{Date, Minute, SlotId, Timestamp};

use super::{Decided, Model, Stock, form, refuse, refuse_if};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
const TAIPEI_MS: i64 = 8 * 60 * MINUTE_MS;

/// The local date at a moment.
pub(crate) fn date_of(moment: Timestamp) -> Date {
    Date(i32::try_from((moment.0 + TAIPEI_MS).div_euclid(DAY_MS)).expect("times near the present"))
}

/// The moment of a local time.
pub(crate) fn moment_of(date: Date, minute: Minute) -> Timestamp {
    Timestamp(i64::from(date.0) * DAY_MS + i64::from(minute.0) * MINUTE_MS - TAIPEI_MS)
}

/// Monday is 1; the first day of 1970 was a Thursday.
fn weekday_of(date: Date) -> u8 {
    u8::try_from((date.0 + 3).rem_euclid(7) + 1).expect("seven days")
}

fn days_after(date: Date, days: i32) -> Date {
    Date(date.0 + days)
}

pub(crate) struct Calendar {
    pub(crate) timezone: String,
    pub(crate) pattern: Pattern,
    pub(crate) slots: BTreeMap<SlotId, TimeSlot>,
    pub(crate) rolled_through: Date,
    pub(crate) tickets: BTreeMap<Arc<str>, Ticket>,
}

#[derive(Clone)]
pub(crate) struct TimeSlot {
    pub(crate) starts_at: Timestamp,
    pub(crate) ends_at: Timestamp,
    pub(crate) end: Minute,
    pub(crate) price: Money,
    pub(crate) closed: bool,
    pub(crate) capacity: u32,
    /// One entry a place.
    pub(crate) owners: Vec<BookingId>,
}

impl TimeSlot {
    fn new(date: Date, window: &Window) -> TimeSlot {
        TimeSlot {
            starts_at: moment_of(date, window.start),
            ends_at: moment_of(date, window.end),
            end: window.end,
            price: window.price,
            closed: false,
            capacity: window.capacity,
            owners: Vec::new(),
        }
    }

    fn booked(&self) -> u32 {
        u32::try_from(self.owners.len()).expect("small slots")
    }

    fn left(&self) -> u32 {
        self.capacity - self.booked()
    }
}

/// The window by which a pattern makes a slot.
fn window_of(pattern: &Pattern, id: SlotId) -> Option<Window> {
    let open = pattern.weekdays.contains(&weekday_of(id.date)) && !pattern.closed_dates.contains(&id.date);
    pattern.windows.iter().copied().find(|window| open && window.start == id.start)
}

fn horizon(pattern: &Pattern, now: Timestamp) -> Date {
    days_after(date_of(now), i32::from(pattern.days) - 1)
}

/// The slots a pattern has from one date to another that have not ended.
fn planned(pattern: &Pattern, from: Date, through: Date, now: Timestamp) -> BTreeMap<SlotId, TimeSlot> {
    let mut slots = BTreeMap::new();
    for date in (from.0..=through.0).map(Date) {
        for window in &pattern.windows {
            let id = SlotId { date, start: window.start };
            if window_of(pattern, id).is_some() && now < moment_of(date, window.end) {
                slots.insert(id, TimeSlot::new(date, window));
            }
        }
    }
    slots
}

impl Calendar {
    pub(super) fn new(timezone: &str, pattern: &Pattern, now: Timestamp) -> Calendar {
        let through = horizon(pattern, now);
        Calendar {
            timezone: timezone.to_owned(),
            pattern: pattern.clone(),
            slots: planned(pattern, date_of(now), through, now),
            rolled_through: through,
            tickets: BTreeMap::new(),
        }
    }

    pub(super) fn summary(&self, terms: Terms) -> ScheduleSummary {
        ScheduleSummary { terms, timezone: self.timezone.clone(), pattern: self.pattern.clone() }
    }

    fn roll(&mut self, now: Timestamp) {
        let today = date_of(now);
        let oldest = days_after(today, -i32::from(self.pattern.keep_past_days));
        self.slots.retain(|id, slot| id.date >= oldest || slot.booked() > 0);
        let through = horizon(&self.pattern, now);
        let first = days_after(self.rolled_through, 1).max(today);
        for (id, slot) in planned(&self.pattern, first, through, now) {
            self.slots.entry(id).or_insert(slot);
        }
        self.rolled_through = self.rolled_through.max(through);
    }

    /// Turns the slots that have not ended from the old pattern to a new one.
    fn repattern(&mut self, new: &Pattern, now: Timestamp) {
        let through = horizon(new, now);
        let wanted = planned(new, date_of(now), through, now);
        let unchanged = |id: SlotId, calendar: &Calendar| {
            let old = window_of(&calendar.pattern, id).filter(|_| id.date <= calendar.rolled_through);
            old == window_of(new, id).filter(|_| id.date <= through)
        };
        let existing: Vec<SlotId> = self.slots.keys().copied().collect();
        for id in existing {
            let slot = self.slots.get_mut(&id).expect("it exists");
            if now >= slot.ends_at {
                continue;
            }
            let (booked, gone) = (slot.booked() > 0, window_of(new, id).is_none());
            if unchanged(id, self) {
                continue;
            }
            if !booked {
                self.slots.remove(&id);
            } else if gone {
                self.slots.get_mut(&id).expect("it exists").closed = true;
            }
        }
        for (id, slot) in wanted {
            if !self.slots.contains_key(&id) && !unchanged(id, self) {
                self.slots.insert(id, slot);
            }
        }
        self.rolled_through = through;
        self.pattern = new.clone();
    }

    fn nearest_with_room(&self, full: SlotId, quantity: u32, now: Timestamp) -> Vec<SlotAlternative> {
        let asked = self.slots[&full].starts_at.0;
        let mut open: Vec<SlotAlternative> = Vec::new();
        for (id, slot) in &self.slots {
            if *id != full && !slot.closed && now < slot.ends_at && slot.left() >= quantity {
                open.push(SlotAlternative {
                    slot: *id,
                    starts_at: slot.starts_at,
                    available_count: slot.left(),
                });
            }
        }
        open.sort_by_key(|found| ((found.starts_at.0 - asked).abs(), found.slot));
        open.truncate(3);
        open
    }
}

impl Model {
    pub(crate) fn slot_record(&self, slot: &TimeSlot) -> Slot {
        let (held, sold) = self.held_and_sold(&slot.owners);
        Slot {
            starts_at: slot.starts_at,
            ends_at: slot.ends_at,
            end: slot.end,
            price: slot.price,
            closed: slot.closed,
            pool: Pool { capacity: slot.capacity, held, sold },
        }
    }

    fn shown_slot(&self, id: SlotId) -> Decided<Grant> {
        let slot = self.slot_record(&self.calendar()?.slots[&id]);
        Ok(Grant::Slot(Box::new((id, slot))))
    }

    fn calendar_mut(&mut self) -> &mut Calendar {
        match &mut self.stock {
            Stock::Schedule(calendar) => calendar,
            _ => panic!("slots are in schedules"),
        }
    }

    pub(super) fn patch_schedule(&mut self, now: Timestamp, patch: &PatchSchedule) -> Decided<Grant> {
        let mut pattern = self.calendar()?.pattern.clone();
        let terms = form::patched_terms(self.terms.as_ref().expect("schedules have terms"), &patch.terms)?;
        let new = patch.pattern.clone();
        pattern.windows = new.windows.unwrap_or(pattern.windows);
        pattern.days = new.days.unwrap_or(pattern.days);
        pattern.weekdays = new.weekdays.unwrap_or(pattern.weekdays);
        pattern.closed_dates = new.closed_dates.unwrap_or(pattern.closed_dates);
        pattern.keep_past_days = new.keep_past_days.unwrap_or(pattern.keep_past_days);
        form::check_pattern(&pattern)?;
        self.terms = Some(terms);
        let calendar = self.calendar_mut();
        if pattern != calendar.pattern {
            calendar.repattern(&pattern, now);
        }
        Ok(self.summary())
    }

    pub(super) fn add_slot(&mut self, now: Timestamp, add: &AddSlot) -> Decided<Grant> {
        form::check_window(&add.window)?;
        let id = SlotId { date: add.date, start: add.window.start };
        refuse_if(self.calendar()?.slots.contains_key(&id), Refusal::SlotAlreadyExists)?;
        let slot = TimeSlot::new(add.date, &add.window);
        refuse_if(now >= slot.ends_at, Refusal::CannotCreatePastSlot)?;
        self.calendar_mut().slots.insert(id, slot);
        self.shown_slot(id)
    }

    pub(super) fn patch_slot(&mut self, patch: &PatchSlot) -> Decided<Grant> {
        if let Some(capacity) = patch.capacity {
            form::check_number(capacity, 1_000_000)?;
        }
        if let Some(price) = patch.price {
            form::check_price(price)?;
        }
        let slot = self.find_slot(patch.slot)?;
        let booked = slot.booked();
        let too_few = patch.capacity.is_some_and(|capacity| capacity < booked);
        refuse_if(too_few, Refusal::CapacityBelowBookedCount { booked })?;
        let slot = self.calendar_mut().slots.get_mut(&patch.slot).expect("it was found");
        slot.capacity = patch.capacity.unwrap_or(slot.capacity);
        slot.closed = patch.closed.unwrap_or(slot.closed);
        slot.price = patch.price.unwrap_or(slot.price);
        self.shown_slot(patch.slot)
    }

    pub(super) fn delete_slot(&mut self, id: SlotId) -> Decided<Grant> {
        let booked = self.find_slot(id)?.booked();
        refuse_if(booked > 0, Refusal::SlotHasBookings)?;
        self.calendar_mut().slots.remove(&id);
        Ok(Grant::SlotDeleted(id))
    }

    pub(super) fn roll_slots(&mut self, now: Timestamp) -> Decided<Grant> {
        self.calendar()?;
        self.calendar_mut().roll(now);
        Ok(Grant::Done)
    }

    pub(super) fn import_tickets(&mut self, import: &ImportTickets) -> Decided<Grant> {
        let mut new: BTreeMap<Arc<str>, Ticket> = BTreeMap::new();
        for (number, ticket) in &import.tickets {
            form::check_identifier(number, 100)?;
            if new.insert(Arc::clone(number), *ticket).is_some() {
                return super::invalid();
            }
        }
        let calendar = self.calendar()?;
        let is_known = |number: &&Arc<str>| calendar.tickets.contains_key(*number);
        let updated = u32::try_from(new.keys().filter(is_known).count()).expect("few tickets");
        let added = u32::try_from(new.len()).expect("few tickets") - updated;
        self.calendar_mut().tickets.extend(new);
        Ok(Grant::Tickets { added, updated })
    }

    pub(super) fn slot_units(
        &self,
        now: Timestamp,
        customer: &str,
        id: SlotId,
        places: &Places,
    ) -> Decided<Units> {
        let (asked, tickets) = match places {
            Places::Quantity(quantity) => (u64::from(*quantity), &[][..]),
            Places::Tickets(tickets) => (tickets.len() as u64, &tickets[..]),
        };
        let quantity = self.check_size(asked)?;
        if let (TicketRule::Registered, Places::Quantity(_)) = (self.rules().tickets, places) {
            return super::invalid();
        }
        let (price, end) = (self.find_slot(id)?.price, self.find_slot(id)?.end);
        self.check_open()?;
        self.check_sales(now)?;
        self.check_places(now, customer, id, quantity, tickets)?;
        Ok(Units::Slot { slot: id, end, quantity, price, tickets: tickets.into() })
    }

    pub(super) fn check_slot_again(
        &self,
        now: Timestamp,
        customer: &str,
        (id, end): (SlotId, Minute),
        quantity: u32,
        tickets: &[Arc<str>],
    ) -> Decided<()> {
        refuse_if(self.find_slot(id)?.end != end, Refusal::SlotNotFound)?;
        self.check_open()?;
        self.check_places(now, customer, id, quantity, tickets)
    }

    fn check_places(
        &self,
        now: Timestamp,
        customer: &str,
        id: SlotId,
        quantity: u32,
        tickets: &[Arc<str>],
    ) -> Decided<()> {
        let slot = self.find_slot(id)?;
        refuse_if(now >= slot.ends_at, Refusal::SlotPast)?;
        refuse_if(slot.closed, Refusal::SlotClosed)?;
        self.check_tickets(now, tickets)?;
        self.check_customer(customer, quantity)?;
        if slot.left() < quantity {
            let alternatives = self.calendar()?.nearest_with_room(id, quantity, now);
            return refuse(Refusal::SlotFull { available: slot.left(), alternatives });
        }
        Ok(())
    }

    /// Registered first, ticket by ticket; then what became of them, ticket by ticket.
    fn check_tickets(&self, now: Timestamp, tickets: &[Arc<str>]) -> Decided<()> {
        if self.rules().tickets == TicketRule::Registered {
            for ticket in tickets.iter().cloned() {
                match self.calendar()?.tickets.get(&ticket) {
                    None => return refuse(Refusal::TicketNotFound { ticket }),
                    Some(Ticket { active: false, .. }) => return refuse(Refusal::TicketNotActive { ticket }),
                    Some(Ticket { expires_at: Some(expires_at), .. }) if *expires_at <= now => {
                        return refuse(Refusal::TicketExpired { ticket });
                    }
                    Some(_) => {}
                }
            }
        }
        for ticket in tickets.iter().cloned() {
            match self.ticket_use(&ticket) {
                None => {}
                Some((_, true)) => return refuse(Refusal::TicketAlreadyUsed { ticket }),
                Some((booking, false)) => return refuse(Refusal::TicketAlreadyReserved { ticket, booking }),
            }
        }
        Ok(())
    }

    /// The booking that has a ticket, and whether it was redeemed.
    pub(crate) fn ticket_use(&self, ticket: &str) -> Option<(BookingId, bool)> {
        self.bookings.values().find_map(|booking| {
            let Units::Slot { tickets, .. } = &booking.units else { return None };
            let at = tickets.iter().position(|own| **own == *ticket)?;
            match booking.status {
                Status::OnHold { .. } | Status::Confirmed { .. } | Status::Redeemed { .. } => {
                    Some((booking.id, super::bookings::unit_times(booking)[at].is_some()))
                }
                Status::Cancelled { .. } | Status::Expired { .. } => None,
            }
        })
    }

    /// The price and the end of the slot to move to; `None` if the booking is there already.
    pub(super) fn other_slot(
        &self,
        now: Timestamp,
        from: SlotId,
        to: SlotId,
        quantity: u32,
    ) -> Decided<Option<(Money, Minute)>> {
        let slot = self.find_slot(to)?;
        if from == to {
            return Ok(None);
        }
        refuse_if(now >= slot.ends_at, Refusal::SlotPast)?;
        refuse_if(slot.closed, Refusal::SlotClosed)?;
        if slot.left() < quantity {
            let alternatives = self.calendar()?.nearest_with_room(to, quantity, now);
            return refuse(Refusal::NewSlotFull { available: slot.left(), alternatives });
        }
        Ok(Some((slot.price, slot.end)))
    }

    fn find_slot(&self, id: SlotId) -> Decided<&TimeSlot> {
        self.calendar()?.slots.get(&id).ok_or_else(|| Refusal::SlotNotFound.into())
    }
}
