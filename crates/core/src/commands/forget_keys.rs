//! Forgets the answers of idempotency keys that were kept long enough. Sent when due.

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::time::Timestamp;

pub(crate) fn decide(inventory: &Inventory, now: Timestamp) -> Decision {
    if inventory.memory().next_deadline().is_none_or(|keep_until| keep_until > now) {
        return Decision::nothing(Reply::Done);
    }

    Decision::one(Change::KeysForgotten { through: now }, Reply::Done)
}
