//! `GET /v1/shops/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::body::ShopBody;
use super::{find, shop_of};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::problem::Problem;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let stock = find(&app, &caller, &id).await?;
    let shop = shop_of(&stock, &id)?;
    Ok(json(StatusCode::OK, &ShopBody::new(&stock.terms, &shop.timezone, stock.sequence), false))
}
