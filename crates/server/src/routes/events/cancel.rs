//! `POST /v1/events/{id}/cancel`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::CancelEvent;
use boxoffice_core::limits::EVENT_CANCELLATIONS_MAX;
use boxoffice_core::outcome::Grant;
use boxoffice_engine::InventoryNumber;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::KIND;
use crate::app::App;
use crate::caller::{Admin, Caller};
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::Input;
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;
use crate::submit::Asked;

/// Why an event is cancelled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventCancellation {
    /// Kept in the journal and with each cancelled booking.
    #[schema(min_length = 1, max_length = 500, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    reason: String,
    /// Answer what would be cancelled, and change nothing [default: false].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dry_run: Option<bool>,
}

/// What a cancelled event takes with it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventCancelled)]
pub(crate) struct EventCancelledBody {
    /// Bookings on hold, cancelled.
    holds_ended: u32,
    /// Confirmed bookings, cancelled.
    bookings_cancelled: u32,
    sequence: u64,
}

/// Cancels an event for good, with its holds and its confirmed bookings.
///
/// A booking of which a unit was redeemed stays. The event sells nothing any more and cannot be reopened. More than 20,000 bookings are
/// cancelled in several commits; if the server stops in between, the same request goes on where it stopped. With `dry_run: true` nothing
/// changes. For `admin`.
#[utoipa::path(
    post,
    path = "/v1/events/{id}/cancel",
    tag = "events",
    operation_id = "cancel_event",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
        IdempotencyKey,
    ),
    request_body(content = EventCancellation, example = json!({ "reason": "storm", "dry_run": true })),
    responses(
        (status = 200, description = "How many bookings were cancelled, or would be.", body = EventCancelledBody),
        (status = 404, description = "`EVENT_NOT_FOUND`"),
    ),
)]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<EventCancellation>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let dry_run = request.dry_run.unwrap_or(false);
    let action = Action::CancelEvent(CancelEvent { reason: request.reason.as_str().into(), dry_run });
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: "cancel event", request: &request };
    let granted = asked.send(number, action).await?;
    let &Grant::EventCancelled { holds_ended, bookings_cancelled } = granted.grant() else {
        unreachable!("answered with counts")
    };
    let body = EventCancelledBody { holds_ended, bookings_cancelled, sequence: granted.answer.sequence };
    if !dry_run && (granted.answer.replayed || is_partial(holds_ended, bookings_cancelled)) {
        cancel_the_rest(&app, &caller, number, &request).await?;
    }
    Ok(json(StatusCode::OK, &body, granted.answer.replayed))
}

fn is_partial(holds_ended: u32, bookings_cancelled: u32) -> bool {
    holds_ended as usize + bookings_cancelled as usize > EVENT_CANCELLATIONS_MAX
}

/// Cancels what the commands before left over: the event is cancelled, so nothing is added meanwhile.
async fn cancel_the_rest(
    app: &App,
    caller: &Caller,
    number: InventoryNumber,
    request: &EventCancellation,
) -> Result<(), Problem> {
    let key = IdempotencyKey::default();
    loop {
        let action =
            Action::CancelEvent(CancelEvent { reason: request.reason.as_str().into(), dry_run: false });
        let asked = Asked { app, caller, key: &key, operation: "cancel event", request };
        let granted = asked.send(number, action).await?;
        let &Grant::EventCancelled { holds_ended, bookings_cancelled } = granted.grant() else {
            unreachable!("answered with counts")
        };
        if !is_partial(holds_ended, bookings_cancelled) {
            return Ok(());
        }
    }
}
