//! From the journal to messages: what happened to bookings, and what sold out or came back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::change::Change;
use boxoffice_core::ids::{BookingId, InventoryKind};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::load::LoadError;
use boxoffice_engine::store::StoreError;
use boxoffice_engine::view::StockView;
use boxoffice_engine::{Batch, Engine, InventoryNumber, SubmitError, SubscriptionError};
use serde::{Deserialize, Serialize};

use super::Topic;
use super::sold_out::{Sellable, SoldOut, Touched, touched_by};
use crate::journal::{Heading, headed};
use crate::routes::bookings::{AsOf, BookingBody, box_id, kind_of};
use crate::time::Moment;

/// How far an inventory's journal was read for a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Cursor {
    pub(super) sequence: u64,
    pub(super) sold_out: SoldOut,
    /// What bookings were was too much to read: it is not tried again before then.
    #[serde(skip)]
    no_past_bookings_until: Option<Instant>,
    /// The same for the stock.
    #[serde(skip)]
    pub(super) no_past_stock_until: Option<Instant>,
}

impl Cursor {
    pub(super) fn at(sequence: u64) -> Cursor {
        Cursor { sequence, ..Cursor::default() }
    }
}

/// Something to tell.
#[derive(Debug)]
pub(super) struct News {
    pub(super) topic: Topic,
    pub(super) sequence: u64,
    /// In the batch; what sold out or came back is last.
    pub(super) index: u32,
    pub(super) body: String,
    /// Of the booking that it is about.
    pub(super) contact: Option<Arc<[u8]>>,
}

/// Why a journal could not be read on.
#[derive(Debug)]
pub(super) enum ReadError {
    /// Nothing is lost: ask again.
    Later,
    /// The journal was cut: what comes next is gone.
    Gone,
    Unreadable(String),
}

/// Whoever is behind of an inventory with a long journal would read it for nothing again and again.
const PAST_TRIED_EVERY: Duration = Duration::from_secs(10);
/// Changes that are read at one time: a page ends with the batch that reaches it.
const CHANGES_AT_ONCE: usize = 2_000;
/// In a batch whose changes cannot be read.
const AFTER_ALL_CHANGES: u32 = u32::MAX / 2;

#[derive(Serialize)]
struct Envelope<T> {
    r#type: Topic,
    timestamp: Moment,
    data: T,
}

/// What of an inventory sold out or came back: an event as a whole, a slot or a box.
#[derive(Debug, Serialize)]
struct SaleBody<'a> {
    event: Option<&'a str>,
    schedule: Option<&'a str>,
    shop: Option<&'a str>,
    slot: Option<String>,
    r#box: Option<&'a str>,
    sequence: u64,
}

/// Reads on from a cursor. The news are of some topics only; the cursor passes over the others.
pub(super) async fn read(
    engine: &Engine,
    inventory: InventoryNumber,
    cursor: &Cursor,
    topics: &[Topic],
) -> Result<(Cursor, Vec<News>), ReadError> {
    let stock = engine.view(inventory).await.map_err(not_loaded)?;
    let batches = batches(engine, inventory, cursor.sequence, stock.sequence).await?;
    let mut reader = Reader::new(cursor, &stock, &batches, topics);
    reader.find_bookings(engine, inventory, &batches).await?;
    reader.find_stocks(engine, inventory, &batches).await?;
    for batch in &batches {
        reader.read(batch);
    }
    Ok((reader.cursor, reader.news))
}

/// Passes over what cannot be read any more, and tells what sold out or came back meanwhile.
pub(super) async fn pass_over(
    engine: &Engine,
    inventory: InventoryNumber,
    cursor: &Cursor,
    sequence: u64,
    topics: &[Topic],
) -> Result<(Cursor, Vec<News>), ReadError> {
    let stock = engine.view(inventory).await.map_err(not_loaded)?;
    let mut reader = Reader::new(cursor, &stock, &[], topics);
    reader.cursor.sequence = sequence;
    if reader.tells_sales() {
        reader.cursor.sold_out.touch_all(&stock);
    }
    // If there is more to be read, the stock after that will tell.
    if sequence == stock.sequence {
        reader.tell_sales(&stock, engine.now(), sequence, AFTER_ALL_CHANGES);
    }
    Ok((reader.cursor, reader.news))
}

async fn batches(
    engine: &Engine,
    inventory: InventoryNumber,
    after: u64,
    through: u64,
) -> Result<Vec<Arc<Batch>>, ReadError> {
    let mut subscription = engine.subscribe(inventory, after).await.map_err(not_loaded)?;
    let (mut batches, mut changes) = (Vec::new(), 0);
    for _ in after..through {
        let batch = subscription.next().await.map_err(|error| match error {
            SubscriptionError::Overloaded | SubscriptionError::Stopped => ReadError::Later,
            SubscriptionError::Gone { .. } => ReadError::Gone,
            SubscriptionError::Store(error) => not_read(&error),
            SubscriptionError::Damaged(error) => ReadError::Unreadable(error.to_string()),
        })?;
        changes += batch.changes.len();
        batches.push(batch);
        if changes >= CHANGES_AT_ONCE {
            break;
        }
    }
    Ok(batches)
}

/// The bookings that were changed after a batch; `None` if too much was.
async fn changed_since(
    engine: &Engine,
    inventory: InventoryNumber,
    after: u64,
) -> Result<Option<HashSet<BookingId>>, ReadError> {
    let reached = engine.view(inventory).await.map_err(not_loaded)?.sequence;
    let batches = batches(engine, inventory, after, reached).await?;
    let is_all = batches.last().map_or(after, |batch| batch.sequence) == reached;
    let changes = batches.iter().flat_map(|batch| batch.changes.iter());
    Ok(is_all.then(|| changes.filter_map(Change::booking).collect()))
}

/// Reads what was some time ago where waiting is allowed, unless that was too much a moment ago. `None` if it cannot be told.
async fn read_past<T: Send + 'static>(
    not_until: &mut Option<Instant>,
    read: impl FnOnce() -> Result<Option<T>, LoadError> + Send + 'static,
) -> Result<Option<T>, ReadError> {
    if not_until.is_some_and(|until| Instant::now() < until) {
        return Ok(None);
    }
    match tokio::task::spawn_blocking(read).await.expect("reading does not panic") {
        Ok(Some(past)) => return Ok(Some(past)),
        Ok(None) => {}
        Err(LoadError::Store(error)) => return Err(not_read(&error)),
        // It was cut meanwhile, or is damaged: whoever reads it for more than this says so.
        Err(error) => tracing::warn!(%error, "the past of an inventory cannot be read"),
    }
    *not_until = Some(Instant::now() + PAST_TRIED_EVERY);
    Ok(None)
}

fn not_read(error: &StoreError) -> ReadError {
    match error {
        StoreError::Unavailable(_) => ReadError::Later,
        error => ReadError::Unreadable(error.to_string()),
    }
}

fn not_loaded(error: SubmitError) -> ReadError {
    match error {
        SubmitError::Overloaded { .. }
        | SubmitError::Unavailable { .. }
        | SubmitError::OutcomeUnknown
        | SubmitError::AlreadyDecided
        | SubmitError::Stopped => ReadError::Later,
        SubmitError::NoSuchInventory => ReadError::Gone,
        SubmitError::Damaged(problem) => ReadError::Unreadable(problem.to_string()),
    }
}

struct Reader<'a> {
    stock: &'a StockView,
    topics: &'a [Topic],
    cursor: Cursor,
    news: Vec<News>,
    /// How many changes of each booking are still to be read.
    to_come: HashMap<BookingId, u32>,
    /// Bookings as they were after the last change that was read: those that were made in these batches, and those of which it had to be
    /// found out what they were before.
    seen: HashMap<BookingId, Booking>,
    /// Others that somebody is told of, as they are now.
    now: HashMap<BookingId, Arc<Booking>>,
    /// By sequence, if this webhook is told what sells out or comes back.
    touched: HashMap<u64, Touched>,
    /// The stock after batches that do not bring it along.
    stocks: HashMap<u64, Arc<StockView>>,
}

impl<'a> Reader<'a> {
    fn new(cursor: &Cursor, stock: &'a StockView, batches: &[Arc<Batch>], topics: &'a [Topic]) -> Reader<'a> {
        let mut to_come = HashMap::new();
        for id in batches.iter().flat_map(|batch| batch.changes.iter()).filter_map(Change::booking) {
            *to_come.entry(id).or_default() += 1;
        }
        Reader {
            stock,
            topics,
            cursor: cursor.clone(),
            news: Vec::new(),
            to_come,
            seen: HashMap::new(),
            now: HashMap::new(),
            touched: HashMap::new(),
            stocks: HashMap::new(),
        }
    }

    /// What a change is called, if this webhook is told of it.
    fn topic_of(&self, change: &Change) -> Option<Topic> {
        topic_of(change).filter(|topic| self.topics.contains(topic))
    }

    /// Looks up the bookings that these batches change and did not make. What is changed once, and was not changed since, is now as it
    /// was then. What others were before is read from the journal, unless that is too long.
    async fn find_bookings(
        &mut self,
        engine: &Engine,
        inventory: InventoryNumber,
        batches: &[Arc<Batch>],
    ) -> Result<(), ReadError> {
        let Some(last) = batches.last().map(|batch| batch.sequence) else { return Ok(()) };
        let mut made = HashSet::new();
        for change in batches.iter().flat_map(|batch| batch.changes.iter()) {
            if let Change::Booked(booking) = change {
                made.insert(booking.id);
            } else if let Some(id) = change.booking()
                && self.topic_of(change).is_some()
                && !made.contains(&id)
                && !self.now.contains_key(&id)
            {
                let found = engine.bookings_by_id(inventory, &[id]).await.map_err(not_loaded)?;
                self.now.extend(found.into_iter().map(|now| (id, now)));
            }
        }
        if self.now.is_empty() {
            return Ok(());
        }
        let since =
            if last == self.stock.sequence { changed_since(engine, inventory, last).await? } else { None };
        let is_in_doubt =
            |id: &BookingId| self.to_come[id] > 1 || since.as_ref().is_none_or(|since| since.contains(id));
        let in_doubt: Vec<BookingId> = self.now.keys().copied().filter(is_in_doubt).collect();
        if in_doubt.is_empty() {
            return Ok(());
        }
        let (engine, before) = (engine.clone(), self.cursor.sequence);
        let read = move || engine.bookings_after(inventory, before, &in_doubt);
        let found = read_past(&mut self.cursor.no_past_bookings_until, read).await?;
        let found = found.into_iter().flatten();
        self.seen.extend(found.map(|booking| (booking.id, Arc::unwrap_or_clone(booking))));
        Ok(())
    }

    fn tells_sales(&self) -> bool {
        self.topics.contains(&Topic::SoldOut) || self.topics.contains(&Topic::BackOnSale)
    }

    /// Finds out what the batches touched, and reads the stock after those that do not bring it along from the journal, unless that is too
    /// long.
    async fn find_stocks(
        &mut self,
        engine: &Engine,
        inventory: InventoryNumber,
        batches: &[Arc<Batch>],
    ) -> Result<(), ReadError> {
        if !self.tells_sales() {
            return Ok(());
        }
        let all = touched_by(engine, inventory, self.stock, batches).await.map_err(not_loaded)?;
        let touching: Vec<_> = batches.iter().zip(all).filter(|(_, touched)| !touched.is_nothing()).collect();
        let wants_stock = |batch: &Batch| batch.stock.is_none() && batch.sequence != self.stock.sequence;
        let mut wanted: Vec<u64> = touching
            .iter()
            .map(|(batch, _)| &**batch)
            .filter(|batch| wants_stock(batch))
            .map(|batch| batch.sequence)
            .collect();
        let begin = self.cursor.sequence;
        let wants_beginning = !touching.is_empty() && !self.cursor.sold_out.is_known() && begin > 0;
        if wants_beginning {
            wanted.insert(0, begin);
        }
        if let (Some(&first), Some(&last)) = (wanted.first(), wanted.last()) {
            let engine = engine.clone();
            let read = move || engine.stocks(inventory, first, last);
            let found = read_past(&mut self.cursor.no_past_stock_until, read).await?;
            self.stocks = (first..).zip(found.into_iter().flatten()).collect();
        }
        if wants_beginning && let Some(stock) = self.stocks.get(&begin) {
            self.cursor.sold_out = SoldOut::as_of(stock);
        }
        self.touched = touching.into_iter().map(|(batch, touched)| (batch.sequence, touched)).collect();
        Ok(())
    }

    fn read(&mut self, batch: &Batch) {
        let mut at = Timestamp::default();
        for (index, (heading, change)) in (0..).zip(headed(&batch.changes)) {
            at = heading.at;
            let Some(id) = change.booking() else { continue };
            let Some(booking) = self.booking(id, heading, change) else { continue };
            if let Some(topic) = self.topic_of(change) {
                let body = self.booking_body(topic, &booking, change, heading.at, batch.sequence);
                let contact = booking.contact().cloned();
                self.news.push(News { topic, sequence: batch.sequence, index, body, contact });
            }
        }
        self.cursor.sequence = batch.sequence;
        if let Some(touched) = self.touched.remove(&batch.sequence) {
            self.cursor.sold_out.touch(touched);
        }
        let read = self.stocks.remove(&batch.sequence);
        let now = (batch.sequence == self.stock.sequence).then_some(self.stock);
        if let Some(stock) = batch.stock.as_deref().or(read.as_deref()).or(now) {
            let index = u32::try_from(batch.changes.len()).expect("batches are bounded");
            self.tell_sales(stock, at, batch.sequence, index);
        }
    }

    /// Compares what was touched with the stock after a batch.
    fn tell_sales(&mut self, stock: &StockView, at: Timestamp, sequence: u64, first_index: u32) {
        let changed = self.cursor.sold_out.settle(stock, at).into_iter();
        let told = changed.filter(|(topic, _)| self.topics.contains(topic));
        let news = (first_index..).zip(told).map(|(index, (topic, sellable))| News {
            topic,
            sequence,
            index,
            body: envelope(topic, at, sale_body(stock, sellable, sequence)),
            contact: None,
        });
        self.news.extend(news);
    }

    /// A booking as a change left it, if somebody is told of it.
    ///
    /// If nobody knows any more what it was before, it is what it is now, with what this change did to it.
    fn booking(&mut self, id: BookingId, heading: Heading, change: &Change) -> Option<Booking> {
        let to_come = self.to_come.get_mut(&id).expect("all changes were counted");
        *to_come -= 1;
        let to_come = *to_come;
        if let Change::Booked(booking) = change {
            self.seen.insert(id, Booking::clone(booking));
            return Some(Booking::clone(booking));
        }
        if let Some(before) = self.seen.get(&id) {
            let booking = after(before, change, heading.at, before.version + 1);
            self.seen.insert(id, booking.clone());
            return Some(booking);
        }
        let now = self.now.get(&id)?;
        Some(after(now, change, heading.at, now.version.saturating_sub(to_come)))
    }

    fn booking_body(
        &self,
        topic: Topic,
        booking: &Booking,
        change: &Change,
        at: Timestamp,
        sequence: u64,
    ) -> String {
        let as_of = AsOf { sequence, at };
        let mut data = BookingBody::new(booking, kind_of(self.stock), self.stock, as_of, None);
        if let Change::Moved { from, units, .. } = change {
            data.price_difference = Some(units.total_price().0 - from.total_price().0);
        }
        envelope(topic, at, data)
    }
}

fn envelope(topic: Topic, at: Timestamp, data: impl Serialize) -> String {
    let envelope = Envelope { r#type: topic, timestamp: Moment(at), data };
    serde_json::to_string(&envelope).expect("messages are plain data")
}

fn sale_body(stock: &StockView, sellable: Sellable, sequence: u64) -> SaleBody<'_> {
    let kind = kind_of(stock);
    let of = |wanted: InventoryKind| (kind == wanted).then_some(stock.terms.id.as_str());
    let (slot, boxed) = match sellable {
        Sellable::Event => (None, None),
        Sellable::Slot(slot) => (Some(slot.to_string()), None),
        Sellable::Box(number) => (None, Some(box_id(stock, number))),
    };
    SaleBody {
        event: of(InventoryKind::Event),
        schedule: of(InventoryKind::Schedule),
        shop: of(InventoryKind::Shop),
        slot,
        r#box: boxed,
        sequence,
    }
}

/// What a change of a booking is called, if anybody is told.
pub(crate) fn topic_of(change: &Change) -> Option<Topic> {
    match change {
        Change::Booked(booking) => Some(match booking.status {
            Status::OnHold { .. } => Topic::Held,
            Status::Confirmed { .. }
            | Status::Redeemed { .. }
            | Status::Cancelled { .. }
            | Status::Expired { .. } => Topic::Confirmed,
        }),
        Change::Confirmed { .. } | Change::Revived { .. } => Some(Topic::Confirmed),
        Change::Cancelled { .. } => Some(Topic::Cancelled),
        Change::Moved { .. } => Some(Topic::Moved),
        Change::Redeemed { .. } | Change::PartRedeemed { .. } => Some(Topic::Redeemed),
        Change::Unredeemed { .. } => Some(Topic::Unredeemed),
        Change::Expired { .. } => Some(Topic::Expired),
        Change::Extended { .. }
        | Change::Act { .. }
        | Change::EventCreated(_)
        | Change::ScheduleCreated(_)
        | Change::ShopCreated(_)
        | Change::TermsPatched(_)
        | Change::PricesPatched { .. }
        | Change::SeatsBlocked(_)
        | Change::SeatsUnblocked(_)
        | Change::PatternPatched(_)
        | Change::SlotsAdded(_)
        | Change::SlotsRemoved(_)
        | Change::SlotPatched { .. }
        | Change::RolledThrough(_)
        | Change::BoxAdded(_)
        | Change::BoxPatched(_)
        | Change::TicketsImported(_)
        | Change::ContactForgotten { .. }
        | Change::Remembered { .. }
        | Change::KeysForgotten { .. }
        | Change::EventInfoPatched(_)
        | Change::EventCancelled { .. }
        | Change::EventDeleted => None,
    }
}

/// A booking right after a change, from what it was before or became later.
fn after(other: &Booking, change: &Change, at: Timestamp, version: u32) -> Booking {
    let mut booking = Booking { version, ..other.clone() };
    if let Change::Moved { units, .. } | Change::Revived { units, .. } = change {
        booking.units = Units::clone(units);
    }
    if let Change::Confirmed { payment_reference, .. } | Change::Revived { payment_reference, .. } = change {
        booking.status = Status::Confirmed { confirmed_at: at };
        booking.details = other.details_with_payment(payment_reference.clone());
    }
    if let Change::Revived { redeem_code, .. } = change {
        booking.redeem_code = *redeem_code;
    }
    if let Change::Extended { expires_at, .. } = change {
        booking.status = Status::OnHold { expires_at: *expires_at };
    }
    let (expires_at, confirmed_at) = times_of(other.status);
    if let Change::Cancelled { .. } = change {
        booking.status = Status::Cancelled { confirmed_at, cancelled_at: at };
    }
    if let Change::Redeemed { .. } = change {
        let confirmed_at = confirmed_at.unwrap_or(at);
        booking.status = Status::Redeemed { confirmed_at, redeemed_at: at };
        booking.details = other.redeemed(at).details;
    }
    if let Change::PartRedeemed { part, .. } = change {
        booking.status = Status::Confirmed { confirmed_at: confirmed_at.unwrap_or(at) };
        booking.details = other.part_redeemed(part, at).details;
    }
    if let Change::Unredeemed { part, redeem_code, .. } = change {
        booking = Booking { version, ..other.unredeemed(part.as_deref(), *redeem_code) };
    }
    if let Change::Expired { .. } = change {
        booking.status = Status::Expired { expires_at: expires_at.unwrap_or(at) };
    }
    booking
}

/// When a hold ends or ended, and when it was confirmed, as far as a status tells.
fn times_of(status: Status) -> (Option<Timestamp>, Option<Timestamp>) {
    match status {
        Status::OnHold { expires_at } | Status::Expired { expires_at } => (Some(expires_at), None),
        Status::Confirmed { confirmed_at } | Status::Redeemed { confirmed_at, .. } => {
            (None, Some(confirmed_at))
        }
        Status::Cancelled { confirmed_at, .. } => (None, confirmed_at),
    }
}

#[cfg(test)]
mod tests {
    use boxoffice_core::ids::{Actor, RedeemCode};
    use boxoffice_core::money::Money;

    use super::*;

    const ID: BookingId = BookingId::from_bytes([1; 16]);

    fn held() -> Booking {
        Booking {
            id: ID,
            customer: "ann".into(),
            status: Status::OnHold { expires_at: Timestamp(900) },
            units: Units::Box { number: 0, quantity: 1, price: Money(5) },
            redeem_code: RedeemCode::from_random(1),
            created_by: Actor(0),
            created_at: Timestamp(0),
            details: None,
            version: 1,
        }
    }

    #[test]
    fn a_booking_is_told_as_each_change_left_it() {
        let confirmed = Change::Confirmed { booking: ID, payment_reference: Some("pay-1".into()) };
        let redeemed = Change::Redeemed { booking: ID, forced: false };
        let cancelled = Change::Cancelled { booking: ID, reason: None };
        let expired = Change::Expired { booking: ID };
        let extended = Change::Extended { booking: ID, expires_at: Timestamp(990) };
        let rows: [(&[&Change], Status); 6] = [
            (&[&confirmed], Status::Confirmed { confirmed_at: Timestamp(10) }),
            (
                &[&confirmed, &redeemed],
                Status::Redeemed { confirmed_at: Timestamp(10), redeemed_at: Timestamp(20) },
            ),
            (
                &[&confirmed, &cancelled],
                Status::Cancelled { confirmed_at: Some(Timestamp(10)), cancelled_at: Timestamp(20) },
            ),
            (&[&cancelled], Status::Cancelled { confirmed_at: None, cancelled_at: Timestamp(10) }),
            (&[&extended], Status::OnHold { expires_at: Timestamp(990) }),
            (&[&extended, &expired], Status::Expired { expires_at: Timestamp(990) }),
        ];
        for (changes, status) in rows {
            let mut booking = held();
            for (number, change) in (1..).zip(changes) {
                booking = after(&booking, change, Timestamp(10 * number), booking.version + 1);
            }
            assert_eq!(booking.status, status, "{changes:?}");
            assert_eq!(booking.version as usize, 1 + changes.len());
        }
    }

    #[test]
    fn a_change_can_be_told_from_what_the_booking_became_later() {
        let confirmed = Change::Confirmed { booking: ID, payment_reference: Some("pay-1".into()) };
        let redeemed = Status::Redeemed { confirmed_at: Timestamp(10), redeemed_at: Timestamp(20) };
        let now = Booking { status: redeemed, version: 3, ..held() };
        let told = after(&now, &confirmed, Timestamp(10), 2);
        assert_eq!(told.status, Status::Confirmed { confirmed_at: Timestamp(10) });
        assert_eq!(told.payment_reference().map(|reference| &**reference), Some("pay-1"));
    }
}
