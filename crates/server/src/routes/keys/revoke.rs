//! `DELETE /v1/keys/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use crate::app::App;
use crate::caller::Admin;
use crate::path::Path;
use crate::problem::Problem;

/// Revokes a key.
///
/// For `admin`.
#[utoipa::path(
    delete,
    path = "/v1/keys/{id}",
    tag = "keys",
    operation_id = "revoke_key",
    params(
        ("id" = String, Path, description = "The key, by its id.", example = "k7m2p9x4"),
    ),
    responses(
        (status = 204, description = "It opens nothing any more."),
        (status = 404, description = "`KEY_NOT_FOUND`"),
    ),
)]
pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let revoke = move || app.keys.revoke(&caller.tenant, &id);
    tokio::task::spawn_blocking(revoke).await.expect("revoking a key does not panic")?;
    Ok(StatusCode::NO_CONTENT)
}
