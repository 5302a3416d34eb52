//! The one writer of many inventories: takes commands, applies them in memory, and hands over sealed batches.
//!
//! A state machine without threads and clocks, whose only I/O is to look up an id that a caller chose, so that the simulator drives the same code as the engine's threads:
//! inputs go in, [`Shard::seal`] gives a batch when the last one was committed, [`Shard::take_errands`] says what to read from
//! the store. While one batch is on its way, what comes gathers in the next; a large one is sealed ahead, so that the disk never
//! waits for it. How it shares an inventory with other processes is in `shard/turns.rs`.

mod recalled;
mod turns;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use boxoffice_core::change::Change;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::ids::{Actor, BookingId, tenant_of_name};
use boxoffice_core::inventory::Inventory;
use boxoffice_core::map::HashMap;
use boxoffice_core::refusal::Refusal;
use boxoffice_core::time::Timestamp;
use parking_lot::Mutex;

use crate::answer::{Answer, Asked, SubmitError};
use crate::chosen_ids::ChosenIds;
use crate::deadlines::Deadlines;
use crate::engine::Settings;
use crate::ids::{InventoryNumber, inventory_of};
use crate::limits::{
    BATCH_COMMANDS_MAX, BATCH_UNITS_MAX, CONTENDED_MS, FORGET_KEYS_EVERY_MS, IDLE_SWEEP_MS,
    SEAL_AHEAD_COMMANDS_MIN, SEAL_AHEAD_SHARED_COMMANDS_MIN, SNAPSHOT_JOURNAL_FACTOR_MAX,
    WAITING_FOR_LOAD_COMMANDS_MAX,
};
use crate::load::{Chain, LoadError, Loaded};
use crate::part::{Draft, Fenced, LastHash, Part, Through};
use crate::published::{Batch, Committed, Publication, Registry, State};
use crate::record::{Head, Record};
use crate::routing::Position;
use crate::snapshot::Written;
use crate::store::StoreError;
use crate::view::{StockView, Touched};
use recalled::Recalled;
use turns::Contended;

/// What a shard is for, and where it tells readers what is committed.
pub(crate) struct Shard {
    registry: Arc<Registry>,
    chosen_ids: Arc<ChosenIds>,
    numbers: Arc<AtomicU32>,
    idle_after_ms: i64,
    snapshot_journal_bytes_min: u64,
    seal_ahead_commands_min: usize,
    generations: u32,
    live: HashMap<InventoryNumber, Live>,
    loading: HashMap<InventoryNumber, Waiting>,
    recalled: HashMap<InventoryNumber, Recalled>,
    contended: Contended,
    /// Inventories that were created here and are not yet in the registry.
    created: HashMap<Arc<str>, InventoryNumber>,
    deadlines: Deadlines,
    open: Open,
    /// Batches on their way.
    in_flight: u32,
    errands: Errands,
    next_sweep: Timestamp,
}

/// A command on its way to its inventory.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) target: Target,
    pub(crate) asked: Asked,
    /// If it came from the log.
    pub(crate) position: Option<Position>,
}

/// Which inventory a command is for.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// One that exists.
    Number(InventoryNumber),
    /// One that may have to be created.
    Name(Arc<str>),
}

/// What a shard wants from the store.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    /// Inventories to be read and handed to [`Shard::loaded`].
    pub(crate) load: Vec<InventoryNumber>,
    /// Inventories to which others have written: what they wrote is to be handed to [`Shard::caught_up`].
    pub(crate) catch_up: Vec<Behind>,
    /// Inventories whose turn is wanted; then what others wrote is to be handed to [`Shard::turn_begun`].
    pub(crate) turns: Vec<Behind>,
    /// Inventories whose turn is over.
    pub(crate) turns_over: Vec<InventoryNumber>,
    /// Inventories whose journal has grown enough for a snapshot; see [`Shard::snapshotted`].
    pub(crate) snapshot: Vec<InventoryNumber>,
}

/// A reading of an inventory that is behind the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Behind {
    pub(crate) number: InventoryNumber,
    generation: u32,
    /// What it knows.
    pub(crate) chain: Chain,
    /// The sequence that the store was known to have when this was asked for.
    wanted: u64,
}

/// The batch that gathers.
#[derive(Default)]
struct Open {
    parts: Vec<Part>,
    commands: usize,
    /// Seats and tickets in the bookings that were answered with.
    units: usize,
}

struct Live {
    inventory: Inventory,
    name: Arc<str>,
    /// Counts how often it was read from the store: a fence that fell on an earlier reading concerns nobody any more.
    generation: u32,
    last_hash: LastHash,
    stock: Option<Arc<StockView>>,
    /// Changes since the last seal.
    changes: Vec<Change>,
    /// Index of its part in the open batch.
    open_part: Option<usize>,
    /// Commands in the last batch.
    last_commands: usize,
    /// Changes in the last batch.
    last_changes: usize,
    last_used: Timestamp,
    /// Batches on their way.
    in_flight: u32,
    journal_bytes: u64,
    snapshot_bytes: u64,
    snapshot_wanted: bool,
    keys_forgotten_at: Timestamp,
    /// What others wrote is being read.
    catching_up: bool,
    /// The last sequence that the store is known to have.
    seen: u64,
}

/// Who waits for an inventory that is being read.
#[derive(Default)]
struct Waiting {
    requests: Vec<Request>,
    readers: Vec<tokio::sync::oneshot::Sender<Result<(), SubmitError>>>,
    /// The last sequence that was heard of meanwhile: it may not be in what is read.
    seen: u64,
}

impl Shard {
    pub(crate) fn new(
        registry: Arc<Registry>,
        chosen_ids: Arc<ChosenIds>,
        numbers: Arc<AtomicU32>,
        settings: &Settings,
        is_shared: bool,
    ) -> Shard {
        Shard {
            registry,
            chosen_ids,
            numbers,
            idle_after_ms: i64::try_from(settings.idle_after.as_millis()).unwrap_or(i64::MAX),
            snapshot_journal_bytes_min: settings.snapshot_journal_bytes_min,
            seal_ahead_commands_min: settings.seal_ahead_commands_min.unwrap_or(if is_shared {
                SEAL_AHEAD_SHARED_COMMANDS_MIN
            } else {
                SEAL_AHEAD_COMMANDS_MIN
            }),
            generations: 0,
            live: HashMap::default(),
            loading: HashMap::default(),
            recalled: HashMap::default(),
            contended: Contended::default(),
            created: HashMap::default(),
            deadlines: if is_shared { Deadlines::shared() } else { Deadlines::default() },
            open: Open::default(),
            in_flight: 0,
            errands: Errands::default(),
            next_sweep: Timestamp(i64::MIN),
        }
    }

    /// Watches over an inventory of the store that is not in memory.
    pub(crate) fn watch(&mut self, head: &Head) {
        self.deadlines.leave(head.inventory, head.next_deadline);
    }

    /// The store has this head, by whomever.
    pub(crate) fn seen(&mut self, head: &Head) {
        let number = head.inventory;
        if self.live.contains_key(&number) || self.loading.contains_key(&number) {
            self.heard(number, head.sequence);
        } else {
            self.watch(head);
        }
    }

    /// Somebody says that an inventory has a sequence. If it is in memory and behind that, it is to be caught up.
    pub(crate) fn heard(&mut self, number: InventoryNumber, latest: u64) {
        if let Some(waiting) = self.loading.get_mut(&number) {
            waiting.seen = waiting.seen.max(latest);
        }
        let Some(live) = self.live.get_mut(&number) else { return };
        live.seen = live.seen.max(latest);
        // What is open or on its way will be fenced, if it has to be.
        self.errands.catch_up.extend(live.behind(number));
    }

    /// Takes what others wrote to an inventory.
    pub(crate) fn caught_up(
        &mut self,
        now: Timestamp,
        behind: &Behind,
        result: Result<Vec<(Record, u64)>, LoadError>,
    ) {
        let Behind { number, generation, .. } = *behind;
        let Some(live) = self.live.get_mut(&number).filter(|live| live.generation == generation) else {
            return;
        };
        live.catching_up = false;
        // A command came in between: it was decided on what is out of date, and will be fenced.
        if !live.is_at_rest() {
            return;
        }
        let mut records = match result {
            Ok(records) => records,
            Err(LoadError::Store(StoreError::Unavailable(_))) => {
                live.catching_up = true;
                self.errands.catch_up.push(*behind);
                return;
            }
            Err(error) => {
                tracing::warn!(%number, %error, "cannot catch up; reading the inventory again");
                self.live.remove(&number);
                self.begin_loading(number);
                return;
            }
        };
        // Some may have come by another way meanwhile.
        let sequence = live.inventory.sequence();
        records.retain(|(record, _)| record.sequence > sequence);
        let Some(entry) = self.registry.of_number(number).filter(|_| !records.is_empty()) else {
            if live.seen > behind.wanted {
                self.errands.catch_up.extend(live.behind(number));
            }
            return;
        };
        for (record, bytes) in records {
            live.inventory.replay(&record.changes);
            live.journal_bytes += bytes;
            *live.last_hash.lock() = record.hash;
            entry.publish(live.publication(record.sequence, Arc::new(record.changes)), Committed::Elsewhere);
        }
        // More may have come while this was read.
        self.errands.catch_up.extend(live.behind(number));
        let is_used_here = now.0.saturating_sub(live.last_used.0) < CONTENDED_MS;
        self.update_deadline(number);
        if is_used_here {
            self.contend(now, number);
        }
    }

    /// When [`Shard::wake`] has something to do.
    pub(crate) fn next_wake(&self) -> Option<Timestamp> {
        self.deadlines.first().into_iter().chain((!self.live.is_empty()).then_some(self.next_sweep)).min()
    }

    /// When something is due, or was and has not been done.
    pub(crate) fn first_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first()
    }

    /// Whether the open batch takes no more commands before it is sealed.
    pub(crate) fn is_full(&self) -> bool {
        self.open.commands >= BATCH_COMMANDS_MAX || self.open.units >= BATCH_UNITS_MAX
    }

    /// Decides a command, or lets it wait for its inventory.
    pub(crate) fn submit(&mut self, now: Timestamp, request: Request) {
        let number = match &request.target {
            Target::Number(number) => *number,
            Target::Name(name) => match self.number_of(name) {
                Some(number) => number,
                None => return self.create(now, request),
            },
        };
        let Some(request) = self.wait_for_recalled(number, request) else { return };
        let Some(request) = self.wait_for_turn(now, number, request) else { return };
        let Some(request) = self.decide(now, number, request) else { return };
        let waiting = self.begin_loading(number);
        if waiting.requests.len() < WAITING_FOR_LOAD_COMMANDS_MAX {
            waiting.requests.push(request);
        } else {
            request.asked.answer(Err(SubmitError::overloaded()));
        }
    }

    /// Prepares for a command that will be submitted soon: see [`Inventory::look_ahead`].
    pub(crate) fn look_ahead(&self, request: &Request) {
        if let Target::Number(number) = request.target
            && let Some(live) = self.live.get(&number)
        {
            live.inventory.look_ahead(request.asked.command());
        }
    }

    /// Has an inventory read for somebody who wants to look at it.
    pub(crate) fn show(
        &mut self,
        number: InventoryNumber,
        reader: tokio::sync::oneshot::Sender<Result<(), SubmitError>>,
    ) {
        if self.live.contains_key(&number) {
            // Whoever asked will look again; if nobody waits any more, nothing is lost.
            let _ = reader.send(Ok(()));
            return;
        }
        let waiting = self.begin_loading(number);
        if waiting.readers.len() < WAITING_FOR_LOAD_COMMANDS_MAX {
            waiting.readers.push(reader);
        } else {
            let _ = reader.send(Err(SubmitError::overloaded()));
        }
    }

    /// The bookings of a customer, newest first, committed or not; `None` of an inventory that is not in memory.
    pub(crate) fn bookings_of(&self, number: InventoryNumber, customer: &str) -> Option<Vec<BookingId>> {
        let live = self.live.get(&number)?;
        Some(live.inventory.bookings_of(customer).map(|booking| booking.id).collect())
    }

    /// Takes an inventory that was read from the store, or why it was not.
    pub(crate) fn loaded(
        &mut self,
        now: Timestamp,
        number: InventoryNumber,
        result: Result<Option<(Loaded, State)>, LoadError>,
    ) {
        let Some(waiting) = self.loading.remove(&number) else { return };
        let failure = match result {
            Ok(Some((loaded, state))) => {
                self.take_in(now, number, loaded, state);
                self.heard(number, waiting.seen);
                None
            }
            Ok(None) => Some(SubmitError::NoSuchInventory),
            Err(LoadError::Store(StoreError::Unavailable(_))) => Some(SubmitError::unavailable()),
            Err(error) => {
                tracing::error!(%number, %error, "an inventory cannot be used");
                Some(SubmitError::Damaged(Arc::from(error.to_string())))
            }
        };
        match failure {
            None => {
                waiting.readers.into_iter().for_each(|reader| drop(reader.send(Ok(()))));
                for request in waiting.requests {
                    self.submit(now, request);
                }
            }
            Some(error) => {
                // What is damaged is not tried again by itself: somebody has to look at it.
                let is_away = matches!(error, SubmitError::Unavailable { .. });
                self.deadlines.set(number, is_away.then_some(Timestamp(now.0.saturating_add(1_000))));
                waiting.readers.into_iter().for_each(|reader| drop(reader.send(Err(error.clone()))));
                waiting.requests.into_iter().for_each(|request| request.asked.answer(Err(error.clone())));
            }
        }
    }

    /// Ends what is due and lets go of what is idle; says whether holds were due.
    pub(crate) fn wake(&mut self, now: Timestamp) -> bool {
        let mut holds_ended = false;
        while let Some(number) = self.deadlines.due(now) {
            if self.live.contains_key(&number) {
                if self.must_wait_for_turn(now, number) {
                    self.deadlines.not_before(number, Timestamp(now.0.saturating_add(1_000)), now);
                } else {
                    holds_ended |= self.end_what_is_due(now, number);
                }
            } else {
                // Its deadline comes back with it.
                self.deadlines.set(number, None);
                self.begin_loading(number);
            }
        }
        if now >= self.next_sweep {
            self.next_sweep = Timestamp(now.0.saturating_add(IDLE_SWEEP_MS));
            self.drop_idle(now);
            self.forget_contentions(now);
            self.want_quiet_snapshots(now);
        }
        holds_ended
    }

    /// The batch that has gathered, if the last one is through or this one is large.
    pub(crate) fn seal(&mut self) -> Option<Vec<Part>> {
        let ready = match self.in_flight {
            0 => !self.open.parts.is_empty(),
            1 => self.open.commands >= self.seal_ahead_commands_min,
            _ => false,
        };
        if !ready {
            return None;
        }
        self.in_flight += 1;
        let Open { mut parts, .. } = std::mem::take(&mut self.open);
        for part in &mut parts {
            let live = self.live.get_mut(&part.number).expect("it has an open part");
            live.in_flight += 1;
            live.last_commands = part.answered.len();
            live.open_part = None;
            self.seal_part(part);
        }
        Some(parts)
    }

    /// Whether a batch is on its way to the store.
    pub(crate) fn is_committing(&self) -> bool {
        self.in_flight > 0
    }

    /// Whether no other batch is on its way than the one that was just sealed.
    pub(crate) fn is_alone(&self) -> bool {
        self.in_flight == 1
    }

    /// The last batch is durable, except for what is in `fenced`.
    pub(crate) fn committed(&mut self, now: Timestamp, through: &[Through], fenced: Vec<Fenced>) {
        self.in_flight -= 1;
        for Through { number, generation, journal_bytes } in through {
            if let Some(live) = self.live.get_mut(number).filter(|live| live.generation == *generation) {
                live.in_flight -= 1;
                live.journal_bytes += journal_bytes;
                self.created.remove(&live.name);
                self.want_snapshot(*number, SNAPSHOT_JOURNAL_FACTOR_MAX);
            } else {
                self.come_back(now, *number, *generation, Vec::new());
            }
            self.end_turn(*number);
        }
        for Fenced { number, generation, requests } in fenced {
            if self.live.get(&number).is_some_and(|live| live.generation == generation) {
                self.recall(now, number, requests);
            } else {
                self.come_back(now, number, generation, requests);
            }
        }
    }

    /// A snapshot was written, or could not be.
    pub(crate) fn snapshotted(&mut self, number: InventoryNumber, written: Option<Written>) {
        let Some(live) = self.live.get_mut(&number) else { return };
        live.snapshot_wanted = false;
        if let Some(Written { snapshot_bytes, journal_bytes }) = written {
            live.snapshot_bytes = snapshot_bytes;
            live.journal_bytes = live.journal_bytes.saturating_sub(journal_bytes);
        }
    }

    pub(crate) fn take_errands(&mut self) -> Errands {
        std::mem::take(&mut self.errands)
    }

    /// Answers everybody who waits: nothing more will be committed.
    pub(crate) fn give_up(&mut self, error: &SubmitError) {
        for part in self.open.parts.drain(..) {
            part.answered.into_iter().for_each(|(request, _)| request.asked.answer(Err(error.clone())));
        }
        self.give_up_turns(error);
        self.give_up_recalled(error);
        for (_, waiting) in self.loading.drain() {
            waiting.readers.into_iter().for_each(|reader| drop(reader.send(Err(error.clone()))));
            waiting.requests.into_iter().for_each(|request| request.asked.answer(Err(error.clone())));
        }
    }

    /// Whether nothing is open, on its way, or waited for.
    pub(crate) fn is_at_rest(&self) -> bool {
        let nothing_waits = self.loading.is_empty() && self.turns_are_at_rest();
        self.in_flight == 0 && self.open.parts.is_empty() && nothing_waits
    }

    fn number_of(&self, name: &str) -> Option<InventoryNumber> {
        let created = self.created.get(name).copied();
        created.or_else(|| self.registry.of_name(name).map(|entry| entry.number))
    }

    fn begin_loading(&mut self, number: InventoryNumber) -> &mut Waiting {
        self.loading.entry(number).or_insert_with(|| {
            self.errands.load.push(number);
            Waiting::default()
        })
    }

    /// Decides a command for an inventory that does not exist. If it is not created, nothing stays of it.
    fn create(&mut self, now: Timestamp, request: Request) {
        let Target::Name(name) = &request.target else { unreachable!("only names are created") };
        let name = Arc::clone(name);
        let mut inventory = Inventory::default();
        let applied = boxoffice_core::apply(&mut inventory, now, request.asked.command());
        let (answer, changes) = Answer::of(applied);
        if inventory.stock().is_none() {
            // Even a remembered refusal: there is nothing to remember it in.
            request.asked.answer(Ok(answer));
            return;
        }
        let number = InventoryNumber(self.numbers.fetch_add(1, Ordering::Relaxed));
        let live = Live {
            inventory,
            name: Arc::clone(&name),
            generation: 0,
            last_hash: LastHash::default(),
            stock: None,
            changes,
            open_part: None,
            last_commands: 0,
            last_changes: 0,
            last_used: now,
            in_flight: 0,
            journal_bytes: 0,
            snapshot_bytes: 0,
            snapshot_wanted: false,
            keys_forgotten_at: now,
            catching_up: false,
            seen: 0,
        };
        let live = self.live.entry(number).insert_entry(live).into_mut();
        self.created.insert(name, number);
        self.open.note(number, live, request, answer);
    }

    fn take_in(&mut self, now: Timestamp, number: InventoryNumber, loaded: Loaded, state: State) {
        let Loaded { head, inventory, snapshot_bytes, journal_bytes, journal_from: _ } = loaded;
        self.generations += 1;
        let generation = self.generations;
        let stock = Arc::clone(&state.stock);
        let entry = self.registry.of_number(number).unwrap_or_else(|| self.registry.add(number, &head.name));
        entry.show(state);
        let live = Live {
            inventory,
            name: head.name,
            generation,
            last_hash: Arc::new(Mutex::new(head.hash)),
            stock: Some(stock),
            changes: Vec::new(),
            open_part: None,
            last_commands: 0,
            last_changes: 0,
            last_used: now,
            in_flight: 0,
            journal_bytes,
            snapshot_bytes,
            snapshot_wanted: false,
            keys_forgotten_at: now,
            catching_up: false,
            seen: 0,
        };
        self.live.insert(number, live);
        self.update_deadline(number);
    }

    /// Decides a command and puts its answer into the open batch; gives it back if its inventory is not in memory.
    fn decide(&mut self, now: Timestamp, number: InventoryNumber, request: Request) -> Option<Request> {
        let Some(live) = self.live.get_mut(&number) else { return Some(request) };
        live.last_used = now;
        // In the log what was passed over counts as decided: nothing overtakes a command that has to be tried again.
        if request.position.is_some() && request.asked.follows_one_not_taken() {
            request.asked.answer(Err(SubmitError::unavailable()));
            return None;
        }
        let command = request.asked.command();
        let applied = match &command.action {
            Action::Book(book) if inventory_of(book.id) != Some(number) => {
                // An id that names another inventory of the tenant is that one's to give.
                let named = inventory_of(book.id).and_then(|named| self.registry.of_number(named));
                let named =
                    named.is_some_and(|named| tenant_of_name(&named.name) == tenant_of_name(&live.name));
                let claimed =
                    if named { Ok(false) } else { self.chosen_ids.claim(book.id, number, &live.name) };
                match claimed {
                    Ok(true) => {
                        let applied = boxoffice_core::apply(&mut live.inventory, now, command);
                        let booked =
                            |change: &Change| matches!(change, Change::Booked(made) if made.id == book.id);
                        if !applied.changes.iter().any(booked) {
                            self.chosen_ids.let_go(book.id, &live.name);
                        }
                        applied
                    }
                    Ok(false) => {
                        // Remembered with its key: the claim may be gone when the command is sent again.
                        let taken = Refusal::BookingIdTaken;
                        boxoffice_core::refuse(&mut live.inventory, now, command, taken)
                    }
                    Err(error) => {
                        tracing::error!(%number, %error, "a booking id cannot be looked up");
                        request.asked.answer(Err(error.into()));
                        return None;
                    }
                }
            }
            _ => boxoffice_core::apply(&mut live.inventory, now, command),
        };
        let (answer, mut changes) = Answer::of(applied);
        self.open.note(number, live, request, answer);
        live.changes.append(&mut changes);
        None
    }

    /// Tells the inventories anew where their open parts are.
    fn number_open_parts(&mut self) {
        for (at, part) in self.open.parts.iter().enumerate() {
            self.live.get_mut(&part.number).expect("it has an open part").open_part = Some(at);
        }
    }

    /// Says whether holds were due.
    fn end_what_is_due(&mut self, now: Timestamp, number: InventoryNumber) -> bool {
        let live = self.live.get_mut(&number).expect("it is in memory");
        let mut changes = Vec::new();
        let mut act = |inventory: &mut Inventory, action: Action| {
            let command = Command { by: Actor::default(), idempotency: None, action };
            changes.extend(boxoffice_core::apply(inventory, now, &command).changes);
        };
        let due = live.inventory.next_deadlines();
        let is_due = |at: Option<Timestamp>| at.is_some_and(|at| at <= now);
        if is_due(due.hold) {
            act(&mut live.inventory, Action::Expire);
        }
        if is_due(due.roll) {
            act(&mut live.inventory, Action::RollSlots);
        }
        if is_due(live.forget_keys_at()) {
            act(&mut live.inventory, Action::ForgetKeys);
            live.keys_forgotten_at = now;
        }
        live.changes.append(&mut changes);
        if !live.changes.is_empty() {
            self.open.part(number, live);
        }
        self.update_deadline(number);
        // Whatever could not be done will not be possible a moment later either.
        self.deadlines.not_before(number, Timestamp(now.0.saturating_add(1_000)), now);
        is_due(due.hold)
    }

    fn update_deadline(&mut self, number: InventoryNumber) {
        let live = &self.live[&number];
        let due = live.inventory.next_deadlines();
        let next = [due.hold, due.roll, live.forget_keys_at()].into_iter().flatten().min();
        self.deadlines.set(number, next);
    }

    fn seal_part(&mut self, part: &mut Part) {
        let number = part.number;
        let live = self.live.get_mut(&number).expect("inventories with an open part stay in memory");
        let ended = live.inventory.end_batch();
        // What was refused must not be decided again when the log brings it again: its position is kept.
        if ended.is_none() && part.positions().is_none() {
            return;
        }
        let sequence = ended.unwrap_or_else(|| live.inventory.sequence());
        let changes = std::mem::take(&mut live.changes);
        let changes = Arc::new(changes);
        if ended.is_some() {
            live.last_changes = changes.len();
            part.publication = Some(live.publication(sequence, Arc::clone(&changes)));
        }
        let due = live.inventory.next_deadlines();
        part.draft = Some(Draft {
            name: Arc::clone(&live.name),
            sequence,
            next_deadline: [due.hold, due.roll].into_iter().flatten().min(),
            changes,
        });
        self.update_deadline(number);
    }

    /// Asks for a snapshot if so many times more journal has gathered than an inventory of its size needs.
    fn want_snapshot(&mut self, number: InventoryNumber, factor: u64) {
        let live = self.live.get_mut(&number).expect("it is in memory");
        let enough = self.snapshot_journal_bytes_min.max(live.snapshot_bytes).saturating_mul(factor);
        if live.journal_bytes > enough && !live.snapshot_wanted {
            live.snapshot_wanted = true;
            self.errands.snapshot.push(number);
        }
    }

    /// Snapshots of inventories that nobody is using right now: making one takes processor time from those that sell.
    fn want_quiet_snapshots(&mut self, now: Timestamp) {
        let quiet_since = Timestamp(now.0.saturating_sub(IDLE_SWEEP_MS));
        let mut quiet: Vec<InventoryNumber> = self
            .live
            .iter()
            .filter(|(_, live)| live.last_used <= quiet_since)
            .map(|(&number, _)| number)
            .collect();
        // The order of a hash map must not decide anything.
        quiet.sort_unstable();
        quiet.into_iter().for_each(|number| self.want_snapshot(number, 1));
    }

    fn drop_idle(&mut self, now: Timestamp) {
        let open: BTreeSet<InventoryNumber> = self.open.parts.iter().map(|part| part.number).collect();
        let registry = &self.registry;
        let idle_since = Timestamp(now.0.saturating_sub(self.idle_after_ms));
        let (deadlines, contended) = (&mut self.deadlines, &self.contended);
        self.live.retain(|&number, live| {
            let busy = live.in_flight > 0 || live.snapshot_wanted || open.contains(&number);
            if busy || Shard::is_in_turn(contended, number) || live.last_used > idle_since {
                return true;
            }
            let Some(entry) = registry.of_number(number) else { return true };
            let read = entry.published().is_some_and(|published| published.last_read() > idle_since);
            if read || !entry.hide() {
                return true;
            }
            let due = live.inventory.next_deadlines();
            deadlines.leave(number, [due.hold, due.roll].into_iter().flatten().min());
            false
        });
    }
}

impl Open {
    fn note(&mut self, number: InventoryNumber, live: &mut Live, request: Request, answer: Answer) {
        self.commands += 1;
        self.units += answer.units();
        self.part(number, live).answered.push((request, answer));
    }

    fn part(&mut self, number: InventoryNumber, live: &mut Live) -> &mut Part {
        let at = *live.open_part.get_or_insert_with(|| {
            // Batches are about as large as the one before.
            live.changes.reserve(live.last_changes);
            let answered = Vec::with_capacity(live.last_commands);
            let generation = live.generation;
            self.parts.push(Part {
                number,
                generation,
                last_hash: Arc::clone(&live.last_hash),
                draft: None,
                write: None,
                publication: None,
                answered,
            });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }
}

impl Live {
    /// Whether nothing of it is open or on its way.
    fn is_at_rest(&self) -> bool {
        self.in_flight == 0 && self.open_part.is_none()
    }

    /// What has to be read if the store has more than this, and nobody reads it yet.
    fn behind(&mut self, number: InventoryNumber) -> Option<Behind> {
        let sequence = self.inventory.sequence();
        if !self.is_at_rest() || self.catching_up || sequence >= self.seen {
            return None;
        }
        self.catching_up = true;
        let chain = Chain { sequence, hash: *self.last_hash.lock() };
        Some(Behind { number, generation: self.generation, chain, wanted: self.seen })
    }

    /// What readers are shown of a batch that was just applied.
    fn publication(&mut self, sequence: u64, changes: Arc<Vec<Change>>) -> Publication {
        let touched = Touched::by(&changes, &self.inventory);
        let stock = Arc::new(match &self.stock {
            Some(stock) => stock.refreshed(&self.inventory, &touched),
            None => StockView::new(&self.inventory).expect("its creation is in this batch"),
        });
        self.stock = Some(Arc::clone(&stock));
        let batch = Batch { sequence, changes, stock: Some(Arc::clone(&stock)) };
        Publication {
            stock,
            bookings: touched.bookings,
            holds_expired: touched.holds_expired,
            batch: Arc::new(batch),
        }
    }

    /// Answers are forgotten in bulk, not one by one as each is due.
    fn forget_keys_at(&self) -> Option<Timestamp> {
        let due = self.inventory.next_deadlines().keys?;
        Some(due.max(Timestamp(self.keys_forgotten_at.0.saturating_add(FORGET_KEYS_EVERY_MS))))
    }
}
