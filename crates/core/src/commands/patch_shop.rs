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
