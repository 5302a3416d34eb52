//! `/v1/shops/{id}/boxes`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{AddBox, PatchBox};
use boxoffice_core::money::Money;
use boxoffice_core::outcome::Grant;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{BoxBody, PickupBody, StepBody};
use super::{KIND, find, shop_of};
use crate::app::App;
use crate::caller::{Caller, RunsSales};
use crate::idempotency::IdempotencyKey;
use crate::ids::{MADE_ID_CHARACTERS, find_inventory, readable};
use crate::input::{Input, nullable, told_apart};
use crate::outer::json;
use crate::page::{self, Page};
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::PageWanted;
use crate::routes::schedules::slots::SlotWord;
use crate::submit::{Asked, Granted};

/// Lists the boxes of a shop, and what is left of them.
#[utoipa::path(
    get,
    path = "/v1/shops/{id}/boxes",
    tag = "shops",
    operation_id = "list_boxes",
    params(
        ("id" = String, Path, description = "The shop.", example = "bakery"),
        PageWanted,
    ),
    responses(
        (status = 200, description = "A page of boxes.", body = Page<BoxBody>),
        (status = 404, description = "`SHOP_NOT_FOUND`"),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    Query(wanted): Query<PageWanted>,
) -> Result<Response, Problem> {
    let stock = find(&app, &caller, &id).await?;
    let shop = shop_of(&stock, &id)?;
    let limit = page::limit(wanted.limit)?;
    let first: usize = match &wanted.cursor {
        Some(cursor) => page::read_cursor(cursor)?,
        None => 0,
    };
    let now = app.engine.now();
    let items: Vec<BoxBody> =
        shop.boxes.iter().skip(first).take(limit).map(|boxed| BoxBody::new(boxed, now)).collect();
    let next = first.saturating_add(items.len());
    let next_cursor = (next < shop.boxes.len()).then(|| page::cursor(&next));
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}

/// One sort of box.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBox {
    /// Unique in the shop; made up if nothing is said.
    #[serde(default)]
    #[schema(pattern = "^[a-z0-9][a-z0-9-]{0,62}$", example = "evening")]
    id: Option<String>,
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    name: String,
    #[schema(minimum = 1, maximum = 1000000)]
    quantity: u32,
    /// Before the first step of the curve, in minor units of the currency (cents).
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: i64,
    #[serde(default)]
    pickup: Option<PickupBody>,
    /// In order of time.
    #[serde(default)]
    price_curve: Option<Vec<StepBody>>,
}

/// Adds a box.
///
/// The price of a booking is the curve's at the moment of the hold, and stays. For `admin` and `operator`.
#[utoipa::path(
    post,
    path = "/v1/shops/{id}/boxes",
    tag = "shops",
    operation_id = "add_box",
    params(
        ("id" = String, Path, description = "The shop.", example = "bakery"),
        IdempotencyKey,
    ),
    request_body(content = NewBox, example = json!({
                "id": "evening",
                "name": "Evening box",
                "quantity": 12,
                "price": 30000,
                "pickup": { "starts_at": "2027-12-24T17:00:00Z", "ends_at": "2027-12-24T19:00:00Z" },
                "price_curve": [{ "at": "2027-12-24T18:00:00Z", "price": 15000 }],
            })),
    responses(
        (
            status = 201,
            description = "The box.",
            body = BoxBody,
            links(
                ("change" = (operation_id = "patch_box", parameters(("id" = "$request.path.id"), ("box" = "$response.body#/id")))),
            ),
        ),
        (status = 404, description = "`SHOP_NOT_FOUND`"),
        (status = 409, description = "`ALREADY_EXISTS`"),
    ),
)]
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<NewBox>,
) -> Result<Response, Problem> {
    let seed = || match &key.0 {
        Some(key) => app.secret.derive("box", &[caller.tenant.as_bytes(), id.as_bytes(), key.as_bytes()]),
        None => rand::random(),
    };
    let box_id = request.id.clone().unwrap_or_else(|| readable("", &seed(), MADE_ID_CHARACTERS));
    let action = Action::AddBox(Box::new(AddBox {
        id: box_id.into(),
        name: request.name.clone(),
        quantity: request.quantity,
        price: Money(request.price),
        pickup: request.pickup.map(PickupBody::window),
        price_curve: request.price_curve.iter().flatten().map(StepBody::step).collect(),
    }));
    let granted = send(&app, &caller, &key, &id, ("add box", &request), action).await?;
    Ok(answered(StatusCode::CREATED, &granted))
}

/// What is to be different about a box. What is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoxPatch {
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    name: Option<String>,
    #[serde(default)]
    status: Option<SlotWord>,
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000000)]
    quantity: Option<u32>,
    /// Before the first step of the curve, in minor units of the currency (cents).
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: Option<i64>,
    /// `null`: any time.
    #[serde(default, deserialize_with = "nullable", serialize_with = "told_apart")]
    #[schema(value_type = Option<PickupBody>)]
    pickup: Option<Option<PickupBody>>,
    #[serde(default)]
    price_curve: Option<Vec<StepBody>>,
}

/// Changes a box. What is not named stays.
///
/// For `admin` and `operator`.
#[utoipa::path(
    patch,
    path = "/v1/shops/{id}/boxes/{box}",
    tag = "shops",
    operation_id = "patch_box",
    params(
        ("id" = String, Path, description = "The shop.", example = "bakery"),
        ("box" = String, Path, description = "The box.", example = "evening"),
        IdempotencyKey,
    ),
    request_body(content = BoxPatch, example = json!({ "quantity": 15 })),
    responses(
        (status = 200, description = "The box.", body = BoxBody),
        (status = 404, description = "`SHOP_NOT_FOUND`, `BOX_NOT_FOUND`"),
        (status = 409, description = "`CAPACITY_BELOW_BOOKED_COUNT`"),
    ),
)]
pub(crate) async fn patch(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path((id, box_id)): Path<(String, String)>,
    Input(request): Input<BoxPatch>,
) -> Result<Response, Problem> {
    let operation = format!("patch box {box_id}");
    let action = Action::PatchBox(Box::new(PatchBox {
        id: box_id.into(),
        name: request.name.clone(),
        closed: request.status.map(|word| word == SlotWord::Closed),
        quantity: request.quantity,
        price: request.price.map(Money),
        pickup: request.pickup.map(|pickup| pickup.map(PickupBody::window)),
        price_curve: request.price_curve.as_ref().map(|steps| steps.iter().map(StepBody::step).collect()),
    }));
    let granted = send(&app, &caller, &key, &id, (&operation, &request), action).await?;
    Ok(answered(StatusCode::OK, &granted))
}

async fn send<T: Serialize>(
    app: &App,
    caller: &Caller,
    key: &IdempotencyKey,
    id: &str,
    (operation, request): (&str, &T),
    action: Action,
) -> Result<Granted, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, id).await?;
    Asked { app, caller, key, operation, request }.send(number, action).await
}

fn answered(status: StatusCode, granted: &Granted) -> Response {
    let Grant::Box(boxed) = granted.grant() else { unreachable!("answered with the box") };
    let mut body = BoxBody::new(boxed, granted.answer.decided_at);
    body.sequence = Some(granted.answer.sequence);
    json(status, &body, granted.answer.replayed)
}
