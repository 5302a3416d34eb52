//! An inventory: the state that commands are decided on and changes are applied to.

mod restore;

use std::sync::Arc;

use crate::booking::{Booking, Status, Units};
use crate::bookings::Bookings;
use crate::change::{BoxProperties, Change};
use crate::command::{Action, Command};
use crate::customers::Customers;
use crate::event::Event;
use crate::event_info::EventInfo;
use crate::ids::{BookingId, RedeemCode};
use crate::index::Index;
use crate::limits::LOOK_AHEAD_CHANGES;
use crate::memory::{Memory, Remembered};
use crate::outcome::{Grant, Moved, Outcome, Reply, ScheduleSummary, Summary};
use crate::pool::{Claim, Pool};
use crate::refusal::Refusal;
use crate::rules::{InventoryStatus, Terms};
use crate::schedule::{Schedule, TicketUse};
use crate::seats::SeatState;
use crate::shop::Shop;
use crate::time::Timestamp;

/// What sells together in one order of commands. Empty until its creation is applied.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inventory {
    sequence: u64,
    batch_has_changes: bool,
    clock: Timestamp,
    stock: Option<Stock>,
    bookings: Bookings,
    memory: Memory,
}

/// What is for sale.
#[derive(Debug, Clone, PartialEq)]
pub enum Stock {
    /// Seats and standing areas.
    Event(Box<Event>),
    /// Time slots.
    Schedule(Box<Schedule>),
    /// Boxes.
    Shop(Box<Shop>),
}

/// What falls due next, of each sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextDeadlines {
    /// A hold ends: [`crate::command::Action::Expire`].
    pub hold: Option<Timestamp>,
    /// The slots of a new day are to be made: [`crate::command::Action::RollSlots`].
    pub roll: Option<Timestamp>,
    /// An answer may be forgotten: [`crate::command::Action::ForgetKeys`].
    pub keys: Option<Timestamp>,
}

// Reading.
impl Inventory {
    /// The number of the last batch.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The time of the last change.
    pub fn clock(&self) -> Timestamp {
        self.clock
    }

    /// What is for sale; `None` until the inventory was created.
    pub fn stock(&self) -> Option<&Stock> {
        self.stock.as_ref()
    }

    /// Name, currency, sales window and rules; `None` until the inventory was created.
    pub fn terms(&self) -> Option<&Terms> {
        self.stock.as_ref().map(Stock::terms)
    }

    /// A booking as it is now.
    pub fn booking(&self, id: BookingId) -> Option<&Arc<Booking>> {
        self.bookings.get(id)
    }

    /// From the id of each booking to its place in [`Inventory::bookings`].
    pub fn booking_places(&self) -> &Index {
        self.bookings.places()
    }

    /// All bookings ever made, in the order they were made.
    pub fn bookings(&self) -> impl ExactSizeIterator<Item = &Arc<Booking>> {
        self.bookings.iter()
    }

    /// The bookings that a customer ever made, the newest first.
    pub fn bookings_of(&self, customer: &str) -> impl Iterator<Item = &Arc<Booking>> {
        self.bookings.of_customer(customer)
    }

    /// The active booking that has a code.
    pub fn booking_of_code(&self, code: RedeemCode) -> Option<BookingId> {
        self.bookings.of_code(code).map(|booking| booking.id)
    }

    /// The live counts of all customers.
    pub fn customers(&self) -> Customers<'_> {
        Customers { bookings: &self.bookings }
    }

    /// The bookings on hold, in the order in which their holds end; those that end together in the order they were
    /// made.
    pub fn deadlines(&self) -> impl ExactSizeIterator<Item = (Timestamp, BookingId)> + '_ {
        self.bookings.deadlines()
    }

    /// How many bookings are on hold.
    pub fn live_holds(&self) -> usize {
        self.bookings.live_holds()
    }

    /// The answers that idempotency keys remember.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Touches what deciding a command will read, and changes nothing. The memory of a large inventory is cold, and the processor
    /// waits for many reads together as long as for one: so whoever has several commands looks ahead at all of them first.
    pub fn look_ahead(&self, command: &Command) {
        if let Some(idempotency) = &command.idempotency {
            self.memory.warm(&idempotency.key);
        }
        if let Action::Book(book) = &command.action {
            self.bookings.warm(book.id, &book.customer, book.redeem_code);
        }
    }

    /// When something falls due by itself.
    pub fn next_deadlines(&self) -> NextDeadlines {
        NextDeadlines {
            hold: self.bookings.first_deadline().map(|(expires_at, _)| expires_at),
            roll: match &self.stock {
                Some(Stock::Schedule(schedule)) => Some(schedule.next_roll()),
                Some(Stock::Event(_) | Stock::Shop(_)) | None => None,
            },
            keys: self.memory.next_deadline(),
        }
    }

    /// The inventory in numbers; `None` until it was created.
    pub fn summary(&self) -> Option<Summary> {
        Some(match self.stock.as_ref()? {
            Stock::Event(event) => Summary::Event(event.summary()),
            Stock::Schedule(schedule) => Summary::Schedule(ScheduleSummary {
                terms: schedule.terms.clone(),
                timezone: schedule.timezone.clone(),
                pattern: schedule.pattern.clone(),
            }),
            Stock::Shop(shop) => Summary::Shop { terms: shop.terms.clone(), timezone: shop.timezone.clone() },
        })
    }

    pub(crate) fn event(&self) -> Result<&Event, Refusal> {
        match &self.stock {
            Some(Stock::Event(event)) if event.terms.status != InventoryStatus::Deleted => Ok(event),
            Some(Stock::Event(_) | Stock::Schedule(_) | Stock::Shop(_)) | None => Err(Refusal::EventNotFound),
        }
    }

    pub(crate) fn schedule(&self) -> Result<&Schedule, Refusal> {
        match &self.stock {
            Some(Stock::Schedule(schedule)) => Ok(schedule),
            Some(Stock::Event(_) | Stock::Shop(_)) | None => Err(Refusal::ScheduleNotFound),
        }
    }

    pub(crate) fn shop(&self) -> Result<&Shop, Refusal> {
        match &self.stock {
            Some(Stock::Shop(shop)) => Ok(shop),
            Some(Stock::Event(_) | Stock::Schedule(_)) | None => Err(Refusal::ShopNotFound),
        }
    }

    pub(crate) fn find_booking(&self, id: BookingId) -> Result<&Arc<Booking>, Refusal> {
        self.bookings.get(id).ok_or(Refusal::BookingNotFound)
    }

    /// The first code from `wanted` on that no active booking has.
    pub(crate) fn free_code(&self, wanted: RedeemCode) -> RedeemCode {
        let mut code = wanted;
        while self.bookings.of_code(code).is_some() {
            code = code.next();
        }
        code
    }

    /// Of the holds that are over, the one that ended first.
    pub(crate) fn first_due(&self, now: Timestamp) -> Option<BookingId> {
        let (expires_at, booking) = self.bookings.first_deadline()?;
        (expires_at <= now).then_some(booking.id)
    }

    /// Asks a question of the hall as if a booking's seats were free, and puts them back: a look only.
    pub(crate) fn event_as_if_free<R>(
        &mut self,
        booking: &Booking,
        question: impl FnOnce(&Event) -> R,
    ) -> Result<R, Refusal> {
        self.event()?;
        let (Some(Stock::Event(event)), Units::Event { seats, .. }, Some(claim)) =
            (&mut self.stock, &booking.units, booking.claim())
        else {
            return Err(Refusal::NotMovable);
        };
        event.release(seats, &[], claim);
        let answer = question(event);
        event.take(seats, &[], claim);
        Ok(answer)
    }
}

// Changing.
impl Inventory {
    /// Ends a batch: what was applied since the last one becomes durable together, under the returned number.
    /// `None` if nothing changed.
    pub fn end_batch(&mut self) -> Option<u64> {
        if !self.batch_has_changes {
            return None;
        }
        self.batch_has_changes = false;
        self.sequence += 1;
        Some(self.sequence)
    }

    /// The number of the batch that an answer given now belongs to.
    pub(crate) fn open_sequence(&self) -> u64 {
        self.sequence + u64::from(self.batch_has_changes)
    }

    /// Applies the changes of one batch from the journal.
    ///
    /// # Panics
    /// If they do not follow from the state: the journal is not this inventory's, or was damaged unnoticed.
    pub fn replay(&mut self, changes: &[Change]) {
        for few in changes.chunks(LOOK_AHEAD_CHANGES) {
            few.iter().for_each(|change| self.look_ahead_at(change));
            few.iter().for_each(|change| self.change(change));
        }
        self.end_batch();
    }

    /// See [`Inventory::look_ahead`]. Only of what journals consist of for the most part.
    fn look_ahead_at(&self, change: &Change) {
        if let Change::Booked(booking) = change {
            self.bookings.warm(booking.id, &booking.customer, booking.redeem_code);
        } else if let Change::Remembered { key, .. } = change {
            self.memory.warm(key);
        }
    }

    /// Applies one change. The only place where an inventory is mutated.
    pub(crate) fn change(&mut self, change: &Change) {
        self.batch_has_changes = true;
        match change {
            Change::Act { at, by: _ } => self.clock = *at,
            Change::EventCreated(plan) => self.create(Stock::Event(Box::new(Event::new(plan)))),
            Change::ScheduleCreated(plan) => self.create(Stock::Schedule(Box::new(Schedule::new(plan)))),
            Change::ShopCreated(plan) => self.create(Stock::Shop(Box::new(Shop::new(plan)))),
            Change::TermsPatched(terms) => {
                *self.stock.as_mut().expect("an inventory that exists").terms_mut() = Terms::clone(terms);
            }
            Change::PricesPatched { sections, areas } => {
                let event = self.event_mut();
                for &(section, price) in sections {
                    event.sections[usize::from(section)].price = price;
                }
                for &(area, price) in areas {
                    event.areas[usize::from(area)].price = price;
                }
            }
            Change::SeatsBlocked(seats) => {
                let clock = self.clock;
                let event = self.event_mut();
                event.transfer(seats, SeatState::Available, SeatState::Blocked);
                event.note_sale(clock);
            }
            Change::SeatsUnblocked(seats) => {
                self.event_mut().transfer(seats, SeatState::Blocked, SeatState::Available);
            }
            Change::PatternPatched(pattern) => {
                self.schedule_mut().pattern.clone_from(pattern);
            }
            Change::SlotsAdded(slots) => self.schedule_mut().slots.extend(slots.iter().copied()),
            Change::SlotsRemoved(slots) => {
                for slot in slots {
                    self.schedule_mut().slots.remove(slot);
                }
            }
            Change::SlotPatched { slot, closed, capacity, price } => {
                let slot = self.schedule_mut().slots.get_mut(slot).expect("a slot that exists");
                slot.closed = *closed;
                slot.pool.capacity = *capacity;
                slot.price = *price;
            }
            Change::RolledThrough(date) => self.schedule_mut().rolled_through = Some(*date),
            Change::BoxAdded(new) => self.shop_mut().add(new.as_ref().clone()),
            Change::BoxPatched(properties) => self.patch_box(properties),
            Change::TicketsImported(tickets) => {
                let known = &mut self.schedule_mut().tickets;
                known.extend(tickets.iter().map(|(id, ticket)| (Arc::clone(id), *ticket)));
            }
            Change::Booked(booking) => {
                self.install(booking);
                self.bookings.add(Arc::clone(booking));
            }
            Change::Confirmed { booking, payment_reference } => {
                self.confirm(*booking, payment_reference.clone());
            }
            Change::Revived { booking, from: _, units, redeem_code, payment_reference } => {
                let expired = self.known(*booking);
                let revived = Booking {
                    status: Status::Confirmed { confirmed_at: self.clock },
                    units: units.as_ref().clone(),
                    redeem_code: *redeem_code,
                    details: expired.details_with_payment(payment_reference.clone()),
                    version: expired.version + 1,
                    ..Booking::clone(&expired)
                };
                self.install(&revived);
                self.bookings.replace(revived);
            }
            Change::Extended { booking, expires_at } => {
                let held = self.known(*booking);
                self.restate(&held, Status::OnHold { expires_at: *expires_at });
            }
            Change::Cancelled { booking, reason: _ } => {
                let active = self.known(*booking);
                let confirmed_at = match active.status {
                    Status::Confirmed { confirmed_at } => Some(confirmed_at),
                    Status::OnHold { .. }
                    | Status::Redeemed { .. }
                    | Status::Cancelled { .. }
                    | Status::Expired { .. } => None,
                };
                self.retire(&active);
                self.restate(&active, Status::Cancelled { confirmed_at, cancelled_at: self.clock });
            }
            Change::Moved { booking, from: _, units } => self.relocate(*booking, units),
            Change::Redeemed { booking, forced: _ } => self.redeem(*booking),
            Change::PartRedeemed { booking, part, .. } => {
                self.set_ticket_uses(part, Some(TicketUse::Used(*booking)));
                let redeemed = self.known(*booking).part_redeemed(part, self.clock);
                self.bookings.replace(redeemed);
            }
            Change::Unredeemed { booking, part, redeem_code, .. } => {
                let redeemed = self.known(*booking);
                let part = part.as_deref();
                self.set_ticket_uses(part.unwrap_or(&redeemed.units), Some(TicketUse::Reserved(*booking)));
                self.bookings.replace(redeemed.unredeemed(part, *redeem_code));
            }
            Change::Expired { booking } => {
                let held = self.known(*booking);
                let expires_at = held.deadline().expect("only holds expire");
                self.retire(&held);
                self.restate(&held, Status::Expired { expires_at });
            }
            Change::ContactForgotten { customer: _ } => {}
            Change::Remembered { key, fingerprint, keep_until, reply } => {
                let remembered = Remembered {
                    key: *key,
                    fingerprint: *fingerprint,
                    outcome: self.outcome(reply),
                    sequence: self.sequence + 1,
                    decided_at: self.clock,
                    keep_until: *keep_until,
                };
                self.memory.remember(remembered);
            }
            Change::KeysForgotten { through } => self.memory.forget(*through),
            Change::EventInfoPatched(info) => self.event_mut().info = EventInfo::clone(info),
            Change::EventCancelled { reason: _ } => {
                self.event_mut().terms.status = InventoryStatus::Cancelled;
            }
            Change::EventDeleted => self.event_mut().terms.status = InventoryStatus::Deleted,
        }
    }

    /// The answer of a reply, from the state as it is now.
    pub(crate) fn outcome(&self, reply: &Reply) -> Outcome {
        Outcome::Granted(match reply {
            Reply::Booking(id) => Grant::Booking(self.known(*id)),
            Reply::Moved { booking: id, price_difference } => {
                let booking = self.known(*id);
                Grant::Moved(Box::new(Moved { booking, price_difference: *price_difference }))
            }
            Reply::Inventory => Grant::Inventory(Arc::new(self.summary().expect("an inventory that exists"))),
            Reply::Slot(slot) => {
                let schedule = self.schedule().expect("slots are in schedules");
                Grant::Slot(Box::new((*slot, schedule.slots[slot])))
            }
            Reply::SlotDeleted(slot) => Grant::SlotDeleted(*slot),
            Reply::Box(number) => {
                let shop = self.shop().expect("boxes are in shops");
                Grant::Box(Arc::new(shop.boxed(*number).clone()))
            }
            Reply::Tickets { added, updated } => Grant::Tickets { added: *added, updated: *updated },
            Reply::Done => Grant::Done,
            &Reply::EventCancelled { holds_ended, bookings_cancelled } => {
                Grant::EventCancelled { holds_ended, bookings_cancelled }
            }
            Reply::Refused(refusal) => return Outcome::Refused(refusal.clone()),
        })
    }

    fn create(&mut self, stock: Stock) {
        assert!(self.stock.is_none(), "an inventory is created once");
        self.stock = Some(stock);
    }

    fn patch_box(&mut self, properties: &BoxProperties) {
        let boxed = self.shop_mut().boxed_mut(properties.number);
        boxed.name.clone_from(&properties.name);
        boxed.pool.capacity = properties.quantity;
        boxed.price = properties.price;
        boxed.pickup = properties.pickup;
        boxed.price_curve.clone_from(&properties.price_curve);
        boxed.closed = properties.closed;
    }

    /// Takes the units of a booking that is new or came back to life.
    fn install(&mut self, booking: &Booking) {
        let claim = booking.claim().expect("new bookings claim units");
        self.take(&booking.units, claim);
        self.set_ticket_uses(&booking.units, Some(TicketUse::Reserved(booking.id)));
    }

    /// Frees the units of an active booking.
    fn retire(&mut self, booking: &Booking) {
        let claim = booking.claim().expect("active bookings claim units");
        self.release(&booking.units, claim);
        self.set_ticket_uses(&booking.units, None);
    }

    fn confirm(&mut self, id: BookingId, payment_reference: Option<Arc<str>>) {
        let held = self.known(id);
        let clock = self.clock;
        match (self.stock_mut(), &held.units) {
            (Stock::Event(event), Units::Event { seats, areas }) => {
                event.sell(seats, areas);
                event.note_sale(clock);
            }
            (Stock::Schedule(_) | Stock::Shop(_), units) => {
                let quantity = units.quantity();
                let pool = self.pool_mut(units);
                pool.release(quantity, Claim::Held);
                pool.take(quantity, Claim::Sold);
            }
            (Stock::Event(_), Units::Slot { .. } | Units::Box { .. }) => panic!("units of another inventory"),
        }
        let confirmed = Booking {
            status: Status::Confirmed { confirmed_at: clock },
            details: held.details_with_payment(payment_reference),
            version: held.version + 1,
            ..Booking::clone(&held)
        };
        self.bookings.replace(confirmed);
    }

    fn relocate(&mut self, id: BookingId, units: &Units) {
        let old = self.known(id);
        let claim = old.claim().expect("only active bookings move");
        self.release(&old.units, claim);
        self.take(units, claim);
        let moved = Booking { units: units.clone(), version: old.version + 1, ..Booking::clone(&old) };
        self.bookings.replace(moved);
    }

    fn redeem(&mut self, id: BookingId) {
        let confirmed = self.known(id);
        assert!(matches!(confirmed.status, Status::Confirmed { .. }), "only confirmed bookings are redeemed");
        self.set_ticket_uses(&confirmed.units, Some(TicketUse::Used(id)));
        self.bookings.replace(confirmed.redeemed(self.clock));
    }

    fn restate(&mut self, booking: &Booking, status: Status) {
        self.bookings.replace(Booking { status, version: booking.version + 1, ..booking.clone() });
    }

    /// A booking that changes and answers speak of.
    fn known(&self, id: BookingId) -> Arc<Booking> {
        Arc::clone(self.bookings.get(id).expect("a booking that exists"))
    }

    fn set_ticket_uses(&mut self, units: &Units, new_use: Option<TicketUse>) {
        let Units::Slot { tickets, .. } = units else { return };
        let uses = &mut self.schedule_mut().ticket_uses;
        for ticket in tickets {
            match new_use {
                Some(new_use) => uses.insert(Arc::clone(ticket), new_use),
                None => uses.remove(ticket),
            };
        }
    }

    fn take(&mut self, units: &Units, claim: Claim) {
        let clock = self.clock;
        match units {
            Units::Event { seats, areas } => {
                let event = self.event_mut();
                event.take(seats, areas, claim);
                event.note_sale(clock);
            }
            Units::Slot { quantity, .. } | Units::Box { quantity, .. } => {
                self.pool_mut(units).take(*quantity, claim);
            }
        }
    }

    fn release(&mut self, units: &Units, claim: Claim) {
        match units {
            Units::Event { seats, areas } => self.event_mut().release(seats, areas, claim),
            Units::Slot { quantity, .. } | Units::Box { quantity, .. } => {
                self.pool_mut(units).release(*quantity, claim);
            }
        }
    }

    fn pool_mut(&mut self, units: &Units) -> &mut Pool {
        match (self.stock_mut(), units) {
            (Stock::Schedule(schedule), Units::Slot { slot, .. }) => {
                &mut schedule.slots.get_mut(slot).expect("booked slots are never removed").pool
            }
            (Stock::Shop(shop), Units::Box { number, .. }) => &mut shop.boxed_mut(*number).pool,
            (Stock::Event(_) | Stock::Schedule(_) | Stock::Shop(_), _) => {
                panic!("units of another inventory")
            }
        }
    }

    fn stock_mut(&mut self) -> &mut Stock {
        self.stock.as_mut().expect("an inventory that exists")
    }

    fn event_mut(&mut self) -> &mut Event {
        match self.stock_mut() {
            Stock::Event(event) => event,
            Stock::Schedule(_) | Stock::Shop(_) => panic!("a change of an event in another inventory"),
        }
    }

    fn schedule_mut(&mut self) -> &mut Schedule {
        match self.stock_mut() {
            Stock::Schedule(schedule) => schedule,
            Stock::Event(_) | Stock::Shop(_) => panic!("a change of a schedule in another inventory"),
        }
    }

    fn shop_mut(&mut self) -> &mut Shop {
        match self.stock_mut() {
            Stock::Shop(shop) => shop,
            Stock::Event(_) | Stock::Schedule(_) => panic!("a change of a shop in another inventory"),
        }
    }
}

impl Stock {
    fn terms(&self) -> &Terms {
        match self {
            Stock::Event(event) => &event.terms,
            Stock::Schedule(schedule) => &schedule.terms,
            Stock::Shop(shop) => &shop.terms,
        }
    }

    fn terms_mut(&mut self) -> &mut Terms {
        match self {
            Stock::Event(event) => &mut event.terms,
            Stock::Schedule(schedule) => &mut schedule.terms,
            Stock::Shop(shop) => &mut shop.terms,
        }
    }
}
