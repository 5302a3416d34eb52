//! `GET /v1/schedules/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::body::ScheduleBody;
use super::{find, schedule_of};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::problem::Problem;

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
