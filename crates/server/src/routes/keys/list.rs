//! `GET /v1/keys`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::Admin;
use crate::keys::Role;
use crate::outer::json;
use crate::page::Page;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::{PageWanted, page_of};
use crate::time::Moment;

/// A key, without its secret.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(crate) struct KeyBody<'a> {
    id: &'a str,
    role: Role,
    #[schema(required)]
    name: Option<&'a str>,
    tenant: &'a str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
}

/// Lists the keys of the tenant, without their secrets.
///
/// For `admin`.
#[utoipa::path(
    get,
    path = "/v1/keys",
    tag = "keys",
    operation_id = "list_keys",
    params(
        PageWanted,
    ),
    responses(
        (status = 200, description = "A page of keys.", body = Page<KeyBody<'static>>),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    Query(wanted): Query<PageWanted>,
) -> Result<Response, Problem> {
    let (keys, next_cursor) = page_of(app.keys.of_tenant(&caller.tenant), &wanted, |key| key.number)?;
    let items = keys.iter().map(|key| KeyBody {
        id: &key.id,
        role: key.role,
        name: key.name.as_deref(),
        tenant: &key.tenant,
        created_at: Moment(key.created_at()),
    });
    Ok(json(StatusCode::OK, &Page { items: items.collect(), next_cursor }, false))
}
