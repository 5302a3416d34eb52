//! `POST /v1/bookings/{id}/cancel`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Cancel;
use boxoffice_core::ids::BookingId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::act;
use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::booking_id;
use crate::input::Input;
use crate::problem::Problem;

/// A booking is given back.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancellation {
    /// In the caller's words; kept in the journal.
    #[serde(default)]
    reason: Option<String>,
}

impl Cancellation {
    pub(crate) fn action(&self, booking: BookingId) -> Action {
        Action::Cancel(Cancel { booking, reason: self.reason.as_deref().map(Arc::from) })
    }
}

pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<Cancellation>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id);
    act(&app, &caller, &key, ("cancel", id), &request, action).await
}
