//! A merchant's boxes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::map::HashMap;
use crate::money::{Money, PriceStep};
use crate::pool::Pool;
use crate::rules::Terms;
use crate::time::Timestamp;

/// What a shop is made from: the journal's form of its creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShopPlan {
    /// Name, currency, sales window and rules.
    pub terms: Terms,
    /// IANA name.
    pub timezone: String,
}

/// A merchant's boxes and what is left of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shop {
    /// Name, currency, sales window and rules.
    pub terms: Terms,
    /// IANA name.
    pub timezone: String,
    /// In the order they were added; none is ever removed.
    pub boxes: Vec<PickupBox>,
    numbers: HashMap<Arc<str>, u32>,
}

/// One sort of box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PickupBox {
    /// The caller's id for it.
    pub id: Arc<str>,
    /// For people.
    pub name: String,
    /// How many are left.
    pub pool: Pool,
    /// Of one box, before the first step of the curve.
    pub price: Money,
    /// When it can be collected.
    pub pickup: Option<PickupWindow>,
    /// In order of time.
    pub price_curve: Vec<PriceStep>,
    /// Closed by the operator.
    pub closed: bool,
}

/// When a box can be collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PickupWindow {
    /// The first moment.
    pub starts_at: Timestamp,
    /// The first moment after.
    pub ends_at: Timestamp,
}

/// What a box is at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxStatus {
    /// Can be booked.
    Active,
    /// None left.
    SoldOut,
    /// Closed by the operator.
    Closed,
    /// Its pickup window is over.
    Ended,
}

impl PickupBox {
    /// Of one box, at a moment.
    pub fn price_at(&self, now: Timestamp) -> Money {
        let reached = self.price_curve.partition_point(|step| step.at <= now);
        reached.checked_sub(1).map_or(self.price, |last| self.price_curve[last].price)
    }

    /// The next step of the price after a moment.
    pub fn next_price(&self, now: Timestamp) -> Option<PriceStep> {
        let reached = self.price_curve.partition_point(|step| step.at <= now);
        self.price_curve.get(reached).copied()
    }

    /// Whether its pickup window is over.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.pickup.is_some_and(|pickup| now >= pickup.ends_at)
    }

    /// What it is at a moment.
    pub fn status(&self, now: Timestamp) -> BoxStatus {
        if self.closed {
            BoxStatus::Closed
        } else if self.has_ended(now) {
            BoxStatus::Ended
        } else if self.pool.available() == 0 {
            BoxStatus::SoldOut
        } else {
            BoxStatus::Active
        }
    }
}

impl Shop {
    /// The shop of a plan that was checked.
    pub(crate) fn new(plan: &ShopPlan) -> Shop {
        Shop {
            terms: plan.terms.clone(),
            timezone: plan.timezone.clone(),
            boxes: Vec::new(),
            numbers: HashMap::default(),
        }
    }

    /// The number of the box of an id.
    pub fn find(&self, id: &str) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    pub(crate) fn add(&mut self, new: PickupBox) {
        let number = u32::try_from(self.boxes.len()).expect("boxes are bounded");
        let taken = self.numbers.insert(Arc::clone(&new.id), number);
        assert!(taken.is_none(), "two boxes of one id");
        self.boxes.push(new);
    }

    pub(crate) fn boxed(&self, number: u32) -> &PickupBox {
        &self.boxes[number as usize]
    }

    pub(crate) fn boxed_mut(&mut self, number: u32) -> &mut PickupBox {
        &mut self.boxes[number as usize]
    }
}
