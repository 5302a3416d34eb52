//! `POST /v1/bookings/{id}/extend`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Extend;
use boxoffice_core::ids::BookingId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BookingBody, Expansion, act};
use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::booking_id;
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;

/// A hold is to last longer.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extension {
    /// From now.
    #[schema(minimum = 1, maximum = 86400)]
    seconds: u32,
}

impl Extension {
    pub(crate) fn action(&self, booking: BookingId) -> Action {
        Action::Extend(Extend { booking, seconds: self.seconds })
    }
}

/// Lets a hold last longer, counted from now.
///
/// Never shorter than it was, never longer than `max_hold_seconds` after its creation.
#[utoipa::path(
    post,
    path = "/v1/bookings/{id}/extend",
    tag = "bookings",
    operation_id = "extend_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b52"),
        Caller,
        Expansion,
        IdempotencyKey,
    ),
    request_body(content = Extension, example = json!({ "seconds": 600 })),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`BOOKING_NOT_FOUND`"),
        (status = 409, description = "`HOLD_LIMIT_REACHED`, `NOT_EXTENDABLE`"),
        (status = 410, description = "`HOLD_EXPIRED`"),
    ),
)]
pub(crate) async fn extend(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Query(expansion): Query<Expansion>,
    Input(request): Input<Extension>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id);
    act(&app, &caller, &key, ("extend", id), &request, action, expansion).await
}
