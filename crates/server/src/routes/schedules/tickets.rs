//! `PUT` and `GET /v1/schedules/{id}/tickets`, and one ticket.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::booking::Units;
use boxoffice_core::command::Action;
use boxoffice_core::commands::{Destination, ImportTickets, Move};
use boxoffice_core::ids::BookingId;
use boxoffice_core::outcome::Grant;
use boxoffice_core::rules::TicketRule;
use boxoffice_core::schedule::Ticket;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::{InventoryNumber, TicketView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::KIND;
use crate::answer::ticket_not_reserved;
use crate::app::App;
use crate::caller::{Caller, RunsSales, check_may_act};
use crate::idempotency::IdempotencyKey;
use crate::ids::{TicketId, find_inventory, uuid};
use crate::input::{Input, LargeInput};
use crate::outer::json;
use crate::page::{self, Page};
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::bookings::cancel::Cancellation;
use crate::routes::bookings::new_booking::parse_slot;
use crate::routes::bookings::{BookingBody, Expansion, act_on};
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
    #[schema(value_type = TicketId)]
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

/// Which tickets are wanted.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    #[param(inline)]
    status: Option<TicketState>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// What a ticket can do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TicketState {
    /// It may book.
    Activated,
    /// It is in a booking on hold or confirmed.
    Reserved,
    /// It was redeemed.
    Used,
    /// It may no longer book.
    Expired,
    /// It is registered as inactive, or not registered where only registered tickets may book.
    Inactive,
}

/// A ticket of a schedule: one that was registered, or that a booking names.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ticket)]
pub(crate) struct TicketBody {
    #[schema(example = "TKT-2025-ABC123")]
    id: String,
    status: TicketState,
    /// The booking that has it, for callers who may see that booking.
    #[schema(required)]
    booking: Option<Uuid>,
    /// The slot of that booking.
    #[schema(required, example = "2027-12-01T18:00")]
    slot: Option<String>,
    /// Until when it may book.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    expires_at: Option<Moment>,
}

/// Tickets looked at for one answer. A filter that few of them pass gives a short page and a cursor.
const LOOKED_AT_MAX: usize = 100_000;
const READ_AT_ONCE: usize = 1_000;

/// Lists tickets in order of id, with their bookings.
///
/// Registered ones, and those that bookings name. For `admin` and `operator`.
#[utoipa::path(
    get,
    path = "/v1/schedules/{id}/tickets",
    tag = "schedules",
    operation_id = "list_tickets",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        Wanted,
    ),
    responses(
        (status = 200, description = "A page of tickets.", body = Page<TicketBody>),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`"),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let stock = app.engine.view(number).await?;
    let reader = Reader { caller: &caller, rule: stock.terms.rules.tickets, now: app.engine.now() };
    let limit = page::limit(wanted.limit)?;
    let mut after = match &wanted.cursor {
        Some(cursor) => page::read_cursor::<String>(cursor)?,
        None => String::new(),
    };
    let (mut items, mut looked_at, mut more) = (Vec::new(), 0, true);
    while more && items.len() < limit && looked_at < LOOKED_AT_MAX {
        let tickets = app.engine.tickets_after(number, &after, READ_AT_ONCE).await?;
        more = tickets.len() == READ_AT_ONCE;
        looked_at += tickets.len();
        for ticket in tickets {
            if items.len() == limit {
                more = true;
                break;
            }
            after = ticket.id.to_string();
            let body = reader.body(&ticket);
            if wanted.status.is_none_or(|status| status == body.status) {
                items.push(body);
            }
        }
    }
    let next_cursor = more.then(|| page::cursor(&after));
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}

/// Shows a ticket with its booking.
///
/// Not for `public`.
#[utoipa::path(
    get,
    path = "/v1/schedules/{id}/tickets/{ticket}",
    tag = "schedules",
    operation_id = "show_ticket",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        ("ticket" = String, Path, description = "The ticket.", example = "TKT-2025-ABC123"),
    ),
    responses(
        (status = 200, description = "The ticket.", body = TicketBody),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`, `TICKET_NOT_FOUND`"),
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((id, ticket)): Path<(String, String)>,
) -> Result<Response, Problem> {
    caller.must_be_trusted()?;
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let stock = app.engine.view(number).await?;
    let found = app.engine.ticket(number, &ticket).await?.ok_or_else(|| ticket_not_found(&ticket))?;
    let reader = Reader { caller: &caller, rule: stock.terms.rules.tickets, now: app.engine.now() };
    Ok(json(StatusCode::OK, &reader.body(&found), false))
}

/// Who reads tickets, and when.
struct Reader<'a> {
    caller: &'a Caller,
    rule: TicketRule,
    now: Timestamp,
}

impl Reader<'_> {
    fn body(&self, ticket: &TicketView) -> TicketBody {
        let seen = ticket.booking.as_ref().filter(|booking| self.caller.sees(booking));
        let slot = seen.and_then(|booking| match &booking.units {
            Units::Slot { slot, .. } => Some(slot.to_string()),
            Units::Event { .. } | Units::Box { .. } => None,
        });
        TicketBody {
            id: ticket.id.to_string(),
            status: self.state(ticket),
            booking: seen.map(|booking| uuid(booking.id)),
            slot,
            expires_at: ticket.registered.and_then(|ticket| ticket.expires_at).map(Moment),
        }
    }

    fn state(&self, ticket: &TicketView) -> TicketState {
        if ticket.booking.is_some() {
            return if ticket.is_used() { TicketState::Used } else { TicketState::Reserved };
        }
        match ticket.registered {
            None if self.rule == TicketRule::Registered => TicketState::Inactive,
            None => TicketState::Activated,
            Some(known) if !known.active => TicketState::Inactive,
            Some(known) if known.expires_at.is_some_and(|at| at <= self.now) => TicketState::Expired,
            Some(_) => TicketState::Activated,
        }
    }
}

/// Cancels the booking that a ticket is in.
///
/// All of the booking, also if it has other tickets. A ticket that is in no booking on hold or confirmed is refused.
#[utoipa::path(
    post,
    path = "/v1/schedules/{id}/tickets/{ticket}/cancel",
    tag = "schedules",
    operation_id = "cancel_ticket",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        ("ticket" = String, Path, description = "The ticket.", example = "TKT-2025-ABC123"),
        Caller,
        Expansion,
        IdempotencyKey,
    ),
    request_body(content = Cancellation, example = json!({ "reason": "changed their mind" })),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`, `TICKET_NOT_FOUND`"),
        (status = 409, description = "`TICKET_NOT_RESERVED`, `NOT_CANCELLABLE`"),
    ),
)]
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path((id, ticket)): Path<(String, String)>,
    Query(expansion): Query<Expansion>,
    Input(request): Input<Cancellation>,
) -> Result<Response, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let booking = booking_of(&app, &caller, number, &ticket).await?;
    let action = request.action(booking, Some(&ticket));
    let operation = format!("cancel ticket {ticket}");
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: &operation, request: &request };
    act_on(&asked, number, action, expansion).await
}

/// The slot to move to.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TicketMove {
    #[schema(example = "2027-12-02T09:00")]
    slot: String,
}

/// Moves the booking that a ticket is in to another slot.
///
/// All of the booking, also if it has other tickets. Old and new places are swapped in one step, or nothing changes.
#[utoipa::path(
    post,
    path = "/v1/schedules/{id}/tickets/{ticket}/move",
    tag = "schedules",
    operation_id = "move_ticket",
    params(
        ("id" = String, Path, description = "The schedule.", example = "museum"),
        ("ticket" = String, Path, description = "The ticket.", example = "TKT-2025-ABC123"),
        Caller,
        Expansion,
        IdempotencyKey,
    ),
    request_body(content = TicketMove),
    responses(
        (status = 200, description = "The booking.", body = BookingBody),
        (status = 404, description = "`SCHEDULE_NOT_FOUND`, `TICKET_NOT_FOUND`, `SLOT_NOT_FOUND`"),
        (status = 409, description = "`TICKET_NOT_RESERVED`, `NOT_MOVABLE`, `NEW_SLOT_FULL`, `SLOT_CLOSED`, `SLOT_PAST`"),
    ),
)]
pub(crate) async fn move_ticket(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Path((id, ticket)): Path<(String, String)>,
    Query(expansion): Query<Expansion>,
    Input(request): Input<TicketMove>,
) -> Result<Response, Problem> {
    let to = Destination::Slot(parse_slot(&request.slot, "/slot")?);
    let number = find_inventory(&app.engine, &caller.tenant, KIND, &id).await?;
    let booking = booking_of(&app, &caller, number, &ticket).await?;
    let free_only = !caller.may_take_money();
    let action =
        Action::Move(Box::new(Move { booking, to, free_only, ticket: Some(ticket.as_str().into()) }));
    let operation = format!("move ticket {ticket}");
    let asked = Asked { app: &app, caller: &caller, key: &key, operation: &operation, request: &request };
    act_on(&asked, number, action, expansion).await
}

/// The booking that a request about a ticket is about: the one that has the ticket, or else the newest that had it, so that a request
/// that is sent again under its key finds its answer. Only among those that the caller may act on.
async fn booking_of(
    app: &App,
    caller: &Caller,
    schedule: InventoryNumber,
    ticket: &str,
) -> Result<BookingId, Problem> {
    let found = app.engine.ticket(schedule, ticket).await?.ok_or_else(|| ticket_not_found(ticket))?;
    let named = app.engine.bookings_of_ticket(schedule, ticket).await?;
    if named.is_empty() {
        return Err(ticket_not_reserved(ticket));
    }
    let mut refused = None;
    for booking in found.booking.iter().chain(&named) {
        match check_may_act(app, caller, booking) {
            Ok(()) => return Ok(booking.id),
            Err(problem) => refused = refused.or(Some(problem)),
        }
    }
    // Another seller's ticket is not found, as its booking is not.
    Err(refused
        .filter(|problem| problem.code != "BOOKING_NOT_FOUND")
        .unwrap_or_else(|| ticket_not_found(ticket)))
}

fn ticket_not_found(ticket: &str) -> Problem {
    Problem::not_found("TICKET_NOT_FOUND", format!("There is no ticket {ticket:?}."))
}
