//! `PUT /v1/schedules/{id}/tickets`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::commands::ImportTickets;
use boxoffice_core::outcome::Grant;
use boxoffice_core::schedule::Ticket;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::KIND;
use crate::app::App;
use crate::caller::RunsSales;
use crate::idempotency::IdempotencyKey;
use crate::ids::find_inventory;
use crate::input::LargeInput;
use crate::outer::json;
use crate::path::Path;
use crate::problem::Problem;
use crate::submit::Asked;
use crate::time::Moment;

/// Tickets to be added or updated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = TicketImport)]
pub(crate) struct Import {
    tickets: Vec<NewTicket>,
}

/// A printed ticket.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTicket {
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$",
        example = "TKT-2025-ABC123"
    )]
    id: String,
    status: TicketWord,
    /// Until when it may book.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Moment>,
}

/// Whether a ticket may book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TicketStatus)]
enum TicketWord {
    Active,
    Inactive,
}

/// What became of an import.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TicketImported)]
pub(crate) struct Imported {
    added: u32,
    updated: u32,
    sequence: u64,
}

/// Adds or updates tickets.
///
/// With the rule `tickets: registered` only these may book. For `admin` and `operator`.
#[utoipa::path(
    put,
    path = "/v1/schedules/{id}/tickets",
    tag = "schedules",
    operation_id = "import_tickets",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        IdempotencyKey,
    ),
    request_body(content = Import, example = json!({ "tickets": [{ "id": "TKT-2025-ABC123", "status": "active" }] })),
    responses(
        (status = 200, description = "How many were new.", body = Imported),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`"),
    ),
)]
pub(crate) async fn import(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    key: IdempotencyKey,
    Path(id): Path<String>,
    LargeInput(request): LargeInput<Import>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let tickets = request.tickets.iter().map(|ticket| {
        let expires_at = ticket.expires_at.map(|moment| moment.0);
        (ticket.id.as_str().into(), Ticket { active: ticket.status == TicketWord::Active, expires_at })
    });
    let action = Action::ImportTickets(ImportTickets { tickets: tickets.collect() });
    let asked =
        Asked { app: &app, caller: &caller, key: &key, operation: "import tickets", request: &request };
    let granted = asked.send(number, action).await?;
    let &Grant::Tickets { added, updated } = granted.grant() else { unreachable!("answered with counts") };
    let body = Imported { added, updated, sequence: granted.answer.sequence };
    Ok(json(StatusCode::OK, &body, granted.answer.replayed))
}
