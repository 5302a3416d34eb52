//! Takes seats out of sale.

use serde::{Deserialize, Serialize};

use super::Decision;
use super::book::{SectionSeats, check_available, check_seats_form, named_seats};
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
        check_seats_form(&self.seats)?;
        let event = inventory.event()?;
        let seats = named_seats(event, std::slice::from_ref(&self.seats))?;
        check_available(event, &seats)?;

        Ok(Decision::one(Change::SeatsBlocked(seats), Reply::Inventory))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::seats::Counts;
    use crate::testing::{Reached, Scene, block, book, confirm, hall, second};

    #[test]
    fn seats_are_blocked_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(block("A-1", "1-1"), "EVENT_NOT_FOUND");
        let mut scene = Scene::of(hall(&[("A-1", 1, 5), ("A-2", 1, 2)]));
        scene.row(block("A-1", "1-5 1-2"), "event Open: 5 free, 0 held, 0 sold, 2 blocked");
        scene.shows("A-1 .x..x\nA-2 ..");
        scene.row(
            block("A-1", "1-2"),
            "SEAT_UNAVAILABLE A-1 1-2 Blocked; or A-1 1-1 for 1000; or A-2 1-1 for 1000",
        );
        let none = SectionSeats { section: "A-1".to_owned(), seats: Vec::new() };
        scene.row(Action::BlockSeats(BlockSeats { seats: none }), "INVALID_REQUEST /seats");
        scene.row(block("A-1", "1-1 1-1"), "DUPLICATE_SEAT A-1 1-1");
        scene.row(block("A-3", "1-1"), "SECTION_NOT_FOUND A-3");
        scene.row(block("A", "1-1"), "SECTION_NOT_FOUND A");
        scene.row(block("A-2", "1-3"), "SEAT_NOT_FOUND A-2 1-3");
        scene.row(block("A-2", "2-1"), "SEAT_NOT_FOUND A-2 2-1");
        scene.row(book("b1", "ann").seats("A-1", "1-1 1-3"), "on hold A-1 1-1,1-3 for 2000 until 900");
        scene.row(book("b2", "ann").seats("A-1", "1-4"), "on hold A-1 1-4 for 1000 until 900");
        scene.row(confirm("b2"), "confirmed A-1 1-4 for 1000");
        scene
            .row(block("A-1", "1-3 1-4 1-5"), "SEAT_UNAVAILABLE A-1 1-3 Held, A-1 1-4 Sold, A-1 1-5 Blocked");
        scene.shows("A-1 hxhsx\nA-2 ..");
        scene.row(book("b3", "ann").best(1), "on hold A-2 1-1 for 1000 until 900");
        scene.row(book("b4", "ann").best(1).paid(), "confirmed A-2 1-2 for 1000");
        let event = scene.inventory.event().unwrap();
        let counts = Counts { available: 0, held: 3, sold: 2, blocked: 2 };
        assert_eq!(event.section_counts(&event.sections[0]), counts, "of both subsections");
        assert_eq!(scene.inventory.sequence(), 7, "one batch for each row that changed something");
        // Whoever blocks the last free seat of a hall makes it sold out.
        let mut small = Scene::of(hall(&[("A-1", 1, 2)]));
        small.at(5).row(book("b1", "ann").best(1).paid(), "confirmed A-1 1-1 for 1000");
        small.at(6).row(block("A-1", "1-2"), "event Open: 0 free, 0 held, 1 sold, 1 blocked");
        let sellout = small.inventory.event().unwrap().sellout;
        assert_eq!((sellout.first_sale_at, sellout.sold_out_at), (Some(second(5)), Some(second(6))));
        // More seats than one booking could have are blocked all the same; nothing is offered instead of so many.
        let mut large = Scene::of(hall(&[("A-1", 2, 1_000)]));
        let names = |row: u16, count: u16| {
            (1..=count).map(|number| format!("{row}-{number}")).collect::<Vec<_>>().join(" ")
        };
        large.row(block("A-1", &names(1, 1_000)), "event Open: 1000 free, 0 held, 0 sold, 1000 blocked");
        let both = format!("{} {}", names(1, 1), names(2, 1_000));
        large.row(block("A-1", &both), "SEAT_UNAVAILABLE A-1 1-1 Blocked");
        scene.reached
    }
}
