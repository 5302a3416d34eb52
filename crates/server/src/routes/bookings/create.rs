//! `POST /v1/bookings`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use boxoffice_cluster::redis::RefusedBooking;
use boxoffice_core::booking::Status;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::Book;
use boxoffice_core::ids::BookingId;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::ids::booking_id;
use boxoffice_engine::{Answer, InventoryNumber, SubmitError};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::body::{AsOf, BookingBody, kind_of};
use super::new_booking::NewBooking;
use super::slot_info::Expansion;
use crate::app::App;
use crate::attempts;
use crate::caller::Caller;
use crate::contacts::{ContactKeys, made_no_booking, was_not_done};
use crate::idempotency::IdempotencyKey;
use crate::ids::uuid;
use crate::input::{parse, read_small_body};
use crate::outer::{RequestId, json};
use crate::problem::{Problem, ProblemBody};
use crate::query::Query;
use crate::rates::DECIDED_WITHIN_SECONDS;
use crate::routes::idempotency_key_reused;
use crate::submit::{Asked, Granted, stock_after, untold};

/// Where bookings are made.
pub(crate) const ROUTE: &str = "/v1/bookings";

/// The fingerprint of every booking names this; the inventory is told by where the key is kept.
pub(crate) const OPERATION: &str = "book";

/// Books: everything that is asked for, or nothing.
///
/// The booking is on hold until it is confirmed, cancelled or expires; with `confirm: true` it is sold at once. `hold_token` is a
/// secret that is shown only here.
#[utoipa::path(
    post,
    path = "/v1/bookings",
    tag = "bookings",
    operation_id = "create_booking",
    params(
        Expansion,
        IdempotencyKey,
        ("Prefer" = Option<String>, Header, description = "`respond-async`: be answered when the command is kept, before it is \
                                                            decided. May be ignored."),
    ),
    request_body(
        content = NewBooking,
        examples(
            ("seats" = (summary = "Seats by name", value = json!({
                "customer": "user-42",
                "contact": { "email": "a@example.com" },
                "event": "gala",
                "seats": [{ "section": "A-1", "ids": ["1-1", "1-2"] }],
            }))),
            ("best_available" = (summary = "The best that are left", value = json!({
                "customer": "user-42",
                "event": "gala",
                "best_available": { "quantity": 4, "section": "A", "adjacent": "preferred" },
            }))),
            ("areas" = (summary = "Places in a standing area", value = json!({
                "customer": "user-42",
                "event": "gala",
                "areas": [{ "name": "standing", "quantity": 2 }],
            }))),
            ("tickets" = (summary = "A slot, by tickets", value = json!({
                "customer": "user-42",
                "schedule": "museum",
                "slot": "2027-12-01T18:00",
                "tickets": ["TKT-2025-ABC123"],
            }))),
            ("places" = (summary = "A slot, by number of places", value = json!({
                "customer": "user-42",
                "schedule": "museum",
                "slot": "2027-12-01T18:00",
                "quantity": 3,
            }))),
            ("box" = (summary = "A box", value = json!({
                "customer": "user-42",
                "shop": "bakery",
                "box": "evening",
                "quantity": 1,
            }))),
        )
    ),
    responses(
        (
            status = 201,
            description = "The booking.",
            body = BookingBody,
            links(
                ("show" = (operation_id = "show_booking", parameters(("id" = "$response.body#/id")))),
                ("confirm" = (operation_id = "confirm_booking", parameters(("id" = "$response.body#/id")))),
                ("extend" = (operation_id = "extend_booking", parameters(("id" = "$response.body#/id")))),
                ("cancel" = (operation_id = "cancel_booking", parameters(("id" = "$response.body#/id")))),
                ("move" = (operation_id = "move_booking", parameters(("id" = "$response.body#/id")))),
                ("unredeem" = (operation_id = "unredeem_booking", parameters(("id" = "$response.body#/id")))),
                ("redeem" = (operation_id = "redeem_booking", parameters(("id" = "$response.body#/id")))),
            ),
            example = json!({
                "id": "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a",
                "status": "on_hold",
                "customer": "user-42",
                "contact": null,
                "reference": null,
                "event": "gala",
                "schedule": null,
                "shop": null,
                "seats": [
                    { "section": "A-1", "seat": "1-1", "price": 300000, "redeemed_at": null },
                    { "section": "A-1", "seat": "1-2", "price": 300000, "redeemed_at": null },
                ],
                "areas": [],
                "slot": null,
                "slot_info": null,
                "tickets": [],
                "box": null,
                "quantity": 2,
                "total_price": 600000,
                "currency": "TWD",
                "adjacent": true,
                "hold_token": "4q2xw8k7m3n5p9r6",
                "redeem_code": "7KQ4M2",
                "created_at": "2026-12-01T09:00:00.000Z",
                "expires_at": "2026-12-01T09:15:00.000Z",
                "expires_in_seconds": 900,
                "confirmed_at": null,
                "cancelled_at": null,
                "redeemed_at": null,
                "redeemed_quantity": 0,
                "payment_reference": null,
                "metadata": null,
                "version": 1,
                "sequence": 42,
            })
        ),
        (
            status = 202,
            description = "With `Prefer: respond-async`, if commands go through Kafka: it will be decided. Until then the booking is \
                           404, and if it is refused it stays so. Sent again with the same key and without the preference, the request \
                           gets its answer.",
            body = TakenBooking,
            headers(
                ("Location" = String, description = "Where the booking will be."),
                ("Preference-Applied" = String, description = "`respond-async`"),
            ),
        ),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SCHEDULE_NOT_FOUND`, `SHOP_NOT_FOUND`, `SECTION_NOT_FOUND`, \
                           `SEAT_NOT_FOUND`, `AREA_NOT_FOUND`, `SLOT_NOT_FOUND`, `BOX_NOT_FOUND`"),
        (
            status = 409,
            description = "`SEAT_UNAVAILABLE`, `NOT_ENOUGH_SEATS`, `NOT_ADJACENT`, `ORPHAN_SEAT`, `AREA_FULL`, `SLOT_FULL`, \
                           `SLOT_CLOSED`, `SLOT_PAST`, `TICKET_NOT_FOUND`, `TICKET_NOT_ACTIVE`, `TICKET_EXPIRED`, \
                           `TICKET_ALREADY_RESERVED`, `TICKET_ALREADY_USED`, `BOX_UNAVAILABLE`, `INSUFFICIENT_INVENTORY`, \
                           `PICKUP_WINDOW_CLOSED`, `ACTIVE_RESERVATION_EXISTS`, `CUSTOMER_LIMIT_REACHED`, `SALES_NOT_OPEN`, \
                           `SALES_CLOSED`, `INVENTORY_CLOSED`, `BOOKING_ID_TAKEN`",
            body = ProblemBody,
            content_type = "application/problem+json",
            example = json!({
                "type": "/docs#SEAT_UNAVAILABLE",
                "title": "Seat unavailable",
                "status": 409,
                "code": "SEAT_UNAVAILABLE",
                "detail": "Some of these seats are not free.",
                "request_id": "0f8fad5bd9cb469fa16570867728950e",
                "conflicts": [{ "section": "A-1", "seat": "1-1", "reason": "sold" }],
                "alternatives": [{
                    "seats": [{ "section": "A-1", "seat": "1-3" }],
                    "adjacent": true,
                    "total_price": 300000,
                }],
                "sequence": 42,
            })
        ),
    ),
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    Extension(request_id): Extension<RequestId>,
    Query(expansion): Query<Expansion>,
    request: Request,
) -> Result<Response, Problem> {
    let (Parts { headers, .. }, body) = request.into_parts();
    let body = read_small_body(&app, &headers, body).await?;
    let request: Box<NewBooking> = parse(body.bytes())
        .map_err(|problem| attempts::with_attempt_of_body(problem, &caller, body.bytes()))?;
    drop(body);
    let has_contact = request.contact.is_some();
    let prefers_async = prefers_async(&headers);
    let response = book(app, caller, key, request_id, prefers_async, expansion, request);
    if has_contact {
        // As a task, so that it comes to its end although the client hangs up: an unused key of a contact is removed at the end.
        tokio::spawn(response).await.expect("it does not panic")
    } else {
        response.await
    }
}

async fn book(
    app: Arc<App>,
    caller: Caller,
    key: IdempotencyKey,
    request_id: RequestId,
    prefers_async: bool,
    expansion: Expansion,
    request: Box<NewBooking>,
) -> Result<Response, Problem> {
    let prepared = prepare(&app, caller, key, request).await?;
    // A caller that gets an id before it is decided must not have chosen it: it may be another's, and the token with it.
    if app.commands_are_routed && prepared.sent.request.id.is_none() && prefers_async {
        return prepared.hand_over(&app, &request_id).await;
    }
    let inventory = prepared.sent.inventory;
    let granted = prepared.send(&app).await?;
    let sequence = granted.answer.sequence;
    let counts = expansion.as_of(&app, inventory, sequence, granted.booking()).await;
    let mut body = created(&app, &granted);
    body.expand(counts);
    Ok(json(StatusCode::CREATED, &body, granted.answer.replayed))
}

/// A booking that only has to be sent, and what its answer needs. Whoever has several prepares them in order before they are sent
/// together: preparing may wait, and they are decided in the order they are sent.
pub(crate) struct Prepared {
    pub(crate) command: Command,
    pub(crate) sent: Sent,
}

/// A booking that is on its way.
pub(crate) struct Sent {
    pub(crate) inventory: InventoryNumber,
    caller: Caller,
    key: IdempotencyKey,
    // In a box: it is large, and passed on several times.
    request: Box<NewBooking>,
    /// The id that it was to have.
    admitted: BookingId,
    /// The document with the key of its contact.
    contact_key: Option<String>,
}

/// Everything before a booking is sent to the engine.
pub(crate) async fn prepare(
    app: &App,
    caller: Caller,
    key: IdempotencyKey,
    request: Box<NewBooking>,
) -> Result<Prepared, Problem> {
    let key = key.or_booking_id(request.id);
    let prepared = prepare_command(app, &caller, &key, &request).await;
    let (inventory, book, contact_key) =
        prepared.map_err(|problem| attempts::with_attempt(problem, &caller, &request))?;
    let sent = Sent { inventory, caller, key, request, admitted: book.id, contact_key };
    let command = sent.asked(app).command(Action::Book(Box::new(book)));
    Ok(Prepared { command, sent })
}

async fn prepare_command(
    app: &App,
    caller: &Caller,
    key: &IdempotencyKey,
    request: &NewBooking,
) -> Result<(InventoryNumber, Book, Option<String>), Problem> {
    let inventory = request.inventory(app, caller).await?;
    let (mut book, new_key) = request.command(app, caller, inventory, app.engine.now())?;
    if app.commands_are_routed
        && let Some(named) = id_under_key(app, caller, key, inventory, request)
    {
        book.id = named;
    }
    let contact_key = new_key.as_ref().map(|new| new.document().to_owned());
    app.contacts.keep(new_key.into_iter().collect()).await?;
    if let Err(problem) = admit_hold(app, caller, inventory, &book, key).await {
        app.contacts.remove(contact_key.into_iter().collect()).await;
        return Err(problem);
    }
    Ok((inventory, book, contact_key))
}

impl Prepared {
    pub(crate) async fn send(self, app: &App) -> Result<Granted, Problem> {
        let answer = app.engine.submit(self.sent.inventory, self.command).await;
        self.sent.answered(app, answer).await
    }
}

/// A booking that will be decided.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TakenBooking {
    #[schema(value_type = Uuid)]
    id: Uuid,
    /// Where it will be.
    url: String,
    /// Where it can be followed then.
    stream: String,
    /// As in the booking's own first answer.
    hold_token: String,
}

/// Whether the caller would rather not wait (RFC 7240).
fn prefers_async(headers: &HeaderMap) -> bool {
    let wishes = headers.get_all("prefer").iter().filter_map(|wishes| wishes.to_str().ok());
    let mut wishes = wishes.flat_map(|wishes| wishes.split(','));
    wishes.any(|wish| wish.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("respond-async"))
}

impl Prepared {
    /// Answers as soon as the command is kept for good.
    async fn hand_over(self, app: &App, request_id: &RequestId) -> Result<Response, Problem> {
        let id = self.sent.admitted;
        let handed_over = app.engine.hand_over(self.sent.inventory, self.command, &request_id.0).await;
        if let Err(error) = handed_over {
            if was_not_done(&error) {
                app.contacts.remove(self.sent.contact_key.into_iter().collect()).await;
            }
            return Err(attempts::with_attempt(error.into(), &self.sent.caller, &self.sent.request));
        }
        // Nobody will be told what became of it: until it can be looked up it counts.
        let decided_by = app.engine.now().plus_seconds(DECIDED_WITHIN_SECONDS);
        app.rates.settle_hold(&self.sent.caller, id, Some((id, decided_by)));
        let url = format!("/v1/bookings/{}", uuid(id));
        let body = TakenBooking {
            id: uuid(id),
            stream: format!("{url}/stream"),
            hold_token: app.secret.hold_token(&self.sent.caller.tenant, id),
            url,
        };
        let mut response = json(StatusCode::ACCEPTED, &body, false);
        let location = HeaderValue::from_str(&body.url).expect("ids are printable");
        response.headers_mut().insert(header::LOCATION, location);
        response.headers_mut().insert("preference-applied", HeaderValue::from_static("respond-async"));
        Ok(response)
    }
}

/// Of a booking that may be named before it is decided, under a key: the same each time the same request is sent, or a retry would be
/// told of a booking that never is; and, the contact apart, another one for another request under that key, whose sender is not to have the
/// token. Its
/// time is none, as its bits are all needed to tell it from others.
fn id_under_key(
    app: &App,
    caller: &Caller,
    key: &IdempotencyKey,
    inventory: InventoryNumber,
    request: &NewBooking,
) -> Option<BookingId> {
    let idempotency = key.for_request(app, caller, OPERATION, request)?;
    if request.id.is_some() {
        return None;
    }
    let parts: [&[u8]; 3] = [&inventory.0.to_le_bytes(), &idempotency.key.0, &idempotency.fingerprint.0];
    let bits = app.secret.derive("booking", &parts);
    let (time, random) = bits.split_at(16);
    let number = |bytes: &[u8]| u64::from_le_bytes(*bytes.first_chunk().expect("half a hash"));
    Some(booking_id(inventory, Timestamp(number(time).cast_signed()), number(random) | 1))
}

impl Sent {
    fn asked<'a>(&'a self, app: &'a App) -> Asked<'a, NewBooking> {
        Asked { app, caller: &self.caller, key: &self.key, operation: OPERATION, request: &self.request }
    }

    /// What the engine's answer means for whoever asked.
    pub(crate) async fn answered(
        &self,
        app: &App,
        answer: Result<Answer, SubmitError>,
    ) -> Result<Granted, Problem> {
        if let Some(document) = &self.contact_key
            && made_no_booking(&answer)
        {
            app.contacts.remove(vec![document.clone()]).await;
        }
        let mut granted = self.understand(app, answer).await;
        if let Ok(replay) = &granted
            && replay.answer.replayed
        {
            let keys = app.contacts.keys_of(&self.caller.tenant, [replay.booking()]).await;
            if let Err(problem) = check_contact(&keys, &self.request, &self.key, replay) {
                granted = Err(problem);
            }
        }
        if let Ok(granted) = &mut granted {
            granted.contact = self.request.contact_for(&self.caller);
        }
        settle_hold(app, &self.caller, self.admitted, granted.as_ref().ok());
        if let Err(problem) = &granted {
            mirror_refusal(app, &self.request, self.inventory, problem);
        }
        granted
            .inspect(Granted::count)
            .map_err(|problem| attempts::with_attempt(problem, &self.caller, &self.request))
    }

    async fn understand(&self, app: &App, answer: Result<Answer, SubmitError>) -> Result<Granted, Problem> {
        let answer = answer?;
        self.asked(app).understand(stock_after(&app.engine, self.inventory).await?, answer).await
    }
}

/// Refuses a replay that has another contact than the request of the first answer: fingerprints do not cover contacts.
pub(crate) fn check_contact(
    keys: &Result<ContactKeys, SubmitError>,
    request: &NewBooking,
    key: &IdempotencyKey,
    replay: &Granted,
) -> Result<(), Problem> {
    let keys = keys.as_ref().map_err(untold)?;
    if keys.is_same(replay.booking(), request.contact.as_ref()) {
        return Ok(());
    }
    Err(used_for_another_request(key))
}

/// The refusal of a request under a key that another request was answered under.
pub(crate) fn used_for_another_request(key: &IdempotencyKey) -> Problem {
    if key.is_booking_id() {
        booking_id_taken("This id was used for another booking request. Choose another one.")
    } else {
        idempotency_key_reused()
    }
}

/// Shows a booking that the engine refused in the mirror, if there is one, if the caller chose the id and it is of no other
/// booking or request.
pub(crate) fn mirror_refusal(app: &App, request: &NewBooking, inventory: InventoryNumber, problem: &Problem) {
    let (Some(mirror), Some(id)) = (&app.settings.refused_bookings, request.id) else { return };
    let is_new = !problem.replayed && !["BOOKING_ID_TAKEN", "IDEMPOTENCY_KEY_REUSED"].contains(&problem.code);
    if !is_new || problem.status.is_server_error() {
        return;
    }
    let Some(inventory) = app.engine.name(inventory) else { return };
    let (id, reason) = (BookingId::from_bytes(id.into_bytes()), problem.detail.to_string());
    mirror.note(RefusedBooking { id, inventory, code: problem.code, reason });
}

/// Refuses a hold to callers who have too many.
pub(crate) async fn admit_hold(
    app: &App,
    caller: &Caller,
    inventory: InventoryNumber,
    book: &Book,
    key: &IdempotencyKey,
) -> Result<(), Problem> {
    if app.settings.rates.live_holds_per_caller.is_none() || book.confirm {
        return Ok(());
    }
    let mut ended = std::collections::HashSet::new();
    for (id, until) in app.rates.holds_of(caller) {
        let is_over = match app.engine.booking(&caller.tenant, id).await? {
            Some((_, booking)) => !matches!(booking.status, Status::OnHold { .. }),
            // It is not decided yet, or was refused.
            None => app.engine.now() >= until,
        };
        if is_over {
            ended.insert(id);
        }
    }
    let key = key.0.clone().map(|key| (inventory, key));
    app.rates.admit_hold(caller, app.engine.now(), &ended, book.id, key)
}

/// What became of a hold that was admitted: another one, if it is the answer of a key.
pub(crate) fn settle_hold(app: &App, caller: &Caller, admitted: BookingId, granted: Option<&Granted>) {
    let booking = granted.map(Granted::booking);
    let made = booking.and_then(|booking| Some((booking.id, booking.deadline()?)));
    app.rates.settle_hold(caller, admitted, made);
}

/// The answer to the caller who made a booking.
pub(crate) fn created<'a>(app: &App, granted: &'a Granted) -> BookingBody<'a> {
    shown(granted, Some(app.secret.hold_token(&granted.tenant, granted.booking().id)))
}

/// A booking that was changed, as of its answer.
pub(crate) fn shown(granted: &Granted, hold_token: Option<String>) -> BookingBody<'_> {
    let as_of = AsOf { sequence: granted.answer.sequence, at: granted.answer.decided_at };
    let booking = granted.booking();
    let mut body = BookingBody::new(booking, kind_of(&granted.stock), &granted.stock, as_of, hold_token);
    body.contact = granted.contact.as_deref();
    body
}

pub(crate) fn booking_id_taken(detail: &'static str) -> Problem {
    Problem::new(StatusCode::CONFLICT, "BOOKING_ID_TAKEN", detail)
}
