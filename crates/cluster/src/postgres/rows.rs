//! From changes to rows: what the tables that people read must say after a commit.
//!
//! A commit first asks what the tables have of everything that it touches ([`Rows::wanted`], [`Rows::wanted_pools`]), lets
//! the changes happen to that ([`Rows::fold`]), and writes what came out. Nothing here is ever read to decide anything.

use std::collections::{BTreeMap, BTreeSet};

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::change::Change;
use boxoffice_core::event::EventPlan;
use boxoffice_core::ids::BookingId;
use boxoffice_core::inventory::{Inventory, Stock};
use boxoffice_core::rules::{InventoryStatus, Terms};
use boxoffice_core::schedule::Ticket;
use boxoffice_core::seats::{Seat, SeatState};
use boxoffice_core::time::{SlotId, Timestamp};
use boxoffice_engine::view::{KindView, StockView, SubsectionView};

/// The number of an inventory, as the tables have it.
pub(super) type Number = i64;

/// Everything that one commit touches.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) inventories: BTreeMap<Number, InventoryRow>,
    pub(super) bookings: BTreeMap<(BookingId, Number), BookingRow>,
    pub(super) pools: BTreeMap<(Number, String), PoolRow>,
    pub(super) sections: Vec<SectionRow>,
    pub(super) unblocked: BTreeSet<(Number, Seat)>,
    pub(super) blocked: BTreeSet<(Number, Seat)>,
    pub(super) tickets: BTreeMap<(Number, String), TicketRow>,
    /// Keys with the time until which they are kept.
    pub(super) keys: BTreeMap<(Number, [u8; 16]), i64>,
    /// Keys that are kept until then or less are gone.
    pub(super) forgotten: BTreeMap<Number, i64>,
}

/// What is added to an inventory's numbers.
#[derive(Debug, Default)]
pub(super) struct InventoryRow {
    pub(super) currency: Option<String>,
    /// Stays as it is if it is not given.
    pub(super) status: Option<InventoryStatus>,
    pub(super) capacity: i64,
    pub(super) held: i64,
    pub(super) sold: i64,
    pub(super) blocked: i64,
    /// Boxes that it has.
    pub(super) boxes: usize,
}

/// A booking: as the tables have it, and as it is after the commit.
#[derive(Debug)]
pub(super) struct BookingRow {
    /// `None` if this commit makes it.
    pub(super) before: Option<Claimed>,
    /// Only of one that this commit makes.
    pub(super) customer: String,
    pub(super) created_at_ms: i64,
    pub(super) after: Claimed,
    pub(super) total_price: i64,
    /// Times that are not given stay as they are.
    pub(super) expires_at_ms: Option<i64>,
    pub(super) confirmed_at_ms: Option<i64>,
    pub(super) cancelled_at_ms: Option<i64>,
    pub(super) redeemed_at_ms: Option<i64>,
    /// Of its units; stays as it is if it is not given.
    pub(super) redeemed_quantity: Option<i64>,
    pub(super) payment_reference: Option<String>,
    /// Only of one that this commit makes: it never changes.
    pub(super) reference: Option<String>,
    /// Changes of this commit.
    pub(super) versions: i64,
    /// What it claims, if this commit said so.
    pub(super) units: Option<Units>,
}

/// What a booking claims as far as counting is concerned.
#[derive(Debug, Clone)]
pub(super) struct Claimed {
    pub(super) status: BookingStatus,
    pub(super) quantity: i64,
    pub(super) pools: Vec<(String, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BookingStatus {
    OnHold,
    Confirmed,
    Redeemed,
    Cancelled,
    Expired,
}

/// A pool as it is.
#[derive(Debug, Clone)]
pub(super) struct PoolRow {
    pub(super) name: String,
    pub(super) capacity: i64,
    pub(super) held: i64,
    pub(super) sold: i64,
    /// Whether the operator keeps it closed; not known of one that is older than the column.
    pub(super) closed: Option<bool>,
    pub(super) removed: bool,
}

#[derive(Debug)]
pub(super) struct SectionRow {
    pub(super) inventory: Number,
    pub(super) subsection: i32,
    pub(super) address: String,
    pub(super) rows: i32,
    pub(super) cols: i32,
}

#[derive(Debug)]
pub(super) struct TicketRow {
    pub(super) active: bool,
    pub(super) expires_at_ms: Option<i64>,
}

/// Whether units count as held, sold or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    Held,
    Sold,
    Free,
}

impl BookingStatus {
    pub(super) const ALL: [BookingStatus; 5] = [
        BookingStatus::OnHold,
        BookingStatus::Confirmed,
        BookingStatus::Redeemed,
        BookingStatus::Cancelled,
        BookingStatus::Expired,
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            BookingStatus::OnHold => "on_hold",
            BookingStatus::Confirmed => "confirmed",
            BookingStatus::Redeemed => "redeemed",
            BookingStatus::Cancelled => "cancelled",
            BookingStatus::Expired => "expired",
        }
    }

    pub(super) fn claim(self) -> Claim {
        match self {
            BookingStatus::OnHold => Claim::Held,
            BookingStatus::Confirmed | BookingStatus::Redeemed => Claim::Sold,
            BookingStatus::Cancelled | BookingStatus::Expired => Claim::Free,
        }
    }
}

impl Claim {
    pub(super) fn word(self) -> &'static str {
        match self {
            Claim::Held => "held",
            Claim::Sold => "sold",
            Claim::Free => "free",
        }
    }
}

impl Claimed {
    pub(super) fn claim(&self) -> Claim {
        self.status.claim()
    }
}

/// The bookings that changes of inventories speak of without saying what they are.
pub(super) fn wanted<'a>(
    changes: impl Iterator<Item = (Number, &'a Change)>,
) -> BTreeSet<(BookingId, Number)> {
    let (mut wanted, mut made) = (BTreeSet::new(), BTreeSet::new());
    for (number, change) in changes {
        let Some(booking) = change.booking().map(|booking| (booking, number)) else { continue };
        if matches!(change, Change::Booked(_)) {
            made.insert(booking);
        } else if !made.contains(&booking) {
            wanted.insert(booking);
        }
    }
    wanted
}

/// The pools that changes of an inventory speak of, as far as the changes themselves say it.
pub(super) fn wanted_pools(number: Number, changes: &[Change], wanted: &mut BTreeSet<(Number, String)>) {
    for change in changes {
        match change {
            Change::Booked(booking) => want_units(number, &booking.units, wanted),
            Change::Revived { units, .. } | Change::Moved { units, .. } => want_units(number, units, wanted),
            Change::SlotsRemoved(slots) => {
                wanted.extend(slots.iter().map(|slot| (number, slot_key(slot))));
            }
            Change::SlotPatched { slot, .. } => {
                wanted.insert((number, slot_key(slot)));
            }
            Change::BoxPatched(properties) => {
                wanted.insert((number, box_key(properties.number)));
            }
            Change::Act { .. }
            | Change::EventCreated(_)
            | Change::ScheduleCreated(_)
            | Change::ShopCreated(_)
            | Change::TermsPatched(_)
            | Change::PricesPatched { .. }
            | Change::SeatsBlocked(_)
            | Change::SeatsUnblocked(_)
            | Change::PatternPatched(_)
            | Change::SlotsAdded(_)
            | Change::RolledThrough(_)
            | Change::BoxAdded(_)
            | Change::TicketsImported(_)
            | Change::Confirmed { .. }
            | Change::Extended { .. }
            | Change::Cancelled { .. }
            | Change::Redeemed { .. }
            | Change::PartRedeemed { .. }
            | Change::Unredeemed { .. }
            | Change::Expired { .. }
            | Change::ContactForgotten { .. }
            | Change::Remembered { .. }
            | Change::KeysForgotten { .. }
            | Change::EventInfoPatched(_)
            | Change::EventCancelled { .. }
            | Change::EventDeleted => {}
        }
    }
}

fn want_units(number: Number, units: &Units, wanted: &mut BTreeSet<(Number, String)>) {
    wanted.extend(pools_of(units).into_iter().map(|(pool, _)| (number, pool)));
}

/// The pools of units, each once.
fn pools_of(units: &Units) -> Vec<(String, i64)> {
    match units {
        Units::Event { seats: _, areas } => {
            let mut pools = BTreeMap::new();
            for area in areas {
                *pools.entry(area_key(area.area)).or_insert(0) += i64::from(area.quantity);
            }
            pools.into_iter().collect()
        }
        Units::Slot { slot, quantity, .. } => vec![(slot_key(slot), i64::from(*quantity))],
        Units::Box { number, quantity, .. } => vec![(box_key(*number), i64::from(*quantity))],
    }
}

fn area_key(area: u16) -> String {
    format!("area {area}")
}

fn box_key(number: u32) -> String {
    format!("box {number}")
}

fn slot_key(slot: &SlotId) -> String {
    slot.to_string()
}

impl Rows {
    /// About how many rows writing this touches.
    pub(super) fn size(&self) -> usize {
        let claims = |row: &BookingRow| {
            let before = row.before.as_ref().map_or(0, |before| before.quantity);
            usize::try_from(before.saturating_add(row.after.quantity)).unwrap_or(0)
        };
        let claims = self.bookings.values().map(claims).fold(0, usize::saturating_add);
        [self.bookings.len(), self.unblocked.len(), self.blocked.len(), self.tickets.len(), self.keys.len()]
            .into_iter()
            .fold(claims, usize::saturating_add)
    }

    /// Lets the changes of one batch happen.
    ///
    /// # Errors
    /// If the tables do not have what a change speaks of.
    pub(super) fn fold(&mut self, number: Number, changes: &[Change]) -> Result<(), String> {
        let mut now = Timestamp(0);
        for change in changes {
            match change {
                Change::Act { at, by: _ } => now = *at,
                Change::EventCreated(plan) => self.create_event(number, plan),
                Change::ScheduleCreated(plan) => self.create(number, &plan.terms),
                Change::ShopCreated(plan) => self.create(number, &plan.terms),
                Change::SeatsBlocked(seats) => self.block(number, seats),
                Change::SeatsUnblocked(seats) => {
                    for &seat in seats {
                        self.unblocked.insert((number, seat));
                        self.blocked.remove(&(number, seat));
                        self.inventory(number).blocked -= 1;
                    }
                }
                Change::SlotsAdded(slots) => {
                    for (id, slot) in slots {
                        self.add_pool(number, slot_key(id), id.to_string(), slot.pool.capacity, slot.closed);
                    }
                }
                Change::SlotsRemoved(slots) => {
                    for slot in slots {
                        let pool = self.pool(number, &slot_key(slot))?;
                        pool.removed = true;
                        let capacity = pool.capacity;
                        self.inventory(number).capacity -= capacity;
                    }
                }
                Change::SlotPatched { slot, closed, capacity, price: _ } => {
                    self.set_pool(number, &slot_key(slot), *capacity, *closed)?;
                }
                Change::BoxAdded(boxed) => {
                    let inventory = self.inventory(number);
                    let place = u32::try_from(inventory.boxes).expect("boxes are bounded");
                    inventory.boxes += 1;
                    let name = boxed.id.to_string();
                    self.add_pool(number, box_key(place), name, boxed.pool.capacity, boxed.closed);
                }
                Change::BoxPatched(properties) => {
                    let key = box_key(properties.number);
                    self.set_pool(number, &key, properties.quantity, properties.closed)?;
                }
                Change::TicketsImported(tickets) => {
                    for (id, ticket) in tickets {
                        self.tickets.insert((number, id.to_string()), TicketRow::of(ticket));
                    }
                }
                Change::Booked(booking) => {
                    self.bookings.insert((booking.id, number), BookingRow::made(booking));
                }
                Change::Confirmed { booking, payment_reference } => {
                    let row = self.booking(number, *booking)?;
                    row.after.status = BookingStatus::Confirmed;
                    row.confirmed_at_ms = Some(now.0);
                    row.payment_reference = payment_reference.as_deref().map(str::to_owned);
                }
                Change::Revived { booking, from: _, units, redeem_code: _, payment_reference } => {
                    let row = self.booking(number, *booking)?;
                    row.after.status = BookingStatus::Confirmed;
                    row.confirmed_at_ms = Some(now.0);
                    row.payment_reference = payment_reference.as_deref().map(str::to_owned);
                    row.claim_units(units);
                }
                Change::Extended { booking, expires_at } => {
                    self.booking(number, *booking)?.expires_at_ms = Some(expires_at.0);
                }
                Change::Cancelled { booking, reason: _ } => {
                    let row = self.booking(number, *booking)?;
                    row.after.status = BookingStatus::Cancelled;
                    row.cancelled_at_ms = Some(now.0);
                }
                Change::Moved { booking, from: _, units } => {
                    self.booking(number, *booking)?.claim_units(units);
                }
                Change::Redeemed { booking, forced: _ } => {
                    let row = self.booking(number, *booking)?;
                    row.after.status = BookingStatus::Redeemed;
                    row.redeemed_at_ms = Some(now.0);
                    row.redeemed_quantity = Some(row.after.quantity);
                }
                Change::PartRedeemed { booking, part: _, redeemed_quantity, forced: _ } => {
                    self.booking(number, *booking)?.redeemed_quantity = Some(i64::from(*redeemed_quantity));
                }
                Change::Unredeemed { booking, redeemed_quantity, .. } => {
                    let row = self.booking(number, *booking)?;
                    row.after.status = BookingStatus::Confirmed;
                    row.redeemed_at_ms = None;
                    row.redeemed_quantity = Some(i64::from(*redeemed_quantity));
                }
                Change::Expired { booking } => {
                    self.booking(number, *booking)?.after.status = BookingStatus::Expired;
                }
                Change::Remembered { key, keep_until, .. } => {
                    self.keys.insert((number, key.0), keep_until.0);
                }
                Change::KeysForgotten { through } => {
                    self.keys.retain(|(of, _), keep_until| *of != number || *keep_until > through.0);
                    let forgotten = self.forgotten.entry(number).or_insert(through.0);
                    *forgotten = (*forgotten).max(through.0);
                }
                Change::TermsPatched(terms) => self.inventory(number).status = Some(terms.status),
                Change::EventCancelled { reason: _ } => {
                    self.inventory(number).status = Some(InventoryStatus::Cancelled);
                }
                Change::EventDeleted => self.inventory(number).status = Some(InventoryStatus::Deleted),
                Change::PricesPatched { .. }
                | Change::PatternPatched(_)
                | Change::RolledThrough(_)
                | Change::ContactForgotten { .. }
                | Change::EventInfoPatched(_) => {}
            }
        }
        Ok(())
    }

    /// All rows of an inventory, for tables that have none of it.
    pub(super) fn of(number: Number, inventory: &Inventory) -> Result<Rows, String> {
        let mut rows = Rows::default();
        let stock = inventory.stock().ok_or_else(|| format!("inventory {number} is nothing"))?;
        match stock {
            Stock::Event(event) => {
                rows.create(number, &event.terms);
                for (place, area) in (0u16..).zip(&event.areas) {
                    rows.add_pool(number, area_key(place), area.name.clone(), area.pool.capacity, false);
                }
                if let Some(StockView { kind: KindView::Event(view), .. }) = StockView::new(inventory) {
                    for (subsection, view) in (0u16..).zip(view.subsections.iter()) {
                        rows.add_section(number, subsection, view);
                    }
                }
            }
            Stock::Schedule(schedule) => {
                rows.create(number, &schedule.terms);
                for (id, slot) in &schedule.slots {
                    rows.add_pool(number, slot_key(id), id.to_string(), slot.pool.capacity, slot.closed);
                }
                for (id, ticket) in &schedule.tickets {
                    rows.tickets.insert((number, id.to_string()), TicketRow::of(ticket));
                }
            }
            Stock::Shop(shop) => {
                rows.create(number, &shop.terms);
                for (place, boxed) in (0u32..).zip(&shop.boxes) {
                    let name = boxed.id.to_string();
                    rows.add_pool(number, box_key(place), name, boxed.pool.capacity, boxed.closed);
                }
            }
        }
        for booking in inventory.bookings() {
            rows.bookings.insert((booking.id, number), BookingRow::made(booking));
        }
        for remembered in inventory.memory().queue() {
            rows.keys.insert((number, remembered.key.0), remembered.keep_until.0);
        }
        rows.count_claims()?;
        Ok(rows)
    }

    fn add_section(&mut self, number: Number, subsection: u16, view: &SubsectionView) {
        self.sections.push(SectionRow {
            inventory: number,
            subsection: subsection.into(),
            address: view.address.to_string(),
            rows: view.rows.into(),
            cols: view.cols.into(),
        });
        self.inventory(number).capacity += i64::from(view.rows) * i64::from(view.cols);
        let mut blocked = Vec::new();
        for row in 1..=view.rows {
            let states = (1u16..).zip(view.row(row));
            let names = states.filter(|(_, state)| *state == SeatState::Blocked).map(|(number, _)| number);
            blocked.extend(names.map(|number| Seat { subsection, row, number }));
        }
        self.block(number, &blocked);
    }

    /// Counts what the bookings claim now instead of what they claimed before. To be called once, after all changes.
    pub(super) fn count_claims(&mut self) -> Result<(), String> {
        let bookings = std::mem::take(&mut self.bookings);
        for (&(_, number), row) in &bookings {
            if let Some(before) = &row.before {
                self.count(number, before, -1)?;
            }
            self.count(number, &row.after, 1)?;
        }
        self.bookings = bookings;
        Ok(())
    }

    fn count(&mut self, number: Number, claimed: &Claimed, sign: i64) -> Result<(), String> {
        let inventory = self.inventory(number);
        match claimed.claim() {
            Claim::Held => inventory.held += sign * claimed.quantity,
            Claim::Sold => inventory.sold += sign * claimed.quantity,
            Claim::Free => return Ok(()),
        }
        for (pool, quantity) in &claimed.pools {
            let pool = self.pool(number, pool)?;
            match claimed.claim() {
                Claim::Held => pool.held += sign * quantity,
                Claim::Sold => pool.sold += sign * quantity,
                Claim::Free => {}
            }
        }
        Ok(())
    }

    fn create_event(&mut self, number: Number, plan: &EventPlan) {
        self.create(number, &plan.terms);
        let mut subsection: u16 = 0;
        for section in &plan.sections {
            for part in &section.subsections {
                self.sections.push(SectionRow {
                    inventory: number,
                    subsection: subsection.into(),
                    address: format!("{}-{}", section.name, part.number),
                    rows: part.rows.into(),
                    cols: part.cols.into(),
                });
                self.inventory(number).capacity += i64::from(part.rows) * i64::from(part.cols);
                let seat = |name: &boxoffice_core::event::SeatName| Seat {
                    subsection,
                    row: name.row,
                    number: name.number,
                };
                let blocked: Vec<Seat> = part.blocked.iter().map(seat).collect();
                self.block(number, &blocked);
                subsection += 1;
            }
        }
        for (place, area) in (0u16..).zip(&plan.areas) {
            self.add_pool(number, area_key(place), area.name.clone(), area.capacity, false);
        }
    }

    fn create(&mut self, number: Number, terms: &Terms) {
        let inventory = self.inventory(number);
        inventory.currency = Some(terms.currency.as_str().to_owned());
        inventory.status = Some(terms.status);
    }

    fn block(&mut self, number: Number, seats: &[Seat]) {
        self.blocked.extend(seats.iter().map(|&seat| (number, seat)));
        self.inventory(number).blocked += i64::try_from(seats.len()).expect("seats are bounded");
    }

    fn add_pool(&mut self, number: Number, key: String, name: String, capacity: u32, closed: bool) {
        let capacity = i64::from(capacity);
        self.inventory(number).capacity += capacity;
        let pool = PoolRow { name, capacity, held: 0, sold: 0, closed: Some(closed), removed: false };
        self.pools.insert((number, key), pool);
    }

    fn set_pool(&mut self, number: Number, key: &str, capacity: u32, closed: bool) -> Result<(), String> {
        let pool = self.pool(number, key)?;
        pool.closed = Some(closed);
        let more = i64::from(capacity) - pool.capacity;
        pool.capacity += more;
        self.inventory(number).capacity += more;
        Ok(())
    }

    fn inventory(&mut self, number: Number) -> &mut InventoryRow {
        self.inventories.entry(number).or_default()
    }

    fn pool(&mut self, number: Number, key: &str) -> Result<&mut PoolRow, String> {
        let missing = || format!("the table pool has no {key:?} of inventory {number}");
        self.pools.get_mut(&(number, key.to_owned())).ok_or_else(missing)
    }

    /// A booking that is about to change.
    fn booking(&mut self, number: Number, id: BookingId) -> Result<&mut BookingRow, String> {
        let missing = || format!("the table booking has no {id:?} of inventory {number}");
        let row = self.bookings.get_mut(&(id, number)).ok_or_else(missing)?;
        row.versions += 1;
        Ok(row)
    }
}

impl TicketRow {
    fn of(ticket: &Ticket) -> TicketRow {
        TicketRow { active: ticket.active, expires_at_ms: ticket.expires_at.map(|at| at.0) }
    }
}

impl BookingRow {
    fn made(booking: &Booking) -> BookingRow {
        let mut row = BookingRow {
            before: None,
            customer: booking.customer.to_string(),
            created_at_ms: booking.created_at.0,
            after: Claimed { status: BookingStatus::OnHold, quantity: 0, pools: Vec::new() },
            total_price: 0,
            expires_at_ms: None,
            confirmed_at_ms: None,
            cancelled_at_ms: None,
            redeemed_at_ms: None,
            redeemed_quantity: Some(booking.redeemed_quantity().into()),
            payment_reference: booking.payment_reference().map(ToString::to_string),
            reference: booking.reference().map(ToString::to_string),
            versions: booking.version.into(),
            units: None,
        };
        match booking.status {
            Status::OnHold { expires_at } => row.expires_at_ms = Some(expires_at.0),
            Status::Confirmed { confirmed_at } => {
                row.after.status = BookingStatus::Confirmed;
                row.confirmed_at_ms = Some(confirmed_at.0);
            }
            Status::Redeemed { confirmed_at, redeemed_at } => {
                row.after.status = BookingStatus::Redeemed;
                row.confirmed_at_ms = Some(confirmed_at.0);
                row.redeemed_at_ms = Some(redeemed_at.0);
            }
            Status::Cancelled { confirmed_at, cancelled_at } => {
                row.after.status = BookingStatus::Cancelled;
                row.confirmed_at_ms = confirmed_at.map(|at| at.0);
                row.cancelled_at_ms = Some(cancelled_at.0);
            }
            Status::Expired { expires_at } => {
                row.after.status = BookingStatus::Expired;
                row.expires_at_ms = Some(expires_at.0);
            }
        }
        row.claim_units(&booking.units);
        row
    }

    /// One that the tables have.
    pub(super) fn known(claimed: Claimed, total_price: i64) -> BookingRow {
        BookingRow {
            before: Some(claimed.clone()),
            customer: String::new(),
            created_at_ms: 0,
            after: claimed,
            total_price,
            expires_at_ms: None,
            confirmed_at_ms: None,
            cancelled_at_ms: None,
            redeemed_at_ms: None,
            redeemed_quantity: None,
            payment_reference: None,
            reference: None,
            versions: 0,
            units: None,
        }
    }

    fn claim_units(&mut self, units: &Units) {
        self.after.quantity = units.quantity().into();
        self.after.pools = pools_of(units);
        self.total_price = units.total_price().0;
        self.units = Some(units.clone());
    }
}
