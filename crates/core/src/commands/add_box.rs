//! Adds a box to a shop.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::ids::{check_name, check_slug};
use crate::inventory::Inventory;
use crate::limits::{BOXES_PER_SHOP_MAX, NAME_CHARACTERS_MAX, POOL_CAPACITY_MAX, PRICE_CURVE_STEPS_MAX};
use crate::money::{Money, PriceStep};
use crate::outcome::Reply;
use crate::pool::Pool;
use crate::refusal::Refusal;
use crate::rules::{check_room, check_within};
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
        check_name(&self.name, NAME_CHARACTERS_MAX, "/name")?;
        check_within(self.quantity, POOL_CAPACITY_MAX, "/quantity")?;
        self.price.check_price("/price")?;
        check_pickup(self.pickup)?;
        check_curve(&self.price_curve)?;
        let shop = inventory.shop()?;
        if shop.find(&self.id).is_some() {
            return Err(Refusal::AlreadyExists);
        }
        check_room(shop.boxes.len(), BOXES_PER_SHOP_MAX)?;

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
        step.at.check(format_args!("/price_curve/{index}/at"))?;
        step.price.check_price(format_args!("/price_curve/{index}/price"))?;
        if index > 0 && curve[index - 1].at >= step.at {
            return Err(Refusal::invalid(
                format_args!("/price_curve/{index}/at"),
                "must be later than the step before",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{Reached, Scene, add_box, bakery, second};
    use crate::time::Timestamp;

    #[test]
    fn boxes_are_added_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let mut scene = Scene::empty();
        scene.row(add_box("evening", 12, 500), "SHOP_NOT_FOUND");
        let mut scene = Scene::of(bakery());
        scene.row(add_box("evening", 12, 500), "evening Active, 12 of 12 left at 500");
        scene.row(add_box("evening", 1, 1), "ALREADY_EXISTS");
        type Edit = (&'static str, fn(&mut AddBox));
        let wrong: [Edit; 12] = [
            ("/id", |add| add.id = "Evening".into()),
            ("/name", |add| add.name.clear()),
            ("/quantity", |add| add.quantity = 0),
            ("/quantity", |add| add.quantity = 1_000_001),
            ("/price", |add| add.price = Money(-1)),
            ("/pickup/starts_at", |add| {
                add.pickup = Some(PickupWindow { starts_at: Timestamp(i64::MIN), ends_at: second(9) });
            }),
            ("/pickup/ends_at", |add| {
                add.pickup = Some(PickupWindow { starts_at: second(9), ends_at: Timestamp(i64::MAX) });
            }),
            ("/pickup/ends_at", |add| {
                add.pickup = Some(PickupWindow { starts_at: second(9), ends_at: second(9) });
            }),
            ("/price_curve", |add| {
                add.price_curve = (0..751).map(|at| PriceStep { at: second(at), price: Money(1) }).collect();
            }),
            ("/price_curve/0/at", |add| {
                add.price_curve = vec![PriceStep { at: Timestamp(i64::MAX), price: Money(1) }];
            }),
            ("/price_curve/1/price", |add| {
                add.price_curve =
                    [1, -1].map(|price| PriceStep { at: second(price), price: Money(price) }).into();
            }),
            ("/price_curve/1/at", |add| {
                add.price_curve = vec![PriceStep { at: second(1), price: Money(1) }; 2];
            }),
        ];
        for (pointer, edit) in wrong {
            let mut add = add_box("morning", 12, 500);
            edit(&mut add);
            scene.row(add, &format!("INVALID_REQUEST {pointer}"));
        }
        let mut full = Scene::of(bakery());
        for number in 0..BOXES_PER_SHOP_MAX {
            full.load(add_box(&number.to_string(), 1, 0));
        }
        full.row(add_box("one-more", 1, 0), "OVERLOADED");
        scene.reached.refusals.extend(full.reached.refusals);
        let mut long = add_box("morning", 1_000_000, 0);
        long.price_curve = (0..750).map(|at| PriceStep { at: second(at), price: Money(at) }).collect();
        scene.row(long, "morning Active, 1000000 of 1000000 left at 0");
        scene.reached
    }
}
