//! Holds a store against what clients wrote down.
//!
//! It knows what was promised and not how it is kept: bookings, views and journals are read as any user of the engine
//! reads them, and counted again here. The one thing taken from the rules is `Inventory::replay`, because that the
//! journal replays to the same state is itself a promise.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::command::Action;
use boxoffice_core::ids::BookingId;
use boxoffice_core::inventory::Inventory;
use boxoffice_core::pool::Pool;
use boxoffice_core::seats::{Seat, SeatState};
use boxoffice_core::time::{SlotId, Timestamp};
use boxoffice_engine::limits::JOURNAL_READ_BYTES;
use boxoffice_engine::load::{self, LoadError};
use boxoffice_engine::record;
use boxoffice_engine::store::{EmbeddedStore, OpenError, Store, StoreError};
use boxoffice_engine::view::{EventView, KindView, StockView};
use boxoffice_engine::{Clock, Engine, InventoryNumber, Settings, StartError, StopReason, SubmitError};

use super::fill::Stadiums;
use super::history::{Fate, History, Known, Request};
use super::log::{Told, booking_text};

/// Which requests are sent again. Everything else is always looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    Everything,
    /// Those from this one on, by their index in the history.
    RequestsFrom(usize),
}

/// What an audit found.
#[derive(Debug, Default)]
pub struct Report {
    /// Broken promises, each in a sentence.
    pub findings: Vec<String>,
    /// In the store.
    pub inventories: usize,
    /// In the store.
    pub bookings: usize,
    /// Records replayed from nothing.
    pub records: u64,
    /// Requests that were sent again and gave the same answer.
    pub repeated: usize,
    /// Requests that nobody was told the end of.
    pub open: usize,
}

/// Why an audit was not possible.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The store cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An inventory cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// No engine can be started on it.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The engine does not answer.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The engine failed.
    #[error(transparent)]
    Stopped(#[from] StopReason),
}

/// Findings after this many are counted and not kept: one cause can have a million consequences.
const FINDINGS_MAX: usize = 50;
/// Bookings of the stadium that are sent again: one in so many.
const REPEAT_FILLED_EVERY: usize = 997;
/// Requests sent again together.
const REPEATED_TOGETHER: usize = 10_000;

impl Report {
    fn found(&mut self, finding: impl FnOnce() -> String) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding());
        }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Report { findings, inventories, bookings, records, repeated, open } = self;
        write!(
            f,
            "{inventories} inventories, {bookings} bookings, {records} records replayed, {repeated} requests \
             repeated, {open} open, {} findings",
            findings.len()
        )?;
        findings.iter().try_for_each(|finding| write!(f, "\n  {finding}"))
    }
}

/// Opens the store in a directory, looks at everything in it, and closes it.
pub async fn audit(directory: &Path, history: &History, scope: Scope) -> Result<Report, AuditError> {
    let mut report = Report::default();
    for contradiction in &history.contradictions {
        report.found(|| contradiction.clone());
    }
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open(directory)?);
    for head in store.heads()? {
        report.inventories += 1;
        check_replay(&*store, head.inventory, &mut report)?;
    }
    let engine = Engine::start(store, Clock::system(), &Settings::default())?;
    check_bookings(&engine, history, &mut report).await?;
    repeat_requests(&engine, history, scope, &mut report).await?;
    engine.close()?;
    Ok(report)
}

/// An inventory loads, and replaying all its records from nothing leads to the same state.
fn check_replay(store: &dyn Store, number: InventoryNumber, report: &mut Report) -> Result<(), AuditError> {
    let Some(loaded) = load::load(store, number)? else {
        report.found(|| format!("inventory {number} is listed and is not there"));
        return Ok(());
    };
    let mut replayed = Inventory::default();
    loop {
        let records = store.records(number, replayed.sequence(), JOURNAL_READ_BYTES)?;
        if records.is_empty() {
            break;
        }
        for bytes in records {
            report.records += 1;
            match record::decode_record(&bytes) {
                Ok(record) => replayed.replay(&record.changes),
                Err(error) => {
                    report.found(|| format!("a record of {number} after {}: {error}", replayed.sequence()));
                    return Ok(());
                }
            }
        }
    }
    if replayed != loaded.inventory {
        report.found(|| format!("{number} does not replay to what it loads as"));
    }
    Ok(())
}

/// Every booking is what somebody was told, or is explained by what somebody asked.
async fn check_bookings(engine: &Engine, history: &History, report: &mut Report) -> Result<(), AuditError> {
    let stadiums = Stadiums::of(engine);
    let is_stadium = |number| stadiums.as_ref().is_some_and(|stadiums: &Stadiums| stadiums.contains(number));
    let mut stored: HashMap<BookingId, (InventoryNumber, Arc<Booking>)> = HashMap::new();
    for listed in engine.inventories() {
        // Holds end at any time: look until both are of one moment.
        let (view, bookings) = loop {
            let (sequence, bookings) = engine.bookings(listed.number).await?;
            let view = engine.view(listed.number).await?;
            if view.sequence == sequence {
                break (view, bookings);
            }
        };
        report.bookings += bookings.len();
        check_stock(&listed.name, &view, &bookings, report);
        for booking in bookings {
            if !is_stadium(listed.number) && !history.bookings.contains_key(&booking.id) {
                report.found(|| format!("nobody asked for {}", booking_text(&booking)));
            }
            if let Some((other, _)) = stored.insert(booking.id, (listed.number, booking)) {
                report.found(|| format!("one id in {other} and in {}", listed.name));
            }
        }
    }
    for (id, known) in &history.bookings {
        check_known(engine.now(), history, *id, known, stored.get(id).map(|(_, booking)| &**booking), report);
    }
    for (id, (number, booking)) in stored.iter().filter(|(id, _)| history.bookings.contains_key(*id)) {
        let found = engine.booking("", *id).await?;
        // It may have expired since; it is still there.
        if !found.is_some_and(|(place, found)| place == *number && found.version >= booking.version) {
            report.found(|| format!("cannot be found by its id: {}", booking_text(booking)));
        }
    }
    if let Some(stadiums) = &stadiums {
        check_filled(stadiums, history, &stored, report);
    }
    Ok(())
}

/// What is stored of one booking is what was acknowledged, or what may have followed from requests that are open.
fn check_known(
    now: Timestamp,
    history: &History,
    id: BookingId,
    known: &Known,
    stored: Option<&Booking>,
    report: &mut Report,
) {
    let requests = || known.requests.iter().map(|&index| &history.requests[index]);
    let open = |request: &&Request| request.fate == Fate::Open;
    let makes = |request: &&Request| matches!(request.command.action, Action::Book(_));
    let Some(booking) = stored else {
        if known.version > 0 {
            report.found(|| format!("acknowledged and lost: {}", known.text));
        }
        return;
    };
    let may_be_made = requests().filter(makes).any(|request| open(&request) || is_granted(request));
    if !may_be_made {
        report.found(|| format!("refused or never taken, and done: {}", booking_text(booking)));
    }
    if booking.version < known.version {
        report.found(|| format!("acknowledged {} and fell back to {booking:?}", known.text));
        return;
    }
    if booking.version == known.version {
        if booking_text(booking) != known.text {
            report.found(|| format!("acknowledged {} and is {}", known.text, booking_text(booking)));
        }
        return;
    }
    let expired = match booking.status {
        Status::Expired { expires_at } if expires_at > now => {
            report.found(|| format!("ended before its time: {booking:?}"));
            1
        }
        Status::Expired { .. } => 1,
        // An open payment may have come after the end of the hold, and taken the units again.
        Status::Confirmed { .. } | Status::Cancelled { .. } => 1,
        Status::OnHold { .. } | Status::Redeemed { .. } => 0,
    };
    let asked = requests().filter(open).count();
    let steps = (booking.version - known.version) as usize;
    let explained = match booking.status {
        Status::Expired { .. } => steps <= asked + expired,
        Status::Confirmed { .. } | Status::Cancelled { .. } | Status::OnHold { .. } => {
            asked > 0 && steps <= asked + expired
        }
        Status::Redeemed { .. } => false,
    };
    if !explained {
        report.found(|| {
            format!("{asked} open requests do not explain {booking:?} after {:?} of {id:?}", known.text)
        });
    }
}

fn is_granted(request: &Request) -> bool {
    match &request.fate {
        Fate::Told(told) => !told.is_refusal(),
        Fate::Open | Fate::Undone => false,
    }
}

fn check_filled(
    stadiums: &Stadiums,
    history: &History,
    stored: &HashMap<BookingId, (InventoryNumber, Arc<Booking>)>,
    report: &mut Report,
) {
    for number in history.filled.iter().flat_map(|&(first, count)| first..first + count) {
        let found = stored.get(&stadiums.id_of(number));
        let place = stadiums.inventory_of(number);
        if !found.is_some_and(|(found_in, booking)| *found_in == place && booking.is_active()) {
            report.found(|| format!("the stadium's booking {number} was acknowledged and is {found:?}"));
        }
    }
    let asked: HashSet<BookingId> = (0..history.filling).map(|number| stadiums.id_of(number)).collect();
    for (id, (place, booking)) in stored {
        if stadiums.contains(*place) && !asked.contains(id) {
            report.found(|| format!("nobody asked for {}", booking_text(booking)));
        }
    }
}

/// No unit is in two live bookings, and what is shown is what is booked.
fn check_stock(name: &str, view: &StockView, bookings: &[Arc<Booking>], report: &mut Report) {
    let mut seats: HashMap<Seat, SeatState> = HashMap::new();
    let mut areas: HashMap<u16, Counted> = HashMap::new();
    let mut slots: HashMap<SlotId, Counted> = HashMap::new();
    let mut boxes: HashMap<u32, Counted> = HashMap::new();
    for booking in bookings {
        let state = match booking.status {
            Status::OnHold { .. } => SeatState::Held,
            Status::Confirmed { .. } | Status::Redeemed { .. } => SeatState::Sold,
            Status::Cancelled { .. } | Status::Expired { .. } => continue,
        };
        match &booking.units {
            Units::Event { seats: claims, areas: places } => {
                for claim in claims {
                    if seats.insert(claim.seat, state).is_some() {
                        report.found(|| format!("{name}: {:?} is in two bookings", claim.seat));
                    }
                }
                for claim in places {
                    areas.entry(claim.area).or_default().count(state, claim.quantity);
                }
            }
            Units::Slot { slot, quantity, .. } => slots.entry(*slot).or_default().count(state, *quantity),
            Units::Box { number, quantity, .. } => boxes.entry(*number).or_default().count(state, *quantity),
        }
    }
    match &view.kind {
        KindView::Event(event) => {
            check_seats(name, event, &seats, report);
            for (area, index) in event.areas.iter().zip(0..) {
                check_pool(name, area.pool, areas.remove(&index), report);
            }
        }
        KindView::Schedule(schedule) => {
            for (id, slot) in &schedule.slots {
                check_pool(name, slot.pool, slots.remove(id), report);
            }
        }
        KindView::Shop(shop) => {
            for (boxed, number) in shop.boxes.iter().zip(0..) {
                check_pool(name, boxed.pool, boxes.remove(&number), report);
            }
        }
    }
    if !(areas.is_empty() && slots.is_empty() && boxes.is_empty()) {
        report.found(|| format!("{name}: booked and not for sale: {areas:?} {slots:?} {boxes:?}"));
    }
}

/// Units of one pool, added up from the bookings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counted {
    held: u32,
    sold: u32,
}

impl Counted {
    fn count(&mut self, state: SeatState, quantity: u32) {
        match state {
            SeatState::Held => self.held += quantity,
            SeatState::Sold => self.sold += quantity,
            SeatState::Available | SeatState::Blocked => unreachable!("only claims are counted"),
        }
    }
}

fn check_pool(name: &str, pool: Pool, counted: Option<Counted>, report: &mut Report) {
    let Counted { held, sold } = counted.unwrap_or_default();
    if (pool.held, pool.sold) != (held, sold) || held + sold > pool.capacity {
        report.found(|| format!("{name}: {pool:?}, and the bookings have {held} held and {sold} sold"));
    }
}

fn check_seats(name: &str, event: &EventView, claimed: &HashMap<Seat, SeatState>, report: &mut Report) {
    let mut taken = 0;
    for (subsection, index) in event.subsections.iter().zip(0..) {
        for row in 1..=subsection.rows {
            for number in 1..=subsection.cols {
                let state = subsection.state(row, number);
                let seat = Seat { subsection: index, row, number };
                let booked = match state {
                    SeatState::Available | SeatState::Blocked => None,
                    SeatState::Held | SeatState::Sold => Some(state),
                };
                taken += usize::from(booked.is_some());
                if claimed.get(&seat).copied() != booked {
                    report.found(|| format!("{name}: {seat:?} is shown as {state:?} and is not booked so"));
                }
            }
        }
    }
    if taken != claimed.len() {
        report.found(|| format!("{name}: {} seats are booked and {taken} are shown", claimed.len()));
    }
}

/// One key, one answer: whoever asks again is told what they were told.
async fn repeat_requests(
    engine: &Engine,
    history: &History,
    scope: Scope,
    report: &mut Report,
) -> Result<(), AuditError> {
    let first = match scope {
        Scope::Everything => 0,
        Scope::RequestsFrom(index) => index,
    };
    report.open = history.open().count();
    for requests in history.requests[first.min(history.requests.len())..].chunks(REPEATED_TOGETHER) {
        let told = |request: &Request| match &request.fate {
            Fate::Told(told) => Some(told.clone()),
            Fate::Open | Fate::Undone => None,
        };
        let (answered, told): (Vec<&Request>, Vec<Told>) =
            requests.iter().filter_map(|request| Some((request, told(request)?))).unzip();
        let commands = answered.iter().map(|request| (request.inventory, request.command.clone())).collect();
        for (told, again) in told.into_iter().zip(engine.submit_all(commands).await) {
            let again = again?;
            if !again.replayed || Told::of(&again) != told {
                report.found(|| format!("was told {told:?} and is told {again:?}"));
            }
            report.repeated += 1;
        }
    }
    if let Some(stadiums) = Stadiums::of(engine) {
        let filled = history.filled.iter().flat_map(|&(first, count)| first..first + count);
        for number in filled.step_by(REPEAT_FILLED_EVERY) {
            let command = stadiums.command_of(number);
            let again = engine.submit(stadiums.inventory_of(number), command).await?;
            if !again.replayed || Told::of(&again).booking() != Some((stadiums.id_of(number), 1)) {
                report.found(|| format!("the stadium's booking {number} is answered anew: {again:?}"));
            }
            report.repeated += 1;
        }
    }
    Ok(())
}
