//! What was decided on a reading of an inventory that another writer has overtaken: taken back, and decided again in its order.
//!
//! Two batches of a shard may be on their way. When the first is fenced the second will be, too, but comes back later: until then
//! everything of that inventory waits, or what came after it would be decided before it.

use boxoffice_core::time::Timestamp;

use super::{Request, Shard};
use crate::answer::{Answer, SubmitError};
use crate::chosen_ids::chosen_ids;
use crate::ids::InventoryNumber;
use crate::limits::WAITING_FOR_LOAD_COMMANDS_MAX;

/// Commands that were decided on a reading that is out of date. They are kept until the last batch of it has come back, so that
/// they are decided again in their order.
pub(super) struct Recalled {
    generation: u32,
    /// Batches on their way.
    in_flight: u32,
    /// Of the batches that have come back, in order.
    fenced: Vec<Request>,
    /// What was asked after all of them.
    later: Vec<Request>,
}

impl Shard {
    /// Lets a command wait if earlier ones of its inventory are still on their way back; gives it back if none are.
    pub(super) fn wait_for_recalled(&mut self, number: InventoryNumber, request: Request) -> Option<Request> {
        let Some(recalled) = self.recalled.get_mut(&number) else { return Some(request) };
        if recalled.later.len() < WAITING_FOR_LOAD_COMMANDS_MAX {
            recalled.later.push(request);
        } else {
            request.asked.answer(Err(SubmitError::overloaded()));
        }
        None
    }

    /// Another writer was there: drops an inventory and has everything decided again that was decided on it.
    pub(super) fn recall(&mut self, now: Timestamp, number: InventoryNumber, fenced: Vec<Request>) {
        tracing::warn!(%number, "another writer was here; reading the inventory again");
        let live = self.live.remove(&number).expect("what is recalled was in memory");
        self.created.remove(&live.name);
        // What was decided since on the state that was dropped is decided again as well.
        let dropped = self.open.parts.extract_if(.., |part| part.number == number).collect::<Vec<_>>();
        self.open.commands -= dropped.iter().map(|part| part.answered.len()).sum::<usize>();
        let answers = dropped.iter().flat_map(|part| &part.answered).map(|(_, answer)| answer);
        self.open.units -= answers.map(Answer::units).sum::<usize>();
        self.number_open_parts();
        // Also if nobody waits for it: what fell due in it must fall due again.
        // One that was created here has another number now, or another creator.
        if self.registry.of_number(number).is_some_and(|entry| entry.name == live.name) {
            self.contend(now, number);
            self.end_turn(number);
            self.begin_loading(number);
        }
        // Their ids are claimed again when they are decided again.
        chosen_ids(number, &live.changes).for_each(|id| self.chosen_ids.let_go(id, &live.name));
        let since = dropped.into_iter().flat_map(|part| part.answered).map(|(request, _)| request);
        let later = since.chain(self.take_waiting(number)).collect();
        let (generation, in_flight) = (live.generation, live.in_flight);
        self.recalled.insert(number, Recalled { generation, in_flight, fenced: Vec::new(), later });
        self.come_back(now, number, generation, fenced);
    }

    /// A batch of a reading that was dropped has come back, with what of it is to be decided again. After the last one all is.
    pub(super) fn come_back(
        &mut self,
        now: Timestamp,
        number: InventoryNumber,
        generation: u32,
        fenced: Vec<Request>,
    ) {
        let recalled = self.recalled.get_mut(&number).filter(|recalled| recalled.generation == generation);
        let Some(recalled) = recalled else {
            // Another inventory has its number by now; nothing else of it is on its way.
            return fenced.into_iter().for_each(|request| self.submit(now, request));
        };
        recalled.fenced.extend(fenced);
        recalled.in_flight -= 1;
        if recalled.in_flight == 0 {
            let Recalled { fenced, later, .. } = self.recalled.remove(&number).expect("just seen");
            fenced.into_iter().chain(later).for_each(|request| self.submit(now, request));
        }
    }

    /// Answers everybody who waits for a batch to come back.
    pub(super) fn give_up_recalled(&mut self, error: &SubmitError) {
        for (_, Recalled { fenced, later, .. }) in self.recalled.drain() {
            fenced.into_iter().chain(later).for_each(|request| request.asked.answer(Err(error.clone())));
        }
    }
}
