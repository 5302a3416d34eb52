//! `PATCH /v1/schedules/{id}`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{PatchSchedule, PatternPatch};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::ScheduleBody;
use super::create::{NewWindow, dates};
use super::{KIND, changed};
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::Input;
use crate::path::Path;
use crate::problem::Problem;
use crate::rules::{RulesInput, SalesPatch, StatusPatch, terms_patch};
use crate::submit::Asked;
use crate::time::Day;

/// What is to be different about a schedule. What is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SchedulePatch {
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    name: Option<String>,
    #[serde(default)]
    status: Option<StatusPatch>,
    #[serde(default)]
    sales: Option<SalesPatch>,
    #[serde(default)]
    rules: Option<RulesInput>,
    #[serde(default)]
    #[schema(max_items = 96)]
    windows: Option<Vec<NewWindow>>,
    #[serde(default)]
    #[schema(minimum = 1, maximum = 730)]
    days: Option<u16>,
    /// Monday is 1.
    #[serde(default)]
    weekdays: Option<Vec<u8>>,
    #[serde(default)]
    closed_dates: Option<Vec<Day>>,
    #[serde(default)]
    #[schema(minimum = 0, maximum = 730)]
    keep_past_days: Option<u16>,
}

/// Changes a schedule. What is not named stays.
///
/// A new pattern replaces slots that nobody booked and closes booked ones that it no longer has. For `admin`.
#[utoipa::path(
    patch,
    path = "/v1/schedules/{id}",
    tag = "schedules",
    operation_id = "patch_schedule",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        IdempotencyKey,
    ),
    request_body(content = SchedulePatch, example = json!({ "days": 120 })),
    responses(
        (status = 200, description = "The schedule.", body = ScheduleBody),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`"),
    ),
)]
pub(crate) async fn patch(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<SchedulePatch>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let action = Action::PatchSchedule(Box::new(PatchSchedule {
        terms: terms_patch(request.name.as_ref(), request.status, request.sales, request.rules.as_ref()),
        pattern: PatternPatch {
            windows: request.windows.as_ref().map(|windows| windows.iter().map(NewWindow::window).collect()),
            days: request.days,
            weekdays: request.weekdays.as_ref().map(|days| days.iter().copied().collect()),
            closed_dates: request.closed_dates.as_deref().map(dates),
            keep_past_days: request.keep_past_days,
        },
    }));
    let asked =
        Asked { app: &app, caller: &caller, key: &key, operation: "patch schedule", request: &request };
    let granted = asked.send(number, action).await?;
    Ok(changed(StatusCode::OK, &granted))
}
