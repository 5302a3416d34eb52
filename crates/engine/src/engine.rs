//! The handle: submit commands, read views, follow the journal.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use boxoffice_core::booking::Booking;
use boxoffice_core::command::Command;
use boxoffice_core::ids::{BookingId, RedeemCode, tenant_of_name};
use boxoffice_core::time::Timestamp;
use tokio::sync::{Semaphore, oneshot, watch};

use crate::answer::{Answer, Asked, Group, SubmitError};
use crate::archive::{self, ArchiveError, Contents};
use crate::clock::{Clock, ClocksApart};
use crate::history;
use crate::ids::{self, InventoryNumber, inventory_of};
use crate::inbox::{Inbox, Rejected};
use crate::limits::{
    CATCH_UP_MAX, NAME_BYTES_MAX, QUEUE_COMMANDS_MAX, SCRUB_EVERY, SNAPSHOT_JOURNAL_BYTES_MIN,
};
use crate::load::LoadError;
use crate::moved::Moved;
use crate::published::{Entry, Published, Registry, State, route_of};
use crate::record::Head;
use crate::routing::{Position, Routed, Router};
use crate::shard::{Request, Target};
use crate::snapshot::Retention;
use crate::stepped::{Assembled, assemble};
use crate::store::{CommitError, EmbeddedStore, OpenError, Store, StoreError};
use crate::subscription::Subscription;
use crate::threads::{News, Nudge, Offer, Question, Shared, Sought, StopReason, Threads};
use crate::view::StockView;

/// A running engine. Clones are handles to the same one; it stops in an orderly way when the last is dropped, or when
/// [`Engine::close`] is called.
#[derive(Clone)]
pub struct Engine {
    running: Arc<Running>,
}

struct Running {
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    threads: Threads,
    router: OnceLock<Arc<dyn Router>>,
}

/// How an engine runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Threads that apply commands.
    pub shards: usize,
    /// An inventory that nobody used for this long leaves memory.
    pub idle_after: Duration,
    /// How much of the journal is kept.
    pub retention: Retention,
    /// The journal of an inventory grows at least this much between snapshots, however small the inventory is.
    pub snapshot_journal_bytes_min: u64,
    /// How long the scrubber rests between two passes; `None` for no scrubber.
    pub scrub_every: Option<Duration>,
    /// In place of [`crate::limits::SEAL_AHEAD_COMMANDS_MIN`] or, on a store that others share,
    /// [`crate::limits::SEAL_AHEAD_SHARED_COMMANDS_MIN`]: for simulations.
    pub seal_ahead_commands_min: Option<usize>,
}

impl Default for Settings {
    fn default() -> Settings {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Settings {
            shards: cores,
            idle_after: Duration::from_secs(600),
            retention: Retention::All,
            snapshot_journal_bytes_min: SNAPSHOT_JOURNAL_BYTES_MIN,
            scrub_every: Some(SCRUB_EVERY),
            seal_ahead_commands_min: None,
        }
    }
}

/// Why an engine cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The list of inventories cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Holds that others made would end at the wrong time.
    #[error("{0}")]
    Clock(ClocksApart),
    /// The machine gives no threads.
    #[error("no thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// One inventory of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its number.
    pub number: InventoryNumber,
    /// Its name.
    pub name: Arc<str>,
}

/// Where an inventory stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its number.
    pub number: InventoryNumber,
    /// Its name.
    pub name: Arc<str>,
    /// Of its last commit.
    pub sequence: u64,
}

impl Engine {
    /// Opens the embedded store in a directory, which is created if it does not exist, and starts an engine on it.
    pub fn open(directory: &Path, settings: &Settings) -> Result<Engine, StartError> {
        Engine::start(Arc::new(EmbeddedStore::open(directory)?), Clock::system(), settings)
    }

    /// Starts an engine on a store. Reads the list of inventories, and what time it is there, and nothing else.
    pub fn start(store: Arc<dyn Store>, clock: Clock, settings: &Settings) -> Result<Engine, StartError> {
        if let Some(apart) = clock.compare(|| store.time())? {
            return Err(StartError::Clock(apart));
        }
        let Assembled { registry, shards, committer, availability } = assemble(&store, settings)?;
        let count = shards.len();
        let shared = Arc::new(Shared {
            clock,
            store,
            committer,
            availability,
            shards: (0..count).map(|_| Inbox::new(QUEUE_COMMANDS_MAX)).collect(),
            due: (0..count).map(|_| AtomicI64::new(i64::MAX)).collect(),
            sealed: Inbox::new(count),
            errands: Inbox::new(QUEUE_COMMANDS_MAX),
            questions: Inbox::new(QUEUE_COMMANDS_MAX),
            catch_ups: Arc::new(Inbox::new(0)),
            snapshots: Inbox::new(0),
            chores: Inbox::new(0),
            scrubber: Inbox::new(0),
            retention: settings.retention,
            stopped: watch::Sender::new(None),
            nudge: Nudge::default(),
        });
        let running = Running { shared, registry, threads: Threads::default(), router: OnceLock::new() };
        running.threads.spawn(&running.shared, shards, settings.scrub_every)?;
        Ok(Engine { running: Arc::new(running) })
    }

    /// Sends a command to an inventory and waits until its answer is durable.
    pub async fn submit(&self, inventory: InventoryNumber, command: Command) -> Result<Answer, SubmitError> {
        let entry = self.entry(inventory)?;
        let Some(router) = self.running.router.get() else {
            return self.ask(entry.route, Target::Number(inventory), command).await;
        };
        let (availability, name) = (&self.running.shared.availability, Arc::clone(&entry.name));
        availability.check()?;
        let answers = availability.or_away(router.submit(vec![Routed { inventory, name, command }])).await;
        let mut answers = answers.ok_or(SubmitError::OutcomeUnknown)?;
        let answer = answers.pop().expect("each command has an answer")?;
        self.await_shown(inventory, answer.sequence).await;
        Ok(answer)
    }

    /// From now on commands to inventories that exist go through a log, and are decided by whoever takes them from there.
    /// What creates inventories, and what falls due, is decided here as before.
    ///
    /// # Panics
    /// If it has a router.
    pub fn route(&self, router: Arc<dyn Router>) {
        assert!(self.running.router.set(router).is_ok(), "an engine has one router");
    }

    /// Whether commands go through a log.
    pub fn is_routed(&self) -> bool {
        self.running.router.get().is_some()
    }

    /// Whether commands can be taken, as far as that depends on the log they go through.
    pub fn log_answers(&self) -> bool {
        self.running.router.get().is_none_or(|router| router.answers())
    }

    /// Has the log take a command of this request for good, and does not wait for its answer.
    ///
    /// # Panics
    /// If commands do not go through a log.
    pub async fn hand_over(
        &self,
        inventory: InventoryNumber,
        command: Command,
        request_id: &str,
    ) -> Result<(), SubmitError> {
        self.running.shared.availability.check()?;
        let name = Arc::clone(&self.entry(inventory)?.name);
        let router = self.running.router.get().expect("commands go through a log");
        router.hand_over(Routed { inventory, name, command }, request_id).await
    }

    /// Sends a command to the inventory of a name, which it creates if it is a command that does so.
    pub async fn submit_to(&self, name: &str, command: Command) -> Result<Answer, SubmitError> {
        assert!(name.len() <= NAME_BYTES_MAX, "names of inventories are at most {NAME_BYTES_MAX} bytes");
        self.ask(route_of(name), Target::Name(name.into()), command).await
    }

    /// Sends many commands and waits until all answers are durable. They come in the order of the commands, each of
    /// which stands for itself; those for one inventory are decided in order. More than [`QUEUE_COMMANDS_MAX`] for one shard
    /// never fit: send them in parts.
    pub async fn submit_all(
        &self,
        commands: Vec<(InventoryNumber, Command)>,
    ) -> Vec<Result<Answer, SubmitError>> {
        let (availability, count) = (&self.running.shared.availability, commands.len());
        if let Err(error) = availability.check() {
            return vec![Err(error); count];
        }
        let answers = match self.running.router.get() {
            Some(router) => availability.or_away(self.submit_routed(&**router, commands)).await,
            None => availability.or_away(self.decide_all(commands, &[])).await,
        };
        answers.unwrap_or_else(|| vec![Err(SubmitError::OutcomeUnknown); count])
    }

    /// Decides commands here that were taken from the log, those of one inventory in the order of their positions.
    ///
    /// Whoever takes them waits for all answers before the next ones: so none overtakes another, even if they have to be decided
    /// again, and however long the store is away. One that was decided before, by whomever, is told
    /// [`SubmitError::AlreadyDecided`]. If one cannot be taken at the moment, those of its inventory after it are not taken either.
    pub async fn submit_from_log(
        &self,
        commands: Vec<(InventoryNumber, Command)>,
        positions: &[Position],
    ) -> Vec<Result<Answer, SubmitError>> {
        assert_eq!(commands.len(), positions.len(), "each command has a position");
        match self.running.shared.availability.check() {
            Ok(()) => self.decide_all(commands, positions).await,
            Err(error) => vec![Err(error); positions.len()],
        }
    }

    /// Learns of inventories that other processes created, now instead of a moment later. Reads the store.
    pub fn look_for(&self, inventories: &[InventoryNumber]) -> Result<(), StoreError> {
        let unknown: Vec<InventoryNumber> =
            inventories.iter().copied().filter(|&number| self.entry(number).is_err()).collect();
        if !unknown.is_empty() {
            let heads = self.running.shared.store.heads_of(&unknown)?;
            heads.iter().for_each(|head| self.running.shared.committer.learn(head));
        }
        Ok(())
    }

    async fn submit_routed(
        &self,
        router: &dyn Router,
        commands: Vec<(InventoryNumber, Command)>,
    ) -> Vec<Result<Answer, SubmitError>> {
        let mut known = Vec::with_capacity(commands.len());
        let mut answers: Vec<Result<Answer, SubmitError>> = Vec::with_capacity(commands.len());
        let mut routed = Vec::with_capacity(commands.len());
        for (inventory, command) in commands {
            match self.entry(inventory) {
                Ok(entry) => {
                    known.push((answers.len(), inventory));
                    routed.push(Routed { inventory, name: Arc::clone(&entry.name), command });
                    answers.push(Err(SubmitError::OutcomeUnknown));
                }
                Err(error) => answers.push(Err(error)),
            }
        }
        let mut reached: BTreeMap<InventoryNumber, u64> = BTreeMap::new();
        for ((index, inventory), answer) in known.into_iter().zip(router.submit(routed).await) {
            if let Ok(answer) = &answer {
                let reached = reached.entry(inventory).or_default();
                *reached = answer.sequence.max(*reached);
            }
            answers[index] = answer;
        }
        for (inventory, sequence) in reached {
            self.await_shown(inventory, sequence).await;
        }
        answers
    }

    async fn decide_all(
        &self,
        commands: Vec<(InventoryNumber, Command)>,
        positions: &[Position],
    ) -> Vec<Result<Answer, SubmitError>> {
        if commands.is_empty() {
            return Vec::new();
        }
        let shards = &self.running.shared.shards;
        let commands = Arc::new(commands);
        let (group, receiver) = Group::new(Arc::clone(&commands));
        let mut lists: Vec<Vec<Offer>> = shards.iter().map(|_| Vec::new()).collect();
        let mut first_index = 0;
        for same in commands.chunk_by(|one, other| one.0 == other.0) {
            let inventory = same[0].0;
            let requests = (first_index..first_index + same.len()).map(|index| Request {
                target: Target::Number(inventory),
                asked: Asked::Part(Arc::clone(&group), index),
                position: positions.get(index).copied(),
            });
            first_index += same.len();
            match self.entry(inventory) {
                Ok(entry) => lists[shard_of(entry.route, shards.len())].extend(requests.map(Offer::Command)),
                Err(error) => requests.for_each(|request| request.asked.answer(Err(error.clone()))),
            }
        }
        for (inbox, list) in shards.iter().zip(lists) {
            let (refused, error) = match inbox.offer_all(list) {
                Ok(()) => continue,
                Err(Rejected::Full(refused)) => (refused, SubmitError::overloaded()),
                Err(Rejected::Closed(refused)) => (refused, SubmitError::Stopped),
            };
            for input in refused {
                if let Offer::Command(request) = input {
                    request.asked.answer(Err(error.clone()));
                }
            }
        }
        // Commands that are lost with their thread end the wait, because nobody else holds the group.
        drop(group);
        receiver.await.unwrap_or_else(|_| vec![Err(SubmitError::OutcomeUnknown); commands.len()])
    }

    /// The number of an inventory.
    pub fn number(&self, name: &str) -> Option<InventoryNumber> {
        self.running.registry.of_name(name).map(|entry| entry.number)
    }

    /// The number of an inventory, also of one that another process has just created.
    pub async fn find(&self, name: &str) -> Result<Option<InventoryNumber>, SubmitError> {
        let known = self.number(name);
        let shared = &self.running.shared;
        if known.is_some() || !shared.store.is_shared() {
            return Ok(known);
        }
        let found = self.find_out(Sought::Named(name.into())).await?;
        Ok(found.map(|head| head.inventory))
    }

    /// Asks a store that other processes write to as well, for as long as it is not away.
    async fn find_out(&self, sought: Sought) -> Result<Option<Head>, SubmitError> {
        let shared = &self.running.shared;
        shared.availability.check()?;
        let (reply, receiver) = oneshot::channel();
        match shared.questions.offer(Question { sought, reply }) {
            Ok(()) => match shared.availability.or_away(receiver).await {
                Some(found) => Ok(found.map_err(|_| SubmitError::Stopped)??),
                None => Err(SubmitError::unavailable()),
            },
            Err(Rejected::Full(_)) => Err(SubmitError::overloaded()),
            Err(Rejected::Closed(_)) => Err(SubmitError::Stopped),
        }
    }

    /// The name of an inventory.
    pub fn name(&self, inventory: InventoryNumber) -> Option<Arc<str>> {
        self.running.registry.of_number(inventory).map(|entry| Arc::clone(&entry.name))
    }

    /// All inventories, in the order they were created.
    pub fn inventories(&self) -> Vec<Listed> {
        let listed = |entry: Arc<Entry>| Listed { number: entry.number, name: Arc::clone(&entry.name) };
        self.running.registry.all().into_iter().map(listed).collect()
    }

    /// The stock of the inventories that are in memory, in the order they were created. Unlike [`Engine::view`] this is no
    /// use of them: whoever measures does not keep them there.
    pub fn views_in_memory(&self) -> Vec<(Listed, Arc<StockView>)> {
        let all = self.running.registry.all().into_iter();
        let shown = all.filter_map(|entry| {
            let listed = Listed { number: entry.number, name: Arc::clone(&entry.name) };
            Some((listed, entry.published()?.stock()))
        });
        shown.collect()
    }

    /// The stock of an inventory, if it is in memory; no use of it either.
    pub fn view_in_memory(&self, inventory: InventoryNumber) -> Option<Arc<StockView>> {
        Some(self.running.registry.of_number(inventory)?.published()?.stock())
    }

    /// Where the inventories in memory stand, in the order they were created. Looking does not keep them there. What is
    /// not in memory has not changed since it was.
    pub fn standings_in_memory(&self) -> Vec<Standing> {
        let all = self.running.registry.all().into_iter();
        let standing = |entry: Arc<Entry>| {
            let sequence = entry.published()?.sequence();
            Some(Standing { number: entry.number, name: Arc::clone(&entry.name), sequence })
        };
        all.filter_map(standing).collect()
    }

    /// Where all inventories stand, in the order they were created. Reads the store.
    pub fn standings(&self) -> Result<Vec<Standing>, StoreError> {
        let heads = self.running.shared.store.heads()?.into_iter();
        Ok(heads
            .map(|head| Standing { number: head.inventory, name: head.name, sequence: head.sequence })
            .collect())
    }

    /// The stock of an inventory, as of its last commit.
    pub async fn view(&self, inventory: InventoryNumber) -> Result<Arc<StockView>, SubmitError> {
        self.look(inventory, |state| Arc::clone(&state.stock)).await
    }

    /// A tenant's booking, as of the last commit of its inventory. Another tenant may have one of the same id.
    pub async fn booking(
        &self,
        tenant: &str,
        id: BookingId,
    ) -> Result<Option<(InventoryNumber, Arc<Booking>)>, SubmitError> {
        let is_own = |number| self.entry(number).is_ok_and(|entry| tenant_of_name(&entry.name) == tenant);
        if let Some(named) = inventory_of(id)
            && is_own(named)
            && let Some(booking) = self.look(named, |state| state.bookings.get(id).cloned()).await?
        {
            return Ok(Some((named, booking)));
        }
        let (number, is_certain) = if self.is_shared() {
            let found = self.find_out(Sought::Booking { tenant: tenant.into(), id }).await?;
            let Some(Head { inventory, sequence, .. }) = found else { return Ok(None) };
            (inventory, self.catch_up(inventory, sequence).await?)
        } else {
            // A store of its own answers at once.
            let found = self.running.shared.store.find_booking(tenant, id)?;
            let Some(number) = found.filter(|&number| is_own(number)) else { return Ok(None) };
            (number, true)
        };
        let booking = self.look(number, |state| state.bookings.get(id).cloned()).await?;
        if booking.is_none() && !is_certain {
            return Err(SubmitError::unavailable());
        }
        Ok(booking.map(|booking| (number, booking)))
    }

    /// Whether other processes may write to the store as well.
    pub fn is_shared(&self) -> bool {
        self.running.shared.store.is_shared()
    }

    /// For how long the store has not answered, if it is away: what is shown is as of then, and commands are refused.
    pub fn unavailable_for(&self) -> Option<Duration> {
        self.running.shared.availability.away_for()
    }

    /// Whether that is so because this machine's clock and the store's are too far apart.
    pub fn clocks_apart(&self) -> bool {
        self.running.shared.availability.clocks_apart()
    }

    /// See [`Store::leads`]. Reads the store.
    pub fn leads(&self) -> Result<bool, StoreError> {
        self.running.shared.store.leads()
    }

    /// Waits until the view of an inventory shows what the store is known to have, by whomever, and says whether it does: not
    /// for long.
    async fn catch_up(&self, inventory: InventoryNumber, sequence: u64) -> Result<bool, SubmitError> {
        let mut shown = self.published(inventory).await?.follow();
        let caught_up = shown.wait_for(|&shown| shown >= sequence);
        Ok(tokio::time::timeout(CATCH_UP_MAX, caught_up).await.is_ok_and(|caught_up| caught_up.is_ok()))
    }

    /// Waits until what is read here shows a commit that another process made: whoever was answered reads it next. Not for
    /// long, as with [`Engine::catch_up`].
    async fn await_shown(&self, inventory: InventoryNumber, sequence: u64) {
        let Ok(published) = self.published(inventory).await else { return };
        let mut shown = published.follow();
        if *shown.borrow() >= sequence {
            return;
        }
        self.running.shared.nudge.now();
        let caught_up = shown.wait_for(|&shown| shown >= sequence);
        drop(tokio::time::timeout(CATCH_UP_MAX, caught_up).await);
    }

    /// Tells from now on which inventories show something new, whoever committed it.
    pub fn moved(&self) -> Moved {
        self.running.registry.moved()
    }

    /// Takes a hint that another process has committed this sequence, so that an inventory in memory need not wait until the store
    /// is asked the next time. What is not so does no harm: only the store is believed.
    pub fn heard(&self, inventory: InventoryNumber, sequence: u64) {
        let Some(entry) = self.running.registry.of_number(inventory) else { return };
        // One that is not shown may be on its way into memory, without this.
        if entry.published().is_none_or(|published| published.sequence() < sequence) {
            let shards = &self.running.shared.shards;
            // One that has ended need not know.
            drop(shards[shard_of(entry.route, shards.len())].tell(News::Heard(inventory, sequence)));
        }
    }

    /// Follows an inventory from a sequence on: the first batch will be the one after it.
    pub async fn subscribe(
        &self,
        inventory: InventoryNumber,
        after: u64,
    ) -> Result<Subscription, SubmitError> {
        let published = self.published(inventory).await?;
        Ok(Subscription::new(Arc::clone(&self.running.shared), inventory, published, after))
    }

    /// The stock of an inventory after each batch from `first` to `last`, in order; `None` if that cannot be told any more, or
    /// not without reading too much. Reads the store, and blocks for as long as that takes.
    pub fn stocks(
        &self,
        inventory: InventoryNumber,
        first: u64,
        last: u64,
    ) -> Result<Option<Vec<Arc<StockView>>>, LoadError> {
        self.must_be_available()?;
        history::stocks(&*self.running.shared.store, inventory, first, last)
    }

    /// The stock of an inventory right after a batch; `None` if that cannot be told any more, or not without reading too much.
    pub async fn stock_at(&self, inventory: InventoryNumber, sequence: u64) -> Option<Arc<StockView>> {
        let published = self.published(inventory).await.ok()?;
        let newest = published.stock();
        if newest.sequence == sequence {
            return Some(newest);
        }
        let recent = published.recent(sequence).and_then(|batch| batch.stock.clone());
        if recent.is_some() {
            return recent;
        }
        let _turn = PAST_READERS.acquire().await.ok()?;
        let engine = self.clone();
        let read = move || history::stock(&*engine.running.shared.store, inventory, sequence);
        let read = tokio::task::spawn_blocking(read).await.expect("reading does not panic");
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, sequence, "stock of the past could not be read");
            None
        })
    }

    /// Those of some bookings that were there after a batch, as they were then, in no order; `None` if that cannot be told any more, or
    /// not without reading too much. Reads the store, and blocks for as long as that takes.
    pub fn bookings_after(
        &self,
        inventory: InventoryNumber,
        sequence: u64,
        ids: &[BookingId],
    ) -> Result<Option<Vec<Arc<Booking>>>, LoadError> {
        self.must_be_available()?;
        history::bookings(&*self.running.shared.store, inventory, ids, sequence)
    }

    fn must_be_available(&self) -> Result<(), StoreError> {
        match self.unavailable_for() {
            Some(_) => Err(StoreError::Unavailable("it has not for a while".to_owned())),
            None => Ok(()),
        }
    }

    /// A new id for a booking of an inventory.
    pub fn new_booking_id(&self, inventory: InventoryNumber) -> BookingId {
        ids::booking_id(inventory, self.now(), rand::random())
    }

    /// A new code to be read out at the door.
    pub fn new_redeem_code(&self) -> RedeemCode {
        RedeemCode::from_random(rand::random())
    }

    /// What time it is for the engine.
    pub fn now(&self) -> Timestamp {
        self.running.shared.clock.now()
    }

    /// How many commands wait, over all shards.
    pub fn waiting(&self) -> usize {
        self.running.shared.shards.iter().map(Inbox::len).sum()
    }

    /// How many commands may wait, over all shards.
    pub fn waiting_max(&self) -> usize {
        self.running.shared.shards.len() * QUEUE_COMMANDS_MAX
    }

    /// How long ago something fell due (a hold ended, a new day began) that has not been looked at.
    pub fn expiry_lag(&self) -> Duration {
        let due = self.running.shared.due.iter().map(|due| due.load(Ordering::Relaxed)).min();
        let late_ms = self.now().0.saturating_sub(due.unwrap_or(i64::MAX));
        Duration::from_millis(u64::try_from(late_ms).unwrap_or(0))
    }

    /// Writes a backup of the whole store: each inventory as of one moment, then the documents. Blocks for as long as that
    /// takes; sales go on.
    pub fn back_up(&self, out: &mut dyn Write) -> Result<Contents, ArchiveError> {
        archive::write(&*self.running.shared.store, out, |_, _| {})
    }

    /// How many inventories are in memory.
    pub fn in_memory(&self) -> usize {
        self.running.registry.all().iter().filter(|entry| entry.is_published()).count()
    }

    /// Waits until the engine stops, whatever the reason.
    pub async fn stopped(&self) -> StopReason {
        let mut stopped = self.running.shared.stopped.subscribe();
        let reason = stopped.wait_for(Option::is_some).await.expect("the sender lives as long as the engine");
        reason.clone().expect("waited for")
    }

    /// Why the engine has stopped; `None` while it runs.
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.running.shared.stopped.borrow().clone()
    }

    /// Says that it will be closed in a moment, before whoever waits for a commit is waited for: see [`Store::hurry`].
    pub fn hurry(&self) {
        self.running.shared.store.hurry();
    }

    /// Answers everything that was taken, takes no more, and closes the store. Blocks until that is done.
    pub fn close(&self) -> Result<(), StopReason> {
        self.running.finish();
        let reason = self.running.shared.stopped.borrow().clone();
        match reason {
            None | Some(StopReason::Asked) => Ok(()),
            Some(reason) => Err(reason),
        }
    }

    fn write<T>(&self, write: impl FnOnce(&dyn Store) -> Result<T, CommitError>) -> Result<T, SubmitError> {
        let shared = &self.running.shared;
        if shared.stopped.borrow().is_some() {
            return Err(SubmitError::Stopped);
        }
        shared.availability.check()?;
        write(&*shared.store).map_err(|error| {
            if !matches!(error, CommitError::Unavailable(_)) {
                shared.stop_after(error);
            }
            SubmitError::OutcomeUnknown
        })
    }

    fn entry(&self, inventory: InventoryNumber) -> Result<Arc<Entry>, SubmitError> {
        self.running.registry.of_number(inventory).ok_or(SubmitError::NoSuchInventory)
    }

    async fn ask(&self, route: u64, target: Target, command: Command) -> Result<Answer, SubmitError> {
        self.running.shared.availability.check()?;
        let (sender, receiver) = oneshot::channel();
        let command = Arc::new(command);
        let request = Request { target, asked: Asked::One(Arc::clone(&command), sender), position: None };
        let shards = &self.running.shared.shards;
        match shards[shard_of(route, shards.len())].offer(Offer::Command(request)) {
            Ok(()) => {
                let answer = self.running.shared.availability.or_away(receiver).await;
                answer.and_then(Result::ok).unwrap_or(Err(SubmitError::OutcomeUnknown))
            }
            Err(Rejected::Full(_)) => Err(SubmitError::overloaded()),
            Err(Rejected::Closed(_)) => Err(SubmitError::Stopped),
        }
    }

    fn inbox(&self, inventory: InventoryNumber) -> Result<&Inbox<Offer, News>, SubmitError> {
        let shards = &self.running.shared.shards;
        Ok(&shards[shard_of(self.entry(inventory)?.route, shards.len())])
    }

    async fn look<R>(
        &self,
        inventory: InventoryNumber,
        look: impl FnOnce(&State) -> R,
    ) -> Result<R, SubmitError> {
        let published = self.published(inventory).await?;
        Ok(published.read(self.now(), look))
    }

    /// What is committed of an inventory; it is read from the store if it is not in memory.
    async fn published(&self, inventory: InventoryNumber) -> Result<Arc<Published>, SubmitError> {
        let entry = self.entry(inventory)?;
        loop {
            if let Some(published) = entry.published() {
                return Ok(published);
            }
            self.running.shared.availability.check()?;
            let (sender, receiver) = oneshot::channel();
            match self.inbox(inventory)?.offer(Offer::Show(inventory, sender)) {
                Ok(()) => match self.running.shared.availability.or_away(receiver).await {
                    Some(shown) => shown.unwrap_or(Err(SubmitError::Stopped))?,
                    None => return Err(SubmitError::unavailable()),
                },
                Err(Rejected::Full(_)) => return Err(SubmitError::overloaded()),
                Err(Rejected::Closed(_)) => return Err(SubmitError::Stopped),
            }
        }
    }
}

impl Running {
    fn finish(&self) {
        self.shared.store.hurry();
        self.threads.finish(&self.shared);
        self.shared.stopped.send_if_modified(|stopped| {
            let running = stopped.is_none();
            if running {
                if let Err(error) = self.shared.store.close() {
                    tracing::error!(%error, "the store was not closed properly");
                }
                *stopped = Some(StopReason::Asked);
            }
            running
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Who reads a journal for the stock of the past: a few at a time, or callers could keep every thread that reads busy.
static PAST_READERS: Semaphore = Semaphore::const_new(2);

/// The shard of a route.
pub(crate) fn shard_of(route: u64, shards: usize) -> usize {
    usize::try_from(route % shards as u64).expect("less than the number of shards")
}

mod attempts;
mod bookings;
mod documents;
mod tickets;

pub use tickets::TicketView;

#[cfg(test)]
mod tests;
