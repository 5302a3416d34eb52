//! `GET /v1/webhooks`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::WebhookBody;
use crate::app::App;
use crate::caller::Admin;
use crate::outer::json;
use crate::page::Page;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::{PageWanted, page_of};
use crate::webhooks::place;

/// Lists the webhooks of the tenant.
///
/// For `admin`.
#[utoipa::path(
    get,
    path = "/v1/webhooks",
    tag = "webhooks",
    operation_id = "list_webhooks",
    params(
        PageWanted,
    ),
    responses(
        (status = 200, description = "A page of webhooks.", body = Page<WebhookBody<'static>>),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    Query(wanted): Query<PageWanted>,
) -> Result<Response, Problem> {
    let all = app.webhooks.of_tenant(&caller.tenant);
    let (webhooks, next_cursor) = page_of(all, &wanted, |webhook| place(webhook))?;
    let items = webhooks.iter().map(|webhook| WebhookBody::of(webhook)).collect();
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}
