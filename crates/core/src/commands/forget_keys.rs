//! Forgets the answers of idempotency keys that were kept long enough. Sent when due.

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::time::Timestamp;

pub(crate) fn decide(inventory: &Inventory, now: Timestamp) -> Decision {
    if inventory.memory().next_deadline().is_none_or(|keep_until| keep_until > now) {
        return Decision::nothing(Reply::Done);
    }

    Decision::one(Change::KeysForgotten { through: now }, Reply::Done)
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::command::Action;
    use crate::rules::RulesPatch;
    use crate::testing::{Reached, Scene, book, cancel, keyed, one_section, second};

    #[test]
    fn answers_are_forgotten_when_they_were_kept_long_enough() {
        table();
    }

    pub(crate) fn table() -> Reached {
        // Keys ask to be kept for a minute; the longest hold is longer, so that decides.
        let rules =
            RulesPatch { hold_ttl_seconds: Some(50), max_hold_seconds: Some(100), ..RulesPatch::default() };
        let mut scene = Scene::of(one_section(1, 9).with_rules(rules));
        scene.row(Action::ForgetKeys, "done");
        scene.row(keyed("k1", 1, book("b1", "ann").best(1)), "on hold A-1 1-1 for 1000 until 50");
        scene.at(10).row(keyed("k2", 1, book("b2", "ann").best(1)), "on hold A-1 1-2 for 1000 until 60");
        scene.at(60).row(Action::Expire, "done");
        assert_eq!(scene.inventory.next_deadlines().keys, Some(second(100)));
        scene.at(99).row(Action::ForgetKeys, "done");
        let again = scene.apply(&keyed("k2", 1, book("b2", "ann").best(1)));
        assert_eq!(
            (again.sequence, again.decided_at),
            (3, second(10)),
            "all of the first answer is the first"
        );
        scene.row(keyed("k1", 1, book("b3", "ann").best(1)), "again: on hold A-1 1-1 for 1000 until 50");
        assert_eq!((scene.inventory.memory().len(), scene.inventory.memory().is_empty()), (2, false));
        // Forgotten at its time, even before the answer is removed; then the key is new.
        scene
            .at(100)
            .row(keyed("k1", 2, book("b3", "ann").best(2)), "on hold A-1 1-1,1-2 for 2000 until 150");
        assert_eq!(scene.inventory.memory().len(), 2);
        scene.row(Action::ForgetKeys, "done");
        assert_eq!(scene.inventory.memory().len(), 2, "the key's second answer is kept");
        scene.row(keyed("k1", 2, book("b4", "ann").best(2)), "again: on hold A-1 1-1,1-2 for 2000 until 150");
        // Late is as good as in time.
        scene.at(111).row(Action::ForgetKeys, "done");
        assert_eq!(scene.inventory.memory().len(), 1);
        assert_eq!(scene.inventory.next_deadlines().keys, Some(second(200)));

        // An answer is kept at least as long as those before it, so that they are forgotten in order.
        let mut patch = crate::commands::PatchEvent::default();
        patch.terms.rules.max_hold_seconds = Some(50);
        scene.row(Action::PatchEvent(Box::new(patch)), "event Open: 7 free, 2 held, 0 sold, 0 blocked");
        scene.row(keyed("k3", 1, cancel("b3")), "cancelled A-1 1-1,1-2 for 2000");
        scene.at(199).row(keyed("k3", 1, cancel("b3")), "again: cancelled A-1 1-1,1-2 for 2000");
        scene.at(200).row(Action::ForgetKeys, "done");
        assert!(scene.inventory.memory().is_empty());
        assert_eq!(scene.inventory.next_deadlines().keys, None);
        scene.reached
    }
}
