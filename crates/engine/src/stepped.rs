//! An engine without threads: the same shards and the same committer, moved one step at a time by whoever holds it.
//!
//! For simulations that must be repeatable. Nothing happens between steps, and the order of steps is the caller's.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc;

use boxoffice_core::booking::Booking;
use boxoffice_core::command::Command;
use boxoffice_core::ids::BookingId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::answer::{Answer, Asked, SubmitError};
use crate::availability::Availability;
use crate::chosen_ids::ChosenIds;
use crate::clock::Clock;
use crate::commit::{Committer, Sealed, Settled};
use crate::engine::{Settings, shard_of};
use crate::ids::InventoryNumber;
use crate::load;
use crate::published::{Registry, State, route_of};
use crate::shard::{Behind, Request, Shard, Target};
use crate::snapshot::{self, Retention, SnapshotError};
use crate::store::{CommitError, Store, StoreError};
use crate::view::StockView;

/// The parts of an engine, before anything moves them.
pub(crate) struct Assembled {
    pub(crate) registry: Arc<Registry>,
    pub(crate) shards: Vec<Shard>,
    pub(crate) committer: Committer,
    pub(crate) availability: Arc<Availability>,
}

/// Reads the list of inventories and hands each to its shard.
pub(crate) fn assemble(store: &Arc<dyn Store>, settings: &Settings) -> Result<Assembled, StoreError> {
    let heads = store.heads()?;
    let registry = Arc::new(Registry::default());
    let availability = Arc::new(Availability::default());
    let chosen_ids = Arc::new(ChosenIds::new(Arc::clone(store), Arc::clone(&availability)));
    let next_number = heads.iter().map(|head| head.inventory.0 + 1).max().unwrap_or(1);
    let numbers = Arc::new(AtomicU32::new(next_number));
    let count = settings.shards.max(1);
    let mut shards: Vec<Shard> = (0..count)
        .map(|_| {
            let (registry, chosen_ids) = (Arc::clone(&registry), Arc::clone(&chosen_ids));
            Shard::new(registry, chosen_ids, Arc::clone(&numbers), settings, store.is_shared())
        })
        .collect();
    for head in &heads {
        let entry = registry.add(head.inventory, &head.name);
        shards[shard_of(entry.route, count)].watch(head);
    }
    let committer = Committer {
        store: Arc::clone(store),
        registry: Arc::clone(&registry),
        chosen_ids,
        numbers,
        standing: Mutex::default(),
        began: Mutex::default(),
        ended: Mutex::default(),
    };
    Ok(Assembled { registry, shards, committer, availability })
}

/// An engine that moves only when told to.
pub struct SteppedEngine {
    store: Arc<dyn Store>,
    clock: Clock,
    retention: Retention,
    registry: Arc<Registry>,
    shards: Vec<Shard>,
    committer: Committer,
    sealed: Vec<Sealed>,
    loads: VecDeque<(usize, InventoryNumber)>,
    catch_ups: VecDeque<(usize, Behind)>,
    /// Turns that have come, or did not in time: the store says so when it likes.
    turns: (mpsc::Sender<Turn>, mpsc::Receiver<Turn>),
    /// What [`Step::Follow`] asks the store next.
    followed: i64,
    snapshots: VecDeque<(usize, InventoryNumber)>,
}

/// Whose shard, of what, and whether it is ours.
type Turn = (usize, Behind, bool);

/// One thing that an engine can do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The shard of this index ends what is due and lets go of what is idle.
    Wake(usize),
    /// The shard of this index hands over what has gathered, if its last batch is through or this one is large.
    Seal(usize),
    /// Everything that was handed over is committed together.
    Commit,
    /// The first inventory that somebody waits for is read.
    Load,
    /// The store is asked what others changed.
    Follow,
    /// What others wrote to the first inventory that is behind is read.
    CatchUp,
    /// The first turn that has come begins.
    Turn,
    /// The first snapshot that is wanted is written.
    Snapshot,
    /// The store does what it has to do beside commits.
    Chores,
}

/// Where an answer arrives.
pub type Receipt = oneshot::Receiver<Result<Answer, SubmitError>>;

impl SteppedEngine {
    /// An engine at rest.
    pub fn start(
        store: Arc<dyn Store>,
        clock: Clock,
        settings: &Settings,
    ) -> Result<SteppedEngine, StoreError> {
        let Assembled { registry, shards, committer, .. } = assemble(&store, settings)?;
        Ok(SteppedEngine {
            store,
            clock,
            retention: settings.retention,
            registry,
            shards,
            committer,
            sealed: Vec::new(),
            loads: VecDeque::new(),
            catch_ups: VecDeque::new(),
            turns: mpsc::channel(),
            followed: 0,
            snapshots: VecDeque::new(),
        })
    }

    /// Has a command decided. The answer arrives when its batch was committed.
    pub fn submit(&mut self, name: &str, command: Command) -> Receipt {
        let (sender, receipt) = oneshot::channel();
        let asked = Asked::One(Arc::new(command), sender);
        let request = Request { target: Target::Name(name.into()), asked, position: None };
        let shard = shard_of(route_of(name), self.shards.len());
        self.shards[shard].submit(self.clock.now(), request);
        self.collect_errands(shard);
        receipt
    }

    /// Takes one step; says whether there was anything to do.
    pub fn step(&mut self, step: Step) -> Result<bool, CommitError> {
        let now = self.clock.now();
        match step {
            Step::Wake(shard) => {
                let due = self.shards[shard].next_wake().is_some_and(|at| at <= now);
                self.shards[shard].wake(now);
                self.collect_errands(shard);
                Ok(due)
            }
            Step::Seal(shard) => {
                let parts = self.shards[shard].seal();
                self.collect_errands(shard);
                let sealed = parts.map(|parts| Sealed { shard, parts });
                let any = sealed.is_some();
                self.sealed.extend(sealed);
                Ok(any)
            }
            Step::Commit => self.commit(),
            Step::Load => {
                let Some((shard, number)) = self.loads.pop_front() else { return Ok(false) };
                let loaded = load::load(&*self.store, number).map(|loaded| {
                    loaded.and_then(|loaded| State::of(&loaded.inventory).map(|state| (loaded, state)))
                });
                self.shards[shard].loaded(now, number, loaded);
                self.collect_errands(shard);
                Ok(true)
            }
            Step::Follow => {
                let changed = self.store.changed_heads(self.followed);
                let (heads, next) = changed.map_err(CommitError::from)?;
                self.followed = next;
                for head in &heads {
                    self.committer.learn(head);
                    let shard = shard_of(route_of(&head.name), self.shards.len());
                    self.shards[shard].seen(head);
                    self.collect_errands(shard);
                }
                Ok(!self.catch_ups.is_empty())
            }
            Step::CatchUp => {
                let Some((shard, behind)) = self.catch_ups.pop_front() else { return Ok(false) };
                let records = load::catch_up(&*self.store, behind.number, behind.chain);
                self.shards[shard].caught_up(now, &behind, records);
                self.collect_errands(shard);
                Ok(true)
            }
            Step::Turn => {
                let Ok((shard, behind, is_ours)) = self.turns.1.try_recv() else { return Ok(false) };
                let records = load::catch_up(&*self.store, behind.number, behind.chain);
                self.shards[shard].turn_begun(now, &behind, is_ours, records);
                self.collect_errands(shard);
                Ok(true)
            }
            Step::Chores => self.store.do_chores(),
            Step::Snapshot => {
                let Some((shard, number)) = self.snapshots.pop_front() else { return Ok(false) };
                match snapshot::write(&*self.store, number, self.retention) {
                    Ok(written) => self.shards[shard].snapshotted(number, written),
                    Err(SnapshotError::Load(_)) => self.shards[shard].snapshotted(number, None),
                    Err(SnapshotError::Commit(error)) => return Err(error),
                }
                Ok(true)
            }
        }
    }

    /// Takes steps until nothing is left to do at this time.
    pub fn settle(&mut self) -> Result<(), CommitError> {
        loop {
            let mut moved = false;
            for shard in 0..self.shards.len() {
                moved |= self.step(Step::Wake(shard))?;
                moved |= self.step(Step::Seal(shard))?;
            }
            for step in [Step::Load, Step::CatchUp, Step::Turn, Step::Commit, Step::Snapshot] {
                moved |= self.step(step)?;
            }
            if !moved {
                return Ok(());
            }
        }
    }

    /// How many shards it has.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The number of an inventory.
    pub fn number(&self, name: &str) -> Option<InventoryNumber> {
        self.registry.of_name(name).map(|entry| entry.number)
    }

    /// The stock of an inventory as of its last commit, if it is in memory.
    pub fn view(&self, number: InventoryNumber) -> Option<Arc<StockView>> {
        let published = self.registry.of_number(number)?.published()?;
        Some(published.read(self.clock.now(), |state| Arc::clone(&state.stock)))
    }

    /// A booking as of the last commit of its inventory, if that is in memory.
    pub fn booking(&self, number: InventoryNumber, id: BookingId) -> Option<Arc<Booking>> {
        let published = self.registry.of_number(number)?.published()?;
        published.read(self.clock.now(), |state| state.bookings.get(id).cloned())
    }

    fn commit(&mut self) -> Result<bool, CommitError> {
        if self.sealed.is_empty() {
            return Ok(false);
        }
        let now = self.clock.now();
        let shards = &mut self.shards;
        let tell = |settled: Settled| shards[settled.shard].committed(now, &settled.through, settled.fenced);
        self.committer.commit(std::mem::take(&mut self.sealed), tell)?;
        for shard in 0..self.shards.len() {
            self.collect_errands(shard);
        }
        Ok(true)
    }

    fn collect_errands(&mut self, shard: usize) {
        let errands = self.shards[shard].take_errands();
        self.loads.extend(errands.load.into_iter().map(|number| (shard, number)));
        self.catch_ups.extend(errands.catch_up.into_iter().map(|behind| (shard, behind)));
        errands.turns_over.into_iter().for_each(|number| self.store.end_turn(number));
        for behind in errands.turns {
            let came = self.turns.0.clone();
            // Nobody waits for it if the engine is gone.
            let then = move |is_ours| {
                let _ = came.send((shard, behind, is_ours));
            };
            self.store.take_turn(behind.number, Box::new(then));
        }
        self.snapshots.extend(errands.snapshot.into_iter().map(|number| (shard, number)));
    }
}
