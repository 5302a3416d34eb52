//! One customer's claim, from hold to admission.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{Actor, BookingId, RedeemCode};
use crate::money::Money;
use crate::pool::Claim;
use crate::seats::Seat;
use crate::time::{Minute, SlotId, Timestamp};

/// One customer's claim on units of one inventory.
///
/// A booking is replaced, never edited: whoever holds an `Arc` of it has it as it was at its version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking {
    /// Its UUID.
    pub id: BookingId,
    /// Whose it is.
    pub customer: Arc<str>,
    /// Where in its life it is.
    pub status: Status,
    /// What it claims, or claimed.
    pub units: Units,
    /// What is read out at the door. Unique among the active bookings of the inventory.
    pub redeem_code: RedeemCode,
    /// Who made it.
    pub created_by: Actor,
    /// When it was made.
    pub created_at: Timestamp,
    /// What only some bookings have.
    pub details: Option<Arc<Details>>,
    /// Counts the changes of this booking, from one.
    pub version: u32,
}

/// What only some bookings have. Kept apart, so that the others do not carry the room for it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// The reference given when it was confirmed.
    pub payment_reference: Option<Arc<str>>,
    /// The caller's own data, carried as it came.
    pub metadata: Option<Arc<[u8]>>,
    /// How to reach the customer about this booking: sealed by the caller, so that erasing the caller's key erases every copy,
    /// in journals and backups as well. The rules never read it.
    pub contact: Option<Arc<[u8]>>,
    /// The caller's own number or name for the booking.
    pub reference: Option<Arc<str>>,
    /// When each unit was redeemed, if that was not all of them at one time. In the order of seats, areas, tickets, places; see
    /// [`Booking::units_redeemed_at`].
    pub redemption: Option<Box<[Option<Timestamp>]>>,
}

/// Where in its life a booking is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Units are held until a deadline.
    OnHold {
        /// The first moment at which the hold is over.
        expires_at: Timestamp,
    },
    /// Units are sold.
    Confirmed {
        /// When.
        confirmed_at: Timestamp,
    },
    /// Collected, admitted. Units stay sold.
    Redeemed {
        /// When it was confirmed.
        confirmed_at: Timestamp,
        /// When it was redeemed.
        redeemed_at: Timestamp,
    },
    /// Units are free.
    Cancelled {
        /// When it was confirmed, if it was.
        confirmed_at: Option<Timestamp>,
        /// When it was cancelled.
        cancelled_at: Timestamp,
    },
    /// Units are free.
    Expired {
        /// The deadline that passed.
        expires_at: Timestamp,
    },
}

/// What a booking claims.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Units {
    /// Seats and places in standing areas of an event.
    Event {
        /// In order of subsection, row, number.
        seats: Box<[SeatClaim]>,
        /// In the order they were asked for.
        areas: Box<[AreaClaim]>,
    },
    /// Places in a time slot.
    Slot {
        /// Which.
        slot: SlotId,
        /// Local time of its end. A slot that has bookings keeps its times; after that another may begin then.
        end: Minute,
        /// How many.
        quantity: u32,
        /// Of one place.
        price: Money,
        /// The tickets, one a place; empty if places were booked by number.
        tickets: Box<[Arc<str>]>,
    },
    /// Boxes of one sort.
    Box {
        /// Index into [`crate::shop::Shop::boxes`].
        number: u32,
        /// How many.
        quantity: u32,
        /// Of one box.
        price: Money,
    },
}

/// One seat and its price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatClaim {
    /// Which.
    pub seat: Seat,
    /// At the time it was taken.
    pub price: Money,
}

/// Places in one area and their price.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AreaClaim {
    /// Index into [`crate::event::Event::areas`].
    pub area: u16,
    /// How many.
    pub quantity: u32,
    /// Of one place.
    pub price: Money,
}

impl Details {
    /// These details, unless there are none.
    pub fn if_any(self) -> Option<Arc<Details>> {
        let Details { payment_reference, metadata, contact, reference, redemption } = &self;
        let any = payment_reference.is_some()
            || metadata.is_some()
            || contact.is_some()
            || reference.is_some()
            || redemption.is_some();
        any.then(|| Arc::new(self))
    }
}

impl Booking {
    /// The price of all units, frozen when they were taken.
    pub fn total_price(&self) -> Money {
        self.units.total_price()
    }

    /// The reference given when it was confirmed.
    pub fn payment_reference(&self) -> Option<&Arc<str>> {
        self.details.as_ref()?.payment_reference.as_ref()
    }

    /// The caller's own data.
    pub fn metadata(&self) -> Option<&Arc<[u8]>> {
        self.details.as_ref()?.metadata.as_ref()
    }

    /// How to reach the customer about this booking, sealed.
    pub fn contact(&self) -> Option<&Arc<[u8]>> {
        self.details.as_ref()?.contact.as_ref()
    }

    /// The caller's own number or name for the booking.
    pub fn reference(&self) -> Option<&Arc<str>> {
        self.details.as_ref()?.reference.as_ref()
    }

    /// The details of this booking once it was paid and before any unit was redeemed.
    pub fn details_with_payment(&self, payment_reference: Option<Arc<str>>) -> Option<Arc<Details>> {
        let details = self.details.as_deref().cloned().unwrap_or_default();
        Details { payment_reference, redemption: None, ..details }.if_any()
    }

    /// On hold or confirmed.
    pub fn is_active(&self) -> bool {
        match self.status {
            Status::OnHold { .. } | Status::Confirmed { .. } => true,
            Status::Redeemed { .. } | Status::Cancelled { .. } | Status::Expired { .. } => false,
        }
    }

    /// Whether its units are held or sold for it.
    pub fn claims_units(&self) -> bool {
        self.claim().is_some()
    }

    /// Whether its units count as held or sold; `None` if they are free.
    pub(crate) fn claim(&self) -> Option<Claim> {
        match self.status {
            Status::OnHold { .. } => Some(Claim::Held),
            Status::Confirmed { .. } | Status::Redeemed { .. } => Some(Claim::Sold),
            Status::Cancelled { .. } | Status::Expired { .. } => None,
        }
    }

    /// When its hold ends, while it is on hold.
    pub fn deadline(&self) -> Option<Timestamp> {
        match self.status {
            Status::OnHold { expires_at } => Some(expires_at),
            Status::Confirmed { .. }
            | Status::Redeemed { .. }
            | Status::Cancelled { .. }
            | Status::Expired { .. } => None,
        }
    }

    /// Whether all its seats sit side by side in one row, and it has any.
    pub fn is_adjacent(&self) -> bool {
        match &self.units {
            Units::Event { seats, .. } => are_adjacent(seats.iter().map(|claim| claim.seat)),
            Units::Slot { .. } | Units::Box { .. } => false,
        }
    }
}

impl Units {
    /// All units.
    pub fn quantity(&self) -> u32 {
        match self {
            Units::Event { seats, areas } => {
                let seats = u32::try_from(seats.len()).expect("units per booking are bounded");
                seats + areas.iter().map(|claim| claim.quantity).sum::<u32>()
            }
            Units::Slot { quantity, .. } | Units::Box { quantity, .. } => *quantity,
        }
    }

    /// The price of all units.
    pub fn total_price(&self) -> Money {
        match self {
            Units::Event { seats, areas } => {
                let seats: Money = seats.iter().map(|claim| claim.price).sum();
                seats.plus(areas.iter().map(|claim| claim.price.times(claim.quantity)).sum())
            }
            Units::Slot { quantity, price, .. } | Units::Box { quantity, price, .. } => {
                price.times(*quantity)
            }
        }
    }
}

/// Whether seats, in order, sit side by side in one row.
fn are_adjacent(mut seats: impl Iterator<Item = Seat>) -> bool {
    let Some(mut last) = seats.next() else { return false };
    seats.all(|seat| {
        let follows =
            (seat.subsection, seat.row, seat.number) == (last.subsection, last.row, last.number + 1);
        last = seat;
        follows
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_adjacent_if_they_sit_side_by_side_in_one_row() {
        type Row = (&'static [(u16, u16, u16)], bool);
        let rows: [Row; 7] = [
            (&[], false),
            (&[(0, 1, 5)], true),
            (&[(0, 1, 5), (0, 1, 6), (0, 1, 7)], true),
            (&[(0, 1, 5), (0, 1, 7)], false),
            (&[(0, 1, 5), (0, 2, 6)], false),
            (&[(0, 1, 5), (1, 1, 6)], false),
            (&[(0, 1, 5), (0, 1, 6), (0, 1, 8)], false),
        ];
        for (seats, adjacent) in rows {
            let seats = seats.iter().map(|&(subsection, row, number)| Seat { subsection, row, number });
            let claims = seats.map(|seat| SeatClaim { seat, price: Money(1) }).collect();
            let units = Units::Event { seats: claims, areas: Box::default() };
            let booking = Booking {
                id: BookingId::from_bytes([1; 16]),
                customer: "ann".into(),
                status: Status::OnHold { expires_at: Timestamp(1) },
                units,
                redeem_code: RedeemCode::from_random(1),
                created_by: Actor(0),
                created_at: Timestamp(0),
                details: None,
                version: 1,
            };
            assert_eq!(booking.is_adjacent(), adjacent, "{:?}", booking.units);
            let places = Units::Box { number: 0, quantity: 1, price: Money(1) };
            assert!(!Booking { units: places, ..booking }.is_adjacent());
        }
    }
}
