//! `POST /v1/bookings/{id}/unredeem`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Unredeem;
use boxoffice_core::ids::BookingId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::redeem::{NamedSeat, unit_choice};
use super::{BookingBody, Expansion, act};
use crate::app::App;
use crate::caller::RunsSales;
use crate::idempotency::IdempotencyKey;
use crate::ids::{TicketId, booking_id};
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;

/// A redemption is undone: that of the units named, or of all that were redeemed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unredemption {
    #[serde(default)]
    #[schema(min_items = 1)]
    seats: Option<Vec<NamedSeat>>,
    #[serde(default)]
    #[schema(value_type = Option<Vec<TicketId>>, min_items = 1)]
    tickets: Option<Vec<String>>,
    /// So many places or boxes, the last that were redeemed.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    quantity: Option<u32>,
    /// In the caller's words; kept in the journal.
    #[schema(min_length = 1, max_length = 500, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    reason: String,
}

impl Unredemption {
    fn action(&self, booking: BookingId) -> Result<Action, Problem> {
        let units = unit_choice(self.seats.as_deref(), self.tickets.as_deref(), self.quantity)?;
        Ok(Action::Unredeem(Unredeem { booking, units, reason: self.reason.as_str().into() }))
    }
}

/// Undoes a redemption: the booking is confirmed again.
///
/// If another booking has the booking's code by now, it gets a new one. For `admin` and `operator`.
#[utoipa::path(
    post,
    path = "/v1/bookings/{id}/unredeem",
    tag = "bookings",
    operation_id = "unredeem_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a"),
        Expansion,
        IdempotencyKey,
    ),
    request_body(content = Unredemption, example = json!({ "reason": "scanned the wrong ticket" })),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`BOOKING_NOT_FOUND`, `SECTION_NOT_FOUND`, `SEAT_NOT_FOUND`"),
        (status = 409, description = "`NOT_REDEEMED`, `NOT_IN_BOOKING`"),
    ),
)]
pub(crate) async fn unredeem(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Query(expansion): Query<Expansion>,
    Input(request): Input<Unredemption>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id)?;
    act(&app, &caller, &key, ("unredeem", id), &request, action, expansion).await
}
