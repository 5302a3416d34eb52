//! Decide, commit, then act: the one place where what was decided becomes durable and then known.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::chosen_ids::ChosenIds;
use crate::ids::InventoryNumber;
use crate::measure;
use crate::part::{Fenced, Part, Through};
use crate::published::Registry;
use crate::record::Head;
use crate::routing::Position;
use crate::store::{BatchWrite, CommitError, Store, StoreError};

/// Makes batches durable and releases them.
pub(crate) struct Committer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) chosen_ids: Arc<ChosenIds>,
    /// The next number of an inventory, as far as this process knows.
    pub(crate) numbers: Arc<AtomicU32>,
    /// Locked by whoever commits: one at a time.
    pub(crate) standing: Mutex<Standing>,
    /// When the commit that is under way began.
    pub(crate) began: Mutex<Option<Instant>>,
    /// When the store was last through with one.
    pub(crate) ended: Mutex<Option<Instant>>,
}

/// What earlier commits showed.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// Readings of inventories that were found to be out of date, and with them all earlier ones. What was decided on them
    /// after the batch that showed it must not leave either, even if it changed nothing.
    out_of_date: HashMap<InventoryNumber, u32>,
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
    /// For how long a commit has been under way.
    pub(crate) fn committing_for(&self) -> Option<Duration> {
        self.began.lock().map(|began| began.elapsed())
    }

    /// When the store was last through with a commit.
    pub(crate) fn last_committed(&self) -> Option<Instant> {
        *self.ended.lock()
    }

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
            .filter(|part| !is_out_of_date(out_of_date, part))
            .filter_map(|part| part.write.as_ref())
            .collect();
        let fenced = if *failed {
            Err(CommitError::Failed("an earlier commit failed".to_owned()))
        } else if writes.is_empty() {
            Ok(Vec::new())
        } else {
            self.write(&writes)
        };
        let fenced = fenced.and_then(|fenced| {
            let unwritten = batches.iter().flat_map(|batch| &batch.parts).filter(|part| part.write.is_none());
            let unwritten = unwritten.filter(|part| !is_out_of_date(out_of_date, part));
            let overtaken = self.overtaken(unwritten)?;
            let stopped = batches.iter().flat_map(|batch| &batch.parts);
            let stopped =
                stopped.filter(|part| fenced.contains(&part.number) || is_out_of_date(out_of_date, part));
            let last_positions = self.last_positions(stopped)?;
            Ok((fenced, overtaken, last_positions))
        });
        let (fenced, overtaken, last_positions) = match fenced {
            Ok(settled) => settled,
            Err(error) => {
                *failed = true;
                batches.into_iter().flat_map(|batch| batch.parts).for_each(Part::unknown);
                return Err(error);
            }
        };
        let mut durable = Vec::new();
        for Sealed { shard, parts } in batches {
            measure::batch(parts.iter().map(Part::commands).sum());
            for part in parts.iter().filter(|part| fenced.contains(&part.of().0)) {
                let (number, generation) = part.of();
                out_of_date.insert(number, generation);
            }
            // What was written stays written, even if somebody else came before what was decided after it.
            let is_overtaken =
                |part: &Part| part.write.is_none() && overtaken.get(&part.number) == Some(&part.generation);
            let (stopped, mut passed): (Vec<Part>, Vec<Part>) =
                parts.into_iter().partition(|part| is_out_of_date(out_of_date, part) || is_overtaken(part));
            measure::fenced(stopped.len());
            if stopped.iter().any(Part::is_creation) {
                self.learn_all();
            }
            for part in &mut passed {
                part.publish(&self.registry, &self.chosen_ids);
            }
            tell(Settled {
                shard,
                through: passed.iter().map(Part::through).collect(),
                fenced: stopped
                    .into_iter()
                    .map(|part| {
                        let last = last_positions.get(&part.number).copied();
                        part.fenced(&self.chosen_ids, last)
                    })
                    .collect(),
            });
            durable.extend(passed);
        }
        out_of_date.extend(overtaken);
        durable.into_iter().for_each(Part::answer);
        Ok(())
    }

    /// Notes an inventory of the store that others may have created.
    pub(crate) fn learn(&self, head: &Head) {
        if self.registry.of_number(head.inventory).is_none() {
            self.registry.add(head.inventory, &head.name);
            self.numbers.fetch_max(head.inventory.0 + 1, Ordering::Relaxed);
        }
    }

    /// The number or the name of a new inventory was taken: whoever tries again must know by whom.
    fn learn_all(&self) {
        match self.store.heads() {
            Ok(heads) => heads.iter().for_each(|head| self.learn(head)),
            Err(error) => tracing::error!(%error, "the list of inventories cannot be read"),
        }
    }

    /// The inventories of parts that changed nothing and were decided on what is no longer so, and on which reading of them.
    /// What was written has been checked by the store; a refusal has not.
    fn overtaken<'a>(
        &self,
        unwritten: impl Iterator<Item = &'a Part>,
    ) -> Result<HashMap<InventoryNumber, u32>, CommitError> {
        if !self.store.is_shared() {
            return Ok(HashMap::new());
        }
        let decided_on: HashMap<InventoryNumber, _> =
            unwritten.map(|part| (part.number, (part.standing(), part.generation))).collect();
        if decided_on.is_empty() {
            return Ok(HashMap::new());
        }
        let numbers: Vec<InventoryNumber> = decided_on.keys().copied().collect();
        let heads = match self.store.heads_of(&numbers) {
            Ok(heads) => heads,
            // Nobody can say: all are decided again, or refused if that cannot be done either. Nothing was written.
            Err(StoreError::Unavailable(_)) => {
                return Ok(decided_on
                    .iter()
                    .map(|(number, (_, generation))| (*number, *generation))
                    .collect());
            }
            Err(error) => return Err(error.into()),
        };
        let moved = heads.iter().filter(|head| decided_on[&head.inventory].0 != head.hash);
        Ok(moved.map(|head| (head.inventory, decided_on[&head.inventory].1)).collect())
    }

    /// How far the log was decided in the inventories of parts that were fenced, if they brought any of it.
    fn last_positions<'a>(
        &self,
        stopped: impl Iterator<Item = &'a Part>,
    ) -> Result<HashMap<InventoryNumber, Position>, CommitError> {
        let from_log = stopped.filter(|part| part.positions().is_some());
        let numbers: Vec<InventoryNumber> = from_log.map(|part| part.number).collect();
        if numbers.is_empty() {
            return Ok(HashMap::new());
        }
        match self.store.last_positions(&numbers) {
            Ok(positions) => Ok(positions.into_iter().collect()),
            // Nobody can say: all are decided again, and fenced again if they were before.
            Err(StoreError::Unavailable(_)) => Ok(HashMap::new()),
            Err(error) => Err(error.into()),
        }
    }

    fn write(&self, writes: &[&BatchWrite]) -> Result<Vec<InventoryNumber>, CommitError> {
        let began = Instant::now();
        *self.began.lock() = Some(began);
        let fenced = self.store.commit(writes);
        *self.began.lock() = None;
        if fenced.is_ok() {
            *self.ended.lock() = Some(Instant::now());
        }
        measure::commit(began.elapsed());
        fenced
    }
}

fn is_out_of_date(out_of_date: &HashMap<InventoryNumber, u32>, part: &Part) -> bool {
    let (number, generation) = part.of();
    out_of_date.get(&number).is_some_and(|latest| generation <= *latest)
}
