//! `GET /v1/schedules/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::body::ScheduleBody;
use super::{find, schedule_of};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;

/// Shows a schedule, without its slots.
#[utoipa::path(
    get,
    path = "/v1/schedules/{id}",
    tag = "schedules",
    operation_id = "show_schedule",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
    ),
    responses(
        (status = 200, description = "The schedule.", body = ScheduleBody),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`"),
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let stock = find(&app, &caller, &id).await?;
    let schedule = schedule_of(&stock, &id)?;
    let body = ScheduleBody::new(&stock.terms, &schedule.timezone, &schedule.pattern, stock.sequence);
    Ok(json(StatusCode::OK, &body, false))
}
