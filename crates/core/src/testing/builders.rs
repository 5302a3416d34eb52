//! Commands in a few words: inventories, bookings and what is done with them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::second;
use crate::command::{Action, Command, Idempotency};
use crate::commands::{
    AddBox, AddSlot, AreaWish, BestAvailable, BlockSeats, Book, Cancel, Confirm, CreateEvent, CreateSchedule,
    CreateShop, Destination, Extend, Move, Places, Redeem, SeatWish, SectionSeats, UnblockSeats, UnitChoice,
    Unredeem, Want,
};
use crate::event::{AreaPlan, SectionPlan, SubsectionPlan};
use crate::event_info::EventInfo;
use crate::ids::{Actor, BookingId, RedeemCode};
use crate::memory::KeyDigest;
use crate::money::{Currency, Money};
use crate::rules::{LatePayment, RulesPatch, SalesWindow};
use crate::schedule::{Pattern, Window};
use crate::time::{Date, SlotId};

/// The id of a booking that tables call by a name of at most 16 letters.
pub(crate) fn id(label: &str) -> BookingId {
    let mut bytes = [0; 16];
    bytes[..label.len()].copy_from_slice(label.as_bytes());
    BookingId::from_bytes(bytes)
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
    let idempotency = Some(Idempotency {
        key: KeyDigest(id(key).to_bytes()),
        fingerprint: fingerprint.into(),
        keep_seconds: 60,
    });
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
        info: EventInfo::default(),
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
        reference: None,
        want: Want::Event { seats: SeatWish::None, areas: Vec::new() },
        hold_ttl_seconds: None,
        hold_at_most_default: false,
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
    Confirm { booking: id(label), payment_reference: None, if_expired: None, free_only: false }
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
    Action::Cancel(Cancel { booking: id(label), reason: None, ticket: None }).into()
}

pub(crate) fn move_to(label: &str, to: Destination) -> Command {
    Action::Move(Box::new(Move { booking: id(label), to, free_only: false, ticket: None })).into()
}

pub(crate) fn redeem(label: &str) -> Command {
    redemption(label, None)
}

/// Redeems at a wrong date or time, too.
pub(crate) fn redeem_anyway(label: &str) -> Command {
    let (booking, redeem_code) = (id(label), Some(code(label)));
    Action::Redeem(Redeem { booking, redeem_code, units: None, force: true }).into()
}

/// Redeems some units only.
pub(crate) fn redeem_some(label: &str, units: UnitChoice) -> Command {
    redemption(label, Some(Box::new(units)))
}

fn redemption(label: &str, units: Option<Box<UnitChoice>>) -> Command {
    Action::Redeem(Redeem { booking: id(label), redeem_code: Some(code(label)), units, force: false }).into()
}

/// Undoes the redemption of all units.
pub(crate) fn unredeem(label: &str) -> Command {
    Action::Unredeem(Unredeem { booking: id(label), units: None, reason: "by mistake".into() }).into()
}

pub(crate) fn unredeem_some(label: &str, units: UnitChoice) -> Command {
    let (booking, units) = (id(label), Some(Box::new(units)));
    Action::Unredeem(Unredeem { booking, units, reason: "by mistake".into() }).into()
}

/// Seats of `A-1`.
pub(crate) fn some_seats(names: &str) -> UnitChoice {
    UnitChoice { seats: vec![seats("A-1", names)], ..UnitChoice::default() }
}

pub(crate) fn some_tickets(tickets: &str) -> UnitChoice {
    UnitChoice { tickets: tickets.split(' ').map(Arc::from).collect(), ..UnitChoice::default() }
}

/// So many places or boxes.
pub(crate) fn some_boxes(quantity: u32) -> UnitChoice {
    UnitChoice { quantity: Some(quantity), ..UnitChoice::default() }
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
