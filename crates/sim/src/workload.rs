//! Callers: random commands for a few small inventories, so that they are in each other's way all the time.

use std::collections::BTreeSet;
use std::sync::Arc;

use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{
    AddBox, AddSlot, AreaWish, BestAvailable, BlockSeats, Book, Cancel, CancelEvent, Confirm, CreateEvent,
    CreateSchedule, CreateShop, Destination, Extend, ForgetContact, Move, PatchBox, PatchSlot, Places,
    Redeem, SeatWish, SectionSeats, UnblockSeats, UnitChoice, Unredeem, Want,
};
use boxoffice_core::event::{AreaPlan, SeatName, SectionPlan, SubsectionPlan};
use boxoffice_core::ids::{Actor, BookingId, InventoryKind, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::rules::{LatePayment, RulesPatch, SalesWindow};
use boxoffice_core::schedule::{Pattern, Window};
use boxoffice_core::time::{Date, Minute, SlotId, Timestamp};
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::ids::booking_id;

use crate::random::Random;

/// When simulations begin: 2026-12-01, midnight in London.
pub const START: Timestamp = Timestamp(1_796_083_200_000);

/// Longer than any run: an answer is still remembered when its run ends.
pub const KEEP_SECONDS: u32 = 30 * DAY_SECONDS;

const DAY_SECONDS: u32 = 24 * 60 * 60;
const CUSTOMERS: [&str; 5] = ["ann", "bob", "cho", "dee", "eli"];
const BOXES: [&str; 2] = ["bread", "cake"];
const ROWS: u16 = 3;
const COLUMNS: u16 = 4;
/// Ids that callers chose, shared by all inventories and both tenants.
const CHOSEN_IDS: u64 = 12;

/// Makes commands.
#[derive(Debug)]
pub struct Workload {
    random: Random,
    stages: Vec<Stage>,
    keys: u64,
}

/// One inventory as its callers know it.
#[derive(Debug)]
struct Stage {
    name: Arc<str>,
    kind: InventoryKind,
    /// How many of its boxes were asked for, if it is a shop.
    stocked: usize,
    bookings: Vec<BookingId>,
    keyed: Vec<Command>,
}

impl Workload {
    /// Two events, a schedule and two shops, of two tenants.
    pub fn new(random: Random) -> Workload {
        let kinds = [
            ("hall", InventoryKind::Event),
            ("museum", InventoryKind::Schedule),
            ("bakery", InventoryKind::Shop),
            ("acme/club", InventoryKind::Event),
            ("acme/diner", InventoryKind::Shop),
        ];
        let stages = kinds.map(|(name, kind)| Stage {
            name: name.into(),
            kind,
            stocked: 0,
            bookings: Vec::new(),
            keyed: Vec::new(),
        });
        Workload { random, stages: stages.into(), keys: 0 }
    }

    /// The names of all inventories.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.stages.iter().map(|stage| Arc::clone(&stage.name)).collect()
    }

    /// The next command, for the inventory of the name before it. `number` says which numbers inventories have.
    pub fn next(
        &mut self,
        now: Timestamp,
        number: impl Fn(&str) -> Option<InventoryNumber>,
    ) -> (Arc<str>, Command) {
        let Workload { random, stages, keys } = self;
        let index = random.index(stages.len());
        let stage = &mut stages[index];
        let number = number(&stage.name);
        let command = if number.is_none() && random.percent(90) {
            Command { by: Actor(1), idempotency: None, action: creation(&stage.name, stage.kind) }
        } else if stage.kind == InventoryKind::Shop && stage.stocked < BOXES.len() {
            stage.stocked += 1;
            Command { by: Actor(1), idempotency: None, action: add_box(BOXES[stage.stocked - 1]) }
        } else if !stage.keyed.is_empty() && random.percent(12) {
            let again = random.pick(&stage.keyed).clone();
            if random.percent(15) { misused(again, random) } else { again }
        } else {
            *keys += 1;
            stage.fresh(random, now, number, *keys)
        };
        (Arc::clone(&stage.name), command)
    }
}

/// The same key on another request.
fn misused(mut command: Command, random: &mut Random) -> Command {
    if let Some(idempotency) = &mut command.idempotency {
        idempotency.fingerprint = random.number().into();
    }
    command
}

fn creation(name: &str, kind: InventoryKind) -> Action {
    // The event's own id is without its tenant.
    let name = name.rsplit('/').next().unwrap_or(name);
    let (id, currency, sales) = (name.to_owned(), Currency(*b"EUR"), SalesWindow::default());
    let timezone = "Europe/London".to_owned();
    let rules = RulesPatch {
        late_payment: Some(if name == "hall" { LatePayment::Equivalent } else { LatePayment::SameUnits }),
        ..RulesPatch::default()
    };
    match kind {
        InventoryKind::Event => {
            let subsections = (1..=2)
                .map(|number| SubsectionPlan { number, rows: ROWS, cols: COLUMNS, blocked: Vec::new() })
                .collect();
            let sections = vec![SectionPlan { name: "A".to_owned(), price: Money(1_000), subsections }];
            let areas = vec![AreaPlan { name: "floor".to_owned(), price: Money(500), capacity: 8 }];
            let name = id.clone();
            let event =
                CreateEvent { sales, rules, areas, ..CreateEvent::new(&id, &name, currency, sections) };
            Action::CreateEvent(Box::new(event))
        }
        InventoryKind::Schedule => {
            let window = |start: u16, end: u16, capacity| Window {
                start: Minute(start * 60),
                end: Minute(end * 60),
                capacity,
                price: Money(100),
            };
            let pattern = Pattern {
                windows: vec![window(9, 12, 3), window(12, 15, 4), window(18, 24, 5)],
                days: 2,
                weekdays: (1..=7).collect(),
                closed_dates: BTreeSet::new(),
                keep_past_days: 1,
            };
            let name = id.clone();
            let schedule = CreateSchedule { id, name, timezone, currency, sales, rules, pattern };
            Action::CreateSchedule(Box::new(schedule))
        }
        InventoryKind::Shop => {
            let name = id.clone();
            Action::CreateShop(Box::new(CreateShop { id, name, timezone, currency, sales, rules }))
        }
    }
}

fn add_box(id: &str) -> Action {
    Action::AddBox(Box::new(AddBox {
        id: id.into(),
        name: id.to_owned(),
        quantity: 6,
        price: Money(300),
        pickup: None,
        price_curve: Vec::new(),
    }))
}

impl Stage {
    fn fresh(
        &mut self,
        random: &mut Random,
        now: Timestamp,
        number: Option<InventoryNumber>,
        key: u64,
    ) -> Command {
        let action = if self.bookings.is_empty() || random.percent(45) {
            self.book(random, now, number)
        } else if random.percent(85) {
            let newest = self.bookings.len().saturating_sub(8);
            let booking = self.bookings[newest + random.index(self.bookings.len() - newest)];
            self.follow_up(random, now, booking)
        } else {
            self.operate(random, now)
        };
        let idempotency = random.percent(60).then(|| {
            let mut digest = [0; 16];
            digest[..8].copy_from_slice(&key.to_le_bytes());
            Idempotency {
                key: KeyDigest(digest),
                fingerprint: random.number().into(),
                keep_seconds: KEEP_SECONDS,
            }
        });
        let command = Command { by: Actor(random.between(1, 3)), idempotency, action };
        if idempotency.is_some() {
            self.keyed.push(command.clone());
        }
        command
    }

    fn book(&mut self, random: &mut Random, now: Timestamp, number: Option<InventoryNumber>) -> Action {
        let id = match number {
            Some(number) if random.percent(85) => booking_id(number, now, random.number()),
            Some(_) | None => {
                let mut bytes = [0xEE; 16];
                bytes[..8].copy_from_slice(&random.below(CHOSEN_IDS).to_be_bytes());
                BookingId::from_bytes(bytes)
            }
        };
        self.bookings.push(id);
        let customer = *random.pick(&CUSTOMERS);
        let want = self.want(random, now);
        let mut book = Book::new(id, customer, want, code_of(id));
        book.hold_ttl_seconds =
            random.percent(80).then(|| u32::try_from(random.between(5, 90)).expect("small"));
        book.confirm = random.percent(10);
        book.contact = random.percent(10).then(|| Arc::from(&b"sealed"[..]));
        book.reference = random.percent(10).then(|| Arc::from("order 7"));
        Action::Book(Box::new(book))
    }

    fn want(&self, random: &mut Random, now: Timestamp) -> Want {
        let quantity = u32::try_from(random.between(1, 3)).expect("small");
        match self.kind {
            InventoryKind::Event => {
                let areas = if random.percent(25) {
                    vec![AreaWish { name: "floor".into(), quantity }]
                } else {
                    Vec::new()
                };
                let seats = match random.below(10) {
                    0 if !areas.is_empty() => SeatWish::None,
                    0..=5 => SeatWish::Named(vec![some_seats(random, quantity)]),
                    _ => SeatWish::Best(BestAvailable { quantity, section: None, adjacent_required: false }),
                };
                Want::Event { seats, areas }
            }
            InventoryKind::Schedule => {
                let places = if random.percent(30) {
                    Places::Tickets(vec![format!("ticket-{}", random.below(6)).into()])
                } else {
                    Places::Quantity(quantity)
                };
                Want::Slot { slot: some_slot(random, now), places }
            }
            InventoryKind::Shop => Want::Box { id: some_box(random), quantity },
        }
    }

    fn follow_up(&self, random: &mut Random, now: Timestamp, booking: BookingId) -> Action {
        match random.below(11) {
            0..=3 => {
                let payment_reference =
                    random.percent(50).then(|| format!("payment-{}", random.below(1_000)).into());
                let if_expired = random.percent(20).then_some(LatePayment::Equivalent);
                Action::Confirm(Confirm { booking, payment_reference, if_expired, free_only: false })
            }
            4..=5 => Action::Cancel(Cancel { booking, reason: None, ticket: None }),
            6 => {
                let seconds = u32::try_from(random.between(10, 200)).expect("small");
                Action::Extend(Extend { booking, seconds })
            }
            7 => {
                let (redeem_code, force) = (Some(code_of(booking)), random.percent(20));
                let units = random.percent(50).then(|| Box::new(one_unit()));
                Action::Redeem(Redeem { booking, redeem_code, units, force })
            }
            8 => {
                let units = random.percent(50).then(|| Box::new(one_unit()));
                Action::Unredeem(Unredeem { booking, units, reason: "by mistake".into() })
            }
            _ => {
                let to = match self.kind {
                    InventoryKind::Schedule | InventoryKind::Shop => {
                        Destination::Slot(some_slot(random, now))
                    }
                    InventoryKind::Event => Destination::Seats(vec![some_seats(random, 2)]),
                };
                Action::Move(Box::new(Move { booking, to, free_only: false, ticket: None }))
            }
        }
    }

    /// What operators do.
    fn operate(&self, random: &mut Random, now: Timestamp) -> Action {
        if random.percent(20) {
            return Action::ForgetContact(ForgetContact { customer: (*random.pick(&CUSTOMERS)).into() });
        }
        let small = u32::try_from(random.between(1, 6)).expect("small");
        match self.kind {
            InventoryKind::Event if random.percent(2) => {
                let dry_run = random.percent(70);
                Action::CancelEvent(CancelEvent { reason: "storm".into(), dry_run })
            }
            InventoryKind::Event if random.percent(2) => Action::DeleteEvent,
            InventoryKind::Event => {
                let seats = some_seats(random, 1);
                if random.percent(50) {
                    Action::BlockSeats(BlockSeats { seats })
                } else {
                    Action::UnblockSeats(UnblockSeats { seats })
                }
            }
            InventoryKind::Schedule => {
                let slot = some_slot(random, now);
                if random.percent(30) {
                    let start = Minute(slot.start.0 + 60);
                    let window =
                        Window { start, end: Minute(start.0 + 30), capacity: small, price: Money(70) };
                    Action::AddSlot(AddSlot { date: slot.date, window })
                } else {
                    let closed = random.percent(30).then(|| random.percent(50));
                    let price = random.percent(20).then(|| Money(i64::from(small) * 10));
                    Action::PatchSlot(PatchSlot { slot, closed, capacity: Some(small), price })
                }
            }
            // One may have been lost in a crash.
            InventoryKind::Shop if random.percent(40) => add_box(&some_box(random)),
            InventoryKind::Shop => Action::PatchBox(Box::new(PatchBox {
                id: some_box(random),
                name: random.percent(20).then(|| format!("box of {small}")),
                closed: None,
                quantity: Some(small + 2),
                price: Some(Money(i64::from(small) * 100)),
                pickup: None,
                price_curve: None,
            })),
        }
    }
}

/// The next that is left, or the last that was redeemed.
fn one_unit() -> UnitChoice {
    UnitChoice { quantity: Some(1), ..UnitChoice::default() }
}

fn code_of(id: BookingId) -> RedeemCode {
    let bytes = id.to_bytes();
    // Few codes, so that some are taken.
    RedeemCode::from_random(u32::from(bytes[7]) ^ u32::from(bytes[9]))
}

fn some_seats(random: &mut Random, quantity: u32) -> SectionSeats {
    let row = u16::try_from(random.between(1, ROWS.into())).expect("small");
    let first = u16::try_from(random.between(1, COLUMNS.into())).expect("small");
    let last = (first + u16::try_from(quantity).expect("small") - 1).min(COLUMNS);
    let seats = (first..=last).map(|number| SeatName { row, number }).collect();
    SectionSeats { section: (*random.pick(&["A-1", "A-2"])).to_owned(), seats }
}

fn some_slot(random: &mut Random, now: Timestamp) -> SlotId {
    let day_ms = i64::from(DAY_SECONDS) * 1_000;
    let days = i32::try_from((now.0 - START.0) / day_ms).expect("runs last days");
    let first = Date::from_ymd(2026, 12, 1).expect("a date");
    let date = first.plus_days(days + i32::try_from(random.below(2)).expect("small"));
    SlotId { date, start: Minute(60 * *random.pick(&[9, 12, 18])) }
}

fn some_box(random: &mut Random) -> Arc<str> {
    (*random.pick(&BOXES)).into()
}
