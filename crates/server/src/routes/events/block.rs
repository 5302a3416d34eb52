//! `POST /v1/events/{id}/block` and `/unblock`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{BlockSeats, SectionSeats, UnblockSeats};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::EventBody;
use super::{KIND, changed};
use crate::app::App;
use crate::caller::{Caller, RunsSales};
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;
use crate::routes::bookings::new_booking::parse_seats;
use crate::submit::Asked;

/// House seats of one subsection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HouseSeats {
    #[schema(example = "A-1")]
    section: String,
    #[schema(example = json!(["1-1", "1-2"]))]
    seats: Vec<String>,
}

impl HouseSeats {
    fn seats(&self) -> Result<SectionSeats, Problem> {
        Ok(SectionSeats { section: self.section.clone(), seats: parse_seats(&self.seats, "/seats")? })
    }
}

/// Takes house seats out of sale.
///
/// Only available seats can be blocked. For `admin` and `operator`.
#[utoipa::path(
    post,
    path = "/v1/events/{id}/block",
    tag = "events",
    operation_id = "block_seats",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
        IdempotencyKey,
    ),
    request_body = HouseSeats,
    responses(
        (status = 200, description = "The event.", body = EventBody),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SECTION_NOT_FOUND`, `SEAT_NOT_FOUND`"),
        (status = 409, description = "`SEAT_UNAVAILABLE`"),
    ),
)]
pub(crate) async fn block(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<HouseSeats>,
) -> Result<Response, Problem> {
    let action = Action::BlockSeats(BlockSeats { seats: request.seats()? });
    send(&app, &caller, &key, &id, ("block", &request), action).await
}

/// Puts house seats on sale.
///
/// For `admin` and `operator`.
#[utoipa::path(
    post,
    path = "/v1/events/{id}/unblock",
    tag = "events",
    operation_id = "unblock_seats",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
        IdempotencyKey,
    ),
    request_body = HouseSeats,
    responses(
        (status = 200, description = "The event.", body = EventBody),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SECTION_NOT_FOUND`, `SEAT_NOT_FOUND`"),
    ),
)]
pub(crate) async fn unblock(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<HouseSeats>,
) -> Result<Response, Problem> {
    let action = Action::UnblockSeats(UnblockSeats { seats: request.seats()? });
    send(&app, &caller, &key, &id, ("unblock", &request), action).await
}

async fn send(
    app: &App,
    caller: &Caller,
    key: &IdempotencyKey,
    id: &str,
    (operation, request): (&str, &HouseSeats),
    action: Action,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, id).await?;
    let granted = Asked { app, caller, key, operation, request }.send(number, action).await?;
    Ok(changed(StatusCode::OK, &granted))
}
