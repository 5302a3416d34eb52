//! Makes a booking: finds the units and takes them in one step.

mod boxes;
mod event;
mod slot;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::booking::{Booking, Details, Status, Units};
use crate::change::Change;
use crate::characters::{TextKind, refuse_invisible};
use crate::ids::{Actor, BookingId, RedeemCode, check_identifier, check_text};
use crate::inventory::Inventory;
use crate::limits::{
    BOOKING_REFERENCE_CHARACTERS_MAX, BOOKINGS_PER_INVENTORY_MAX, CONTACT_BYTES_MAX, CUSTOMER_CHARACTERS_MAX,
    HOLD_SECONDS_MAX, METADATA_BYTES_MAX, OWN_BOOKINGS_EXAMINED_MAX,
};
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::{Rules, Terms, check_room, check_within};
use crate::time::{SlotId, Timestamp};

pub use event::{AreaWish, BestAvailable, SeatWish, SectionSeats};
pub(crate) use event::{
    best_seats, check_area, check_available, check_best_form, check_orphans, check_seats_form, named_seats,
};
pub use slot::Places;
pub(crate) use slot::{check_open, check_places};

/// Makes a booking. Everything in it is taken, or nothing is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Made outside, or chosen by the caller.
    pub id: BookingId,
    /// Whose it is.
    pub customer: Arc<str>,
    /// How to reach the customer about this booking, sealed.
    pub contact: Option<Arc<[u8]>>,
    /// The caller's own number or name for the booking.
    pub reference: Option<Arc<str>>,
    /// What is asked for.
    pub want: Want,
    /// How long the hold lasts, if not as long as the rules say.
    pub hold_ttl_seconds: Option<u32>,
    /// The hold may last at most as long as the rules say by default: for callers who share a key with everyone.
    pub hold_at_most_default: bool,
    /// Sold at once, without a hold.
    pub confirm: bool,
    /// The caller's own data.
    pub metadata: Option<Arc<[u8]>>,
    /// A random code. If an active booking has it, the next free one is taken.
    pub redeem_code: RedeemCode,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Want {
    /// Of an event.
    Event {
        /// Seats, by name or the best.
        seats: SeatWish,
        /// Places in standing areas.
        areas: Vec<AreaWish>,
    },
    /// Of a schedule.
    Slot {
        /// Which.
        slot: SlotId,
        /// How many, or for which tickets.
        places: Places,
    },
    /// Of a shop.
    Box {
        /// Its id.
        id: Arc<str>,
        /// How many.
        quantity: u32,
    },
}

impl Book {
    /// A hold as long as the rules say.
    pub fn new(id: BookingId, customer: &str, want: Want, redeem_code: RedeemCode) -> Book {
        Book {
            id,
            customer: customer.into(),
            contact: None,
            reference: None,
            want,
            hold_ttl_seconds: None,
            hold_at_most_default: false,
            confirm: false,
            metadata: None,
            redeem_code,
        }
    }

    pub(crate) fn decide(
        &self,
        inventory: &Inventory,
        now: Timestamp,
        by: Actor,
    ) -> Result<Decision, Refusal> {
        self.check_form()?;
        let terms = self.terms(inventory)?;
        let seconds = self.hold_seconds(&terms.rules)?;
        check_room(inventory.bookings().len(), BOOKINGS_PER_INVENTORY_MAX)?;
        if inventory.booking(self.id).is_some() {
            return Err(Refusal::BookingIdTaken);
        }
        let units = match &self.want {
            Want::Event { seats, areas } => event::find(inventory, now, &self.customer, seats, areas)?,
            Want::Slot { slot, places } => slot::find(inventory, now, &self.customer, *slot, places)?,
            Want::Box { id, quantity } => boxes::find(inventory, now, &self.customer, id, *quantity)?,
        };

        let status = if self.confirm {
            Status::Confirmed { confirmed_at: now }
        } else {
            Status::OnHold { expires_at: now.plus_seconds(seconds) }
        };
        let booking = Booking {
            id: self.id,
            customer: Arc::clone(&self.customer),
            status,
            units,
            redeem_code: inventory.free_code(self.redeem_code),
            created_by: by,
            created_at: now,
            details: self.details(),
            version: 1,
        };
        Ok(Decision::one(Change::Booked(Arc::new(booking)), Reply::Booking(self.id)))
    }

    fn details(&self) -> Option<Arc<Details>> {
        Details {
            payment_reference: None,
            metadata: self.metadata.clone(),
            contact: self.contact.clone(),
            reference: self.reference.clone(),
            redemption: None,
        }
        .if_any()
    }

    fn check_form(&self) -> Result<(), Refusal> {
        check_identifier(&self.customer, CUSTOMER_CHARACTERS_MAX, "/customer")?;
        if self.contact.as_ref().is_some_and(|contact| contact.len() > CONTACT_BYTES_MAX) {
            return Err(Refusal::invalid("/contact", format!("must be at most {CONTACT_BYTES_MAX} bytes")));
        }
        if let Some(reference) = &self.reference {
            check_text(reference, BOOKING_REFERENCE_CHARACTERS_MAX, "/reference")?;
            refuse_invisible(reference, TextKind::Identifier, "/reference")?;
        }
        if self.metadata.as_ref().is_some_and(|metadata| metadata.len() > METADATA_BYTES_MAX) {
            return Err(Refusal::invalid("/metadata", format!("must be at most {METADATA_BYTES_MAX} bytes")));
        }
        if let Some(seconds) = self.hold_ttl_seconds {
            check_within(seconds, HOLD_SECONDS_MAX, "/hold_ttl_seconds")?;
        }
        match &self.want {
            Want::Event { seats, areas } => event::check_form(seats, areas),
            Want::Slot { places, .. } => slot::check_form(places),
            Want::Box { quantity: 0, .. } => Err(Refusal::invalid("/quantity", "must be at least 1")),
            Want::Box { .. } => Ok(()),
        }
    }

    fn hold_seconds(&self, rules: &Rules) -> Result<u32, Refusal> {
        let Some(seconds) = self.hold_ttl_seconds else { return Ok(rules.hold_ttl_seconds) };
        let most = if self.hold_at_most_default { rules.hold_ttl_seconds } else { rules.max_hold_seconds };
        let least = rules.min_hold_seconds;
        if (least..=most).contains(&seconds) {
            return Ok(seconds);
        }
        let message = format!("must be between {least} and {most} here, got {seconds}");
        Err(Refusal::invalid("/hold_ttl_seconds", message))
    }

    fn terms<'a>(&self, inventory: &'a Inventory) -> Result<&'a Terms, Refusal> {
        Ok(match &self.want {
            Want::Event { .. } => &inventory.event()?.terms,
            Want::Slot { .. } => &inventory.schedule()?.terms,
            Want::Box { .. } => &inventory.shop()?.terms,
        })
    }
}

/// Refuses more units than one booking may have.
fn check_units(rules: &Rules, units: u64) -> Result<(), Refusal> {
    let most = rules.max_units_per_booking;
    if units > u64::from(most) { Err(Refusal::TooManyUnits { most }) } else { Ok(()) }
}

/// Refuses a booking by which the customer would have more than the rules allow.
pub(crate) fn check_customer(
    inventory: &Inventory,
    rules: &Rules,
    customer: &str,
    units: u32,
) -> Result<(), Refusal> {
    let account = inventory.customers().get(customer);
    let active = account.map_or(0, |account| account.active_bookings);
    // One that is active is shown, so that the caller can go on with it: the one that came back to life last, or the newest.
    let own = || {
        let latest = inventory.booking(account?.latest)?;
        let newest = inventory.bookings_of(customer).take(OWN_BOOKINGS_EXAMINED_MAX);
        let mut active = std::iter::once(latest).chain(newest).filter(|booking| booking.is_active());
        active.next().map(|booking| booking.id)
    };
    match rules.max_active_bookings_per_customer {
        Some(1) if active >= 1 => return Err(Refusal::ActiveReservationExists { booking: own() }),
        Some(most) if active >= most => return Err(Refusal::CustomerLimitReached { booking: own() }),
        Some(_) | None => {}
    }
    let owned = account.map_or(0, |account| account.units);
    if rules.max_units_per_customer.is_some_and(|most| owned + u64::from(units) > u64::from(most)) {
        return Err(Refusal::CustomerLimitReached { booking: own() });
    }
    Ok(())
}

/// Refuses to sell a hold on boxes that can no longer be collected.
pub(crate) fn check_collectable(
    inventory: &Inventory,
    now: Timestamp,
    booking: &Booking,
) -> Result<(), Refusal> {
    match booking.units {
        Units::Event { .. } | Units::Slot { .. } => Ok(()),
        Units::Box { number, .. } => boxes::check_pickup(inventory.shop()?.boxed(number), now),
    }
}

/// Refuses units that a booking claimed once and that cannot be claimed again now.
///
/// What a new booking is asked applies again, except its size, the sales window and the orphan rule: they judged the
/// hold when it was made.
pub(crate) fn check_again(inventory: &Inventory, now: Timestamp, booking: &Booking) -> Result<(), Refusal> {
    match &booking.units {
        Units::Event { seats, areas } => event::check_again(inventory, &booking.customer, seats, areas),
        Units::Slot { slot, end, quantity, tickets, price: _ } => {
            slot::check_again(inventory, now, &booking.customer, (*slot, *end), *quantity, tickets)
        }
        Units::Box { number, quantity, .. } => {
            boxes::check_again(inventory, now, &booking.customer, *number, *quantity)
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
