//! Puts blocked seats on sale.

use serde::{Deserialize, Serialize};

use super::Decision;
use super::book::{SectionSeats, check_seats_form, named_seats};
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
        check_seats_form(&self.seats)?;
        let event = inventory.event()?;
        let mut seats = named_seats(event, std::slice::from_ref(&self.seats))?;
        seats.retain(|&seat| event.seats.state(seat) == SeatState::Blocked);
        if seats.is_empty() {
            return Ok(Decision::nothing(Reply::Inventory));
        }

        Ok(Decision::one(Change::SeatsUnblocked(seats), Reply::Inventory))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::testing::{Reached, Scene, block, book, one_section, unblock};

    #[test]
    fn seats_are_unblocked_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(unblock("A-1", "1-1"), "EVENT_NOT_FOUND");
        let mut scene = Scene::of(one_section(1, 4));
        scene.row(block("A-1", "1-1 1-2 1-3"), "event Open: 1 free, 0 held, 0 sold, 3 blocked");
        scene.row(book("b1", "ann").best(1), "on hold A-1 1-4 for 1000 until 900");
        scene.row(unblock("A-1", "1-2 1-3 1-4"), "event Open: 2 free, 1 held, 0 sold, 1 blocked");
        scene.shows("A-1 x..h");
        scene.row(unblock("A-1", "1-2 1-3 1-4"), "event Open: 2 free, 1 held, 0 sold, 1 blocked");
        let none = SectionSeats { section: "A-1".to_owned(), seats: Vec::new() };
        scene.row(Action::UnblockSeats(UnblockSeats { seats: none }), "INVALID_REQUEST /seats");
        scene.row(unblock("A-1", "1-5"), "SEAT_NOT_FOUND A-1 1-5");
        scene.row(book("b2", "ann").best_together(2), "on hold A-1 1-2,1-3 for 2000 until 900");
        scene.reached
    }
}
