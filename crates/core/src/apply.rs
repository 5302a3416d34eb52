//! The one way into the rules.

use crate::change::Change;
use crate::command::{Action, Command, Idempotency};
use crate::commands::{self, Decision};
use crate::ids::Actor;
use crate::inventory::Inventory;
use crate::limits::{KEY_KEEP_SECONDS_MAX, KEYS_PER_INVENTORY_MAX};
use crate::outcome::{Applied, Outcome, Reply};
use crate::refusal::{Refusal, RefusalCode};
use crate::rules::{check_room, check_within};
use crate::time::Timestamp;

/// Decides a command at a moment and changes the inventory accordingly.
///
/// Holds that are over end first, so none of them is ever in anybody's way. Time does not run backwards: an earlier
/// `now` than the last change's counts as that one. A refused command changes nothing, except that a key remembers
/// the refusal.
pub fn apply(inventory: &mut Inventory, now: Timestamp, command: &Command) -> Applied {
    answer(inventory, now, command, decide)
}

/// Refuses a command for a reason that the inventory cannot know, such as an id that another inventory has.
///
/// All else is as in [`apply`]: due holds end, a key that was answered gives that answer, and one that was not remembers
/// this refusal. So whoever sends the command again hears the same, even if the reason is gone by then.
pub fn refuse(inventory: &mut Inventory, now: Timestamp, command: &Command, refusal: Refusal) -> Applied {
    answer(inventory, now, command, |inventory, _, command| {
        check_key(inventory, command)?;
        Err(refusal)
    })
}

fn answer(
    inventory: &mut Inventory,
    now: Timestamp,
    command: &Command,
    decide: impl FnOnce(&mut Inventory, Timestamp, &Command) -> Result<Decision, Refusal>,
) -> Applied {
    let now = now.clamped().max(inventory.clock());
    let mut acts = Acts { inventory, now, changes: Vec::new(), last: None };
    while let Some(expired) = commands::expire::first_due(acts.inventory, now) {
        acts.add(Actor::default(), expired);
    }

    if let Some(idempotency) = &command.idempotency
        && let Some(remembered) = acts.inventory.memory().recall(&idempotency.key, now)
    {
        if remembered.fingerprint == idempotency.fingerprint {
            return Applied {
                outcome: remembered.outcome.clone(),
                changes: acts.changes,
                sequence: remembered.sequence,
                decided_at: remembered.decided_at,
                replayed: true,
            };
        }
        return acts.answered(Outcome::Refused(Box::new(Refusal::IdempotencyKeyReused)));
    }

    let reply = match decide(acts.inventory, now, command) {
        Ok(Decision { changes, reply }) => {
            acts.apply(command.by, changes);
            reply
        }
        Err(refusal) => Reply::Refused(Box::new(refusal)),
    };
    let remembered = command.idempotency.as_ref().and_then(|key| remember(acts.inventory, now, key, &reply));
    let outcome = match remembered {
        Some(remembered) => {
            acts.add(command.by, remembered);
            acts.inventory.memory().last().expect("it was remembered just now").outcome.clone()
        }
        None => acts.inventory.outcome(&reply),
    };
    acts.answered(outcome)
}

/// The changes of one command as they are applied, under headings of who made them.
struct Acts<'a> {
    inventory: &'a mut Inventory,
    now: Timestamp,
    changes: Vec<Change>,
    last: Option<Actor>,
}

impl Acts<'_> {
    fn apply(&mut self, by: Actor, mut changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        if let Some(act) = self.heading(by) {
            changes.insert(0, act);
        }
        for change in &changes {
            self.inventory.change(change);
        }
        if self.changes.is_empty() {
            self.changes = changes;
        } else {
            self.changes.append(&mut changes);
        }
    }

    fn add(&mut self, by: Actor, change: Change) {
        let act = self.heading(by);
        for change in act.into_iter().chain([change]) {
            self.inventory.change(&change);
            self.changes.push(change);
        }
    }

    /// Needed where another caller than before begins.
    fn heading(&mut self, by: Actor) -> Option<Change> {
        let another = self.last.replace(by) != Some(by);
        another.then_some(Change::Act { at: self.now, by })
    }

    fn answered(self, outcome: Outcome) -> Applied {
        Applied {
            outcome,
            changes: self.changes,
            sequence: self.inventory.open_sequence(),
            decided_at: self.now,
            replayed: false,
        }
    }
}

fn decide(inventory: &mut Inventory, now: Timestamp, command: &Command) -> Result<Decision, Refusal> {
    check_key(inventory, command)?;
    match &command.action {
        Action::CreateEvent(create) => create.decide(inventory),
        Action::CreateSchedule(create) => create.decide(inventory, now),
        Action::CreateShop(create) => create.decide(inventory),
        Action::PatchEvent(patch) => patch.decide(inventory),
        Action::PatchSchedule(patch) => patch.decide(inventory, now),
        Action::PatchShop(patch) => patch.decide(inventory),
        Action::BlockSeats(block) => block.decide(inventory),
        Action::UnblockSeats(unblock) => unblock.decide(inventory),
        Action::AddSlot(add) => add.decide(inventory, now),
        Action::PatchSlot(patch) => patch.decide(inventory),
        Action::DeleteSlot(delete) => delete.decide(inventory),
        Action::RollSlots => commands::roll_slots::decide(inventory, now),
        Action::AddBox(add) => add.decide(inventory),
        Action::PatchBox(patch) => patch.decide(inventory),
        Action::ImportTickets(import) => import.decide(inventory),
        Action::Book(book) => book.decide(inventory, now, command.by),
        Action::Confirm(confirm) => confirm.decide(inventory, now),
        Action::Extend(extend) => extend.decide(inventory, now),
        Action::Cancel(cancel) => cancel.decide(inventory),
        Action::Move(moving) => moving.decide(inventory, now),
        Action::Redeem(redeem) => redeem.decide(inventory, now),
        Action::Expire => Ok(Decision::nothing(Reply::Done)),
        Action::ForgetContact(forget) => Ok(forget.decide(inventory)),
        Action::Unredeem(unredeem) => unredeem.decide(inventory),
        Action::CancelEvent(cancel) => cancel.decide(inventory),
        Action::DeleteEvent => commands::delete_event::decide(inventory),
        Action::ForgetKeys => Ok(commands::forget_keys::decide(inventory, now)),
    }
}

/// Refuses a key that cannot be kept as asked, commands on bookings without the key that the inventory demands, and
/// commands that no more answers can be remembered for.
fn check_key(inventory: &Inventory, command: &Command) -> Result<(), Refusal> {
    let on_booking = match &command.action {
        Action::Book(_)
        | Action::Confirm(_)
        | Action::Extend(_)
        | Action::Cancel(_)
        | Action::Move(_)
        | Action::Redeem(_)
        | Action::Unredeem(_) => true,
        Action::CreateEvent(_)
        | Action::CreateSchedule(_)
        | Action::CreateShop(_)
        | Action::PatchEvent(_)
        | Action::PatchSchedule(_)
        | Action::PatchShop(_)
        | Action::BlockSeats(_)
        | Action::UnblockSeats(_)
        | Action::AddSlot(_)
        | Action::PatchSlot(_)
        | Action::DeleteSlot(_)
        | Action::RollSlots
        | Action::AddBox(_)
        | Action::PatchBox(_)
        | Action::ImportTickets(_)
        | Action::Expire
        | Action::ForgetContact(_)
        | Action::ForgetKeys
        | Action::CancelEvent(_)
        | Action::DeleteEvent => false,
    };
    match &command.idempotency {
        None => {
            let demanded = inventory.terms().is_some_and(|terms| terms.rules.require_idempotency_key);
            if on_booking && demanded { Err(Refusal::IdempotencyKeyRequired) } else { Ok(()) }
        }
        Some(idempotency) => {
            check_within(idempotency.keep_seconds, KEY_KEEP_SECONDS_MAX, "/idempotency/keep_seconds")?;
            check_room(inventory.memory().queue_len(), KEYS_PER_INVENTORY_MAX)
        }
    }
}

/// The change by which a key remembers its answer, unless the command was refused in a way that is decided afresh.
fn remember(
    inventory: &Inventory,
    now: Timestamp,
    idempotency: &Idempotency,
    reply: &Reply,
) -> Option<Change> {
    if let Reply::Refused(refusal) = reply
        && !RefusalCode::from(&**refusal).is_remembered()
    {
        return None;
    }
    // An inventory that was never created remembers nothing: it would come into being by being asked.
    let keep_seconds = idempotency.keep_seconds.max(inventory.terms()?.rules.max_hold_seconds);
    let keep_until = inventory.memory().in_order(now.plus_seconds(keep_seconds));
    Some(Change::Remembered {
        key: idempotency.key,
        fingerprint: idempotency.fingerprint,
        keep_until,
        reply: reply.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::testing::{book, id, keyed, one_section, second};

    #[test]
    fn a_reason_from_outside_is_remembered_like_one_of_the_rules() {
        let mut inventory = Inventory::default();
        apply(&mut inventory, second(0), &one_section(1, 4).into());
        let command = keyed("key", 1, book("b1", "ann").best(1));
        let refused = refuse(&mut inventory, second(1), &command, Refusal::BookingIdTaken);
        assert_eq!(refused.outcome, Outcome::Refused(Box::new(Refusal::BookingIdTaken)));
        inventory.end_batch();
        let again = apply(&mut inventory, second(2), &command);
        assert!(again.replayed && inventory.booking(id("b1")).is_none());
        assert_eq!(
            (again.outcome, again.sequence, again.decided_at),
            (refused.outcome, refused.sequence, refused.decided_at)
        );
        let misused = keyed("key", 2, book("b1", "ann").best(1));
        let reused = refuse(&mut inventory, second(2), &misused, Refusal::BookingIdTaken);
        assert_eq!(reused.outcome, Outcome::Refused(Box::new(Refusal::IdempotencyKeyReused)));
    }
}
