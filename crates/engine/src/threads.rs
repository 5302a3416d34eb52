//! The engine's threads: thin loops around [`Shard`] and [`Committer`].

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use boxoffice_core::ids::{BookingId, tenant_of_name};
use parking_lot::{Condvar, Mutex};
use tokio::sync::{oneshot, watch};

use crate::answer::SubmitError;
use crate::availability::Availability;
use crate::clock::Clock;
use crate::commit::{Committer, Sealed, Settled};
use crate::engine::shard_of;
use crate::ids::{InventoryNumber, inventory_of};
use crate::inbox::Inbox;
use crate::limits::{
    BUSY_COMMANDS_MIN, CLOCKS_COMPARED_EVERY, COMMITTED_HERE_COMMANDS_MAX, DECIDED_COMMANDS_MAX,
    FOLLOW_ALL_EVERY, FOLLOW_AT_ONCE_EVERY, FOLLOW_EVERY, GATHERED_COMMANDS, GATHERED_FOR,
    LOOK_AHEAD_COMMANDS,
};
use crate::load::{self, LoadError, Loaded};
use crate::measure;
use crate::part::Part;
use crate::published::State;
use crate::published::route_of;
use crate::record::{Hash, Head, Record};
use crate::scrub;
use crate::shard::{Behind, Request, Shard};
use crate::snapshot::{self, Retention, SnapshotError, Written};
use crate::store::{CommitError, Store, StoreError};

/// Threads that read inventories from the store: a large one must not keep the others waiting.
const LOADERS: usize = 2;
/// Threads that ask a shared store what callers want to know: one question must not keep all the others waiting.
const FINDERS: usize = 2;

/// What callers want from a shard.
pub(crate) enum Offer {
    /// Decide this.
    Command(Request),
    /// Read an inventory for somebody who wants to look at it.
    Show(InventoryNumber, oneshot::Sender<Result<(), SubmitError>>),
    /// Say which bookings a customer has, newest first.
    BookingsOf(InventoryNumber, Arc<str>, oneshot::Sender<Vec<BookingId>>),
}

/// What the other threads tell a shard.
pub(crate) enum News {
    /// An inventory was read.
    Loaded(InventoryNumber, Result<Option<Box<(Loaded, State)>>, LoadError>),
    /// The store has this head.
    Seen(Head),
    /// Somebody says that an inventory has this sequence.
    Heard(InventoryNumber, u64),
    /// What others wrote to an inventory was read.
    CaughtUp(Behind, Result<Vec<(Record, u64)>, LoadError>),
    /// A turn has come, or did not in time, and what others wrote before it was read.
    TurnBegun(Behind, bool, Result<Vec<(Record, u64)>, LoadError>),
    /// A batch is through.
    Settled(Settled),
    /// A snapshot was written, or could not be.
    Snapshotted(InventoryNumber, Option<Written>),
    /// Finish what is here, then end.
    Close,
    /// The store failed: nothing more will be committed.
    GiveUp,
}

/// What is to be read from the store, beside the shards.
pub(crate) enum Errand {
    /// For a shard, by its index.
    Load(usize, InventoryNumber),
    /// For a subscriber that fell behind.
    Records(InventoryNumber, u64, oneshot::Sender<Result<Vec<Vec<u8>>, StoreError>>),
}

/// What a caller asks a store that other processes write to as well. That may take long to answer, and callers must not block.
pub(crate) struct Question {
    pub(crate) sought: Sought,
    pub(crate) reply: oneshot::Sender<Result<Option<Head>, StoreError>>,
}

/// Whose head is asked for.
pub(crate) enum Sought {
    /// Of the inventory of a name, which another process may have just created.
    Named(Arc<str>),
    /// Of the inventory that a tenant's booking is in, if there is such a booking.
    Booking { tenant: Box<str>, id: BookingId },
}

/// What others wrote is to be read for a shard, by its index.
pub(crate) struct CatchUp {
    shard: usize,
    behind: Behind,
    /// Because a turn has come, or (`false`) did not in time; else because somebody saw that it is behind.
    turn: Option<bool>,
}

/// Why an engine stopped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// Somebody asked for it. Everything that was taken was answered.
    #[error("asked to stop")]
    Asked,
    /// The disk is full. What is in memory can still be read.
    #[error("the disk is full: {0}; make room and start again")]
    DiskFull(String),
    /// Writing failed. What is durable will be known after a restart.
    #[error("the store failed: {0}")]
    StoreFailed(String),
    /// A bug: one of the engine's threads panicked.
    #[error("thread {0} panicked")]
    Panicked(&'static str),
}

/// What all threads share.
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) committer: Committer,
    pub(crate) availability: Arc<Availability>,
    pub(crate) shards: Vec<Inbox<Offer, News>>,
    /// For each shard, when something is due in it, or was and has not been done.
    pub(crate) due: Vec<AtomicI64>,
    pub(crate) sealed: Inbox<Infallible, Sealed>,
    pub(crate) errands: Inbox<Errand, Errand>,
    /// Beside the errands: small questions must not wait for large inventories.
    pub(crate) questions: Inbox<Question, Question>,
    /// Beside the errands: whoever waits in its turn must not wait for a large inventory of somebody else.
    pub(crate) catch_ups: Arc<Inbox<Infallible, CatchUp>>,
    pub(crate) snapshots: Inbox<(usize, InventoryNumber), (usize, InventoryNumber)>,
    /// Closed when the scrubber is to end.
    pub(crate) scrubber: Inbox<Infallible, ()>,
    /// Told when the store has something to do beside commits.
    pub(crate) chores: Inbox<(), ()>,
    pub(crate) retention: Retention,
    pub(crate) stopped: watch::Sender<Option<StopReason>>,
    /// For the follower.
    pub(crate) nudge: Nudge,
}

/// Wakes the follower before its time.
#[derive(Default)]
pub(crate) struct Nudge {
    wanted: Mutex<bool>,
    wake: Condvar,
}

impl Nudge {
    /// Somebody waits for what others wrote.
    pub(crate) fn now(&self) {
        *self.wanted.lock() = true;
        self.wake.notify_one();
    }

    /// Waits until it is time, or somebody cannot wait.
    fn sleep(&self) {
        let mut wanted = self.wanted.lock();
        if !*wanted {
            self.wake.wait_for(&mut wanted, FOLLOW_EVERY);
        }
        if std::mem::take(&mut *wanted) {
            drop(wanted);
            std::thread::sleep(FOLLOW_AT_ONCE_EVERY);
        }
    }
}

impl Shared {
    /// Stops everything without another commit. The first reason counts.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.shards.iter().for_each(Inbox::close);
        let first = self.stopped.send_if_modified(|stopped| {
            let first = stopped.is_none();
            if first {
                *stopped = Some(reason);
            }
            first
        });
        if first && let Some(reason) = &*self.stopped.borrow() {
            tracing::error!(%reason, "the engine stops");
        }
        // A shard that has ended has given up already.
        self.shards.iter().for_each(|inbox| drop(inbox.tell(News::GiveUp)));
        self.sealed.close();
        self.errands.close();
        self.questions.close();
        self.catch_ups.close();
        self.snapshots.close();
        self.chores.close();
        self.scrubber.close();
    }

    pub(crate) fn stop_after(&self, error: CommitError) {
        self.stop(match error {
            CommitError::Full(message) => StopReason::DiskFull(message),
            CommitError::Failed(message) | CommitError::Unavailable(message) => {
                StopReason::StoreFailed(message)
            }
        });
    }
}

/// Stops the engine if its thread panics, and leaves nobody waiting for a thread that has ended.
struct Guard<'a> {
    shared: &'a Shared,
    name: &'static str,
    end: fn(&Shared, usize),
    index: usize,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.stop(StopReason::Panicked(self.name));
        }
        (self.end)(self.shared, self.index);
    }
}

/// What was never decided was not done; what was fenced is unknown to callers whose answer is dropped here.
fn end_shard(shared: &Shared, index: usize) {
    let (offers, _news) = shared.shards[index].end();
    offers.into_iter().for_each(refuse);
}

fn end_committer(shared: &Shared, _index: usize) {
    let (_none, batches) = shared.sealed.end();
    batches.into_iter().flat_map(|batch| batch.parts).for_each(Part::unknown);
}

/// The others have nothing that nobody else would answer.
fn end_helper(_shared: &Shared, _index: usize) {}

fn refuse(offer: Offer) {
    match offer {
        Offer::Command(request) => request.asked.answer(Err(SubmitError::Stopped)),
        Offer::Show(_, reader) => drop(reader.send(Err(SubmitError::Stopped))),
        // Told by the end of the channel: see `Engine::bookings_of`.
        Offer::BookingsOf(..) => {}
    }
}

fn look_ahead(shard: &Shard, offer: &Offer) {
    match offer {
        Offer::Command(request) => shard.look_ahead(request),
        Offer::Show(..) | Offer::BookingsOf(..) => {}
    }
}

pub(crate) fn run_shard(shared: &Shared, index: usize, mut shard: Shard) {
    let _guard = Guard { shared, name: "shard", end: end_shard, index };
    let inbox = &shared.shards[index];
    let (mut news, mut offers) = (Vec::new(), VecDeque::new());
    let mut closing = false;
    let committed_here_max = if shared.store.is_shared() { 1 } else { COMMITTED_HERE_COMMANDS_MAX };
    let mut last = LastBatch { commands: 0, ended: Instant::now() };
    loop {
        // By a wrong clock nothing is due.
        let clocks_apart = shared.availability.clocks_apart();
        let ready = !offers.is_empty() && !shard.is_full();
        let until = if ready {
            Some(Instant::now())
        } else if clocks_apart {
            Some(Instant::now() + CLOCKS_COMPARED_EVERY)
        } else {
            shard.next_wake().map(|at| shared.clock.instant_of(at))
        };
        let due = shard.first_deadline().map_or(i64::MAX, |at| at.0);
        shared.due[index].store(due, Ordering::Relaxed);
        // Once it is closed, what was offered before is all there will be.
        let offers_wanted = offers.is_empty() && (!closing || inbox.len() > 0);
        // While a batch is on its way its end wakes the shard: to be woken for every command would cost more than deciding it.
        let (gathered, until) = match last.more_expected() {
            _ if shard.is_committing() => (GATHERED_COMMANDS, until),
            Some((commands, at)) if !closing => (commands, Some(until.map_or(at, |until| until.min(at)))),
            Some(_) | None => (1, until),
        };
        let offers_wanted = offers_wanted.then_some(gathered);
        inbox.take(&mut news, &mut offers, offers_wanted, until);
        let now = shared.clock.now();
        for input in news.drain(..) {
            match input {
                News::Loaded(number, result) => {
                    shard.loaded(now, number, result.map(|loaded| loaded.map(|loaded| *loaded)));
                }
                News::Seen(head) => shard.seen(&head),
                News::Heard(number, sequence) => shard.heard(number, sequence),
                News::CaughtUp(behind, records) => shard.caught_up(now, &behind, records),
                News::TurnBegun(behind, is_ours, records) => {
                    shard.turn_begun(now, &behind, is_ours, records);
                }
                News::Settled(settled) => {
                    shard.committed(now, &settled.through, settled.fenced);
                    last.ended = Instant::now();
                }
                News::Snapshotted(number, written) => shard.snapshotted(number, written),
                News::Close => closing = true,
                News::GiveUp => {
                    shard.give_up(&SubmitError::Stopped);
                    offers.into_iter().for_each(refuse);
                    return;
                }
            }
        }
        let mut looked_at = 0;
        let mut decided = 0;
        // Not all that waits at once: when a batch is through, the next one is not to be kept from the disk.
        while decided < DECIDED_COMMANDS_MAX
            && !shard.is_full()
            && let Some(offer) = offers.pop_front()
        {
            if looked_at == 0 {
                let soon = std::iter::once(&offer).chain(&offers).take(LOOK_AHEAD_COMMANDS);
                looked_at = soon.inspect(|offer| look_ahead(&shard, offer)).count();
            }
            looked_at -= 1;
            decided += 1;
            match offer {
                Offer::Command(request) => shard.submit(now, request),
                Offer::Show(number, reader) => shard.show(number, reader),
                // Whoever asked may be gone, and looks for itself if the list is not here.
                Offer::BookingsOf(number, customer, reply) => {
                    if let Some(ids) = shard.bookings_of(number, &customer) {
                        drop(reply.send(ids));
                    }
                }
            }
        }
        if !clocks_apart {
            // Two readings of the clock a sweep, and none where nothing is due.
            let began = shard.first_deadline().is_some_and(|due| due <= now).then(Instant::now);
            if shard.wake(now)
                && let Some(began) = began
            {
                measure::expiry_sweep(began.elapsed());
            }
        }
        send_errands(shared, index, &mut shard);
        if let Some(parts) = shard.seal() {
            last.commands = parts.iter().map(Part::commands).sum();
            let here = shard.is_alone() && last.commands <= committed_here_max && offers.is_empty();
            let sealed = Sealed { shard: index, parts };
            if here && !shared.committer.is_busy() {
                let mut settled = None;
                commit(shared, vec![sealed], |ours| settled = Some(ours));
                if let Some(Settled { through, fenced, .. }) = settled {
                    shard.committed(now, &through, fenced);
                    send_errands(shared, index, &mut shard);
                }
                last.ended = Instant::now();
            } else if let Err(refused) = shared.sealed.tell(sealed) {
                refused.parts.into_iter().for_each(Part::unknown);
            }
        }
        if closing && offers.is_empty() && inbox.len() == 0 && shard.is_at_rest() {
            return;
        }
    }
}

/// What a shard last handed over, and when it was through.
struct LastBatch {
    commands: usize,
    ended: Instant,
}

impl LastBatch {
    /// How many more commands are to be waited for, and until when.
    fn more_expected(&self) -> Option<(usize, Instant)> {
        let until = self.ended + GATHERED_FOR;
        (self.commands >= BUSY_COMMANDS_MIN && Instant::now() < until).then_some((self.commands / 2, until))
    }
}

fn send_errands(shared: &Shared, index: usize, shard: &mut Shard) {
    let errands = shard.take_errands();
    // Loader and snapshotter end after the shards, or with a panic that stops the engine.
    errands.load.into_iter().for_each(|number| drop(shared.errands.tell(Errand::Load(index, number))));
    for behind in errands.catch_up {
        drop(shared.catch_ups.tell(CatchUp { shard: index, behind, turn: None }));
    }
    errands.turns_over.into_iter().for_each(|number| shared.store.end_turn(number));
    for behind in errands.turns {
        let catch_ups = Arc::clone(&shared.catch_ups);
        let then = move |is_ours| {
            drop(catch_ups.tell(CatchUp { shard: index, behind, turn: Some(is_ours) }));
        };
        shared.store.take_turn(behind.number, Box::new(then));
    }
    for number in errands.snapshot {
        let _ = shared.snapshots.tell((index, number));
    }
}

pub(crate) fn run_committer(shared: &Shared) {
    let _guard = Guard { shared, name: "committer", end: end_committer, index: 0 };
    let mut batches = Vec::new();
    loop {
        shared.sealed.take(&mut batches, &mut VecDeque::new(), Some(1), None);
        if batches.is_empty() {
            return;
        }
        // A shard that has ended has nobody left to tell.
        let tell = |settled: Settled| drop(shared.shards[settled.shard].tell(News::Settled(settled)));
        if !commit(shared, std::mem::take(&mut batches), tell) {
            return;
        }
    }
}

/// Commits, and stops the engine if that fails; says whether it did not.
fn commit(shared: &Shared, batches: Vec<Sealed>, tell: impl FnMut(Settled)) -> bool {
    // A snapshot may have failed meanwhile: after an error the store is not written again.
    if shared.stopped.borrow().is_some() {
        batches.into_iter().flat_map(|batch| batch.parts).for_each(Part::unknown);
        return false;
    }
    let result = shared.committer.commit(batches, tell);
    if shared.store.has_chores() {
        // Whoever does them ends with the engine.
        let _ = shared.chores.tell(());
    }
    result.map_err(|error| shared.stop_after(error)).is_ok()
}

pub(crate) fn run_loader(shared: &Shared) {
    let _guard = Guard { shared, name: "loader", end: end_helper, index: 0 };
    while let Some(errand) = shared.errands.take_one() {
        match errand {
            Errand::Load(shard, number) => {
                let result = load::load(&*shared.store, number).map(|loaded| {
                    loaded.and_then(|loaded| {
                        let state = State::of(&loaded.inventory)?;
                        Some(Box::new((loaded, state)))
                    })
                });
                // A shard that has ended has answered those who waited.
                drop(shared.shards[shard].tell(News::Loaded(number, result)));
            }
            Errand::Records(number, after, reply) => {
                let records = shared.store.records(number, after, crate::limits::JOURNAL_READ_BYTES);
                // The subscriber may be gone.
                drop(reply.send(records));
            }
        }
    }
}

/// Asks the store what callers want to know.
pub(crate) fn run_finder(shared: &Shared) {
    let _guard = Guard { shared, name: "finder", end: end_helper, index: 0 };
    while let Some(Question { sought, reply }) = shared.questions.take_one() {
        // Whoever asked may be gone, as all are when the store is away: nobody waits for it then.
        if reply.is_closed() {
            continue;
        }
        let found = find(&*shared.store, &sought);
        if let Ok(Some(head)) = &found {
            shared.committer.learn(head);
            let entry = shared.committer.registry.of_number(head.inventory);
            let shown = entry.and_then(|entry| entry.published()).map(|published| published.sequence());
            if shown.is_none_or(|shown| shown < head.sequence) {
                let shard = shard_of(route_of(&head.name), shared.shards.len());
                // One that has ended need not know.
                drop(shared.shards[shard].tell(News::Seen(head.clone())));
            }
        }
        // They may be gone by now.
        drop(reply.send(found));
    }
}

fn find(store: &dyn Store, sought: &Sought) -> Result<Option<Head>, StoreError> {
    match sought {
        Sought::Named(name) => store.head_named(name),
        Sought::Booking { tenant, id } => match store.find_booking(tenant, *id)?.or(inventory_of(*id)) {
            Some(number) => {
                let head = store.heads_of(&[number])?.pop();
                Ok(head.filter(|head| tenant_of_name(&head.name) == &**tenant))
            }
            None => Ok(None),
        },
    }
}

/// Reads what others wrote to inventories that are in memory.
pub(crate) fn run_catcher(shared: &Shared) {
    let _guard = Guard { shared, name: "catcher", end: end_helper, index: 0 };
    let mut waiting = Vec::new();
    loop {
        shared.catch_ups.take(&mut waiting, &mut VecDeque::new(), Some(1), None);
        if waiting.is_empty() {
            return;
        }
        for CatchUp { shard, behind, turn } in waiting.drain(..) {
            let records = load::catch_up(&*shared.store, behind.number, behind.chain);
            let news = match turn {
                None => News::CaughtUp(behind, records),
                Some(is_ours) => News::TurnBegun(behind, is_ours, records),
            };
            // A shard that has ended has answered those who waited.
            drop(shared.shards[shard].tell(news));
        }
    }
}

/// Tells the shards what other processes wrote to the store, and everybody whether it answers.
pub(crate) fn run_follower(shared: &Shared) {
    let _guard = Guard { shared, name: "follower", end: end_helper, index: 0 };
    let mut answered = Instant::now();
    let mut since = Since { last: 0, all_at: answered };
    // They agreed when the engine was started.
    let (mut clocks_compared, mut clocks_apart) = (answered, false);
    let mut told: HashMap<InventoryNumber, Hash> = HashMap::new();
    // Closed as soon as anybody wants the engine to stop.
    while !shared.snapshots.is_closed() {
        match shared.store.changed_heads(since.ask(Instant::now())) {
            Ok((heads, next)) => {
                answered = Instant::now();
                since.last = next;
                for head in heads {
                    shared.committer.learn(&head);
                    if told.insert(head.inventory, head.hash) != Some(head.hash) {
                        let shard = shard_of(route_of(&head.name), shared.shards.len());
                        // One that has ended need not know.
                        drop(shared.shards[shard].tell(News::Seen(head)));
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "what others wrote is not known"),
        }
        // A store that commits answers, even if it has no time for questions.
        let answered =
            shared.committer.last_committed().map_or(answered, |committed| committed.max(answered));
        if clocks_compared.elapsed() >= CLOCKS_COMPARED_EVERY {
            clocks_compared = Instant::now();
            // Whether it answers is known from what was asked before.
            if let Ok(found) = shared.clock.compare(|| shared.store.time()) {
                match (clocks_apart, found) {
                    (false, Some(apart)) => {
                        tracing::error!(%apart, "commands are refused, and no hold is ended here, until the clocks agree");
                    }
                    (true, None) => tracing::warn!("the clocks agree again"),
                    (true, Some(_)) | (false, None) => {}
                }
                clocks_apart = found.is_some();
            }
        }
        shared.availability.note(answered, shared.committer.committing_for(), clocks_apart);
        shared.nudge.sleep();
    }
}

/// Since when the follower asks for what others changed. A change that took very long to become visible may be older than what was
/// asked for since: so everything is asked for now and then.
struct Since {
    /// What the store said the last time.
    last: i64,
    /// When everything is asked for.
    all_at: Instant,
}

impl Since {
    fn ask(&mut self, now: Instant) -> i64 {
        if now < self.all_at {
            return self.last;
        }
        self.all_at = now + FOLLOW_ALL_EVERY;
        0
    }
}

pub(crate) fn run_snapshotter(shared: &Shared) {
    let _guard = Guard { shared, name: "snapshotter", end: end_helper, index: 0 };
    while let Some((shard, number)) = shared.snapshots.take_one() {
        // Whoever stops does not want to wait for snapshots; they will be wanted again.
        if shared.snapshots.is_closed() {
            return;
        }
        let written = match snapshot::write(&*shared.store, number, shared.retention) {
            Ok(written) => written,
            Err(SnapshotError::Commit(CommitError::Unavailable(problem))) => {
                tracing::warn!(%number, problem, "no snapshot can be written now");
                None
            }
            Err(SnapshotError::Commit(error)) => return shared.stop_after(error),
            Err(SnapshotError::Load(error)) => {
                tracing::error!(%number, %error, "no snapshot can be made");
                None
            }
        };
        drop(shared.shards[shard].tell(News::Snapshotted(number, written)));
    }
}

/// Does what the store has to do beside commits.
pub(crate) fn run_housekeeper(shared: &Shared) {
    let _guard = Guard { shared, name: "housekeeper", end: end_helper, index: 0 };
    while shared.chores.take_one().is_some() {
        if let Err(error) = shared.store.do_chores() {
            return shared.stop_after(error);
        }
    }
}

/// The engine's threads, to be waited for.
#[derive(Default)]
pub(crate) struct Threads {
    pub(crate) shards: Mutex<Vec<std::thread::JoinHandle<()>>>,
    pub(crate) others: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl Threads {
    /// Starts all of them.
    pub(crate) fn spawn(
        &self,
        shared: &Arc<Shared>,
        shards: Vec<Shard>,
        scrub_every: Option<Duration>,
    ) -> std::io::Result<()> {
        let spawn = |name: &str, run: Box<dyn FnOnce(&Shared) + Send>| {
            let shared = Arc::clone(shared);
            std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&shared))
        };
        let mut others = self.others.lock();
        others.push(spawn("committer", Box::new(run_committer))?);
        for _ in 0..LOADERS {
            others.push(spawn("loader", Box::new(run_loader))?);
        }
        others.push(spawn("catcher", Box::new(run_catcher))?);
        others.push(spawn("snapshotter", Box::new(run_snapshotter))?);
        others.push(spawn("housekeeper", Box::new(run_housekeeper))?);
        if let Some(every) = scrub_every {
            let run = move |shared: &Shared| {
                let _guard = Guard { shared, name: "scrubber", end: end_helper, index: 0 };
                scrub::run_scrubber(shared, every);
            };
            others.push(spawn("scrubber", Box::new(run))?);
        }
        if shared.store.is_shared() {
            others.push(spawn("follower", Box::new(run_follower))?);
            for _ in 0..FINDERS {
                others.push(spawn("finder", Box::new(run_finder))?);
            }
        }
        let mut threads = self.shards.lock();
        for (index, shard) in shards.into_iter().enumerate() {
            let run = move |shared: &Shared| run_shard(shared, index, shard);
            threads.push(spawn(&format!("shard-{index}"), Box::new(run))?);
        }
        Ok(())
    }

    /// Lets everything that was taken be answered, then ends all threads.
    pub(crate) fn finish(&self, shared: &Shared) {
        for inbox in &shared.shards {
            inbox.close();
            // One that has ended need not be told.
            drop(inbox.tell(News::Close));
        }
        shared.snapshots.close();
        shared.scrubber.close();
        join(&self.shards);
        shared.sealed.close();
        shared.errands.close();
        shared.questions.close();
        shared.catch_ups.close();
        shared.snapshots.close();
        shared.chores.close();
        join(&self.others);
    }
}

fn join(threads: &Mutex<Vec<std::thread::JoinHandle<()>>>) {
    for thread in std::mem::take(&mut *threads.lock()) {
        // A panic has stopped the engine and was reported there.
        drop(thread.join());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_asked_for_once_a_minute() {
        let start = Instant::now();
        let mut since = Since { last: 7, all_at: start };
        let asked: Vec<i64> = (0..=1_200).map(|tenths| since.ask(start + FOLLOW_EVERY * tenths)).collect();
        let all: Vec<usize> = (0..asked.len()).filter(|&tenths| asked[tenths] == 0).collect();
        assert_eq!(all, [0, 600, 1_200]);
        assert!(asked.iter().all(|&asked| asked == 0 || asked == 7));
    }
}
