//! `DELETE /v1/keys/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;

pub(crate) async fn revoke(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.must_be_admin()?;
    let revoke = move || app.keys.revoke(&caller.tenant, &id);
    tokio::task::spawn_blocking(revoke).await.expect("revoking a key does not panic")?;
    Ok(StatusCode::NO_CONTENT)
}
