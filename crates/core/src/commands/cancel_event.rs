//! Cancels an event and its bookings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::booking::Status;
use crate::change::Change;
use crate::characters::{TextKind, refuse_invisible};
use crate::ids::check_text;
use crate::inventory::Inventory;
use crate::limits::{EVENT_CANCELLATIONS_MAX, REFERENCE_CHARACTERS_MAX};
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::InventoryStatus;

/// Cancels an event for good, its holds and its confirmed bookings with it: the first [`EVENT_CANCELLATIONS_MAX`] of them, and the answer
/// counts all. Where there are more, the command is sent again. A booking of which a unit was redeemed stays: its guests were inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelEvent {
    /// Why, in the caller's words.
    pub reason: Arc<str>,
    /// Answer what would be cancelled, and change nothing.
    pub dry_run: bool,
}

impl CancelEvent {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        check_text(&self.reason, REFERENCE_CHARACTERS_MAX, "/reason")?;
        refuse_invisible(&self.reason, TextKind::Prose, "/reason")?;
        let event = inventory.event()?;

        let mut changes = Vec::new();
        if event.terms.status != InventoryStatus::Cancelled && !self.dry_run {
            changes.push(Change::EventCancelled { reason: Arc::clone(&self.reason) });
        }
        let (mut holds_ended, mut bookings_cancelled, mut cancelled) = (0, 0, 0);
        for booking in inventory.bookings() {
            match booking.status {
                Status::OnHold { .. } => holds_ended += 1,
                Status::Confirmed { .. } if !booking.is_partly_redeemed() => bookings_cancelled += 1,
                Status::Confirmed { .. }
                | Status::Redeemed { .. }
                | Status::Cancelled { .. }
                | Status::Expired { .. } => continue,
            }
            cancelled += 1;
            if cancelled <= EVENT_CANCELLATIONS_MAX && !self.dry_run {
                let reason = Some(Arc::clone(&self.reason));
                changes.push(Change::Cancelled { booking: booking.id, reason });
            }
        }
        Ok(Decision { changes, reply: Reply::EventCancelled { holds_ended, bookings_cancelled } })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::commands::PatchEvent;
    use crate::rules::LatePayment;
    use crate::testing::{
        Reached, Scene, book, cancel, confirm, id, keyed, museum, one_section, redeem, redeem_some, second,
        some_boxes, unredeem,
    };

    fn cancel_event(dry_run: bool) -> Action {
        Action::CancelEvent(CancelEvent { reason: "storm".into(), dry_run })
    }

    #[test]
    fn event_is_cancelled_with_its_bookings() {
        table();
    }

    #[test]
    fn event_with_many_bookings_is_cancelled_in_steps() {
        let many = u32::try_from(EVENT_CANCELLATIONS_MAX).unwrap() + 2;
        let mut scene = Scene::of(one_section(1, 1).with_area("standing", many));
        for number in 0..many {
            let label = format!("b{number}");
            scene.load(book(&label, &label).standing("standing", 1).paid());
        }
        scene.row(cancel_event(false), "0 holds ended, 20002 bookings cancelled");
        scene.shows("A-1 .\nstanding 0h 2s");
        scene.row(book("late", "fay").best(1), "INVENTORY_CLOSED");
        scene.row(cancel_event(false), "0 holds ended, 2 bookings cancelled");
        scene.shows("A-1 .\nstanding 0h 0s");
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(cancel_event(false), "EVENT_NOT_FOUND");
        Scene::of(museum()).row(cancel_event(true), "EVENT_NOT_FOUND");
        let mut scene = Scene::of(one_section(1, 6).with_area("standing", 5));
        scene.row(book("redeemed", "ann").best(1).paid(), "confirmed A-1 1-1 for 1000");
        scene.row(redeem("redeemed"), "redeemed A-1 1-1 for 1000");
        scene.row(book("inside", "gus").standing("standing", 2).paid(), "confirmed standing x2 for 1000");
        scene.row(redeem_some("inside", some_boxes(1)), "confirmed standing x2 for 1000, 1 redeemed");
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
        let before = "A-1 shss..\nstanding 2h 2s";
        scene.shows(before);
        scene.row(cancel_event(true), "1 holds ended, 1 bookings cancelled");
        scene.shows(before);
        scene.row(keyed("k1", 1, cancel_event(false)), "1 holds ended, 1 bookings cancelled");
        let after = "A-1 s.....\nstanding 0h 2s";
        scene.shows(after);
        scene.at(2).row(keyed("k1", 1, cancel_event(false)), "again: 1 holds ended, 1 bookings cancelled");
        scene.row(cancel_event(false), "0 holds ended, 0 bookings cancelled");
        let booking = scene.inventory.booking(id("paid")).unwrap();
        assert_eq!(
            booking.status,
            Status::Cancelled { confirmed_at: Some(second(0)), cancelled_at: second(1) }
        );

        // The event sells nothing again, and no patch reopens it.
        scene.row(book("late", "fay").best(1), "INVENTORY_CLOSED");
        scene.row(confirm("over").if_expired(LatePayment::SameUnits), "INVENTORY_CLOSED");
        for open in [true, false] {
            let mut patch = PatchEvent::default();
            patch.terms.open = Some(open);
            scene.row(Action::PatchEvent(Box::new(patch)), "INVENTORY_CLOSED");
        }
        let mut renamed = PatchEvent::default();
        renamed.terms.name = Some("Gala (cancelled)".to_owned());
        scene
            .row(Action::PatchEvent(Box::new(renamed)), "event Cancelled: 8 free, 0 held, 3 sold, 0 blocked");
        // A redemption that is undone leaves a confirmed booking, which the next cancellation reaches.
        scene.row(unredeem("inside"), "confirmed standing x2 for 1000");
        scene.row(cancel_event(false), "0 holds ended, 1 bookings cancelled");
        scene.reached
    }
}
