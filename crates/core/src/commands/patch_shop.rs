//! Changes the terms of a shop, or closes it.

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::TermsPatch;

/// Changes the terms of a shop, or closes it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PatchShop {
    /// Name, sales window, status and rules.
    pub terms: TermsPatch,
}

impl PatchShop {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        let shop = inventory.shop()?;
        let terms = shop.terms.patched(&self.terms)?;
        if terms == shop.terms {
            return Ok(Decision::nothing(Reply::Inventory));
        }

        Ok(Decision::one(Change::TermsPatched(Box::new(terms)), Reply::Inventory))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::testing::{Reached, Scene, add_box, bakery, book};

    #[test]
    fn shops_are_patched_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let patch = |edit: fn(&mut TermsPatch)| {
            let mut terms = TermsPatch::default();
            edit(&mut terms);
            Action::PatchShop(Box::new(PatchShop { terms }))
        };
        let mut scene = Scene::empty();
        scene.row(patch(|_| {}), "SHOP_NOT_FOUND");
        scene.row(bakery(), "shop Open");
        scene.row(add_box("evening", 3, 500), "evening Active, 3 of 3 left at 500");
        scene.row(patch(|_| {}), "shop Open");
        scene.row(
            patch(|terms| terms.rules.hold_ttl_seconds = Some(0)),
            "INVALID_REQUEST /rules/hold_ttl_seconds",
        );
        scene.row(patch(|terms| terms.open = Some(false)), "shop Closed");
        scene.row(book("b1", "ann").boxes("evening", 1), "INVENTORY_CLOSED");
        scene.row(patch(|terms| terms.open = Some(true)), "shop Open");
        scene.row(book("b1", "ann").boxes("evening", 1), "on hold evening x1 for 500 until 1200");
        scene.row(patch(|terms| terms.rules.max_active_bookings_per_customer = Some(None)), "shop Open");
        scene.row(book("b2", "ann").boxes("evening", 1), "on hold evening x1 for 500 until 1200");
        scene.reached
    }
}
