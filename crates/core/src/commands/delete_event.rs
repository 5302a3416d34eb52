//! Deletes an event of which no booking was ever made.

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;

/// Deletes the event for callers and readers. The journal stays, and the id stays taken: idempotency keys, webhooks and mirrors would
/// take another event of the same id for this one.
pub(crate) fn decide(inventory: &Inventory) -> Result<Decision, Refusal> {
    inventory.event()?;
    if inventory.bookings().len() > 0 {
        return Err(Refusal::EventHasBookings);
    }

    Ok(Decision::one(Change::EventDeleted, Reply::Done))
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::command::Action;
    use crate::commands::{CancelEvent, PatchEvent};
    use crate::testing::{Reached, Scene, block, book, cancel, keyed, museum, one_section};

    #[test]
    fn event_without_bookings_is_deleted_and_another_is_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(Action::DeleteEvent, "EVENT_NOT_FOUND");
        Scene::of(museum()).row(Action::DeleteEvent, "EVENT_NOT_FOUND");
        let mut booked = Scene::of(one_section(1, 2));
        booked.row(book("b1", "ann").best(1), "on hold A-1 1-1 for 1000 until 900");
        booked.row(Action::DeleteEvent, "EVENT_HAS_BOOKINGS");
        // A booking that ended was a booking.
        booked.row(cancel("b1"), "cancelled A-1 1-1 for 1000");
        booked.row(Action::DeleteEvent, "EVENT_HAS_BOOKINGS");

        let mut scene = Scene::of(one_section(1, 2));
        scene.row(keyed("k1", 1, Action::DeleteEvent), "done");
        scene.row(keyed("k1", 1, Action::DeleteEvent), "again: done");
        scene.row(Action::DeleteEvent, "EVENT_NOT_FOUND");
        scene.row(book("b1", "ann").best(1), "EVENT_NOT_FOUND");
        scene.row(block("A-1", "1-1"), "EVENT_NOT_FOUND");
        scene.row(Action::PatchEvent(Box::<PatchEvent>::default()), "EVENT_NOT_FOUND");
        let cancel = CancelEvent { reason: "storm".into(), dry_run: true };
        scene.row(Action::CancelEvent(cancel), "EVENT_NOT_FOUND");
        scene.row(one_section(1, 2), "ALREADY_EXISTS");
        scene.reached.actions.extend(booked.reached.actions);
        scene.reached.refusals.extend(booked.reached.refusals);
        scene.reached
    }
}
