//! Loads the state of a snapshot that was checked, by the code that changes use.

use std::sync::Arc;

use super::{Inventory, Stock};
use crate::booking::{Booking, Status, Units};
use crate::customers::Customers;
use crate::ids::BookingId;
use crate::map::HashMap;
use crate::memory::Memory;
use crate::schedule::TicketUse;
use crate::time::Timestamp;

impl Inventory {
    /// An inventory between batches, with room for so many bookings and customers. The seats of the bookings that will
    /// follow are taken already.
    pub(crate) fn restored(
        sequence: u64,
        clock: Timestamp,
        stock: Option<Stock>,
        bookings: usize,
        customers: usize,
    ) -> Inventory {
        Inventory {
            sequence,
            clock,
            stock,
            bookings: HashMap::with_capacity_and_hasher(bookings, Default::default()),
            codes: HashMap::with_capacity_and_hasher(bookings, Default::default()),
            customers: Customers::with_capacity(customers),
            ..Inventory::default()
        }
    }

    /// Enters a booking as it is, and takes what it claims beside seats.
    pub(crate) fn restore_booking(&mut self, booking: Arc<Booking>) {
        match (&booking.units, booking.claim()) {
            (Units::Event { areas, .. }, Some(claim)) => self.event_mut().take(&[], areas, claim),
            (Units::Slot { .. } | Units::Box { .. }, Some(claim)) => self.take(&booking.units, claim),
            (Units::Event { .. } | Units::Slot { .. } | Units::Box { .. }, None) => {}
        }
        match booking.status {
            Status::OnHold { .. } | Status::Confirmed { .. } => self.enter(booking),
            Status::Redeemed { .. } => {
                self.customers.add(&booking);
                self.customers.redeem(&booking);
                self.set_ticket_uses(&booking, Some(TicketUse::Used(booking.id)));
                self.bookings.insert(booking.id, booking);
            }
            Status::Cancelled { .. } | Status::Expired { .. } => {
                self.customers.add(&booking);
                self.customers.remove(&booking);
                self.bookings.insert(booking.id, booking);
            }
        }
    }

    /// Sets what the bookings do not tell of the customer who made this one last.
    pub(crate) fn restore_account(&mut self, latest: BookingId, contact: Option<Box<[u8]>>) {
        self.customers.restore(&self.bookings[&latest].customer, latest, contact);
    }

    pub(crate) fn restore_memory(&mut self, memory: Memory) {
        self.memory = memory;
    }
}
