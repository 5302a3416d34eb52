//! Tables of commands and their outcomes in words, for the tests of the rules.
//!
//! A [`Scene`] is one inventory; each row of a table applies one command to it and compares the outcome, put into
//! words, with what is expected. Every row also checks what holds for all commands: a refusal changes nothing, and
//! the changes, written down and read again, bring a second inventory to the same state; so does a snapshot.

mod builders;

use std::collections::BTreeSet;

use crate::apply;
use crate::booking::{Booking, Status, Units};
use crate::change::Change;
use crate::codec;
use crate::command::{Action, ActionKind, Command};
use crate::ids::{Actor, BookingId};
use crate::inventory::{Inventory, Stock};
use crate::outcome::{Applied, Grant, Outcome, Summary};
use crate::refusal::{Refusal, RefusalCode, SeatAlternative, SlotAlternative};
use crate::seats::{Seat, SeatState};
use crate::time::Timestamp;

pub(crate) use builders::{
    add_box, add_slot, bakery, block, book, cancel, code, confirm, date, extend, hall, id, keyed, move_to,
    museum, one_section, redeem, redeem_anyway, redeem_some, seats, slot, some_boxes, some_seats,
    some_tickets, unblock, unredeem, unredeem_some, window,
};

/// 2026-12-01T00:00:00Z, a Tuesday; 08:00 in Taipei. Times in tables are seconds after it.
pub(crate) const START: Timestamp = Timestamp(1_796_083_200_000);

pub(crate) fn second(seconds: i64) -> Timestamp {
    Timestamp(START.0 + seconds * 1_000)
}

/// What a table has reached.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    pub(crate) actions: BTreeSet<ActionKind>,
    pub(crate) refusals: BTreeSet<RefusalCode>,
}

/// One inventory under test.
pub(crate) struct Scene {
    pub(crate) inventory: Inventory,
    copy: Inventory,
    now: Timestamp,
    pub(crate) reached: Reached,
}

impl Scene {
    /// Nothing created yet.
    pub(crate) fn empty() -> Scene {
        Scene {
            inventory: Inventory::default(),
            copy: Inventory::default(),
            now: START,
            reached: Reached::default(),
        }
    }

    /// An inventory made by a command.
    pub(crate) fn of(create: impl Into<Command>) -> Scene {
        let mut scene = Scene::empty();
        let applied = scene.apply(&create.into());
        assert!(matches!(applied.outcome, Outcome::Granted(_)), "{:?}", applied.outcome);
        scene
    }

    /// Applies a command without looking, to fill a scene.
    pub(crate) fn load(&mut self, command: impl Into<Command>) {
        let applied = apply(&mut self.inventory, self.now, &command.into());
        assert!(matches!(applied.outcome, Outcome::Granted(_)), "{:?}", applied.outcome);
        self.inventory.end_batch();
        self.copy.replay(&applied.changes);
    }

    /// The rows that follow happen at this second.
    pub(crate) fn at(&mut self, seconds: i64) -> &mut Scene {
        self.now = second(seconds);
        self
    }

    /// One row: a command and its outcome in words.
    #[track_caller]
    pub(crate) fn row(&mut self, command: impl Into<Command>, expected: &str) -> &mut Scene {
        let command = command.into();
        let applied = self.apply(&command);
        let said = self.words(&applied);
        assert_eq!(said, expected, "{:?}", command.action);
        self
    }

    /// The state of the whole inventory in words: seats as a picture, pools as numbers.
    #[track_caller]
    pub(crate) fn shows(&mut self, expected: &str) -> &mut Scene {
        assert_eq!(picture(&self.inventory), expected);
        self
    }

    pub(crate) fn apply(&mut self, command: &Command) -> Applied {
        self.reached.actions.insert(ActionKind::from(&command.action));
        assert_eq!(codec::decode_command(&codec::encode_command(command)).as_ref(), Ok(command));
        let mut expired = self.inventory.clone();
        let expiry = Command { by: Actor::default(), idempotency: None, action: Action::Expire };
        let mut expected_changes = apply(&mut expired, self.now, &expiry).changes;
        let applied = apply(&mut self.inventory, self.now, command);
        if let Outcome::Refused(refusal) = &applied.outcome
            && !applied.replayed
        {
            self.reached.refusals.insert(RefusalCode::from(&**refusal));
            if let Some(Change::Remembered { .. }) = applied.changes.last() {
                expected_changes.clone_from(&applied.changes);
            } else {
                assert_eq!(self.inventory, expired, "a refusal changes nothing");
            }
            assert_eq!(applied.changes, expected_changes, "a refusal changes nothing");
        }
        let batch = self.inventory.end_batch();
        assert_eq!(batch.is_some(), !applied.changes.is_empty());
        if let Some(sequence) = batch.filter(|_| !applied.replayed) {
            assert_eq!(applied.sequence, sequence, "an answer names the batch that makes it durable");
        }
        let bytes = codec::encode_changes(&applied.changes);
        self.copy.replay(&codec::decode_changes(&bytes).expect("what was written can be read"));
        assert_eq!(self.copy, self.inventory, "replaying the changes gives the same state");
        let snapshot = codec::encode_inventory(&self.inventory);
        assert_eq!(
            codec::decode_inventory(&snapshot).as_ref(),
            Ok(&self.inventory),
            "a snapshot keeps the state"
        );
        applied
    }

    fn words(&self, applied: &Applied) -> String {
        let again = if applied.replayed { "again: " } else { "" };
        let words = match &applied.outcome {
            Outcome::Refused(refusal) => self.refusal_words(refusal),
            Outcome::Granted(Grant::Booking(booking)) => self.booking_words(booking),
            Outcome::Granted(Grant::Moved(moved)) => {
                format!("{}, {:+}", self.booking_words(&moved.booking), moved.price_difference.0)
            }
            Outcome::Granted(Grant::Inventory(summary)) => summary_words(summary),
            Outcome::Granted(Grant::Slot(slot)) => {
                let (id, slot) = &**slot;
                let state = if slot.closed { "closed" } else { "open" };
                format!(
                    "{id} until {} {state}, {} of {} left",
                    slot.end,
                    slot.pool.available(),
                    slot.pool.capacity
                )
            }
            Outcome::Granted(Grant::SlotDeleted(id)) => format!("{id} deleted"),
            Outcome::Granted(Grant::Box(boxed)) => {
                let (pool, price) = (boxed.pool, boxed.price_at(self.now).0);
                let status = boxed.status(self.now);
                format!("{} {status:?}, {} of {} left at {price}", boxed.id, pool.available(), pool.capacity)
            }
            Outcome::Granted(Grant::Tickets { added, updated }) => {
                format!("{added} added, {updated} updated")
            }
            Outcome::Granted(Grant::Done) => "done".to_owned(),
            Outcome::Granted(Grant::EventCancelled { holds_ended, bookings_cancelled }) => {
                format!("{holds_ended} holds ended, {bookings_cancelled} bookings cancelled")
            }
        };
        format!("{again}{words}")
    }

    fn booking_words(&self, booking: &Booking) -> String {
        let since = |moment: Timestamp| (moment.0 - START.0) / 1_000;
        let units = self.units_words(&booking.units);
        let price = booking.total_price().0;
        match booking.status {
            Status::OnHold { expires_at } => {
                format!("on hold {units} for {price} until {}", since(expires_at))
            }
            Status::Confirmed { .. } if booking.is_partly_redeemed() => {
                format!("confirmed {units} for {price}, {} redeemed", booking.redeemed_quantity())
            }
            Status::Confirmed { .. } => format!("confirmed {units} for {price}"),
            Status::Redeemed { .. } => format!("redeemed {units} for {price}"),
            Status::Cancelled { .. } => format!("cancelled {units} for {price}"),
            Status::Expired { .. } => format!("expired {units} for {price}"),
        }
    }

    fn units_words(&self, units: &Units) -> String {
        match units {
            Units::Event { seats, areas } => {
                let Some(Stock::Event(event)) = self.inventory.stock() else { panic!("seats are in events") };
                let mut words = Vec::new();
                if !seats.is_empty() {
                    words.push(self.seat_words(seats.iter().map(|claim| claim.seat)));
                }
                for claim in areas {
                    words.push(format!("{} x{}", event.areas[usize::from(claim.area)].name, claim.quantity));
                }
                words.join(" + ")
            }
            Units::Slot { slot, quantity, tickets, .. } if tickets.is_empty() => {
                format!("{slot} x{quantity}")
            }
            Units::Slot { slot, tickets, .. } => format!("{slot} {}", tickets.join(",")),
            Units::Box { number, quantity, .. } => {
                let Some(Stock::Shop(shop)) = self.inventory.stock() else { panic!("boxes are in shops") };
                format!("{} x{quantity}", shop.boxes[*number as usize].id)
            }
        }
    }

    /// `A-1 1-1,1-2 B-1 3-4`.
    fn seat_words(&self, seats: impl Iterator<Item = Seat>) -> String {
        let Some(Stock::Event(event)) = self.inventory.stock() else { panic!("seats are in events") };
        let mut words = String::new();
        let mut last = None;
        for seat in seats {
            if last == Some(seat.subsection) {
                words.push(',');
            } else {
                let gap = if last.is_some() { " " } else { "" };
                words.push_str(&format!("{gap}{} ", event.subsections[usize::from(seat.subsection)].address));
            }
            last = Some(seat.subsection);
            words.push_str(&format!("{}-{}", seat.row, seat.number));
        }
        words
    }

    fn refusal_words(&self, refusal: &Refusal) -> String {
        let detail = match refusal {
            Refusal::InvalidRequest { pointer, .. } => pointer.clone(),
            Refusal::SectionNotFound { section } => section.clone(),
            Refusal::SeatNotFound { section, row, seat } => format!("{section} {row}-{seat}"),
            Refusal::DuplicateSeat { seat } => self.seat_words([*seat].into_iter()),
            Refusal::AreaNotFound { area } => area.clone(),
            Refusal::NotInBooking { unit } => unit.clone(),
            Refusal::TooManyUnits { most } => format!("most {most}"),
            Refusal::SalesNotOpen { opens_at: at } | Refusal::SalesClosed { closed_at: at } => {
                format!("{}", (at.0 - START.0) / 1_000)
            }
            Refusal::WrongTime { opens_at, closes_at } => {
                let seconds = |at: &Option<Timestamp>| {
                    at.map_or_else(|| "-".to_owned(), |at| ((at.0 - START.0) / 1_000).to_string())
                };
                format!("{} to {}", seconds(opens_at), seconds(closes_at))
            }
            Refusal::AlreadyRedeemed { redeemed_at } => format!("{}", (redeemed_at.0 - START.0) / 1_000),
            Refusal::TicketNotFound { ticket }
            | Refusal::TicketNotActive { ticket }
            | Refusal::TicketExpired { ticket }
            | Refusal::TicketAlreadyUsed { ticket }
            | Refusal::TicketNotReserved { ticket }
            | Refusal::TicketAlreadyReserved { ticket, booking: _ } => ticket.to_string(),
            Refusal::ActiveReservationExists { booking } | Refusal::CustomerLimitReached { booking } => {
                booking.map(label_of).unwrap_or_default()
            }
            Refusal::SeatUnavailable { conflicts, alternatives } => {
                let conflicts = conflicts.iter().map(|conflict| {
                    format!("{} {:?}", self.seat_words([conflict.seat].into_iter()), conflict.reason)
                });
                format!(
                    "{}{}",
                    conflicts.collect::<Vec<_>>().join(", "),
                    self.alternative_words(alternatives)
                )
            }
            Refusal::OrphanSeat { orphans, alternatives } => {
                format!(
                    "{}{}",
                    self.seat_words(orphans.iter().copied()),
                    self.alternative_words(alternatives)
                )
            }
            Refusal::NotEnoughSeats { available } | Refusal::InsufficientInventory { available } => {
                format!("{available} left")
            }
            Refusal::AreaFull { area, available } => format!("{area} {available} left"),
            Refusal::SlotFull { available, alternatives }
            | Refusal::NewSlotFull { available, alternatives } => {
                format!("{available} left{}", slot_alternative_words(alternatives))
            }
            Refusal::BoxUnavailable { reason } => format!("{reason:?}"),
            Refusal::CapacityBelowBookedCount { booked } => format!("{booked} booked"),
            Refusal::IdempotencyKeyRequired
            | Refusal::IdempotencyKeyReused
            | Refusal::EventNotFound
            | Refusal::ScheduleNotFound
            | Refusal::ShopNotFound
            | Refusal::AlreadyExists
            | Refusal::Overloaded
            | Refusal::BookingNotFound
            | Refusal::AlreadyConfirmed
            | Refusal::NotConfirmable
            | Refusal::Forbidden
            | Refusal::HoldExpired
            | Refusal::NotExtendable
            | Refusal::HoldLimitReached
            | Refusal::NotCancellable
            | Refusal::NotMovable
            | Refusal::NotRedeemable
            | Refusal::NotRedeemed
            | Refusal::WrongCode
            | Refusal::WrongDate
            | Refusal::BookingIdTaken
            | Refusal::SlotNotFound
            | Refusal::BoxNotFound
            | Refusal::InventoryClosed
            | Refusal::SlotPast
            | Refusal::SlotClosed
            | Refusal::PickupWindowClosed
            | Refusal::NotAdjacent
            | Refusal::SlotAlreadyExists
            | Refusal::CannotCreatePastSlot
            | Refusal::SlotHasBookings
            | Refusal::EventHasBookings => String::new(),
        };
        format!("{} {detail}", refusal.code()).trim_end().to_owned()
    }

    fn alternative_words(&self, alternatives: &[SeatAlternative]) -> String {
        let words = alternatives.iter().map(|alternative| {
            let apart = if alternative.adjacent { "" } else { " apart" };
            format!(
                "; or {}{apart} for {}",
                self.seat_words(alternative.seats.iter().copied()),
                alternative.total_price.0
            )
        });
        words.collect()
    }
}

fn slot_alternative_words(alternatives: &[SlotAlternative]) -> String {
    alternatives.iter().map(|found| format!("; or {} with {}", found.slot, found.available_count)).collect()
}

fn summary_words(summary: &Summary) -> String {
    match summary {
        Summary::Event(event) => {
            let counts = event.totals;
            format!(
                "event {:?}: {} free, {} held, {} sold, {} blocked",
                event.terms.status, counts.available, counts.held, counts.sold, counts.blocked
            )
        }
        Summary::Schedule(schedule) => format!("schedule {:?}", schedule.terms.status),
        Summary::Shop { terms, .. } => format!("shop {:?}", terms.status),
    }
}

fn picture(inventory: &Inventory) -> String {
    let mut lines = Vec::new();
    match inventory.stock().expect("a scene with an inventory") {
        Stock::Event(event) => {
            for (index, subsection) in (0u16..).zip(&event.subsections) {
                let (rows, cols) = event.seats.size(index);
                let row = |row| {
                    (1..=cols).map(move |number| {
                        match event.seats.state(Seat { subsection: index, row, number }) {
                            SeatState::Available => '.',
                            SeatState::Held => 'h',
                            SeatState::Sold => 's',
                            SeatState::Blocked => 'x',
                        }
                    })
                };
                let rows: Vec<String> = (1..=rows).map(|number| row(number).collect()).collect();
                lines.push(format!("{} {}", subsection.address, rows.join(" ")));
            }
            for area in &event.areas {
                lines.push(format!("{} {}h {}s", area.name, area.pool.held, area.pool.sold));
            }
        }
        Stock::Schedule(schedule) => {
            for (id, slot) in &schedule.slots {
                let closed = if slot.closed { " closed" } else { "" };
                lines.push(format!(
                    "{id} {}h {}s of {}{closed}",
                    slot.pool.held, slot.pool.sold, slot.pool.capacity
                ));
            }
        }
        Stock::Shop(shop) => {
            for boxed in &shop.boxes {
                lines.push(format!(
                    "{} {}h {}s of {}",
                    boxed.id, boxed.pool.held, boxed.pool.sold, boxed.pool.capacity
                ));
            }
        }
    }
    lines.join("\n")
}

fn label_of(id: BookingId) -> String {
    String::from_utf8_lossy(&id.to_bytes()).trim_end_matches('\0').to_owned()
}
