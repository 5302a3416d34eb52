//! `GET /v1/attempts`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::booking::Booking;
use boxoffice_core::ids::parts_of_name;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::attempt::{Attempt, AttemptFilter, AttemptId, AttemptPage};
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

/// Bookings that are read at one time.
const READ_AT_ONCE: usize = 500;

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
/// Refused and failed attempts are kept for seven days, and at most 1,000,000 of them. Granted ones are the bookings; they are listed
/// unless `request_id` or `code` is given. A booking under `Prefer: respond-async`
/// is listed once it is decided. For `admin` and `operator`.
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
    let mut granted = granted(&app, &caller, &wanted, before, limit).await?;
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
    let AttemptPage { found, searched_to } = not_granted;
    // What was not searched yet may come before older bookings.
    granted.retain(|(id, _)| searched_to.is_none_or(|searched_to| *id >= searched_to));
    let mut all: Vec<(AttemptId, AttemptBody)> =
        found.into_iter().map(|attempt| (attempt.id, not_granted_body(attempt))).chain(granted).collect();
    all.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    let more = all.len() > limit;
    all.truncate(limit);
    let next = if more { all.last().map(|(id, _)| *id) } else { searched_to };
    let next_cursor = next.map(|id| page::cursor(&id.0));
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

/// Bookings, each the attempt that made it: a customer's, or the newest. Journals do not say by which request.
async fn granted(
    app: &App,
    caller: &Caller,
    wanted: &Wanted,
    before: AttemptId,
    limit: usize,
) -> Result<Vec<(AttemptId, AttemptBody)>, Problem> {
    let mut granted = Vec::new();
    if wanted.request_id.is_some() || wanted.code.is_some() {
        return Ok(granted);
    }
    for listed in app.engine.inventories() {
        let Some((tenant, kind, id)) = parts_of_name(&listed.name) else { continue };
        let inventory = format!("{}:{id}", kind.word());
        if tenant != &*caller.tenant || wanted.inventory.as_ref().is_some_and(|wanted| *wanted != inventory) {
            continue;
        }
        let bookings = match &wanted.customer {
            Some(customer) => app.engine.bookings_of(listed.number, customer).await?,
            None => newest(app, listed.number, before, limit).await?,
        };
        let attempts =
            bookings.iter().map(|booking| (id_of(booking), granted_body(booking, inventory.clone())));
        granted.extend(attempts.filter(|(id, _)| *id < before));
    }
    Ok(granted)
}

/// More than `limit` of the newest bookings before an attempt, if there are so many, and all others of the same millisecond as the last.
async fn newest(
    app: &App,
    inventory: InventoryNumber,
    before: AttemptId,
    limit: usize,
) -> Result<Vec<Arc<Booking>>, Problem> {
    let (mut found, mut place): (Vec<Arc<Booking>>, _) = (Vec::new(), usize::MAX);
    loop {
        let older = |at: usize, booking: &Booking| at < place && booking.created_at <= before.at();
        let page = app.engine.bookings_before(inventory, READ_AT_ONCE, older).await?;
        for (at, booking) in &page {
            if found.get(limit).is_some_and(|last| booking.created_at < last.created_at) {
                return Ok(found);
            }
            place = *at;
            if id_of(booking) < before {
                found.push(Arc::clone(booking));
            }
        }
        if page.len() < READ_AT_ONCE {
            return Ok(found);
        }
    }
}

/// Its place among the attempts: bookings of one millisecond are told apart by random bytes of their ids.
fn id_of(booking: &Booking) -> AttemptId {
    // The first are the time, the last the inventory.
    let [.., a, b, c, _, _, _, _] = booking.id.to_bytes();
    AttemptId::new(booking.created_at, u64::from(u32::from_be_bytes([0, a, b, c])) % AFTER_GRANTED)
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
