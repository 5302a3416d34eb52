//! What readers see: an inventory's stock as of a sequence, immutable, sharing with the view before it all that did
//! not change.

use std::sync::Arc;

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::change::Change;
use boxoffice_core::event::{Area, Event, Section, Sellout};
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::inventory::{Inventory, Stock};
use boxoffice_core::rules::{InventoryStatus, Terms};
use boxoffice_core::schedule::{Pattern, Schedule, Slot, Ticket};
use boxoffice_core::seats::{Counts, SeatState};
use boxoffice_core::shop::{PickupBox, Shop};
use boxoffice_core::time::{SlotId, Zone};
use rpds::{RedBlackTreeMapSync, VectorSync};

/// The stock of an inventory as of a sequence.
#[derive(Debug, Clone, PartialEq)]
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
#[derive(Debug, Clone, PartialEq)]
pub enum KindView {
    /// Seats and areas.
    Event(EventView),
    /// Slots.
    Schedule(ScheduleView),
    /// Boxes.
    Shop(ShopView),
}

/// An event's seats and areas.
#[derive(Debug, Clone, PartialEq)]
pub struct EventView {
    /// When and where it takes place.
    pub info: Arc<EventInfo>,
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
#[derive(Debug, Clone, PartialEq)]
pub struct SubsectionView {
    /// Such as `A-1`.
    pub address: Arc<str>,
    /// From the front.
    pub rows: u16,
    /// From the left.
    pub cols: u16,
    /// What its seats are.
    pub counts: Counts,
    /// The rows from the front, some at a time: what two views share is found without looking at every row.
    blocks: Vec<Arc<[Row]>>,
}

/// The seats of a row, two bits each; see [`SubsectionView::state`].
type Row = Arc<[u64]>;

/// A schedule's slots.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleView {
    /// IANA name.
    pub timezone: Arc<str>,
    /// The rules of the time zone.
    pub zone: Zone,
    /// Which slots it makes by itself.
    pub pattern: Arc<Pattern>,
    /// In order of time.
    pub slots: RedBlackTreeMapSync<SlotId, Slot>,
    /// The registered tickets, in order of id.
    pub tickets: RedBlackTreeMapSync<Arc<str>, Ticket>,
}

/// A shop's boxes.
#[derive(Debug, Clone, PartialEq)]
pub struct ShopView {
    /// IANA name.
    pub timezone: Arc<str>,
    /// In the order they were added.
    pub boxes: VectorSync<Arc<PickupBox>>,
}

impl StockView {
    /// Whether it was deleted: it is kept for the journal's readers, and not shown to callers.
    pub fn is_deleted(&self) -> bool {
        self.terms.status == InventoryStatus::Deleted
    }

    /// The first thing that is not as in another view of the same sequence.
    pub(crate) fn first_difference(&self, expected: &StockView) -> Option<String> {
        if self == expected {
            return None;
        }
        let differs = |what: &str, shown: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug| {
            Some(format!("{what}: {shown:?} is shown, and it is {expected:?}"))
        };
        if self.sequence != expected.sequence {
            return differs("the sequence", &self.sequence, &expected.sequence);
        }
        if self.live_holds != expected.live_holds {
            return differs("the number of holds", &self.live_holds, &expected.live_holds);
        }
        match (&self.kind, &expected.kind) {
            (KindView::Event(shown), KindView::Event(expected)) if shown.totals != expected.totals => {
                differs("the totals", &shown.totals, &expected.totals)
            }
            (KindView::Event(shown), KindView::Event(expected)) => {
                let mut pairs = shown.subsections.iter().zip(expected.subsections.iter());
                let unlike = pairs.find(|(shown, expected)| shown != expected);
                unlike.and_then(|(shown, expected)| shown.first_difference(expected)).or_else(|| {
                    differs("the areas", &shown.areas, &expected.areas)
                        .filter(|_| shown.areas != expected.areas)
                })
            }
            (KindView::Schedule(shown), KindView::Schedule(expected)) => {
                let mut pairs = shown.slots.iter().zip(expected.slots.iter());
                let unlike = pairs.find(|(shown, expected)| shown != expected);
                let slot = unlike.and_then(|(shown, expected)| differs("a slot", &shown, &expected));
                slot.or_else(|| {
                    let mut pairs = shown.tickets.iter().zip(expected.tickets.iter());
                    let unlike = pairs.find(|(shown, expected)| shown != expected);
                    unlike.and_then(|(shown, expected)| differs("a ticket", &shown, &expected))
                })
            }
            (KindView::Shop(shown), KindView::Shop(expected)) => {
                let mut pairs = shown.boxes.iter().zip(expected.boxes.iter());
                let unlike = pairs.find(|(shown, expected)| shown != expected);
                unlike.and_then(|(shown, expected)| differs("a box", &shown, &expected))
            }
            _ => None,
        }
        .or_else(|| Some("its terms, prices or plan are not what they are".to_owned()))
    }
}

impl SubsectionView {
    fn first_difference(&self, expected: &SubsectionView) -> Option<String> {
        let address = &self.address;
        if self.counts != expected.counts {
            return Some(format!(
                "section {address}: {:?} is shown, and it is {:?}",
                self.counts, expected.counts
            ));
        }
        let rows = (1..=self.rows.min(expected.rows)).zip(self.blocks.iter().flat_map(|block| block.iter()));
        rows.zip(expected.blocks.iter().flat_map(|block| block.iter()))
            .find(|((_, shown), expected)| shown != expected)
            .map(|((row, _), _)| format!("section {address}: the seats of row {row} are not what they are"))
    }
}

const SEATS_PER_WORD: u16 = 32;
const ROWS_PER_BLOCK: usize = 32;

impl SubsectionView {
    /// What a seat is; rows and numbers count from one.
    ///
    /// # Panics
    /// If there is no such seat.
    pub fn state(&self, row: u16, number: u16) -> SeatState {
        assert!((1..=self.cols).contains(&number), "no such seat");
        state_at(self.words(row), number)
    }

    /// What the seats of a row are, from the left; rows count from one.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: u16) -> impl Iterator<Item = SeatState> + '_ {
        let codes = self
            .words(row)
            .iter()
            .flat_map(|word| (0..SEATS_PER_WORD).map(move |index| word >> (2 * index) & 3));
        codes.take(usize::from(self.cols)).map(state_of)
    }

    /// The rows that are not shared with an earlier view of the same subsection.
    pub fn rows_unlike<'a>(&'a self, earlier: &'a SubsectionView) -> impl Iterator<Item = u16> + 'a {
        let blocks = (1u16..).step_by(ROWS_PER_BLOCK).zip(self.blocks.iter().zip(&earlier.blocks));
        blocks.filter(|(_, (block, earlier))| !Arc::ptr_eq(block, earlier)).flat_map(
            |(first, (block, earlier))| {
                let rows = (first..).zip(block.iter().zip(earlier.iter()));
                rows.filter(|(_, (row, earlier))| !Arc::ptr_eq(row, earlier)).map(|(row, _)| row)
            },
        )
    }

    /// The seats of a row that are not what they were in an earlier view of the same subsection, from the left, and what they are.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn seats_unlike<'a>(
        &'a self,
        earlier: &'a SubsectionView,
        row: u16,
    ) -> impl Iterator<Item = (u16, SeatState)> + 'a {
        debug_assert_eq!(self.cols, earlier.cols, "not the same subsection");
        let (words, earlier) = (self.words(row), earlier.words(row));
        let pairs = (1u16..).step_by(usize::from(SEATS_PER_WORD)).zip(words.iter().zip(earlier));
        let numbers = pairs.flat_map(|(first, (word, earlier))| {
            let mut unlike = word ^ earlier;
            std::iter::from_fn(move || {
                let seat = (unlike != 0).then(|| unlike.trailing_zeros() / 2)?;
                unlike &= !(3 << (2 * seat));
                Some(first + u16::try_from(seat).expect("a word has few seats"))
            })
        });
        numbers.map(|number| (number, state_at(words, number)))
    }

    fn words(&self, row: u16) -> &[u64] {
        let index = usize::from(row) - 1;
        let block = self.blocks.get(index / ROWS_PER_BLOCK);
        block.and_then(|block| block.get(index % ROWS_PER_BLOCK)).expect("no such row")
    }

    fn new(event: &Event, index: u16) -> SubsectionView {
        let (rows, cols) = event.seats.size(index);
        let states: Vec<Row> = (1..=rows).map(|row| row_states(event, index, row, cols)).collect();
        SubsectionView {
            address: event.subsections[usize::from(index)].address.as_str().into(),
            rows,
            cols,
            counts: event.seats.counts(index),
            blocks: states.chunks(ROWS_PER_BLOCK).map(Arc::from).collect(),
        }
    }
}

fn state_at(words: &[u64], number: u16) -> SeatState {
    let index = number - 1;
    state_of(words[usize::from(index / SEATS_PER_WORD)] >> (2 * (index % SEATS_PER_WORD)) & 3)
}

fn state_of(code: u64) -> SeatState {
    match code {
        0 => SeatState::Available,
        1 => SeatState::Held,
        2 => SeatState::Sold,
        _ => SeatState::Blocked,
    }
}

/// Word by word: every batch reads again each row that it touched.
fn row_states(event: &Event, subsection: u16, row: u16, cols: u16) -> Row {
    let bits = event.seats.row_bits(subsection, row);
    let words = usize::from(cols.div_ceil(SEATS_PER_WORD));
    let word = |index: usize| {
        let half = |words: &[u64]| words[index / 2] >> (32 * (index % 2)) & u64::from(u32::MAX);
        let (free, sold, blocked) = (half(bits.free), half(bits.sold), half(bits.blocked));
        // As in `state_of`: what is held or blocked has the lower bit, what is sold or blocked the higher one. Behind the last seat
        // all is as if it were held, and so in every view.
        spread(!free & !sold & u64::from(u32::MAX)) | spread(sold | blocked) << 1
    };
    (0..words).map(word).collect()
}

/// Moves the lower 32 bits apart, to every other place from the lowest on.
fn spread(bits: u64) -> u64 {
    let mut bits = bits;
    for (by, places) in [
        (16, 0x0000_ffff_0000_ffff),
        (8, 0x00ff_00ff_00ff_00ff),
        (4, 0x0f0f_0f0f_0f0f_0f0f),
        (2, 0x3333_3333_3333_3333),
        (1, 0x5555_5555_5555_5555),
    ] {
        bits = (bits | bits << by) & places;
    }
    bits
}

impl StockView {
    /// The view of a whole inventory; `None` until it was created.
    pub fn new(inventory: &Inventory) -> Option<StockView> {
        let kind = match inventory.stock()? {
            Stock::Event(event) => KindView::Event(EventView {
                info: Arc::new(event.info.clone()),
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
                zone: schedule.zone.clone(),
                pattern: Arc::new(schedule.pattern.clone()),
                slots: schedule.slots.iter().map(|(&id, &slot)| (id, slot)).collect(),
                tickets: schedule.tickets.iter().map(|(id, &ticket)| (Arc::clone(id), ticket)).collect(),
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
        if touched.info {
            self.info = Arc::new(event.info.clone());
        }
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
                let place = usize::from(row) - 1;
                let block = Arc::make_mut(&mut subsection.blocks[place / ROWS_PER_BLOCK]);
                block[place % ROWS_PER_BLOCK] = states;
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
        for ticket in &touched.tickets {
            self.tickets.insert_mut(Arc::clone(ticket), schedule.tickets[ticket]);
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
    info: bool,
    prices: bool,
    areas: bool,
    pattern: bool,
    rows: Vec<(u16, u16)>,
    slots: Vec<SlotId>,
    tickets: Vec<Arc<str>>,
    boxes: Vec<u32>,
    /// Every booking that changed, in the order of the changes. One that changed twice is there twice, and at last as it is.
    pub(crate) bookings: Vec<Arc<Booking>>,
    /// How many of them are holds that expired.
    pub(crate) holds_expired: u64,
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
            | Change::ContactForgotten { .. }
            | Change::Remembered { .. }
            | Change::KeysForgotten { .. }
            | Change::RolledThrough(_)
            // New boxes are seen from their number.
            | Change::BoxAdded(_)
            // A new inventory's view is made from the whole of it.
            | Change::EventCreated(_)
            | Change::ScheduleCreated(_)
            | Change::ShopCreated(_) => {}
            Change::TermsPatched(_) | Change::EventCancelled { .. } | Change::EventDeleted => self.terms = true,
            Change::EventInfoPatched(_) => self.info = true,
            Change::PricesPatched { .. } => self.prices = true,
            Change::SeatsBlocked(seats) | Change::SeatsUnblocked(seats) => {
                self.rows.extend(seats.iter().map(|seat| (seat.subsection, seat.row)));
            }
            Change::TicketsImported(tickets) => {
                self.tickets.extend(tickets.iter().map(|(id, _)| Arc::clone(id)));
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
            | Change::Redeemed { booking, .. }
            | Change::PartRedeemed { booking, .. }
            | Change::Unredeemed { booking, .. } => {
                self.note_booking(inventory.booking(*booking).expect("bookings are never removed"));
            }
            Change::Expired { booking } => {
                self.holds_expired += 1;
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
