//! Ends the holds that are due.

use crate::change::Change;
use crate::inventory::Inventory;
use crate::time::Timestamp;

/// The changes that end every hold that is over, in the order in which they ended. Applied ahead of every command,
/// so that the command `Expire` itself has nothing left to do.
pub(crate) fn due(inventory: &Inventory, now: Timestamp) -> Vec<Change> {
    inventory.due(now).map(|booking| Change::Expired { booking }).collect()
}
