//! All bookings of an inventory, and every way to find one.

use std::sync::Arc;

use crate::booking::Booking;
use crate::customers::Accounts;
use crate::deadlines::Deadlines;
use crate::ids::{BookingId, RedeemCode};
use crate::index::Index;
use crate::pieces::Pieces;
use crate::time::Timestamp;

/// All bookings ever made, in the order they were made. Everything else in here follows from them and from the order of
/// the changes; a booking is known by its place in the list, which it never leaves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bookings {
    entries: Pieces<Entry>,
    ids: Index,
    /// Of active bookings.
    codes: Index,
    deadlines: Deadlines,
    accounts: Accounts,
}

#[derive(Debug, Clone)]
struct Entry {
    booking: Arc<Booking>,
    /// The place of the customer's account.
    account: u32,
    /// The place of the customer's booking before this one; its own, if it is the first.
    previous: u32,
}

impl PartialEq for Bookings {
    // How the indexes and the heap are laid out is not part of what is there.
    fn eq(&self, other: &Bookings) -> bool {
        self.iter().eq(other.iter()) && self.accounts == other.accounts
    }
}

impl Bookings {
    pub(crate) fn with_capacity(bookings: usize, customers: usize) -> Bookings {
        Bookings {
            entries: Pieces::default(),
            ids: Index::with_capacity(bookings),
            codes: Index::with_capacity(bookings),
            deadlines: Deadlines::default(),
            accounts: Accounts::with_capacity(customers),
        }
    }

    /// Sets what the bookings of a snapshot do not tell of the customer who made this one.
    pub(crate) fn restore_account(&mut self, latest: BookingId) {
        let place = self.place(latest).expect("a booking that exists");
        self.accounts.set_latest(self.entries[place as usize].account, place);
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Booking>> {
        self.entries.iter().map(|entry| &entry.booking)
    }

    pub(crate) fn get(&self, id: BookingId) -> Option<&Arc<Booking>> {
        self.place(id).map(|place| self.at(place))
    }

    /// From ids to places.
    pub(crate) fn places(&self) -> &Index {
        &self.ids
    }

    /// See [`Index::warm`].
    pub(crate) fn warm(&self, id: BookingId, customer: &str, code: RedeemCode) {
        self.ids.warm(&id);
        self.codes.warm(&code);
        self.accounts.warm(customer);
    }

    /// The booking at a place.
    pub(crate) fn at(&self, place: u32) -> &Arc<Booking> {
        &self.entries[place as usize].booking
    }

    /// The active booking that has a code.
    pub(crate) fn of_code(&self, code: RedeemCode) -> Option<&Arc<Booking>> {
        let place = self.codes.find(&code, |place| self.at(place).redeem_code == code);
        place.map(|place| self.at(place))
    }

    /// The bookings of a customer, the newest first.
    pub(crate) fn of_customer(&self, customer: &str) -> impl Iterator<Item = &Arc<Booking>> {
        let newest = self.account(customer).map(|account| self.accounts.at(account).newest);
        let places = std::iter::successors(newest, |&place| {
            let previous = self.entries[place as usize].previous;
            (previous != place).then_some(previous)
        });
        places.map(|place| self.at(place))
    }

    /// How many are on hold.
    pub(crate) fn live_holds(&self) -> usize {
        self.deadlines.len()
    }

    /// The hold that ends first, and when.
    pub(crate) fn first_deadline(&self) -> Option<(Timestamp, &Arc<Booking>)> {
        self.deadlines.first().map(|(expires_at, place)| (expires_at, self.at(place)))
    }

    /// All holds in the order in which they end; those that end together in the order they were made.
    pub(crate) fn deadlines(&self) -> impl ExactSizeIterator<Item = (Timestamp, BookingId)> + '_ {
        let in_order = self.deadlines.in_order(|expires_at, place| self.ends_at(place, expires_at));
        in_order.into_iter().map(|(expires_at, place)| (expires_at, self.at(place).id))
    }

    pub(crate) fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The place of a customer's account.
    pub(crate) fn account(&self, customer: &str) -> Option<u32> {
        self.accounts.find(customer, |place| &self.at(place).customer)
    }

    /// Adds a booking that is new.
    pub(crate) fn add(&mut self, booking: Arc<Booking>) {
        let place = u32::try_from(self.entries.len()).expect("bookings are bounded");
        let entries = &self.entries;
        let known = self
            .accounts
            .find_or_open(&booking.customer, place, |place| &entries[place as usize].booking.customer);
        let (account, previous) = match known {
            Ok(account) => (account, self.accounts.add_booking(account, place)),
            Err(opened) => (opened, place),
        };
        self.ids.insert(&booking.id, place);
        self.entries.push(Entry { booking, account, previous });
        self.follow(place, None);
    }

    /// Puts a booking in the place of its last version.
    pub(crate) fn replace(&mut self, booking: Booking) {
        let place = self.place(booking.id).expect("a booking that exists");
        let old = std::mem::replace(&mut self.entries[place as usize].booking, Arc::new(booking));
        self.follow(place, Some(&old));
    }

    /// Brings the code, the deadline and the customer's counts up to a booking that came to its place.
    fn follow(&mut self, place: u32, old: Option<&Booking>) {
        let Entry { booking, account, .. } = &self.entries[place as usize];
        let new = Arc::clone(booking);
        self.accounts.count(*account, place, old, &new);

        let code = |booking: &Booking| booking.is_active().then_some(booking.redeem_code);
        let (old_code, new_code) = (old.and_then(code), code(&new));
        if old_code != new_code {
            if let Some(code) = old_code {
                self.codes.remove(&code, place);
            }
            if let Some(code) = new_code {
                let entries = &self.entries;
                let has_it = |place: u32| entries[place as usize].booking.redeem_code == code;
                let other = self.codes.find_or_insert(&code, place, has_it);
                assert!(other.is_none(), "two active bookings of one code");
            }
        }

        let (old_deadline, new_deadline) = (old.and_then(Booking::deadline), new.deadline());
        if old_deadline != new_deadline {
            let entries = &self.entries;
            self.deadlines.replace(place, old_deadline, new_deadline, |expires_at, place| {
                entries[place as usize].booking.deadline() == Some(expires_at)
            });
        }
    }

    fn place(&self, id: BookingId) -> Option<u32> {
        self.ids.find(&id, |place| self.at(place).id == id)
    }

    fn ends_at(&self, place: u32, expires_at: Timestamp) -> bool {
        self.at(place).deadline() == Some(expires_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::booking::Status;
    use crate::customers::Customers;
    use crate::testing::{Scene, book, id, one_section, second};

    /// Four holds of a second each, the first, third and fourth by Ann.
    fn holds() -> Vec<Arc<Booking>> {
        let mut scene = Scene::of(one_section(1, 9));
        for (at, (label, customer)) in (0..).zip([("b1", "ann"), ("b2", "bob"), ("b3", "ann"), ("b4", "ann")])
        {
            let expected = format!("on hold A-1 1-{} for 1000 until {}", at + 1, at + 100);
            scene.at(at).row(book(label, customer).best(1).for_seconds(100), &expected);
        }
        scene.inventory.bookings().cloned().collect()
    }

    fn of(holds: &[Arc<Booking>]) -> Bookings {
        let mut bookings = Bookings::default();
        holds.iter().for_each(|hold| bookings.add(Arc::clone(hold)));
        bookings
    }

    #[test]
    fn bookings_that_differ_are_told_apart() {
        let holds = holds();
        let bookings = of(&holds[..3]);
        assert_eq!(bookings, bookings.clone());
        assert_ne!(bookings, of(&holds), "one more");
        let mut other = bookings.clone();
        other.restore_account(id("b1"));
        assert_ne!(bookings, other, "which booking came back to life");
    }

    #[test]
    fn a_customers_bookings_are_listed_newest_first() {
        let bookings = of(&holds());
        let ids = |customer| bookings.of_customer(customer).map(|booking| booking.id).collect::<Vec<_>>();
        assert_eq!(ids("ann"), [id("b4"), id("b3"), id("b1")]);
        assert_eq!(ids("bob"), [id("b2")]);
        assert_eq!(ids("cy"), []);
    }

    #[test]
    fn deadlines_are_those_of_holds() {
        let holds = holds();
        let mut bookings = of(&holds);
        bookings.replace(Booking {
            status: Status::Confirmed { confirmed_at: second(4) },
            ..(*holds[1]).clone()
        });
        let expected = [(second(100), id("b1")), (second(102), id("b3")), (second(103), id("b4"))];
        assert_eq!(bookings.deadlines().collect::<Vec<_>>(), expected);
        assert_eq!(bookings.live_holds(), 3);
    }

    #[test]
    fn the_latest_booking_is_the_one_that_came_back_until_another_is_made() {
        let holds = holds();
        let mut bookings = of(&holds[..3]);
        let latest = |bookings: &Bookings| Customers { bookings }.get("ann").unwrap().latest;
        assert_eq!(latest(&bookings), id("b3"));
        bookings.restore_account(id("b1"));
        assert_eq!(latest(&bookings), id("b1"));
        bookings.add(Arc::clone(&holds[3]));
        assert_eq!(latest(&bookings), id("b4"));
    }
}
