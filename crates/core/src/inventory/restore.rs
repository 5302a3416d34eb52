//! Loads the state of a snapshot that was checked, by the code that changes use.

use std::sync::Arc;

use super::{Inventory, Stock};
use crate::booking::{Booking, Status, Units};
use crate::bookings::Bookings;
use crate::ids::BookingId;
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
        let bookings = Bookings::with_capacity(bookings, customers);
        Inventory { sequence, clock, stock, bookings, ..Inventory::default() }
    }

    /// Enters a booking as it is, and takes what it claims beside seats.
    pub(crate) fn restore_booking(&mut self, booking: Arc<Booking>) {
        match (&booking.units, booking.claim()) {
            (Units::Event { areas, .. }, Some(claim)) => self.event_mut().take(&[], areas, claim),
            (Units::Slot { .. } | Units::Box { .. }, Some(claim)) => self.take(&booking.units, claim),
            (Units::Event { .. } | Units::Slot { .. } | Units::Box { .. }, None) => {}
        }
        match booking.status {
            Status::OnHold { .. } | Status::Confirmed { .. } => {
                self.set_ticket_uses(&booking.units, Some(TicketUse::Reserved(booking.id)));
                if booking.is_partly_redeemed() {
                    let redeemed = booking.units_redeemed_at();
                    let places: Vec<usize> =
                        (0..redeemed.len()).filter(|&place| redeemed[place].is_some()).collect();
                    self.set_ticket_uses(&booking.units.part(&places), Some(TicketUse::Used(booking.id)));
                }
            }
            Status::Redeemed { .. } => {
                self.set_ticket_uses(&booking.units, Some(TicketUse::Used(booking.id)));
            }
            Status::Cancelled { .. } | Status::Expired { .. } => {}
        }
        self.bookings.add(booking);
    }

    /// Sets what the bookings do not tell of the customer who made this one last.
    pub(crate) fn restore_account(&mut self, latest: BookingId) {
        self.bookings.restore_account(latest);
    }

    pub(crate) fn restore_memory(&mut self, memory: Memory) {
        self.memory = memory;
    }
}
