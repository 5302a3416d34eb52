//! `GET /v1/shops/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::body::ShopBody;
use super::{find, shop_of};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;

/// Shows a shop, without its boxes.
#[utoipa::path(
    get,
    path = "/v1/shops/{id}",
    tag = "shops",
    operation_id = "show_shop",
    params(
        ("id" = String, Path, description = "The shop.", example = "bakery"),
    ),
    responses(
        (status = 200, description = "The shop.", body = ShopBody),
        (status = 404, description = "`SHOP_NOT_FOUND`"),
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let stock = find(&app, &caller, &id).await?;
    let shop = shop_of(&stock, &id)?;
    Ok(json(StatusCode::OK, &ShopBody::new(&stock.terms, &shop.timezone, stock.sequence), false))
}
