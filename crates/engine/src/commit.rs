//! Decide, commit, then act: the one place where what was decided becomes durable and then known.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::chosen_ids::ChosenIds;
use crate::ids::InventoryNumber;
use crate::measure;
use crate::published::Registry;
use crate::shard::{Fenced, Part, Through};
use crate::store::{BatchWrite, CommitError, Store};

/// Makes batches durable and releases them.
pub(crate) struct Committer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) chosen_ids: Arc<ChosenIds>,
    /// Locked by whoever commits: one at a time.
    pub(crate) standing: Mutex<Standing>,
}

/// What earlier commits showed.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Readings of inventories that were found to be out of date. What was decided on them after the batch that showed it
    /// must not leave either, even if it changed nothing.
    out_of_date: HashSet<(InventoryNumber, u32)>,
    /// After an error the store is not written again.
    failed: bool,
}

/// The batch of one shard on its way.
pub(crate) struct Sealed {
    /// Index of the shard.
    pub(crate) shard: usize,
    pub(crate) parts: Vec<Part>,
}

/// What became of a shard's batch.
pub(crate) struct Settled {
    /// Index of the shard.
    pub(crate) shard: usize,
    /// Durable.
    pub(crate) through: Vec<Through>,
    /// To be decided again.
    pub(crate) fenced: Vec<Fenced>,
}

impl Committer {
    /// Whether somebody is committing.
    pub(crate) fn is_busy(&self) -> bool {
        self.standing.is_locked()
    }

    /// Commits the batches of all shards together. What is durable is published, then the shards are told, then the
    /// callers are answered: nothing leaves before the commit, and nobody can ask about what is not yet shown.
    ///
    /// After an error nobody was told anything except that the outcome is unknown, and every later commit fails, too.
    pub(crate) fn commit(
        &self,
        mut batches: Vec<Sealed>,
        mut tell: impl FnMut(Settled),
    ) -> Result<(), CommitError> {
        let mut standing = self.standing.lock();
        let Standing { out_of_date, failed } = &mut *standing;
        batches.iter_mut().flat_map(|batch| &mut batch.parts).for_each(Part::encode);
        let writes: Vec<&BatchWrite> = batches
            .iter()
            .flat_map(|batch| &batch.parts)
            .filter(|part| !out_of_date.contains(&part.of()))
            .filter_map(|part| part.write.as_ref())
            .collect();
        let fenced = if *failed {
            Err(CommitError::Failed("an earlier commit failed".to_owned()))
        } else if writes.is_empty() {
            Ok(Vec::new())
        } else {
            self.write(&writes)
        };
        let fenced = match fenced {
            Ok(fenced) => fenced,
            Err(error) => {
                *failed = true;
                batches.into_iter().flat_map(|batch| batch.parts).for_each(Part::unknown);
                return Err(error);
            }
        };
        let mut durable = Vec::new();
        for Sealed { shard, parts } in batches {
            measure::batch(parts.iter().map(Part::commands).sum());
            for part in parts.iter().filter(|part| part.write.is_some() && fenced.contains(&part.of().0)) {
                out_of_date.insert(part.of());
            }
            let (stopped, mut passed): (Vec<Part>, Vec<Part>) =
                parts.into_iter().partition(|part| out_of_date.contains(&part.of()));
            for part in &mut passed {
                part.publish(&self.registry, &self.chosen_ids);
            }
            tell(Settled {
                shard,
                through: passed.iter().map(Part::through).collect(),
                fenced: stopped.into_iter().map(|part| part.fenced(&self.chosen_ids)).collect(),
            });
            durable.extend(passed);
        }
        durable.into_iter().for_each(Part::answer);
        Ok(())
    }

    fn write(&self, writes: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        let began = Instant::now();
        let fenced = self.store.commit(writes);
        measure::commit(began.elapsed());
        fenced
    }
}
