//! The whole mirror from the store, and the whole check; for the command line, and for what no node has in memory.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::booking::Booking;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::load::{self, LoadError};
use boxoffice_engine::store::{Store, StoreError};
use boxoffice_engine::view::{KindView, StockView};
use redis::RedisError;

use super::check::{self, Difference, Look};
use super::instance::Instance;
use super::keys::Keys;
use super::shown::Shown;
use super::write::{self, Guard};

/// An inventory that is sold while it is compared is read again so many times.
const LOOKS_MAX: usize = 50;
/// Between two looks.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What was written or compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mirrored {
    /// Events, schedules and shops.
    pub inventories: u64,
    /// Of events.
    pub seats: u64,
    /// Those that have ended among them.
    pub bookings: u64,
}

/// Why there is no mirror, or none that is right.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// Redis failed.
    #[error("Redis: {0}")]
    Redis(#[from] RedisError),
    /// The truth cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The truth cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The mirror shows something that is not so.
    #[error("{inventory}: {difference}")]
    Differs {
        /// Its name.
        inventory: Arc<str>,
        /// The first thing that differs.
        difference: Difference,
    },
    /// A bug.
    #[error("reading the store panicked")]
    Panicked,
}

/// An inventory as its journal has it.
struct Truth {
    name: Arc<str>,
    keys: Keys,
    stock: StockView,
    bookings: Vec<Arc<Booking>>,
}

/// Writes the mirror of every inventory anew, also beside servers that sell. `progress` is told how many are done, and of how many.
pub async fn rebuild(
    instance: &Arc<Instance>,
    store: &Arc<dyn Store>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Mirrored, RebuildError> {
    let mut all = Mirrored::default();
    let shown = Shown::find(instance).await?;
    let numbers = numbers(store).await?;
    for (done, number) in (0..).zip(&numbers) {
        progress(done, numbers.len() as u64);
        if let Some(one) = one(instance, store, *number, Some(&shown)).await? {
            all.add(one);
        }
    }
    Ok(all)
}

/// Compares the mirror of every inventory with the truth; an error names the first difference.
pub async fn check(
    instance: &Arc<Instance>,
    store: &Arc<dyn Store>,
    mut progress: impl FnMut(u64, u64),
) -> Result<Mirrored, RebuildError> {
    let mut all = Mirrored::default();
    let numbers = numbers(store).await?;
    for (done, number) in (0..).zip(&numbers) {
        progress(done, numbers.len() as u64);
        if let Some(one) = check_one(instance, store, *number).await? {
            all.add(one);
        }
    }
    Ok(all)
}

/// Writes the mirror of one inventory from the store; from nothing, if what was shown before does not count.
pub(super) async fn one(
    instance: &Arc<Instance>,
    store: &Arc<dyn Store>,
    number: InventoryNumber,
    shown_before: Option<&Shown>,
) -> Result<Option<Mirrored>, RebuildError> {
    let Some(mut truth) = read(instance, store, number).await? else { return Ok(None) };
    if let Some(shown) = shown_before {
        write::forget(instance, &truth.keys).await?;
        shown.remove_others(instance, &truth.keys, &truth.name, &truth.bookings).await?;
        truth.write(instance, Guard::None).await?;
        let reading = Arc::clone(store);
        let heads = blocking(move || reading.heads_of(&[number])).await?;
        if heads.iter().all(|head| head.sequence == truth.stock.sequence) {
            return Ok(Some(truth.counts()));
        }
        // It was sold meanwhile: a booking that its node had written may have been written over with what was before. All
        // that is written from here on is of this history.
        let Some(later) = read(instance, store, number).await? else { return Ok(None) };
        truth = later;
    }
    truth.write(instance, Guard::Version).await?;
    Ok(Some(truth.counts()))
}

async fn check_one(
    instance: &Arc<Instance>,
    store: &Arc<dyn Store>,
    number: InventoryNumber,
) -> Result<Option<Mirrored>, RebuildError> {
    let mut last_look = None;
    for looks in 1.. {
        let Some(truth) = read(instance, store, number).await? else { return Ok(None) };
        let keys = &truth.keys;
        let mut look = check::stock(instance, keys, &truth.stock).await?;
        if look == Look::Compared(0, None) {
            let difference =
                check::bookings(instance, keys, &truth.name, &truth.stock, &truth.bookings).await?;
            let at =
                write::sequences(instance, std::slice::from_ref(keys)).await?.into_iter().next().flatten();
            look = match difference {
                None => return Ok(Some(truth.counts())),
                // Bookings are written ahead of the stock.
                Some(_) if at != Some(truth.stock.sequence) => Look::Elsewhere(at),
                Some(difference) => Look::Compared(1, Some(difference)),
            };
        }
        let difference = match look {
            Look::Compared(_, Some(difference)) => Some(difference),
            Look::Compared(_, None) => None,
            Look::Elsewhere(at) => {
                let stands =
                    last_look.replace((at, truth.stock.sequence)) == Some((at, truth.stock.sequence));
                (stands || looks >= LOOKS_MAX).then(|| Difference {
                    key: keys.sequence(),
                    found: at.map_or_else(|| "nothing".to_owned(), |at| at.to_string()),
                    expected: truth.stock.sequence.to_string(),
                })
            }
        };
        if let Some(difference) = difference {
            return Err(RebuildError::Differs { inventory: truth.name, difference });
        }
        tokio::time::sleep(LOOK_AGAIN_AFTER).await;
    }
    unreachable!("it looks until it knows")
}

/// Reads an inventory; `None` if it is not one of ours, or not there.
async fn read(
    instance: &Instance,
    store: &Arc<dyn Store>,
    number: InventoryNumber,
) -> Result<Option<Truth>, RebuildError> {
    let is_cluster = instance.is_cluster();
    let store = Arc::clone(store);
    blocking(move || {
        let Some(loaded) = load::load(&*store, number)? else { return Ok::<_, LoadError>(None) };
        let keys = Keys::of(&loaded.head.name, is_cluster);
        Ok(keys.zip(StockView::new(&loaded.inventory)).map(|(keys, stock)| {
            let bookings = loaded.inventory.bookings().cloned().collect();
            Truth { name: loaded.head.name, keys, stock, bookings }
        }))
    })
    .await
}

async fn numbers(store: &Arc<dyn Store>) -> Result<Vec<InventoryNumber>, RebuildError> {
    let store = Arc::clone(store);
    let heads = blocking(move || store.heads()).await?;
    Ok(heads.into_iter().map(|head| head.inventory).collect())
}

/// Waits for the store where waiting does not keep others from working.
pub(super) async fn blocking<T: Send + 'static, E: Into<RebuildError> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, RebuildError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| RebuildError::Panicked)?.map_err(E::into)
}

impl Truth {
    /// If somebody has written more meanwhile, that is as good.
    async fn write(&self, instance: &Instance, guard: Guard) -> Result<(), RebuildError> {
        write::whole(instance, &self.keys, &self.name, &self.stock, &self.bookings, guard).await?;
        Ok(())
    }

    fn counts(&self) -> Mirrored {
        let seats = match &self.stock.kind {
            KindView::Event(event) => {
                event.subsections.iter().map(|it| u64::from(it.rows) * u64::from(it.cols)).sum()
            }
            KindView::Schedule(_) | KindView::Shop(_) => 0,
        };
        Mirrored { inventories: 1, seats, bookings: self.bookings.len() as u64 }
    }
}

impl Mirrored {
    fn add(&mut self, more: Mirrored) {
        self.inventories += more.inventories;
        self.seats += more.seats;
        self.bookings += more.bookings;
    }
}
