//! Boxes on their shelves.

use std::sync::Arc;

use boxoffice_core::booking::Units;
use boxoffice_core::commands::{AddBox, PatchBox};
use boxoffice_core::ids::BookingId;
use boxoffice_core::money::{Money, PriceStep};
use boxoffice_core::outcome::Grant;
use boxoffice_core::pool::Pool;
use boxoffice_core::refusal::{BoxUnavailability, Refusal};
use boxoffice_core::shop::{PickupBox, PickupWindow};
use boxoffice_core::time::Timestamp;

use super::{Decided, Model, Stock, form, refuse, refuse_if};

/// One sort of box.
pub(crate) struct Shelf {
    pub(crate) id: Arc<str>,
    pub(crate) name: String,
    pub(crate) quantity: u32,
    pub(crate) price: Money,
    pub(crate) pickup: Option<PickupWindow>,
    pub(crate) price_curve: Vec<PriceStep>,
    pub(crate) closed: bool,
    /// One entry a box.
    pub(crate) owners: Vec<BookingId>,
}

impl Shelf {
    fn booked(&self) -> u32 {
        u32::try_from(self.owners.len()).expect("small shelves")
    }

    /// The price of the last step that was reached.
    fn price_at(&self, now: Timestamp) -> Money {
        let mut price = self.price;
        for step in &self.price_curve {
            if step.at <= now {
                price = step.price;
            }
        }
        price
    }

    pub(super) fn check_collectable(&self, now: Timestamp) -> Decided<()> {
        refuse_if(self.pickup.is_some_and(|pickup| now >= pickup.ends_at), Refusal::PickupWindowClosed)
    }

    fn check_left(&self, quantity: u32) -> Decided<()> {
        let available = self.quantity - self.booked();
        refuse_if(self.closed, Refusal::BoxUnavailable { reason: BoxUnavailability::Closed })?;
        refuse_if(available == 0, Refusal::BoxUnavailable { reason: BoxUnavailability::SoldOut })?;
        refuse_if(quantity > available, Refusal::InsufficientInventory { available })
    }
}

impl Model {
    pub(crate) fn box_record(&self, shelf: &Shelf) -> PickupBox {
        let (held, sold) = self.held_and_sold(&shelf.owners);
        PickupBox {
            id: Arc::clone(&shelf.id),
            name: shelf.name.clone(),
            pool: Pool { capacity: shelf.quantity, held, sold },
            price: shelf.price,
            pickup: shelf.pickup,
            price_curve: shelf.price_curve.clone(),
            closed: shelf.closed,
        }
    }

    pub(super) fn add_box(&mut self, add: &AddBox) -> Decided<Grant> {
        form::check_slug(&add.id)?;
        form::check_text(&add.name, 200)?;
        form::check_number(add.quantity, 1_000_000)?;
        form::check_price(add.price)?;
        form::check_pickup(add.pickup)?;
        form::check_curve(&add.price_curve)?;
        let exists = self.shelves()?.iter().any(|shelf| shelf.id == add.id);
        refuse_if(exists, Refusal::AlreadyExists)?;
        let shelf = Shelf {
            id: Arc::clone(&add.id),
            name: add.name.clone(),
            quantity: add.quantity,
            price: add.price,
            pickup: add.pickup,
            price_curve: add.price_curve.clone(),
            closed: false,
            owners: Vec::new(),
        };
        let shown = self.box_record(&shelf);
        self.shelves_mut().push(shelf);
        Ok(Grant::Box(Arc::new(shown)))
    }

    pub(super) fn patch_box(&mut self, patch: &PatchBox) -> Decided<Grant> {
        if let Some(name) = &patch.name {
            form::check_text(name, 200)?;
        }
        if let Some(quantity) = patch.quantity {
            form::check_number(quantity, 1_000_000)?;
        }
        if let Some(price) = patch.price {
            form::check_price(price)?;
        }
        form::check_pickup(patch.pickup.flatten())?;
        form::check_curve(patch.price_curve.as_deref().unwrap_or_default())?;
        let number = self.find_box(&patch.id)?;
        let booked = self.shelves()?[number].booked();
        let too_few = patch.quantity.is_some_and(|quantity| quantity < booked);
        refuse_if(too_few, Refusal::CapacityBelowBookedCount { booked })?;
        let shelf = &mut self.shelves_mut()[number];
        shelf.name = patch.name.clone().unwrap_or(shelf.name.clone());
        shelf.quantity = patch.quantity.unwrap_or(shelf.quantity);
        shelf.price = patch.price.unwrap_or(shelf.price);
        shelf.pickup = patch.pickup.unwrap_or(shelf.pickup);
        shelf.closed = patch.closed.unwrap_or(shelf.closed);
        if let Some(curve) = &patch.price_curve {
            shelf.price_curve.clone_from(curve);
        }
        Ok(Grant::Box(Arc::new(self.box_record(&self.shelves()?[number]))))
    }

    pub(super) fn box_units(
        &self,
        now: Timestamp,
        customer: &str,
        id: &str,
        quantity: u32,
    ) -> Decided<Units> {
        self.check_size(quantity.into())?;
        let number = self.find_box(id)?;
        let shelf = &self.shelves()?[number];
        self.check_open()?;
        self.check_sales(now)?;
        shelf.check_collectable(now)?;
        self.check_customer(customer, quantity)?;
        shelf.check_left(quantity)?;
        Ok(Units::Box {
            number: u32::try_from(number).expect("few boxes"),
            quantity,
            price: shelf.price_at(now),
        })
    }

    pub(super) fn check_box_again(
        &self,
        now: Timestamp,
        customer: &str,
        number: u32,
        quantity: u32,
    ) -> Decided<()> {
        let shelf = &self.shelves()?[number as usize];
        self.check_open()?;
        shelf.check_collectable(now)?;
        self.check_customer(customer, quantity)?;
        shelf.check_left(quantity)
    }

    fn find_box(&self, id: &str) -> Decided<usize> {
        match self.shelves()?.iter().position(|shelf| *shelf.id == *id) {
            Some(number) => Ok(number),
            None => refuse(Refusal::BoxNotFound),
        }
    }

    fn shelves_mut(&mut self) -> &mut Vec<Shelf> {
        match &mut self.stock {
            Stock::Shop(shelves) => shelves,
            _ => panic!("boxes are in shops"),
        }
    }
}
