//! `PATCH /v1/events/{id}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::PatchEvent;
use boxoffice_core::event_info::EventInfoPatch;
use boxoffice_core::limits::PRICE_MINOR_UNITS_MAX;
use boxoffice_core::money::Money;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::EventBody;
use super::{KIND, changed, event_of};
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::{Input, nullable, told_apart};
use crate::path::Path;
use crate::problem::Problem;
use crate::rules::{RulesInput, SalesPatch, StatusPatch, terms_patch};
use crate::submit::Asked;
use crate::time::Moment;

/// What is to be different about an event. What is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventPatch {
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    name: Option<String>,
    #[serde(default)]
    status: Option<StatusPatch>,
    /// `null` clears it; the same for the fields below that can be `null`.
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<String>, format = DateTime)]
    starts_at: Option<Option<Moment>>,
    /// When visitors are admitted; not later than `ends_at`.
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<String>, format = DateTime)]
    doors_open_at: Option<Option<Moment>>,
    /// Later than `starts_at`.
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<String>, format = DateTime)]
    ends_at: Option<Option<Moment>>,
    /// IANA name.
    #[serde(default)]
    #[schema(example = "Asia/Taipei")]
    timezone: Option<String>,
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    venue: Option<Option<String>>,
    /// May have several lines.
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 4000, pattern = "^[^\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F-\\u009F]+$")]
    description: Option<Option<String>>,
    #[serde(default)]
    sales: Option<SalesPatch>,
    #[serde(default)]
    rules: Option<RulesInput>,
    /// New prices, in minor units of the currency (cents), by the name of a section or area, for bookings from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<BTreeMap<String, i64>>)]
    prices: Option<Prices>,
    /// The same, section by section.
    #[serde(default)]
    sections: Option<Vec<NewPrice>>,
    #[serde(default)]
    areas: Option<Vec<NewPrice>>,
}

/// The price of a section or area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPrice {
    name: String,
    /// Of one seat or place, in minor units of the currency (cents).
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: i64,
}

/// Each name once.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Prices(BTreeMap<String, i64>);

impl<'de> Deserialize<'de> for Prices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Prices, D::Error> {
        deserializer.deserialize_map(PricesVisitor)
    }
}

struct PricesVisitor;

impl<'de> Visitor<'de> for PricesVisitor {
    type Value = Prices;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object of prices")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Prices, A::Error> {
        let mut prices = BTreeMap::new();
        while let Some((name, price)) = entries.next_entry::<String, i64>()? {
            if prices.contains_key(&name) {
                return Err(de::Error::custom(format!("duplicate field `{name}`")));
            }
            prices.insert(name, price);
        }
        Ok(Prices(prices))
    }
}

/// Changes an event. What is not named stays.
///
/// New times change no booking: seats, prices, holds and their ends stay, nothing is refunded, and customers are not told. They apply
/// to existing bookings when these are redeemed: from the new `doors_open_at` to the new `ends_at`. For `admin`.
#[utoipa::path(
    patch,
    path = "/v1/events/{id}",
    tag = "events",
    operation_id = "patch_event",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
        IdempotencyKey,
    ),
    request_body(content = EventPatch, example = json!({ "status": "closed", "prices": { "A": 320000 } })),
    responses(
        (status = 200, description = "The event.", body = EventBody),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SECTION_NOT_FOUND`, `AREA_NOT_FOUND`"),
        (status = 409, description = "`INVENTORY_CLOSED`: the event was cancelled, and is neither opened nor closed again"),
    ),
)]
pub(crate) async fn patch(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<EventPatch>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let standing = app.engine.view(number).await?;
    let terms = terms_patch(request.name.as_ref(), request.status, request.sales, request.rules.as_ref());
    let mut section_prices = prices(request.sections.as_deref(), "/sections")?;
    let mut area_prices = prices(request.areas.as_deref(), "/areas")?;
    for (name, price) in request.prices.iter().flat_map(|prices| &prices.0) {
        let pointer = format!("/prices/{}", name.replace('~', "~0").replace('/', "~1"));
        let event = event_of(&standing, &id)?;
        let is_area = event.areas.iter().any(|area| *area.name == **name);
        let is_section = event.sections.iter().any(|section| *section.name == **name);
        let price = money(*price, &pointer)?;
        if section_prices.iter().chain(&area_prices).any(|(named, _)| named == name) {
            return Err(Problem::invalid(&pointer, "has a price in sections or areas already"));
        }
        if is_area {
            area_prices.push((name.clone(), price));
        }
        // What is neither is refused by the rules, as a section.
        if is_section || !is_area {
            section_prices.push((name.clone(), price));
        }
    }
    let info = request.info();
    let action = Action::PatchEvent(Box::new(PatchEvent { terms, info, section_prices, area_prices }));
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: "patch event", request: &request };
    let granted = asked.send(number, action).await?;
    Ok(changed(StatusCode::OK, &granted))
}

impl EventPatch {
    fn info(&self) -> EventInfoPatch {
        let moment = |field: Option<Option<Moment>>| field.map(|moment| moment.map(|moment| moment.0));
        EventInfoPatch {
            starts_at: moment(self.starts_at),
            doors_open_at: moment(self.doors_open_at),
            ends_at: moment(self.ends_at),
            timezone: self.timezone.clone(),
            venue: self.venue.clone(),
            description: self.description.clone(),
        }
    }
}

/// Prices by name; one that no section could have is told by its place.
fn prices(given: Option<&[NewPrice]>, pointer: &str) -> Result<Vec<(String, Money)>, Problem> {
    let price = |(index, new): (usize, &NewPrice)| {
        Ok((new.name.clone(), money(new.price, &format!("{pointer}/{index}/price"))?))
    };
    given.unwrap_or_default().iter().enumerate().map(price).collect()
}

fn money(price: i64, pointer: &str) -> Result<Money, Problem> {
    match price {
        0..=PRICE_MINOR_UNITS_MAX => Ok(Money(price)),
        _ => Err(Problem::invalid(pointer, format!("must be between 0 and {PRICE_MINOR_UNITS_MAX}"))),
    }
}
