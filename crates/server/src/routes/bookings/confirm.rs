//! `POST /v1/bookings/{id}/confirm`.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Confirm;
use boxoffice_core::ids::BookingId;
use boxoffice_core::rules::LatePayment;
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

/// A hold is paid.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Payment {
    /// Of the payment, in the words of whoever took it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 500, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    payment_reference: Option<String>,
    /// What to do if the hold is over; otherwise the rule `late_payment` decides.
    #[serde(default)]
    if_expired: Option<IfExpired>,
}

/// What a payment does that comes after the hold ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IfExpired {
    /// It is refused.
    Fail,
    /// The same units, if they are free.
    SameUnits,
    /// The same, or others like them.
    Equivalent,
}

impl IfExpired {
    pub(crate) fn rule(self) -> LatePayment {
        match self {
            IfExpired::Fail => LatePayment::Fail,
            IfExpired::SameUnits => LatePayment::SameUnits,
            IfExpired::Equivalent => LatePayment::Equivalent,
        }
    }

    pub(crate) fn of(rule: LatePayment) -> IfExpired {
        match rule {
            LatePayment::Fail => IfExpired::Fail,
            LatePayment::SameUnits => IfExpired::SameUnits,
            LatePayment::Equivalent => IfExpired::Equivalent,
        }
    }
}

impl Payment {
    pub(crate) fn action(&self, booking: BookingId, caller: &Caller) -> Action {
        Action::Confirm(Confirm {
            booking,
            payment_reference: self.payment_reference.as_deref().map(Arc::from),
            if_expired: self.if_expired.map(IfExpired::rule),
            free_only: !caller.may_take_money(),
        })
    }
}

/// Confirms a hold: it is paid.
///
/// Confirming a live hold succeeds, unless the pickup window of its box is over. Again with the same reference, the answer is the same booking.
#[utoipa::path(
    post,
    path = "/v1/bookings/{id}/confirm",
    tag = "bookings",
    operation_id = "confirm_booking",
    params(
        ("id" = String, Path, description = "The booking.", format = Uuid, example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b51"),
        Caller,
        Expansion,
        IdempotencyKey,
    ),
    request_body(content = Payment, example = json!({ "payment_reference": "pi_3Nq8", "if_expired": "same_units" })),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`BOOKING_NOT_FOUND`"),
        (status = 409, description = "`ALREADY_CONFIRMED`, `NOT_CONFIRMABLE`, `PICKUP_WINDOW_CLOSED`; for a late payment, the refusals of a new booking"),
        (status = 410, description = "`HOLD_EXPIRED`"),
    ),
)]
pub(crate) async fn confirm(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Query(expansion): Query<Expansion>,
    Input(request): Input<Payment>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id, &caller);
    act(&app, &caller, &key, ("confirm", id), &request, action, expansion).await
}
