//! Turns: how a shard decides for an inventory that other processes write to at the same time.
//!
//! An inventory is *contended* from the moment this process was fenced in it, or saw that others wrote to what it writes to,
//! until nothing has come from them for [`CONTENDED_MS`]. What is asked of it waits while the store gets this process a turn
//! (see [`Store::take_turn`]); in its turn the shard reads what it missed, decides all that waits, and goes on while there is
//! work and the turn lasts. Then the next process has it. So nobody is fenced and nobody reads the inventory again, and nothing
//! depends on it: a shard that does not get its turn goes without, and what keeps writers from harm is the fence.
//!
//! [`Store::take_turn`]: crate::store::Store::take_turn

use std::collections::BTreeMap;

use boxoffice_core::time::Timestamp;

use super::{Behind, Request, Shard};
use crate::answer::SubmitError;
use crate::ids::InventoryNumber;
use crate::limits::{CONTENDED_MS, TURN_MS, WAITING_FOR_LOAD_COMMANDS_MAX, WITHOUT_TURN_MS};
use crate::load::{Chain, LoadError};
use crate::record::Record;

/// The inventories that others write to as well. In order, because that of a hash map must not decide anything.
pub(super) type Contended = BTreeMap<InventoryNumber, Contention>;

/// One of them.
pub(super) struct Contention {
    /// If nothing comes from others before that, it is over.
    until: Timestamp,
    turn: Turn,
    /// Commands that wait for the turn, in order.
    waiting: Vec<Request>,
}

/// Whose turn it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Anybody's.
    Away,
    /// Asked for.
    Asked,
    /// Ours; until then more may be decided in it.
    Ours { until: Timestamp },
}

impl Contention {
    /// Whether a command may be decided at once.
    fn may_decide(&self, now: Timestamp) -> bool {
        match self.turn {
            Turn::Ours { until } => now < until && self.waiting.is_empty(),
            Turn::Asked => false,
            Turn::Away => now >= self.until && self.waiting.is_empty(),
        }
    }

    /// Whether it can be forgotten.
    fn is_over(&self, now: Timestamp) -> bool {
        self.turn == Turn::Away && self.may_decide(now)
    }

    /// Whether nobody waits for a turn and none is used.
    fn is_at_rest(&self) -> bool {
        self.turn == Turn::Away && self.waiting.is_empty()
    }
}

impl Shard {
    /// Notes that others write to an inventory.
    pub(super) fn contend(&mut self, now: Timestamp, number: InventoryNumber) {
        let until = Timestamp(now.0.saturating_add(CONTENDED_MS));
        let contention = Contention { until, turn: Turn::Away, waiting: Vec::new() };
        self.contended.entry(number).or_insert(contention).until = until;
    }

    /// Lets a command wait if it must not be decided now; gives it back if it may.
    pub(super) fn wait_for_turn(
        &mut self,
        now: Timestamp,
        number: InventoryNumber,
        request: Request,
    ) -> Option<Request> {
        let Some(live) = self.live.get_mut(&number) else { return Some(request) };
        let Some(contention) = self.contended.get_mut(&number) else { return Some(request) };
        if contention.may_decide(now) {
            return Some(request);
        }
        live.last_used = now;
        if contention.waiting.len() < WAITING_FOR_LOAD_COMMANDS_MAX {
            contention.waiting.push(request);
            self.ask_for_turn(number);
        } else {
            request.asked.answer(Err(SubmitError::overloaded()));
        }
        None
    }

    /// Whether something that is due must wait for a turn, which is asked for then.
    pub(super) fn must_wait_for_turn(&mut self, now: Timestamp, number: InventoryNumber) -> bool {
        let must = self.contended.get(&number).is_some_and(|contention| !contention.may_decide(now));
        if must {
            self.ask_for_turn(number);
        }
        must
    }

    /// Asks for a turn, unless one is asked for or used. What was decided before it is on its way until then.
    fn ask_for_turn(&mut self, number: InventoryNumber) {
        let Some(contention) = self.contended.get_mut(&number) else { return };
        let Some(live) = self.live.get(&number).filter(|live| live.is_at_rest()) else { return };
        if contention.turn != Turn::Away {
            return;
        }
        contention.turn = Turn::Asked;
        let chain = Chain { sequence: live.inventory.sequence(), hash: *live.last_hash.lock() };
        self.errands.turns.push(Behind { number, generation: live.generation, chain, wanted: live.seen });
    }

    /// A turn has come, or did not come in time; with what others wrote before it.
    pub(crate) fn turn_begun(
        &mut self,
        now: Timestamp,
        behind: &Behind,
        is_ours: bool,
        missed: Result<Vec<(Record, u64)>, LoadError>,
    ) {
        let number = behind.number;
        let contention = self.contended.get_mut(&number).expect("kept while a turn is asked for");
        let lasts_ms = if is_ours { TURN_MS } else { WITHOUT_TURN_MS };
        contention.turn = Turn::Ours { until: Timestamp(now.0.saturating_add(lasts_ms)) };
        let waiting = std::mem::take(&mut contention.waiting);
        self.caught_up(now, behind, missed);
        if self.live.contains_key(&number) {
            self.end_what_is_due(now, number);
        }
        waiting.into_iter().for_each(|request| self.submit(now, request));
        self.end_turn(number);
    }

    /// Gives a turn back if nothing of it is on its way, and asks for the next one if somebody waits.
    pub(super) fn end_turn(&mut self, number: InventoryNumber) {
        let Some(contention) = self.contended.get_mut(&number) else { return };
        let Turn::Ours { .. } = contention.turn else { return };
        if self.live.get(&number).is_some_and(|live| !live.is_at_rest()) {
            return;
        }
        contention.turn = Turn::Away;
        let somebody_waits = !contention.waiting.is_empty();
        self.errands.turns_over.push(number);
        if somebody_waits {
            self.ask_for_turn(number);
        }
    }

    /// Takes out the commands that wait for a turn: the state that they waited with is gone.
    pub(super) fn take_waiting(&mut self, number: InventoryNumber) -> Vec<Request> {
        self.contended.get_mut(&number).map(|it| std::mem::take(&mut it.waiting)).unwrap_or_default()
    }

    /// Whether an inventory is needed for a turn.
    pub(super) fn is_in_turn(contended: &Contended, number: InventoryNumber) -> bool {
        contended.get(&number).is_some_and(|contention| !contention.is_at_rest())
    }

    /// Whether nobody waits for a turn and none is used.
    pub(super) fn turns_are_at_rest(&self) -> bool {
        self.contended.values().all(Contention::is_at_rest)
    }

    /// Forgets what is over.
    pub(super) fn forget_contentions(&mut self, now: Timestamp) {
        self.contended.retain(|_, contention| !contention.is_over(now));
    }

    /// Answers everybody who waits for a turn.
    pub(super) fn give_up_turns(&mut self, error: &SubmitError) {
        for contention in self.contended.values_mut() {
            let waiting = std::mem::take(&mut contention.waiting);
            waiting.into_iter().for_each(|request| request.asked.answer(Err(error.clone())));
        }
    }
}
