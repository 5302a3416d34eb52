//! `PATCH /v1/events/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::PatchEvent;
use boxoffice_core::limits::PRICE_MINOR_UNITS_MAX;
use boxoffice_core::money::Money;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::EventBody;
use super::{KIND, changed};
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;
use crate::rules::{RulesInput, SalesPatch, StatusWord, terms_patch};
use crate::submit::Asked;

/// What is to be different about an event. What is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventPatch {
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    name: Option<String>,
    #[serde(default)]
    status: Option<StatusWord>,
    #[serde(default)]
    sales: Option<SalesPatch>,
    #[serde(default)]
    rules: Option<RulesInput>,
    /// New prices, for bookings from now on.
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
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: i64,
}

/// Changes an event. What is not named stays.
///
/// For `admin`.
#[utoipa::path(
    patch,
    path = "/v1/events/{id}",
    tag = "events",
    operation_id = "patch_event",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
        IdempotencyKey,
    ),
    request_body(content = EventPatch, example = json!({ "status": "closed", "sections": [{ "name": "A", "price": 3200 }] })),
    responses(
        (status = 200, description = "The event.", body = EventBody),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SECTION_NOT_FOUND`, `AREA_NOT_FOUND`"),
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
    let terms = terms_patch(
        &standing.terms,
        request.name.as_ref(),
        request.status,
        request.sales,
        request.rules.as_ref(),
    );
    let action = Action::PatchEvent(Box::new(PatchEvent {
        terms,
        section_prices: prices(request.sections.as_deref(), "/sections")?,
        area_prices: prices(request.areas.as_deref(), "/areas")?,
    }));
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: "patch event", request: &request };
    let granted = asked.send(number, action).await?;
    Ok(changed(StatusCode::OK, &granted))
}

/// Prices by name; one that no section could have is told by its place.
fn prices(given: Option<&[NewPrice]>, pointer: &str) -> Result<Vec<(String, Money)>, Problem> {
    let price = |(index, new): (usize, &NewPrice)| match new.price {
        0..=PRICE_MINOR_UNITS_MAX => Ok((new.name.clone(), Money(new.price))),
        _ => {
            let message = format!("must be between 0 and {PRICE_MINOR_UNITS_MAX}");
            Err(Problem::invalid(&format!("{pointer}/{index}/price"), message))
        }
    };
    given.unwrap_or_default().iter().enumerate().map(price).collect()
}
