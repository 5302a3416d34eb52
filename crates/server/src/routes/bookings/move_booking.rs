//! `POST /v1/bookings/{id}/move`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{Destination, Move};
use boxoffice_core::ids::BookingId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::new_booking::{Best, SeatsInSection, named, parse_slot};
use super::{BookingBody, Expansion, act};
use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::booking_id;
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;

/// A booking goes elsewhere: exactly one of the three.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Destination)]
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
        Ok(Action::Move(Box::new(Move { booking, to, free_only: !caller.may_take_money(), ticket: None })))
    }
}

/// Moves a booking to other units, as many as it has.
///
/// Old and new are swapped in one step, or nothing changes. `price_difference` says what is to be paid or given back.
#[utoipa::path(
    post,
    path = "/v1/bookings/{id}/move",
    tag = "bookings",
    operation_id = "move_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b54"),
        Caller,
        Expansion,
        IdempotencyKey,
    ),
    request_body(content = Target, example = json!({ "best_available": { "quantity": 2 } })),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`BOOKING_NOT_FOUND`, `SECTION_NOT_FOUND`, `SEAT_NOT_FOUND`, `SLOT_NOT_FOUND`"),
        (status = 409, description = "`NOT_MOVABLE`, `NEW_SLOT_FULL`, `SEAT_UNAVAILABLE`, and the other refusals of a new booking"),
    ),
)]
pub(crate) async fn move_booking(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Query(expansion): Query<Expansion>,
    Input(request): Input<Target>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id, &caller)?;
    act(&app, &caller, &key, ("move", id), &request, action, expansion).await
}
