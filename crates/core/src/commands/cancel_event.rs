//! Cancels an event and, step by step, all its bookings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::booking::Status;
use crate::change::Change;
use crate::ids::check_text;
use crate::inventory::Inventory;
use crate::limits::{BOOKINGS_CANCELLED_AT_ONCE_MAX, REFERENCE_CHARACTERS_MAX};
use crate::outcome::Reply;
use crate::refusal::Refusal;

/// Cancels an event: nothing of it is sold any more, its holds end and its confirmed bookings are cancelled. Redeemed bookings stay.
///
/// One command cancels at most [`BOOKINGS_CANCELLED_AT_ONCE_MAX`] bookings. The rest follows by [`crate::command::Action::CancelBookings`],
/// which falls due by itself until none is left; meanwhile a booking that was not reached yet can no longer be paid, extended, moved or
/// redeemed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelEvent {
    /// Why, in the caller's words.
    pub reason: Arc<str>,
    /// Only says what would be cancelled.
    pub dry_run: bool,
}

impl CancelEvent {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        check_text(&self.reason, REFERENCE_CHARACTERS_MAX, "/reason")?;
        let event = inventory.event()?;
        let (mut holds_ended, mut bookings_cancelled) = (0, 0);
        for booking in inventory.bookings() {
            match booking.status {
                Status::OnHold { .. } => holds_ended += 1,
                Status::Confirmed { .. } => bookings_cancelled += 1,
                Status::Redeemed { .. } | Status::Cancelled { .. } | Status::Expired { .. } => {}
            }
        }
        let reply = Reply::EventCancelled { holds_ended, bookings_cancelled };
        if self.dry_run || event.cancellation.is_some() {
            return Ok(Decision::nothing(reply));
        }

        let mut changes = vec![Change::EventCancelled { reason: Arc::clone(&self.reason) }];
        changes.extend(next_cancellations(inventory, 0, &self.reason));
        Ok(Decision { changes, reply })
    }
}

/// Cancels the next bookings of a cancelled event.
pub(crate) fn cancel_bookings(inventory: &Inventory) -> Decision {
    let changes = match inventory.event().ok().and_then(|event| event.cancellation.as_ref()) {
        Some(cancellation) => next_cancellations(inventory, cancellation.examined, &cancellation.reason),
        None => Vec::new(),
    };
    Decision { changes, reply: Reply::Done }
}

/// The cancellations of the next active bookings, in the order in which they were made, and how far that went. Nothing if all were
/// examined.
fn next_cancellations(inventory: &Inventory, examined: u32, reason: &Arc<str>) -> Vec<Change> {
    let mut through = examined;
    let mut changes = Vec::new();
    for booking in inventory.bookings().skip(examined as usize) {
        if changes.len() == BOOKINGS_CANCELLED_AT_ONCE_MAX {
            break;
        }
        through += 1;
        if booking.is_active() {
            changes.push(Change::Cancelled { booking: booking.id, reason: Some(Arc::clone(reason)) });
        }
    }
    if through > examined {
        changes.push(Change::CancellationsExamined { bookings: through });
    }
    changes
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::{Action, Command};
    use crate::commands::PatchEvent;
    use crate::rules::{InventoryStatus, LatePayment};
    use crate::testing::{
        Reached, Scene, book, cancel, confirm, extend, id, keyed, museum, one_section, redeem, second,
    };

    fn cancel_event(dry_run: bool) -> Action {
        Action::CancelEvent(CancelEvent { reason: "storm".into(), dry_run })
    }

    #[test]
    fn events_are_cancelled_with_their_bookings_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(cancel_event(false), "EVENT_NOT_FOUND");
        scene.row(Action::CancelBookings, "done");
        Scene::of(museum()).row(cancel_event(true), "EVENT_NOT_FOUND");
        let mut scene = Scene::of(one_section(1, 6).with_area("standing", 3));
        scene.row(Action::CancelBookings, "done");
        scene.row(book("redeemed", "ann").best(1).paid(), "confirmed A-1 1-1 for 1000");
        scene.row(redeem("redeemed"), "redeemed A-1 1-1 for 1000");
        scene.row(
            book("held", "bob").best(1).standing("standing", 2),
            "on hold A-1 1-2 + standing x2 for 2000 until 900",
        );
        scene.row(book("paid", "cy").best(2).paid(), "confirmed A-1 1-3,1-4 for 2000");
        scene.row(book("gone", "dan").best(1), "on hold A-1 1-5 for 1000 until 900");
        scene.row(cancel("gone"), "cancelled A-1 1-5 for 1000");
        scene.row(book("over", "eve").best(1).for_seconds(1), "on hold A-1 1-5 for 1000 until 1");
        for wrong in ["", "a\nb"] {
            let wrong = CancelEvent { reason: wrong.into(), dry_run: true };
            scene.at(1).row(Action::CancelEvent(wrong), "INVALID_REQUEST /reason");
        }
        let before = "A-1 shss..\nstanding 2h 0s";
        scene.shows(before);
        scene.row(cancel_event(true), "would end 1 holds, 1 bookings");
        scene.shows(before);
        assert_eq!(scene.inventory.next_deadlines().cancellation, None);
        scene.row(keyed("k1", 1, cancel_event(false)), "would end 1 holds, 1 bookings");
        scene.shows("A-1 s.....\nstanding 0h 0s");
        assert_eq!(scene.inventory.next_deadlines().cancellation, None, "all were cancelled at once");
        scene.at(2).row(keyed("k1", 1, cancel_event(false)), "again: would end 1 holds, 1 bookings");
        scene.row(cancel_event(false), "would end 0 holds, 0 bookings");
        let booking = scene.inventory.booking(id("paid")).unwrap();
        assert_eq!(
            booking.status,
            Status::Cancelled { confirmed_at: Some(second(0)), cancelled_at: second(1) }
        );

        // Nothing sells, nothing comes back, and nobody reopens it.
        scene.row(book("late", "fay").best(1), "INVENTORY_CLOSED");
        scene.row(confirm("over").if_expired(LatePayment::SameUnits), "INVENTORY_CLOSED");
        for status in [InventoryStatus::Open, InventoryStatus::Closed] {
            let mut reopen = PatchEvent::default();
            reopen.terms.status = Some(status);
            scene.row(Action::PatchEvent(Box::new(reopen)), "INVENTORY_CLOSED");
        }
        for status in [InventoryStatus::Cancelled, InventoryStatus::Deleted] {
            let mut patch = PatchEvent::default();
            patch.terms.status = Some(status);
            scene.row(Action::PatchEvent(Box::new(patch)), "INVALID_REQUEST /status");
        }
        scene.row(
            Action::PatchEvent(Box::default()),
            "event Cancelled: 8 free, 0 held, 1 sold, 0 blocked",
        );
        scene.reached
    }

    #[test]
    fn a_large_event_is_cancelled_in_steps_that_fall_due_by_themselves() {
        let active = BOOKINGS_CANCELLED_AT_ONCE_MAX + 2;
        let hall = one_section(1, 1).with_area("standing", u32::try_from(active + 1).unwrap());
        let mut inventory = Inventory::default();
        let mut send = |inventory: &mut Inventory, at: i64, command: Command| {
            let applied = crate::apply(inventory, second(at), &command);
            inventory.end_batch();
            applied
        };
        send(&mut inventory, 0, hall.into());
        for number in 0..active {
            let label = format!("b{number}");
            send(&mut inventory, 0, book(&label, &label).standing("standing", 1).into());
        }
        let left = |inventory: &Inventory| inventory.bookings().filter(|booking| booking.is_active()).count();
        send(&mut inventory, 5, cancel_event(false).into());
        assert_eq!(left(&inventory), 2);
        assert_eq!(inventory.next_deadlines().cancellation, Some(second(5)));

        // Those that were not reached yet are as good as cancelled.
        let mut scene = Scene::empty();
        scene.inventory = inventory.clone();
        scene.copy = inventory.clone();
        scene.at(6);
        let last = format!("b{}", active - 1);
        scene.row(confirm(&last), "NOT_CONFIRMABLE");
        scene.row(extend(&last, 5), "NOT_EXTENDABLE");
        scene.row(redeem(&last), "NOT_REDEEMABLE");
        scene.row(cancel_event(true), "would end 2 holds, 0 bookings");

        scene.row(Action::CancelBookings, "done");
        assert_eq!(left(&scene.inventory), 0);
        assert_eq!(scene.inventory.next_deadlines().cancellation, None);
        let reason = scene.inventory.event().unwrap().cancellation.as_ref().unwrap().reason.clone();
        assert_eq!(&*reason, "storm");
    }
}
