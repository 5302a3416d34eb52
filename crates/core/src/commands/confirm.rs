//! Pays a hold.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use super::book::{BestAvailable, best_seats, check_again};
use crate::booking::{Booking, SeatClaim, Status, Units};
use crate::change::Change;
use crate::event::Event;
use crate::ids::{BookingId, check_text};
use crate::inventory::Inventory;
use crate::limits::REFERENCE_CHARACTERS_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::LatePayment;
use crate::seats::{Seat, SeatState};
use crate::time::Timestamp;

/// Pays a hold. A live hold is always confirmed; a late payment is a matter of policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirm {
    /// Which.
    pub booking: BookingId,
    /// Of the payment.
    pub payment_reference: Option<Arc<str>>,
    /// What to do if the hold is over; otherwise the inventory's rule decides.
    pub if_expired: Option<LatePayment>,
}

impl Confirm {
    pub(crate) fn decide(&self, inventory: &Inventory, now: Timestamp) -> Result<Decision, Refusal> {
        if let Some(reference) = &self.payment_reference {
            check_text(reference, REFERENCE_CHARACTERS_MAX, "/payment_reference")?;
        }
        let booking = inventory.find_booking(self.booking)?;
        let reply = Reply::Booking(self.booking);
        match booking.status {
            Status::OnHold { .. } => {
                let payment_reference = self.payment_reference.clone();
                Ok(Decision::one(Change::Confirmed { booking: self.booking, payment_reference }, reply))
            }
            Status::Confirmed { .. } if booking.payment_reference == self.payment_reference => {
                Ok(Decision::nothing(reply))
            }
            Status::Confirmed { .. } => Err(Refusal::AlreadyConfirmed),
            Status::Cancelled { .. } | Status::Redeemed { .. } => Err(Refusal::NotConfirmable),
            Status::Expired { .. } => {
                let units = self.units_again(inventory, now, booking)?;
                let change = Change::Revived {
                    booking: self.booking,
                    units: Box::new(units),
                    redeem_code: inventory.free_code(booking.redeem_code),
                    payment_reference: self.payment_reference.clone(),
                };
                Ok(Decision::one(change, reply))
            }
        }
    }

    /// The units of a hold that is over, if the policy lets them be taken again and they can be.
    fn units_again(
        &self,
        inventory: &Inventory,
        now: Timestamp,
        booking: &Booking,
    ) -> Result<Units, Refusal> {
        let terms = inventory.terms().expect("bookings are in inventories that exist");
        match self.if_expired.unwrap_or(terms.rules.late_payment) {
            LatePayment::Fail => Err(Refusal::HoldExpired),
            LatePayment::SameUnits => {
                check_again(inventory, now, booking)?;
                Ok(booking.units.clone())
            }
            LatePayment::Equivalent => match (check_again(inventory, now, booking), &booking.units) {
                (Err(gone @ Refusal::SeatUnavailable { .. }), Units::Event { seats, areas }) => {
                    let event = inventory.event()?;
                    let seats = equivalent_seats(event, seats).ok_or(gone)?;
                    for claim in areas {
                        super::book::check_area(event, claim)?;
                    }
                    Ok(Units::Event { seats, areas: areas.clone() })
                }
                (checked, units) => checked.map(|()| units.clone()),
            },
        }
    }
}

/// As many seats in the same sections at the same prices: the old ones where a section has them all, else the best.
fn equivalent_seats(event: &Event, old: &[SeatClaim]) -> Option<Box<[SeatClaim]>> {
    let section = |claim: &SeatClaim| event.subsections[usize::from(claim.seat.subsection)].section;
    let mut seats = Vec::with_capacity(old.len());
    for claims in old.chunk_by(|one, other| section(one) == section(other)) {
        if claims.iter().all(|claim| event.seats.state(claim.seat) == SeatState::Available) {
            seats.extend_from_slice(claims);
            continue;
        }
        let best = BestAvailable {
            quantity: u32::try_from(claims.len()).expect("units per booking are bounded"),
            section: Some(event.sections[usize::from(section(&claims[0]))].name.clone()),
            adjacent_required: false,
        };
        let found: Vec<Seat> = best_seats(event, &best).ok()?;
        seats.extend(
            found.into_iter().zip(claims).map(|(seat, claim)| SeatClaim { seat, price: claim.price }),
        );
    }
    Some(seats.into())
}
