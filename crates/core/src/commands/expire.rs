//! Ends the holds that are due.

use crate::change::Change;
use crate::inventory::Inventory;
use crate::time::Timestamp;

/// The change that ends the hold that was over first, as long as there is one. Applied ahead of every command, until
/// none is left, so that the command `Expire` itself has nothing to do.
pub(crate) fn first_due(inventory: &Inventory, now: Timestamp) -> Option<Change> {
    inventory.first_due(now).map(|booking| Change::Expired { booking })
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::booking::Status;
    use crate::change::Change;
    use crate::command::Action;
    use crate::ids::Actor;
    use crate::testing::{Reached, Scene, book, confirm, extend, id, one_section, second};

    #[test]
    fn holds_end_when_they_are_over_and_not_before() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(Action::Expire, "done");
        let mut scene = Scene::of(one_section(1, 5));
        assert_eq!(scene.inventory.next_deadlines().hold, None);
        scene.row(book("b1", "ann").best(1).for_seconds(20), "on hold A-1 1-1 for 1000 until 20");
        scene.row(book("b2", "ann").best(1).for_seconds(10), "on hold A-1 1-2 for 1000 until 10");
        scene.row(book("b3", "ann").best(1).for_seconds(10), "on hold A-1 1-3 for 1000 until 10");
        scene.row(book("b4", "ann").best(1).for_seconds(10), "on hold A-1 1-4 for 1000 until 10");
        assert_eq!(scene.inventory.next_deadlines().hold, Some(second(10)));
        scene.at(9).row(confirm("b3"), "confirmed A-1 1-3 for 1000");
        scene.row(extend("b4", 2), "on hold A-1 1-4 for 1000 until 11");
        scene.row(Action::Expire, "done");
        scene.shows("A-1 hhsh.");
        scene.at(10);
        let applied = scene.apply(&Action::Expire.into());
        let expired = Change::Expired { booking: id("b2") };
        assert_eq!(applied.changes, [Change::Act { at: second(10), by: Actor(0) }, expired]);
        scene.shows("A-1 h.sh.");
        let booking = scene.inventory.booking(id("b2")).unwrap();
        assert_eq!((booking.status, booking.version), (Status::Expired { expires_at: second(10) }, 2));
        assert_eq!(scene.inventory.next_deadlines().hold, Some(second(11)));
        scene.row(Action::Expire, "done");

        // Nobody has to send it: any command finds the holds that are over gone. The clock may stand still, or run
        // backwards: nothing comes back to life, and nothing ends early.
        scene.at(20).row(
            book("b5", "bob").seats("A-1", "1-1 1-4").for_seconds(5),
            "on hold A-1 1-1,1-4 for 2000 until 25",
        );
        assert_eq!(scene.inventory.clock(), second(20));
        scene.at(0).row(book("b6", "bob").best(1).for_seconds(5), "on hold A-1 1-2 for 1000 until 25");
        assert_eq!(scene.inventory.clock(), second(20));
        scene.shows("A-1 hhsh.");
        scene.at(24).row(Action::Expire, "done");
        scene.shows("A-1 hhsh.");
        let everything = scene.at(1_000_000).apply(&book("b7", "cy").best(6).into());
        assert_eq!(everything.changes.len(), 3, "two holds end, though the booking is refused");
        scene.shows("A-1 ..s..");
        scene.reached
    }
}
