//! `POST /v1/bookings/{id}/cancel`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Cancel;
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

/// A booking is given back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancellation {
    /// In the caller's words; kept in the journal.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 500, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    reason: Option<String>,
}

impl Cancellation {
    /// Cancels a booking; only while it has a ticket, if one is given.
    pub(crate) fn action(&self, booking: BookingId, ticket: Option<&str>) -> Action {
        let reason = self.reason.as_deref().map(Arc::from);
        Action::Cancel(Cancel { booking, reason, ticket: ticket.map(Arc::from) })
    }
}

/// Cancels a booking: its units are free at once.
///
/// A cancelled booking stays cancelled, and the answer is the same.
#[utoipa::path(
    post,
    path = "/v1/bookings/{id}/cancel",
    tag = "bookings",
    operation_id = "cancel_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b53"),
        Caller,
        Expansion,
        IdempotencyKey,
    ),
    request_body(content = Cancellation, example = json!({ "reason": "changed their mind" })),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`BOOKING_NOT_FOUND`"),
        (status = 409, description = "`NOT_CANCELLABLE`"),
    ),
)]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Query(expansion): Query<Expansion>,
    Input(request): Input<Cancellation>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id, None);
    act(&app, &caller, &key, ("cancel", id), &request, action, expansion).await
}
