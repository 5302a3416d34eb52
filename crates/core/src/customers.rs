//! What each customer has, for the limits per customer, and how to reach them.

use std::sync::Arc;

use crate::booking::Booking;
use crate::ids::BookingId;
use crate::map::HashMap;

/// The live counts of all customers of one inventory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Customers {
    accounts: HashMap<Arc<str>, Account>,
}

/// One customer's live counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Bookings on hold or confirmed.
    pub active_bookings: u32,
    /// Units held or sold, redeemed ones included.
    pub units: u64,
    /// The booking that was made (or came back to life) last.
    pub latest: BookingId,
    /// How to reach the customer: sealed by the caller, so that losing the key erases every copy, also in the
    /// journal. The rules never read it.
    pub contact: Option<Box<[u8]>>,
}

impl Customers {
    /// The counts of a customer who ever booked.
    pub fn get(&self, customer: &str) -> Option<&Account> {
        self.accounts.get(customer)
    }

    /// All customers who ever booked, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Account)> {
        self.accounts.iter()
    }

    /// Counts a booking that takes its units.
    pub(crate) fn add(&mut self, booking: &Booking) {
        let account = self.accounts.entry(Arc::clone(&booking.customer)).or_insert(Account {
            active_bookings: 0,
            units: 0,
            latest: booking.id,
            contact: None,
        });
        account.active_bookings += 1;
        account.units += u64::from(booking.units.quantity());
        account.latest = booking.id;
    }

    /// Counts a booking that gives its units back.
    pub(crate) fn remove(&mut self, booking: &Booking) {
        let units = u64::from(booking.units.quantity());
        let account = self.counted(booking);
        account.units = account.units.checked_sub(units).expect("the units were counted");
        account.active_bookings = account.active_bookings.checked_sub(1).expect("the booking was counted");
    }

    /// Counts a booking that keeps its units and is no longer active.
    pub(crate) fn redeem(&mut self, booking: &Booking) {
        let account = self.counted(booking);
        account.active_bookings = account.active_bookings.checked_sub(1).expect("the booking was counted");
    }

    pub(crate) fn set_contact(&mut self, customer: &str, contact: Option<Box<[u8]>>) {
        let account = self.accounts.get_mut(customer).expect("contacts belong to customers who booked");
        account.contact = contact;
    }

    pub(crate) fn with_capacity(customers: usize) -> Customers {
        Customers { accounts: HashMap::with_capacity_and_hasher(customers, Default::default()) }
    }

    /// How many customers ever booked.
    pub(crate) fn len(&self) -> usize {
        self.accounts.len()
    }

    /// Sets what the bookings of a snapshot do not tell.
    pub(crate) fn restore(&mut self, customer: &str, latest: BookingId, contact: Option<Box<[u8]>>) {
        let account = self.accounts.get_mut(customer).expect("a customer who booked");
        (account.latest, account.contact) = (latest, contact);
    }

    fn counted(&mut self, booking: &Booking) -> &mut Account {
        self.accounts.get_mut(&booking.customer).expect("every booking is counted")
    }
}
