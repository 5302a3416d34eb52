//! The model: every unit in a plain map with its owner, every rule a scan over everything. It shares the core's plain
//! records (bookings, terms, refusals), so that answers can be compared whole, and none of its reasoning.

mod bookings;
mod calendar;
mod form;
pub(crate) mod hall;
mod moments;
mod shop;

use std::collections::BTreeMap;
use std::sync::Arc;

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{PatchEvent, PatchShop};
use boxoffice_core::ids::{BookingId, InventoryKind, RedeemCode};
use boxoffice_core::memory::Fingerprint;
use boxoffice_core::outcome::{Grant, Outcome, Summary};
use boxoffice_core::refusal::{Refusal, RefusalKind};
use boxoffice_core::rules::{InventoryStatus, Rules, Terms};
use boxoffice_core::seats::{Seat, SeatState};
use boxoffice_core::time::Timestamp;

pub(crate) use calendar::Calendar;
pub(crate) use hall::{Hall, Owner};
pub(crate) use shop::Shelf;

/// What the inventory should be.
#[derive(Default)]
pub(crate) struct Model {
    /// The time of the last change.
    pub(crate) clock: Timestamp,
    pub(crate) terms: Option<Terms>,
    pub(crate) stock: Stock,
    pub(crate) bookings: BTreeMap<BookingId, Booking>,
    /// In the order they were made.
    pub(crate) booking_order: Vec<BookingId>,
    pub(crate) customers: BTreeMap<Arc<str>, Customer>,
    pub(crate) keys: BTreeMap<[u8; 16], KeptAnswer>,
    longest_kept_until: Timestamp,
}

#[derive(Default)]
pub(crate) enum Stock {
    #[default]
    Nothing,
    Event(Hall),
    Schedule(Calendar),
    Shop(Vec<Shelf>),
}

pub(crate) struct Customer {
    /// The booking that was made, or came back to life, last.
    pub(crate) latest: BookingId,
}

/// The first answer of an idempotency key, as the core gave it and the model agreed to.
#[derive(Clone)]
pub(crate) struct KeptAnswer {
    pub(crate) fingerprint: Fingerprint,
    pub(crate) outcome: Outcome,
    pub(crate) sequence: u64,
    pub(crate) decided_at: Timestamp,
    pub(crate) keep_until: Timestamp,
}

/// What the core should answer.
pub(crate) struct Prediction {
    /// The moment that counts.
    pub(crate) now: Timestamp,
    /// Holds that end first, in order.
    pub(crate) expired: Vec<BookingId>,
    pub(crate) answer: Answer,
    /// Whether a key is to remember the answer.
    pub(crate) remembered: bool,
}

pub(crate) enum Answer {
    Replayed(KeptAnswer),
    Granted(Grant),
    Refused(No),
}

/// A refusal, without its alternatives for seats: those have properties to check instead.
pub(crate) struct No {
    pub(crate) refusal: Refusal,
    pub(crate) asked: Option<Box<Asked>>,
}

/// What alternatives are offered to: the seats asked for, and the hall as the command saw it.
pub(crate) struct Asked {
    pub(crate) seats: Vec<Seat>,
    pub(crate) hall: Hall,
}

pub(crate) type Decided<T> = Result<T, No>;

impl From<Refusal> for No {
    fn from(refusal: Refusal) -> No {
        No { refusal, asked: None }
    }
}

/// Any refusal of a malformed request; where and why is not compared.
pub(crate) fn invalid<T>() -> Decided<T> {
    refuse(Refusal::InvalidRequest { pointer: String::new(), message: String::new() })
}

pub(crate) fn refuse<T>(refusal: Refusal) -> Decided<T> {
    Err(No::from(refusal))
}

pub(crate) fn refuse_if(refused: bool, refusal: Refusal) -> Decided<()> {
    if refused { refuse(refusal) } else { Ok(()) }
}

pub(crate) fn later(moment: Timestamp, seconds: u32) -> Timestamp {
    Timestamp(moment.0 + i64::from(seconds) * 1_000)
}

impl Model {
    /// Decides a command and changes the model as the core should change.
    pub(crate) fn apply(&mut self, now: Timestamp, command: &Command) -> Prediction {
        let now = now.max(self.clock);
        let expired = self.expire(now);
        let known = command.idempotency.and_then(|idempotency| {
            let kept = self.keys.get(&idempotency.key.0).filter(|kept| kept.keep_until > now)?;
            Some((kept.clone(), kept.fingerprint == idempotency.fingerprint))
        });
        let answer = match known {
            Some((kept, true)) => Answer::Replayed(kept),
            Some((_, false)) => Answer::Refused(Refusal::IdempotencyKeyReused.into()),
            None => match self.decide(now, command) {
                Ok(grant) => Answer::Granted(grant),
                Err(no) => Answer::Refused(no),
            },
        };
        let worth_keeping = match &answer {
            Answer::Replayed(_) => false,
            Answer::Granted(_) => true,
            Answer::Refused(no) => match no.refusal.kind() {
                RefusalKind::Invalid
                | RefusalKind::Forbidden
                | RefusalKind::KeyReused
                | RefusalKind::Overloaded => false,
                RefusalKind::NotFound | RefusalKind::Conflict | RefusalKind::Gone => true,
            },
        };
        let remembered = worth_keeping && command.idempotency.is_some() && self.terms.is_some();
        Prediction { now, expired, answer, remembered }
    }

    /// Learns what only the core knows: whether anything changed, and the answer to keep, which was checked.
    pub(crate) fn settle(
        &mut self,
        prediction: &Prediction,
        command: &Command,
        first: &KeptAnswer,
        changed: bool,
    ) {
        if changed {
            self.clock = prediction.now;
        }
        if let Some(idempotency) = command.idempotency.filter(|_| prediction.remembered) {
            let seconds = idempotency.keep_seconds.max(self.rules().max_hold_seconds);
            let keep_until = later(prediction.now, seconds).max(self.longest_kept_until);
            self.longest_kept_until = keep_until;
            let kept = KeptAnswer { fingerprint: idempotency.fingerprint, keep_until, ..first.clone() };
            self.keys.insert(idempotency.key.0, kept);
        }
    }

    pub(crate) fn rules(&self) -> Rules {
        self.terms.as_ref().expect("an inventory that exists").rules
    }

    fn decide(&mut self, now: Timestamp, command: &Command) -> Decided<Grant> {
        self.check_key(command)?;
        let grant = match &command.action {
            Action::CreateEvent(create) => {
                let terms = form::new_terms(
                    InventoryKind::Event,
                    &create.id,
                    &create.name,
                    create.currency,
                    create.sales,
                    create.rules,
                )?;
                form::check_info(&create.info)?;
                form::check_hall(create)?;
                self.create(terms, Stock::Event(Hall::new(create)))
            }
            Action::CreateSchedule(create) => {
                let terms = form::new_terms(
                    InventoryKind::Schedule,
                    &create.id,
                    &create.name,
                    create.currency,
                    create.sales,
                    create.rules,
                )?;
                form::check_zone(&create.timezone)?;
                form::check_pattern(&create.pattern)?;
                self.create(terms, Stock::Schedule(Calendar::new(&create.timezone, &create.pattern, now)))
            }
            Action::CreateShop(create) => {
                let terms = form::new_terms(
                    InventoryKind::Shop,
                    &create.id,
                    &create.name,
                    create.currency,
                    create.sales,
                    create.rules,
                )?;
                form::check_zone(&create.timezone)?;
                self.create(terms, Stock::Shop(Vec::new()))
            }
            Action::PatchEvent(patch) => self.patch_event(patch),
            Action::PatchSchedule(patch) => self.patch_schedule(now, patch),
            Action::PatchShop(patch) => self.patch_shop(patch),
            Action::BlockSeats(block) => self.block(&block.seats),
            Action::UnblockSeats(unblock) => self.unblock(&unblock.seats),
            Action::AddSlot(add) => self.add_slot(now, add),
            Action::PatchSlot(patch) => self.patch_slot(patch),
            Action::DeleteSlot(delete) => self.delete_slot(delete.slot),
            Action::RollSlots => self.roll_slots(now),
            Action::AddBox(add) => self.add_box(add),
            Action::PatchBox(patch) => self.patch_box(patch),
            Action::ImportTickets(import) => self.import_tickets(import),
            Action::Book(book) => self.book(now, command.by, book),
            Action::Confirm(confirm) => self.confirm(now, confirm),
            Action::Extend(extend) => self.extend(now, extend),
            Action::Cancel(cancel) => self.cancel(now, cancel),
            Action::Move(moving) => self.move_booking(now, moving),
            Action::Redeem(redeem) => self.redeem(now, redeem),
            Action::Unredeem(unredeem) => self.unredeem(unredeem),
            Action::CancelEvent(cancel) => self.cancel_event(now, cancel),
            Action::DeleteEvent => self.delete_event(),
            Action::Expire => Ok(Grant::Done),
            Action::ForgetContact(_) => Ok(Grant::Done),
            Action::ForgetKeys => {
                self.keys.retain(|_, kept| kept.keep_until > now);
                Ok(Grant::Done)
            }
        }?;
        self.note_sellout(now);
        // The sell-out is part of what is shown.
        match grant {
            Grant::Inventory(_) => Ok(self.summary()),
            other => Ok(other),
        }
    }

    fn check_key(&self, command: &Command) -> Decided<()> {
        let on_booking = matches!(
            command.action,
            Action::Book(_)
                | Action::Confirm(_)
                | Action::Extend(_)
                | Action::Cancel(_)
                | Action::Move(_)
                | Action::Redeem(_)
                | Action::Unredeem(_)
        );
        let demanded = self.terms.as_ref().is_some_and(|terms| terms.rules.require_idempotency_key);
        match &command.idempotency {
            None => refuse_if(on_booking && demanded, Refusal::IdempotencyKeyRequired),
            Some(idempotency) => form::check_number(idempotency.keep_seconds, 30 * 86_400),
        }
    }

    fn create(&mut self, terms: Terms, stock: Stock) -> Decided<Grant> {
        refuse_if(self.terms.is_some(), Refusal::AlreadyExists)?;
        self.terms = Some(terms);
        self.stock = stock;
        Ok(self.summary())
    }

    fn patch_event(&mut self, patch: &PatchEvent) -> Decided<Grant> {
        let hall = self.hall()?;
        let status = self.terms.as_ref().expect("events have terms").status;
        let reopens = status == InventoryStatus::Cancelled && patch.terms.open.is_some();
        refuse_if(reopens, Refusal::InventoryClosed)?;
        let terms = form::patched_terms(self.terms.as_ref().expect("events have terms"), &patch.terms)?;
        let mut hall = hall.clone();
        let (info, new) = (&mut hall.info, patch.info.clone());
        info.starts_at = new.starts_at.unwrap_or(info.starts_at);
        info.doors_open_at = new.doors_open_at.unwrap_or(info.doors_open_at);
        info.ends_at = new.ends_at.unwrap_or(info.ends_at);
        info.timezone = new.timezone.unwrap_or(info.timezone.clone());
        info.venue = new.venue.unwrap_or(info.venue.clone());
        info.description = new.description.unwrap_or(info.description.clone());
        form::check_info(info)?;
        for (name, price) in &patch.section_prices {
            form::check_price(*price)?;
            match hall.sections.iter_mut().find(|section| section.name == *name) {
                Some(section) => section.price = *price,
                None => return refuse(Refusal::SectionNotFound { section: name.clone() }),
            }
        }
        for (name, price) in &patch.area_prices {
            form::check_price(*price)?;
            match hall.areas.iter_mut().find(|area| area.name == *name) {
                Some(area) => area.price = *price,
                None => return refuse(Refusal::AreaNotFound { area: name.clone() }),
            }
        }
        self.terms = Some(terms);
        self.stock = Stock::Event(hall);
        Ok(self.summary())
    }

    fn patch_shop(&mut self, patch: &PatchShop) -> Decided<Grant> {
        self.shelves()?;
        self.terms = Some(form::patched_terms(self.terms.as_ref().expect("shops have terms"), &patch.terms)?);
        Ok(self.summary())
    }

    pub(crate) fn summary(&self) -> Grant {
        let terms = self.terms.clone().expect("an inventory that exists");
        Grant::Inventory(Arc::new(match &self.stock {
            Stock::Nothing => panic!("an inventory that exists"),
            Stock::Event(hall) => Summary::Event(hall.summary(terms, |owner| self.state_of(owner))),
            Stock::Schedule(calendar) => Summary::Schedule(calendar.summary(terms)),
            Stock::Shop(_) => Summary::Shop { terms, timezone: "Asia/Taipei".to_owned() },
        }))
    }

    fn status(&self) -> Option<InventoryStatus> {
        self.terms.as_ref().map(|terms| terms.status)
    }

    pub(crate) fn hall(&self) -> Decided<&Hall> {
        match &self.stock {
            Stock::Event(hall) if self.status() != Some(InventoryStatus::Deleted) => Ok(hall),
            Stock::Event(_) | Stock::Nothing | Stock::Schedule(_) | Stock::Shop(_) => {
                refuse(Refusal::EventNotFound)
            }
        }
    }

    pub(crate) fn calendar(&self) -> Decided<&Calendar> {
        match &self.stock {
            Stock::Schedule(calendar) => Ok(calendar),
            Stock::Nothing | Stock::Event(_) | Stock::Shop(_) => refuse(Refusal::ScheduleNotFound),
        }
    }

    pub(crate) fn shelves(&self) -> Decided<&Vec<Shelf>> {
        match &self.stock {
            Stock::Shop(shelves) => Ok(shelves),
            Stock::Nothing | Stock::Event(_) | Stock::Schedule(_) => refuse(Refusal::ShopNotFound),
        }
    }

    /// What a unit of this owner is.
    pub(crate) fn state_of(&self, owner: &Owner) -> SeatState {
        match owner {
            Owner::Nobody => SeatState::Available,
            Owner::House => SeatState::Blocked,
            Owner::Booking(id) => match self.bookings[id].status {
                Status::OnHold { .. } => SeatState::Held,
                Status::Confirmed { .. } | Status::Redeemed { .. } => SeatState::Sold,
                Status::Cancelled { .. } | Status::Expired { .. } => panic!("a unit of a booking that ended"),
            },
        }
    }

    /// How many of these places are held and how many are sold.
    pub(crate) fn held_and_sold(&self, owners: &[BookingId]) -> (u32, u32) {
        let count = |state| {
            let places = owners.iter().filter(|id| self.state_of(&Owner::Booking(**id)) == state);
            u32::try_from(places.count()).expect("small pools")
        };
        (count(SeatState::Held), count(SeatState::Sold))
    }

    fn note_sellout(&mut self, now: Timestamp) {
        let Stock::Event(hall) = &self.stock else { return };
        let counts = hall.totals(|owner| self.state_of(owner));
        let Stock::Event(hall) = &mut self.stock else { return };
        if counts.sold > 0 {
            hall.sellout.first_sale_at.get_or_insert(now);
            if counts.available + counts.held == 0 {
                hall.sellout.sold_out_at.get_or_insert(now);
            }
        }
    }

    /// Writes the booking's name on every unit.
    fn give(&mut self, units: &Units, id: BookingId) {
        match (&mut self.stock, units) {
            (Stock::Event(hall), Units::Event { seats, areas }) => {
                for claim in seats {
                    let owner = hall.seats.get_mut(&claim.seat).expect("a seat of the hall");
                    assert!(*owner == Owner::Nobody, "the model gave {:?} twice", claim.seat);
                    *owner = Owner::Booking(id);
                }
                for claim in areas {
                    hall.areas[usize::from(claim.area)].give(id, claim.quantity);
                }
            }
            (Stock::Schedule(calendar), Units::Slot { slot, quantity, .. }) => {
                let slot = calendar.slots.get_mut(slot).expect("a slot that exists");
                slot.owners.extend((0..*quantity).map(|_| id));
                assert!(
                    slot.owners.len() <= slot.capacity as usize,
                    "the model gave more places than there are"
                );
            }
            (Stock::Shop(shelves), Units::Box { number, quantity, .. }) => {
                let shelf = &mut shelves[*number as usize];
                shelf.owners.extend((0..*quantity).map(|_| id));
                assert!(
                    shelf.owners.len() <= shelf.quantity as usize,
                    "the model gave more boxes than there are"
                );
            }
            _ => panic!("units of another inventory"),
        }
    }

    /// Takes the booking's name off every unit.
    fn free(&mut self, id: BookingId) {
        match &mut self.stock {
            Stock::Nothing => {}
            Stock::Event(hall) => hall.free(id),
            Stock::Schedule(calendar) => {
                for slot in calendar.slots.values_mut() {
                    slot.owners.retain(|owner| *owner != id);
                }
            }
            Stock::Shop(shelves) => {
                for shelf in shelves {
                    shelf.owners.retain(|owner| *owner != id);
                }
            }
        }
    }
}

/// The number of a code: it prints as six characters of five bits.
pub(crate) fn number_of(code: RedeemCode) -> u32 {
    let digits = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
    let digit = |letter| u32::try_from(digits.find(letter).expect("a letter of a code")).expect("32 letters");
    code.to_string().chars().fold(0, |number, letter| number * 32 + digit(letter))
}
