//! Changes the terms or prices of an event, or closes it.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::event_info::EventInfoPatch;
use crate::ids::check_text;
use crate::inventory::Inventory;
use crate::limits::{AREAS_PER_EVENT_MAX, NAME_CHARACTERS_MAX, SUBSECTIONS_PER_EVENT_MAX};
use crate::money::Money;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::{InventoryStatus, TermsPatch};

/// Changes the terms or prices of an event, or closes it. Bookings keep the price they were made at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PatchEvent {
    /// Name, sales window, status and rules.
    pub terms: TermsPatch,
    /// When and where it takes place.
    pub info: EventInfoPatch,
    /// New prices of sections, by name.
    pub section_prices: Vec<(String, Money)>,
    /// New prices of areas, by name.
    pub area_prices: Vec<(String, Money)>,
}

impl PatchEvent {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        if self.section_prices.len() > SUBSECTIONS_PER_EVENT_MAX
            || self.area_prices.len() > AREAS_PER_EVENT_MAX
        {
            return Err(Refusal::invalid("/prices", "must not be more than the event could have"));
        }
        for (name, _) in self.section_prices.iter().chain(&self.area_prices) {
            check_text(name, NAME_CHARACTERS_MAX, "/prices")?;
        }
        let event = inventory.event()?;
        if event.terms.status == InventoryStatus::Cancelled && self.terms.open.is_some() {
            return Err(Refusal::InventoryClosed);
        }
        let terms = event.terms.patched(&self.terms)?;
        let info = event.info.patched(&self.info)?;
        let mut sections = Vec::with_capacity(self.section_prices.len());
        for (name, price) in &self.section_prices {
            price.check_price("/prices")?;
            sections.push((event.find_section(name)?, *price));
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
        if info != event.info {
            changes.push(Change::EventInfoPatched(Box::new(info)));
        }
        if !sections.is_empty() || !areas.is_empty() {
            changes.push(Change::PricesPatched { sections, areas });
        }
        Ok(Decision { changes, reply: Reply::Inventory })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::event_info::EventInfo;
    use crate::rules::{RulesPatch, SalesPatch, SalesWindow};
    use crate::testing::{Reached, Scene, book, confirm, extend, hall, keyed, second};

    #[test]
    fn events_are_patched_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let patch = |edit: fn(&mut PatchEvent)| {
            let mut patch = PatchEvent::default();
            edit(&mut patch);
            Action::PatchEvent(Box::new(patch))
        };
        let mut scene = Scene::empty();
        scene.row(patch(|_| {}), "EVENT_NOT_FOUND");
        scene.row(
            hall(&[("A-1", 1, 4), ("B-1", 1, 4)]).with_area("standing", 5),
            "event Open: 13 free, 0 held, 0 sold, 0 blocked",
        );
        scene.row(
            book("b1", "ann").best_in("A", 1).standing("standing", 1),
            "on hold A-1 1-1 + standing x1 for 1500 until 900",
        );
        scene.row(patch(|_| {}), "event Open: 11 free, 2 held, 0 sold, 0 blocked");

        let dearer = patch(|patch| {
            patch.section_prices = vec![("B".to_owned(), Money(7_000)), ("A".to_owned(), Money(3_000))];
            patch.area_prices = vec![("standing".to_owned(), Money(800))];
        });
        scene.row(keyed("k1", 1, dearer.clone()), "event Open: 11 free, 2 held, 0 sold, 0 blocked");
        scene.row(confirm("b1"), "confirmed A-1 1-1 + standing x1 for 1500");
        scene.row(
            book("b2", "bob").best_in("A", 1).standing("standing", 1),
            "on hold A-1 1-2 + standing x1 for 3800 until 900",
        );
        scene.row(book("b3", "bob").best_in("B", 1), "on hold B-1 1-1 for 7000 until 900");
        scene.row(keyed("k1", 1, dearer), "again: event Open: 11 free, 2 held, 0 sold, 0 blocked");

        scene.row(
            patch(|patch| patch.section_prices.push(("A-1".to_owned(), Money(1)))),
            "SECTION_NOT_FOUND A-1",
        );
        scene.row(patch(|patch| patch.area_prices.push(("A".to_owned(), Money(1)))), "AREA_NOT_FOUND A");
        scene.row(
            patch(|patch| patch.section_prices.push(("A".to_owned(), Money(-1)))),
            "INVALID_REQUEST /prices",
        );
        scene.row(
            patch(|patch| patch.area_prices.push(("standing".to_owned(), Money(-1)))),
            "INVALID_REQUEST /prices",
        );
        scene.row(patch(|patch| patch.terms.name = Some(String::new())), "INVALID_REQUEST /name");
        scene.row(patch(|patch| patch.info.timezone = Some("Mars".to_owned())), "INVALID_REQUEST /timezone");
        let unsold = "event Open: 8 free, 3 held, 2 sold, 0 blocked";
        let info = |scene: &Scene| scene.inventory.event().unwrap().info.clone();
        scene.row(
            patch(|patch| {
                patch.info.starts_at = Some(Some(second(100)));
                patch.info.ends_at = Some(Some(second(200)));
                patch.info.venue = Some(Some("Hall".to_owned()));
            }),
            unsold,
        );
        // A field that is not named stays: an end before the beginning that stands is refused.
        scene.row(patch(|patch| patch.info.ends_at = Some(Some(second(100)))), "INVALID_REQUEST /ends_at");
        scene.row(
            patch(|patch| patch.info.doors_open_at = Some(Some(second(201)))),
            "INVALID_REQUEST /doors_open_at",
        );
        scene.row(patch(|patch| patch.info.starts_at = Some(None)), unsold);
        let known =
            EventInfo { ends_at: Some(second(200)), venue: Some("Hall".to_owned()), ..EventInfo::default() };
        assert_eq!(info(&scene), known);
        scene.row(
            patch(|patch| {
                patch.info.ends_at = Some(None);
                patch.info.venue = Some(None);
                patch.info.timezone = Some("Asia/Taipei".to_owned());
                patch.info.description = Some(Some("Two\nlines".to_owned()));
            }),
            unsold,
        );
        let known = EventInfo {
            timezone: "Asia/Taipei".to_owned(),
            description: Some("Two\nlines".to_owned()),
            ..EventInfo::default()
        };
        assert_eq!(info(&scene), known);
        scene.row(
            patch(|patch| {
                let hold_ttl_seconds = Some(900);
                patch.terms.rules =
                    RulesPatch { hold_ttl_seconds, max_hold_seconds: Some(899), ..RulesPatch::default() }
            }),
            "INVALID_REQUEST /rules/max_hold_seconds",
        );

        let prices = |sections: usize, areas: usize, price: i64| {
            Action::PatchEvent(Box::new(PatchEvent {
                terms: TermsPatch::default(),
                info: EventInfoPatch::default(),
                section_prices: vec![("A".to_owned(), Money(price)); sections],
                area_prices: vec![("standing".to_owned(), Money(price)); areas],
            }))
        };
        for (sections, areas) in [(10_001, 0), (0, 1_001)] {
            scene.row(prices(sections, areas, 1), "INVALID_REQUEST /prices");
        }
        // Of sections alone, of areas alone, of both: the price of A, and of a standing place.
        for (sections, areas, price, expected) in [
            (0, 0, 1, (3_000, 800)),
            (1, 0, 2, (2, 800)),
            (0, 1, 3, (2, 3)),
            (10_000, 1_000, 4, (4, 4)),
            (1, 0, 3_000, (3_000, 4)),
            (0, 1, 800, (3_000, 800)),
        ] {
            scene.row(prices(sections, areas, price), "event Open: 8 free, 3 held, 2 sold, 0 blocked");
            let event = scene.inventory.event().unwrap();
            assert_eq!((event.sections[0].price.0, event.areas[0].price.0), expected);
        }
        let closed = patch(|patch| patch.terms.open = Some(false));
        scene.row(closed, "event Closed: 8 free, 3 held, 2 sold, 0 blocked");
        scene.row(book("b4", "bob").best(1), "INVENTORY_CLOSED");
        scene.row(book("b4", "bob").best_in("Z", 1), "SECTION_NOT_FOUND Z");
        scene.row(extend("b2", 1_000), "on hold A-1 1-2 + standing x1 for 3800 until 1000");
        scene.row(confirm("b3"), "confirmed B-1 1-1 for 7000");
        let renamed = patch(|patch| {
            patch.terms.name = Some("Winter Gala".to_owned());
            patch.terms.open = Some(true);
            patch.terms.sales =
                SalesPatch::Window(SalesWindow { opens_at: Some(second(10)), closes_at: Some(second(20)) });
            patch.terms.rules.max_units_per_booking = Some(1);
            patch.terms.rules.hold_ttl_seconds = Some(7_200);
        });
        scene.row(renamed, "event Open: 8 free, 2 held, 3 sold, 0 blocked");
        assert_eq!(scene.inventory.terms().unwrap().name, "Winter Gala");
        assert_eq!(
            scene.inventory.terms().unwrap().rules.max_hold_seconds,
            7_200,
            "a longer hold lifts the cap"
        );
        scene.row(book("b4", "bob").best(2), "TOO_MANY_UNITS most 1");
        scene.row(book("b4", "bob").best(1), "SALES_NOT_OPEN 10");
        scene.at(10).row(book("b4", "bob").best(1), "on hold A-1 1-3 for 3000 until 7210");
        scene.at(20).row(book("b5", "bob").best(1), "SALES_CLOSED 20");
        // An end that is not named stays, whatever somebody saw of it.
        let unchanged = "event Open: 7 free, 3 held, 3 sold, 0 blocked";
        scene.row(patch(|patch| patch.terms.sales = SalesPatch::OpensAt(Some(second(19)))), unchanged);
        scene.row(book("b5", "bob").best(1), "SALES_CLOSED 20");
        scene.row(
            patch(|patch| patch.terms.sales = SalesPatch::ClosesAt(Some(second(19)))),
            "INVALID_REQUEST /sales/closes_at",
        );
        scene.row(patch(|patch| patch.terms.sales = SalesPatch::ClosesAt(None)), unchanged);
        let opens_only = SalesWindow { opens_at: Some(second(19)), closes_at: None };
        assert_eq!(scene.inventory.terms().unwrap().sales, opens_only);
        scene.row(
            patch(|patch| patch.terms.sales = SalesPatch::Window(SalesWindow::default())),
            "event Open: 7 free, 3 held, 3 sold, 0 blocked",
        );
        scene.row(book("b5", "bob").best(1), "on hold A-1 1-4 for 3000 until 7220");
        scene.row(
            patch(|patch| patch.terms.rules.max_hold_seconds = Some(60)),
            "event Open: 6 free, 4 held, 3 sold, 0 blocked",
        );
        scene.row(book("b6", "bob").best(1), "on hold B-1 1-2 for 7000 until 80");
        scene.reached
    }
}
