//! The commands that create the inventory of a scenario, well or with a flaw.

use std::collections::BTreeSet;

use boxoffice_core::command::Action;
use boxoffice_core::commands::{CreateEvent, CreateSchedule, CreateShop};
use boxoffice_core::event::{AreaPlan, SeatName, SectionPlan, SubsectionPlan};
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::rules::{LatePayment, Orphans, Prefer, RulesPatch, SalesWindow, TicketRule};
use boxoffice_core::schedule::{Pattern, Window};
use boxoffice_core::time::{Date, Minute, Timestamp};

use crate::ops::{Rectangle, RuleSetup, Setup, StockSetup, WindowSetup};

/// The Monday on which every scenario begins, at eight in the morning in Taipei.
pub(crate) const FIRST_DAY: Date = Date(20_514);
pub(crate) const START: Timestamp = Timestamp(20_514 * 86_400_000);

const TIMEZONE: &str = "Asia/Taipei";
const CURRENCY: Currency = Currency(*b"TWD");
/// Not in order, so that the order of declaration shows.
const SECTION_NAMES: [&str; 3] = ["C", "A", "B"];

pub(crate) fn late_payment(choice: u8) -> LatePayment {
    [LatePayment::Fail, LatePayment::SameUnits, LatePayment::Equivalent][usize::from(choice % 3)]
}

pub(crate) fn orphans(choice: u8) -> Orphans {
    [Orphans::Allow, Orphans::Avoid, Orphans::Forbid][usize::from(choice % 3)]
}

pub(crate) fn prefer(center: bool) -> Prefer {
    if center { Prefer::Center } else { Prefer::Front }
}

pub(crate) fn ticket_rule(registered: bool) -> TicketRule {
    if registered { TicketRule::Registered } else { TicketRule::Any }
}

/// All days but those of the mask.
pub(crate) fn weekdays(off: u8) -> BTreeSet<u8> {
    (1..=7).filter(|day| off & (1 << (day - 1)) == 0).collect()
}

/// A window as it was drawn; it may reach over midnight.
pub(crate) fn window(setup: &WindowSetup) -> Window {
    let start = u16::from(setup.start) * 120;
    Window {
        start: Minute(start),
        end: Minute(start + u16::from(setup.length) * 30),
        capacity: setup.capacity.into(),
        price: Money(i64::from(setup.price) * 100),
    }
}

/// The action that creates what the scenario is about.
pub(crate) fn creation(setup: &Setup) -> Action {
    let rules = rules(&setup.rules);
    match &setup.stock {
        StockSetup::Event { sections, areas } => event(sections, areas, rules),
        StockSetup::Schedule { windows, days, weekdays_off, closed_day, keep_past_days } => {
            let mut pattern = Pattern {
                windows: windows.iter().map(window).collect(),
                days: u16::from(*days),
                weekdays: weekdays(*weekdays_off),
                closed_dates: closed_day.iter().map(|day| FIRST_DAY.plus_days(i32::from(*day))).collect(),
                keep_past_days: u16::from(*keep_past_days),
            };
            pattern.windows.sort_by_key(|window| window.start);
            pattern.windows.dedup_by_key(|window| window.start);
            for window in &mut pattern.windows {
                window.end = window.end.min(Minute(24 * 60));
            }
            if pattern.weekdays.is_empty() {
                pattern.weekdays = weekdays(0);
            }
            schedule(pattern, rules)
        }
        StockSetup::Shop { .. } => shop(rules),
    }
}

/// The creation of some inventory of a kind, with one of many flaws, or none.
pub(crate) fn flawed_creation(kind: u8, flaw: u8) -> Action {
    let mut rules = RulesPatch::default();
    match flaw {
        0 => rules.hold_ttl_seconds = Some(0),
        1 => rules.hold_ttl_seconds = Some(86_401),
        2 => rules.max_hold_seconds = Some(1),
        3 => rules.max_units_per_booking = Some(1_001),
        4 => rules.max_units_per_customer = Some(Some(0)),
        5 => rules.max_active_bookings_per_customer = Some(Some(0)),
        _ => {}
    }
    let rectangle = Rectangle { rows: 2, cols: 5, blocked: vec![(1, 1)] };
    let mut action = match kind {
        0 => event(&[vec![rectangle.clone(), rectangle]], &[3, 4], rules),
        1 => {
            let early = WindowSetup { start: 1, length: 2, capacity: 3, price: 1 };
            let windows = vec![window(&early), window(&WindowSetup { start: 3, ..early })];
            let pattern = Pattern {
                windows,
                days: 2,
                weekdays: weekdays(0),
                closed_dates: BTreeSet::new(),
                keep_past_days: 1,
            };
            schedule(pattern, rules)
        }
        _ => shop(rules),
    };
    let empty_window = SalesWindow { opens_at: Some(START), closes_at: Some(START) };
    match &mut action {
        Action::CreateEvent(create) => match flaw {
            6 => create.id = "Gala".to_owned(),
            7 => create.name = String::new(),
            8 => create.currency = Currency(*b"twd"),
            9 => create.sales = empty_window,
            10 => (create.sections, create.areas) = (Vec::new(), Vec::new()),
            11 => create.sections.push(create.sections[0].clone()),
            12 => create.sections[0].name = "A-1".to_owned(),
            13 => create.sections[0].subsections.clear(),
            14 => create.sections[0].subsections[0].rows = 0,
            15 => create.sections[0].subsections[0].cols = 1_001,
            16 => create.sections[0].subsections[0].number = 2,
            17 => create.sections[0].subsections[0].blocked.push(SeatName { row: 3, number: 1 }),
            18 => create.sections[0].price = Money(-1),
            19 => create.areas[0].capacity = 0,
            20 => create.areas[1] = create.areas[0].clone(),
            21 => create.sections[0].name.push('\u{202e}'),
            22 => create.areas[0].name.push('\u{feff}'),
            23 => create.info.venue = Some("\u{202e}".to_owned()),
            _ => {}
        },
        Action::CreateSchedule(create) => match flaw {
            6 => create.id = "-museum".to_owned(),
            7 => create.name = "a\nb".to_owned(),
            8 => create.timezone = "Asia/Nowhere".to_owned(),
            9 => create.sales = empty_window,
            10 => create.pattern.windows[1].start = create.pattern.windows[0].start,
            11 => create.pattern.windows[0].end = create.pattern.windows[0].start,
            12 => create.pattern.windows[0].end = Minute(24 * 60 + 1),
            13 => create.pattern.windows[0].capacity = 0,
            14 => create.pattern.days = 0,
            15 => create.pattern.days = 731,
            16 => create.pattern.weekdays.clear(),
            17 => drop(create.pattern.weekdays.insert(8)),
            18 => create.pattern.keep_past_days = 731,
            _ => {}
        },
        Action::CreateShop(create) => match flaw {
            6 => create.id = "a".repeat(64),
            7 => create.name = "n".repeat(201),
            8 => create.timezone = "Asia/Nowhere".to_owned(),
            9 => create.sales = empty_window,
            _ => {}
        },
        _ => panic!("creations only"),
    }
    action
}

fn rules(setup: &RuleSetup) -> RulesPatch {
    RulesPatch {
        hold_ttl_seconds: Some([300, 60, 900, 20, 5][usize::from(setup.hold_ttl)]),
        min_hold_seconds: (setup.min_hold < 6)
            .then_some(setup.min_hold.into())
            .filter(|&seconds| seconds > 0),
        max_hold_seconds: [None, Some(120), None, Some(300), Some(30)][usize::from(setup.hold_ttl)],
        max_units_per_booking: setup.big_bookings.then_some(100),
        max_units_per_customer: setup.units_per_customer.map(|units| Some(units.into())),
        max_active_bookings_per_customer: Some(setup.active_per_customer.map(u32::from)),
        orphans: Some(orphans(setup.orphans)),
        prefer: Some(prefer(setup.prefer_center)),
        late_payment: Some(late_payment(setup.late_payment)),
        tickets: Some(ticket_rule(setup.registered_tickets)),
        require_idempotency_key: Some(setup.require_key),
    }
}

fn event(sections: &[Vec<Rectangle>], areas: &[u8], rules: RulesPatch) -> Action {
    let subsection = |(number, part): (u16, &Rectangle)| SubsectionPlan {
        number,
        rows: part.rows.into(),
        cols: part.cols.into(),
        blocked: part
            .blocked
            .iter()
            .map(|(row, seat)| SeatName {
                row: u16::from(row % part.rows) + 1,
                number: u16::from(seat % part.cols) + 1,
            })
            .collect(),
    };
    let section = |(number, parts): (usize, &Vec<Rectangle>)| SectionPlan {
        name: SECTION_NAMES[number].to_owned(),
        price: Money(1_000 * (i64::try_from(number).expect("few sections") + 1)),
        subsections: (1..).zip(parts).map(subsection).collect(),
    };
    let area = |(number, capacity): (usize, &u8)| AreaPlan {
        name: format!("floor{number}"),
        price: Money(700),
        capacity: (*capacity).into(),
    };
    Action::CreateEvent(Box::new(CreateEvent {
        id: "gala".to_owned(),
        name: "Summer Gala".to_owned(),
        currency: CURRENCY,
        info: EventInfo { starts_at: Some(START.plus_seconds(86_400)), ..EventInfo::default() },
        sales: SalesWindow::default(),
        rules,
        sections: sections.iter().enumerate().map(section).collect(),
        areas: areas.iter().enumerate().map(area).collect(),
    }))
}

fn schedule(pattern: Pattern, rules: RulesPatch) -> Action {
    Action::CreateSchedule(Box::new(CreateSchedule {
        id: "museum".to_owned(),
        name: "Museum".to_owned(),
        timezone: TIMEZONE.to_owned(),
        currency: CURRENCY,
        sales: SalesWindow::default(),
        rules,
        pattern,
    }))
}

fn shop(rules: RulesPatch) -> Action {
    Action::CreateShop(Box::new(CreateShop {
        id: "bakery".to_owned(),
        name: "Bakery".to_owned(),
        timezone: TIMEZONE.to_owned(),
        currency: CURRENCY,
        sales: SalesWindow::default(),
        rules,
    }))
}
