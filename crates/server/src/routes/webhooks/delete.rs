//! `DELETE /v1/webhooks/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;

use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;

pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    caller.must_be_admin()?;
    app.webhooks.remove(&caller.tenant, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
