//! Bookings as readers see them: those of an inventory, of a customer, of a seat.

use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_core::ids::BookingId;
use boxoffice_core::seats::Seat;
use tokio::sync::oneshot;

use super::Engine;
use crate::answer::SubmitError;
use crate::ids::InventoryNumber;
use crate::inbox::Rejected;
use crate::published::State;
use crate::threads::Offer;
use crate::unit_holders::{HolderIndex, claims_seat};
use crate::view::StockView;

impl Engine {
    /// The stock of an event and the booking that has a seat of it, both as of the same commit.
    ///
    /// # Panics
    /// If the event has no such seat.
    pub async fn seat_holder(
        &self,
        event: InventoryNumber,
        seat: Seat,
    ) -> Result<(Arc<StockView>, Option<Arc<Booking>>), SubmitError> {
        let published = self.published(event).await?;
        let look = |state: &State, index: &HolderIndex| {
            let HolderIndex::Seats(seats) = index else { panic!("only events have seats") };
            let booking = seats.place(seat).map(|place| state.bookings.at(place));
            let booking = booking.filter(|booking| claims_seat(booking, seat)).cloned();
            (Arc::clone(&state.stock), booking)
        };
        Ok(published.read_unit_holders(self.now(), look).await)
    }

    /// A booking of an inventory and the stock, both as of the same commit.
    pub async fn booking_and_stock(
        &self,
        inventory: InventoryNumber,
        id: BookingId,
    ) -> Result<Option<(Arc<Booking>, Arc<StockView>)>, SubmitError> {
        let both = |state: &State| Some((state.bookings.get(id)?.clone(), Arc::clone(&state.stock)));
        self.look(inventory, both).await
    }

    /// A customer's bookings in an inventory, newest first: those that were made when it was asked, as they are by the last
    /// commit.
    ///
    /// The writer keeps the list of each customer's bookings and tells their ids; what they are is read here, so that
    /// nothing is shown that is not committed.
    pub async fn bookings_of(
        &self,
        inventory: InventoryNumber,
        customer: &str,
    ) -> Result<Vec<Arc<Booking>>, SubmitError> {
        let published = self.published(inventory).await?;
        let (sender, receiver) = oneshot::channel();
        let ids = match self.inbox(inventory)?.offer(Offer::BookingsOf(inventory, customer.into(), sender)) {
            Ok(()) => receiver.await.ok(),
            Err(Rejected::Full(_)) => return Err(SubmitError::overloaded()),
            Err(Rejected::Closed(_)) => None,
        };
        Ok(published.read(self.now(), |state| match ids {
            Some(ids) => ids.into_iter().filter_map(|id| state.bookings.get(id).cloned()).collect(),
            // The writer has stopped, or is reading the inventory again; what is committed can be read, if slowly.
            None => state.bookings.iter().rev().filter(|it| *it.customer == *customer).cloned().collect(),
        }))
    }

    /// All bookings of an inventory, in the order they were made, and as of which sequence.
    pub async fn bookings(
        &self,
        inventory: InventoryNumber,
    ) -> Result<(u64, Vec<Arc<Booking>>), SubmitError> {
        self.look(inventory, |state| (state.stock.sequence, state.bookings.iter().cloned().collect())).await
    }

    /// Of the bookings for which `before` holds (the first so many, in the order they were made), the last `count`, newest
    /// first, each with its place in that order.
    pub async fn bookings_before(
        &self,
        inventory: InventoryNumber,
        count: usize,
        before: impl Fn(usize, &Booking) -> bool,
    ) -> Result<Vec<(usize, Arc<Booking>)>, SubmitError> {
        self.look(inventory, |state| state.bookings.before(count, before)).await
    }

    /// Of these bookings, those that an inventory has, as of its last commit.
    pub async fn bookings_by_id(
        &self,
        inventory: InventoryNumber,
        ids: &[BookingId],
    ) -> Result<Vec<Arc<Booking>>, SubmitError> {
        self.look(inventory, |state| ids.iter().filter_map(|&id| state.bookings.get(id).cloned()).collect())
            .await
    }
}
