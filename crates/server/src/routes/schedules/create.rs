//! `POST /v1/schedules`.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::CreateSchedule;
use boxoffice_core::ids::inventory_name;
use boxoffice_core::money::Money;
use boxoffice_core::schedule::{Pattern, Window};
use boxoffice_core::time::Date;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::ScheduleBody;
use super::{KIND, changed};
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::input::{Input, null_as_default};
use crate::problem::Problem;
use crate::routes::new_id;
use crate::rules::{RulesInput, SalesBody, currency};
use crate::submit::Asked;
use crate::time::{Clock, Day};

/// Time slots, made ahead for a rolling number of days.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSchedule {
    /// Made up if nothing is said.
    #[serde(default)]
    #[schema(pattern = "^[a-z0-9][a-z0-9-]{0,62}$", example = "museum")]
    id: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$",
        example = "Museum"
    )]
    name: String,
    /// An IANA name.
    #[schema(example = "Asia/Taipei")]
    timezone: String,
    #[schema(pattern = "^[A-Z]{3}$", example = "TWD")]
    currency: String,
    #[serde(default)]
    sales: Option<SalesBody>,
    #[serde(default)]
    rules: Option<RulesInput>,
    /// The slots of a day.
    #[schema(max_items = 96)]
    windows: Vec<NewWindow>,
    /// How many days ahead, today included; 90 if nothing is said.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 730)]
    days: Option<u16>,
    /// Monday is 1; every day if nothing is said.
    #[serde(default)]
    weekdays: Option<Vec<u8>>,
    #[serde(default)]
    closed_dates: Option<Vec<Day>>,
    /// How long past slots that nobody booked are kept; 7 if nothing is said.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 730)]
    keep_past_days: Option<u16>,
}

/// One slot of every day.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWindow {
    start: Clock,
    end: Clock,
    #[schema(minimum = 1, maximum = 1000000)]
    capacity: u32,
    /// Of one place, in minor units of the currency (cents) [default: 0].
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: i64,
}

const DAYS_DEFAULT: u16 = 90;
const KEEP_PAST_DAYS_DEFAULT: u16 = 7;

/// Creates a schedule and the slots of its first days.
///
/// From then on the window rolls by itself every day. For `admin`.
#[utoipa::path(
    post,
    path = "/v1/schedules",
    tag = "schedules",
    operation_id = "create_schedule",
    params(
        IdempotencyKey,
    ),
    request_body(content = NewSchedule, example = json!({
                "id": "museum",
                "name": "Museum",
                "timezone": "Asia/Taipei",
                "currency": "TWD",
                "windows": [{ "start": "09:00", "end": "12:00", "capacity": 200, "price": 35000 }],
                "days": 90,
                "closed_dates": ["2027-01-01"],
                "rules": { "tickets": "any" },
            })),
    responses(
        (
            status = 201,
            description = "The schedule.",
            body = ScheduleBody,
            links(
                ("show" = (operation_id = "show_schedule", parameters(("id" = "$response.body#/id")))),
                ("change" = (operation_id = "patch_schedule", parameters(("id" = "$response.body#/id")))),
                ("slots" = (operation_id = "list_slots", parameters(("id" = "$response.body#/id")))),
                ("add_slot" = (operation_id = "add_slot", parameters(("id" = "$response.body#/id")))),
                ("import_tickets" = (operation_id = "import_tickets", parameters(("id" = "$response.body#/id")))),
                ("analytics" = (operation_id = "schedule_analytics", parameters(("id" = "$response.body#/id")))),
            ),
        ),
        (status = 409, description = "`ALREADY_EXISTS`"),
    ),
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Input(request): Input<NewSchedule>,
) -> Result<Response, Problem> {
    let id = new_id(&app, &caller, KIND, request.id.as_ref(), &key)?;
    let name = inventory_name(&caller.tenant, KIND, &id);
    let action = request.action(id, app.settings.hold_ttl_seconds)?;
    let asked =
        Asked { app: &app, caller: &caller, key: &key, operation: "create schedule", request: &request };
    let granted = asked.create(&name, action).await?;
    Ok(changed(StatusCode::CREATED, &granted))
}

impl NewSchedule {
    fn action(&self, id: String, hold_ttl_seconds: Option<u32>) -> Result<Action, Problem> {
        let pattern = Pattern {
            windows: self.windows.iter().map(NewWindow::window).collect(),
            days: self.days.unwrap_or(DAYS_DEFAULT),
            weekdays: self
                .weekdays
                .as_ref()
                .map_or_else(|| (1..=7).collect(), |days| days.iter().copied().collect()),
            closed_dates: dates(self.closed_dates.as_deref().unwrap_or_default()),
            keep_past_days: self.keep_past_days.unwrap_or(KEEP_PAST_DAYS_DEFAULT),
        };
        Ok(Action::CreateSchedule(Box::new(CreateSchedule {
            id,
            name: self.name.clone(),
            timezone: self.timezone.clone(),
            currency: currency(&self.currency)?,
            sales: self.sales.unwrap_or_default().window(),
            rules: RulesInput::patch_of_new(self.rules.as_ref(), hold_ttl_seconds),
            pattern,
        })))
    }
}

impl NewWindow {
    pub(crate) fn window(&self) -> Window {
        Window { start: self.start.0, end: self.end.0, capacity: self.capacity, price: Money(self.price) }
    }
}

pub(crate) fn dates(days: &[Day]) -> BTreeSet<Date> {
    days.iter().map(|day| day.0).collect()
}
