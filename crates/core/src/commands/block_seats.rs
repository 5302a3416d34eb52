//! Takes seats out of sale.

use serde::{Deserialize, Serialize};

use super::Decision;
use super::book::{SectionSeats, check_available, named_seats};
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;

/// Takes available seats out of sale: house seats.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSeats {
    /// Which.
    pub seats: SectionSeats,
}

impl BlockSeats {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        let event = inventory.event()?;
        let seats = named_seats(event, std::slice::from_ref(&self.seats))?;
        check_available(event, &seats)?;

        Ok(Decision::one(Change::SeatsBlocked(seats), Reply::Inventory))
    }
}
