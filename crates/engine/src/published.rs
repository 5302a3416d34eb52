//! What was committed, for readers: the views of each inventory, its bookings, and its newest batches.
//!
//! Written by whoever releases a batch, after its commit; a shard takes these locks only when it loads an
//! inventory or lets go of one.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use boxoffice_core::booking::Booking;
use boxoffice_core::change::Change;
use boxoffice_core::ids::BookingId;
use boxoffice_core::index::Index;
use boxoffice_core::inventory::Inventory;
use boxoffice_core::map::HashMap;
use boxoffice_core::pieces::Pieces;
use boxoffice_core::time::Timestamp;
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::ids::InventoryNumber;
use crate::limits::{LOOK_AHEAD_COMMANDS, RECENT_BATCHES_MAX, RECENT_CHANGES_MAX, UNITS_INDEXED_AT_ONCE};
use crate::moved::{Followers, Move, Moved};
use crate::unit_holders::{HolderIndex, UnitHolders};
use crate::view::StockView;

/// All inventories of a store, by name and by number.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    entries: RwLock<Entries>,
    followers: Arc<Followers>,
}

#[derive(Debug, Default)]
struct Entries {
    by_name: HashMap<Arc<str>, Arc<Entry>>,
    by_number: HashMap<InventoryNumber, Arc<Entry>>,
}

/// One inventory that exists.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) number: InventoryNumber,
    pub(crate) name: Arc<str>,
    /// Tells which shard it belongs to, whatever their number.
    pub(crate) route: u64,
    /// While it is in memory.
    published: Mutex<Option<Arc<Published>>>,
    /// Who wants to know when it shows something new.
    followers: Arc<Followers>,
}

/// Who committed what is published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    /// This engine.
    Here,
    /// Another one on the same store.
    Elsewhere,
}

impl Registry {
    /// Everything that will move from now on.
    pub(crate) fn moved(&self) -> Moved {
        self.followers.join()
    }

    pub(crate) fn of_name(&self, name: &str) -> Option<Arc<Entry>> {
        self.entries.read().by_name.get(name).cloned()
    }

    pub(crate) fn of_number(&self, number: InventoryNumber) -> Option<Arc<Entry>> {
        self.entries.read().by_number.get(&number).cloned()
    }

    /// In order of number.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        let mut all: Vec<Arc<Entry>> = self.entries.read().by_number.values().cloned().collect();
        all.sort_unstable_by_key(|entry| entry.number);
        all
    }

    pub(crate) fn add(&self, number: InventoryNumber, name: &Arc<str>) -> Arc<Entry> {
        let (name, route) = (Arc::clone(name), route_of(name));
        let followers = Arc::clone(&self.followers);
        let entry = Arc::new(Entry { number, name, route, published: Mutex::new(None), followers });
        let mut entries = self.entries.write();
        entries.by_name.insert(Arc::clone(&entry.name), Arc::clone(&entry));
        entries.by_number.insert(number, Arc::clone(&entry));
        entry
    }
}

/// The same number for the same name, in every process.
pub(crate) fn route_of(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

impl Entry {
    /// What is known of it to readers, if it is in memory.
    pub(crate) fn published(&self) -> Option<Arc<Published>> {
        self.published.lock().clone()
    }

    /// Whether it is in memory.
    pub(crate) fn is_published(&self) -> bool {
        self.published.lock().is_some()
    }

    /// Shows an inventory that was just read from the store.
    pub(crate) fn show(&self, state: State) {
        self.show_after(state, Recent::default());
    }

    /// Shows an inventory with the batches that led to it, as far as they are known.
    fn show_after(&self, state: State, recent: Recent) {
        let sequence = state.stock.sequence;
        {
            let mut published = self.published.lock();
            match &*published {
                Some(published) => published.replace(state, recent),
                None => *published = Some(Arc::new(Published::new(state, recent))),
            }
        }
        self.followers.note(Move { inventory: self.number, sequence, ours: false });
    }

    /// Shows what a commit changed.
    pub(crate) fn publish(&self, publication: Publication, committed: Committed) {
        let published = self.published.lock().clone();
        let sequence = publication.batch.sequence;
        match published {
            Some(published) => published.advance(publication),
            // The first batch: the inventory was just created. Whoever saw it and comes back goes on from there.
            None => {
                let bookings = publication.bookings.into_iter().collect();
                let mut recent = Recent::default();
                recent.push(publication.batch);
                self.show_after(State::new(publication.stock, bookings), recent);
            }
        }
        let ours = committed == Committed::Here;
        self.followers.note(Move { inventory: self.number, sequence, ours });
    }

    /// Lets go of the views, unless somebody reads or follows them.
    pub(crate) fn hide(&self) -> bool {
        let mut published = self.published.lock();
        let in_use = published.as_ref().is_some_and(|published| Arc::strong_count(published) > 1);
        if !in_use {
            *published = None;
        }
        !in_use
    }
}

/// The committed state of one inventory.
#[derive(Debug)]
pub(crate) struct Published {
    state: RwLock<State>,
    recent: Mutex<Recent>,
    /// The last sequence that can be read here.
    sequence: watch::Sender<u64>,
    last_read: AtomicI64,
}

/// Views of one sequence.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) stock: Arc<StockView>,
    pub(crate) bookings: BookingsView,
    /// Of an inventory of which a reader asked who has a unit.
    unit_holders: Option<UnitHolders>,
}

impl State {
    pub(crate) fn of(inventory: &Inventory) -> Option<State> {
        let stock = Arc::new(StockView::new(inventory)?);
        Some(State::new(stock, BookingsView::of(inventory)))
    }

    fn new(stock: Arc<StockView>, bookings: BookingsView) -> State {
        State { stock, bookings, unit_holders: None }
    }

    /// The index of units; `None` while it lacks some bookings.
    fn unit_holders(&self) -> Option<&HolderIndex> {
        let holders = self.unit_holders.as_ref()?;
        (holders.entered == self.bookings.bookings.len()).then_some(&holders.index)
    }

    /// Enters some more bookings into the index of units.
    fn index_units(&mut self) {
        let holders = self.unit_holders.get_or_insert_with(|| UnitHolders::new(&self.stock.kind));
        let bookings = &self.bookings.bookings;
        let mut units = 0;
        while holders.entered < bookings.len() && units < UNITS_INDEXED_AT_ONCE {
            let booking = &bookings[holders.entered];
            holders.enter(u32::try_from(holders.entered).expect("bookings are bounded"), booking);
            holders.entered += 1;
            units += booking.units.quantity();
        }
    }

    fn advance(&mut self, stock: Arc<StockView>, bookings: &[Arc<Booking>]) {
        let all_entered = self.unit_holders().is_some();
        self.stock = stock;
        self.bookings.put_all(bookings);
        let Some(holders) = &mut self.unit_holders else { return };
        for booking in bookings {
            holders.enter(self.bookings.place(booking.id).expect("it was just put there"), booking);
        }
        if all_entered {
            holders.entered = self.bookings.bookings.len();
        }
    }
}

/// What a commit changed.
#[derive(Debug)]
pub(crate) struct Publication {
    pub(crate) stock: Arc<StockView>,
    pub(crate) bookings: Vec<Arc<Booking>>,
    pub(crate) holds_expired: u64,
    pub(crate) batch: Arc<Batch>,
}

/// One committed batch, as subscribers get it.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Its number.
    pub sequence: u64,
    /// What happened.
    pub changes: Arc<Vec<Change>>,
    /// The stock right after it; `None` if the batch was read from the journal.
    pub stock: Option<Arc<StockView>>,
}

/// The newest batches, for subscribers that keep up.
#[derive(Debug, Default)]
struct Recent {
    batches: VecDeque<Arc<Batch>>,
    changes: usize,
}

/// Bookings by id, in the order they were made.
#[derive(Debug, Default)]
pub(crate) struct BookingsView {
    bookings: Pieces<Arc<Booking>>,
    ids: Index,
}

impl FromIterator<Arc<Booking>> for BookingsView {
    fn from_iter<I: IntoIterator<Item = Arc<Booking>>>(bookings: I) -> BookingsView {
        let mut view = BookingsView::default();
        bookings.into_iter().for_each(|booking| view.put(booking));
        view
    }
}

impl BookingsView {
    fn of(inventory: &Inventory) -> BookingsView {
        let bookings = inventory.bookings().cloned().collect();
        BookingsView { bookings, ids: inventory.booking_places().clone() }
    }

    fn put(&mut self, booking: Arc<Booking>) {
        let (id, next) = (booking.id, u32::try_from(self.bookings.len()).expect("bookings are bounded"));
        let bookings = &self.bookings;
        match self.ids.find_or_insert(&id, next, |place| bookings[place as usize].id == id) {
            Some(place) => self.bookings[place as usize] = booking,
            None => self.bookings.push(booking),
        }
    }

    /// Looks some bookings ahead: see [`Index::warm`].
    fn put_all(&mut self, bookings: &[Arc<Booking>]) {
        for few in bookings.chunks(LOOK_AHEAD_COMMANDS) {
            few.iter().for_each(|booking| self.ids.warm(&booking.id));
            few.iter().for_each(|booking| self.put(Arc::clone(booking)));
        }
    }

    pub(crate) fn get(&self, id: BookingId) -> Option<&Arc<Booking>> {
        self.place(id).map(|place| &self.bookings[place as usize])
    }

    /// All bookings in the order they were made.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Booking>> {
        self.bookings.iter()
    }

    /// See [`crate::Engine::bookings_before`].
    pub(crate) fn before(
        &self,
        count: usize,
        before: impl Fn(usize, &Booking) -> bool,
    ) -> Vec<(usize, Arc<Booking>)> {
        let (mut low, mut high) = (0, self.bookings.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle, &self.bookings[middle]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let first = low.saturating_sub(count);
        (first..low).rev().map(|place| (place, Arc::clone(&self.bookings[place]))).collect()
    }

    /// The booking at a place in the order they were made.
    pub(crate) fn at(&self, place: u32) -> &Arc<Booking> {
        &self.bookings[place as usize]
    }

    fn place(&self, id: BookingId) -> Option<u32> {
        self.ids.find(&id, |place| self.bookings[place as usize].id == id)
    }
}

impl Published {
    fn new(state: State, recent: Recent) -> Published {
        let sequence = watch::Sender::new(state.stock.sequence);
        Published {
            state: RwLock::new(state),
            recent: Mutex::new(recent),
            sequence,
            last_read: AtomicI64::new(i64::MIN),
        }
    }

    pub(crate) fn read<R>(&self, now: Timestamp, look: impl FnOnce(&State) -> R) -> R {
        self.last_read.fetch_max(now.0, Ordering::Relaxed);
        look(&self.state.read())
    }

    /// As [`Published::read`], with the index of units. The first reader makes the index, one piece after the other, so that neither
    /// publishing nor this thread's other tasks wait for all of it.
    pub(crate) async fn read_unit_holders<R>(
        &self,
        now: Timestamp,
        look: impl Fn(&State, &HolderIndex) -> R,
    ) -> R {
        loop {
            let found = self.read(now, |state| Some(look(state, state.unit_holders()?)));
            if let Some(found) = found {
                return found;
            }
            self.state.write().index_units();
            tokio::task::yield_now().await;
        }
    }

    /// The stock, for somebody who only measures.
    pub(crate) fn stock(&self) -> Arc<StockView> {
        Arc::clone(&self.state.read().stock)
    }

    /// As of which sequence, how many bookings there are, and some of them from a place on, each as it is found by its id. For
    /// the scrubber, which only compares: it does not count as read.
    pub(crate) fn bookings_from(
        &self,
        place: usize,
        count: usize,
    ) -> (u64, usize, Vec<Option<Arc<Booking>>>) {
        let state = self.state.read();
        let total = state.bookings.bookings.len();
        let some = (place..total.min(place.saturating_add(count)))
            .map(|place| state.bookings.get(state.bookings.bookings[place].id).cloned());
        (state.stock.sequence, total, some.collect())
    }

    pub(crate) fn last_read(&self) -> Timestamp {
        Timestamp(self.last_read.load(Ordering::Relaxed))
    }

    /// The last sequence that can be read here.
    pub(crate) fn sequence(&self) -> u64 {
        *self.sequence.borrow()
    }

    /// Follows the sequence of what can be read here.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.sequence.subscribe()
    }

    /// A batch that is still in memory.
    pub(crate) fn recent(&self, sequence: u64) -> Option<Arc<Batch>> {
        let recent = self.recent.lock();
        let first = recent.batches.front()?.sequence;
        let index = usize::try_from(sequence.checked_sub(first)?).ok()?;
        recent.batches.get(index).cloned()
    }

    /// Shows what is not so.
    #[cfg(test)]
    pub(crate) fn plant(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.write());
    }

    fn replace(&self, state: State, recent: Recent) {
        let sequence = state.stock.sequence;
        *self.state.write() = state;
        // Batches between the last one here and the state that was read are in the journal.
        *self.recent.lock() = recent;
        self.sequence.send_replace(sequence);
    }

    fn advance(&self, publication: Publication) {
        let sequence = publication.batch.sequence;
        {
            self.state.write().advance(publication.stock, &publication.bookings);
        }
        self.recent.lock().push(publication.batch);
        self.sequence.send_replace(sequence);
    }
}

impl Recent {
    fn push(&mut self, batch: Arc<Batch>) {
        self.changes += batch.changes.len();
        self.batches.push_back(batch);
        while self.batches.len() > RECENT_BATCHES_MAX
            || (self.changes > RECENT_CHANGES_MAX && self.batches.len() > 1)
        {
            let oldest = self.batches.pop_front().expect("more than one");
            self.changes -= oldest.changes.len();
        }
    }
}
