//! `GET /v1/attempts`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::booking::Booking;
use boxoffice_core::ids::parts_of_name;
use boxoffice_engine::attempt::{Attempt, AttemptFilter, AttemptId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::app::App;
use crate::attempts::{AFTER_GRANTED, write_queued};
use crate::caller::{Caller, RunsSales};
use crate::ids::uuid;
use crate::outer::json;
use crate::page::{self, Page};
use crate::problem::Problem;
use crate::query::Query;
use crate::time::Moment;

/// Which attempts are wanted.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// The `X-Request-Id` of the response, or the `request_id` of its body.
    request_id: Option<String>,
    customer: Option<String>,
    /// `event:gala`, `schedule:museum`, `shop:bakery`.
    #[param(example = "event:gala")]
    inventory: Option<String>,
    /// Why it was not granted.
    #[param(example = "SEAT_UNAVAILABLE")]
    code: Option<String>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// One booking attempt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BookingAttempt)]
pub(crate) struct AttemptBody {
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    /// `null` if it was granted: the journal does not keep it.
    #[schema(required)]
    request_id: Option<String>,
    #[schema(example = "event:gala")]
    inventory: String,
    customer: String,
    #[schema(example = "book")]
    operation: &'static str,
    result: AttemptResult,
    /// `null` if it was granted.
    #[schema(required, example = "SEAT_UNAVAILABLE")]
    code: Option<String>,
    /// The booking, if it was granted.
    #[schema(required)]
    booking: Option<Uuid>,
}

/// What became of an attempt: `failed` if the server is to blame, `refused` if the request or the stock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AttemptResult {
    Granted,
    Refused,
    Failed,
}

/// Lists booking attempts, the newest first.
///
/// Refused and failed attempts are kept for seven days, and at most 1,000,000 of them. Granted ones are listed where `customer` is
/// given and neither `request_id` nor `code` is: each is a booking. For `admin` and `operator`.
#[utoipa::path(
    get,
    path = "/v1/attempts",
    tag = "operations",
    operation_id = "attempts",
    params(
        Wanted,
    ),
    responses(
        (status = 200, description = "A page of attempts.", body = Page<AttemptBody>),
    ),
)]
pub(crate) async fn attempts(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let limit = page::limit(wanted.limit)?;
    let before = match &wanted.cursor {
        Some(cursor) => AttemptId(page::read_cursor(cursor)?),
        None => AttemptId::END,
    };
    if before > AttemptId::END {
        return Err(Problem::invalid("/cursor", "is not a cursor of this list"));
    }
    let granted = granted(&app, &caller, &wanted, before).await?;
    let filter = AttemptFilter {
        tenant: caller.tenant.as_ref().into(),
        request_id: wanted.request_id,
        customer: wanted.customer,
        inventory: wanted.inventory,
        code: wanted.code,
    };
    // What this server has just refused is to be found.
    write_queued(&app).await?;
    let engine = app.engine.clone();
    let not_granted = tokio::task::spawn_blocking(move || engine.attempts(&filter, before, limit + 1))
        .await
        .map_err(|_| crate::outer::broken())??;
    let mut all: Vec<(AttemptId, AttemptBody)> = not_granted
        .into_iter()
        .map(|attempt| (attempt.id, not_granted_body(attempt)))
        .chain(granted)
        .collect();
    all.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    let more = all.len() > limit;
    all.truncate(limit);
    let next_cursor = all.last().filter(|_| more).map(|(id, _)| page::cursor(&id.0));
    let items = all.into_iter().map(|(_, body)| body).collect();
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}

fn not_granted_body(attempt: Attempt) -> AttemptBody {
    AttemptBody {
        at: Moment(attempt.id.at()),
        request_id: Some(attempt.request_id),
        inventory: attempt.inventory,
        customer: attempt.customer,
        operation: "book",
        result: if attempt.failed { AttemptResult::Failed } else { AttemptResult::Refused },
        code: Some(attempt.code),
        booking: None,
    }
}

/// A customer's bookings, each the attempt that made it.
async fn granted(
    app: &App,
    caller: &Caller,
    wanted: &Wanted,
    before: AttemptId,
) -> Result<Vec<(AttemptId, AttemptBody)>, Problem> {
    let mut granted = Vec::new();
    let Some(customer) = wanted.customer.as_deref() else { return Ok(granted) };
    if wanted.request_id.is_some() || wanted.code.is_some() {
        return Ok(granted);
    }
    for listed in app.engine.inventories() {
        let Some((tenant, kind, id)) = parts_of_name(&listed.name) else { continue };
        let inventory = format!("{}:{id}", kind.word());
        if tenant != &*caller.tenant || wanted.inventory.as_ref().is_some_and(|wanted| *wanted != inventory) {
            continue;
        }
        let bookings = app.engine.bookings_of(listed.number, customer).await?;
        let attempts =
            bookings.iter().map(|booking| (id_of(booking), granted_body(booking, inventory.clone())));
        granted.extend(attempts.filter(|(id, _)| *id < before));
    }
    Ok(granted)
}

/// Its place among the attempts: bookings of one millisecond are told apart by the random end of their ids.
fn id_of(booking: &Booking) -> AttemptId {
    let random = booking.id.to_bytes();
    let number = u32::from_be_bytes(*random.last_chunk().expect("ids are longer"));
    AttemptId::new(booking.created_at, u64::from(number) % AFTER_GRANTED)
}

fn granted_body(booking: &Booking, inventory: String) -> AttemptBody {
    AttemptBody {
        at: Moment(booking.created_at),
        request_id: None,
        inventory,
        customer: booking.customer.as_ref().into(),
        operation: "book",
        result: AttemptResult::Granted,
        code: None,
        booking: Some(uuid(booking.id)),
    }
}
