//! `DELETE /v1/events/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use boxoffice_core::command::Action;

use super::KIND;
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::outer::no_content;
use crate::path::Path;
use crate::problem::Problem;
use crate::submit::Asked;

/// Deletes an event of which no booking was ever made.
///
/// Its journal stays, and its id stays taken. An event with bookings, also if they ended, can be cancelled instead. For `admin`.
#[utoipa::path(
    delete,
    path = "/v1/events/{id}",
    tag = "events",
    operation_id = "delete_event",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
        IdempotencyKey,
    ),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "`EVENT_NOT_FOUND`"),
        (status = 409, description = "`EVENT_HAS_BOOKINGS`"),
    ),
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: "delete event", request: &() };
    let granted = asked.send(number, Action::DeleteEvent).await?;
    Ok(no_content(granted.answer.replayed))
}
