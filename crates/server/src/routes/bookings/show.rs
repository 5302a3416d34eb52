//! `GET /v1/bookings/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{AsOf, BookingBody, kind_of};
use crate::app::App;
use crate::caller::{Caller, find_booking};
use crate::ids::booking_id;
use crate::outer::json;
use crate::problem::Problem;

pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let (inventory, booking) = find_booking(&app, &caller, booking_id(&id)?).await?;
    let stock = app.engine.view(inventory).await?;
    let as_of = AsOf { sequence: stock.sequence, at: app.engine.now() };
    let body = BookingBody::new(&booking, kind_of(&stock), &stock, as_of, None);
    Ok(json(StatusCode::OK, &body, false))
}
