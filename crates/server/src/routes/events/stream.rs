//! `GET /v1/events/{id}/stream`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;

use super::KIND;
use crate::app::App;
use crate::caller::Caller;
use crate::ids::find_inventory;
use crate::problem::Problem;
use crate::stream::watch;

pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    watch(&app, find_inventory(&app.engine, &caller.tenant, KIND, &id)?, &headers).await
}
