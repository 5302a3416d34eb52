//! Tables of commands and their outcomes in words, for the tests of the rules.
//!
//! A [`Scene`] is one inventory; each row of a table applies one command to it and compares the outcome, put into
//! words, with what is expected. Every row also checks what holds for all commands: a refusal changes nothing, and
//! the changes, written down and read again, bring a second inventory to the same state.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::apply;
use crate::booking::{Booking, Status, Units};
use crate::change::Change;
use crate::codec;
use crate::command::{Action, ActionKind, Command, Idempotency};
use crate::commands::{
    AddBox, AddSlot, AreaWish, BestAvailable, BlockSeats, Book, Cancel, Confirm, CreateEvent, CreateSchedule,
    CreateShop, Destination, Extend, Move, Places, Redeem, SeatWish, SectionSeats, UnblockSeats, Want,
};
use crate::event::{AreaPlan, SectionPlan, SubsectionPlan};
use crate::ids::{Actor, BookingId, RedeemCode};
use crate::inventory::{Inventory, Stock};
use crate::memory::KeyDigest;
use crate::money::{Currency, Money};
use crate::outcome::{Applied, Grant, Outcome, Summary};
use crate::refusal::{Refusal, RefusalCode, SeatAlternative, SlotAlternative};
use crate::rules::{LatePayment, RulesPatch, SalesWindow};
use crate::schedule::{Pattern, Window};
use crate::seats::{Seat, SeatState};
use crate::time::{Date, SlotId, Timestamp};

/// 2026-12-01T00:00:00Z, a Tuesday; 08:00 in Taipei. Times in tables are seconds after it.
pub(crate) const START: Timestamp = Timestamp(1_796_083_200_000);

pub(crate) fn second(seconds: i64) -> Timestamp {
    Timestamp(START.0 + seconds * 1_000)
}

/// What a table has reached.
#[derive(Debug, Default)]
pub(crate) struct Reached {
    pub(crate) actions: BTreeSet<ActionKind>,
    pub(crate) refusals: BTreeSet<RefusalCode>,
}

/// One inventory under test.
pub(crate) struct Scene {
    pub(crate) inventory: Inventory,
    copy: Inventory,
    now: Timestamp,
    pub(crate) reached: Reached,
}

impl Scene {
    /// Nothing created yet.
    pub(crate) fn empty() -> Scene {
        Scene {
            inventory: Inventory::default(),
            copy: Inventory::default(),
            now: START,
            reached: Reached::default(),
        }
    }

    /// An inventory made by a command.
    pub(crate) fn of(create: impl Into<Command>) -> Scene {
        let mut scene = Scene::empty();
        let applied = scene.apply(&create.into());
        assert!(matches!(applied.outcome, Outcome::Granted(_)), "{:?}", applied.outcome);
        scene
    }

    /// Applies a command without looking, to fill a scene.
    pub(crate) fn load(&mut self, command: impl Into<Command>) {
        let applied = apply(&mut self.inventory, self.now, &command.into());
        assert!(matches!(applied.outcome, Outcome::Granted(_)), "{:?}", applied.outcome);
        self.inventory.end_batch();
        self.copy.replay(&applied.changes);
    }

    /// The rows that follow happen at this second.
    pub(crate) fn at(&mut self, seconds: i64) -> &mut Scene {
        self.now = second(seconds);
        self
    }

    /// One row: a command and its outcome in words.
    #[track_caller]
    pub(crate) fn row(&mut self, command: impl Into<Command>, expected: &str) -> &mut Scene {
        let command = command.into();
        let applied = self.apply(&command);
        let said = self.words(&applied);
        assert_eq!(said, expected, "{:?}", command.action);
        self
    }

    /// The state of the whole inventory in words: seats as a picture, pools as numbers.
    #[track_caller]
    pub(crate) fn shows(&mut self, expected: &str) -> &mut Scene {
        assert_eq!(picture(&self.inventory), expected);
        self
    }

    pub(crate) fn apply(&mut self, command: &Command) -> Applied {
        self.reached.actions.insert(ActionKind::from(&command.action));
        assert_eq!(codec::decode_command(&codec::encode_command(command)).as_ref(), Ok(command));
        let mut expired = self.inventory.clone();
        let expiry = Command { by: Actor::default(), idempotency: None, action: Action::Expire };
        let mut expected_changes = apply(&mut expired, self.now, &expiry).changes;
        let applied = apply(&mut self.inventory, self.now, command);
        if let Outcome::Refused(refusal) = &applied.outcome
            && !applied.replayed
        {
            self.reached.refusals.insert(RefusalCode::from(&**refusal));
            if let Some(Change::Remembered { .. }) = applied.changes.last() {
                expected_changes.clone_from(&applied.changes);
            } else {
                assert_eq!(self.inventory, expired, "a refusal changes nothing");
            }
            assert_eq!(applied.changes, expected_changes, "a refusal changes nothing");
        }
        let batch = self.inventory.end_batch();
        assert_eq!(batch.is_some(), !applied.changes.is_empty());
        if let Some(sequence) = batch.filter(|_| !applied.replayed) {
            assert_eq!(applied.sequence, sequence, "an answer names the batch that makes it durable");
        }
        let bytes = codec::encode_changes(&applied.changes);
        self.copy.replay(&codec::decode_changes(&bytes).expect("what was written can be read"));
        assert_eq!(self.copy, self.inventory, "replaying the changes gives the same state");
        applied
    }

    fn words(&self, applied: &Applied) -> String {
        let again = if applied.replayed { "again: " } else { "" };
        let words = match &applied.outcome {
            Outcome::Refused(refusal) => self.refusal_words(refusal),
            Outcome::Granted(Grant::Booking(booking)) => self.booking_words(booking),
            Outcome::Granted(Grant::Moved { booking, price_difference }) => {
                format!("{}, {:+}", self.booking_words(booking), price_difference.0)
            }
            Outcome::Granted(Grant::Inventory(summary)) => summary_words(summary),
            Outcome::Granted(Grant::Slot(slot)) => {
                let (id, slot) = &**slot;
                let state = if slot.closed { "closed" } else { "open" };
                format!(
                    "{id} until {} {state}, {} of {} left",
                    slot.end,
                    slot.pool.available(),
                    slot.pool.capacity
                )
            }
            Outcome::Granted(Grant::SlotDeleted(id)) => format!("{id} deleted"),
            Outcome::Granted(Grant::Box(boxed)) => {
                let (pool, price) = (boxed.pool, boxed.price_at(self.now).0);
                let status = boxed.status(self.now);
                format!("{} {status:?}, {} of {} left at {price}", boxed.id, pool.available(), pool.capacity)
            }
            Outcome::Granted(Grant::Tickets { added, updated }) => {
                format!("{added} added, {updated} updated")
            }
            Outcome::Granted(Grant::Done) => "done".to_owned(),
        };
        format!("{again}{words}")
    }

    fn booking_words(&self, booking: &Booking) -> String {
        let since = |moment: Timestamp| (moment.0 - START.0) / 1_000;
        let units = self.units_words(&booking.units);
        let price = booking.total_price.0;
        match booking.status {
            Status::OnHold { expires_at } => {
                format!("on hold {units} for {price} until {}", since(expires_at))
            }
            Status::Confirmed { .. } => format!("confirmed {units} for {price}"),
            Status::Redeemed { .. } => format!("redeemed {units} for {price}"),
            Status::Cancelled { .. } => format!("cancelled {units} for {price}"),
            Status::Expired { .. } => format!("expired {units} for {price}"),
        }
    }

    fn units_words(&self, units: &Units) -> String {
        match units {
            Units::Event { seats, areas } => {
                let Some(Stock::Event(event)) = self.inventory.stock() else { panic!("seats are in events") };
                let mut words = Vec::new();
                if !seats.is_empty() {
                    words.push(self.seat_words(seats.iter().map(|claim| claim.seat)));
                }
                for claim in areas {
                    words.push(format!("{} x{}", event.areas[usize::from(claim.area)].name, claim.quantity));
                }
                words.join(" + ")
            }
            Units::Slot { slot, quantity, tickets, .. } if tickets.is_empty() => {
                format!("{slot} x{quantity}")
            }
            Units::Slot { slot, tickets, .. } => format!("{slot} {}", tickets.join(",")),
            Units::Box { number, quantity, .. } => {
                let Some(Stock::Shop(shop)) = self.inventory.stock() else { panic!("boxes are in shops") };
                format!("{} x{quantity}", shop.boxes[*number as usize].id)
            }
        }
    }

    /// `A-1 1-1,1-2 B-1 3-4`.
    fn seat_words(&self, seats: impl Iterator<Item = Seat>) -> String {
        let Some(Stock::Event(event)) = self.inventory.stock() else { panic!("seats are in events") };
        let mut words = String::new();
        let mut last = None;
        for seat in seats {
            if last == Some(seat.subsection) {
                words.push(',');
            } else {
                let gap = if last.is_some() { " " } else { "" };
                words.push_str(&format!("{gap}{} ", event.subsections[usize::from(seat.subsection)].address));
            }
            last = Some(seat.subsection);
            words.push_str(&format!("{}-{}", seat.row, seat.number));
        }
        words
    }

    fn refusal_words(&self, refusal: &Refusal) -> String {
        let detail = match refusal {
            Refusal::InvalidRequest { pointer, .. } => pointer.clone(),
            Refusal::SectionNotFound { section } => section.clone(),
            Refusal::SeatNotFound { section, row, seat } => format!("{section} {row}-{seat}"),
            Refusal::DuplicateSeat { seat } => self.seat_words([*seat].into_iter()),
            Refusal::AreaNotFound { area } => area.clone(),
            Refusal::TooManyUnits { most } => format!("most {most}"),
            Refusal::SalesNotOpen { opens_at: at } | Refusal::SalesClosed { closed_at: at } => {
                format!("{}", (at.0 - START.0) / 1_000)
            }
            Refusal::AlreadyRedeemed { redeemed_at } => format!("{}", (redeemed_at.0 - START.0) / 1_000),
            Refusal::TicketNotFound { ticket }
            | Refusal::TicketNotActive { ticket }
            | Refusal::TicketExpired { ticket }
            | Refusal::TicketAlreadyUsed { ticket }
            | Refusal::TicketAlreadyReserved { ticket } => ticket.to_string(),
            Refusal::ActiveReservationExists { booking } | Refusal::CustomerLimitReached { booking } => {
                booking.map(label_of).unwrap_or_default()
            }
            Refusal::SeatUnavailable { conflicts, alternatives } => {
                let conflicts = conflicts.iter().map(|conflict| {
                    format!("{} {:?}", self.seat_words([conflict.seat].into_iter()), conflict.reason)
                });
                format!(
                    "{}{}",
                    conflicts.collect::<Vec<_>>().join(", "),
                    self.alternative_words(alternatives)
                )
            }
            Refusal::OrphanSeat { orphans, alternatives } => {
                format!(
                    "{}{}",
                    self.seat_words(orphans.iter().copied()),
                    self.alternative_words(alternatives)
                )
            }
            Refusal::NotEnoughSeats { available } | Refusal::InsufficientInventory { available } => {
                format!("{available} left")
            }
            Refusal::AreaFull { area, available } => format!("{area} {available} left"),
            Refusal::SlotFull { available, alternatives }
            | Refusal::NewSlotFull { available, alternatives } => {
                format!("{available} left{}", slot_alternative_words(alternatives))
            }
            Refusal::CapacityBelowBookedCount { booked } => format!("{booked} booked"),
            Refusal::IdempotencyKeyRequired
            | Refusal::IdempotencyKeyReused
            | Refusal::EventNotFound
            | Refusal::ScheduleNotFound
            | Refusal::ShopNotFound
            | Refusal::AlreadyExists
            | Refusal::Overloaded
            | Refusal::BookingNotFound
            | Refusal::AlreadyConfirmed
            | Refusal::NotConfirmable
            | Refusal::HoldExpired
            | Refusal::NotExtendable
            | Refusal::HoldLimitReached
            | Refusal::NotCancellable
            | Refusal::NotMovable
            | Refusal::NotRedeemable
            | Refusal::WrongCode
            | Refusal::WrongDate
            | Refusal::BookingIdTaken
            | Refusal::SlotNotFound
            | Refusal::BoxNotFound
            | Refusal::InventoryClosed
            | Refusal::SlotPast
            | Refusal::SlotClosed
            | Refusal::PickupWindowClosed
            | Refusal::NotAdjacent
            | Refusal::BoxUnavailable
            | Refusal::SlotAlreadyExists
            | Refusal::CannotCreatePastSlot
            | Refusal::SlotHasBookings => String::new(),
        };
        format!("{} {detail}", refusal.code()).trim_end().to_owned()
    }

    fn alternative_words(&self, alternatives: &[SeatAlternative]) -> String {
        let words = alternatives.iter().map(|alternative| {
            let apart = if alternative.adjacent { "" } else { " apart" };
            format!(
                "; or {}{apart} for {}",
                self.seat_words(alternative.seats.iter().copied()),
                alternative.total_price.0
            )
        });
        words.collect()
    }
}

fn slot_alternative_words(alternatives: &[SlotAlternative]) -> String {
    alternatives.iter().map(|found| format!("; or {} with {}", found.slot, found.available_count)).collect()
}

fn summary_words(summary: &Summary) -> String {
    match summary {
        Summary::Event(event) => {
            let counts = event.totals;
            format!(
                "event {:?}: {} free, {} held, {} sold, {} blocked",
                event.terms.status, counts.available, counts.held, counts.sold, counts.blocked
            )
        }
        Summary::Schedule(schedule) => format!("schedule {:?}", schedule.terms.status),
        Summary::Shop { terms, .. } => format!("shop {:?}", terms.status),
    }
}

fn picture(inventory: &Inventory) -> String {
    let mut lines = Vec::new();
    match inventory.stock().expect("a scene with an inventory") {
        Stock::Event(event) => {
            for (index, subsection) in (0u16..).zip(&event.subsections) {
                let (rows, cols) = event.seats.size(index);
                let row = |row| {
                    (1..=cols).map(move |number| {
                        match event.seats.state(Seat { subsection: index, row, number }) {
                            SeatState::Available => '.',
                            SeatState::Held => 'h',
                            SeatState::Sold => 's',
                            SeatState::Blocked => 'x',
                        }
                    })
                };
                let rows: Vec<String> = (1..=rows).map(|number| row(number).collect()).collect();
                lines.push(format!("{} {}", subsection.address, rows.join(" ")));
            }
            for area in &event.areas {
                lines.push(format!("{} {}h {}s", area.name, area.pool.held, area.pool.sold));
            }
        }
        Stock::Schedule(schedule) => {
            for (id, slot) in &schedule.slots {
                let closed = if slot.closed { " closed" } else { "" };
                lines.push(format!(
                    "{id} {}h {}s of {}{closed}",
                    slot.pool.held, slot.pool.sold, slot.pool.capacity
                ));
            }
        }
        Stock::Shop(shop) => {
            for boxed in &shop.boxes {
                lines.push(format!(
                    "{} {}h {}s of {}",
                    boxed.id, boxed.pool.held, boxed.pool.sold, boxed.pool.capacity
                ));
            }
        }
    }
    lines.join("\n")
}

/// The id of a booking that tables call by a name of at most 16 letters.
pub(crate) fn id(label: &str) -> BookingId {
    let mut bytes = [0; 16];
    bytes[..label.len()].copy_from_slice(label.as_bytes());
    BookingId(bytes)
}

fn label_of(id: BookingId) -> String {
    String::from_utf8_lossy(&id.0).trim_end_matches('\0').to_owned()
}

/// The code that tables give to a booking.
pub(crate) fn code(label: &str) -> RedeemCode {
    RedeemCode::from_random(
        label.bytes().fold(7, |hash: u32, byte| hash.wrapping_mul(31).wrapping_add(byte.into())),
    )
}

pub(crate) fn slot(name: &str) -> SlotId {
    name.parse().expect("a slot's name")
}

pub(crate) fn date(name: &str) -> Date {
    slot(&format!("{name}T00:00")).date
}

pub(crate) fn window(start: &str, end: &str, capacity: u32, price: i64) -> Window {
    Window { start: start.parse().unwrap(), end: end.parse().unwrap(), capacity, price: Money(price) }
}

pub(crate) fn seats(section: &str, names: &str) -> SectionSeats {
    let seats = names.split(' ').map(|name| name.parse().expect("a seat's name")).collect();
    SectionSeats { section: section.to_owned(), seats }
}

impl From<Action> for Command {
    fn from(action: Action) -> Command {
        Command { by: Actor(7), idempotency: None, action }
    }
}

/// A key on any command.
pub(crate) fn keyed(key: &str, fingerprint: u64, command: impl Into<Command>) -> Command {
    let idempotency = Some(Idempotency { key: KeyDigest(id(key).0), fingerprint, keep_seconds: 60 });
    Command { idempotency, ..command.into() }
}

/// A hall: `("A-1", 2, 4)` is section A, subsection 1, two rows of four seats. Section A costs 1000 a seat, B 2000
/// and so on.
pub(crate) fn hall(subsections: &[(&str, u16, u16)]) -> CreateEvent {
    let mut sections: Vec<SectionPlan> = Vec::new();
    for (address, rows, cols) in subsections {
        let (name, number) = address.split_once('-').expect("an address such as A-1");
        if sections.last().is_none_or(|section| section.name != name) {
            let price = Money(i64::from(name.as_bytes()[0] - b'A' + 1) * 1_000);
            sections.push(SectionPlan { name: name.to_owned(), price, subsections: Vec::new() });
        }
        let section = sections.last_mut().expect("one was pushed");
        let number = number.parse().expect("a number");
        section.subsections.push(SubsectionPlan { number, rows: *rows, cols: *cols, blocked: Vec::new() });
    }
    CreateEvent {
        id: "gala".to_owned(),
        name: "Summer Gala".to_owned(),
        currency: Currency(*b"TWD"),
        starts_at: None,
        sales: SalesWindow::default(),
        rules: RulesPatch::default(),
        sections,
        areas: Vec::new(),
    }
}

/// A hall of one subsection, A-1.
pub(crate) fn one_section(rows: u16, cols: u16) -> CreateEvent {
    hall(&[("A-1", rows, cols)])
}

impl CreateEvent {
    pub(crate) fn with_area(mut self, name: &str, capacity: u32) -> CreateEvent {
        self.areas.push(AreaPlan { name: name.to_owned(), price: Money(500), capacity });
        self
    }

    pub(crate) fn with_rules(mut self, rules: RulesPatch) -> CreateEvent {
        self.rules = rules;
        self
    }

    pub(crate) fn with_sales(mut self, opens_at: Option<i64>, closes_at: Option<i64>) -> CreateEvent {
        self.sales = SalesWindow { opens_at: opens_at.map(second), closes_at: closes_at.map(second) };
        self
    }
}

impl From<CreateEvent> for Command {
    fn from(create: CreateEvent) -> Command {
        Action::CreateEvent(Box::new(create)).into()
    }
}

/// A museum in Taipei, open today (a Tuesday) and tomorrow, 09:00 to 12:00 and 12:00 to 15:00, four places each.
pub(crate) fn museum() -> CreateSchedule {
    CreateSchedule {
        id: "museum".to_owned(),
        name: "Museum".to_owned(),
        timezone: "Asia/Taipei".to_owned(),
        currency: Currency(*b"TWD"),
        sales: SalesWindow::default(),
        rules: RulesPatch::default(),
        pattern: Pattern {
            windows: vec![window("09:00", "12:00", 4, 100), window("12:00", "15:00", 4, 150)],
            days: 2,
            weekdays: (1..=7).collect(),
            closed_dates: BTreeSet::new(),
            keep_past_days: 1,
        },
    }
}

impl From<CreateSchedule> for Command {
    fn from(create: CreateSchedule) -> Command {
        Action::CreateSchedule(Box::new(create)).into()
    }
}

impl CreateSchedule {
    pub(crate) fn with_rules(mut self, rules: RulesPatch) -> CreateSchedule {
        self.rules = rules;
        self
    }
}

/// A bakery without boxes.
pub(crate) fn bakery() -> CreateShop {
    CreateShop {
        id: "bakery".to_owned(),
        name: "Bakery".to_owned(),
        timezone: "Asia/Taipei".to_owned(),
        currency: Currency(*b"TWD"),
        sales: SalesWindow::default(),
        rules: RulesPatch::default(),
    }
}

impl From<CreateShop> for Command {
    fn from(create: CreateShop) -> Command {
        Action::CreateShop(Box::new(create)).into()
    }
}

impl CreateShop {
    pub(crate) fn with_rules(mut self, rules: RulesPatch) -> CreateShop {
        self.rules = rules;
        self
    }
}

pub(crate) fn add_box(id: &str, quantity: u32, price: i64) -> AddBox {
    AddBox {
        id: id.into(),
        name: "Evening box".to_owned(),
        quantity,
        price: Money(price),
        pickup: None,
        price_curve: Vec::new(),
    }
}

impl From<AddBox> for Command {
    fn from(add: AddBox) -> Command {
        Action::AddBox(Box::new(add)).into()
    }
}

/// A booking on hold, of nothing yet.
pub(crate) fn book(label: &str, customer: &str) -> Book {
    Book {
        id: id(label),
        customer: customer.into(),
        contact: None,
        want: Want::Event { seats: SeatWish::None, areas: Vec::new() },
        hold_ttl_seconds: None,
        confirm: false,
        metadata: None,
        redeem_code: code(label),
    }
}

impl Book {
    pub(crate) fn seats(mut self, section: &str, names: &str) -> Book {
        let more = seats(section, names);
        match &mut self.want {
            Want::Event { seats: SeatWish::Named(sections), .. } => sections.push(more),
            Want::Event { seats, .. } => *seats = SeatWish::Named(vec![more]),
            Want::Slot { .. } | Want::Box { .. } => panic!("seats are in events"),
        }
        self
    }

    pub(crate) fn best(self, quantity: u32) -> Book {
        self.best_of(None, quantity, false)
    }

    pub(crate) fn best_in(self, section: &str, quantity: u32) -> Book {
        self.best_of(Some(section), quantity, false)
    }

    pub(crate) fn best_together(self, quantity: u32) -> Book {
        self.best_of(None, quantity, true)
    }

    fn best_of(mut self, section: Option<&str>, quantity: u32, adjacent_required: bool) -> Book {
        let best = BestAvailable { quantity, section: section.map(str::to_owned), adjacent_required };
        let Want::Event { seats, .. } = &mut self.want else { panic!("seats are in events") };
        *seats = SeatWish::Best(best);
        self
    }

    pub(crate) fn standing(mut self, name: &str, quantity: u32) -> Book {
        let Want::Event { areas, .. } = &mut self.want else { panic!("areas are in events") };
        areas.push(AreaWish { name: name.into(), quantity });
        self
    }

    pub(crate) fn places(mut self, name: &str, quantity: u32) -> Book {
        self.want = Want::Slot { slot: slot(name), places: Places::Quantity(quantity) };
        self
    }

    pub(crate) fn tickets(mut self, name: &str, tickets: &str) -> Book {
        let tickets = tickets.split(' ').filter(|ticket| !ticket.is_empty()).map(Arc::from).collect();
        self.want = Want::Slot { slot: slot(name), places: Places::Tickets(tickets) };
        self
    }

    pub(crate) fn boxes(mut self, id: &str, quantity: u32) -> Book {
        self.want = Want::Box { id: id.into(), quantity };
        self
    }

    pub(crate) fn for_seconds(mut self, seconds: u32) -> Book {
        self.hold_ttl_seconds = Some(seconds);
        self
    }

    pub(crate) fn paid(mut self) -> Book {
        self.confirm = true;
        self
    }
}

impl From<Book> for Command {
    fn from(book: Book) -> Command {
        Action::Book(Box::new(book)).into()
    }
}

pub(crate) fn confirm(label: &str) -> Confirm {
    Confirm { booking: id(label), payment_reference: None, if_expired: None }
}

impl Confirm {
    pub(crate) fn reference(mut self, reference: &str) -> Confirm {
        self.payment_reference = Some(reference.into());
        self
    }

    pub(crate) fn if_expired(mut self, policy: LatePayment) -> Confirm {
        self.if_expired = Some(policy);
        self
    }
}

impl From<Confirm> for Command {
    fn from(confirm: Confirm) -> Command {
        Action::Confirm(confirm).into()
    }
}

pub(crate) fn extend(label: &str, seconds: u32) -> Command {
    Action::Extend(Extend { booking: id(label), seconds }).into()
}

pub(crate) fn cancel(label: &str) -> Command {
    Action::Cancel(Cancel { booking: id(label), reason: None }).into()
}

pub(crate) fn move_to(label: &str, to: Destination) -> Command {
    Action::Move(Box::new(Move { booking: id(label), to })).into()
}

pub(crate) fn redeem(label: &str) -> Command {
    Action::Redeem(Redeem { booking: id(label), redeem_code: Some(code(label)) }).into()
}

pub(crate) fn block(section: &str, names: &str) -> Command {
    Action::BlockSeats(BlockSeats { seats: seats(section, names) }).into()
}

pub(crate) fn unblock(section: &str, names: &str) -> Command {
    Action::UnblockSeats(UnblockSeats { seats: seats(section, names) }).into()
}

pub(crate) fn add_slot(day: &str, window: Window) -> Command {
    Action::AddSlot(AddSlot { date: date(day), window }).into()
}
