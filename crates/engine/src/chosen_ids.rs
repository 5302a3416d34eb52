//! Ids of bookings that callers chose, and that do not say which inventory they are of.

use std::sync::Arc;

use boxoffice_core::change::Change;
use boxoffice_core::ids::{BookingId, tenant_of_name};
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

/// Ids of bookings that callers chose, each unique among all inventories of its tenant and not only in its own.
///
/// An id is claimed before its booking is decided and released after the commit, when the store has it: between the two, the
/// claim stands in for the store.
pub(crate) struct ChosenIds {
    store: Arc<dyn Store>,
    availability: Arc<Availability>,
    /// Of each tenant: another tenant's ids are never looked at.
    claimed: Mutex<HashMap<Box<str>, Claims>>,
}

/// One tenant's claimed ids: the inventory that claims each, and how often.
type Claims = HashMap<BookingId, (InventoryNumber, u32)>;

impl ChosenIds {
    pub(crate) fn new(store: Arc<dyn Store>, availability: Arc<Availability>) -> ChosenIds {
        ChosenIds { store, availability, claimed: Mutex::new(HashMap::default()) }
    }

    /// Whether the inventory of this number and name may have a booking of this id. If so, the caller must release the id later.
    pub(crate) fn claim(
        &self,
        id: BookingId,
        number: InventoryNumber,
        name: &str,
    ) -> Result<bool, StoreError> {
        // The shard must not wait for a store that is away, once for every booking in its queue.
        if self.availability.away_for().is_some() {
            return Err(StoreError::Unavailable("it has not for a while".to_owned()));
        }
        let tenant = tenant_of_name(name);
        {
            let mut claimed = self.claimed.lock();
            let (owner, claims) = claimed.entry(tenant.into()).or_default().entry(id).or_insert((number, 0));
            if *owner != number {
                return Ok(false);
            }
            *claims += 1;
        }
        match self.store.find_booking(tenant, id) {
            Ok(None) => Ok(true),
            Ok(Some(owner)) if owner == number => Ok(true),
            Ok(Some(_)) => {
                self.let_go(id, name);
                Ok(false)
            }
            Err(error) => {
                self.let_go(id, name);
                Err(error)
            }
        }
    }

    /// Releases an id that the inventory of this name claimed.
    pub(crate) fn let_go(&self, id: BookingId, name: &str) {
        let mut claimed = self.claimed.lock();
        let of_tenant = claimed.get_mut(tenant_of_name(name)).expect("only claimed ids are let go");
        let (_, claims) = of_tenant.get_mut(&id).expect("only claimed ids are let go");
        *claims -= 1;
        if *claims == 0 {
            of_tenant.remove(&id);
        }
    }
}
