//! `GET /v1/shops`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::body::ShopBody;
use super::{KIND, shop_of};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::page::Page;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::{PageWanted, inventories};

/// Lists shops in the order they were created.
#[utoipa::path(
    get,
    path = "/v1/shops",
    tag = "shops",
    operation_id = "list_shops",
    params(
        PageWanted,
    ),
    responses(
        (status = 200, description = "A page of shops.", body = Page<ShopBody>),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<PageWanted>,
) -> Result<Response, Problem> {
    let (views, next_cursor) = inventories(&app, &caller, KIND, &wanted).await?;
    let items = views.iter().map(|stock| {
        let shop = shop_of(stock, &stock.terms.id)?;
        Ok(ShopBody::new(&stock.terms, &shop.timezone, stock.sequence))
    });
    let items = items.collect::<Result<_, Problem>>()?;
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}
