//! Makes an inventory an event.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::characters::{TextKind, refuse_invisible};
use crate::event::{AreaPlan, EventPlan, SectionPlan, SubsectionPlan};
use crate::event_info::EventInfo;
use crate::ids::{InventoryKind, check_text};
use crate::inventory::Inventory;
use crate::limits::{
    AREAS_PER_EVENT_MAX, COLS_MAX, NAME_CHARACTERS_MAX, POOL_CAPACITY_MAX, ROWS_MAX, SEATS_PER_EVENT_MAX,
    SECTION_NAME_CHARACTERS_MAX, SUBSECTIONS_PER_EVENT_MAX,
};
use crate::money::Currency;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::{RulesPatch, SalesWindow, Terms, check_within};

/// Makes an inventory an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateEvent {
    /// The id of the inventory.
    pub id: String,
    /// For people.
    pub name: String,
    /// Of all its prices.
    pub currency: Currency,
    /// When and where it takes place.
    pub info: EventInfo,
    /// When bookings can be made.
    pub sales: SalesWindow,
    /// What differs from the default rules of an event.
    pub rules: RulesPatch,
    /// In the order best available tries them.
    pub sections: Vec<SectionPlan>,
    /// Standing areas.
    pub areas: Vec<AreaPlan>,
}

impl CreateEvent {
    /// An event on sale from now on, with the default rules and without standing areas.
    pub fn new(id: &str, name: &str, currency: Currency, sections: Vec<SectionPlan>) -> CreateEvent {
        CreateEvent {
            id: id.to_owned(),
            name: name.to_owned(),
            currency,
            info: EventInfo::default(),
            sales: SalesWindow::default(),
            rules: RulesPatch::default(),
            sections,
            areas: Vec::new(),
        }
    }

    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        let terms =
            Terms::new(InventoryKind::Event, &self.id, &self.name, self.currency, self.sales, self.rules)?;
        let info = self.info.clone().checked()?;
        info.refuse_invisible()?;
        check_hall(&self.sections, &self.areas)?;
        self.refuse_invisible_names()?;
        if inventory.stock().is_some() {
            return Err(Refusal::AlreadyExists);
        }

        let mut sections = self.sections.clone();
        for subsection in sections.iter_mut().flat_map(|section| &mut section.subsections) {
            subsection.blocked.sort_unstable();
            subsection.blocked.dedup();
        }
        let plan = EventPlan { terms, info, sections, areas: self.areas.clone() };
        Ok(Decision::one(Change::EventCreated(Box::new(plan)), Reply::Inventory))
    }

    /// Apart from [`check_hall`], which events of any age pass when they are loaded.
    fn refuse_invisible_names(&self) -> Result<(), Refusal> {
        for (index, section) in self.sections.iter().enumerate() {
            refuse_invisible(&section.name, TextKind::Name, format_args!("/sections/{index}/name"))?;
        }
        for (index, area) in self.areas.iter().enumerate() {
            refuse_invisible(&area.name, TextKind::Name, format_args!("/areas/{index}/name"))?;
        }
        Ok(())
    }
}

/// Refuses a hall that is empty or out of bounds, and names that stand twice.
pub(crate) fn check_hall(sections: &[SectionPlan], areas: &[AreaPlan]) -> Result<(), Refusal> {
    if sections.is_empty() && areas.is_empty() {
        return Err(Refusal::invalid("/sections", "an event needs sections or areas"));
    }
    check_sections(sections)?;
    check_areas(areas)
}

fn check_sections(sections: &[SectionPlan]) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    let mut seats = 0;
    let mut subsections = 0;
    for (index, section) in sections.iter().enumerate() {
        let at = format!("/sections/{index}");
        check_text(&section.name, SECTION_NAME_CHARACTERS_MAX, format_args!("{at}/name"))?;
        if section.name.contains('-') {
            return Err(Refusal::invalid(format_args!("{at}/name"), "must not contain a dash"));
        }
        if !names.insert(&section.name) {
            return Err(Refusal::invalid(format_args!("{at}/name"), "names another section too"));
        }
        section.price.check_price(format_args!("{at}/price"))?;
        if section.subsections.is_empty() {
            return Err(Refusal::invalid(format_args!("{at}/subsections"), "must not be empty"));
        }
        let mut numbers = HashSet::new();
        for (index, subsection) in section.subsections.iter().enumerate() {
            let at = format!("{at}/subsections/{index}");
            check_subsection(subsection, &at)?;
            if !numbers.insert(subsection.number) {
                return Err(Refusal::invalid(format_args!("{at}/number"), "numbers another subsection too"));
            }
            seats += u64::from(subsection.rows) * u64::from(subsection.cols);
        }
        subsections += section.subsections.len();
    }
    if seats > u64::from(SEATS_PER_EVENT_MAX) {
        return Err(Refusal::invalid("/sections", format!("must have at most {SEATS_PER_EVENT_MAX} seats")));
    }
    if subsections > SUBSECTIONS_PER_EVENT_MAX {
        let message = format!("must have at most {SUBSECTIONS_PER_EVENT_MAX} subsections");
        return Err(Refusal::invalid("/sections", message));
    }
    Ok(())
}

fn check_subsection(subsection: &SubsectionPlan, at: &str) -> Result<(), Refusal> {
    check_within(subsection.number.into(), u16::MAX.into(), format_args!("{at}/number"))?;
    check_within(subsection.rows.into(), ROWS_MAX.into(), format_args!("{at}/rows"))?;
    check_within(subsection.cols.into(), COLS_MAX.into(), format_args!("{at}/cols"))?;
    for (index, seat) in subsection.blocked.iter().enumerate() {
        let inside =
            (1..=subsection.rows).contains(&seat.row) && (1..=subsection.cols).contains(&seat.number);
        if !inside {
            return Err(Refusal::invalid(
                format_args!("{at}/blocked/{index}"),
                "must be a seat of the subsection",
            ));
        }
    }
    Ok(())
}

fn check_areas(areas: &[AreaPlan]) -> Result<(), Refusal> {
    if areas.len() > AREAS_PER_EVENT_MAX {
        return Err(Refusal::invalid("/areas", format!("must be at most {AREAS_PER_EVENT_MAX}")));
    }
    let mut names = HashSet::new();
    for (index, area) in areas.iter().enumerate() {
        let at = format!("/areas/{index}");
        check_text(&area.name, NAME_CHARACTERS_MAX, format_args!("{at}/name"))?;
        if !names.insert(&area.name) {
            return Err(Refusal::invalid(format_args!("{at}/name"), "names another area too"));
        }
        area.price.check_price(format_args!("{at}/price"))?;
        check_within(area.capacity, POOL_CAPACITY_MAX, format_args!("{at}/capacity"))?;
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::event::SeatName;
    use crate::money::Money;
    use crate::outcome::Summary;
    use crate::rules::Orphans;
    use crate::testing::{Reached, Scene, bakery, book, hall, keyed, one_section, second};
    use crate::time::Timestamp;

    #[test]
    fn events_are_created_as_asked_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(book("b1", "ann").best(1), "EVENT_NOT_FOUND");
        scene.row(keyed("k1", 1, book("b1", "ann").best(1)), "EVENT_NOT_FOUND");
        let gala = hall(&[("A-1", 2, 3), ("A-2", 1, 2), ("B-7", 1, 1)]).with_area("standing", 10);
        scene.row(keyed("k1", 2, gala.clone()), "event Open: 19 free, 0 held, 0 sold, 0 blocked");
        scene.shows("A-1 ... ...\nA-2 ..\nB-7 .\nstanding 0h 0s");
        let Some(Summary::Event(summary)) = scene.inventory.summary() else { panic!("an event") };
        let sections: Vec<_> = summary
            .sections
            .iter()
            .map(|(section, counts)| (section.name.as_str(), counts.available))
            .collect();
        assert_eq!(sections, [("A", 8), ("B", 1)]);
        let subsections: Vec<_> = summary
            .subsections
            .iter()
            .map(|part| {
                (part.address.as_str(), part.rows, part.cols, part.counts.available, part.blocked.len())
            })
            .collect();
        assert_eq!(subsections, [("A-1", 2, 3, 6, 0), ("A-2", 1, 2, 2, 0), ("B-7", 1, 1, 1, 0)]);
        scene.row(keyed("k1", 2, gala.clone()), "again: event Open: 19 free, 0 held, 0 sold, 0 blocked");
        scene.row(gala, "ALREADY_EXISTS");
        scene.row(bakery(), "ALREADY_EXISTS");

        let mut blocked = one_section(2, 3);
        let name = |row, number| SeatName { row, number };
        blocked.sections[0].subsections[0].blocked = vec![name(2, 3), name(1, 1), name(2, 3)];
        let mut house = Scene::empty();
        house.row(blocked, "event Open: 4 free, 0 held, 0 sold, 2 blocked");
        house.shows("A-1 x.. ..x");
        let Some(Summary::Event(summary)) = house.inventory.summary() else { panic!("an event") };
        assert_eq!(summary.subsections[0].blocked, [name(1, 1), name(2, 3)]);

        let edited = |edit: fn(&mut CreateEvent)| {
            let mut create =
                hall(&[("A-1", 2, 3), ("B-1", 2, 3)]).with_area("standing", 10).with_area("balcony", 5);
            edit(&mut create);
            create
        };
        type Edit = (&'static str, fn(&mut CreateEvent));
        let wrong: [Edit; 28] = [
            ("/id", |create| create.id = "Gala".to_owned()),
            ("/name", |create| create.name.clear()),
            ("/currency", |create| create.currency = Currency(*b"twd")),
            ("/starts_at", |create| create.info.starts_at = Some(Timestamp(i64::MAX))),
            ("/sales/opens_at", |create| create.sales.opens_at = Some(Timestamp(i64::MIN))),
            ("/sales/closes_at", |create| create.sales.closes_at = Some(Timestamp(i64::MAX))),
            ("/sales/closes_at", |create| {
                create.sales = SalesWindow { opens_at: Some(second(9)), closes_at: Some(second(9)) };
            }),
            ("/rules/hold_ttl_seconds", |create| create.rules.hold_ttl_seconds = Some(0)),
            ("/rules/hold_ttl_seconds", |create| create.rules.hold_ttl_seconds = Some(86_401)),
            ("/rules/max_hold_seconds", |create| create.rules.max_hold_seconds = Some(86_401)),
            ("/rules/max_hold_seconds", |create| create.rules.max_hold_seconds = Some(0)),
            ("/rules/max_hold_seconds", |create| {
                (create.rules.hold_ttl_seconds, create.rules.max_hold_seconds) = (Some(900), Some(899));
            }),
            ("/rules/max_units_per_booking", |create| create.rules.max_units_per_booking = Some(1_001)),
            ("/rules/max_units_per_customer", |create| create.rules.max_units_per_customer = Some(Some(0))),
            ("/rules/max_active_bookings_per_customer", |create| {
                create.rules.max_active_bookings_per_customer = Some(Some(0));
            }),
            ("/sections", |create| (create.sections, create.areas) = (Vec::new(), Vec::new())),
            ("/sections/1/name", |create| create.sections[1].name = "B-".to_owned()),
            ("/sections/1/name", |create| create.sections[1].name = "A".to_owned()),
            ("/sections/0/name", |create| create.sections[0].name = "A".repeat(33)),
            ("/sections/0/price", |create| create.sections[0].price = Money(-1)),
            ("/sections/1/subsections", |create| create.sections[1].subsections.clear()),
            ("/sections/0/subsections/0/number", |create| create.sections[0].subsections[0].number = 0),
            ("/sections/0/subsections/0/rows", |create| create.sections[0].subsections[0].rows = 1_001),
            ("/sections/0/subsections/0/cols", |create| create.sections[0].subsections[0].cols = 0),
            ("/areas/1/name", |create| create.areas[1].name = "standing".to_owned()),
            ("/areas/1/price", |create| create.areas[1].price = Money(1_000_000_000_001)),
            ("/areas/0/capacity", |create| create.areas[0].capacity = 0),
            ("/areas/0/capacity", |create| create.areas[0].capacity = 1_000_001),
        ];
        for (pointer, edit) in wrong {
            Scene::empty().row(edited(edit), &format!("INVALID_REQUEST {pointer}"));
        }
        for (row, number) in [(0, 1), (3, 1), (1, 0), (1, 4)] {
            let mut create = one_section(2, 3);
            create.sections[0].subsections[0].blocked = vec![name(2, 3), name(row, number)];
            Scene::empty().row(create, "INVALID_REQUEST /sections/0/subsections/0/blocked/1");
        }
        Scene::empty()
            .row(hall(&[("A-1", 1, 1), ("A-1", 1, 1)]), "INVALID_REQUEST /sections/0/subsections/1/number")
            .row(hall(&[("A-1", 1_000, 1_000), ("A-2", 1, 1)]), "INVALID_REQUEST /sections")
            .row(hall(&[("A-1", 1_000, 1_000)]), "event Open: 1000000 free, 0 held, 0 sold, 0 blocked");
        let many: Vec<String> = (1..=10_001).map(|number| format!("A-{number}")).collect();
        let many: Vec<(&str, u16, u16)> = many.iter().map(|address| (address.as_str(), 1, 1)).collect();
        Scene::empty()
            .row(hall(&many), "INVALID_REQUEST /sections")
            .row(hall(&many[1..]), "event Open: 10000 free, 0 held, 0 sold, 0 blocked");
        let areas = |count: usize| {
            (0..count)
                .fold(one_section(1, 1), |create, number| create.with_area(&format!("area {number}"), 1))
        };
        Scene::empty()
            .row(areas(1_001), "INVALID_REQUEST /areas")
            .row(areas(1_000), "event Open: 1001 free, 0 held, 0 sold, 0 blocked");
        let generous = RulesPatch {
            hold_ttl_seconds: Some(86_400),
            max_units_per_booking: Some(1_000),
            max_units_per_customer: Some(Some(1)),
            max_active_bookings_per_customer: Some(Some(1)),
            orphans: Some(Orphans::Avoid),
            ..RulesPatch::default()
        };
        let mut roomy = Scene::of(one_section(1, 2).with_rules(generous).with_sales(Some(5), Some(6)));
        roomy.at(5).row(book("b1", "ann").best(1), "on hold A-1 1-1 for 1000 until 86405");
        scene.reached
    }
}
