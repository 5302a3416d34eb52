//! The task that keeps the mirror beside an engine.
//!
//! Every node writes what it committed itself, as soon as it is committed: so the work is where the sales are, and no node
//! has to hold what others sell. What a node committed and never wrote, because it died or because Redis was away, is
//! noticed by the others that have the inventory in memory ([`Keeper::sweep`]), or by the one that leads ([`repair`]). The sequence
//! guards every write, so it does no harm if several try.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::booking::Booking;
use boxoffice_core::change::Change;
use boxoffice_core::ids::BookingId;
use boxoffice_engine::store::Store;
use boxoffice_engine::view::{KindView, StockView};
use boxoffice_engine::{Engine, InventoryNumber, Listed, Move};
use redis::RedisResult;
use tokio::sync::oneshot;
use tokio::time::MissedTickBehavior;

use super::check::{self, Look};
use super::instance::Instance;
use super::keys::Keys;
use super::rebuild::{self, RebuildError, blocking};
use super::shown::Shown;
use super::write::{self, Guard, Written};

/// Units, of the inventories in memory, that the mirror was last found to show other than they are.
pub const DRIFT: &str = "boxoffice_mirror_drift_units";
/// Inventories in memory that the mirror shows as they were a while ago.
pub const BEHIND: &str = "boxoffice_mirror_behind_inventories";

/// How often a node looks where the mirror stands. What is behind at two looks is written by whoever looks.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// How often the node that leads looks at inventories that nobody may have in memory.
const REPAIR_EVERY: Duration = Duration::from_secs(10);
/// Keys that are compared for each look, on average.
const COMPARED_KEYS_MAX: usize = 1_000;
/// Views that a new one is compared with before the whole is written: the last one that this node knows to have been in the
/// mirror, then what is there. Another node may write between a look and what follows it, so there is a third.
const COMPARISONS_MAX: usize = 3;
/// If more batches were missed, the whole is written: less to read than the journal.
const MISSED_BATCHES_MAX: u64 = 10_000;

/// Keeps the mirror until it is told to finish: then it writes what is left.
pub(super) async fn keep(instance: Arc<Instance>, engine: Engine, mut finish: oneshot::Receiver<()>) {
    let mut moved = engine.moved();
    let mut sweep = tokio::time::interval(SWEEP_EVERY);
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut keeper = Keeper {
        instance,
        engine,
        mirrored: HashMap::new(),
        unwritten: BTreeSet::new(),
        behind: HashMap::new(),
        drift: HashMap::new(),
        last_checked: InventoryNumber(0),
        compared_enough: 0,
        reachable: true,
    };
    let mut finishing = false;
    while !finishing {
        tokio::select! {
            moves = moved.next() => keeper.note(&moves),
            _ = sweep.tick() => {
                let swept = keeper.sweep().await;
                keeper.take_note_of(&swept);
            }
            _ = &mut finish => {
                finishing = true;
                keeper.note(&moved.take());
            }
        }
        if keeper.reachable {
            let written = keeper.write_all().await;
            keeper.take_note_of(&written);
        }
    }
}

struct Keeper {
    instance: Arc<Instance>,
    engine: Engine,
    /// Views that the mirror had when this node last knew. If it has another one since, writing says so.
    mirrored: HashMap<InventoryNumber, Arc<StockView>>,
    /// Inventories that have moved since.
    unwritten: BTreeSet<InventoryNumber>,
    /// Inventories that were behind at the last look, and where they should have been.
    behind: HashMap<InventoryNumber, u64>,
    drift: HashMap<InventoryNumber, u64>,
    /// Inventories in memory are compared in turn.
    last_checked: InventoryNumber,
    /// So many looks more are without comparing: the last inventory was large.
    compared_enough: usize,
    /// Whether Redis answered the last time; if not, the next sweep tries again.
    reachable: bool,
}

impl Keeper {
    fn note(&mut self, moves: &[Move]) {
        for moved in moves {
            if moved.ours {
                self.unwritten.insert(moved.inventory);
            } else if !self.mirrored.contains_key(&moved.inventory) {
                // Whoever committed it writes it.
                let view = self.engine.view_in_memory(moved.inventory);
                self.mirrored.extend(view.map(|view| (moved.inventory, view)));
            }
        }
    }

    fn take_note_of(&mut self, result: &RedisResult<()>) {
        match result {
            Ok(()) if !self.reachable => tracing::info!("the mirror can be written again"),
            Err(error) if self.reachable => {
                tracing::warn!(%error, place = self.instance.place(), "the mirror cannot be written; sales go on");
            }
            Ok(()) | Err(_) => {}
        }
        self.reachable = result.is_ok();
    }

    async fn write_all(&mut self) -> RedisResult<()> {
        while let Some(&number) = self.unwritten.first() {
            self.write(number).await?;
            self.unwritten.remove(&number);
        }
        Ok(())
    }

    async fn write(&mut self, number: InventoryNumber) -> RedisResult<()> {
        let Some((name, keys)) = self.keys(number) else { return Ok(()) };
        // An engine that stops shows what it has; one that cannot read an inventory has said so.
        let Ok(stock) = self.engine.view(number).await else { return Ok(()) };
        let mut before = self.mirrored.get(&number).cloned();
        for _ in 0..COMPARISONS_MAX {
            let from = match before.take() {
                Some(before) => before,
                None => match self.view_of_the_mirror(number, &keys, &stock).await? {
                    Some(shown) => shown,
                    None => break,
                },
            };
            if from.sequence >= stock.sequence {
                return Ok(());
            }
            let Some(changed) = self.changed(number, from.sequence, stock.sequence).await else { break };
            match write::since(&self.instance, &keys, &name, &from, &stock, &changed).await? {
                Written::Done | Written::Already => {
                    self.mirrored.insert(number, stock);
                    return Ok(());
                }
                // Another node has written meanwhile, or the mirror has lost something.
                Written::Missing => {}
            }
        }
        let Ok((_, bookings)) = self.engine.bookings(number).await else { return Ok(()) };
        tracing::info!(%number, sequence = stock.sequence, "the mirror of an inventory is written whole");
        write::whole(&self.instance, &keys, &name, &stock, &bookings, Guard::Version).await?;
        self.mirrored.insert(number, stock);
        Ok(())
    }

    /// The view of the sequence that the mirror has, if it is still in memory; this one if the mirror is as far.
    async fn view_of_the_mirror(
        &self,
        number: InventoryNumber,
        keys: &Keys,
        stock: &Arc<StockView>,
    ) -> RedisResult<Option<Arc<StockView>>> {
        let sequences = write::sequences(&self.instance, std::slice::from_ref(keys)).await?;
        let Some(at) = sequences.first().copied().flatten() else { return Ok(None) };
        if at >= stock.sequence {
            return Ok(Some(Arc::clone(stock)));
        }
        let Ok(mut batches) = self.engine.subscribe(number, at.saturating_sub(1)).await else {
            return Ok(None);
        };
        let batch = tokio::time::timeout(SWEEP_EVERY, batches.next()).await;
        Ok(batch.ok().and_then(Result::ok).and_then(|batch| batch.stock.clone()))
    }

    /// The bookings that changed between two sequences, as they are now.
    async fn changed(&self, number: InventoryNumber, after: u64, through: u64) -> Option<Vec<Arc<Booking>>> {
        if through - after > MISSED_BATCHES_MAX {
            return None;
        }
        let mut batches = self.engine.subscribe(number, after).await.ok()?;
        let mut ids: BTreeSet<BookingId> = BTreeSet::new();
        for _ in after..through {
            ids.extend(batches.next().await.ok()?.changes.iter().filter_map(Change::booking));
        }
        self.engine.bookings_by_id(number, &ids.into_iter().collect::<Vec<_>>()).await.ok()
    }

    /// Looks where the mirror stands, and whether one of the inventories is as it should be.
    async fn sweep(&mut self) -> RedisResult<()> {
        let views = self.engine.views_in_memory();
        let views: Vec<(Listed, Arc<StockView>, Keys)> = views
            .into_iter()
            .filter_map(|(listed, stock)| {
                let keys = Keys::of(&listed.name, self.instance.is_cluster())?;
                Some((listed, stock, keys))
            })
            .collect();
        let in_memory: BTreeSet<InventoryNumber> = views.iter().map(|(listed, ..)| listed.number).collect();
        self.mirrored.retain(|number, _| in_memory.contains(number));
        self.drift.retain(|number, _| in_memory.contains(number));
        let keys: Vec<Keys> = views.iter().map(|(.., keys)| keys.clone()).collect();
        let sequences = match write::sequences(&self.instance, &keys).await {
            Ok(sequences) => sequences,
            Err(error) => {
                metrics::gauge!(BEHIND).set(views.len() as f64);
                return Err(error);
            }
        };
        let known = std::mem::take(&mut self.behind);
        let mut late = 0;
        for ((listed, stock, _), at) in views.iter().zip(sequences) {
            if at.is_some_and(|at| at >= stock.sequence) {
                continue;
            }
            self.behind.insert(listed.number, stock.sequence);
            if known.get(&listed.number).is_some_and(|&wanted| at.is_none_or(|at| at < wanted)) {
                late += 1;
                self.mirrored.remove(&listed.number);
                self.unwritten.insert(listed.number);
            }
        }
        metrics::gauge!(BEHIND).set(f64::from(late));
        let next = views.iter().find(|(listed, ..)| listed.number > self.last_checked);
        match next.or(views.first()) {
            Some((listed, stock, keys)) if self.compared_enough == 0 => {
                self.last_checked = listed.number;
                self.compared_enough = keys_of(stock) / COMPARED_KEYS_MAX;
                self.compare(listed, stock, keys).await?;
            }
            Some(_) => self.compared_enough -= 1,
            None => {}
        }
        metrics::gauge!(DRIFT).set(self.drift.values().sum::<u64>() as f64);
        Ok(())
    }

    async fn compare(&mut self, listed: &Listed, stock: &StockView, keys: &Keys) -> RedisResult<()> {
        match check::stock(&self.instance, keys, stock).await? {
            // It moved meanwhile; its turn comes again.
            Look::Elsewhere(_) => {}
            Look::Compared(units, difference) => {
                self.drift.insert(listed.number, units);
                if let Some(difference) = difference {
                    tracing::warn!(inventory = %listed.name, %difference, units, "the mirror drifted; it is written again");
                    let Ok((_, bookings)) = self.engine.bookings(listed.number).await else { return Ok(()) };
                    let guard = Guard::Version;
                    write::whole(&self.instance, keys, &listed.name, stock, &bookings, guard).await?;
                }
            }
        }
        Ok(())
    }

    fn keys(&self, number: InventoryNumber) -> Option<(Arc<str>, Keys)> {
        let name = self.engine.name(number)?;
        let keys = Keys::of(&name, self.instance.is_cluster())?;
        Some((name, keys))
    }
}

/// How many keys show a stock, about.
fn keys_of(stock: &StockView) -> usize {
    match &stock.kind {
        KindView::Event(event) => event.subsections.iter().map(|it| usize::from(it.rows)).sum(),
        KindView::Schedule(schedule) => schedule.slots.size(),
        KindView::Shop(shop) => shop.boxes.len(),
    }
}

/// Looks after inventories that nobody may have in memory: of all nodes, the one that leads.
pub(super) async fn repair(instance: Arc<Instance>, engine: Engine, store: Arc<dyn Store>) {
    let mut every = tokio::time::interval(REPAIR_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut behind = HashMap::new();
    loop {
        every.tick().await;
        match repair_once(&instance, &engine, &store, &mut behind).await {
            Ok(()) => {}
            Err(error) => tracing::debug!(%error, "the mirror was not looked after"),
        }
    }
}

/// Writes what was behind at the last look already, and what is ahead of the truth: it is of another history.
async fn repair_once(
    instance: &Arc<Instance>,
    engine: &Engine,
    store: &Arc<dyn Store>,
    behind: &mut HashMap<InventoryNumber, u64>,
) -> Result<(), RebuildError> {
    let known = std::mem::take(behind);
    let leading = engine.clone();
    if !blocking(move || leading.leads()).await? {
        return Ok(());
    }
    let listed: Vec<(Listed, Keys)> = engine
        .inventories()
        .into_iter()
        .filter_map(|listed| Keys::of(&listed.name, instance.is_cluster()).map(|keys| (listed, keys)))
        .collect();
    let keys: Vec<Keys> = listed.iter().map(|(_, keys)| keys.clone()).collect();
    // Asked before the truth: what is ahead of it then cannot have come from it.
    let sequences = write::sequences(instance, &keys).await?;
    let reading = Arc::clone(store);
    let heads = blocking(move || reading.heads()).await?;
    let heads: HashMap<InventoryNumber, u64> =
        heads.into_iter().map(|head| (head.inventory, head.sequence)).collect();
    let mut shown = None;
    for ((listed, _), at) in listed.iter().zip(sequences) {
        let Some(&head) = heads.get(&listed.number) else { continue };
        if at == Some(head) {
            continue;
        }
        let is_foreign = at.is_some_and(|at| at > head);
        let is_late = known.get(&listed.number).is_some_and(|&wanted| at.is_none_or(|at| at < wanted));
        if is_foreign || is_late {
            tracing::info!(inventory = %listed.name, "the mirror of an inventory is written from the store");
            if is_foreign && shown.is_none() {
                shown = Some(Shown::find(instance).await?);
            }
            let foreign = shown.as_ref().filter(|_| is_foreign);
            rebuild::one(instance, store, listed.number, foreign).await?;
        } else {
            behind.insert(listed.number, head);
        }
    }
    Ok(())
}
