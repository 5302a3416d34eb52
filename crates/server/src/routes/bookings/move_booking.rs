//! `POST /v1/bookings/{id}/move`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{Destination, Move};
use boxoffice_core::ids::BookingId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::act;
use super::create::{Best, SeatsInSection, named, parse_slot};
use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::booking_id;
use crate::input::Input;
use crate::problem::Problem;

/// A booking goes elsewhere: exactly one of the three.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Target {
    #[serde(default)]
    slot: Option<String>,
    #[serde(default)]
    seats: Option<Vec<SeatsInSection>>,
    #[serde(default)]
    best_available: Option<Best>,
}

impl Target {
    pub(crate) fn action(&self, booking: BookingId, caller: &Caller) -> Result<Action, Problem> {
        let to = match (&self.slot, &self.seats, &self.best_available) {
            (Some(slot), None, None) => Destination::Slot(parse_slot(slot, "/slot")?),
            (None, Some(seats), None) => Destination::Seats(named(seats, "/seats")?),
            (None, None, Some(best)) => Destination::Best(best.wish()),
            _ => return Err(Problem::invalid("", "must name one of slot, seats and best_available")),
        };
        Ok(Action::Move(Box::new(Move { booking, to, free_only: !caller.may_take_money() })))
    }
}

pub(crate) async fn move_booking(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<Target>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id, &caller)?;
    act(&app, &caller, &key, ("move", id), &request, action).await
}
