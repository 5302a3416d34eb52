//! `POST /v1/bookings/{id}/confirm`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::Confirm;
use boxoffice_core::ids::BookingId;
use boxoffice_core::rules::LatePayment;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::act;
use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::booking_id;
use crate::input::Input;
use crate::problem::Problem;

/// A hold is paid.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Payment {
    /// Of the payment, in the words of whoever took it.
    #[serde(default)]
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

pub(crate) async fn confirm(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<Payment>,
) -> Result<Response, Problem> {
    let id = booking_id(&id)?;
    let action = request.action(id, &caller);
    act(&app, &caller, &key, ("confirm", id), &request, action).await
}
