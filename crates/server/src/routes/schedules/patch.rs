//! `PATCH /v1/schedules/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{PatchSchedule, PatternPatch};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::create::{NewWindow, dates};
use super::{KIND, changed};
use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::Input;
use crate::problem::Problem;
use crate::rules::{RulesInput, SalesPatch, StatusWord, terms_patch};
use crate::submit::Asked;
use crate::time::Day;

/// What is to be different about a schedule. What is not named stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SchedulePatch {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    status: Option<StatusWord>,
    #[serde(default)]
    sales: Option<SalesPatch>,
    #[serde(default)]
    rules: Option<RulesInput>,
    #[serde(default)]
    windows: Option<Vec<NewWindow>>,
    #[serde(default)]
    days: Option<u16>,
    #[serde(default)]
    weekdays: Option<Vec<u8>>,
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    closed_dates: Option<Vec<Day>>,
    #[serde(default)]
    keep_past_days: Option<u16>,
}

pub(crate) async fn patch(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Input(request): Input<SchedulePatch>,
) -> Result<Response, Problem> {
    caller.must_be_admin()?;
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id)?;
    let standing = app.engine.view(number).await?;
    let action = Action::PatchSchedule(Box::new(PatchSchedule {
        terms: terms_patch(
            &standing.terms,
            request.name.as_ref(),
            request.status,
            request.sales,
            request.rules.as_ref(),
        ),
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
