//! `GET /v1/bookings/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::{AsOf, BookingBody, Expansion, kind_of};
use crate::app::App;
use crate::caller::{Caller, find_booking};
use crate::ids::{booking_id, booking_not_found};
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;

/// Shows a booking.
#[utoipa::path(
    get,
    path = "/v1/bookings/{id}",
    tag = "bookings",
    operation_id = "show_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a"),
        Expansion,
        Caller,
    ),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`BOOKING_NOT_FOUND`"),
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    Query(expansion): Query<Expansion>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let (inventory, _) = find_booking(&app, &caller, id).await?;
    let (booking, stock) =
        app.engine.booking_and_stock(inventory, id).await?.ok_or_else(booking_not_found)?;
    let as_of = AsOf { sequence: stock.sequence, at: app.engine.now() };
    let contact = app.contacts.keys_for(&caller, [&*booking]).await?.open(&booking);
    let mut body = BookingBody::new(&booking, kind_of(&stock), &stock, as_of, None);
    body.contact = contact.as_deref();
    body.expand(expansion.of(Some(&stock), &booking));
    Ok(json(StatusCode::OK, &body, false))
}
