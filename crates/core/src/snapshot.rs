//! A whole inventory in one piece, to be loaded without its journal.
//!
//! Only what cannot be worked out is written. Bitmaps, counts, pools, accounts, codes, deadlines and the uses of
//! tickets follow from the bookings, and loading makes them by the code that made them the first time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::booking::{AreaClaim, Booking, SeatClaim, Status, Units};
use crate::codec::DecodeError;
use crate::commands::add_box::{check_curve, check_pickup};
use crate::commands::create_event::check_hall;
use crate::commands::create_schedule::{check_pattern, check_window};
use crate::event::{Event, EventPlan, Sellout};
use crate::ids::{BookingId, check_slug, check_text};
use crate::inventory::{Inventory, Stock};
use crate::limits::{
    BOOKING_VERSION_MAX, BOOKINGS_PER_INVENTORY_MAX, BOXES_PER_SHOP_MAX, KEYS_PER_INVENTORY_MAX,
    NAME_CHARACTERS_MAX, POOL_CAPACITY_MAX, SEQUENCE_MAX, TICKETS_PER_SCHEDULE_MAX, UNITS_PER_BOOKING_MAX,
};
use crate::memory::{Fingerprint, KeyDigest, Memory, Remembered};
use crate::money::Money;
use crate::outcome::{Grant, Moved, Outcome};
use crate::pool::{Claim, Pool};
use crate::refusal::Refusal;
use crate::rules::check_within;
use crate::schedule::{Schedule, SchedulePlan, Slot, Ticket, Window};
use crate::seats::SeatState;
use crate::shop::{PickupBox, Shop, ShopPlan};
use crate::time::{Date, SlotId, Timestamp, Zone};

/// What cannot be worked out of an inventory.
#[derive(Serialize, Deserialize)]
pub(crate) struct Snapshot {
    sequence: u64,
    clock: Timestamp,
    stock: Option<StockForm>,
    bookings: Vec<Arc<Booking>>,
    /// How many there are, to make room for them before the bookings tell.
    customers: usize,
    /// Of each customer whose account does not follow from the bookings alone, the booking that was made or came back to life last.
    accounts: Vec<BookingId>,
    /// In the order in which they are forgotten.
    keys: Vec<KeyForm>,
}

/// Plans are as the stock is now, not as it was created.
#[derive(Serialize, Deserialize)]
enum StockForm {
    Event {
        plan: EventPlan,
        sellout: Sellout,
    },
    Schedule {
        plan: SchedulePlan,
        rolled_through: Date,
        /// Nothing in them is booked.
        slots: Vec<(SlotId, Slot)>,
        /// In order of their numbers.
        tickets: Vec<(Arc<str>, Ticket)>,
    },
    Shop {
        plan: ShopPlan,
        /// Nothing of them is booked.
        boxes: Vec<PickupBox>,
    },
}

/// One use of a key.
#[derive(Serialize, Deserialize)]
struct KeyForm {
    key: KeyDigest,
    keep_until: Timestamp,
    fingerprint: Fingerprint,
    sequence: u64,
    decided_at: Timestamp,
    answer: AnswerForm,
}

/// An answer. Bookings that are still what they were are named, so that they are neither written nor kept twice.
#[derive(Serialize, Deserialize)]
enum AnswerForm {
    Booking(BookingId),
    Moved {
        booking: BookingId,
        price_difference: Money,
    },
    /// Most holds are paid while their key is remembered.
    Earlier(EarlierForm),
    Other(Outcome),
}

/// A booking as it was before it was paid, extended or ended: all else is as it is now.
#[derive(Serialize, Deserialize)]
struct EarlierForm {
    booking: BookingId,
    status: Status,
    payment_reference: Option<Arc<str>>,
    version: u32,
}

impl Snapshot {
    pub(crate) fn of(inventory: &Inventory) -> Snapshot {
        debug_assert_eq!(inventory.open_sequence(), inventory.sequence(), "a batch is open");
        let accounts = inventory.customers().iter().filter(|(_, account)| {
            // The others follow from the bookings.
            account.latest != account.newest
        });
        Snapshot {
            sequence: inventory.sequence(),
            clock: inventory.clock(),
            stock: inventory.stock().map(StockForm::of),
            bookings: inventory.bookings().cloned().collect(),
            customers: inventory.customers().iter().len(),
            accounts: accounts.map(|(_, account)| account.latest).collect(),
            keys: inventory.memory().queue().map(|entry| KeyForm::of(inventory, entry)).collect(),
        }
    }

    /// The inventory, unless the bytes describe none: no seat has two owners, whatever was read.
    pub(crate) fn restore(self) -> Result<Inventory, DecodeError> {
        ensure(self.sequence <= SEQUENCE_MAX, "more batches than there can be")?;
        ensure(self.clock == self.clock.clamped(), "the clock is outside the calendar")?;
        ensure(self.bookings.len() <= BOOKINGS_PER_INVENTORY_MAX, "too many bookings")?;
        ensure(self.keys.len() <= KEYS_PER_INVENTORY_MAX, "too many keys")?;
        ensure(self.keys.is_sorted_by_key(|entry| entry.keep_until), "the keys are not in order of time")?;
        ensure(self.customers <= self.bookings.len(), "customers who never booked")?;
        let mut stock = self.stock.map(StockForm::restore).transpose()?;
        match &mut stock {
            Some(Stock::Event(event)) => take_seats(event, &self.bookings)?,
            Some(Stock::Schedule(schedule)) => schedule.ticket_uses.reserve(tickets_in_use(&self.bookings)),
            Some(Stock::Shop(_)) | None => {}
        }

        let bookings = self.bookings.len();
        let mut inventory = Inventory::restored(self.sequence, self.clock, stock, bookings, self.customers);
        for booking in self.bookings {
            check_booking(&inventory, &booking)?;
            inventory.restore_booking(booking);
        }
        for latest in self.accounts {
            ensure(inventory.booking(latest).is_some(), "an account without its booking")?;
            inventory.restore_account(latest);
        }
        let mut memory = Memory::with_capacity(self.keys.len());
        for key in self.keys {
            memory.remember(key.restore(&inventory)?);
        }
        inventory.restore_memory(memory);
        Ok(inventory)
    }
}

/// Takes the seats of all bookings at once, in order: each row is measured once, not once a booking.
fn take_seats(event: &mut Event, bookings: &[Arc<Booking>]) -> Result<(), DecodeError> {
    let (mut held, mut sold) = (Vec::new(), Vec::new());
    for booking in bookings {
        let claimed = match booking.claim() {
            Some(Claim::Held) => &mut held,
            Some(Claim::Sold) => &mut sold,
            None => continue,
        };
        match &booking.units {
            Units::Event { seats, .. } => claimed.extend(seats.iter().map(|claim| claim.seat)),
            Units::Slot { .. } | Units::Box { .. } => {}
        }
    }
    for (mut seats, state) in [(held, SeatState::Held), (sold, SeatState::Sold)] {
        seats.sort_unstable();
        ensure(seats.iter().all(|&seat| event.seats.contains(seat)), "no such seat")?;
        let are_free = seats.iter().all(|&seat| event.seats.state(seat) == SeatState::Available);
        ensure(are_free && is_ascending(&seats), "a seat has two owners")?;
        event.transfer(&seats, SeatState::Available, state);
    }
    Ok(())
}

fn tickets_in_use(bookings: &[Arc<Booking>]) -> usize {
    let tickets = |booking: &Arc<Booking>| match &booking.units {
        Units::Slot { tickets, .. } if booking.claim().is_some() => tickets.len(),
        Units::Slot { .. } | Units::Event { .. } | Units::Box { .. } => 0,
    };
    bookings.iter().map(tickets).sum()
}

impl StockForm {
    fn of(stock: &Stock) -> StockForm {
        match stock {
            Stock::Event(event) => StockForm::Event { plan: event.plan(), sellout: event.sellout },
            Stock::Schedule(schedule) => {
                let mut tickets: Vec<(Arc<str>, Ticket)> =
                    schedule.tickets.iter().map(|(number, ticket)| (Arc::clone(number), *ticket)).collect();
                tickets.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                let unbooked = |slot: &Slot| Slot { pool: Pool::of(slot.pool.capacity), ..*slot };
                StockForm::Schedule {
                    plan: SchedulePlan {
                        terms: schedule.terms.clone(),
                        timezone: schedule.timezone.clone(),
                        pattern: schedule.pattern.clone(),
                    },
                    rolled_through: schedule.rolled_through(),
                    slots: schedule.slots.iter().map(|(id, slot)| (*id, unbooked(slot))).collect(),
                    tickets,
                }
            }
            Stock::Shop(shop) => {
                let unbooked =
                    |boxed: &PickupBox| PickupBox { pool: Pool::of(boxed.pool.capacity), ..boxed.clone() };
                StockForm::Shop {
                    plan: ShopPlan { terms: shop.terms.clone(), timezone: shop.timezone.clone() },
                    boxes: shop.boxes.iter().map(unbooked).collect(),
                }
            }
        }
    }

    /// The stock with nothing booked.
    fn restore(self) -> Result<Stock, DecodeError> {
        Ok(match self {
            StockForm::Event { plan, sellout } => {
                check_event(&plan)?;
                let mut event = Event::new(&plan);
                event.sellout = sellout;
                Stock::Event(Box::new(event))
            }
            StockForm::Schedule { plan, rolled_through, slots, tickets } => {
                check_schedule(&plan, &slots, &tickets)?;
                let mut schedule = Schedule::new(&plan);
                schedule.rolled_through = Some(rolled_through);
                schedule.slots.extend(slots);
                schedule.tickets.extend(tickets);
                Stock::Schedule(Box::new(schedule))
            }
            StockForm::Shop { plan, boxes } => {
                check_shop(&plan, &boxes)?;
                let mut shop = Shop::new(&plan);
                for boxed in boxes {
                    ensure(shop.find(&boxed.id).is_none(), "two boxes of one id")?;
                    shop.add(boxed);
                }
                Stock::Shop(Box::new(shop))
            }
        })
    }
}

impl KeyForm {
    fn of(inventory: &Inventory, remembered: &Remembered) -> KeyForm {
        KeyForm {
            key: remembered.key,
            keep_until: remembered.keep_until,
            fingerprint: remembered.fingerprint,
            sequence: remembered.sequence,
            decided_at: remembered.decided_at,
            answer: AnswerForm::of(inventory, &remembered.outcome),
        }
    }

    fn restore(self, inventory: &Inventory) -> Result<Remembered, DecodeError> {
        Ok(Remembered {
            key: self.key,
            fingerprint: self.fingerprint,
            outcome: self.answer.restore(inventory)?,
            sequence: self.sequence,
            decided_at: self.decided_at,
            keep_until: self.keep_until,
        })
    }
}

impl AnswerForm {
    fn of(inventory: &Inventory, outcome: &Outcome) -> AnswerForm {
        let is_unchanged = |answered: &Arc<Booking>| inventory.booking(answered.id) == Some(answered);
        match outcome {
            Outcome::Granted(Grant::Booking(booking)) if is_unchanged(booking) => {
                AnswerForm::Booking(booking.id)
            }
            Outcome::Granted(Grant::Booking(booking)) => match EarlierForm::of(inventory, booking) {
                Some(earlier) => AnswerForm::Earlier(earlier),
                None => AnswerForm::Other(outcome.clone()),
            },
            Outcome::Granted(Grant::Moved(moved)) if is_unchanged(&moved.booking) => {
                AnswerForm::Moved { booking: moved.booking.id, price_difference: moved.price_difference }
            }
            Outcome::Granted(_) | Outcome::Refused(_) => AnswerForm::Other(outcome.clone()),
        }
    }

    fn restore(self, inventory: &Inventory) -> Result<Outcome, DecodeError> {
        let current =
            |id| inventory.booking(id).ok_or(DecodeError::NotAnInventory("an answer without its booking"));
        Ok(Outcome::Granted(match self {
            AnswerForm::Booking(id) => Grant::Booking(Arc::clone(current(id)?)),
            AnswerForm::Moved { booking, price_difference } => {
                let booking = Arc::clone(current(booking)?);
                Grant::Moved(Box::new(Moved { booking, price_difference }))
            }
            AnswerForm::Earlier(earlier) => {
                Grant::Booking(Arc::new(earlier.restore(current(earlier.booking)?)))
            }
            AnswerForm::Other(outcome) => return Ok(outcome),
        }))
    }
}

impl EarlierForm {
    /// `None` if more has changed since.
    fn of(inventory: &Inventory, answered: &Booking) -> Option<EarlierForm> {
        let earlier = EarlierForm {
            booking: answered.id,
            status: answered.status,
            payment_reference: answered.payment_reference().cloned(),
            version: answered.version,
        };
        let current = inventory.booking(answered.id)?;
        (earlier.restore(current) == *answered).then_some(earlier)
    }

    fn restore(&self, current: &Booking) -> Booking {
        Booking {
            status: self.status,
            details: current.details_with_payment(self.payment_reference.clone()),
            version: self.version,
            ..current.clone()
        }
    }
}

fn check_event(plan: &EventPlan) -> Result<(), DecodeError> {
    accept(plan.terms.check(), "the terms")?;
    accept(plan.info.clone().checked(), "the event's information")?;
    accept(check_hall(&plan.sections, &plan.areas), "the hall")?;
    for subsection in plan.sections.iter().flat_map(|section| &section.subsections) {
        ensure(is_ascending(&subsection.blocked), "the blocked seats are not in order")?;
    }
    Ok(())
}

fn check_schedule(
    plan: &SchedulePlan,
    slots: &[(SlotId, Slot)],
    tickets: &[(Arc<str>, Ticket)],
) -> Result<(), DecodeError> {
    accept(plan.terms.check(), "the terms")?;
    accept(Zone::named(&plan.timezone, ""), "the time zone")?;
    accept(check_pattern(&plan.pattern), "the pattern")?;
    ensure(slots.is_sorted_by(|(one, _), (next, _)| one < next), "the slots are not in order")?;
    for (id, slot) in slots {
        let window =
            Window { start: id.start, end: slot.end, capacity: slot.pool.capacity, price: slot.price };
        accept(check_window(&window, ""), "a slot")?;
        let moments = [slot.starts_at, slot.ends_at];
        ensure(moments.into_iter().all(Timestamp::is_local_time), "a slot is outside the calendar")?;
        ensure(slot.exists(), "a slot ends before it starts")?;
        ensure(slot.pool == Pool::of(slot.pool.capacity), "a slot is booked by nobody")?;
    }
    ensure(tickets.len() <= TICKETS_PER_SCHEDULE_MAX, "too many tickets")?;
    ensure(tickets.is_sorted_by(|(one, _), (next, _)| one < next), "the tickets are not in order")
}

fn check_shop(plan: &ShopPlan, boxes: &[PickupBox]) -> Result<(), DecodeError> {
    accept(plan.terms.check(), "the terms")?;
    accept(Zone::named(&plan.timezone, ""), "the time zone")?;
    ensure(boxes.len() <= BOXES_PER_SHOP_MAX, "too many boxes")?;
    for boxed in boxes {
        accept(check_slug(&boxed.id, ""), "the id of a box")?;
        accept(check_text(&boxed.name, NAME_CHARACTERS_MAX, ""), "the name of a box")?;
        accept(check_within(boxed.pool.capacity, POOL_CAPACITY_MAX, ""), "the quantity of a box")?;
        accept(boxed.price.check_price(""), "the price of a box")?;
        accept(check_pickup(boxed.pickup), "the pickup of a box")?;
        accept(check_curve(&boxed.price_curve), "the price curve of a box")?;
        ensure(boxed.pool == Pool::of(boxed.pool.capacity), "a box is booked by nobody")?;
    }
    Ok(())
}

/// Whether a booking can stand beside those that were loaded before it.
fn check_booking(inventory: &Inventory, booking: &Booking) -> Result<(), DecodeError> {
    ensure(inventory.booking(booking.id).is_none(), "two bookings of one id")?;
    let is_counted = (1..=BOOKING_VERSION_MAX).contains(&booking.version);
    ensure(is_counted, "a booking that never began, or changed too often")?;
    let code_is_free = !booking.is_active() || inventory.booking_of_code(booking.redeem_code).is_none();
    ensure(code_is_free, "two active bookings of one code")?;
    let is_live = booking.claim().is_some();
    match (inventory.stock(), &booking.units) {
        (Some(Stock::Event(event)), Units::Event { seats, areas }) => {
            check_event_units(event, seats, areas, is_live)?;
        }
        (Some(Stock::Schedule(schedule)), Units::Slot { slot, end, quantity, price, tickets }) => {
            check_quantity(u64::from(*quantity), *price)?;
            let is_a_ticket_each = tickets.is_empty() || tickets.len() == *quantity as usize;
            ensure(is_a_ticket_each, "a booking without a ticket for each place")?;
            if is_live {
                let slot = schedule.slots.get(slot).ok_or(DecodeError::NotAnInventory("no such slot"))?;
                ensure(*quantity <= slot.pool.available(), "a slot has too many bookings")?;
                ensure(slot.end == *end, "a booking of a slot that ends at another time")?;
                let is_used = tickets.iter().any(|ticket| schedule.ticket_uses.contains_key(ticket));
                ensure(!is_used && !has_twice(tickets.iter()), "a ticket is in two places")?;
            }
        }
        (Some(Stock::Shop(shop)), Units::Box { number, quantity, price }) => {
            check_quantity(u64::from(*quantity), *price)?;
            let boxed = shop.boxes.get(*number as usize).ok_or(DecodeError::NotAnInventory("no such box"))?;
            ensure(!is_live || *quantity <= boxed.pool.available(), "a box has too many bookings")?;
        }
        (Some(Stock::Event(_) | Stock::Schedule(_) | Stock::Shop(_)) | None, _) => {
            return Err(DecodeError::NotAnInventory("a booking of what is not for sale"));
        }
    }
    check_redemption(booking)
}

/// Whether the times at which its units were redeemed fit what the booking is.
fn check_redemption(booking: &Booking) -> Result<(), DecodeError> {
    let Some(redemption) = booking.details.as_ref().and_then(|details| details.redemption.as_deref()) else {
        return Ok(());
    };
    let redeemed = redemption.iter().flatten().count();
    let fits = match booking.status {
        Status::Confirmed { .. } => (1..redemption.len()).contains(&redeemed),
        Status::Redeemed { .. } => redeemed == redemption.len(),
        Status::OnHold { .. } | Status::Cancelled { .. } | Status::Expired { .. } => false,
    };
    let is_complete = redemption.len() == booking.units.quantity() as usize;
    ensure(fits && is_complete, "a redemption of other units")
}

fn check_event_units(
    event: &Event,
    seats: &[SeatClaim],
    areas: &[AreaClaim],
    is_live: bool,
) -> Result<(), DecodeError> {
    let standing: u64 = areas.iter().map(|claim| u64::from(claim.quantity)).sum();
    check_quantity(seats.len() as u64 + standing, Money::ZERO)?;
    ensure(seats.is_sorted_by(|one, next| one.seat < next.seat), "the seats are not in order")?;
    for claim in seats {
        accept(claim.price.check_price(""), "the price of a seat")?;
        ensure(event.seats.contains(claim.seat), "no such seat")?;
    }
    ensure(!has_twice(areas.iter().map(|claim| claim.area)), "an area stands twice")?;
    for claim in areas {
        accept(claim.price.check_price(""), "the price of an area")?;
        let area = event.areas.get(usize::from(claim.area));
        let area = area.ok_or(DecodeError::NotAnInventory("no such area"))?;
        ensure(!is_live || claim.quantity <= area.pool.available(), "an area has too many bookings")?;
    }
    Ok(())
}

fn check_quantity(quantity: u64, price: Money) -> Result<(), DecodeError> {
    ensure((1..=u64::from(UNITS_PER_BOOKING_MAX)).contains(&quantity), "too many units, or none")?;
    accept(price.check_price(""), "the price of a booking")
}

fn ensure(holds: bool, what_is_wrong: &'static str) -> Result<(), DecodeError> {
    if holds { Ok(()) } else { Err(DecodeError::NotAnInventory(what_is_wrong)) }
}

/// What a command would be refused for cannot have come about.
fn accept<T>(check: Result<T, Refusal>, what_is_wrong: &'static str) -> Result<(), DecodeError> {
    check.map(drop).map_err(|_| DecodeError::NotAnInventory(what_is_wrong))
}

fn is_ascending<T: PartialOrd>(items: &[T]) -> bool {
    items.is_sorted_by(|one, next| one < next)
}

fn has_twice<T: Ord>(items: impl ExactSizeIterator<Item = T>) -> bool {
    // Nearly all bookings have one: no list for those.
    if items.len() < 2 {
        return false;
    }
    let mut sorted: Vec<T> = items.collect();
    sorted.sort_unstable();
    !is_ascending(&sorted)
}

#[cfg(test)]
mod tests;
