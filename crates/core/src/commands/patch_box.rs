//! Changes a box.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use super::add_box::{check_curve, check_pickup};
use crate::change::{BoxProperties, Change};
use crate::inventory::Inventory;
use crate::limits::POOL_CAPACITY_MAX;
use crate::money::{Money, PriceStep};
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::rules::check_within;
use crate::shop::PickupWindow;

/// Changes a box. Bookings keep the price they were made at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchBox {
    /// Which.
    pub id: Arc<str>,
    /// Whether the operator keeps it closed.
    pub closed: Option<bool>,
    /// How many there are in all.
    pub quantity: Option<u32>,
    /// Before the first step of the curve.
    pub price: Option<Money>,
    /// When it can be collected; `Some(None)` for any time.
    pub pickup: Option<Option<PickupWindow>>,
    /// In order of time.
    pub price_curve: Option<Vec<PriceStep>>,
}

impl PatchBox {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        if let Some(quantity) = self.quantity {
            check_within(quantity, POOL_CAPACITY_MAX, "/quantity")?;
        }
        if let Some(price) = self.price {
            price.check_price("/price")?;
        }
        check_pickup(self.pickup.flatten())?;
        check_curve(self.price_curve.as_deref().unwrap_or_default())?;
        let shop = inventory.shop()?;
        let number = shop.find(&self.id).ok_or(Refusal::BoxNotFound)?;
        let boxed = shop.boxed(number);
        let quantity = self.quantity.unwrap_or(boxed.pool.capacity);
        let booked = boxed.pool.booked();
        if quantity < booked {
            return Err(Refusal::CapacityBelowBookedCount { booked });
        }

        let properties = BoxProperties {
            number,
            quantity,
            price: self.price.unwrap_or(boxed.price),
            pickup: self.pickup.unwrap_or(boxed.pickup),
            price_curve: self.price_curve.clone().unwrap_or_else(|| boxed.price_curve.clone()),
            closed: self.closed.unwrap_or(boxed.closed),
        };
        Ok(Decision::one(Change::BoxPatched(Box::new(properties)), Reply::Box(number)))
    }
}
