//! A second opinion on a journal: who owns which unit, change by change, in plain maps.
//!
//! Written from what a change means and not from how the rules apply it. Says what is wrong instead of panicking.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::change::Change;
use boxoffice_core::ids::{Actor, BookingId};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::seats::Seat;
use boxoffice_core::time::{SlotId, Timestamp};

/// What a journal says, so far.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sequence: u64,
    now: Option<Timestamp>,
    by: Actor,
    seats: BTreeMap<Seat, Owner>,
    pools: BTreeMap<Counted, Pool>,
    boxes: u32,
    bookings: BTreeMap<BookingId, Vec<Version>>,
    on_hold: BTreeSet<(Timestamp, BookingId)>,
    keys: HashMap<KeyDigest, Timestamp>,
    /// How many changes of each sort a booking went through.
    pub(crate) acts: BTreeMap<(Sort, BookingId), u32>,
    /// Holds that ran out.
    pub(crate) expired: u32,
    pub(crate) created: bool,
    /// Whether the event was cancelled or deleted: nothing is booked in it again.
    over: bool,
}

/// A booking as of a batch.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) sequence: u64,
    pub(crate) booking: Booking,
}

/// What is done to bookings by those who ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Book,
    Confirm,
    Extend,
    Cancel,
    Move,
    Redeem,
    Unredeem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Booking(BookingId),
    House,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Counted {
    Area(u16),
    Slot(SlotId),
    Box(u32),
}

#[derive(Debug, Default)]
struct Pool {
    capacity: u32,
    owners: BTreeMap<BookingId, u32>,
}

impl Ledger {
    /// Takes in the next batch, or says what cannot be.
    pub(crate) fn batch(&mut self, sequence: u64, changes: &[Change]) -> Result<(), String> {
        if sequence != self.sequence + 1 {
            return Err(format!("batch {sequence} comes after batch {}", self.sequence));
        }
        self.sequence = sequence;
        if changes.is_empty() {
            return Err("an empty batch".to_owned());
        }
        for change in changes {
            self.change(change).map_err(|wrong| format!("batch {sequence}: {wrong}, in {change:?}"))?;
        }
        Ok(())
    }

    /// The last batch.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// All versions of a booking, oldest first.
    pub(crate) fn versions(&self, id: BookingId) -> &[Version] {
        self.bookings.get(&id).map_or(&[], Vec::as_slice)
    }

    /// All bookings as they are now.
    pub(crate) fn bookings(&self) -> impl Iterator<Item = &Booking> {
        self.bookings.values().map(|versions| &versions.last().expect("at least one").booking)
    }

    /// The hold that ends first.
    pub(crate) fn first_deadline(&self) -> Option<(Timestamp, BookingId)> {
        self.on_hold.first().copied()
    }

    fn change(&mut self, change: &Change) -> Result<(), String> {
        match change {
            Change::Act { at, by } => return self.act(*at, *by),
            Change::EventCreated(plan) => {
                self.create()?;
                for (index, area) in (0..).zip(&plan.areas) {
                    self.set_capacity(Counted::Area(index), area.capacity)?;
                }
            }
            Change::ScheduleCreated(_) | Change::ShopCreated(_) => self.create()?,
            Change::SeatsBlocked(seats) => {
                for &seat in seats {
                    self.take_seat(seat, Owner::House)?;
                }
            }
            Change::SeatsUnblocked(seats) => {
                for &seat in seats {
                    self.free_seat(seat, Owner::House)?;
                }
            }
            Change::SlotsAdded(slots) => {
                for (slot, added) in slots {
                    self.set_capacity(Counted::Slot(*slot), added.pool.capacity)?;
                }
            }
            Change::SlotsRemoved(slots) => {
                for slot in slots {
                    let pool = self.pools.remove(&Counted::Slot(*slot)).ok_or("no such slot")?;
                    if !pool.owners.is_empty() {
                        return Err("a slot with bookings is removed".to_owned());
                    }
                }
            }
            Change::SlotPatched { slot, closed: _, capacity, price: _ } => {
                self.set_capacity(Counted::Slot(*slot), *capacity)?;
            }
            Change::BoxAdded(added) => {
                self.set_capacity(Counted::Box(self.boxes), added.pool.capacity)?;
                self.boxes += 1;
            }
            Change::BoxPatched(properties) => {
                self.set_capacity(Counted::Box(properties.number), properties.quantity)?;
            }
            Change::Booked(_) | Change::Revived { .. } if self.over => {
                return Err("a booking in an event that is over".to_owned());
            }
            Change::Booked(booking) => self.book(booking)?,
            Change::Confirmed { booking, payment_reference } => {
                self.count(Sort::Confirm, *booking);
                let confirmed_at = self.now()?;
                self.restate(*booking, |before| match before.status {
                    Status::OnHold { expires_at } if expires_at > confirmed_at => {
                        before.details = before.details_with_payment(payment_reference.clone());
                        Ok(Status::Confirmed { confirmed_at })
                    }
                    Status::OnHold { .. }
                    | Status::Confirmed { .. }
                    | Status::Redeemed { .. }
                    | Status::Cancelled { .. }
                    | Status::Expired { .. } => Err("only a hold in time is confirmed"),
                })?;
            }
            Change::Revived { booking, from, units, redeem_code, payment_reference } => {
                self.count(Sort::Confirm, *booking);
                let confirmed_at = self.now()?;
                self.restate(*booking, |before| match before.status {
                    Status::Expired { .. } if before.units == **from => {
                        before.units = units.as_ref().clone();
                        before.redeem_code = *redeem_code;
                        before.details = before.details_with_payment(payment_reference.clone());
                        Ok(Status::Confirmed { confirmed_at })
                    }
                    Status::OnHold { .. }
                    | Status::Confirmed { .. }
                    | Status::Redeemed { .. }
                    | Status::Cancelled { .. }
                    | Status::Expired { .. } => Err("only what expired is revived"),
                })?;
                self.take(*booking, units)?;
            }
            Change::Extended { booking, expires_at } => {
                self.count(Sort::Extend, *booking);
                self.restate(*booking, |before| match before.status {
                    Status::OnHold { expires_at: earlier } if earlier < *expires_at => {
                        Ok(Status::OnHold { expires_at: *expires_at })
                    }
                    Status::OnHold { .. }
                    | Status::Confirmed { .. }
                    | Status::Redeemed { .. }
                    | Status::Cancelled { .. }
                    | Status::Expired { .. } => Err("only a hold is extended, and only forward"),
                })?;
            }
            Change::Cancelled { booking, reason: _ } => {
                // With its event, nobody asks for it by its id.
                if !self.over {
                    self.count(Sort::Cancel, *booking);
                }
                let cancelled_at = self.now()?;
                let units = self.restate(*booking, |before| match before.status {
                    Status::OnHold { .. } => Ok(Status::Cancelled { confirmed_at: None, cancelled_at }),
                    Status::Confirmed { confirmed_at } => {
                        Ok(Status::Cancelled { confirmed_at: Some(confirmed_at), cancelled_at })
                    }
                    Status::Redeemed { .. } | Status::Cancelled { .. } | Status::Expired { .. } => {
                        Err("only an active booking is cancelled")
                    }
                })?;
                self.free(*booking, &units)?;
            }
            Change::Moved { booking, from, units } => {
                self.count(Sort::Move, *booking);
                self.restate(*booking, |before| {
                    if !before.is_active() || before.units != **from {
                        return Err("only an active booking is moved, from where it was");
                    }
                    before.units = units.as_ref().clone();
                    Ok(before.status)
                })?;
                self.free(*booking, from)?;
                self.take(*booking, units)?;
            }
            Change::Redeemed { booking, forced: _ } => {
                self.count(Sort::Redeem, *booking);
                let redeemed_at = self.now()?;
                self.restate(*booking, |before| match before.status {
                    Status::Confirmed { confirmed_at } => {
                        before.details = before.redeemed(redeemed_at).details;
                        Ok(Status::Redeemed { confirmed_at, redeemed_at })
                    }
                    Status::OnHold { .. }
                    | Status::Redeemed { .. }
                    | Status::Cancelled { .. }
                    | Status::Expired { .. } => Err("only a confirmed booking is redeemed"),
                })?;
            }
            Change::PartRedeemed { booking, part, redeemed_quantity, forced: _ } => {
                self.count(Sort::Redeem, *booking);
                let now = self.now()?;
                self.restate(*booking, |before| {
                    let after = before.part_redeemed(part, now);
                    let more = before.redeemed_quantity() + part.quantity();
                    let is_counted = [after.redeemed_quantity(), *redeemed_quantity] == [more, more];
                    let is_confirmed = matches!(before.status, Status::Confirmed { .. });
                    if !is_confirmed || !is_counted || more == before.units.quantity() {
                        return Err("only a part of a confirmed booking is redeemed in part, each unit once");
                    }
                    before.details = after.details;
                    Ok(after.status)
                })?;
            }
            Change::Unredeemed { booking, part, redeemed_quantity, redeem_code, reason: _ } => {
                self.count(Sort::Unredeem, *booking);
                self.restate(*booking, |before| {
                    let after = before.unredeemed(part.as_deref(), *redeem_code);
                    let fewer = match part {
                        Some(part) => before.redeemed_quantity().checked_sub(part.quantity()),
                        None => Some(0),
                    };
                    let is_counted =
                        fewer == Some(*redeemed_quantity) && fewer == Some(after.redeemed_quantity());
                    if before.redeemed_quantity() == 0 || !is_counted {
                        return Err("only what was redeemed is undone");
                    }
                    (before.details, before.redeem_code) = (after.details, after.redeem_code);
                    Ok(after.status)
                })?;
            }
            Change::Expired { booking } => {
                self.expired += 1;
                let now = self.now()?;
                let units = self.restate(*booking, |before| match before.status {
                    Status::OnHold { expires_at } if expires_at <= now => Ok(Status::Expired { expires_at }),
                    Status::OnHold { .. } => Err("a hold ends early"),
                    Status::Confirmed { .. }
                    | Status::Redeemed { .. }
                    | Status::Cancelled { .. }
                    | Status::Expired { .. } => Err("a hold ends twice"),
                })?;
                self.free(*booking, &units)?;
            }
            Change::Remembered { key, fingerprint: _, keep_until, reply: _ } => {
                let now = self.now()?;
                if self.keys.insert(*key, *keep_until).is_some_and(|kept| kept > now) {
                    return Err("a key is given a second answer".to_owned());
                }
            }
            Change::KeysForgotten { through } => self.keys.retain(|_, kept| *kept > *through),
            Change::TermsPatched(_)
            | Change::PricesPatched { .. }
            | Change::PatternPatched(_)
            | Change::RolledThrough(_)
            | Change::TicketsImported(_)
            | Change::ContactForgotten { .. }
            | Change::EventInfoPatched(_) => {}
            Change::EventCancelled { .. } => self.over = true,
            Change::EventDeleted if self.bookings.is_empty() => self.over = true,
            Change::EventDeleted => return Err("an event with bookings is deleted".to_owned()),
        }
        self.now().map(drop)
    }

    fn act(&mut self, at: Timestamp, by: Actor) -> Result<(), String> {
        if self.now.is_some_and(|before| at < before) {
            return Err("time runs backwards".to_owned());
        }
        (self.now, self.by) = (Some(at), by);
        // The system itself acts on holds that are over, and nobody else may meet one.
        match self.first_deadline() {
            Some((over_at, id)) if over_at <= at && by != Actor::default() => {
                Err(format!("hold {id:?} is over since {over_at:?} and still in the way"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn now(&self) -> Result<Timestamp, String> {
        self.now.ok_or_else(|| "a change without a time".to_owned())
    }

    fn create(&mut self) -> Result<(), String> {
        if self.created {
            return Err("created twice".to_owned());
        }
        self.created = true;
        Ok(())
    }

    fn count(&mut self, sort: Sort, booking: BookingId) {
        *self.acts.entry((sort, booking)).or_default() += 1;
    }

    fn book(&mut self, booking: &Arc<Booking>) -> Result<(), String> {
        self.count(Sort::Book, booking.id);
        if self.bookings.contains_key(&booking.id) {
            return Err("an id is booked twice".to_owned());
        }
        match booking.status {
            Status::OnHold { expires_at } => {
                self.on_hold.insert((expires_at, booking.id));
            }
            Status::Confirmed { .. } => {}
            Status::Redeemed { .. } | Status::Cancelled { .. } | Status::Expired { .. } => {
                return Err("a booking begins at its end".to_owned());
            }
        }
        self.take(booking.id, &booking.units)?;
        let version = Version { sequence: self.sequence, booking: Booking::clone(booking) };
        self.bookings.insert(booking.id, vec![version]);
        Ok(())
    }

    /// Adds a version of a booking; gives the units it had before.
    fn restate(
        &mut self,
        id: BookingId,
        change: impl FnOnce(&mut Booking) -> Result<Status, &'static str>,
    ) -> Result<Units, String> {
        let versions = self.bookings.get_mut(&id).ok_or("no such booking")?;
        let before = &versions.last().expect("at least one").booking;
        let units = before.units.clone();
        if let Status::OnHold { expires_at } = before.status {
            self.on_hold.remove(&(expires_at, id));
        }
        let mut after = before.clone();
        after.status = change(&mut after)?;
        after.version += 1;
        if let Status::OnHold { expires_at } = after.status {
            self.on_hold.insert((expires_at, id));
        }
        versions.push(Version { sequence: self.sequence, booking: after });
        Ok(units)
    }

    fn take(&mut self, id: BookingId, units: &Units) -> Result<(), String> {
        for seat in seats_of(units) {
            self.take_seat(seat, Owner::Booking(id))?;
        }
        for (counted, quantity) in counted_of(units) {
            let pool = self.pools.get_mut(&counted).ok_or_else(|| format!("there is no {counted:?}"))?;
            *pool.owners.entry(id).or_default() += quantity;
            pool.check(counted)?;
        }
        Ok(())
    }

    fn free(&mut self, id: BookingId, units: &Units) -> Result<(), String> {
        for seat in seats_of(units) {
            self.free_seat(seat, Owner::Booking(id))?;
        }
        for (counted, quantity) in counted_of(units) {
            let pool = self.pools.get_mut(&counted).ok_or_else(|| format!("there is no {counted:?}"))?;
            let owned = pool.owners.remove(&id).unwrap_or(0);
            match owned.checked_sub(quantity) {
                None => return Err(format!("{quantity} of {counted:?} are freed, and {owned} were taken")),
                Some(0) => {}
                Some(left) => drop(pool.owners.insert(id, left)),
            }
        }
        Ok(())
    }

    fn take_seat(&mut self, seat: Seat, owner: Owner) -> Result<(), String> {
        match self.seats.insert(seat, owner) {
            None => Ok(()),
            Some(before) => Err(format!("{seat:?} of {before:?} is given to {owner:?}")),
        }
    }

    fn free_seat(&mut self, seat: Seat, owner: Owner) -> Result<(), String> {
        match self.seats.remove(&seat) {
            Some(before) if before == owner => Ok(()),
            before => Err(format!("{seat:?} of {before:?} is freed by {owner:?}")),
        }
    }

    fn set_capacity(&mut self, counted: Counted, capacity: u32) -> Result<(), String> {
        let pool = self.pools.entry(counted).or_default();
        pool.capacity = capacity;
        pool.check(counted)
    }
}

impl Pool {
    fn check(&self, counted: Counted) -> Result<(), String> {
        let owned: u32 = self.owners.values().sum();
        if owned > self.capacity {
            return Err(format!("{counted:?} has {} places and {owned} owners", self.capacity));
        }
        Ok(())
    }
}

fn seats_of(units: &Units) -> Vec<Seat> {
    match units {
        Units::Event { seats, areas: _ } => seats.iter().map(|claim| claim.seat).collect(),
        Units::Slot { .. } | Units::Box { .. } => Vec::new(),
    }
}

fn counted_of(units: &Units) -> Vec<(Counted, u32)> {
    match units {
        Units::Event { seats: _, areas } => {
            areas.iter().map(|claim| (Counted::Area(claim.area), claim.quantity)).collect()
        }
        Units::Slot { slot, quantity, .. } => vec![(Counted::Slot(*slot), *quantity)],
        Units::Box { number, quantity, .. } => vec![(Counted::Box(*number), *quantity)],
    }
}
