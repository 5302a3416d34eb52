//! `DELETE /v1/webhooks/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::caller::Admin;
use crate::path::Path;
use crate::problem::Problem;

/// Removes a webhook: nothing more is sent.
///
/// For `admin`.
#[utoipa::path(
    delete,
    path = "/v1/webhooks/{id}",
    tag = "webhooks",
    operation_id = "delete_webhook",
    params(
        ("id" = String, Path, description = "The webhook.", example = "h3n8q5"),
    ),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "`WEBHOOK_NOT_FOUND`"),
    ),
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    app.webhooks.remove(&caller.tenant, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
