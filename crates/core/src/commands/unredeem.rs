//! Undoes an admission.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use super::unit_choice::{ChosenFor, UnitChoice};
use crate::booking::Status;
use crate::change::Change;
use crate::characters::{TextKind, refuse_invisible};
use crate::ids::{BookingId, check_text};
use crate::inventory::Inventory;
use crate::limits::REFERENCE_CHARACTERS_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;

/// Undoes the redemption of a booking, or of some of its units: it is confirmed again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unredeem {
    /// Which.
    pub booking: BookingId,
    /// Only these; all that were redeemed if it is `None`.
    pub units: Option<Box<UnitChoice>>,
    /// Why, in the caller's words.
    pub reason: Arc<str>,
}

impl Unredeem {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        check_text(&self.reason, REFERENCE_CHARACTERS_MAX, "/reason")?;
        refuse_invisible(&self.reason, TextKind::Prose, "/reason")?;
        if let Some(units) = &self.units {
            units.check_form()?;
        }
        let booking = inventory.find_booking(self.booking)?;
        let redeem_code = match booking.status {
            // Its code may have been given to another booking meanwhile.
            Status::Redeemed { .. } => inventory.free_code(booking.redeem_code),
            Status::Confirmed { .. } if booking.is_partly_redeemed() => booking.redeem_code,
            Status::OnHold { .. }
            | Status::Confirmed { .. }
            | Status::Cancelled { .. }
            | Status::Expired { .. } => return Err(Refusal::NotRedeemed),
        };
        let redeemed = booking.redeemed_quantity();
        let places = match &self.units {
            Some(units) => Some(units.places(inventory, booking, ChosenFor::Undoing)?),
            None => None,
        };
        let part = places.filter(|places| places.len() < redeemed as usize);
        let part = part.map(|places| Box::new(booking.units.part(&places)));
        let redeemed_quantity = part.as_ref().map_or(0, |part| redeemed - part.quantity());

        let (booking, reason) = (self.booking, Arc::clone(&self.reason));
        let change = Change::Unredeemed { booking, part, redeemed_quantity, redeem_code, reason };
        Ok(Decision::one(change, Reply::Booking(self.booking)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::commands::Book;
    use crate::testing::{
        Reached, Scene, add_box, bakery, book, cancel, code, confirm, id, keyed, museum, one_section, redeem,
        redeem_some, seats, second, some_boxes, some_seats, some_tickets, unredeem, unredeem_some,
    };

    #[test]
    fn a_redemption_is_undone_as_a_whole_or_in_part() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::of(one_section(1, 8).with_area("standing", 5));
        scene.row(unredeem("b1"), "BOOKING_NOT_FOUND");
        let both = "A-1 1-1,1-2 + standing x2 for 3000";
        scene.row(book("b1", "ann").best(2).standing("standing", 2), &format!("on hold {both} until 900"));
        scene.row(unredeem("b1"), "NOT_REDEEMED");
        scene.row(confirm("b1"), &format!("confirmed {both}"));
        scene.row(unredeem("b1"), "NOT_REDEEMED");
        let nameless = Unredeem { booking: id("b1"), units: None, reason: "".into() };
        scene.row(crate::command::Action::Unredeem(nameless), "INVALID_REQUEST /reason");
        scene.row(unredeem_some("b1", UnitChoice::default()), "INVALID_REQUEST");

        // Redeemed at once, and undone at once.
        scene.at(5).row(redeem("b1"), &format!("redeemed {both}"));
        scene.row(keyed("undo", 1, unredeem("b1")), &format!("confirmed {both}"));
        scene.row(keyed("undo", 1, unredeem("b1")), &format!("again: confirmed {both}"));
        let booking = scene.inventory.booking(id("b1")).unwrap();
        assert_eq!((booking.redeemed_quantity(), booking.version), (0, 4));
        assert_eq!(booking.status, Status::Confirmed { confirmed_at: second(0) });
        assert!(booking.details.is_none(), "as if it had never been redeemed");
        assert_eq!(scene.inventory.booking_of_code(code("b1")), Some(id("b1")));
        scene.row(unredeem("b1"), "NOT_REDEEMED");

        // One seat of a booking that was redeemed at once: the others stay redeemed at that time.
        scene.at(6).row(redeem("b1"), &format!("redeemed {both}"));
        scene.row(unredeem_some("b1", some_seats("1-9")), "SEAT_NOT_FOUND A-1 1-9");
        scene.row(unredeem_some("b1", some_seats("1-3")), "NOT_IN_BOOKING A-1 1-3");
        scene.at(7).row(unredeem_some("b1", some_seats("1-2")), &format!("confirmed {both}, 3 redeemed"));
        scene.row(unredeem_some("b1", some_seats("1-2")), "NOT_REDEEMED");
        let booking = scene.inventory.booking(id("b1")).unwrap();
        let at = Some(second(6));
        assert_eq!(booking.units_redeemed_at(), [at, None, at, at]);
        // Of the standing places, the last; more than are redeemed, or than there are.
        scene.row(unredeem_some("b1", some_boxes(1)), &format!("confirmed {both}, 2 redeemed"));
        scene.row(unredeem_some("b1", some_boxes(2)), "NOT_REDEEMED");
        scene.row(unredeem_some("b1", some_boxes(3)), "INVALID_REQUEST /quantity");
        let mixed = UnitChoice { quantity: Some(1), ..some_seats("1-1") };
        scene.row(unredeem_some("b1", mixed), &format!("confirmed {both}"));
        assert!(scene.inventory.booking(id("b1")).unwrap().details.is_none());
        scene.row(cancel("b1"), &format!("cancelled {both}"));
        scene.row(unredeem("b1"), "NOT_REDEEMED");

        // Its code was given to another: it gets the next free one. A partly redeemed one has kept its own.
        scene.row(book("b2", "ann").best(2).paid(), "confirmed A-1 1-1,1-2 for 2000");
        scene.row(redeem("b2"), "redeemed A-1 1-1,1-2 for 2000");
        let taken = Book { redeem_code: code("b2"), ..book("b3", "bob").seats("A-1", "1-4").paid() };
        scene.row(taken, "confirmed A-1 1-4 for 1000");
        scene.row(unredeem_some("b2", some_seats("1-1")), "confirmed A-1 1-1,1-2 for 2000, 1 redeemed");
        let new_code = scene.inventory.booking(id("b2")).unwrap().redeem_code;
        assert_eq!(new_code, code("b2").next());
        assert_eq!(scene.inventory.booking_of_code(new_code), Some(id("b2")));
        assert_eq!(scene.inventory.booking_of_code(code("b2")), Some(id("b3")));
        scene.row(unredeem("b2"), "confirmed A-1 1-1,1-2 for 2000");
        assert_eq!(scene.inventory.booking(id("b2")).unwrap().redeem_code, new_code);
        let mut reached = scene.reached;

        // The ticket of an undone redemption is reserved again, and no longer used.
        let nine = "2026-12-01T09:00";
        let mut museum = Scene::of(museum());
        let all = format!("{nine} T1,T2 for 200");
        museum.row(book("b1", "ann").tickets(nine, "T1 T2").paid(), &format!("confirmed {all}"));
        museum.row(redeem("b1"), &format!("redeemed {all}"));
        museum.row(unredeem_some("b1", some_seats("1-1")), "INVALID_REQUEST /seats");
        museum.row(unredeem_some("b1", some_tickets("T3")), "NOT_IN_BOOKING T3");
        museum.row(unredeem_some("b1", some_tickets("T2")), &format!("confirmed {all}, 1 redeemed"));
        museum.row(book("b2", "bob").tickets(nine, "T1"), "TICKET_ALREADY_USED T1");
        museum.row(book("b2", "bob").tickets(nine, "T2"), "TICKET_ALREADY_RESERVED T2");
        museum.row(redeem_some("b1", some_tickets("T1")), "ALREADY_REDEEMED 0");
        museum.row(unredeem("b1"), &format!("confirmed {all}"));
        museum.row(book("b2", "bob").tickets(nine, "T1"), "TICKET_ALREADY_RESERVED T1");
        museum.row(cancel("b1"), &format!("cancelled {all}"));
        museum.row(book("b2", "bob").tickets(nine, "T1"), &format!("on hold {nine} T1 for 100 until 600"));
        reached.refusals.extend(museum.reached.refusals);

        // It counts as active again, and only new bookings are held to the limit.
        let mut bakery = Scene::of(bakery());
        bakery.load(add_box("evening", 9, 500));
        bakery.row(book("b1", "ann").boxes("evening", 3).paid(), "confirmed evening x3 for 1500");
        bakery.row(redeem("b1"), "redeemed evening x3 for 1500");
        bakery.row(book("b2", "ann").boxes("evening", 1).paid(), "confirmed evening x1 for 500");
        bakery.row(unredeem_some("b1", some_tickets("T1")), "INVALID_REQUEST /tickets");
        bakery.row(unredeem_some("b1", some_boxes(2)), "confirmed evening x3 for 1500, 1 redeemed");
        bakery.row(redeem("b2"), "redeemed evening x1 for 500");
        bakery.row(book("b3", "ann").boxes("evening", 1), "ACTIVE_RESERVATION_EXISTS b1");
        reached.refusals.extend(bakery.reached.refusals);
        let named = UnitChoice { seats: vec![seats("A-1", "1-1 1-1")], ..UnitChoice::default() };
        let mut scene = Scene::of(one_section(1, 2));
        scene.load(book("b1", "ann").best(2).paid());
        scene.load(redeem("b1"));
        scene.row(unredeem_some("b1", named), "DUPLICATE_SEAT A-1 1-1");
        reached
    }
}
