//! The engine's threads: thin loops around [`Shard`] and [`Committer`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Instant;

use boxoffice_core::ids::BookingId;
use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use crate::answer::SubmitError;
use crate::clock::Clock;
use crate::commit::{Committer, Sealed, Settled};
use crate::ids::InventoryNumber;
use crate::inbox::Inbox;
use crate::load::{self, LoadError, Loaded};
use crate::published::State;
use crate::shard::{Request, Shard};
use crate::snapshot::{self, Retention, SnapshotError, Written};
use crate::store::{CommitError, Store, StoreError};

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
    /// The last batch is through.
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
    pub(crate) shards: Vec<Inbox<Offer, News>>,
    pub(crate) sealed: Inbox<Infallible, Sealed>,
    pub(crate) errands: Inbox<Errand, Errand>,
    pub(crate) snapshots: Inbox<(usize, InventoryNumber), (usize, InventoryNumber)>,
    pub(crate) retention: Retention,
    pub(crate) stopped: watch::Sender<Option<StopReason>>,
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
        self.shards.iter().for_each(|inbox| inbox.tell(News::GiveUp));
        self.sealed.close();
        self.errands.close();
        self.snapshots.close();
    }

    fn stop_after(&self, error: CommitError) {
        self.stop(match error {
            CommitError::Full(message) => StopReason::DiskFull(message),
            CommitError::Failed(message) => StopReason::StoreFailed(message),
        });
    }
}

/// Stops the engine if its thread panics.
struct Guard<'a>(&'a Shared, &'static str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop(StopReason::Panicked(self.1));
        }
    }
}

pub(crate) fn run_shard(shared: &Shared, index: usize, mut shard: Shard) {
    let _guard = Guard(shared, "shard");
    let inbox = &shared.shards[index];
    let (mut news, mut offers) = (Vec::new(), VecDeque::new());
    let mut closing = false;
    loop {
        let ready = !offers.is_empty() && !shard.is_full();
        let until = if ready {
            Some(Instant::now())
        } else {
            shard.next_wake().map(|at| shared.clock.instant_of(at))
        };
        // Once it is closed, what was offered before is all there will be.
        let offers_wanted = offers.is_empty() && (!closing || inbox.len() > 0);
        inbox.take(&mut news, &mut offers, offers_wanted, until);
        let now = shared.clock.now();
        for input in news.drain(..) {
            match input {
                News::Loaded(number, result) => {
                    shard.loaded(now, number, result.map(|loaded| loaded.map(|loaded| *loaded)));
                }
                News::Settled(settled) => shard.committed(now, &settled.through, settled.fenced),
                News::Snapshotted(number, written) => shard.snapshotted(number, written),
                News::Close => closing = true,
                News::GiveUp => return give_up(shard, offers, inbox),
            }
        }
        while !shard.is_full()
            && let Some(offer) = offers.pop_front()
        {
            match offer {
                Offer::Command(request) => shard.submit(now, request),
                Offer::Show(number, reader) => shard.show(number, reader),
                // Whoever asked may be gone.
                Offer::BookingsOf(number, customer, reply) => {
                    drop(reply.send(shard.bookings_of(number, &customer)));
                }
            }
        }
        shard.wake(now);
        let errands = shard.take_errands();
        errands.load.into_iter().for_each(|number| shared.errands.tell(Errand::Load(index, number)));
        errands.snapshot.into_iter().for_each(|number| shared.snapshots.tell((index, number)));
        if let Some(parts) = shard.seal() {
            shared.sealed.tell(Sealed { shard: index, parts });
        }
        if closing && offers.is_empty() && inbox.len() == 0 && shard.is_at_rest() {
            return;
        }
    }
}

/// Tells everybody who waits for this shard that nothing more will be done.
fn give_up(mut shard: Shard, mut offers: VecDeque<Offer>, inbox: &Inbox<Offer, News>) {
    shard.give_up(&SubmitError::Stopped);
    loop {
        for offer in offers.drain(..) {
            match offer {
                Offer::Command(request) => request.reply.send(Err(SubmitError::Stopped)),
                Offer::Show(_, reader) => drop(reader.send(Err(SubmitError::Stopped))),
                Offer::BookingsOf(..) => {}
            }
        }
        inbox.take(&mut Vec::new(), &mut offers, true, Some(Instant::now()));
        if offers.is_empty() {
            return;
        }
    }
}

pub(crate) fn run_committer(shared: &Shared, committer: &Committer) {
    let _guard = Guard(shared, "committer");
    let mut batches = Vec::new();
    let mut none = VecDeque::new();
    loop {
        shared.sealed.take(&mut batches, &mut none, true, None);
        if batches.is_empty() {
            return;
        }
        let tell = |settled: Settled| shared.shards[settled.shard].tell(News::Settled(settled));
        if let Err(error) = committer.commit(std::mem::take(&mut batches), tell) {
            shared.stop_after(error);
            // What was sealed meanwhile was never written.
            shared.sealed.take(&mut batches, &mut none, true, Some(Instant::now()));
            batches.into_iter().flat_map(|batch| batch.parts).for_each(crate::shard::Part::unknown);
            return;
        }
    }
}

pub(crate) fn run_loader(shared: &Shared) {
    let _guard = Guard(shared, "loader");
    while let Some(errand) = shared.errands.take_one() {
        match errand {
            Errand::Load(shard, number) => {
                let result = load::load(&*shared.store, number).map(|loaded| {
                    loaded.and_then(|loaded| {
                        let state = State::of(&loaded.inventory)?;
                        Some(Box::new((loaded, state)))
                    })
                });
                shared.shards[shard].tell(News::Loaded(number, result));
            }
            Errand::Records(number, after, reply) => {
                let records = shared.store.records(number, after, crate::limits::JOURNAL_READ_BYTES);
                // The subscriber may be gone.
                drop(reply.send(records));
            }
        }
    }
}

pub(crate) fn run_snapshotter(shared: &Shared) {
    let _guard = Guard(shared, "snapshotter");
    while let Some((shard, number)) = shared.snapshots.take_one() {
        let written = match snapshot::write(&*shared.store, number, shared.retention) {
            Ok(written) => written,
            Err(SnapshotError::Commit(error)) => return shared.stop_after(error),
            Err(SnapshotError::Load(error)) => {
                tracing::error!(%number, %error, "no snapshot can be made");
                None
            }
        };
        shared.shards[shard].tell(News::Snapshotted(number, written));
    }
}

/// The engine's threads, to be waited for.
#[derive(Default)]
pub(crate) struct Threads {
    pub(crate) shards: Mutex<Vec<std::thread::JoinHandle<()>>>,
    pub(crate) others: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

impl Threads {
    /// Lets everything that was taken be answered, then ends all threads.
    pub(crate) fn finish(&self, shared: &Shared) {
        for inbox in &shared.shards {
            inbox.close();
            inbox.tell(News::Close);
        }
        join(&self.shards);
        shared.sealed.close();
        shared.errands.close();
        shared.snapshots.close();
        join(&self.others);
    }
}

fn join(threads: &Mutex<Vec<std::thread::JoinHandle<()>>>) {
    for thread in std::mem::take(&mut *threads.lock()) {
        // A panic has stopped the engine and was reported there.
        drop(thread.join());
    }
}
