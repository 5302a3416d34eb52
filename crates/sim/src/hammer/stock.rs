//! What the hammer sells: a hall, a museum, a bakery, and stadiums to be filled.

use std::collections::BTreeSet;

use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{AddBox, CreateEvent, CreateSchedule, CreateShop};
use boxoffice_core::event::{AreaPlan, SectionPlan, SubsectionPlan};
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::rules::{LatePayment, RulesPatch, SalesWindow};
use boxoffice_core::schedule::{Pattern, Window};
use boxoffice_core::time::{DAY_MINUTES, Minute, SlotId};
use boxoffice_engine::view::KindView;
use boxoffice_engine::{Engine, InventoryNumber, SubmitError};

/// An event of a few thousand seats and a standing area.
pub const HALL: &str = "hall";
/// A schedule of two weeks.
pub const MUSEUM: &str = "museum";
/// A shop of three sorts of boxes.
pub const BAKERY: &str = "bakery";
/// What the names of stadiums begin with: see [`crate::hammer::fill`].
pub const STADIUM: &str = "stadium-";

/// Sections of the hall, to be asked for by name.
pub const SECTIONS: &[&str] = &["A", "A-1", "A-2", "B"];
/// Standing area of the hall.
pub const AREA: &str = "Floor";
/// Boxes of the bakery.
pub const BOXES: &[&str] = &["bread", "cake", "soup"];
/// Seats of one row of the hall.
pub const HALL_COLS: u16 = 50;
/// Rows of one subsection of the hall.
pub const HALL_ROWS: u16 = 20;
/// Seats of one row of a stadium.
const STADIUM_COLS: u16 = 1_000;

const CURRENCY: Currency = Currency(*b"TWD");

/// The name of a stadium, which says how large it is.
pub fn stadium_name(seats: u64, index: u64) -> String {
    format!("{STADIUM}{seats}-{index}")
}

/// How many seats the stadium of a name has, if it is one's name.
pub fn stadium_seats(name: &str) -> Option<u64> {
    name.strip_prefix(STADIUM)?.split('-').next()?.parse().ok()
}

/// Makes an inventory unless it is there.
pub async fn create(engine: &Engine, name: &str) -> Result<InventoryNumber, SubmitError> {
    if let Some(number) = engine.number(name) {
        return Ok(number);
    }
    let creation = match name {
        HALL => Action::CreateEvent(Box::new(hall())),
        MUSEUM => Action::CreateSchedule(Box::new(museum())),
        BAKERY => Action::CreateShop(Box::new(bakery())),
        other => {
            let seats = stadium_seats(other).expect("the name of something that is sold");
            Action::CreateEvent(Box::new(stadium(other, seats)))
        }
    };
    engine.submit_to(name, Command::of(creation)).await?;
    engine.number(name).ok_or(SubmitError::NoSuchInventory)
}

/// Adds the boxes that the bakery does not have yet. It may have been killed between two of them.
pub async fn add_boxes(engine: &Engine, bakery: InventoryNumber) -> Result<(), SubmitError> {
    for id in BOXES {
        let add = AddBox {
            id: (*id).into(),
            name: (*id).to_owned(),
            quantity: 300,
            price: Money(90),
            pickup: None,
            price_curve: Vec::new(),
        };
        // Refused if it is there.
        engine.submit(bakery, Command::of(Action::AddBox(Box::new(add)))).await?;
    }
    Ok(())
}

/// The slots of a schedule that have not begun.
pub async fn slots(engine: &Engine, museum: InventoryNumber) -> Result<Vec<SlotId>, SubmitError> {
    let now = engine.now();
    let view = engine.view(museum).await?;
    match &view.kind {
        KindView::Schedule(schedule) => {
            let ahead = schedule.slots.iter().filter(|(_, slot)| slot.starts_at > now);
            Ok(ahead.map(|(&id, _)| id).collect())
        }
        KindView::Event(_) | KindView::Shop(_) => Ok(Vec::new()),
    }
}

/// Customers may book as often as they like, and pay late.
fn rules() -> RulesPatch {
    RulesPatch {
        max_active_bookings_per_customer: Some(None),
        late_payment: Some(LatePayment::SameUnits),
        ..RulesPatch::default()
    }
}

fn hall() -> CreateEvent {
    let subsection =
        |number| SubsectionPlan { number, rows: HALL_ROWS, cols: HALL_COLS, blocked: Vec::new() };
    let section =
        |name: &str, subsections| SectionPlan { name: name.to_owned(), price: Money(1_000), subsections };
    let sections = vec![section("A", vec![subsection(1), subsection(2)]), section("B", vec![subsection(1)])];
    let areas = vec![AreaPlan { name: AREA.to_owned(), price: Money(500), capacity: 400 }];
    CreateEvent { rules: rules(), areas, ..CreateEvent::new(HALL, "Hall", CURRENCY, sections) }
}

fn stadium(name: &str, seats: u64) -> CreateEvent {
    let rows = u16::try_from(seats / u64::from(STADIUM_COLS)).expect("at most a million seats");
    let subsections = vec![SubsectionPlan { number: 1, rows, cols: STADIUM_COLS, blocked: Vec::new() }];
    let section = SectionPlan { name: "A".to_owned(), price: Money(700), subsections };
    CreateEvent::new(name, "Stadium", CURRENCY, vec![section])
}

fn museum() -> CreateSchedule {
    let hours = (8..20).map(|hour: u16| Window {
        start: Minute(hour * 60),
        end: Minute(((hour + 1) * 60).min(DAY_MINUTES)),
        capacity: 40,
        price: Money(120),
    });
    CreateSchedule {
        id: MUSEUM.to_owned(),
        name: "Museum".to_owned(),
        timezone: "Asia/Taipei".to_owned(),
        currency: CURRENCY,
        sales: SalesWindow::default(),
        rules: rules(),
        pattern: Pattern {
            windows: hours.collect(),
            days: 14,
            weekdays: (1..=7).collect(),
            closed_dates: BTreeSet::new(),
            keep_past_days: 1,
        },
    }
}

fn bakery() -> CreateShop {
    CreateShop {
        id: BAKERY.to_owned(),
        name: "Bakery".to_owned(),
        timezone: "Asia/Taipei".to_owned(),
        currency: CURRENCY,
        sales: SalesWindow::default(),
        rules: rules(),
    }
}
