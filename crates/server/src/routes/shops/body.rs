//! Shops and boxes as the API shows them.

use boxoffice_core::money::Money;
use boxoffice_core::money::PriceStep;
use boxoffice_core::rules::Terms;
use boxoffice_core::shop::{BoxStatus, PickupBox, PickupWindow};
use boxoffice_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::rules::{RulesBody, SalesBody, StatusWord};
use crate::time::Moment;

/// A merchant, without the boxes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Shop)]
pub(crate) struct ShopBody {
    id: String,
    name: String,
    timezone: String,
    currency: String,
    status: StatusWord,
    sales: SalesBody,
    rules: RulesBody,
    sequence: u64,
}

impl ShopBody {
    pub(crate) fn new(terms: &Terms, timezone: &str, sequence: u64) -> ShopBody {
        ShopBody {
            id: terms.id.clone(),
            name: terms.name.clone(),
            timezone: timezone.to_owned(),
            currency: terms.currency.as_str().to_owned(),
            status: StatusWord::of(terms.status),
            sales: SalesBody::of(terms.sales),
            rules: RulesBody::of(&terms.rules),
            sequence,
        }
    }
}

/// When a box can be collected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Pickup)]
pub(crate) struct PickupBody {
    #[schema(value_type = String, format = DateTime)]
    starts_at: Moment,
    #[schema(value_type = String, format = DateTime)]
    ends_at: Moment,
}

/// From a moment on, a box costs this.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PriceStep)]
pub(crate) struct StepBody {
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    /// Of one box, in minor units of the currency (cents).
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: i64,
}

impl PickupBody {
    pub(crate) fn window(self) -> PickupWindow {
        PickupWindow { starts_at: self.starts_at.0, ends_at: self.ends_at.0 }
    }

    fn of(window: PickupWindow) -> PickupBody {
        PickupBody { starts_at: Moment(window.starts_at), ends_at: Moment(window.ends_at) }
    }
}

impl StepBody {
    pub(crate) fn step(&self) -> PriceStep {
        PriceStep { at: self.at.0, price: Money(self.price) }
    }

    fn of(step: PriceStep) -> StepBody {
        StepBody { at: Moment(step.at), price: step.price.0 }
    }
}

/// A box, and what is left of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Box)]
pub(crate) struct BoxBody {
    id: String,
    name: String,
    quantity: u32,
    remaining: u32,
    /// Of one box now, in minor units of the currency (cents).
    price: i64,
    #[schema(required)]
    next_price: Option<StepBody>,
    price_curve: Vec<StepBody>,
    #[schema(required)]
    pickup: Option<PickupBody>,
    status: BoxStatusWord,
    /// Only in the answer to a change of this box.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sequence: Option<u64>,
}

/// What a box is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = BoxStatus)]
enum BoxStatusWord {
    Active,
    SoldOut,
    Closed,
    Ended,
}

impl BoxBody {
    pub(crate) fn new(boxed: &PickupBox, now: Timestamp) -> BoxBody {
        BoxBody {
            id: boxed.id.to_string(),
            name: boxed.name.clone(),
            quantity: boxed.pool.capacity,
            remaining: boxed.pool.available(),
            price: boxed.price_at(now).0,
            next_price: boxed.next_price(now).map(StepBody::of),
            price_curve: boxed.price_curve.iter().copied().map(StepBody::of).collect(),
            pickup: boxed.pickup.map(PickupBody::of),
            status: match boxed.status(now) {
                BoxStatus::Active => BoxStatusWord::Active,
                BoxStatus::SoldOut => BoxStatusWord::SoldOut,
                BoxStatus::Closed => BoxStatusWord::Closed,
                BoxStatus::Ended => BoxStatusWord::Ended,
            },
            sequence: None,
        }
    }
}
