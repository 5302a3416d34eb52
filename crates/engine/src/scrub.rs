//! The scrubber: compares what readers see with what the journals say, in the background, and the journals with the snapshots.
//!
//! It takes the inventories one after the other. It replays each journal from nothing (from the snapshot, where its beginning
//! was cut off) to the sequence of the view, makes the view anew from that, and recounts every counter from the bookings. It
//! works a tenth of the time, holds one inventory at a time, and skips those above [`SCRUB_BYTES_MAX`], which are logged and counted. A view that
//! moves on while its bookings are compared is compared again in the next pass. [`crate::verify`] proves more, offline.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_core::booking::Booking;
use boxoffice_core::codec;
use boxoffice_core::inventory::Inventory;

use crate::ids::InventoryNumber;
use crate::limits::{JOURNAL_READ_BYTES, SCRUB_BYTES_MAX};
use crate::load::{Chain, LoadError, catching_panics};
use crate::measure;
use crate::published::{Entry, Published};
use crate::record;
use crate::store::{Store, StoreError};
use crate::threads::Shared;
use crate::verify::recount;
use crate::view::StockView;

/// It rests nine times as long as it worked.
const REST_FACTOR: u32 = 9;
/// It rests when it has worked for so long.
const WORK_MAX: Duration = Duration::from_millis(5);
/// Bookings that are looked at together: commits wait meanwhile.
const BOOKINGS_AT_ONCE: usize = 256;

/// What is not as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InconsistencyKind {
    /// A record of the journal, or the head, is not what was written.
    Journal,
    /// The snapshot is not the state that the journal leads to.
    Snapshot,
    /// The counters or seats that readers see.
    Stock,
    /// The bookings that readers see.
    Bookings,
    /// The counters are not the sum of the bookings.
    Recount,
}

impl InconsistencyKind {
    /// Every one.
    pub const ALL: [InconsistencyKind; 5] = [
        InconsistencyKind::Journal,
        InconsistencyKind::Snapshot,
        InconsistencyKind::Stock,
        InconsistencyKind::Bookings,
        InconsistencyKind::Recount,
    ];

    /// As the metric has it.
    pub fn word(self) -> &'static str {
        match self {
            InconsistencyKind::Journal => "journal",
            InconsistencyKind::Snapshot => "snapshot",
            InconsistencyKind::Stock => "stock",
            InconsistencyKind::Bookings => "bookings",
            InconsistencyKind::Recount => "recount",
        }
    }
}

/// The first difference in an inventory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inconsistency {
    pub(crate) kind: InconsistencyKind,
    pub(crate) difference: String,
}

/// Why an inventory is not found sound.
enum ScrubError {
    Inconsistent(Inconsistency),
    /// The store is away: all come again in the next pass.
    Unavailable(StoreError),
    /// Its snapshot and journal together are larger than the bound of the pass.
    TooLarge,
}

/// What a pass found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) inconsistencies: Vec<(InventoryNumber, Inconsistency)>,
    /// Inventories that were too large to be compared.
    pub(crate) skipped: Vec<InventoryNumber>,
}

impl From<LoadError> for ScrubError {
    fn from(error: LoadError) -> ScrubError {
        match error {
            LoadError::Store(error @ (StoreError::Unavailable(_) | StoreError::Failed(_))) => {
                ScrubError::Unavailable(error)
            }
            error @ LoadError::Snapshot { .. } => {
                inconsistent(InconsistencyKind::Snapshot, error.to_string())
            }
            error => inconsistent(InconsistencyKind::Journal, error.to_string()),
        }
    }
}

fn inconsistent(kind: InconsistencyKind, difference: impl Into<String>) -> ScrubError {
    ScrubError::Inconsistent(Inconsistency { kind, difference: difference.into() })
}

/// Bounds how long the scrubber works without a rest, and how much it holds in memory.
struct Limits<'a> {
    shared: &'a Shared,
    /// Of the snapshot and journal of one inventory.
    bytes_max: usize,
    began: Instant,
}

impl Limits<'_> {
    fn rest_if_due(&mut self) {
        let worked = self.began.elapsed();
        if worked >= WORK_MAX {
            rest(self.shared, worked * REST_FACTOR);
            self.began = Instant::now();
        }
    }
}

/// Waits for so long, or until the engine stops; says whether it goes on.
fn rest(shared: &Shared, lasts: Duration) -> bool {
    let until = Instant::now() + lasts;
    shared.scrubber.take(&mut Vec::new(), &mut VecDeque::new(), Some(1), Some(until));
    !shared.scrubber.is_closed()
}

/// A pass every so often, until the engine stops.
pub(crate) fn run_scrubber(shared: &Shared, every: Duration) {
    while rest(shared, every) {
        pass(shared, SCRUB_BYTES_MAX);
    }
}

/// Compares all inventories of at most so many bytes; returns what was found, which is logged and counted.
pub(crate) fn pass(shared: &Shared, bytes_max: usize) -> Findings {
    let mut found = Findings::default();
    // What only the store has is looked at by one of the processes that share it.
    let leads = shared.store.leads().unwrap_or(false);
    for entry in shared.committer.registry.all() {
        if shared.scrubber.is_closed() {
            return found;
        }
        let mut limits = Limits { shared, bytes_max, began: Instant::now() };
        let result = catching_panics(entry.number, || Ok(scrub(&*shared.store, &entry, leads, &mut limits)));
        match result.map_err(ScrubError::from).and_then(|result| result) {
            Ok(()) => {}
            Err(ScrubError::Inconsistent(inconsistency)) => {
                let Inconsistency { kind, difference } = &inconsistency;
                let kind = kind.word();
                tracing::error!(inventory = %entry.name, kind, difference, "inconsistency found");
                measure::inconsistency(kind);
                found.inconsistencies.push((entry.number, inconsistency));
            }
            Err(ScrubError::Unavailable(error)) => {
                tracing::debug!(%error, "the scrubber stops until its next pass");
                return found;
            }
            Err(ScrubError::TooLarge) => {
                tracing::warn!(inventory = %entry.name, bytes_max, "too large for the scrubber; `boxoffice verify` compares it");
                found.skipped.push(entry.number);
            }
        }
        limits.rest_if_due();
    }
    measure::scrub_skipped(found.skipped.len());
    found
}

fn scrub(store: &dyn Store, entry: &Entry, leads: bool, limits: &mut Limits<'_>) -> Result<(), ScrubError> {
    match entry.published() {
        Some(published) => scrub_view(store, entry.number, &published, limits),
        None if leads => scrub_store(store, entry.number, limits),
        None => Ok(()),
    }
}

/// What readers see, and the store up to there.
fn scrub_view(
    store: &dyn Store,
    number: InventoryNumber,
    published: &Published,
    limits: &mut Limits<'_>,
) -> Result<(), ScrubError> {
    let stock = published.stock();
    let Some((inventory, _)) = replay_if_kept(store, number, stock.sequence, limits)? else {
        return Ok(());
    };
    if let Some(difference) = stock_difference(&stock, &inventory) {
        return Err(inconsistent(InconsistencyKind::Stock, difference));
    }
    limits.rest_if_due();
    recount(&inventory).map_err(|difference| inconsistent(InconsistencyKind::Recount, difference))?;
    let mut expected = inventory.bookings();
    let mut place = 0;
    loop {
        limits.rest_if_due();
        let (sequence, total, some) = published.bookings_from(place, BOOKINGS_AT_ONCE);
        if sequence != stock.sequence {
            return Ok(());
        }
        if let Some(difference) = bookings_difference(&some, &mut expected) {
            return Err(inconsistent(InconsistencyKind::Bookings, difference));
        }
        place += some.len();
        if place == total {
            let missing = expected.next();
            return missing.map_or(Ok(()), |booking| {
                Err(inconsistent(
                    InconsistencyKind::Bookings,
                    format!("booking {:?} is not shown", booking.id),
                ))
            });
        }
    }
}

fn bookings_difference<'a>(
    shown: &[Option<Arc<Booking>>],
    expected: &mut impl Iterator<Item = &'a Arc<Booking>>,
) -> Option<String> {
    for shown in shown {
        match (shown, expected.next()) {
            (Some(shown), Some(expected)) if shown == expected => {}
            (Some(shown), Some(expected)) => {
                return Some(format!("booking {:?} is shown as {shown:?}, and is {expected:?}", expected.id));
            }
            (Some(shown), None) => {
                return Some(format!("booking {:?} is shown and does not exist", shown.id));
            }
            (None, expected) => {
                let id = expected.map(|booking| booking.id);
                return Some(format!("booking {id:?} is not found by its id"));
            }
        }
    }
    None
}

/// What only the store has.
fn scrub_store(
    store: &dyn Store,
    number: InventoryNumber,
    limits: &mut Limits<'_>,
) -> Result<(), ScrubError> {
    let heads = store.heads_of(&[number]).map_err(LoadError::from)?;
    let Some(head) = heads.first() else {
        return Err(inconsistent(InconsistencyKind::Journal, "the store does not have it"));
    };
    let Some((inventory, chain)) = replay_if_kept(store, number, head.sequence, limits)? else {
        return Ok(());
    };
    if chain.hash != head.hash {
        return Err(inconsistent(InconsistencyKind::Journal, "the journal does not end as the head says"));
    }
    limits.rest_if_due();
    recount(&inventory).map_err(|difference| inconsistent(InconsistencyKind::Recount, difference))
}

/// As [`replay`]. If the journal was cut meanwhile, a gap in it is no finding: the inventory is passed over.
fn replay_if_kept(
    store: &dyn Store,
    number: InventoryNumber,
    last: u64,
    limits: &mut Limits<'_>,
) -> Result<Option<(Inventory, Chain)>, ScrubError> {
    let replayed = replay(store, number, last, limits);
    let Err(ScrubError::Inconsistent(found)) = replayed else { return replayed };
    // In a second reading the journal begins where the newest snapshot says.
    let again = replay(store, number, last, limits)?;
    tracing::debug!(difference = found.difference, "the journal was cut while it was compared");
    Ok(again)
}

/// An inventory as its journal has it at a sequence; `None` if the journal no longer leads there.
fn replay(
    store: &dyn Store,
    number: InventoryNumber,
    last: u64,
    limits: &mut Limits<'_>,
) -> Result<Option<(Inventory, Chain)>, ScrubError> {
    let (mut inventory, mut chain) = (Inventory::default(), Chain::default());
    let snapshot = store.snapshot(number).map_err(LoadError::from)?;
    let mut bytes_read = 0;
    if let Some((manifest, contents)) = &snapshot {
        bytes_read = contents.len();
        if bytes_read > limits.bytes_max {
            return Err(ScrubError::TooLarge);
        }
        if record::hash_of(contents) != manifest.contents {
            return Err(inconsistent(
                InconsistencyKind::Snapshot,
                "the checksum of the snapshot does not match",
            ));
        }
        if manifest.journal_from > 1 {
            // Of an earlier state the beginning is cut off.
            if manifest.sequence > last {
                return Ok(None);
            }
            let decoded = codec::decode_inventory(contents);
            inventory =
                decoded.map_err(|error| inconsistent(InconsistencyKind::Snapshot, error.to_string()))?;
            chain = Chain { sequence: manifest.sequence, hash: manifest.hash };
        }
    }
    while chain.sequence < last {
        let records = store.records(number, chain.sequence, JOURNAL_READ_BYTES).map_err(LoadError::from)?;
        bytes_read += records.iter().map(Vec::len).sum::<usize>();
        if bytes_read > limits.bytes_max {
            return Err(ScrubError::TooLarge);
        }
        if records.is_empty() {
            let difference = format!("the journal ends at {}, and {last} is shown", chain.sequence);
            return Err(inconsistent(InconsistencyKind::Journal, difference));
        }
        let left = usize::try_from(last - chain.sequence).unwrap_or(usize::MAX);
        for bytes in records.iter().take(left) {
            let record = chain.follow(number, bytes)?;
            inventory.replay(&record.changes);
            limits.rest_if_due();
            if let Some((manifest, contents)) = &snapshot
                && manifest.sequence == record.sequence
                && (manifest.hash != record.hash || *contents != codec::encode_inventory(&inventory))
            {
                let difference = "the snapshot is not the state that the journal leads to";
                return Err(inconsistent(InconsistencyKind::Snapshot, difference));
            }
        }
    }
    Ok(Some((inventory, chain)))
}

/// The first difference between what is shown and what is.
fn stock_difference(shown: &StockView, inventory: &Inventory) -> Option<String> {
    let Some(expected) = StockView::new(inventory) else {
        return Some("it is shown and was not created".to_owned());
    };
    shown.first_difference(&expected)
}
