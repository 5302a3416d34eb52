//! `GET /v1/schedules/{id}/stream`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use super::KIND;
use crate::app::App;
use crate::caller::Caller;
use crate::ids::find_inventory;
use crate::path::Path;
use crate::problem::Problem;
use crate::stream::watch;

/// Streams what changes in a schedule, as server-sent events.
///
/// First `snapshot` (all slots), then exactly one `change` for each sequence (`slots` as they are listed, and ids of those `removed`). The `id:` of a message is its sequence.
/// Where the journal no longer reaches back to `Last-Event-ID`, the stream starts again with a snapshot. Comments keep quiet
/// streams open.
#[utoipa::path(
    get,
    path = "/v1/schedules/{id}/stream",
    tag = "schedules",
    operation_id = "stream_schedule",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        ("Last-Event-ID" = Option<String>, Header, description = "The last sequence that was received: goes on from there.", example = "42"),
    ),
    responses(
        (status = 200, description = "Messages, until somebody hangs up.", body = String, content_type = "text/event-stream"),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`"),
    ),
)]
pub(crate) async fn stream(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    watch(&app, &caller, find_inventory(&app.engine, &caller.tenant, KIND, &id).await?, &headers).await
}
