//! What an inventory was: its stock after each batch of some time ago, made again from the journal.

use std::sync::Arc;

use boxoffice_core::codec;
use boxoffice_core::inventory::Inventory;

use crate::ids::InventoryNumber;
use crate::limits::{HISTORY_BYTES_MAX, JOURNAL_READ_BYTES};
use crate::load::{Chain, LoadError, catching_panics};
use crate::store::{Store, Stored};
use crate::view::{StockView, Touched};

/// The stock after each batch from `first` to `last`, in order; `None` if the journal no longer reaches back to the first, does
/// not reach the last, or if more would have to be read than is worth it.
pub(crate) fn stocks(
    store: &dyn Store,
    number: InventoryNumber,
    first: u64,
    last: u64,
) -> Result<Option<Vec<Arc<StockView>>>, LoadError> {
    catching_panics(number, || stocks_trusting(store, number, first, last))
}

fn stocks_trusting(
    store: &dyn Store,
    number: InventoryNumber,
    first: u64,
    last: u64,
) -> Result<Option<Vec<Arc<StockView>>>, LoadError> {
    let Some(Stored { snapshot, .. }) = store.load(number)? else { return Ok(None) };
    let (mut inventory, mut chain) = (Inventory::default(), Chain::default());
    match snapshot {
        Some((manifest, contents)) if manifest.sequence <= first => {
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
    let mut stocks: Vec<Arc<StockView>> = Vec::new();
    if chain.sequence == first {
        stocks.extend(StockView::new(&inventory).map(Arc::new));
    }
    let mut bytes_read = 0;
    while chain.sequence < last {
        let records = store.records(number, chain.sequence, JOURNAL_READ_BYTES)?;
        bytes_read += records.iter().map(Vec::len).sum::<usize>();
        if records.is_empty() || bytes_read > HISTORY_BYTES_MAX {
            return Ok(None);
        }
        for bytes in records.iter().take(usize::try_from(last - chain.sequence).unwrap_or(usize::MAX)) {
            let changes = chain.follow(number, bytes)?.changes;
            inventory.replay(&changes);
            match stocks.last() {
                Some(before) => {
                    let stock = before.refreshed(&inventory, &Touched::by(&changes, &inventory));
                    stocks.push(Arc::new(stock));
                }
                None if chain.sequence == first => stocks.extend(StockView::new(&inventory).map(Arc::new)),
                None => {}
            }
        }
    }
    Ok(Some(stocks))
}
