//! Changes a box.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use super::add_box::{check_curve, check_pickup};
use crate::change::{BoxProperties, Change};
use crate::ids::check_name;
use crate::inventory::Inventory;
use crate::limits::{NAME_CHARACTERS_MAX, POOL_CAPACITY_MAX};
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
    /// For people.
    pub name: Option<String>,
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
        if let Some(name) = &self.name {
            check_name(name, NAME_CHARACTERS_MAX, "/name")?;
        }
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

        let current = BoxProperties {
            number,
            name: boxed.name.clone(),
            quantity: boxed.pool.capacity,
            price: boxed.price,
            pickup: boxed.pickup,
            price_curve: boxed.price_curve.clone(),
            closed: boxed.closed,
        };
        let properties = BoxProperties {
            number,
            name: self.name.clone().unwrap_or_else(|| current.name.clone()),
            quantity,
            price: self.price.unwrap_or(current.price),
            pickup: self.pickup.unwrap_or(current.pickup),
            price_curve: self.price_curve.clone().unwrap_or_else(|| current.price_curve.clone()),
            closed: self.closed.unwrap_or(current.closed),
        };
        if properties == current {
            return Ok(Decision::nothing(Reply::Box(number)));
        }
        Ok(Decision::one(Change::BoxPatched(Box::new(properties)), Reply::Box(number)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::testing::{Reached, Scene, add_box, bakery, book, second};

    #[test]
    fn boxes_are_patched_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let patch = |id: &str, edit: fn(&mut PatchBox)| {
            let mut patch = PatchBox {
                id: id.into(),
                name: None,
                closed: None,
                quantity: None,
                price: None,
                pickup: None,
                price_curve: None,
            };
            edit(&mut patch);
            Action::PatchBox(Box::new(patch))
        };
        let mut scene = Scene::empty();
        scene.row(patch("evening", |_| {}), "SHOP_NOT_FOUND");
        let mut scene = Scene::of(bakery());
        scene.row(add_box("evening", 4, 500), "evening Active, 4 of 4 left at 500");
        scene.row(patch("morning", |_| {}), "BOX_NOT_FOUND");
        scene.row(patch("evening", |_| {}), "evening Active, 4 of 4 left at 500");
        scene.row(patch("evening", |patch| patch.quantity = Some(0)), "INVALID_REQUEST /quantity");
        scene.row(patch("evening", |patch| patch.name = Some(String::new())), "INVALID_REQUEST /name");
        let renamed = patch("evening", |patch| patch.name = Some("Bread".to_owned()));
        scene.row(renamed, "evening Active, 4 of 4 left at 500");
        let name = |scene: &Scene| scene.inventory.shop().unwrap().boxed(0).name.clone();
        assert_eq!(name(&scene), "Bread");
        scene.row(patch("evening", |patch| patch.price = Some(Money(-1))), "INVALID_REQUEST /price");
        scene.row(
            patch("evening", |patch| {
                patch.pickup = Some(Some(PickupWindow { starts_at: second(2), ends_at: second(1) }));
            }),
            "INVALID_REQUEST /pickup/ends_at",
        );
        scene.row(
            patch("evening", |patch| {
                patch.price_curve = Some(vec![PriceStep { at: second(1), price: Money(-1) }]);
            }),
            "INVALID_REQUEST /price_curve/0/price",
        );
        scene.row(book("b1", "ann").boxes("evening", 3), "on hold evening x3 for 1500 until 1200");
        scene.row(patch("evening", |patch| patch.quantity = Some(2)), "CAPACITY_BELOW_BOOKED_COUNT 3 booked");
        scene.row(patch("evening", |patch| patch.quantity = Some(3)), "evening SoldOut, 0 of 3 left at 500");
        scene.row(patch("evening", |patch| patch.closed = Some(true)), "evening Closed, 0 of 3 left at 500");
        let tonight = patch("evening", |patch| {
            patch.closed = Some(false);
            patch.quantity = Some(5);
            patch.price = Some(Money(400));
            patch.pickup = Some(Some(PickupWindow { starts_at: second(0), ends_at: second(100) }));
            patch.price_curve = Some(vec![PriceStep { at: second(50), price: Money(250) }]);
        });
        scene.row(tonight, "evening Active, 2 of 5 left at 400");
        scene.at(49).row(patch("evening", |_| {}), "evening Active, 2 of 5 left at 400");
        scene.at(50).row(patch("evening", |_| {}), "evening Active, 2 of 5 left at 250");
        scene.at(100).row(patch("evening", |_| {}), "evening Ended, 2 of 5 left at 250");
        scene.row(patch("evening", |patch| patch.pickup = Some(None)), "evening Active, 2 of 5 left at 250");
        scene.row(
            patch("evening", |patch| patch.price_curve = Some(Vec::new())),
            "evening Active, 2 of 5 left at 400",
        );
        scene.reached
    }
}
