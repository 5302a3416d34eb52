//! Boxes of a shop.

use super::{check_customer, check_units};
use crate::booking::Units;
use crate::inventory::Inventory;
use crate::refusal::{BoxUnavailability, Refusal};
use crate::shop::PickupBox;
use crate::time::Timestamp;

pub(super) fn find(
    inventory: &Inventory,
    now: Timestamp,
    customer: &str,
    id: &str,
    quantity: u32,
) -> Result<Units, Refusal> {
    let shop = inventory.shop()?;
    let rules = &shop.terms.rules;
    check_units(rules, quantity.into())?;
    let number = shop.find(id).ok_or(Refusal::BoxNotFound)?;
    let boxed = shop.boxed(number);
    shop.terms.check_open()?;
    shop.terms.check_sales(now)?;
    check_pickup(boxed, now)?;
    check_customer(inventory, rules, customer, quantity)?;
    check_left(boxed, quantity)?;
    Ok(Units::Box { number, quantity, price: boxed.price_at(now) })
}

/// See [`super::check_again`].
pub(super) fn check_again(
    inventory: &Inventory,
    now: Timestamp,
    customer: &str,
    number: u32,
    quantity: u32,
) -> Result<(), Refusal> {
    let shop = inventory.shop()?;
    let boxed = shop.boxed(number);
    shop.terms.check_open()?;
    check_pickup(boxed, now)?;
    check_customer(inventory, &shop.terms.rules, customer, quantity)?;
    check_left(boxed, quantity)
}

pub(super) fn check_pickup(boxed: &PickupBox, now: Timestamp) -> Result<(), Refusal> {
    if boxed.has_ended(now) { Err(Refusal::PickupWindowClosed) } else { Ok(()) }
}

fn check_left(boxed: &PickupBox, quantity: u32) -> Result<(), Refusal> {
    let available = boxed.pool.available();
    if boxed.closed {
        return Err(Refusal::BoxUnavailable { reason: BoxUnavailability::Closed });
    }
    if available == 0 {
        return Err(Refusal::BoxUnavailable { reason: BoxUnavailability::SoldOut });
    }
    if quantity > available {
        return Err(Refusal::InsufficientInventory { available });
    }
    Ok(())
}
