//! `PATCH /v1/shops/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::PatchShop;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::ShopBody;
use super::{KIND, changed};
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;
use crate::rules::{RulesInput, SalesPatch, StatusPatch, terms_patch};
use crate::submit::Asked;

/// What is to be different about a shop. What is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShopPatch {
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    name: Option<String>,
    #[serde(default)]
    status: Option<StatusPatch>,
    #[serde(default)]
    sales: Option<SalesPatch>,
    #[serde(default)]
    rules: Option<RulesInput>,
}

/// Changes a shop. What is not named stays.
///
/// For `admin`.
#[utoipa::path(
    patch,
    path = "/v1/shops/{id}",
    tag = "shops",
    operation_id = "patch_shop",
    params(
        ("id" = String, Path, description = "The shop.", example = "bakery"),
        IdempotencyKey,
    ),
    request_body(content = ShopPatch, example = json!({ "status": "closed" })),
    responses(
        (status = 200, description = "The shop.", body = ShopBody),
        (status = 404, description = "`SHOP_NOT_FOUND`"),
    ),
)]
pub(crate) async fn patch(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<ShopPatch>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let terms = terms_patch(request.name.as_ref(), request.status, request.sales, request.rules.as_ref());
    let action = Action::PatchShop(Box::new(PatchShop { terms }));
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: "patch shop", request: &request };
    let granted = asked.send(number, action).await?;
    Ok(changed(StatusCode::OK, &granted))
}
