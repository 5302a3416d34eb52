//! `GET /v1/webhooks/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::WebhookBody;
use crate::app::App;
use crate::caller::Admin;
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;

/// Shows a webhook.
///
/// For `admin`.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{id}",
    tag = "webhooks",
    operation_id = "show_webhook",
    params(
        ("id" = String, Path, description = "The webhook.", example = "h3n8q5"),
    ),
    responses(
        (status = 200, description = "The webhook.", body = WebhookBody),
        (status = 404, description = "`WEBHOOK_NOT_FOUND`"),
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let webhook = app.webhooks.find(&caller.tenant, &id)?;
    Ok(json(StatusCode::OK, &WebhookBody::of(&webhook), false))
}
