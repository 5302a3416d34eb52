//! `/v1/schedules/{id}/slots`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{AddSlot, DeleteSlot, PatchSlot};
use boxoffice_core::money::Money;
use boxoffice_core::outcome::Grant;
use boxoffice_core::schedule::{Slot, Window};
use boxoffice_core::time::{Date, Minute, SlotId};
use boxoffice_engine::view::ScheduleView;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::SlotBody;
use super::{KIND, find, schedule_of};
use crate::app::App;
use crate::caller::{Caller, RunsSales};
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::Input;
use crate::outer::{json, no_content};
use crate::page::{self, Page};
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::bookings::new_booking::parse_slot;
use crate::submit::{Asked, Granted};
use crate::time::{Clock, Day};

/// Which slots are wanted: of all days between two, both included.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    #[param(inline)]
    pub(super) from: Option<Day>,
    #[param(inline)]
    pub(super) to: Option<Day>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// The slots of all days between two, both included, in order of time.
pub(super) fn between(
    schedule: &ScheduleView,
    from: Option<Day>,
    to: Option<Day>,
) -> Result<impl Iterator<Item = (SlotId, &Slot)>, Problem> {
    if from.zip(to).is_some_and(|(from, to)| to < from) {
        return Err(Problem::invalid("/to", "must not be before from"));
    }
    let first = SlotId { date: from.map_or(Date(i32::MIN), |day| day.0), start: Minute(0) };
    let last = SlotId { date: to.map_or(Date(i32::MAX), |day| day.0), start: Minute(u16::MAX) };
    Ok(schedule.slots.range(first..=last).map(|(id, slot)| (*id, slot)))
}

/// Lists slots in order of time, and what is left of them.
///
/// A range with both ends named is answered whole unless `limit` is given.
#[utoipa::path(
    get,
    path = "/v1/schedules/{id}/slots",
    tag = "schedules",
    operation_id = "list_slots",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        Wanted,
    ),
    responses(
        (status = 200, description = "A page of slots.", body = Page<SlotBody>),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`"),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let stock = find(&app, &caller, &id).await?;
    // A named range is answered whole unless a limit is asked for: calendars show months.
    let limit = match wanted.limit {
        None if wanted.from.is_some() && wanted.to.is_some() => usize::MAX,
        given => page::limit(given)?,
    };
    let after = match &wanted.cursor {
        Some(cursor) => Some(page::read_cursor::<SlotId>(cursor)?),
        None => None,
    };
    let slots = between(schedule_of(&stock, &id)?, wanted.from, wanted.to)?;
    let mut slots = slots.filter(|(slot, _)| after.is_none_or(|after| *slot > after));
    let now = app.engine.now();
    let mut items = Vec::new();
    let mut last = None;
    for (slot, properties) in slots.by_ref().take(limit) {
        items.push(SlotBody::new(slot, properties, now));
        last = Some(slot);
    }
    let next_cursor = slots.next().and(last).map(|last| page::cursor(&last));
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}

/// A slot beside those that the pattern makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSlot {
    date: Day,
    start: Clock,
    end: Clock,
    #[schema(minimum = 1, maximum = 1000000)]
    capacity: u32,
    /// Of one place, in minor units of the currency (cents) [default: 0].
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: Option<i64>,
}

/// Adds a slot beside those that the pattern makes.
///
/// For `admin` and `operator`.
#[utoipa::path(
    post,
    path = "/v1/schedules/{id}/slots",
    tag = "schedules",
    operation_id = "add_slot",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        IdempotencyKey,
    ),
    request_body(content = NewSlot, example = json!({ "date": "2027-12-01", "start": "20:00", "end": "21:00", "capacity": 20 })),
    responses(
        (
            status = 201,
            description = "The slot.",
            body = SlotBody,
            links(
                ("change" = (operation_id = "patch_slot", parameters(("id" = "$request.path.id"), ("slot" = "$response.body#/id")))),
                ("delete" = (operation_id = "delete_slot", parameters(("id" = "$request.path.id"), ("slot" = "$response.body#/id")))),
            ),
        ),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`"),
        (status = 409, description = "`SLOT_ALREADY_EXISTS`, `CANNOT_CREATE_PAST_SLOT`"),
    ),
)]
pub(crate) async fn add(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<NewSlot>,
) -> Result<Response, Problem> {
    let window = Window {
        start: request.start.0,
        end: request.end.0,
        capacity: request.capacity,
        price: Money(request.price.unwrap_or(0)),
    };
    let action = Action::AddSlot(AddSlot { date: request.date.0, window });
    let granted = send(&app, &caller, &key, &id, ("add slot", &request), action).await?;
    Ok(answered(StatusCode::CREATED, &granted))
}

/// What is to be different about a slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlotPatch {
    #[serde(default)]
    status: Option<SlotWord>,
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000000)]
    total_capacity: Option<u32>,
    /// Of one place, in minor units of the currency (cents), for bookings from now on.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: Option<i64>,
}

/// Whether the operator lets a slot or box sell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schema(as = OpenOrClosed)]
pub(crate) enum SlotWord {
    Active,
    Closed,
}

/// Closes or opens a slot, or changes its capacity or price.
///
/// For `admin` and `operator`.
#[utoipa::path(
    patch,
    path = "/v1/schedules/{id}/slots/{slot}",
    tag = "schedules",
    operation_id = "patch_slot",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        ("slot" = String, Path, description = "The slot.", example = "2027-12-01T18:00"),
        IdempotencyKey,
    ),
    request_body(content = SlotPatch, example = json!({ "status": "CLOSED" })),
    responses(
        (status = 200, description = "The slot.", body = SlotBody),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`, `SLOT_NOT_FOUND`"),
        (status = 409, description = "`CAPACITY_BELOW_BOOKED_COUNT`"),
    ),
)]
pub(crate) async fn patch(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path((id, slot)): Path<(String, String)>,
    Input(request): Input<SlotPatch>,
) -> Result<Response, Problem> {
    let slot = find_slot(&slot)?;
    let closed = request.status.map(|word| word == SlotWord::Closed);
    let (capacity, price) = (request.total_capacity, request.price.map(Money));
    let action = Action::PatchSlot(PatchSlot { slot, closed, capacity, price });
    let operation = format!("patch slot {slot}");
    let granted = send(&app, &caller, &key, &id, (&operation, &request), action).await?;
    Ok(answered(StatusCode::OK, &granted))
}

/// Removes a slot in which nothing is booked.
///
/// For `admin` and `operator`.
#[utoipa::path(
    delete,
    path = "/v1/schedules/{id}/slots/{slot}",
    tag = "schedules",
    operation_id = "delete_slot",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        ("slot" = String, Path, description = "The slot.", example = "2027-12-01T18:00"),
        IdempotencyKey,
    ),
    responses(
        (status = 204, description = "It is gone."),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`, `SLOT_NOT_FOUND`"),
        (status = 409, description = "`SLOT_HAS_BOOKINGS`"),
    ),
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path((id, slot)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let slot = find_slot(&slot)?;
    let operation = format!("delete slot {slot}");
    let action = Action::DeleteSlot(DeleteSlot { slot });
    let granted = send(&app, &caller, &key, &id, (&operation, &()), action).await?;
    Ok(no_content(granted.answer.replayed))
}

/// A slot's id from the path. What is not one cannot name a slot.
fn find_slot(text: &str) -> Result<SlotId, Problem> {
    parse_slot(text, "").map_err(|_| Problem::not_found("SLOT_NOT_FOUND", "There is no such slot."))
}

async fn send<T: Serialize>(
    app: &App,
    caller: &Caller,
    key: &IdempotencyKey,
    id: &str,
    (operation, request): (&str, &T),
    action: Action,
) -> Result<Granted, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, id).await?;
    Asked { app, caller, key, operation, request }.send(number, action).await
}

fn answered(status: StatusCode, granted: &Granted) -> Response {
    let Grant::Slot(slot) = granted.grant() else { unreachable!("answered with the slot") };
    let mut body = SlotBody::new(slot.0, &slot.1, granted.answer.decided_at);
    body.sequence = Some(granted.answer.sequence);
    json(status, &body, granted.answer.replayed)
}
