//! What each customer has, for the limits per customer.

use std::sync::Arc;

use crate::booking::Booking;
use crate::bookings::Bookings;
use crate::ids::BookingId;
use crate::index::Index;
use crate::map::HashMap;
use crate::pieces::Pieces;

/// The customers of one inventory, to be read.
#[derive(Debug, Clone, Copy)]
pub struct Customers<'a> {
    pub(crate) bookings: &'a Bookings,
}

/// One customer's live counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Bookings on hold or confirmed.
    pub active_bookings: u32,
    /// Units held or sold, redeemed ones included.
    pub units: u64,
    /// The booking that was made (or came back to life) last.
    pub latest: BookingId,
    /// The booking that was made last.
    pub newest: BookingId,
}

impl<'a> Customers<'a> {
    /// The counts of a customer who ever booked.
    pub fn get(self, customer: &str) -> Option<Account> {
        self.bookings.account(customer).map(|account| self.shown(account))
    }

    /// All customers who ever booked, in the order of their first bookings.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (&'a Arc<str>, Account)> {
        let accounts = self.bookings.accounts().list.iter().enumerate();
        accounts.map(move |(account, counts)| {
            let account = u32::try_from(account).expect("bookings are bounded");
            (&self.bookings.at(counts.newest).customer, self.shown(account))
        })
    }

    fn shown(self, account: u32) -> Account {
        let accounts = self.bookings.accounts();
        let counts = accounts.at(account);
        Account {
            active_bookings: counts.active_bookings,
            units: counts.units,
            latest: self.bookings.at(accounts.latest(account)).id,
            newest: self.bookings.at(counts.newest).id,
        }
    }
}

/// The accounts of all customers, in the order of their first bookings. A name stands in the customer's bookings only.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts {
    list: Pieces<Counts>,
    names: Index,
    /// By the place of the account, the place of the booking that came back to life after the newest was made.
    revived: HashMap<u32, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// The place of the booking that was made last.
    pub(crate) newest: u32,
    active_bookings: u32,
    units: u64,
}

impl PartialEq for Accounts {
    fn eq(&self, other: &Accounts) -> bool {
        self.list == other.list && self.revived == other.revived
    }
}

impl Accounts {
    pub(crate) fn with_capacity(customers: usize) -> Accounts {
        Accounts {
            list: Pieces::default(),
            names: Index::with_capacity(customers),
            revived: HashMap::default(),
        }
    }

    pub(crate) fn at(&self, account: u32) -> &Counts {
        &self.list[account as usize]
    }

    /// See [`Index::warm`].
    pub(crate) fn warm(&self, name: &str) {
        self.names.warm(name);
    }

    /// The account of a name; `name_at` reads the name in a booking.
    pub(crate) fn find<'a>(&self, name: &str, name_at: impl Fn(u32) -> &'a Arc<str>) -> Option<u32> {
        self.names.find(name, |account| **name_at(self.at(account).newest) == *name)
    }

    /// The account of a name, or as an error the one that was opened for a new customer, whose first booking stands at
    /// `first`.
    pub(crate) fn find_or_open<'a>(
        &mut self,
        name: &str,
        first: u32,
        name_at: impl Fn(u32) -> &'a Arc<str>,
    ) -> Result<u32, u32> {
        let account = u32::try_from(self.list.len()).expect("bookings are bounded");
        let list = &self.list;
        let has_it = |account: u32| **name_at(list[account as usize].newest) == *name;
        if let Some(account) = self.names.find_or_insert(name, account, has_it) {
            return Ok(account);
        }
        self.list.push(Counts { newest: first, active_bookings: 0, units: 0 });
        Err(account)
    }

    /// Notes a new booking, and returns the one before it.
    pub(crate) fn add_booking(&mut self, account: u32, place: u32) -> u32 {
        std::mem::replace(&mut self.list[account as usize].newest, place)
    }

    /// Counts what a booking became.
    pub(crate) fn count(&mut self, account: u32, place: u32, old: Option<&Booking>, new: &Booking) {
        let counts = &mut self.list[account as usize];
        if let Some(old) = old {
            let (active, units) = live(old);
            counts.active_bookings =
                counts.active_bookings.checked_sub(active).expect("the booking was counted");
            counts.units = counts.units.checked_sub(units).expect("the units were counted");
        }
        let (active, units) = live(new);
        counts.active_bookings += active;
        counts.units += units;
        if old.is_none_or(|old| old.claim().is_none()) {
            self.set_latest(account, place);
        }
    }

    /// The place of the booking that was made, or came back to life, last.
    fn latest(&self, account: u32) -> u32 {
        self.revived.get(&account).copied().unwrap_or(self.at(account).newest)
    }

    /// Sets the place of the booking that was made, or came back to life, last.
    pub(crate) fn set_latest(&mut self, account: u32, place: u32) {
        if place != self.at(account).newest {
            self.revived.insert(account, place);
        } else if !self.revived.is_empty() {
            self.revived.remove(&account);
        }
    }
}

/// What a booking adds to the active bookings and the units of its customer.
fn live(booking: &Booking) -> (u32, u64) {
    let units = if booking.claim().is_some() { booking.units.quantity() } else { 0 };
    (u32::from(booking.is_active()), units.into())
}
