//! What readers see: an inventory's stock as of a sequence, immutable, sharing with the view before it all that did
//! not change.

use std::sync::Arc;

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::change::Change;
use boxoffice_core::event::{Area, Event, Section, Sellout};
use boxoffice_core::inventory::{Inventory, Stock};
use boxoffice_core::rules::Terms;
use boxoffice_core::schedule::{Pattern, Schedule, Slot};
use boxoffice_core::seats::{Counts, Seat, SeatState};
use boxoffice_core::shop::{PickupBox, Shop};
use boxoffice_core::time::{SlotId, Timestamp};
use rpds::{RedBlackTreeMapSync, VectorSync};

/// The stock of an inventory as of a sequence.
#[derive(Debug, Clone)]
pub struct StockView {
    /// As of which batch.
    pub sequence: u64,
    /// Name, currency, sales window and rules.
    pub terms: Arc<Terms>,
    /// Bookings on hold.
    pub live_holds: usize,
    /// Seats, slots or boxes.
    pub kind: KindView,
}

/// What differs between the three kinds.
#[derive(Debug, Clone)]
pub enum KindView {
    /// Seats and areas.
    Event(EventView),
    /// Slots.
    Schedule(ScheduleView),
    /// Boxes.
    Shop(ShopView),
}

/// An event's seats and areas.
#[derive(Debug, Clone)]
pub struct EventView {
    /// When the show begins.
    pub starts_at: Option<Timestamp>,
    /// With their prices.
    pub sections: Arc<Vec<Section>>,
    /// Of all sections, in order.
    pub subsections: VectorSync<Arc<SubsectionView>>,
    /// With their pools.
    pub areas: Arc<Vec<Area>>,
    /// Of all seats and areas.
    pub totals: Counts,
    /// How fast it went.
    pub sellout: Sellout,
}

/// The seats of one subsection.
#[derive(Debug, Clone)]
pub struct SubsectionView {
    /// Such as `A-1`.
    pub address: Arc<str>,
    /// From the front.
    pub rows: u16,
    /// From the left.
    pub cols: u16,
    /// What its seats are.
    pub counts: Counts,
    /// Each row's seats, two bits each; see [`SubsectionView::state`].
    states: VectorSync<Arc<[u64]>>,
}

/// A schedule's slots.
#[derive(Debug, Clone)]
pub struct ScheduleView {
    /// IANA name.
    pub timezone: Arc<str>,
    /// Which slots it makes by itself.
    pub pattern: Arc<Pattern>,
    /// In order of time.
    pub slots: RedBlackTreeMapSync<SlotId, Slot>,
}

/// A shop's boxes.
#[derive(Debug, Clone)]
pub struct ShopView {
    /// IANA name.
    pub timezone: Arc<str>,
    /// In the order they were added.
    pub boxes: VectorSync<Arc<PickupBox>>,
}

const SEATS_PER_WORD: u16 = 32;

impl SubsectionView {
    /// What a seat is; rows and numbers count from one.
    ///
    /// # Panics
    /// If there is no such seat.
    pub fn state(&self, row: u16, number: u16) -> SeatState {
        assert!((1..=self.cols).contains(&number), "no such seat");
        let row = self.states.get(usize::from(row) - 1).expect("no such row");
        let index = number - 1;
        state_of(row[usize::from(index / SEATS_PER_WORD)] >> (2 * (index % SEATS_PER_WORD)) & 3)
    }

    /// What the seats of a row are, from the left; rows count from one.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: u16) -> impl Iterator<Item = SeatState> + '_ {
        let words = self.states.get(usize::from(row) - 1).expect("no such row");
        let codes =
            words.iter().flat_map(|word| (0..SEATS_PER_WORD).map(move |index| word >> (2 * index) & 3));
        codes.take(usize::from(self.cols)).map(state_of)
    }

    /// The rows that are not shared with an earlier view of the same subsection.
    pub fn rows_unlike<'a>(&'a self, earlier: &'a SubsectionView) -> impl Iterator<Item = u16> + 'a {
        let pairs = self.states.iter().zip(earlier.states.iter());
        (1u16..).zip(pairs).filter(|(_, (row, earlier))| !Arc::ptr_eq(row, earlier)).map(|(row, _)| row)
    }

    fn new(event: &Event, index: u16) -> SubsectionView {
        let (rows, cols) = event.seats.size(index);
        SubsectionView {
            address: event.subsections[usize::from(index)].address.as_str().into(),
            rows,
            cols,
            counts: event.seats.counts(index),
            states: (1..=rows).map(|row| row_states(event, index, row, cols)).collect(),
        }
    }
}

fn state_of(code: u64) -> SeatState {
    match code {
        0 => SeatState::Available,
        1 => SeatState::Held,
        2 => SeatState::Sold,
        _ => SeatState::Blocked,
    }
}

fn row_states(event: &Event, subsection: u16, row: u16, cols: u16) -> Arc<[u64]> {
    let mut words = vec![0; usize::from(cols.div_ceil(SEATS_PER_WORD))];
    for number in 1..=cols {
        let code: u64 = match event.seats.state(Seat { subsection, row, number }) {
            SeatState::Available => continue,
            SeatState::Held => 1,
            SeatState::Sold => 2,
            SeatState::Blocked => 3,
        };
        let index = number - 1;
        words[usize::from(index / SEATS_PER_WORD)] |= code << (2 * (index % SEATS_PER_WORD));
    }
    words.into()
}

impl StockView {
    /// The view of a whole inventory; `None` until it was created.
    pub fn new(inventory: &Inventory) -> Option<StockView> {
        let kind = match inventory.stock()? {
            Stock::Event(event) => KindView::Event(EventView {
                starts_at: event.starts_at,
                sections: Arc::new(event.sections.clone()),
                subsections: (0u16..)
                    .zip(&event.subsections)
                    .map(|(index, _)| Arc::new(SubsectionView::new(event, index)))
                    .collect(),
                areas: Arc::new(event.areas.clone()),
                totals: event.totals,
                sellout: event.sellout,
            }),
            Stock::Schedule(schedule) => KindView::Schedule(ScheduleView {
                timezone: schedule.timezone.as_str().into(),
                pattern: Arc::new(schedule.pattern.clone()),
                slots: schedule.slots.iter().map(|(&id, &slot)| (id, slot)).collect(),
            }),
            Stock::Shop(shop) => KindView::Shop(ShopView {
                timezone: shop.timezone.as_str().into(),
                boxes: shop.boxes.iter().map(|boxed| Arc::new(boxed.clone())).collect(),
            }),
        };
        let terms = Arc::new(inventory.terms().expect("it has stock").clone());
        let live_holds = inventory.live_holds();
        Some(StockView { sequence: inventory.sequence(), terms, live_holds, kind })
    }

    /// This view brought up to date: what was touched is read again, the rest is shared.
    pub(crate) fn refreshed(&self, inventory: &Inventory, touched: &Touched) -> StockView {
        let stock = inventory.stock().expect("a view is of stock");
        let mut view = self.clone();
        view.sequence = inventory.sequence();
        view.live_holds = inventory.live_holds();
        if touched.terms {
            view.terms = Arc::new(inventory.terms().expect("it has stock").clone());
        }
        match (&mut view.kind, stock) {
            (KindView::Event(view), Stock::Event(event)) => view.refresh(event, touched),
            (KindView::Schedule(view), Stock::Schedule(schedule)) => view.refresh(schedule, touched),
            (KindView::Shop(view), Stock::Shop(shop)) => view.refresh(shop, touched),
            (KindView::Event(_) | KindView::Schedule(_) | KindView::Shop(_), _) => {
                panic!("an inventory never changes its kind")
            }
        }
        view
    }
}

impl EventView {
    fn refresh(&mut self, event: &Event, touched: &Touched) {
        self.totals = event.totals;
        self.sellout = event.sellout;
        if touched.prices {
            self.sections = Arc::new(event.sections.clone());
        }
        if touched.prices || touched.areas {
            self.areas = Arc::new(event.areas.clone());
        }
        for rows in touched.rows.chunk_by(|one, other| one.0 == other.0) {
            let index = rows[0].0;
            let mut subsection = self.subsections[usize::from(index)].as_ref().clone();
            subsection.counts = event.seats.counts(index);
            for &(_, row) in rows {
                let states = row_states(event, index, row, subsection.cols);
                subsection.states.set_mut(usize::from(row) - 1, states);
            }
            self.subsections.set_mut(usize::from(index), Arc::new(subsection));
        }
    }
}

impl ScheduleView {
    fn refresh(&mut self, schedule: &Schedule, touched: &Touched) {
        if touched.pattern {
            self.pattern = Arc::new(schedule.pattern.clone());
        }
        for slot in &touched.slots {
            match schedule.slots.get(slot) {
                Some(now) => self.slots.insert_mut(*slot, *now),
                None => {
                    self.slots.remove_mut(slot);
                }
            }
        }
    }
}

impl ShopView {
    fn refresh(&mut self, shop: &Shop, touched: &Touched) {
        for boxed in &shop.boxes[self.boxes.len()..] {
            self.boxes.push_back_mut(Arc::new(boxed.clone()));
        }
        for &number in &touched.boxes {
            let index = usize::try_from(number).expect("boxes are bounded");
            self.boxes.set_mut(index, Arc::new(shop.boxes[index].clone()));
        }
    }
}

/// Which parts of an inventory a batch touched. The lists of stock are in order and name nothing twice.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    terms: bool,
    prices: bool,
    areas: bool,
    pattern: bool,
    rows: Vec<(u16, u16)>,
    slots: Vec<SlotId>,
    boxes: Vec<u32>,
    /// Every booking that changed, in the order of the changes. One that changed twice is there twice, and at last as it is.
    pub(crate) bookings: Vec<Arc<Booking>>,
}

impl Touched {
    /// What a batch touched, seen from the state after it.
    pub(crate) fn by(changes: &[Change], inventory: &Inventory) -> Touched {
        let mut touched = Touched::default();
        for change in changes {
            touched.note(change, inventory);
        }
        tidy(&mut touched.rows);
        tidy(&mut touched.slots);
        tidy(&mut touched.boxes);
        touched
    }

    fn note(&mut self, change: &Change, inventory: &Inventory) {
        match change {
            Change::Act { .. }
            | Change::ContactKept { .. }
            | Change::ContactForgotten { .. }
            | Change::Remembered { .. }
            | Change::KeysForgotten { .. }
            | Change::RolledThrough(_)
            | Change::TicketsImported(_)
            // New boxes are seen from their number.
            | Change::BoxAdded(_)
            // A new inventory's view is made from the whole of it.
            | Change::EventCreated(_)
            | Change::ScheduleCreated(_)
            | Change::ShopCreated(_) => {}
            Change::TermsPatched(_) => self.terms = true,
            Change::PricesPatched { .. } => self.prices = true,
            Change::SeatsBlocked(seats) | Change::SeatsUnblocked(seats) => {
                self.rows.extend(seats.iter().map(|seat| (seat.subsection, seat.row)));
            }
            Change::PatternPatched(_) => self.pattern = true,
            Change::SlotsAdded(slots) => self.slots.extend(slots.iter().map(|(slot, _)| *slot)),
            Change::SlotsRemoved(slots) => self.slots.extend(slots.iter().copied()),
            Change::SlotPatched { slot, .. } => self.slots.push(*slot),
            Change::BoxPatched(properties) => self.boxes.push(properties.number),
            Change::Booked(booking) => self.note_booking(booking),
            Change::Revived { booking, from, .. } | Change::Moved { booking, from, .. } => {
                self.note_units(from);
                self.note_booking(inventory.booking(*booking).expect("bookings are never removed"));
            }
            Change::Confirmed { booking, .. }
            | Change::Extended { booking, .. }
            | Change::Cancelled { booking, .. }
            | Change::Redeemed { booking }
            | Change::Expired { booking } => {
                self.note_booking(inventory.booking(*booking).expect("bookings are never removed"));
            }
        }
    }

    /// Units that a booking had before, within the batch, are noted with the change that took them away.
    fn note_booking(&mut self, booking: &Arc<Booking>) {
        self.note_units(&booking.units);
        self.bookings.push(Arc::clone(booking));
    }

    fn note_units(&mut self, units: &Units) {
        match units {
            Units::Event { seats, areas } => {
                self.rows.extend(seats.iter().map(|claim| (claim.seat.subsection, claim.seat.row)));
                self.areas |= !areas.is_empty();
            }
            Units::Slot { slot, .. } => self.slots.push(*slot),
            Units::Box { number, .. } => self.boxes.push(*number),
        }
    }
}

fn tidy<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}
