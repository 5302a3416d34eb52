//! Puts blocked seats on sale.

use serde::{Deserialize, Serialize};

use super::Decision;
use super::book::{SectionSeats, named_seats};
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::seats::SeatState;

/// Puts blocked seats on sale. Seats that are not blocked stay as they are, so that it can be said twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnblockSeats {
    /// Which.
    pub seats: SectionSeats,
}

impl UnblockSeats {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        let event = inventory.event()?;
        let mut seats = named_seats(event, std::slice::from_ref(&self.seats))?;
        seats.retain(|&seat| event.seats.state(seat) == SeatState::Blocked);
        if seats.is_empty() {
            return Ok(Decision::nothing(Reply::Inventory));
        }

        Ok(Decision::one(Change::SeatsUnblocked(seats), Reply::Inventory))
    }
}
