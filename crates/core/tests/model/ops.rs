//! Random scenarios: an inventory and a list of abstract steps in small numbers, which are turned into commands against
//! the state at the time. Small numbers shrink well.

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;

/// One test case.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) setup: Setup,
    /// How many steps come before the inventory is created.
    pub(crate) early_steps: u8,
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) rules: RuleSetup,
    pub(crate) stock: StockSetup,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleSetup {
    pub(crate) hold_ttl: u8,
    pub(crate) min_hold: u8,
    pub(crate) orphans: u8,
    pub(crate) prefer_center: bool,
    pub(crate) late_payment: u8,
    pub(crate) registered_tickets: bool,
    pub(crate) units_per_customer: Option<u8>,
    pub(crate) active_per_customer: Option<u8>,
    pub(crate) require_key: bool,
    pub(crate) big_bookings: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum StockSetup {
    Event {
        /// Sections of subsections.
        sections: Vec<Vec<Rectangle>>,
        /// Their capacities.
        areas: Vec<u8>,
    },
    Schedule {
        windows: Vec<WindowSetup>,
        days: u8,
        weekdays_off: u8,
        closed_day: Option<u8>,
        keep_past_days: u8,
    },
    Shop {
        boxes: Vec<BoxOp>,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Rectangle {
    pub(crate) rows: u8,
    pub(crate) cols: u8,
    /// Row and seat.
    pub(crate) blocked: Vec<(u8, u8)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct WindowSetup {
    /// In units of two hours.
    pub(crate) start: u8,
    /// In units of half an hour.
    pub(crate) length: u8,
    pub(crate) capacity: u8,
    pub(crate) price: u8,
}

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) pause: Pause,
    pub(crate) by: u8,
    pub(crate) key: Option<Key>,
    pub(crate) op: Op,
    pub(crate) ends_batch: bool,
}

/// How the time moves before a step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pause {
    None,
    Milliseconds(u16),
    Seconds(u8),
    Hours(u8),
    BackSeconds(u8),
    /// To the next, or a later, moment at which something falls due, or a millisecond beside it.
    Due {
        nth: u8,
        offset: i8,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Key {
    pub(crate) number: u8,
    pub(crate) keep: u8,
}

#[derive(Debug, Clone)]
pub(crate) enum Op {
    Book(BookOp),
    Confirm {
        target: Target,
        reference: u8,
        late: u8,
    },
    Extend {
        target: Target,
        seconds: u8,
    },
    Cancel {
        target: Target,
        reason: u8,
        ticket: Option<u8>,
    },
    Move {
        target: Target,
        to: MoveOp,
        free_only: bool,
        ticket: Option<u8>,
    },
    Redeem {
        target: Target,
        code: CodeOp,
        units: Option<ChoiceOp>,
        force: bool,
    },
    Unredeem {
        target: Target,
        units: Option<ChoiceOp>,
        reason: u8,
    },
    Expire,
    ForgetContact(u8),
    ForgetKeys,
    Block(Run),
    Unblock(Run),
    PatchTerms(TermsOp),
    /// Of a shop, whatever the inventory is.
    PatchShop(TermsOp),
    PatchInfo {
        field: u8,
        value: u8,
    },
    PatchPrices {
        section: u8,
        area: u8,
        price: u8,
    },
    AddSlot {
        day: u8,
        window: WindowSetup,
    },
    PatchSlot {
        slot: u8,
        closed: Option<bool>,
        capacity: Option<u8>,
        price: Option<u8>,
    },
    DeleteSlot(u8),
    CancelEvent {
        dry_run: bool,
        reason: u8,
    },
    DeleteEvent,
    RollSlots,
    PatchPattern(PatternOp),
    AddBox(BoxOp),
    PatchBox {
        number: u8,
        change: BoxChange,
    },
    ImportTickets(Vec<(u8, u8)>),
    /// Creates an inventory of a kind again, or wrongly.
    Create {
        kind: u8,
        flaw: u8,
    },
    /// Sends an earlier command again, with its key; a booking perhaps under another id.
    Again {
        back: u8,
        new_id: bool,
    },
}

/// Which booking is acted on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    OnHold(u8),
    Confirmed(u8),
    Active(u8),
    /// As a whole or in part.
    Redeemed(u8),
    Expired(u8),
    Any(u8),
    Unknown,
}

#[derive(Debug, Clone)]
pub(crate) struct BookOp {
    /// An id that a booking has, instead of a new one.
    pub(crate) taken_id: Option<u8>,
    pub(crate) customer: u8,
    pub(crate) contact: Option<u8>,
    pub(crate) ttl: u8,
    pub(crate) at_most_default: bool,
    pub(crate) confirm: bool,
    pub(crate) metadata: bool,
    pub(crate) code: u8,
    pub(crate) flaw: Option<u8>,
    pub(crate) want: WantOp,
}

#[derive(Debug, Clone)]
pub(crate) enum WantOp {
    Named {
        runs: Vec<Run>,
        areas: Vec<(u8, u8)>,
    },
    Best {
        best: BestOp,
        areas: Vec<(u8, u8)>,
    },
    /// By name, the seats that best available would give.
    NamedBest(BestOp),
    Areas(Vec<(u8, u8)>),
    Places {
        slot: u8,
        quantity: u8,
    },
    Tickets {
        slot: u8,
        tickets: Vec<u8>,
    },
    Box {
        number: u8,
        quantity: u8,
    },
}

/// Seats side by side, or every other one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) subsection: u8,
    pub(crate) row: u8,
    pub(crate) start: u8,
    pub(crate) length: u8,
    pub(crate) gaps: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct BestOp {
    pub(crate) quantity: u8,
    pub(crate) section: u8,
    pub(crate) required: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum MoveOp {
    Slot(u8),
    Seats { runs: Vec<Run>, right_number: bool },
    Best { best: BestOp, right_number: bool },
}

/// Some units of a booking: of those that have names, by a bit each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChoiceOp {
    pub(crate) named: u8,
    /// Names something that the booking does not have, too.
    pub(crate) stranger: bool,
    pub(crate) quantity: Option<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum CodeOp {
    Right,
    Wrong(u8),
    Unreadable,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum TermsOp {
    Name(u8),
    Open(bool),
    Sales { opens: Option<u8>, closes: Option<u8> },
    HoldTtl(u8),
    MinHold(u8),
    MaxHold(u8),
    MaxUnits(u8),
    UnitsPerCustomer(Option<u8>),
    ActivePerCustomer(Option<u8>),
    Orphans(u8),
    PreferCenter(bool),
    LatePayment(u8),
    RegisteredTickets(bool),
    RequireKey(bool),
}

#[derive(Debug, Clone)]
pub(crate) enum PatternOp {
    Windows(Vec<WindowSetup>),
    Days(u8),
    WeekdaysOff(u8),
    ClosedDay(Option<u8>),
    KeepPastDays(u8),
}

#[derive(Debug, Clone)]
pub(crate) struct BoxOp {
    pub(crate) number: u8,
    pub(crate) quantity: u8,
    pub(crate) price: u8,
    /// Start and length, in quarters of an hour.
    pub(crate) pickup: Option<(u8, u8)>,
    /// Quarters of an hour to the step, and the price from then on.
    pub(crate) curve: Vec<(u8, u8)>,
}

#[derive(Debug, Clone)]
pub(crate) enum BoxChange {
    /// How long it is.
    Name(u8),
    Closed(bool),
    Quantity(u8),
    Price(u8),
    Pickup(Option<(u8, u8)>),
    Curve(Vec<(u8, u8)>),
}

/// Scenarios of all three kinds.
pub(crate) fn scenarios() -> impl Strategy<Value = Scenario> {
    prop_oneof![
        4 => scenario(events().boxed(), event_ops().boxed()),
        3 => scenario(schedules().boxed(), schedule_ops().boxed()),
        2 => scenario(shops().boxed(), shop_ops().boxed()),
    ]
}

fn scenario(stock: BoxedStrategy<StockSetup>, op: BoxedStrategy<Op>) -> BoxedStrategy<Scenario> {
    let early_steps = prop_oneof![9 => Just(0u8), 1 => 1..4u8];
    let setup = (rules(), stock).prop_map(|(rules, stock)| Setup { rules, stock });
    let steps = vec(step(op), 0..400);
    (setup, early_steps, steps)
        .prop_map(|(setup, early_steps, steps)| Scenario { setup, early_steps, steps })
        .boxed()
}

fn rules() -> impl Strategy<Value = RuleSetup> {
    let limits = (weighted(0.25, 4..20u8), weighted(0.25, 1..4u8));
    let switches = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.04), prop::bool::weighted(0.2));
    ((0..5u8, 0..12u8), 0..3u8, 0..3u8, limits, switches).prop_map(
        |(
            (hold_ttl, min_hold),
            orphans,
            late_payment,
            (units_per_customer, active_per_customer),
            switches,
        )| RuleSetup {
            hold_ttl,
            min_hold,
            orphans,
            prefer_center: switches.0,
            late_payment,
            registered_tickets: switches.1,
            units_per_customer,
            active_per_customer,
            require_key: switches.2,
            big_bookings: switches.3,
        },
    )
}

fn events() -> impl Strategy<Value = StockSetup> {
    let blocked = || prop_oneof![3 => vec((0..4u8, 0..12u8), 0..3), 1 => vec((0..4u8, 0..70u8), 0..6)];
    let small = (1..4u8, 1..10u8, blocked());
    let wide = (1..3u8, prop_oneof![3 => 60..72u8, 1 => 120..136u8], blocked());
    let rectangle = prop_oneof![12 => small.boxed(), 2 => wide.boxed()]
        .prop_map(|(rows, cols, blocked)| Rectangle { rows, cols, blocked });
    let areas = prop_oneof![1 => vec(1..9u8, 0..1), 11 => vec(1..9u8, 1..3)];
    let halls = (vec(vec(rectangle, 1..3), 1..4), areas);
    // Sold out soon.
    let seat = (1..3u8, 1..4u8).prop_map(|(rows, cols)| Rectangle { rows, cols, blocked: Vec::new() });
    let rooms = (vec(vec(seat, 1..2), 1..3), vec(1..3u8, 0..2));
    prop_oneof![3 => halls.boxed(), 1 => rooms.boxed()]
        .prop_map(|(sections, areas)| StockSetup::Event { sections, areas })
}

fn schedules() -> impl Strategy<Value = StockSetup> {
    let days_off = prop_oneof![4 => Just(0u8), 1 => 0..128u8];
    (vec(window(), 1..4), 2..5u8, days_off, weighted(0.3, 0..5u8), 0..3u8).prop_map(
        |(windows, days, weekdays_off, closed_day, keep_past_days)| StockSetup::Schedule {
            windows,
            days,
            weekdays_off,
            closed_day,
            keep_past_days,
        },
    )
}

fn shops() -> impl Strategy<Value = StockSetup> {
    vec(boxes(), 2..4).prop_map(|boxes| StockSetup::Shop { boxes })
}

fn window() -> impl Strategy<Value = WindowSetup> {
    (0..12u8, 1..9u8, 1..9u8, 0..5u8).prop_map(|(start, length, capacity, price)| WindowSetup {
        start,
        length,
        capacity,
        price,
    })
}

fn step(op: BoxedStrategy<Op>) -> impl Strategy<Value = Step> {
    let key = weighted(0.3, (0..120u8, 0..100u8).prop_map(|(number, keep)| Key { number, keep }));
    (pause(), 0..3u8, key, op, prop::bool::weighted(0.4)).prop_map(|(pause, by, key, op, ends_batch)| Step {
        pause,
        by,
        key,
        op,
        ends_batch,
    })
}

fn pause() -> impl Strategy<Value = Pause> {
    prop_oneof![
        40 => Just(Pause::None),
        15 => (1..2_000u16).prop_map(Pause::Milliseconds),
        20 => (1..100u8).prop_map(Pause::Seconds),
        1 => (1..14u8).prop_map(Pause::Hours),
        4 => (1..100u8).prop_map(Pause::BackSeconds),
        6 => (0..3u8, -1..2i8).prop_map(|(nth, offset)| Pause::Due { nth, offset }),
    ]
}

fn on_hold() -> impl Strategy<Value = Target> {
    target(Target::OnHold)
}

fn target(wanted: fn(u8) -> Target) -> impl Strategy<Value = Target> {
    prop_oneof![
        20 => (0..8u8).prop_map(wanted),
        3 => (0..16u8).prop_map(Target::Any),
        1 => Just(Target::Unknown),
    ]
}

fn event_ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        60 => with_bookings(event_wants().boxed()),
        5 => moves(event_moves().boxed()),
        2 => run().prop_map(Op::Block),
        2 => run().prop_map(Op::Unblock),
        2 => (0..6u8, 0..9u8).prop_map(|(field, value)| Op::PatchInfo { field, value }),
        2 => (0..6u8, 0..6u8, 0..9u8).prop_map(|(section, area, price)| Op::PatchPrices { section, area, price }),
        1 => (prop::bool::weighted(0.7), 0..6u8)
            .prop_map(|(dry_run, reason)| Op::CancelEvent { dry_run, reason }),
        1 => Just(Op::DeleteEvent),
        1 => strange_ops(),
    ]
}

fn schedule_ops() -> impl Strategy<Value = Op> {
    let closed = || weighted(0.6, prop::bool::weighted(0.3));
    prop_oneof![
        60 => with_bookings(schedule_wants().boxed()),
        5 => moves((0..16u8).prop_map(MoveOp::Slot).boxed()),
        2 => (0..7u8, window()).prop_map(|(day, window)| Op::AddSlot { day, window }),
        2 => (0..16u8, closed(), weighted(0.6, 0..10u8), weighted(0.3, 0..6u8))
            .prop_map(|(slot, closed, capacity, price)| Op::PatchSlot { slot, closed, capacity, price }),
        1 => (0..16u8).prop_map(Op::DeleteSlot),
        5 => Just(Op::RollSlots),
        2 => patterns().prop_map(Op::PatchPattern),
        4 => vec((0..12u8, 0..8u8), 0..4).prop_map(Op::ImportTickets),
        1 => strange_ops(),
    ]
}

fn shop_ops() -> impl Strategy<Value = Op> {
    let box_change = prop_oneof![
        2 => any::<bool>().prop_map(BoxChange::Closed),
        4 => (0..14u8).prop_map(BoxChange::Quantity),
        2 => (0..6u8).prop_map(BoxChange::Price),
        1 => (0..4u8).prop_map(BoxChange::Name),
        2 => pickup().prop_map(BoxChange::Pickup),
        2 => curve().prop_map(BoxChange::Curve),
    ];
    prop_oneof![
        60 => with_bookings(shop_wants().boxed()),
        1 => moves(event_moves().boxed()),
        2 => boxes().prop_map(Op::AddBox),
        4 => (0..5u8, box_change).prop_map(|(number, change)| Op::PatchBox { number, change }),
        1 => strange_ops(),
    ]
}

/// The life of bookings, and what happens to every inventory.
fn with_bookings(want: BoxedStrategy<WantOp>) -> BoxedStrategy<Op> {
    let code = prop_oneof![
        6 => Just(CodeOp::Right),
        1 => (0..8u8).prop_map(CodeOp::Wrong),
        1 => Just(CodeOp::Unreadable),
    ];
    let payable = prop_oneof![4 => on_hold(), 2 => target(Target::Expired), 1 => target(Target::Confirmed)];
    prop_oneof![
        28 => book(want).prop_map(Op::Book),
        9 => (payable, 0..20u8, 0..6u8)
            .prop_map(|(target, reference, late)| Op::Confirm { target, reference, late }),
        4 => (on_hold(), 0..12u8).prop_map(|(target, seconds)| Op::Extend { target, seconds }),
        6 => (target(Target::Active), 0..30u8, weighted(0.2, 0..4u8))
            .prop_map(|(target, reason, ticket)| Op::Cancel { target, reason, ticket }),
        6 => (target(Target::Confirmed), code, weighted(0.5, choice()), prop::bool::weighted(0.2))
            .prop_map(|(target, code, units, force)| Op::Redeem { target, code, units, force }),
        3 => (target(Target::Redeemed), weighted(0.6, choice()), 0..12u8)
            .prop_map(|(target, units, reason)| Op::Unredeem { target, units, reason }),
        1 => Just(Op::Expire),
        1 => (0..5u8).prop_map(Op::ForgetContact),
        1 => Just(Op::ForgetKeys),
        3 => terms().prop_map(Op::PatchTerms),
        3 => (0..10u8, any::<bool>()).prop_map(|(back, new_id)| Op::Again { back, new_id }),
    ]
    .boxed()
}

fn choice() -> impl Strategy<Value = ChoiceOp> {
    let named = prop_oneof![4 => 0..4u8, 1 => Just(0u8), 1 => 0..16u8];
    (named, prop::bool::weighted(0.1), weighted(0.5, 0..4u8))
        .prop_map(|(named, stranger, quantity)| ChoiceOp { named, stranger, quantity })
}

fn book(want: BoxedStrategy<WantOp>) -> impl Strategy<Value = BookOp> {
    let rare = (weighted(0.02, 0..10u8), weighted(0.02, 0..11u8), weighted(0.1, 0..3u8));
    let extras = (prop::bool::weighted(0.2), prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    (rare, 0..6u8, extras, 0..12u8, 0..6u8, want).prop_map(
        |((taken_id, flaw, contact), customer, (confirm, metadata, at_most_default), ttl, code, want)| {
            BookOp { taken_id, customer, contact, ttl, at_most_default, confirm, metadata, code, flaw, want }
        },
    )
}

fn areas(least: usize) -> impl Strategy<Value = Vec<(u8, u8)>> {
    let area = prop_oneof![30 => (0..2u8, 1..4u8), 1 => (0..3u8, 0..9u8)];
    prop_oneof![6 => vec(area.clone(), least..least + 1), 1 => vec(area, least..least + 2)]
}

fn run() -> impl Strategy<Value = Run> {
    let position = (0..6u8, 0..4u8, prop_oneof![15 => 0..10u8, 3 => 55..72u8, 1 => 118..136u8]);
    let length = prop_oneof![30 => 1..4u8, 2 => 4..8u8, 1 => 0..1u8];
    (position, length, prop::bool::weighted(0.1)).prop_map(|((subsection, row, start), length, gaps)| Run {
        subsection,
        row,
        start,
        length,
        gaps,
    })
}

fn best() -> impl Strategy<Value = BestOp> {
    let quantity = prop_oneof![60 => 1..6u8, 12 => 6..11u8, 2 => 0..13u8, 3 => 40..100u8];
    (quantity, 0..14u8, prop::bool::weighted(0.25)).prop_map(|(quantity, section, required)| BestOp {
        quantity,
        section,
        required,
    })
}

fn event_wants() -> impl Strategy<Value = WantOp> {
    let runs = prop_oneof![10 => vec(run(), 1..2), 4 => vec(run(), 2..4)];
    prop_oneof![
        8 => (runs, areas(0)).prop_map(|(runs, areas)| WantOp::Named { runs, areas }),
        8 => (best(), areas(0)).prop_map(|(best, areas)| WantOp::Best { best, areas }),
        3 => best().prop_map(WantOp::NamedBest),
        3 => areas(1).prop_map(WantOp::Areas),
    ]
}

fn event_moves() -> impl Strategy<Value = MoveOp> {
    let right_number = || prop::bool::weighted(0.9);
    prop_oneof![
        8 => (vec(run(), 1..3), right_number())
            .prop_map(|(runs, right_number)| MoveOp::Seats { runs, right_number }),
        8 => (best(), right_number()).prop_map(|(best, right_number)| MoveOp::Best { best, right_number }),
        1 => (0..8u8).prop_map(MoveOp::Slot),
    ]
}

fn moves(to: BoxedStrategy<MoveOp>) -> impl Strategy<Value = Op> {
    let to = prop_oneof![12 => to, 1 => event_moves()];
    (target(Target::Active), to, prop::bool::weighted(0.1), weighted(0.2, 0..4u8))
        .prop_map(|(target, to, free_only, ticket)| Op::Move { target, to, free_only, ticket })
}

fn schedule_wants() -> impl Strategy<Value = WantOp> {
    let quantity = prop_oneof![30 => 1..4u8, 3 => 4..10u8, 1 => 0..13u8];
    prop_oneof![
        3 => (0..16u8, quantity).prop_map(|(slot, quantity)| WantOp::Places { slot, quantity }),
        2 => (0..16u8, vec(0..12u8, 1..3)).prop_map(|(slot, tickets)| WantOp::Tickets { slot, tickets }),
    ]
}

fn patterns() -> impl Strategy<Value = PatternOp> {
    prop_oneof![
        3 => vec(window(), 0..4).prop_map(PatternOp::Windows),
        3 => (0..6u8).prop_map(PatternOp::Days),
        1 => prop_oneof![Just(0u8), Just(0u8), 0..128u8].prop_map(PatternOp::WeekdaysOff),
        2 => prop::option::of(0..5u8).prop_map(PatternOp::ClosedDay),
        1 => (0..4u8).prop_map(PatternOp::KeepPastDays),
    ]
}

fn shop_wants() -> impl Strategy<Value = WantOp> {
    let quantity = prop_oneof![30 => 1..4u8, 3 => 4..10u8, 1 => 0..13u8];
    let number = prop_oneof![30 => 0..4u8, 1 => 4..5u8];
    (number, quantity).prop_map(|(number, quantity)| WantOp::Box { number, quantity })
}

fn pickup() -> impl Strategy<Value = Option<(u8, u8)>> {
    weighted(0.5, (0..8u8, prop_oneof![20 => 8..90u8, 2 => 1..4u8, 1 => 0..1u8]))
}

fn curve() -> impl Strategy<Value = Vec<(u8, u8)>> {
    vec((0..30u8, 0..6u8), 0..4)
}

fn boxes() -> impl Strategy<Value = BoxOp> {
    (0..5u8, prop_oneof![20 => 1..16u8, 1 => 0..1u8], 0..6u8, pickup(), curve())
        .prop_map(|(number, quantity, price, pickup, curve)| BoxOp { number, quantity, price, pickup, curve })
}

fn terms() -> impl Strategy<Value = TermsOp> {
    prop_oneof![
        1 => (0..4u8).prop_map(TermsOp::Name),
        4 => prop::bool::weighted(0.9).prop_map(TermsOp::Open),
        4 => (weighted(0.15, 0..20u8), weighted(0.1, 0..40u8))
            .prop_map(|(opens, closes)| TermsOp::Sales { opens, closes }),
        2 => (0..7u8).prop_map(TermsOp::HoldTtl),
        2 => (0..7u8).prop_map(TermsOp::MinHold),
        2 => (0..7u8).prop_map(TermsOp::MaxHold),
        1 => (0..14u8).prop_map(TermsOp::MaxUnits),
        2 => weighted(0.4, 0..16u8).prop_map(TermsOp::UnitsPerCustomer),
        2 => weighted(0.4, 0..4u8).prop_map(TermsOp::ActivePerCustomer),
        2 => (0..3u8).prop_map(TermsOp::Orphans),
        1 => any::<bool>().prop_map(TermsOp::PreferCenter),
        2 => (0..3u8).prop_map(TermsOp::LatePayment),
        2 => any::<bool>().prop_map(TermsOp::RegisteredTickets),
        2 => prop::bool::weighted(0.15).prop_map(TermsOp::RequireKey),
    ]
}

/// What belongs to another kind of inventory, and creations of what is there.
fn strange_ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..3u8, 0..24u8).prop_map(|(kind, flaw)| Op::Create { kind, flaw }),
        1 => book(prop_oneof![event_wants(), schedule_wants(), shop_wants()].boxed()).prop_map(Op::Book),
        1 => run().prop_map(Op::Block),
        1 => run().prop_map(Op::Unblock),
        1 => terms().prop_map(Op::PatchShop),
        1 => Just(Op::PatchPrices { section: 0, area: 0, price: 1 }),
        1 => Just(Op::PatchInfo { field: 0, value: 1 }),
        1 => Just(Op::CancelEvent { dry_run: true, reason: 1 }),
        1 => Just(Op::DeleteEvent),
        1 => window().prop_map(|window| Op::AddSlot { day: 1, window }),
        1 => (0..4u8).prop_map(|slot| Op::PatchSlot { slot, closed: None, capacity: Some(5), price: None }),
        1 => (0..4u8).prop_map(Op::DeleteSlot),
        1 => Just(Op::RollSlots),
        1 => patterns().prop_map(Op::PatchPattern),
        1 => boxes().prop_map(Op::AddBox),
        1 => (0..5u8).prop_map(|number| Op::PatchBox { number, change: BoxChange::Closed(true) }),
        1 => vec((0..12u8, 0..8u8), 0..3).prop_map(Op::ImportTickets),
    ]
}
