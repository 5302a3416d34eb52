//! `GET /v1/events/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::body::EventBody;
use super::{event_of, find};
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
    Ok(json(StatusCode::OK, &EventBody::of_view(&stock, event_of(&stock, &id)?), false))
}
