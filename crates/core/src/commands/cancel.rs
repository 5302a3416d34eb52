//! Frees the units of a booking.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Decision, check_reserved};
use crate::booking::Status;
use crate::change::Change;
use crate::characters::{TextKind, refuse_invisible};
use crate::ids::{BookingId, check_text};
use crate::inventory::Inventory;
use crate::limits::REFERENCE_CHARACTERS_MAX;
use crate::outcome::Reply;
use crate::refusal::Refusal;

/// Frees the units of a booking at once. Cancelling again frees nothing again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// Which.
    pub booking: BookingId,
    /// Why, in the caller's words.
    pub reason: Option<Arc<str>>,
    /// Only if the booking has this ticket, unredeemed, when the command is decided.
    pub ticket: Option<Arc<str>>,
}

impl Cancel {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        if let Some(reason) = &self.reason {
            check_text(reason, REFERENCE_CHARACTERS_MAX, "/reason")?;
            refuse_invisible(reason, TextKind::Prose, "/reason")?;
        }
        let reply = Reply::Booking(self.booking);
        let booking = inventory.find_booking(self.booking)?;
        check_reserved(inventory, booking, self.ticket.as_ref())?;
        match booking.status {
            Status::Confirmed { .. } if booking.is_partly_redeemed() => Err(Refusal::NotCancellable),
            Status::OnHold { .. } | Status::Confirmed { .. } => {
                let change = Change::Cancelled { booking: self.booking, reason: self.reason.clone() };
                Ok(Decision::one(change, reply))
            }
            Status::Cancelled { .. } => Ok(Decision::nothing(reply)),
            Status::Redeemed { .. } | Status::Expired { .. } => Err(Refusal::NotCancellable),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::testing::{
        Reached, Scene, book, cancel, confirm, id, keyed, museum, one_section, redeem, redeem_some, second,
        some_boxes, unredeem,
    };

    #[test]
    fn bookings_are_cancelled_once_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::of(one_section(1, 4).with_area("standing", 3));
        scene.row(cancel("b1"), "BOOKING_NOT_FOUND");
        scene.row(
            book("b1", "ann").best(2).standing("standing", 1),
            "on hold A-1 1-1,1-2 + standing x1 for 2500 until 900",
        );
        let because = |reason: &str| {
            Action::Cancel(Cancel { booking: id("b1"), reason: Some(reason.into()), ticket: None })
        };
        scene.row(because(""), "INVALID_REQUEST /reason");
        scene.at(5).row(because("changed my mind"), "cancelled A-1 1-1,1-2 + standing x1 for 2500");
        scene.shows("A-1 ....\nstanding 0h 0s");
        let booking = scene.inventory.booking(id("b1")).unwrap();
        assert_eq!(booking.status, Status::Cancelled { confirmed_at: None, cancelled_at: second(5) });
        // The units were given to another; cancelling again does not free them again.
        scene.row(
            book("b2", "bob").best(2).standing("standing", 2),
            "on hold A-1 1-1,1-2 + standing x2 for 3000 until 905",
        );
        scene.row(cancel("b1"), "cancelled A-1 1-1,1-2 + standing x1 for 2500");
        scene.row(keyed("k1", 1, cancel("b1")), "cancelled A-1 1-1,1-2 + standing x1 for 2500");
        assert_eq!(scene.inventory.booking(id("b1")).unwrap().version, 2);
        scene.shows("A-1 hh..\nstanding 2h 0s");
        scene.at(6).row(confirm("b2"), "confirmed A-1 1-1,1-2 + standing x2 for 3000");
        scene.at(7).row(cancel("b2"), "cancelled A-1 1-1,1-2 + standing x2 for 3000");
        let booking = scene.inventory.booking(id("b2")).unwrap();
        assert_eq!(
            booking.status,
            Status::Cancelled { confirmed_at: Some(second(6)), cancelled_at: second(7) }
        );
        scene.row(book("b3", "bob").best(1).paid(), "confirmed A-1 1-1 for 1000");
        scene.row(redeem("b3"), "redeemed A-1 1-1 for 1000");
        scene.row(cancel("b3"), "NOT_CANCELLABLE");
        scene.load(book("b5", "bob").standing("standing", 2).paid());
        scene.row(redeem_some("b5", some_boxes(1)), "confirmed standing x2 for 1000, 1 redeemed");
        scene.row(cancel("b5"), "NOT_CANCELLABLE");
        scene.row(unredeem("b5"), "confirmed standing x2 for 1000");
        scene.row(cancel("b5"), "cancelled standing x2 for 1000");
        scene.row(book("b4", "bob").best(1).for_seconds(1), "on hold A-1 1-2 for 1000 until 8");
        scene.at(8).row(cancel("b4"), "NOT_CANCELLABLE");
        scene.shows("A-1 s...\nstanding 0h 0s");

        let by_ticket = |label: &str, ticket: &str| {
            Action::Cancel(Cancel { booking: id(label), reason: None, ticket: Some(ticket.into()) })
        };
        scene.row(by_ticket("b2", "T1"), "TICKET_NOT_RESERVED T1");
        let (nine, noon) = ("2026-12-01T09:00", "2026-12-01T12:00");
        let mut tickets = Scene::of(museum());
        tickets.row(by_ticket("b1", "T1"), "BOOKING_NOT_FOUND");
        tickets.row(
            book("b1", "ann").tickets(nine, "T1 T2"),
            "on hold 2026-12-01T09:00 T1,T2 for 200 until 600",
        );
        tickets.row(book("b2", "bob").tickets(nine, "T3").paid(), "confirmed 2026-12-01T09:00 T3 for 100");
        tickets.row(by_ticket("b1", "T3"), "TICKET_NOT_RESERVED T3");
        tickets.row(keyed("k1", 1, by_ticket("b1", "T2")), "cancelled 2026-12-01T09:00 T1,T2 for 200");
        tickets.row(by_ticket("b1", "T2"), "TICKET_NOT_RESERVED T2");
        // Another booking has the ticket meanwhile. It stays, and the key's answer is the first one.
        tickets.row(book("b3", "cy").tickets(noon, "T2"), "on hold 2026-12-01T12:00 T2 for 150 until 600");
        tickets.row(by_ticket("b1", "T2"), "TICKET_NOT_RESERVED T2");
        tickets.row(keyed("k1", 1, by_ticket("b1", "T2")), "again: cancelled 2026-12-01T09:00 T1,T2 for 200");
        tickets.row(redeem("b2"), "redeemed 2026-12-01T09:00 T3 for 100");
        tickets.row(by_ticket("b2", "T3"), "TICKET_NOT_RESERVED T3");
        scene.reached.refusals.extend(tickets.reached.refusals);
        scene.reached
    }
}
