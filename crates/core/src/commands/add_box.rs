//! Adds a box to a shop.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::ids::{check_slug, check_text};
use crate::inventory::Inventory;
use crate::limits::{BOXES_PER_SHOP_MAX, NAME_CHARACTERS_MAX, POOL_CAPACITY_MAX, PRICE_CURVE_STEPS_MAX};
use crate::money::{Money, PriceStep};
use crate::outcome::Reply;
use crate::pool::Pool;
use crate::refusal::Refusal;
use crate::rules::check_within;
use crate::shop::{PickupBox, PickupWindow};

/// Adds a box to a shop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddBox {
    /// Unique in the shop.
    pub id: Arc<str>,
    /// For people.
    pub name: String,
    /// How many there are.
    pub quantity: u32,
    /// Of one box, before the first step of the curve.
    pub price: Money,
    /// When it can be collected.
    pub pickup: Option<PickupWindow>,
    /// In order of time.
    pub price_curve: Vec<PriceStep>,
}

impl AddBox {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        check_slug(&self.id, "/id")?;
        check_text(&self.name, NAME_CHARACTERS_MAX, "/name")?;
        check_within(self.quantity, POOL_CAPACITY_MAX, "/quantity")?;
        self.price.check_price("/price")?;
        check_pickup(self.pickup)?;
        check_curve(&self.price_curve)?;
        let shop = inventory.shop()?;
        if shop.find(&self.id).is_some() {
            return Err(Refusal::AlreadyExists);
        }
        if shop.boxes.len() >= BOXES_PER_SHOP_MAX {
            return Err(Refusal::Overloaded);
        }

        let number = u32::try_from(shop.boxes.len()).expect("boxes are bounded");
        let new = PickupBox {
            id: Arc::clone(&self.id),
            name: self.name.clone(),
            pool: Pool::of(self.quantity),
            price: self.price,
            pickup: self.pickup,
            price_curve: self.price_curve.clone(),
            closed: false,
        };
        Ok(Decision::one(Change::BoxAdded(Box::new(new)), Reply::Box(number)))
    }
}

/// Refuses a pickup window that never opens.
pub(crate) fn check_pickup(pickup: Option<PickupWindow>) -> Result<(), Refusal> {
    let Some(pickup) = pickup else { return Ok(()) };
    pickup.starts_at.check("/pickup/starts_at")?;
    pickup.ends_at.check("/pickup/ends_at")?;
    if pickup.ends_at <= pickup.starts_at {
        return Err(Refusal::invalid("/pickup/ends_at", "must be later than starts_at"));
    }
    Ok(())
}

/// Refuses a price curve that is not in order of time.
pub(crate) fn check_curve(curve: &[PriceStep]) -> Result<(), Refusal> {
    if curve.len() > PRICE_CURVE_STEPS_MAX {
        return Err(Refusal::invalid(
            "/price_curve",
            format!("must have at most {PRICE_CURVE_STEPS_MAX} steps"),
        ));
    }
    for (index, step) in curve.iter().enumerate() {
        step.at.check(&format!("/price_curve/{index}/at"))?;
        step.price.check_price(&format!("/price_curve/{index}/price"))?;
        if index > 0 && curve[index - 1].at >= step.at {
            return Err(Refusal::invalid(
                &format!("/price_curve/{index}/at"),
                "must be later than the step before",
            ));
        }
    }
    Ok(())
}
