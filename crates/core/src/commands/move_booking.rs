//! Swaps the units of a booking for others.

use serde::{Deserialize, Serialize};

use super::Decision;
use super::book::{
    BestAvailable, SectionSeats, best_seats, check_available, check_open, check_orphans, check_places,
    named_seats,
};
use crate::booking::{Booking, SeatClaim, Units};
use crate::change::Change;
use crate::ids::BookingId;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::seats::Seat;
use crate::time::{SlotId, Timestamp};

/// Swaps the units of a booking for as many others, in one step or not at all. Its own seats count as free; standing
/// places stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Which.
    pub booking: BookingId,
    /// Where to.
    pub to: Destination,
}

/// Where a booking is moved to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Destination {
    /// Another slot of the schedule.
    Slot(SlotId),
    /// These seats.
    Seats(Vec<SectionSeats>),
    /// The best seats that are left.
    Best(BestAvailable),
}

impl Move {
    pub(crate) fn decide(&self, inventory: &mut Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        let booking = Booking::clone(inventory.find_booking(self.booking)?);
        if !booking.is_active() {
            return Err(Refusal::NotMovable);
        }
        let units = match (&self.to, &booking.units) {
            (Destination::Slot(slot), Units::Slot { .. }) => other_slot(inventory, now, &booking, *slot)?,
            (Destination::Seats(_) | Destination::Best(_), Units::Event { seats, .. })
                if !seats.is_empty() =>
            {
                self.other_seats(inventory, &booking)?
            }
            (Destination::Slot(_) | Destination::Seats(_) | Destination::Best(_), _) => {
                return Err(Refusal::NotMovable);
            }
        };
        let price_difference = units.total_price().minus(booking.total_price);
        let reply = Reply::Moved { booking: self.booking, price_difference };
        if units == booking.units {
            return Ok(Decision::nothing(reply));
        }

        let change = Change::Moved { booking: self.booking, units: Box::new(units) };
        Ok(Decision::one(change, reply))
    }

    fn other_seats(&self, inventory: &mut Inventory, booking: &Booking) -> Result<Units, Refusal> {
        let Units::Event { seats, areas } = &booking.units else { return Err(Refusal::NotMovable) };
        let claims = inventory.event_as_if_free(booking, |event| {
            let found: Vec<Seat> = match &self.to {
                Destination::Slot(_) => return Err(Refusal::NotMovable),
                Destination::Seats(sections) => {
                    let asked: usize = sections.iter().map(|section| section.seats.len()).sum();
                    check_count(asked, seats, "/seats")?;
                    let named = named_seats(event, sections)?;
                    check_available(event, &named)?;
                    check_orphans(event, &named)?;
                    named
                }
                Destination::Best(best) => {
                    check_count(best.quantity as usize, seats, "/best_available/quantity")?;
                    best_seats(event, best)?
                }
            };
            Ok(event.priced(&found))
        })??;
        Ok(Units::Event { seats: claims, areas: areas.clone() })
    }
}

fn check_count(asked: usize, old: &[SeatClaim], pointer: &str) -> Result<(), Refusal> {
    if asked == old.len() {
        return Ok(());
    }
    Err(Refusal::invalid(pointer, format!("the booking has {} seats; as many are needed", old.len())))
}

fn other_slot(
    inventory: &Inventory,
    now: Timestamp,
    booking: &Booking,
    to: SlotId,
) -> Result<Units, Refusal> {
    let Units::Slot { slot: from, quantity, tickets, .. } = &booking.units else {
        return Err(Refusal::NotMovable);
    };
    let schedule = inventory.schedule()?;
    let slot = schedule.slots.get(&to).ok_or(Refusal::SlotNotFound)?;
    if to == *from {
        return Ok(booking.units.clone());
    }
    check_open(slot, now)?;
    match check_places(schedule, to, *quantity, now) {
        Ok(()) => {}
        Err(Refusal::SlotFull { available, alternatives }) => {
            return Err(Refusal::NewSlotFull { available, alternatives });
        }
        Err(other) => return Err(other),
    }
    Ok(Units::Slot { slot: to, quantity: *quantity, price: slot.price, tickets: tickets.clone() })
}
