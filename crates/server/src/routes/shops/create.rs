//! `POST /v1/shops`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::CreateShop;
use boxoffice_core::ids::inventory_name;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::ShopBody;
use super::{KIND, changed};
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::input::Input;
use crate::problem::Problem;
use crate::routes::new_id;
use crate::rules::{RulesInput, SalesBody, currency};
use crate::submit::Asked;

/// A merchant whose boxes are picked up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewShop {
    /// Made up if nothing is said.
    #[serde(default)]
    #[schema(pattern = "^[a-z0-9][a-z0-9-]{0,62}$", example = "bakery")]
    id: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$",
        example = "Bakery"
    )]
    name: String,
    /// An IANA name.
    #[schema(example = "Asia/Taipei")]
    timezone: String,
    #[schema(pattern = "^[A-Z]{3}$", example = "TWD")]
    currency: String,
    #[serde(default)]
    sales: Option<SalesBody>,
    #[serde(default)]
    rules: Option<RulesInput>,
}

/// Creates a shop.
///
/// For `admin`.
#[utoipa::path(
    post,
    path = "/v1/shops",
    tag = "shops",
    operation_id = "create_shop",
    params(
        IdempotencyKey,
    ),
    request_body(content = NewShop, example = json!({
                "id": "bakery",
                "name": "Bakery",
                "timezone": "Asia/Taipei",
                "currency": "TWD",
                "rules": { "hold_ttl_seconds": 1200, "max_active_bookings_per_customer": 1 },
            })),
    responses(
        (
            status = 201,
            description = "The shop.",
            body = ShopBody,
            links(
                ("show" = (operation_id = "show_shop", parameters(("id" = "$response.body#/id")))),
                ("change" = (operation_id = "patch_shop", parameters(("id" = "$response.body#/id")))),
                ("boxes" = (operation_id = "list_boxes", parameters(("id" = "$response.body#/id")))),
                ("add_box" = (operation_id = "add_box", parameters(("id" = "$response.body#/id")))),
            ),
        ),
        (status = 409, description = "`ALREADY_EXISTS`"),
    ),
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Input(request): Input<NewShop>,
) -> Result<Response, Problem> {
    let id = new_id(&app, &caller, KIND, request.id.as_ref(), &key)?;
    let name = inventory_name(&caller.tenant, KIND, &id);
    let action = Action::CreateShop(Box::new(CreateShop {
        id,
        name: request.name.clone(),
        timezone: request.timezone.clone(),
        currency: currency(&request.currency)?,
        sales: request.sales.unwrap_or_default().window(),
        rules: RulesInput::patch_of_new(request.rules.as_ref(), app.settings.hold_ttl_seconds),
    }));
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: "create shop", request: &request };
    let granted = asked.create(&name, action).await?;
    Ok(changed(StatusCode::CREATED, &granted))
}
