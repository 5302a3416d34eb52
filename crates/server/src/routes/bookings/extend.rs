//! `POST /v1/bookings/{id}/extend`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Extend;
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

pub(crate) async fn extend(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<Extension>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id);
    act(&app, &caller, &key, ("extend", id), &request, action).await
}
