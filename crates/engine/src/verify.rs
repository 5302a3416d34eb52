//! Proof that a store is what its journals say: replays every one and compares everything.

use boxoffice_core::booking::Status;
use boxoffice_core::codec;
use boxoffice_core::ids::tenant_of_name;
use boxoffice_core::inventory::Inventory;

use crate::ids::{InventoryNumber, inventory_of};
use crate::limits::JOURNAL_READ_BYTES;
use crate::load::{Chain, LoadError};
use crate::record::{self, Head};
use crate::store::{Store, StoreError, Stored};

/// What was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Inventories.
    pub inventories: u64,
    /// Journal records replayed.
    pub records: u64,
    /// Changes in them.
    pub changes: u64,
    /// Bookings at the end.
    pub bookings: u64,
    /// Inventories of whose journal the beginning was cut off, so that a snapshot had to be believed.
    pub from_snapshot: u64,
}

/// The first difference.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The store cannot be read, or a record in it is not what was written.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store's list of inventories is wrong.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something is not what the journal says.
    #[error("inventory {inventory} at sequence {sequence}: {difference}")]
    Difference {
        /// Which.
        inventory: InventoryNumber,
        /// After which record.
        sequence: u64,
        /// What differs.
        difference: String,
    },
}

/// Replays every journal from nothing (or from the snapshot, where its beginning was cut off) and compares the result with
/// the head, the snapshot, the table of booking ids, and a recount of everything that can be counted.
///
/// `progress` is called for every inventory, with how many are done and how many there are.
///
/// # Errors
/// The first difference, by name.
pub fn verify(store: &dyn Store, mut progress: impl FnMut(u64, u64)) -> Result<Report, VerifyError> {
    let heads = store.heads()?;
    let mut report = Report::default();
    for head in &heads {
        progress(report.inventories, heads.len() as u64);
        verify_inventory(store, head, &mut report)?;
        report.inventories += 1;
    }
    progress(report.inventories, heads.len() as u64);
    Ok(report)
}

fn verify_inventory(store: &dyn Store, head: &Head, report: &mut Report) -> Result<(), VerifyError> {
    let number = head.inventory;
    let differs =
        |sequence, difference: String| VerifyError::Difference { inventory: number, sequence, difference };
    let Some(Stored { head: _, snapshot, records: _ }) = store.load(number)? else {
        return Err(differs(0, "it is in the list and not in the store".to_owned()));
    };
    let mut chain = Chain::default();
    let mut inventory = Inventory::default();
    let cut = snapshot.as_ref().filter(|(manifest, _)| manifest.journal_from > 1);
    if let Some((manifest, contents)) = cut {
        inventory = codec::decode_inventory(contents)
            .map_err(|error| differs(manifest.sequence, format!("the snapshot cannot be read: {error}")))?;
        chain = Chain { sequence: manifest.sequence, hash: manifest.hash };
        report.from_snapshot += 1;
    }
    loop {
        let records = store.records(number, chain.sequence, JOURNAL_READ_BYTES)?;
        if records.is_empty() {
            break;
        }
        for bytes in &records {
            let record = chain.follow(number, bytes)?;
            inventory.replay(&record.changes);
            report.records += 1;
            report.changes += record.changes.len() as u64;
            if let Some((manifest, contents)) = &snapshot
                && manifest.sequence == record.sequence
                && (manifest.hash != record.hash || *contents != codec::encode_inventory(&inventory))
            {
                let difference = "the snapshot is not the state that the journal leads to".to_owned();
                return Err(differs(record.sequence, difference));
            }
        }
    }
    if let Some((manifest, contents)) = &snapshot
        && (manifest.sequence > chain.sequence || record::hash_of(contents) != manifest.contents)
    {
        return Err(differs(manifest.sequence, "the snapshot is not one of this journal".to_owned()));
    }
    if (chain.sequence, chain.hash) != (head.sequence, head.hash) {
        let difference = format!("the journal ends at {} and must end at {}", chain.sequence, head.sequence);
        return Err(differs(chain.sequence, difference));
    }
    let next = inventory.next_deadlines();
    let next_deadline = [next.hold, next.roll].into_iter().flatten().min();
    if next_deadline != head.next_deadline {
        let difference =
            format!("the next deadline is {next_deadline:?}, and the head says {:?}", head.next_deadline);
        return Err(differs(chain.sequence, difference));
    }
    recount(&inventory).map_err(|difference| differs(chain.sequence, difference))?;
    check_booking_ids(store, head, &inventory).map_err(|difference| differs(chain.sequence, difference))?;
    report.bookings += inventory.bookings().len() as u64;
    Ok(())
}

/// Every counter and bitmap made again from the bookings alone, and every booking looked up in every way.
pub(crate) fn recount(inventory: &Inventory) -> Result<(), String> {
    let counted = codec::decode_inventory(&codec::encode_inventory(inventory))
        .map_err(|error| format!("the bookings do not fit together: {error}"))?;
    if counted != *inventory {
        return Err("counters or seats are not what the bookings make".to_owned());
    }
    let mut holds = Vec::new();
    for (place, booking) in inventory.bookings().enumerate() {
        let id = booking.id;
        if inventory.booking(id) != Some(booking) {
            return Err(format!("booking {id:?} is not found by its id"));
        }
        if booking.is_active() && inventory.booking_of_code(booking.redeem_code) != Some(id) {
            return Err(format!("booking {id:?} is not found by its code"));
        }
        if inventory.customers().get(&booking.customer).is_none() {
            return Err(format!("booking {id:?} is not found by its customer"));
        }
        if let Status::OnHold { expires_at } = booking.status {
            holds.push((expires_at, place, id));
        }
    }
    holds.sort_unstable();
    let in_order = holds.into_iter().map(|(expires_at, _, id)| (expires_at, id));
    if !inventory.deadlines().eq(in_order) {
        return Err("the deadlines are not those of the holds".to_owned());
    }
    let listed: usize =
        inventory.customers().iter().map(|(name, _)| inventory.bookings_of(name).count()).sum();
    if listed != inventory.bookings().len() {
        return Err("the customers' lists are not all bookings".to_owned());
    }
    Ok(())
}

/// Ids that callers chose lead to this inventory.
fn check_booking_ids(store: &dyn Store, head: &Head, inventory: &Inventory) -> Result<(), String> {
    let (number, tenant) = (head.inventory, tenant_of_name(&head.name));
    for booking in inventory.bookings().filter(|booking| inventory_of(booking.id) != Some(number)) {
        let found = store.find_booking(tenant, booking.id).map_err(|error| error.to_string())?;
        if found != Some(number) {
            return Err(format!("booking {:?} leads to {found:?}", booking.id));
        }
    }
    Ok(())
}
