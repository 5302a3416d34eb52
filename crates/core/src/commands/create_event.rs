//! Makes an inventory an event.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::event::{AreaPlan, EventPlan, SectionPlan, SubsectionPlan};
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
use crate::time::Timestamp;

/// Makes an inventory an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateEvent {
    /// The id of the inventory.
    pub id: String,
    /// For people.
    pub name: String,
    /// Of all its prices.
    pub currency: Currency,
    /// When the show begins.
    pub starts_at: Option<Timestamp>,
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
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        let terms =
            Terms::new(InventoryKind::Event, &self.id, &self.name, self.currency, self.sales, self.rules)?;
        if let Some(starts_at) = self.starts_at {
            starts_at.check("/starts_at")?;
        }
        if self.sections.is_empty() && self.areas.is_empty() {
            return Err(Refusal::invalid("/sections", "an event needs sections or areas"));
        }
        check_sections(&self.sections)?;
        check_areas(&self.areas)?;
        if inventory.stock().is_some() {
            return Err(Refusal::AlreadyExists);
        }

        let mut sections = self.sections.clone();
        for subsection in sections.iter_mut().flat_map(|section| &mut section.subsections) {
            subsection.blocked.sort_unstable();
            subsection.blocked.dedup();
        }
        let plan = EventPlan { terms, starts_at: self.starts_at, sections, areas: self.areas.clone() };
        Ok(Decision::one(Change::EventCreated(Box::new(plan)), Reply::Inventory))
    }
}

fn check_sections(sections: &[SectionPlan]) -> Result<(), Refusal> {
    let mut names = HashSet::new();
    let mut seats = 0;
    let mut subsections = 0;
    for (index, section) in sections.iter().enumerate() {
        let at = format!("/sections/{index}");
        check_text(&section.name, SECTION_NAME_CHARACTERS_MAX, &format!("{at}/name"))?;
        if section.name.contains('-') {
            return Err(Refusal::invalid(&format!("{at}/name"), "must not contain a dash"));
        }
        if !names.insert(&section.name) {
            return Err(Refusal::invalid(&format!("{at}/name"), "names another section too"));
        }
        section.price.check_price(&format!("{at}/price"))?;
        if section.subsections.is_empty() {
            return Err(Refusal::invalid(&format!("{at}/subsections"), "must not be empty"));
        }
        let mut numbers = HashSet::new();
        for (index, subsection) in section.subsections.iter().enumerate() {
            let at = format!("{at}/subsections/{index}");
            check_subsection(subsection, &at)?;
            if !numbers.insert(subsection.number) {
                return Err(Refusal::invalid(&format!("{at}/number"), "numbers another subsection too"));
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
    check_within(subsection.number.into(), u16::MAX.into(), &format!("{at}/number"))?;
    check_within(subsection.rows.into(), ROWS_MAX.into(), &format!("{at}/rows"))?;
    check_within(subsection.cols.into(), COLS_MAX.into(), &format!("{at}/cols"))?;
    for (index, seat) in subsection.blocked.iter().enumerate() {
        let inside =
            (1..=subsection.rows).contains(&seat.row) && (1..=subsection.cols).contains(&seat.number);
        if !inside {
            return Err(Refusal::invalid(
                &format!("{at}/blocked/{index}"),
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
        check_text(&area.name, NAME_CHARACTERS_MAX, &format!("{at}/name"))?;
        if !names.insert(&area.name) {
            return Err(Refusal::invalid(&format!("{at}/name"), "names another area too"));
        }
        area.price.check_price(&format!("{at}/price"))?;
        check_within(area.capacity, POOL_CAPACITY_MAX, &format!("{at}/capacity"))?;
    }
    Ok(())
}
