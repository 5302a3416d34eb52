//! Makes an inventory a shop.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::ids::InventoryKind;
use crate::inventory::Inventory;
use crate::money::Currency;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::{RulesPatch, SalesWindow, Terms};
use crate::shop::ShopPlan;
use crate::time::Zone;

/// Makes an inventory a shop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateShop {
    /// The id of the inventory.
    pub id: String,
    /// For people.
    pub name: String,
    /// IANA name.
    pub timezone: String,
    /// Of all its prices.
    pub currency: Currency,
    /// When bookings can be made.
    pub sales: SalesWindow,
    /// What differs from the default rules of a shop.
    pub rules: RulesPatch,
}

impl CreateShop {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        let terms =
            Terms::new(InventoryKind::Shop, &self.id, &self.name, self.currency, self.sales, self.rules)?;
        let zone = Zone::named(&self.timezone, "/timezone")?;
        if inventory.stock().is_some() {
            return Err(Refusal::AlreadyExists);
        }

        let plan = ShopPlan { terms, timezone: zone.name().to_owned() };
        Ok(Decision::one(Change::ShopCreated(Box::new(plan)), Reply::Inventory))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{Reached, Scene, bakery, book};

    #[test]
    fn shops_are_created_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(book("b1", "ann").boxes("evening", 1), "SHOP_NOT_FOUND");
        scene.row(CreateShop { timezone: String::new(), ..bakery() }, "INVALID_REQUEST /timezone");
        scene.row(CreateShop { name: String::new(), ..bakery() }, "INVALID_REQUEST /name");
        scene.row(bakery(), "shop Open");
        scene.row(bakery(), "ALREADY_EXISTS");
        scene.row(book("b1", "ann").best(1), "EVENT_NOT_FOUND");
        scene.row(book("b1", "ann").places("2026-12-01T09:00", 1), "SCHEDULE_NOT_FOUND");
        scene.reached
    }
}
