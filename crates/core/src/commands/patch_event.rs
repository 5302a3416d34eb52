//! Changes the terms or prices of an event, or closes it.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::money::Money;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::TermsPatch;

/// Changes the terms or prices of an event, or closes it. Bookings keep the price they were made at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PatchEvent {
    /// Name, sales window, status and rules.
    pub terms: TermsPatch,
    /// New prices of sections, by name.
    pub section_prices: Vec<(String, Money)>,
    /// New prices of areas, by name.
    pub area_prices: Vec<(String, Money)>,
}

impl PatchEvent {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        let event = inventory.event()?;
        let terms = event.terms.patched(&self.terms)?;
        let mut sections = Vec::with_capacity(self.section_prices.len());
        for (name, price) in &self.section_prices {
            price.check_price("/prices")?;
            let found = event.sections.iter().position(|section| section.name == *name);
            let index = found.ok_or_else(|| Refusal::SectionNotFound { section: name.clone() })?;
            sections.push((u16::try_from(index).expect("sections are bounded"), *price));
        }
        let mut areas = Vec::with_capacity(self.area_prices.len());
        for (name, price) in &self.area_prices {
            price.check_price("/prices")?;
            let found = event.areas.iter().position(|area| area.name == *name);
            let index = found.ok_or_else(|| Refusal::AreaNotFound { area: name.clone() })?;
            areas.push((u16::try_from(index).expect("areas are bounded"), *price));
        }

        let mut changes = Vec::new();
        if terms != event.terms {
            changes.push(Change::TermsPatched(Box::new(terms)));
        }
        if !sections.is_empty() || !areas.is_empty() {
            changes.push(Change::PricesPatched { sections, areas });
        }
        Ok(Decision { changes, reply: Reply::Inventory })
    }
}
