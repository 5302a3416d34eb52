//! One inventory's part of a batch: from the shard that decided it to whoever commits it.

use std::sync::Arc;

use boxoffice_core::change::Change;
use boxoffice_core::time::Timestamp;
use parking_lot::Mutex;

use crate::answer::{Answer, SubmitError};
use crate::chosen_ids::{ChosenIds, chosen_ids};
use crate::ids::InventoryNumber;
use crate::measure;
use crate::published::{Committed, Publication, Registry};
use crate::record::{self, Hash, Head};
use crate::routing::{Position, Span};
use crate::shard::Request;
use crate::store::BatchWrite;

/// The answers and the write of one inventory's part of a batch.
pub(crate) struct Part {
    pub(crate) number: InventoryNumber,
    pub(crate) generation: u32,
    pub(crate) last_hash: LastHash,
    /// What is to be written, until [`Part::encode`] has made bytes of it; `None` if nothing is.
    pub(crate) draft: Option<Draft>,
    /// `None` if nothing is to be written.
    pub(crate) write: Option<BatchWrite>,
    pub(crate) publication: Option<Publication>,
    pub(crate) answered: Vec<(Request, Answer)>,
}

/// A batch of one inventory that is not yet bytes: that is left to whoever commits, because the shard has the most to do.
pub(crate) struct Draft {
    pub(crate) name: Arc<str>,
    pub(crate) sequence: u64,
    pub(crate) next_deadline: Option<Timestamp>,
    /// None if only positions are to be kept.
    pub(crate) changes: Arc<Vec<Change>>,
}

/// The hash of the last record of one reading of an inventory; known to the batches on their way, in their order.
pub(crate) type LastHash = Arc<Mutex<Hash>>;

/// A part that is durable.
pub(crate) struct Through {
    pub(crate) number: InventoryNumber,
    pub(crate) generation: u32,
    pub(crate) journal_bytes: u64,
}

/// Commands whose part was fenced, to be decided again.
pub(crate) struct Fenced {
    pub(crate) number: InventoryNumber,
    pub(crate) generation: u32,
    pub(crate) requests: Vec<Request>,
}

impl Part {
    /// Whose, and which reading of it from the store.
    pub(crate) fn of(&self) -> (InventoryNumber, u32) {
        (self.number, self.generation)
    }

    /// The positions of its commands, if they came from the log. Whoever takes commands from there has them decided in order.
    pub(crate) fn positions(&self) -> Option<Span> {
        let mut positions = self.answered.iter().filter_map(|(request, _)| request.position);
        let first = positions.next()?;
        Some(Span { first, last: positions.next_back().unwrap_or(first) })
    }

    /// Makes bytes of what is to be written. The parts of an inventory in their order: each record names the one before.
    pub(crate) fn encode(&mut self) {
        let Some(Draft { name, sequence, next_deadline, changes }) = self.draft.take() else {
            return;
        };
        let (number, positions) = (self.number, self.positions());
        let mut last_hash = self.last_hash.lock();
        let previous = *last_hash;
        let (record, hash) = if changes.is_empty() {
            (Vec::new(), previous)
        } else {
            record::encode_record(number, sequence, previous, &changes)
        };
        *last_hash = hash;
        self.write = Some(BatchWrite {
            previous,
            head: Head { inventory: number, name, sequence, hash, next_deadline },
            record: Arc::new(record),
            chosen_ids: chosen_ids(number, &changes).collect(),
            changes,
            positions,
        });
    }

    /// Whether it makes its inventory.
    pub(crate) fn is_creation(&self) -> bool {
        self.write.as_ref().is_some_and(|write| write.previous == Hash::default())
    }

    /// The last record that is known of its inventory, when the parts before it were encoded.
    pub(crate) fn standing(&self) -> Hash {
        *self.last_hash.lock()
    }

    /// What the shard is told when it is durable.
    pub(crate) fn through(&self) -> Through {
        let journal_bytes = self.write.as_ref().map_or(0, |write| write.record.len() as u64);
        Through { number: self.number, generation: self.generation, journal_bytes }
    }

    /// How many commands were decided in it.
    pub(crate) fn commands(&self) -> usize {
        self.answered.len()
    }

    /// Shows what changed to whoever reads. Only for what is durable: see [`crate::commit`].
    pub(crate) fn publish(&mut self, registry: &Registry, chosen_ids: &ChosenIds) {
        if let (Some(write), Some(publication)) = (&self.write, self.publication.take()) {
            let entry = registry
                .of_number(self.number)
                .unwrap_or_else(|| registry.add(self.number, &write.head.name));
            measure::holds_expired(publication.holds_expired);
            entry.publish(publication, Committed::Here);
            write.chosen_ids.iter().for_each(|&id| chosen_ids.let_go(id, &write.head.name));
        }
    }

    /// Answers the callers. Only for what is durable: see [`crate::commit`].
    pub(crate) fn answer(self) {
        for (request, answer) in self.answered {
            request.asked.answer(Ok(answer));
        }
    }

    /// Takes the commands back, to be decided again; those of the log that somebody else has decided, up to `last`, are not.
    pub(crate) fn fenced(self, chosen_ids: &ChosenIds, last: Option<Position>) -> Fenced {
        if let Some(write) = &self.write {
            write.chosen_ids.iter().for_each(|&id| chosen_ids.let_go(id, &write.head.name));
        }
        let requests = self.answered.into_iter().map(|(request, _)| request);
        let (decided, requests): (Vec<Request>, Vec<Request>) =
            requests.partition(|request| request.position.is_some_and(|position| Some(position) <= last));
        decided.into_iter().for_each(|request| request.asked.answer(Err(SubmitError::AlreadyDecided)));
        Fenced { number: self.number, generation: self.generation, requests }
    }

    /// Tells the callers that nobody knows.
    pub(crate) fn unknown(self) {
        for (request, _) in self.answered {
            request.asked.answer(Err(SubmitError::OutcomeUnknown));
        }
    }
}
