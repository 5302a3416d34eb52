//! The auditor: holds what callers were told against what is read back, and both against the promises.
//!
//! It knows nothing of how the engine works. From the records of the journal it makes up its own mind about every unit and
//! booking (`ledger.rs`); the engine's own reading of the same store must agree, and every answer must still be true.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_core::codec::encode_inventory;
use boxoffice_core::command::Action;
use boxoffice_core::ids::{BookingId, tenant_of_name};
use boxoffice_core::inventory::Inventory;
use boxoffice_core::memory::{Fingerprint, KeyDigest};
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::refusal::{Refusal, RefusalKind};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::ids::inventory_of;
use boxoffice_engine::record::{Hash, Head, decode_record};
use boxoffice_engine::stepped::SteppedEngine;
use boxoffice_engine::store::Store;
use boxoffice_engine::view::{EventView, KindView, ScheduleView, ShopView, StockView};
use boxoffice_engine::{Answer, InventoryNumber, load};

use crate::history::{Asked, History, Seen};
use crate::ledger::{Ledger, Sort};

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Violation {
    /// The store itself refuses to be read. After a bit was turned over, that is as it should be.
    Refused(String),
    /// Something is not true, and nobody says so.
    Silent(String),
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Violation::Refused(text) => write!(f, "refused: {text}"),
            Violation::Silent(text) => f.write_str(text),
        }
    }
}

impl Violation {
    fn within(self, place: &str) -> Violation {
        match self {
            Violation::Refused(text) => Violation::Refused(format!("{place}: {text}")),
            Violation::Silent(text) => Violation::Silent(format!("{place}: {text}")),
        }
    }
}

fn refused(error: impl std::fmt::Display) -> Violation {
    Violation::Refused(error.to_string())
}

/// What an audit came across, for whoever wants to know that it was not idle.
#[derive(Debug, Clone, Copy, Default)]
pub struct Audited {
    /// Batches in all journals.
    pub batches: u64,
    /// Holds that ran out.
    pub expired: u32,
    /// Inventories that have a snapshot.
    pub snapshots: u32,
}

/// Records that were read before the store was allowed to forget them.
#[derive(Debug, Clone, Default)]
pub struct Archive {
    records: BTreeMap<InventoryNumber, Vec<Vec<u8>>>,
}

impl Archive {
    /// Reads what is new.
    pub fn read(&mut self, store: &dyn Store) -> Result<(), Violation> {
        let heads = store.heads().map_err(refused)?;
        for head in heads {
            let known = self.records.entry(head.inventory).or_default();
            known.extend(records_after(store, head.inventory, known.len() as u64)?);
        }
        Ok(())
    }
}

fn records_after(store: &dyn Store, number: InventoryNumber, after: u64) -> Result<Vec<Vec<u8>>, Violation> {
    store.records(number, after, usize::MAX).map_err(refused)
}

/// Everything that can be said about a store without an engine.
pub fn audit(store: &dyn Store, archive: &Archive, history: &History) -> Result<Audited, Violation> {
    let books = Books::read(store, archive, history)?;
    let mut audited = Audited::default();
    let mut owners: HashMap<(&str, BookingId), InventoryNumber> = HashMap::new();
    for (name, journal) in &books.journals {
        let tenant = tenant_of_name(name);
        audited.batches += journal.ledger.sequence();
        audited.expired += journal.ledger.expired;
        audited.snapshots += u32::from(journal.has_snapshot);
        for booking in journal.ledger.bookings() {
            if let Some(other) = owners.insert((tenant, booking.id), journal.number) {
                return Err(Violation::Silent(format!(
                    "booking {:?} is in {other} and {}",
                    booking.id, journal.number
                )));
            }
            let named = inventory_of(booking.id) == Some(journal.number);
            let found = store.find_booking(tenant, booking.id).map_err(refused)?;
            if !named && found != Some(journal.number) {
                return Err(Violation::Silent(format!(
                    "booking {:?} of {} is found in {found:?}",
                    booking.id, journal.number
                )));
            }
        }
    }
    for asked in &history.asked {
        check_answer(&books, asked).map_err(|wrong| Violation::Silent(format!("{wrong}: {asked:?}")))?;
    }
    check_explanations(&books, history)?;
    check_keys(history)?;
    check_taken_ids(history)?;
    Ok(audited)
}

/// What must hold besides once an engine has done everything that is to be done by now.
pub fn audit_at_rest(
    engine: &SteppedEngine,
    store: &dyn Store,
    archive: &Archive,
    history: &History,
    now: Timestamp,
) -> Result<(), Violation> {
    let books = Books::read(store, archive, history)?;
    for (name, journal) in &books.journals {
        let number = journal.number;
        if let Some((over_at, id)) = journal.ledger.first_deadline()
            && over_at <= now
        {
            return Err(Violation::Silent(format!(
                "{name}: hold {id:?} is over since {over_at:?}, and it is {now:?}"
            )));
        }
        if engine.number(name) != Some(number) {
            return Err(Violation::Silent(format!(
                "{name} is {number} in the store and {:?} here",
                engine.number(name)
            )));
        }
        let Some(view) = engine.view(number) else { continue };
        let (shown, true_stock) = (words_of(&view), stock_of(&journal.inventory));
        if shown != true_stock {
            return Err(Violation::Silent(format!(
                "{name}: the view shows {shown}, and the journal says {true_stock}"
            )));
        }
        for booking in journal.ledger.bookings() {
            let shown = engine.booking(number, booking.id);
            if shown.as_deref() != Some(booking) {
                return Err(Violation::Silent(format!(
                    "{name}: the view shows {shown:?}, and the journal says {booking:?}"
                )));
            }
        }
    }
    Ok(())
}

fn stock_of(inventory: &Inventory) -> String {
    StockView::new(inventory).map_or_else(String::new, |view| words_of(&view))
}

/// All of a view in words, however its maps are laid out.
fn words_of(view: &StockView) -> String {
    let StockView { sequence, terms, live_holds, kind } = view;
    let kind = match kind {
        KindView::Event(EventView { info, sections, subsections, areas, totals, sellout }) => {
            let seats = subsections.iter().map(|part| {
                let states =
                    (1..=part.rows).map(|row| (1..=part.cols).map(move |seat| part.state(row, seat)));
                let states: Vec<_> = states.flatten().collect();
                format!("{} {:?} {states:?}", part.address, part.counts)
            });
            let seats: Vec<String> = seats.collect();
            format!("{info:?} {sections:?} {seats:?} {areas:?} {totals:?} {sellout:?}")
        }
        KindView::Schedule(ScheduleView { timezone, zone: _, pattern, slots, tickets }) => {
            let (slots, tickets): (Vec<_>, Vec<_>) = (slots.iter().collect(), tickets.iter().collect());
            format!("{timezone} {pattern:?} {slots:?} {tickets:?}")
        }
        KindView::Shop(ShopView { timezone, boxes }) => {
            format!("{timezone} {:?}", boxes.iter().collect::<Vec<_>>())
        }
    };
    format!("{sequence} {terms:?} {live_holds} {kind}")
}

/// What somebody sees of an inventory now.
pub fn look(engine: &SteppedEngine, number: InventoryNumber, seen_after: u64) -> Option<Seen> {
    let view = engine.view(number)?;
    Some(Seen { inventory: number, sequence: view.sequence, stock: words_of(&view), seen_after })
}

/// All journals of a store, by the names of their inventories.
struct Books {
    journals: BTreeMap<Arc<str>, Journal>,
}

struct Journal {
    number: InventoryNumber,
    ledger: Ledger,
    inventory: Inventory,
    has_snapshot: bool,
}

impl Books {
    fn read(store: &dyn Store, archive: &Archive, history: &History) -> Result<Books, Violation> {
        let mut journals = BTreeMap::new();
        let heads = store.heads().map_err(refused)?;
        for head in heads {
            let (name, number) = (Arc::clone(&head.name), head.inventory);
            let seen = history.seen.iter().filter(|seen| seen.inventory == number);
            let journal = Journal::read(store, archive, &head, seen)
                .map_err(|violation| violation.within(&format!("{name} {number}")))?;
            if journals.insert(Arc::clone(&name), journal).is_some() {
                return Err(Violation::Silent(format!("there are two inventories called {name}")));
            }
        }
        for seen in &history.seen {
            if !journals.values().any(|journal| journal.number == seen.inventory) {
                return Err(Violation::Silent(format!("{} was seen and does not exist", seen.inventory)));
            }
        }
        Ok(Books { journals })
    }
}

impl Journal {
    fn read<'a>(
        store: &dyn Store,
        archive: &Archive,
        head: &Head,
        seen: impl Iterator<Item = &'a Seen>,
    ) -> Result<Journal, Violation> {
        let number = head.inventory;
        let mut seen_at: BTreeMap<u64, BTreeSet<&str>> = BTreeMap::new();
        for seen in seen {
            seen_at.entry(seen.sequence).or_default().insert(&seen.stock);
        }
        let archived = archive.records.get(&number).map_or(&[][..], Vec::as_slice);
        let rest = records_after(store, number, archived.len() as u64)?;
        let mut ledger = Ledger::default();
        let mut inventory = Inventory::default();
        let mut last = Hash::default();
        for bytes in archived.iter().chain(&rest) {
            let record = decode_record(bytes).map_err(refused)?;
            if record.inventory != number || record.previous != last {
                return Err(Violation::Silent(format!("record {} does not follow", record.sequence)));
            }
            last = record.hash;
            ledger.batch(record.sequence, &record.changes).map_err(Violation::Silent)?;
            inventory.replay(&record.changes);
            for shown in seen_at.remove(&record.sequence).unwrap_or_default() {
                let stock = stock_of(&inventory);
                if shown != stock {
                    let sequence = record.sequence;
                    return Err(Violation::Silent(format!(
                        "at {sequence} somebody saw {shown}, and it was {stock}"
                    )));
                }
            }
        }
        if let Some(sequence) = seen_at.keys().next() {
            return Err(Violation::Silent(format!(
                "batch {sequence} was seen, and {} is the last",
                ledger.sequence()
            )));
        }
        if (ledger.sequence(), last) != (head.sequence, head.hash) {
            return Err(Violation::Silent(format!(
                "the journal ends at {}, the head says {head:?}",
                ledger.sequence()
            )));
        }
        if let Some((over_at, _)) = ledger.first_deadline()
            && head.next_deadline.is_none_or(|wakes_at| wakes_at > over_at)
        {
            return Err(Violation::Silent(format!("a hold ends at {over_at:?}, and the head says {head:?}")));
        }
        let loaded = load::load(store, number).map_err(refused)?;
        let loaded = loaded.ok_or_else(|| Violation::Silent("it cannot be loaded".to_owned()))?;
        if encode_inventory(&loaded.inventory) != encode_inventory(&inventory) {
            return Err(Violation::Silent("loading it and replaying it from nothing differ".to_owned()));
        }
        let by_id: BTreeMap<BookingId, &Arc<Booking>> =
            loaded.inventory.bookings().map(|booking| (booking.id, booking)).collect();
        if !by_id.values().map(|booking| &***booking).eq(ledger.bookings()) {
            return Err(Violation::Silent("its bookings are not what its changes made of them".to_owned()));
        }
        Ok(Journal { number, ledger, inventory, has_snapshot: loaded.snapshot_bytes > 0 })
    }
}

/// What was acknowledged is there, as it was acknowledged.
fn check_answer(books: &Books, asked: &Asked) -> Result<(), String> {
    let Some(answer) = asked.answer() else { return Ok(()) };
    let Outcome::Granted(grant) = &answer.outcome else { return Ok(()) };
    if answer.sequence == 0 {
        // Nothing was there, and nothing was to be done: contact details that nobody has can be forgotten anywhere.
        return if *grant == Grant::Done { Ok(()) } else { Err("granted in no batch".to_owned()) };
    }
    let journal = books.journals.get(&asked.inventory).ok_or("granted in an inventory that is not there")?;
    if answer.sequence > journal.ledger.sequence() {
        return Err(format!("granted in batch {}, and the journal ends before", answer.sequence));
    }
    let booking = match grant {
        Grant::Booking(booking) => booking,
        Grant::Moved(moved) => &moved.booking,
        Grant::Inventory(_)
        | Grant::Slot(_)
        | Grant::SlotDeleted(_)
        | Grant::Box(_)
        | Grant::Tickets { .. }
        | Grant::Done
        | Grant::EventCancelled { .. } => return Ok(()),
    };
    let versions = journal.ledger.versions(booking.id);
    let known = versions.iter().zip(1..).any(|(version, next)| {
        version.booking == **booking
            && version.sequence <= answer.sequence
            && versions
                .get(next)
                .is_none_or(|later: &crate::ledger::Version| later.sequence >= answer.sequence)
    });
    if known { Ok(()) } else { Err(format!("granted, and the journal has {versions:?}")) }
}

/// Nothing happened that nobody asked for, and nothing that was refused.
fn check_explanations(books: &Books, history: &History) -> Result<(), Violation> {
    for (name, journal) in &books.journals {
        let mut asked_for: BTreeMap<(Sort, BookingId), u32> = BTreeMap::new();
        let mut created = false;
        let here = history.asked.iter().filter(|asked| asked.inventory == *name && asked.may_be_done());
        for asked in here {
            match sort_of(&asked.command.action) {
                Asking::Booking(sort, id) => *asked_for.entry((sort, id)).or_default() += 1,
                Asking::Creation => created = true,
                Asking::Other => {}
            }
        }
        for (act, &times) in &journal.ledger.acts {
            let asked_times = asked_for.get(act).copied().unwrap_or(0);
            if times > asked_times {
                return Err(Violation::Silent(format!(
                    "{name}: {act:?} was done {times} times, asked {asked_times} times"
                )));
            }
        }
        if journal.ledger.created && !created {
            return Err(Violation::Silent(format!("{name} was created by nobody")));
        }
    }
    Ok(())
}

enum Asking {
    Booking(Sort, BookingId),
    Creation,
    Other,
}

fn sort_of(action: &Action) -> Asking {
    match action {
        Action::Book(book) => Asking::Booking(Sort::Book, book.id),
        Action::Confirm(confirm) => Asking::Booking(Sort::Confirm, confirm.booking),
        Action::Extend(extend) => Asking::Booking(Sort::Extend, extend.booking),
        Action::Cancel(cancel) => Asking::Booking(Sort::Cancel, cancel.booking),
        Action::Move(moving) => Asking::Booking(Sort::Move, moving.booking),
        Action::Redeem(redeem) => Asking::Booking(Sort::Redeem, redeem.booking),
        Action::Unredeem(unredeem) => Asking::Booking(Sort::Unredeem, unredeem.booking),
        Action::CreateEvent(_) | Action::CreateSchedule(_) | Action::CreateShop(_) => Asking::Creation,
        Action::PatchEvent(_)
        | Action::PatchSchedule(_)
        | Action::PatchShop(_)
        | Action::BlockSeats(_)
        | Action::UnblockSeats(_)
        | Action::AddSlot(_)
        | Action::PatchSlot(_)
        | Action::DeleteSlot(_)
        | Action::RollSlots
        | Action::AddBox(_)
        | Action::PatchBox(_)
        | Action::ImportTickets(_)
        | Action::Expire
        | Action::ForgetContact(_)
        | Action::ForgetKeys
        | Action::CancelEvent(_)
        | Action::DeleteEvent => Asking::Other,
    }
}

/// One key, one answer. Runs are shorter than answers are kept.
fn check_keys(history: &History) -> Result<(), Violation> {
    let mut first: BTreeMap<(&str, [u8; 16]), (&Asked, &Answer)> = BTreeMap::new();
    let keyed = || {
        history.asked.iter().filter_map(|asked| {
            let KeyDigest(key) = asked.command.idempotency?.key;
            Some(((&*asked.inventory, key), asked, asked.answer()?))
        })
    };
    for (key, asked, answer) in keyed() {
        if is_remembered(answer) {
            let (before, told) = *first.entry(key).or_insert((asked, answer));
            let same = fingerprint(before) == fingerprint(asked) && is_same(told, answer);
            if !same {
                return Err(Violation::Silent(format!("one key, two answers: {before:?} and {asked:?}")));
            }
        }
    }
    for (key, asked, answer) in keyed() {
        let Some(&(before, told)) = first.get(&key) else { continue };
        let later = asked.asked_after > before.ended_after || asked.asked_at > before.ended_at;
        let expected = if fingerprint(before) == fingerprint(asked) {
            is_same(told, answer)
        } else {
            matches!(&answer.outcome, Outcome::Refused(refusal) if **refusal == Refusal::IdempotencyKeyReused)
        };
        if later && !expected {
            return Err(Violation::Silent(format!("a key was answered {before:?}, and then {asked:?}")));
        }
    }
    Ok(())
}

/// An id is taken only if a caller of the same tenant booked under it, as far as is known, or because it names an inventory: no answer
/// tells which ids another tenant has. A booking that is refused in the end has its id until then: it is decided again if another node
/// committed first.
fn check_taken_ids(history: &History) -> Result<(), Violation> {
    let booked = |asked: &Asked| match sort_of(&asked.command.action) {
        Asking::Booking(Sort::Book, id) => Some((tenant_of_name(&asked.inventory).to_owned(), id)),
        Asking::Booking(..) | Asking::Creation | Asking::Other => None,
    };
    let refusal = |asked: &Asked| match &asked.answer()?.outcome {
        Outcome::Refused(refusal) => Some((**refusal).clone()),
        Outcome::Granted(_) => None,
    };
    let is_taken = |asked: &Asked| refusal(asked) == Some(Refusal::BookingIdTaken);
    let mut by_id: BTreeMap<(String, BookingId), Vec<&Asked>> = BTreeMap::new();
    for asked in history.asked.iter().filter(|asked| !is_taken(asked)) {
        if let Some(id) = booked(asked) {
            by_id.entry(id).or_default().push(asked);
        }
    }
    for asked in history.asked.iter().filter(|asked| is_taken(asked)) {
        let Some((tenant, id)) = booked(asked) else { continue };
        let has_it = |other: &&Asked| {
            let at_the_same_time =
                other.asked_after <= asked.ended_after && asked.asked_after <= other.ended_after;
            refusal(other).is_none() || at_the_same_time
        };
        if inventory_of(id).is_none() && !by_id.get(&(tenant, id)).is_some_and(|all| all.iter().any(has_it)) {
            return Err(Violation::Silent(format!("taken, and no caller of the tenant has it: {asked:?}")));
        }
    }
    Ok(())
}

fn fingerprint(asked: &Asked) -> Option<Fingerprint> {
    asked.command.idempotency.map(|idempotency| idempotency.fingerprint)
}

fn is_same(one: &Answer, other: &Answer) -> bool {
    (&one.outcome, one.sequence, one.decided_at) == (&other.outcome, other.sequence, other.decided_at)
}

/// Whether an answer is to be given again. What is wrong with the request itself is said afresh each time, and what was asked
/// of an inventory that does not exist (it has no batch) has nowhere to be remembered.
fn is_remembered(answer: &Answer) -> bool {
    let by_its_kind = match &answer.outcome {
        Outcome::Granted(_) => true,
        Outcome::Refused(refusal) => match refusal.kind() {
            RefusalKind::NotFound | RefusalKind::Conflict | RefusalKind::Gone => true,
            RefusalKind::Invalid
            | RefusalKind::Forbidden
            | RefusalKind::KeyReused
            | RefusalKind::Overloaded => false,
        },
    };
    by_its_kind && answer.sequence > 0
}
