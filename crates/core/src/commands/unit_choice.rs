//! Some units of a booking, as a caller at the door names them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::book::{SectionSeats, check_seats_form, named_seats};
use crate::booking::{Booking, Units};
use crate::ids::check_identifier;
use crate::inventory::Inventory;
use crate::limits::{TICKET_CHARACTERS_MAX, UNITS_PER_BOOKING_MAX};
use crate::redemption::{Side, pick};
use crate::refusal::Refusal;
use crate::rules::check_within;
use crate::seats::Seat;
use crate::time::Timestamp;

/// Some units of a booking.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct UnitChoice {
    /// Of its seats, these.
    pub seats: Vec<SectionSeats>,
    /// Of its tickets, these.
    pub tickets: Vec<Arc<str>>,
    /// So many of its places or boxes; of a booking that has seats or tickets only, so many of these.
    pub quantity: Option<u32>,
}

/// What is done with chosen units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChosenFor {
    /// They must not be redeemed.
    Redeeming,
    /// They must be redeemed.
    Undoing,
}

impl ChosenFor {
    /// Refuses a unit that is not as it must be.
    fn check(self, redeemed_at: Option<Timestamp>) -> Result<(), Refusal> {
        match (self, redeemed_at) {
            (ChosenFor::Redeeming, None) | (ChosenFor::Undoing, Some(_)) => Ok(()),
            (ChosenFor::Redeeming, Some(redeemed_at)) => Err(Refusal::AlreadyRedeemed { redeemed_at }),
            (ChosenFor::Undoing, None) => Err(Refusal::NotRedeemed),
        }
    }
}

impl UnitChoice {
    pub(super) fn check_form(&self) -> Result<(), Refusal> {
        if self.seats.is_empty() && self.tickets.is_empty() && self.quantity.is_none() {
            return Err(Refusal::invalid("", "must name seats, tickets or a quantity, or nothing for all"));
        }
        self.seats.iter().try_for_each(check_seats_form)?;
        let mut known = BTreeSet::new();
        for (index, ticket) in self.tickets.iter().enumerate() {
            check_identifier(ticket, TICKET_CHARACTERS_MAX, format_args!("/tickets/{index}"))?;
            if !known.insert(ticket) {
                return Err(Refusal::invalid(format_args!("/tickets/{index}"), "must not be named twice"));
            }
        }
        match self.quantity {
            Some(quantity) => check_within(quantity, UNITS_PER_BOOKING_MAX, "/quantity"),
            None => Ok(()),
        }
    }

    /// The places of the chosen units in the booking, in order.
    pub(super) fn places(
        &self,
        inventory: &Inventory,
        booking: &Booking,
        chosen_for: ChosenFor,
    ) -> Result<Vec<usize>, Refusal> {
        let mut places = self.named_places(inventory, booking)?;
        for &place in &places {
            chosen_for.check(booking.unit_redeemed_at(place))?;
        }
        if let Some(quantity) = self.quantity {
            let units = &booking.units;
            let range = if units.unnamed().is_empty() { units.named() } else { units.unnamed() };
            if quantity as usize > range.len() {
                let message = format!("the booking has {} of these units, got {quantity}", range.len());
                return Err(Refusal::invalid("/quantity", message));
            }
            let qualifies =
                |place| !places.contains(&place) && chosen_for.check(booking.unit_redeemed_at(place)).is_ok();
            let side = match chosen_for {
                ChosenFor::Redeeming => Side::First,
                ChosenFor::Undoing => Side::Last,
            };
            let picked = pick(range.clone(), quantity, &qualifies, side);
            if picked.len() < quantity as usize {
                let latest = range.filter_map(|place| booking.unit_redeemed_at(place)).max();
                return Err(match (chosen_for, latest) {
                    (ChosenFor::Redeeming, Some(redeemed_at)) => Refusal::AlreadyRedeemed { redeemed_at },
                    (ChosenFor::Redeeming, None) => {
                        Refusal::invalid("/quantity", "counts seats or tickets that are named beside it")
                    }
                    (ChosenFor::Undoing, _) => Refusal::NotRedeemed,
                });
            }
            places.extend(picked);
        }
        places.sort_unstable();
        Ok(places)
    }

    fn named_places(&self, inventory: &Inventory, booking: &Booking) -> Result<Vec<usize>, Refusal> {
        if !self.seats.is_empty() && !matches!(booking.units, Units::Event { .. }) {
            return Err(Refusal::invalid("/seats", "the booking has no seats"));
        }
        if !self.tickets.is_empty() && !matches!(booking.units, Units::Slot { .. }) {
            return Err(Refusal::invalid("/tickets", "the booking has no tickets"));
        }
        match &booking.units {
            Units::Event { seats, .. } => {
                let event = inventory.event()?;
                let place_of = |seat: Seat| {
                    let place = seats.iter().position(|claim| claim.seat == seat);
                    let address = &event.subsections[usize::from(seat.subsection)].address;
                    let unit = || format!("{address} {}-{}", seat.row, seat.number);
                    place.ok_or_else(|| Refusal::NotInBooking { unit: unit() })
                };
                named_seats(event, &self.seats)?.into_iter().map(place_of).collect()
            }
            Units::Slot { tickets, .. } => {
                let place_of = |ticket: &Arc<str>| {
                    let place = tickets.iter().position(|known| known == ticket);
                    place.ok_or_else(|| Refusal::NotInBooking { unit: ticket.to_string() })
                };
                self.tickets.iter().map(place_of).collect()
            }
            Units::Box { .. } => Ok(Vec::new()),
        }
    }
}
