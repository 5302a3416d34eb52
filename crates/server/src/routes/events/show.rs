//! `GET /v1/events/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::body::EventBody;
use super::{event_of, find};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;

/// Shows an event: its sections and areas, and what is left of them.
#[utoipa::path(
    get,
    path = "/v1/events/{id}",
    tag = "events",
    operation_id = "show_event",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
    ),
    responses(
        (status = 200, description = "The event.", body = EventBody),
        (status = 404, description = "`EVENT_NOT_FOUND`"),
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let stock = find(&app, &caller, &id).await?;
    Ok(json(StatusCode::OK, &EventBody::of_view(&stock, event_of(&stock, &id)?), false))
}
