//! What sells out and comes back: decided from the stock after each batch, by what the batch touched.
//!
//! A cursor keeps what is sold out as of its sequence, as far as its webhook was told. Where the stock after a batch cannot be read any more, what the
//! batch touched is kept with it and compared with the next stock that can: then a sell-out and a return in between are not told, and the last message is right.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use boxoffice_core::booking::Units;
use boxoffice_core::change::Change;
use boxoffice_core::ids::BookingId;
use boxoffice_core::rules::InventoryStatus;
use boxoffice_core::time::{SlotId, Timestamp};
use boxoffice_engine::view::{KindView, StockView};
use boxoffice_engine::{Batch, Engine, InventoryNumber, SubmitError};
use serde::{Deserialize, Serialize};

use super::Topic;

/// What sells out by itself: an event as a whole, a slot, or a box by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Sellable {
    Event,
    Slot(SlotId),
    Box(u32),
}

/// What a webhook was told is sold out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct SoldOut {
    /// As of the cursor's sequence; `None` until the first look at an inventory that is older than the webhook.
    known: Option<BTreeSet<Sellable>>,
    /// Touched by batches after which the stock could not be read.
    touched: BTreeSet<Sellable>,
}

/// What a batch may have changed the sale of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Touched {
    sellables: BTreeSet<Sellable>,
    /// Also whatever is sold out: it may be open for sale again.
    terms: bool,
}

/// How the sale of something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sale {
    /// Units can be booked, at the latest when the sales window opens.
    Open,
    /// There are units, and they cannot be booked.
    Closed,
    /// Nothing is left, open or closed.
    SoldOut,
    /// It will never be sold again.
    Over,
}

impl Touched {
    pub(super) fn is_nothing(&self) -> bool {
        self.sellables.is_empty() && !self.terms
    }
}

impl SoldOut {
    /// What is sold out is not told to a webhook that begins with this stock.
    pub(super) fn as_of(stock: &StockView) -> SoldOut {
        SoldOut { known: Some(sold_out_in(stock)), touched: BTreeSet::new() }
    }

    pub(super) fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// What was never looked at counts as on sale from here on: a message too many leaves nothing wrong.
    pub(super) fn touch(&mut self, touched: Touched) {
        let known = self.known.get_or_insert_default();
        self.touched.extend(touched.sellables);
        if touched.terms {
            self.touched.extend(known.iter());
        }
    }

    /// After a gap in the journal everything may have changed.
    pub(super) fn touch_all(&mut self, stock: &StockView) {
        self.touched.extend(sold_out_in(stock));
        self.touched.extend(self.known.get_or_insert_default().iter());
    }

    /// Compares what was touched with the stock after it, and says what is to be told.
    pub(super) fn settle(&mut self, stock: &StockView, at: Timestamp) -> Vec<(Topic, Sellable)> {
        let mut news = Vec::new();
        if self.touched.is_empty() {
            return news;
        }
        let known = self.known.get_or_insert_default();
        for sellable in std::mem::take(&mut self.touched) {
            match sale_of(sellable, stock, at) {
                Sale::Open => {
                    if known.remove(&sellable) {
                        news.push((Topic::BackOnSale, sellable));
                    }
                }
                Sale::Closed => {}
                Sale::SoldOut => {
                    if known.insert(sellable) {
                        news.push((Topic::SoldOut, sellable));
                    }
                }
                Sale::Over => {
                    known.remove(&sellable);
                }
            }
        }
        // Slots are in order of time, and those that are over are never touched again.
        while known.first().is_some_and(|first| sale_of(*first, stock, at) == Sale::Over) {
            known.pop_first();
        }
        news
    }
}

/// Everything of which nothing is left.
fn sold_out_in(stock: &StockView) -> BTreeSet<Sellable> {
    match &stock.kind {
        KindView::Event(event) => {
            (event.totals.available == 0).then_some(Sellable::Event).into_iter().collect()
        }
        KindView::Schedule(schedule) => {
            let full = schedule.slots.iter().filter(|(_, slot)| slot.pool.available() == 0);
            full.map(|(id, _)| Sellable::Slot(*id)).collect()
        }
        KindView::Shop(shop) => {
            let numbered = (0..).zip(&shop.boxes);
            let empty = numbered.filter(|(_, boxed)| boxed.pool.available() == 0);
            empty.map(|(number, _)| Sellable::Box(number)).collect()
        }
    }
}

fn sale_of(sellable: Sellable, stock: &StockView, at: Timestamp) -> Sale {
    let (available, is_closed) = match (sellable, &stock.kind) {
        (Sellable::Event, KindView::Event(event)) => (event.totals.available, false),
        (Sellable::Slot(id), KindView::Schedule(schedule)) => match schedule.slots.get(&id) {
            Some(slot) if !slot.is_past(at) => (slot.pool.available(), slot.closed),
            Some(_) | None => return Sale::Over,
        },
        (Sellable::Box(number), KindView::Shop(shop)) => match shop.boxes.get(number as usize) {
            // Its pickup window may still be moved.
            Some(boxed) => (boxed.pool.available(), boxed.closed || boxed.has_ended(at)),
            None => return Sale::Over,
        },
        (Sellable::Event | Sellable::Slot(_) | Sellable::Box(_), _) => return Sale::Over,
    };
    let sales_ended = stock.terms.sales.closes_at.is_some_and(|closes_at| at >= closes_at);
    match stock.terms.status {
        InventoryStatus::Cancelled | InventoryStatus::Deleted => Sale::Over,
        InventoryStatus::Open | InventoryStatus::Closed if available == 0 => Sale::SoldOut,
        InventoryStatus::Open if !is_closed && !sales_ended => Sale::Open,
        InventoryStatus::Open | InventoryStatus::Closed => Sale::Closed,
    }
}

/// What each of some batches in a row touched.
///
/// A booking that ends is looked up to find its slot or box, and was there unless a later change says where it was before. Later than these batches only
/// one that expired can have moved, after a late payment: then the slot that it left is touched by that change, and told as of then.
pub(super) async fn touched_by(
    engine: &Engine,
    inventory: InventoryNumber,
    stock: &StockView,
    batches: &[Arc<Batch>],
) -> Result<Vec<Touched>, SubmitError> {
    let mut before: HashMap<BookingId, Sellable> = HashMap::new();
    let mut all = Vec::with_capacity(batches.len());
    for batch in batches.iter().rev() {
        let mut touched = Touched::default();
        for change in batch.changes.iter().rev() {
            touched.note(change);
            if let Change::Moved { booking, from, .. } | Change::Revived { booking, from, .. } = change {
                before.insert(*booking, sellable_of(from));
            } else if let Change::Cancelled { booking, .. } | Change::Expired { booking } = change {
                let sellable = match (&stock.kind, before.get(booking)) {
                    (KindView::Event(_), _) => Some(Sellable::Event),
                    (KindView::Schedule(_) | KindView::Shop(_), Some(sellable)) => Some(*sellable),
                    (KindView::Schedule(_) | KindView::Shop(_), None) => {
                        let found = engine.bookings_by_id(inventory, &[*booking]).await?.pop();
                        found.map(|booking| sellable_of(&booking.units))
                    }
                };
                touched.sellables.extend(sellable);
            }
        }
        all.push(touched);
    }
    all.reverse();
    Ok(all)
}

fn sellable_of(units: &Units) -> Sellable {
    match units {
        Units::Event { .. } => Sellable::Event,
        Units::Slot { slot, .. } => Sellable::Slot(*slot),
        Units::Box { number, .. } => Sellable::Box(*number),
    }
}

impl Touched {
    /// Notes what a change names. What is created does not come back, even where it was not for sale before.
    fn note(&mut self, change: &Change) {
        match change {
            Change::Booked(booking) => self.note_units(&booking.units),
            Change::Revived { units, .. } => self.note_units(units),
            Change::Moved { from, units, .. } => {
                self.note_units(from);
                self.note_units(units);
            }
            Change::SeatsBlocked(_)
            | Change::SeatsUnblocked(_)
            | Change::EventCancelled { .. }
            | Change::EventDeleted => {
                self.sellables.insert(Sellable::Event);
            }
            Change::SlotPatched { slot, .. } => {
                self.sellables.insert(Sellable::Slot(*slot));
            }
            Change::SlotsRemoved(slots) => self.sellables.extend(slots.iter().copied().map(Sellable::Slot)),
            Change::BoxPatched(properties) => {
                self.sellables.insert(Sellable::Box(properties.number));
            }
            Change::TermsPatched(_) => self.terms = true,
            Change::Act { .. }
            | Change::EventCreated(_)
            | Change::ScheduleCreated(_)
            | Change::ShopCreated(_)
            | Change::PricesPatched { .. }
            | Change::PatternPatched(_)
            | Change::SlotsAdded(_)
            | Change::RolledThrough(_)
            | Change::BoxAdded(_)
            | Change::TicketsImported(_)
            | Change::Confirmed { .. }
            | Change::Extended { .. }
            // Their units are found by the booking.
            | Change::Cancelled { .. }
            | Change::Expired { .. }
            | Change::Redeemed { .. }
            | Change::PartRedeemed { .. }
            | Change::Unredeemed { .. }
            | Change::ContactForgotten { .. }
            | Change::Remembered { .. }
            | Change::KeysForgotten { .. }
            | Change::EventInfoPatched(_) => {}
        }
    }

    fn note_units(&mut self, units: &Units) {
        self.sellables.insert(sellable_of(units));
    }
}

#[cfg(test)]
mod tests;
