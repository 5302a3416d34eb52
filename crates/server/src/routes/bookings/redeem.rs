//! `POST /v1/bookings/{id}/redeem`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{Redeem, SectionSeats, UnitChoice};
use boxoffice_core::ids::BookingId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::new_booking::not_a_seat;
use super::{BookingBody, Expansion, act};
use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::{TicketId, booking_id};
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;

/// A booking is collected or admitted: the units named, or all that are left.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Redemption {
    /// As read out at the door.
    redeem_code: String,
    /// Of the booking's seats, only these.
    #[serde(default)]
    #[schema(min_items = 1)]
    seats: Option<Vec<NamedSeat>>,
    /// Of the booking's tickets, only these.
    #[serde(default)]
    #[schema(value_type = Option<Vec<TicketId>>, min_items = 1)]
    tickets: Option<Vec<String>>,
    /// Only so many places or boxes; of a booking that has seats or tickets only, so many of these.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    quantity: Option<u32>,
    /// Admits at a wrong date or time too; not for `seller`.
    #[serde(default)]
    force: Option<bool>,
}

impl Redemption {
    pub(crate) fn action(&self, booking: BookingId, caller: &Caller) -> Result<Action, Problem> {
        caller.must_be_trusted()?;
        let force = self.force.unwrap_or(false);
        if force {
            caller.must_run_sales()?;
        }
        let redeem_code = self.redeem_code.trim().parse().ok();
        let units = unit_choice(self.seats.as_deref(), self.tickets.as_deref(), self.quantity)?;
        Ok(Action::Redeem(Redeem { booking, redeem_code, units, force }))
    }
}

/// One seat.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedSeat {
    #[schema(example = "A-1")]
    section: String,
    #[schema(example = "1-1")]
    seat: String,
}

/// The units that a request names; `None` if it names none.
pub(super) fn unit_choice(
    seats: Option<&[NamedSeat]>,
    tickets: Option<&[String]>,
    quantity: Option<u32>,
) -> Result<Option<Box<UnitChoice>>, Problem> {
    let refuse_empty =
        |pointer: &str| Problem::invalid(pointer, "must not be empty; leave it out to mean all units");
    if seats.is_some_and(<[_]>::is_empty) {
        return Err(refuse_empty("/seats"));
    }
    if tickets.is_some_and(<[_]>::is_empty) {
        return Err(refuse_empty("/tickets"));
    }
    if seats.is_none() && tickets.is_none() && quantity.is_none() {
        return Ok(None);
    }
    let named = |(index, named): (usize, &NamedSeat)| {
        let pointer = || format!("/seats/{index}/seat");
        let seat = named.seat.parse().map_err(|()| not_a_seat(&pointer(), &named.seat))?;
        Ok(SectionSeats { section: named.section.clone(), seats: vec![seat] })
    };
    let seats = seats.unwrap_or_default().iter().enumerate().map(named).collect::<Result<_, Problem>>()?;
    let tickets = tickets.unwrap_or_default().iter().map(|ticket| ticket.as_str().into()).collect();
    Ok(Some(Box::new(UnitChoice { seats, tickets, quantity })))
}

/// Redeems a booking, or some of its units: they are collected or admitted.
///
/// The booking is `redeemed` when all of its units are, and `confirmed` until then; from the first on it can be neither cancelled nor
/// moved.
///
/// An event can be redeemed from `doors_open_at` until `ends_at`, a slot on its day, a box within its pickup window. `force: true` (operators and admins) overrides both, and the
/// journal says so. Not for `public`.
#[utoipa::path(
    post,
    path = "/v1/bookings/{id}/redeem",
    tag = "bookings",
    operation_id = "redeem_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a"),
        Caller,
        Expansion,
        IdempotencyKey,
    ),
    request_body(content = Redemption, example = json!({ "redeem_code": "7KQ4M2" })),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`BOOKING_NOT_FOUND`, `SECTION_NOT_FOUND`, `SEAT_NOT_FOUND`"),
        (status = 409, description = "`NOT_IN_BOOKING`, `WRONG_CODE`, `ALREADY_REDEEMED`, `WRONG_DATE`, `WRONG_TIME`, `NOT_REDEEMABLE`"),
    ),
)]
pub(crate) async fn redeem(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Query(expansion): Query<Expansion>,
    Input(request): Input<Redemption>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id, &caller)?;
    act(&app, &caller, &key, ("redeem", id), &request, action, expansion).await
}
