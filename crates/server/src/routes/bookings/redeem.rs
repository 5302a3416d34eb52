//! `POST /v1/bookings/{id}/redeem`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Redeem;
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
