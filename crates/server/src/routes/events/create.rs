//! `POST /v1/events`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::CreateEvent;
use boxoffice_core::event::{AreaPlan, SectionPlan, SubsectionPlan};
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::ids::inventory_name;
use boxoffice_core::money::Money;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::EventBody;
use super::{KIND, changed};
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::input::Input;
use crate::problem::Problem;
use crate::routes::bookings::new_booking::parse_seats;
use crate::routes::new_id;
use crate::rules::{RulesInput, SalesBody, currency};
use crate::submit::Asked;
use crate::time::Moment;

/// A show with seated sections, standing areas, or both.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewEvent {
    /// Made up if nothing is said.
    #[serde(default)]
    #[schema(pattern = "^[a-z0-9][a-z0-9-]{0,62}$", example = "gala")]
    id: Option<String>,
    #[schema(
        min_length = 1,
        max_length = 200,
        pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$",
        example = "Summer Gala"
    )]
    name: String,
    #[schema(pattern = "^[A-Z]{3}$", example = "TWD")]
    currency: String,
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    starts_at: Option<Moment>,
    /// When visitors are admitted; not later than `ends_at`.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    doors_open_at: Option<Moment>,
    /// Later than `starts_at`.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    ends_at: Option<Moment>,
    /// IANA name; `UTC` if absent.
    #[serde(default)]
    #[schema(example = "Asia/Taipei")]
    timezone: Option<String>,
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    venue: Option<String>,
    /// May have several lines.
    #[serde(default)]
    #[schema(
        min_length = 1,
        max_length = 4000,
        pattern = "^[^\\u0000-\\u0008\\u000B\\u000C\\u000E-\\u001F\\u007F-\\u009F]+$"
    )]
    description: Option<String>,
    #[serde(default)]
    sales: Option<SalesBody>,
    #[serde(default)]
    rules: Option<RulesInput>,
    /// In the order best available tries them.
    #[serde(default)]
    sections: Option<Vec<NewSection>>,
    #[serde(default)]
    areas: Option<Vec<NewArea>>,
}

/// A section: what costs the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewSection {
    #[schema(
        min_length = 1,
        max_length = 32,
        pattern = "^[^-\\u0000-\\u001F\\u007F-\\u009F]+$",
        example = "A"
    )]
    name: String,
    /// Of one seat, in minor units of the currency (cents): 300000 is NT$3,000.
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: i64,
    #[schema(min_items = 1)]
    subsections: Vec<NewSubsection>,
}

/// A rectangle of seats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewSubsection {
    #[schema(minimum = 1, maximum = 65535, example = 1)]
    number: u16,
    #[schema(minimum = 1, maximum = 1000, example = 25)]
    rows: u16,
    #[schema(minimum = 1, maximum = 1000, example = 20)]
    cols: u16,
    /// House seats.
    #[serde(default)]
    blocked: Option<Vec<String>>,
}

/// A standing area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewArea {
    #[schema(
        min_length = 1,
        max_length = 32,
        pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$",
        example = "standing"
    )]
    name: String,
    /// Of one place, in minor units of the currency (cents): 150000 is NT$1,500.
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    price: i64,
    #[schema(minimum = 1, maximum = 1000000)]
    capacity: u32,
}

/// Creates an event.
///
/// For `admin`.
#[utoipa::path(
    post,
    path = "/v1/events",
    tag = "events",
    operation_id = "create_event",
    params(
        IdempotencyKey,
    ),
    request_body(content = NewEvent, example = json!({
                "id": "gala",
                "name": "Summer Gala",
                "currency": "TWD",
                "starts_at": "2027-12-24T11:00:00Z",
                "doors_open_at": "2027-12-24T10:00:00Z",
                "ends_at": "2027-12-24T14:00:00Z",
                "timezone": "Asia/Taipei",
                "venue": "Opera House",
                "rules": { "hold_ttl_seconds": 900, "max_units_per_booking": 10 },
                "sections": [{
                    "name": "A",
                    "price": 300000,
                    "subsections": [{ "number": 1, "rows": 25, "cols": 20, "blocked": ["25-20"] }],
                }],
                "areas": [{ "name": "standing", "price": 150000, "capacity": 5000 }],
            })),
    responses(
        (
            status = 201,
            description = "The event.",
            body = EventBody,
            links(
                ("show" = (operation_id = "show_event", parameters(("id" = "$response.body#/id")))),
                ("change" = (operation_id = "patch_event", parameters(("id" = "$response.body#/id")))),
                ("seats" = (operation_id = "list_seats", parameters(("id" = "$response.body#/id")))),
                ("block" = (operation_id = "block_seats", parameters(("id" = "$response.body#/id")))),
                ("cancel" = (operation_id = "cancel_event", parameters(("id" = "$response.body#/id")))),
                ("delete" = (operation_id = "delete_event", parameters(("id" = "$response.body#/id")))),
                ("unblock" = (operation_id = "unblock_seats", parameters(("id" = "$response.body#/id")))),
            ),
        ),
        (status = 409, description = "`ALREADY_EXISTS`"),
    ),
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Input(request): Input<NewEvent>,
) -> Result<Response, Problem> {
    let id = new_id(&app, &caller, KIND, request.id.as_ref(), &key)?;
    let name = inventory_name(&caller.tenant, KIND, &id);
    let action = request.action(id, app.settings.hold_ttl_seconds)?;
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: "create event", request: &request };
    let granted = asked.create(&name, action).await?;
    Ok(changed(StatusCode::CREATED, &granted))
}

impl NewEvent {
    fn info(&self) -> EventInfo {
        EventInfo {
            starts_at: self.starts_at.map(|moment| moment.0),
            doors_open_at: self.doors_open_at.map(|moment| moment.0),
            ends_at: self.ends_at.map(|moment| moment.0),
            timezone: self.timezone.clone().unwrap_or(EventInfo::default().timezone),
            venue: self.venue.clone(),
            description: self.description.clone(),
        }
    }

    fn action(&self, id: String, hold_ttl_seconds: Option<u32>) -> Result<Action, Problem> {
        let sections = self.sections.as_deref().unwrap_or_default().iter().enumerate();
        let sections = sections.map(|(index, section)| section.plan(&format!("/sections/{index}")));
        let areas = self.areas.as_deref().unwrap_or_default().iter();
        Ok(Action::CreateEvent(Box::new(CreateEvent {
            id,
            name: self.name.clone(),
            currency: currency(&self.currency)?,
            info: self.info(),
            sales: self.sales.unwrap_or_default().window(),
            rules: RulesInput::patch_of_new(self.rules.as_ref(), hold_ttl_seconds),
            sections: sections.collect::<Result<_, _>>()?,
            areas: areas.map(NewArea::plan).collect(),
        })))
    }
}

impl NewSection {
    fn plan(&self, pointer: &str) -> Result<SectionPlan, Problem> {
        let subsections = self.subsections.iter().enumerate().map(|(index, subsection)| {
            let names = subsection.blocked.as_deref().unwrap_or_default();
            Ok(SubsectionPlan {
                number: subsection.number,
                rows: subsection.rows,
                cols: subsection.cols,
                blocked: parse_seats(names, &format!("{pointer}/subsections/{index}/blocked"))?,
            })
        });
        Ok(SectionPlan {
            name: self.name.clone(),
            price: Money(self.price),
            subsections: subsections.collect::<Result<_, Problem>>()?,
        })
    }
}

impl NewArea {
    fn plan(&self) -> AreaPlan {
        AreaPlan { name: self.name.clone(), price: Money(self.price), capacity: self.capacity }
    }
}
