//! Ids of bookings that callers chose, and that do not say which inventory they are of.

use std::sync::Arc;

use boxoffice_core::change::Change;
use boxoffice_core::ids::BookingId;
use boxoffice_core::map::HashMap;
use parking_lot::Mutex;

use crate::availability::Availability;
use crate::ids::{InventoryNumber, inventory_of};
use crate::store::{Store, StoreError};

/// New bookings whose ids do not name the inventory.
pub(crate) fn chosen_ids(number: InventoryNumber, changes: &[Change]) -> impl Iterator<Item = BookingId> {
    changes.iter().filter_map(move |change| match change {
        Change::Booked(booking) if inventory_of(booking.id) != Some(number) => Some(booking.id),
        _ => None,
    })
}

/// Ids of bookings that callers chose, which must be unique in the whole store and not only in their inventory.
///
/// An id is claimed before its booking is decided and let go after the commit, when the store has it: between the two, the
/// claim stands in for the store.
pub(crate) struct ChosenIds {
    store: Arc<dyn Store>,
    availability: Arc<Availability>,
    claimed: Mutex<HashMap<BookingId, (InventoryNumber, u32)>>,
}

impl ChosenIds {
    pub(crate) fn new(store: Arc<dyn Store>, availability: Arc<Availability>) -> ChosenIds {
        ChosenIds { store, availability, claimed: Mutex::new(HashMap::default()) }
    }

    /// Whether the inventory may have a booking of this id. If so, it must let go of it some time.
    pub(crate) fn claim(&self, id: BookingId, number: InventoryNumber) -> Result<bool, StoreError> {
        // The shard must not wait for a store that is away, once for every booking in its queue.
        if self.availability.away_for().is_some() {
            return Err(StoreError::Unavailable("it has not for a while".to_owned()));
        }
        {
            let mut claimed = self.claimed.lock();
            let (owner, claims) = claimed.entry(id).or_insert((number, 0));
            if *owner != number {
                return Ok(false);
            }
            *claims += 1;
        }
        match self.store.find_booking(id) {
            Ok(None) => Ok(true),
            Ok(Some(owner)) if owner == number => Ok(true),
            Ok(Some(_)) => {
                self.let_go(id);
                Ok(false)
            }
            Err(error) => {
                self.let_go(id);
                Err(error)
            }
        }
    }

    pub(crate) fn let_go(&self, id: BookingId) {
        let mut claimed = self.claimed.lock();
        let (_, claims) = claimed.get_mut(&id).expect("only claimed ids are let go");
        *claims -= 1;
        if *claims == 0 {
            claimed.remove(&id);
        }
    }
}
