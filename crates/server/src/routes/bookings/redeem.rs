//! `POST /v1/bookings/{id}/redeem`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Redeem;
use boxoffice_core::ids::BookingId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BookingBody, act};
use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::booking_id;
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;

/// A booking is collected or admitted.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Redemption {
    /// As read out at the door.
    redeem_code: String,
}

impl Redemption {
    pub(crate) fn action(&self, booking: BookingId, caller: &Caller) -> Result<Action, Problem> {
        caller.must_be_trusted()?;
        Ok(Action::Redeem(Redeem { booking, redeem_code: self.redeem_code.trim().parse().ok() }))
    }
}

/// Redeems a booking: it is collected or admitted.
///
/// Not for `public`.
#[utoipa::path(
    post,
    path = "/v1/bookings/{id}/redeem",
    tag = "bookings",
    operation_id = "redeem_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a"),
        Caller,
        IdempotencyKey,
    ),
    request_body(content = Redemption, example = json!({ "redeem_code": "7KQ4M2" })),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`BOOKING_NOT_FOUND`"),
        (status = 409, description = "`WRONG_CODE`, `ALREADY_REDEEMED`, `WRONG_DATE`, `NOT_REDEEMABLE`"),
    ),
)]
pub(crate) async fn redeem(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<Redemption>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id, &caller)?;
    act(&app, &caller, &key, ("redeem", id), &request, action).await
}
