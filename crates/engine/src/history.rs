//! What an inventory was some time ago: its stock and its bookings, made again from the journal.

use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_core::change::Change;
use boxoffice_core::codec;
use boxoffice_core::ids::BookingId;
use boxoffice_core::inventory::Inventory;

use crate::ids::InventoryNumber;
use crate::limits::{HISTORY_BYTES_MAX, JOURNAL_READ_BYTES, PAST_BOOKINGS_BYTES_MAX};
use crate::load::{Chain, LoadError, catching_panics};
use crate::store::Store;
use crate::view::{StockView, Touched};

/// The stock after each batch from `first` to `last`, in order; `None` if the journal no longer reaches back to the first, does
/// not reach the last, or if more would have to be read than is worth it.
pub(crate) fn stocks(
    store: &dyn Store,
    number: InventoryNumber,
    first: u64,
    last: u64,
) -> Result<Option<Vec<Arc<StockView>>>, LoadError> {
    catching_panics(number, || {
        let Some(mut past) = Past::load(store, number, first, u64::MAX)? else { return Ok(None) };
        let mut stocks: Vec<Arc<StockView>> = Vec::new();
        if past.chain.sequence == first {
            stocks.extend(StockView::new(&past.inventory).map(Arc::new));
        }
        let is_told =
            past.replay(store, last, HISTORY_BYTES_MAX, |inventory, sequence, changes| {
                match stocks.last() {
                    Some(before) => {
                        let stock = before.refreshed(inventory, &Touched::by(changes, inventory));
                        stocks.push(Arc::new(stock));
                    }
                    None if sequence == first => stocks.extend(StockView::new(inventory).map(Arc::new)),
                    None => {}
                }
            })?;
        Ok(is_told.then_some(stocks))
    })
}

/// The stock right after a batch; `None` if that cannot be told, as above, or its snapshot is too long.
pub(crate) fn stock(
    store: &dyn Store,
    number: InventoryNumber,
    sequence: u64,
) -> Result<Option<Arc<StockView>>, LoadError> {
    catching_panics(number, || {
        let bytes_max = PAST_BOOKINGS_BYTES_MAX as u64;
        let Some(mut past) = Past::load(store, number, sequence, bytes_max)? else { return Ok(None) };
        let is_reached = past.replay(store, sequence, PAST_BOOKINGS_BYTES_MAX, |_, _, _| {})?;
        Ok(StockView::new(&past.inventory).filter(|_| is_reached).map(Arc::new))
    })
}

/// Those of some bookings that were there after a batch, as they were then; `None` if that cannot be told, as above.
pub(crate) fn bookings(
    store: &dyn Store,
    number: InventoryNumber,
    ids: &[BookingId],
    sequence: u64,
) -> Result<Option<Vec<Arc<Booking>>>, LoadError> {
    catching_panics(number, || {
        let bytes_max = PAST_BOOKINGS_BYTES_MAX as u64;
        let Some(mut past) = Past::load(store, number, sequence, bytes_max)? else { return Ok(None) };
        let is_told = past.replay(store, sequence, PAST_BOOKINGS_BYTES_MAX, |_, _, _| {})?;
        let there = |id: &BookingId| past.inventory.booking(*id).cloned();
        Ok(is_told.then(|| ids.iter().filter_map(there).collect()))
    })
}

/// An inventory on its way from its snapshot, or from nothing, to a batch of the past.
struct Past {
    number: InventoryNumber,
    inventory: Inventory,
    chain: Chain,
}

impl Past {
    /// From where `first` can be reached, if there is such a place, and if its snapshot is not longer than that.
    fn load(
        store: &dyn Store,
        number: InventoryNumber,
        first: u64,
        snapshot_bytes_max: u64,
    ) -> Result<Option<Past>, LoadError> {
        let (mut inventory, mut chain) = (Inventory::default(), Chain::default());
        match store.snapshot(number)? {
            Some((manifest, contents)) if manifest.sequence <= first => {
                if manifest.bytes > snapshot_bytes_max {
                    return Ok(None);
                }
                inventory = codec::decode_inventory(&contents).map_err(|error| LoadError::Snapshot {
                    inventory: number,
                    sequence: manifest.sequence,
                    problem: error.to_string(),
                })?;
                chain = Chain { sequence: manifest.sequence, hash: manifest.hash };
            }
            // Of what was before it, the beginning is cut off.
            Some((manifest, _)) if manifest.journal_from > 1 => return Ok(None),
            Some(_) | None => {}
        }
        Ok(Some(Past { number, inventory, chain }))
    }

    /// Goes on to a batch, and shows the inventory after each, with what it changed; whether that batch was reached.
    fn replay(
        &mut self,
        store: &dyn Store,
        last: u64,
        bytes_max: usize,
        mut show: impl FnMut(&Inventory, u64, &[Change]),
    ) -> Result<bool, LoadError> {
        let mut bytes_read = 0;
        while self.chain.sequence < last {
            let records = store.records(self.number, self.chain.sequence, JOURNAL_READ_BYTES)?;
            bytes_read += records.iter().map(Vec::len).sum::<usize>();
            if records.is_empty() || bytes_read > bytes_max {
                return Ok(false);
            }
            let left = usize::try_from(last - self.chain.sequence).unwrap_or(usize::MAX);
            for bytes in records.iter().take(left) {
                let changes = self.chain.follow(self.number, bytes)?.changes;
                self.inventory.replay(&changes);
                show(&self.inventory, self.chain.sequence, &changes);
            }
        }
        Ok(true)
    }
}
