//! `GET /v1/webhooks/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::WebhookBody;
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::problem::Problem;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    caller.must_be_admin()?;
    let webhook = app.webhooks.find(&caller.tenant, &id)?;
    Ok(json(StatusCode::OK, &WebhookBody::of(&webhook), false))
}
