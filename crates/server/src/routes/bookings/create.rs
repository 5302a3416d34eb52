//! `POST /v1/bookings`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use boxoffice_cluster::redis::{RefusedBooking, RefusedBookings};
use boxoffice_core::booking::{Booking, Status};
use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{AreaWish, BestAvailable, Book, Places, SeatWish, SectionSeats, Want};
use boxoffice_core::event::SeatName;
use boxoffice_core::ids::{BookingId, InventoryKind, is_customer};
use boxoffice_core::outcome::Grant;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::ids::{booking_id, inventory_of};
use boxoffice_engine::{Answer, InventoryNumber, SubmitError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::body::{AsOf, BookingBody, kind_of, string, value};
use crate::app::App;
use crate::attempts;
use crate::caller::Caller;
use crate::contacts::Contact;
use crate::idempotency::{IdempotencyKey, Understood};
use crate::ids::{find_inventory, uuid};
use crate::input::{Input, Object, null_as_default};
use crate::outer::json;
use crate::problem::{Problem, ProblemBody};
use crate::rates::DECIDED_WITHIN_SECONDS;
use crate::submit::{Asked, Granted, stock_after};

/// Who wants what.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBooking {
    /// A UUID of the caller's own.
    #[serde(default)]
    pub(crate) id: Option<Uuid>,
    /// The caller's reference for whoever books.
    #[schema(min_length = 1, max_length = 200, pattern = "^[^\\u0000-\\u001F\\u007F-\\u009F]+$")]
    pub(crate) customer: String,
    /// How to reach them. Kept apart, encrypted, erasable.
    #[serde(default)]
    pub(crate) contact: Option<Contact>,
    /// Exactly one of `event`, `schedule` and `shop`.
    #[serde(default)]
    pub(crate) event: Option<String>,
    #[serde(default)]
    pub(crate) schedule: Option<String>,
    #[serde(default)]
    pub(crate) shop: Option<String>,
    #[serde(default)]
    pub(crate) seats: Option<Vec<SeatsInSection>>,
    #[serde(default)]
    pub(crate) best_available: Option<Best>,
    #[serde(default)]
    pub(crate) areas: Option<Vec<PlacesInArea>>,
    #[serde(default)]
    pub(crate) slot: Option<String>,
    #[serde(default)]
    pub(crate) tickets: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) r#box: Option<String>,
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) quantity: Option<u32>,
    /// Between the rules `min_hold_seconds` and `max_hold_seconds`; for `public` keys at most the rule `hold_ttl_seconds`.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 86400)]
    pub(crate) hold_ttl_seconds: Option<u32>,
    /// Sold at once, without a hold.
    #[serde(default)]
    pub(crate) confirm: Option<bool>,
    /// The caller's own data, at most 4 KiB.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub(crate) metadata: Option<Object>,
}

/// As JSON in which what is not there is left out, and so is what it would mean. By hand: every booking has a fingerprint, and most are a
/// customer, an event and a few seats.
impl Understood for NewBooking {
    fn write(&self, text: &mut Vec<u8>) {
        fn field<T: Serialize>(text: &mut Vec<u8>, name: &str, contents: Option<&T>) {
            if let Some(contents) = contents {
                text.extend_from_slice(name.as_bytes());
                value(text, contents);
            }
        }
        fn words(text: &mut Vec<u8>, name: &str, contents: Option<&String>) {
            if let Some(contents) = contents {
                text.extend_from_slice(name.as_bytes());
                string(text, contents);
            }
        }
        let NewBooking {
            id,
            customer,
            contact,
            event,
            schedule,
            shop,
            seats,
            best_available,
            areas,
            slot,
            tickets,
            r#box,
            quantity,
            hold_ttl_seconds,
            confirm,
            metadata,
        } = self;
        text.push(b'{');
        if let Some(id) = id {
            field(text, "\"id\":", Some(id));
            text.push(b',');
        }
        words(text, "\"customer\":", Some(customer));
        field(text, ",\"contact\":", contact.as_ref());
        words(text, ",\"event\":", event.as_ref());
        words(text, ",\"schedule\":", schedule.as_ref());
        words(text, ",\"shop\":", shop.as_ref());
        field(text, ",\"seats\":", seats.as_ref());
        match best_available {
            Some(Best { quantity, section: None, adjacent: Adjacent::Preferred }) => {
                field(text, ",\"best_available\":{\"quantity\":", Some(quantity));
                text.extend_from_slice(b",\"adjacent\":\"preferred\"}");
            }
            _ => field(text, ",\"best_available\":", best_available.as_ref()),
        }
        field(text, ",\"areas\":", areas.as_ref());
        words(text, ",\"slot\":", slot.as_ref());
        field(text, ",\"tickets\":", tickets.as_ref());
        words(text, ",\"box\":", r#box.as_ref());
        field(text, ",\"quantity\":", quantity.as_ref().filter(|&&quantity| quantity != 1));
        field(text, ",\"hold_ttl_seconds\":", hold_ttl_seconds.as_ref());
        field(text, ",\"confirm\":", confirm.as_ref().filter(|&&confirm| confirm));
        field(text, ",\"metadata\":", metadata.as_ref());
        text.push(b'}');
    }
}

/// Seats of one subsection, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeatsInSection {
    #[schema(example = "A-1")]
    section: String,
    #[schema(example = json!(["1-1", "1-2"]))]
    ids: Vec<String>,
}

/// The best seats that are left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = BestAvailable)]
pub(crate) struct Best {
    #[schema(minimum = 1, maximum = 1000)]
    quantity: u32,
    /// Anywhere, if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Option<Adjacent>)]
    adjacent: Adjacent,
}

/// Whether the seats must be side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Adjacent {
    /// If possible.
    #[default]
    Preferred,
    /// Or not at all.
    Required,
}

/// Places in a standing area.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlacesInArea {
    name: String,
    #[schema(minimum = 1, maximum = 1000)]
    quantity: u32,
}

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
                "event": "gala",
                "schedule": null,
                "shop": null,
                "seats": [
                    { "section": "A-1", "seat": "1-1", "price": 300000, "redeemed_at": null },
                    { "section": "A-1", "seat": "1-2", "price": 300000, "redeemed_at": null },
                ],
                "areas": [],
                "slot": null,
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
    headers: HeaderMap,
    Input(request): Input<Box<NewBooking>>,
) -> Result<Response, Problem> {
    let prepared = prepare(&app, caller, key, request).await?;
    // Whoever is told of an id before it is decided must not have chosen it: it may be another's, and the token with it.
    if app.commands_are_routed && prepared.sent.request.id.is_none() && prefers_async(&headers) {
        return prepared.hand_over(&app).await;
    }
    let granted = prepared.send(&app).await?;
    Ok(json(StatusCode::CREATED, &created(&app, &granted), granted.answer.replayed))
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
}

/// Everything before a booking is sent to the engine.
pub(crate) async fn prepare(
    app: &App,
    caller: Caller,
    key: IdempotencyKey,
    request: Box<NewBooking>,
) -> Result<Prepared, Problem> {
    let prepared = prepare_command(app, &caller, &key, &request).await;
    let (inventory, book) = prepared.map_err(|problem| attempts::marked(problem, &caller, &request))?;
    let sent = Sent { inventory, caller, key, request, admitted: book.id };
    let command = sent.asked(app).command(Action::Book(Box::new(book)));
    Ok(Prepared { command, sent })
}

async fn prepare_command(
    app: &App,
    caller: &Caller,
    key: &IdempotencyKey,
    request: &NewBooking,
) -> Result<(InventoryNumber, Book), Problem> {
    let inventory = request.inventory(app, caller).await?;
    let mut book = request.command(app, caller, inventory, app.engine.now()).await?;
    if app.commands_are_routed
        && let Some(named) = id_under_key(app, caller, key, inventory, request)
    {
        book.id = named;
    }
    admit_hold(app, caller, inventory, &book, key).await?;
    Ok((inventory, book))
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
    async fn hand_over(self, app: &App) -> Result<Response, Problem> {
        let id = self.sent.admitted;
        let handed_over = app.engine.hand_over(self.sent.inventory, self.command).await;
        handed_over.map_err(|error| attempts::marked(error.into(), &self.sent.caller, &self.sent.request))?;
        // Nobody will be told what became of it: until it can be looked up it counts.
        let decided_by = app.engine.now().plus_seconds(DECIDED_WITHIN_SECONDS);
        app.rates.settle_hold(&self.sent.caller, id, Some((id, decided_by)));
        let url = format!("/v1/bookings/{}", uuid(id));
        let body = TakenBooking {
            id: uuid(id),
            stream: format!("{url}/stream"),
            hold_token: app.secret.hold_token(id),
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
/// told of a booking that never is; and another one for another request under that key, whose sender is not to have the token. Its
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
    let fingerprint = idempotency.fingerprint.to_le_bytes();
    let parts: [&[u8]; 3] = [&inventory.0.to_le_bytes(), &idempotency.key.0, &fingerprint];
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
        let granted = self.understand(app, answer).await;
        settle_hold(app, &self.caller, self.admitted, granted.as_ref().ok());
        if let (Err(problem), Some(refused)) = (&granted, &app.settings.refused_bookings) {
            self.note_refused(app, problem, refused);
        }
        granted
            .inspect(Granted::count)
            .map_err(|problem| attempts::marked(problem, &self.caller, &self.request))
    }

    /// Shows a refused booking in the mirror, if its caller chose the id and it is of no other booking or request.
    fn note_refused(&self, app: &App, problem: &Problem, refused: &RefusedBookings) {
        let is_new =
            !problem.replayed && !["BOOKING_ID_TAKEN", "IDEMPOTENCY_KEY_REUSED"].contains(&problem.code);
        if self.request.id.is_none() || !is_new || problem.status.is_server_error() {
            return;
        }
        let Some(inventory) = app.engine.name(self.inventory) else { return };
        let (code, reason) = (problem.code, problem.detail.to_string());
        refused.note(RefusedBooking { id: self.admitted, inventory, code, reason });
    }

    async fn understand(&self, app: &App, answer: Result<Answer, SubmitError>) -> Result<Granted, Problem> {
        let answer = answer?;
        self.asked(app).understand(stock_after(&app.engine, self.inventory).await?, answer).await
    }
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
        let is_over = match app.engine.booking(id).await? {
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
    let booking = granted.map(|granted| booking_of(granted.grant()));
    let made = booking.and_then(|booking| Some((booking.id, booking.deadline()?)));
    app.rates.settle_hold(caller, admitted, made);
}

/// The answer to whoever made a booking.
pub(crate) fn created<'a>(app: &App, granted: &'a Granted) -> BookingBody<'a> {
    shown(granted, Some(app.secret.hold_token(booking_of(granted.grant()).id)))
}

/// A booking that was changed, as of its answer.
pub(crate) fn shown(granted: &Granted, hold_token: Option<String>) -> BookingBody<'_> {
    let as_of = AsOf { sequence: granted.answer.sequence, at: granted.answer.decided_at };
    let booking = booking_of(granted.grant());
    BookingBody::new(booking, kind_of(&granted.stock), &granted.stock, as_of, hold_token)
}

fn booking_of(grant: &Grant) -> &Booking {
    match grant {
        Grant::Booking(booking) => booking,
        Grant::Moved(moved) => &moved.booking,
        Grant::Inventory(_)
        | Grant::Slot(_)
        | Grant::SlotDeleted(_)
        | Grant::Box(_)
        | Grant::Tickets { .. }
        | Grant::Done => unreachable!("commands on bookings are answered with a booking"),
    }
}

impl NewBooking {
    /// Kind and id of the inventory it is for.
    pub(crate) fn inventory_id(&self) -> Result<(InventoryKind, &str), Problem> {
        match (&self.event, &self.schedule, &self.shop) {
            (Some(id), None, None) => Ok((InventoryKind::Event, id)),
            (None, Some(id), None) => Ok((InventoryKind::Schedule, id)),
            (None, None, Some(id)) => Ok((InventoryKind::Shop, id)),
            _ => Err(Problem::invalid("", "must name one of event, schedule and shop")),
        }
    }

    /// Whether it has a contact that could be one, of a customer who could be one.
    pub(crate) fn has_contact_to_keep(&self) -> bool {
        self.contact.as_ref().is_some_and(|contact| contact.check().is_ok()) && is_customer(&self.customer)
    }

    /// The inventory it is for.
    pub(crate) async fn inventory(&self, app: &App, caller: &Caller) -> Result<InventoryNumber, Problem> {
        let (kind, id) = self.inventory_id()?;
        find_inventory(&app.engine, &caller.tenant, kind, id).await
    }

    /// The command that makes it. The id of one who chose none says when it was asked for.
    pub(crate) async fn command(
        &self,
        app: &App,
        caller: &Caller,
        inventory: InventoryNumber,
        asked_at: Timestamp,
    ) -> Result<Book, Problem> {
        let confirm = self.confirm.unwrap_or(false);
        if confirm && !caller.may_take_money() {
            return Err(Problem::forbidden("This key makes holds only."));
        }
        let want = self.want()?;
        let chosen = self.id.map(|uuid| BookingId::from_bytes(uuid.into_bytes()));
        // Ids that name an inventory are given by us; one that was booked elsewhere before the inventory existed would be two.
        if chosen.is_some_and(|id| inventory_of(id) == Some(inventory)) {
            let detail = "Ids of this form are given by the server. Choose another one.";
            return Err(Problem::new(StatusCode::CONFLICT, "BOOKING_ID_TAKEN", detail));
        }
        let contact = match &self.contact {
            // A customer who cannot be one is refused below, and leaves nothing behind.
            Some(contact) if is_customer(&self.customer) => {
                Some(app.contacts.seal(&caller.tenant, &self.customer, contact).await?)
            }
            Some(_) | None => None,
        };
        let metadata = self.metadata.as_ref().map(|object| {
            let bytes = serde_json::to_vec(object).expect("an object is plain data");
            Arc::from(bytes)
        });
        Ok(Book {
            id: chosen.unwrap_or_else(|| booking_id(inventory, asked_at, rand::random())),
            customer: self.customer.as_str().into(),
            contact,
            want,
            hold_ttl_seconds: self.hold_ttl_seconds,
            hold_at_most_default: !caller.may_take_money(),
            confirm,
            metadata,
            redeem_code: app.engine.new_redeem_code(),
        })
    }

    fn want(&self) -> Result<Want, Problem> {
        if self.event.is_some() {
            self.refuse_others(
                "an event",
                &[
                    ("slot", self.slot.is_some()),
                    ("tickets", self.tickets.is_some()),
                    ("box", self.r#box.is_some()),
                    ("quantity", self.quantity.is_some()),
                ],
            )?;
            return self.want_of_event();
        }
        let of_event = [
            ("seats", self.seats.is_some()),
            ("best_available", self.best_available.is_some()),
            ("areas", self.areas.is_some()),
        ];
        if self.schedule.is_some() {
            self.refuse_others("a schedule", &of_event)?;
            self.refuse_others("a schedule", &[("box", self.r#box.is_some())])?;
            let slot = self.slot.as_ref().ok_or_else(|| Problem::invalid("/slot", "is missing"))?;
            let slot = parse_slot(slot, "/slot")?;
            let places = match (&self.tickets, self.quantity) {
                (Some(_), Some(_)) => {
                    return Err(Problem::invalid("/quantity", "must not stand beside tickets"));
                }
                (Some(tickets), None) => {
                    Places::Tickets(tickets.iter().map(|ticket| ticket.as_str().into()).collect())
                }
                (None, Some(quantity)) => Places::Quantity(quantity),
                (None, None) => return Err(Problem::invalid("/quantity", "is missing, and so are tickets")),
            };
            return Ok(Want::Slot { slot, places });
        }
        self.refuse_others("a shop", &of_event)?;
        self.refuse_others("a shop", &[("slot", self.slot.is_some()), ("tickets", self.tickets.is_some())])?;
        let id = self.r#box.as_ref().ok_or_else(|| Problem::invalid("/box", "is missing"))?;
        let quantity = self.quantity.unwrap_or(1);
        Ok(Want::Box { id: id.as_str().into(), quantity })
    }

    fn refuse_others(&self, kind: &str, fields: &[(&str, bool)]) -> Result<(), Problem> {
        match fields.iter().find(|(_, given)| *given) {
            Some((field, _)) => Err(Problem::invalid(&format!("/{field}"), format!("is not for {kind}"))),
            None => Ok(()),
        }
    }

    fn want_of_event(&self) -> Result<Want, Problem> {
        let areas = self.areas.as_deref().unwrap_or_default();
        let seats = match (&self.seats, &self.best_available) {
            (Some(_), Some(_)) => {
                return Err(Problem::invalid("/best_available", "must not stand beside seats"));
            }
            (Some(seats), None) => SeatWish::Named(named(seats, "/seats")?),
            (None, Some(best)) => SeatWish::Best(best.wish()),
            (None, None) if areas.is_empty() => {
                return Err(Problem::invalid("", "must ask for seats, best_available or areas"));
            }
            (None, None) => SeatWish::None,
        };
        let areas =
            areas.iter().map(|area| AreaWish { name: area.name.as_str().into(), quantity: area.quantity });
        Ok(Want::Event { seats, areas: areas.collect() })
    }
}

impl Best {
    pub(crate) fn wish(&self) -> BestAvailable {
        BestAvailable {
            quantity: self.quantity,
            section: self.section.clone(),
            adjacent_required: self.adjacent == Adjacent::Required,
        }
    }
}

/// Seats by name; a name that is not `row-seat` is told by its place.
pub(crate) fn named(sections: &[SeatsInSection], pointer: &str) -> Result<Vec<SectionSeats>, Problem> {
    let section = |(index, of): (usize, &SeatsInSection)| {
        let seats = parse_seats(&of.ids, &format!("{pointer}/{index}/ids"))?;
        Ok(SectionSeats { section: of.section.clone(), seats })
    };
    sections.iter().enumerate().map(section).collect()
}

pub(crate) fn parse_seats(names: &[String], pointer: &str) -> Result<Vec<SeatName>, Problem> {
    let seat = |(index, name): (usize, &String)| {
        name.parse()
            .map_err(|()| Problem::invalid(&format!("{pointer}/{index}"), "must be row-seat, like 4-12"))
    };
    names.iter().enumerate().map(seat).collect()
}

pub(crate) fn parse_slot(text: &str, pointer: &str) -> Result<boxoffice_core::time::SlotId, Problem> {
    text.parse().map_err(|()| Problem::invalid(pointer, "must be a slot like 2026-12-01T09:00"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::parse;

    fn understood(body: &str) -> String {
        let mut text = Vec::new();
        parse::<NewBooking>(body.as_bytes()).unwrap().write(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_booking_is_understood_in_the_bytes_that_keys_remember() {
        for (sent, kept) in [
            (
                r#"{ "best_available": {"quantity": 1}, "event": "gala", "customer": "ann" }"#,
                r#"{"customer":"ann","event":"gala","best_available":{"quantity":1,"adjacent":"preferred"}}"#,
            ),
            (
                r#"{"customer":"a\"\\\n\u00e9","event":"gala","best_available":{"adjacent":"required","quantity":2,"section":"A"}}"#,
                r#"{"customer":"a\"\\\né","event":"gala","best_available":{"quantity":2,"section":"A","adjacent":"required"}}"#,
            ),
            (
                r#"{"id":"019ADA5E-0B5C-7C3A-9A42-6F1E2D3C4B5A","customer":"ann","contact":{"email":"a@example.com"},"event":"gala",
                    "seats":[{"section":"A-1","ids":["1-1","1-2"]}],"areas":[{"name":"standing","quantity":2}],"confirm":true}"#,
                r#"{"id":"019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a","customer":"ann","contact":{"email":"a@example.com","phone":null},"event":"gala","seats":[{"section":"A-1","ids":["1-1","1-2"]}],"areas":[{"name":"standing","quantity":2}],"confirm":true}"#,
            ),
            (
                r#"{"customer":"ann","schedule":"museum","slot":"2027-12-01T18:00","tickets":["T-1"],"hold_ttl_seconds":60,"confirm":false}"#,
                r#"{"customer":"ann","schedule":"museum","slot":"2027-12-01T18:00","tickets":["T-1"],"hold_ttl_seconds":60}"#,
            ),
            (
                r#"{"customer":"ann","schedule":"museum","slot":"2027-12-01T18:00","quantity":3,"metadata":{"b":1,"a":[null]}}"#,
                r#"{"customer":"ann","schedule":"museum","slot":"2027-12-01T18:00","quantity":3,"metadata":{"a":[null],"b":1}}"#,
            ),
            (
                r#"{"customer":"ann","event":"gala","best_available":{"quantity":2,"section":"A"}}"#,
                r#"{"customer":"ann","event":"gala","best_available":{"quantity":2,"section":"A","adjacent":"preferred"}}"#,
            ),
            (
                r#"{"customer":"\u007f\u001f\b/","event":"gala","best_available":{"quantity":2,"adjacent":"required"},"areas":[]}"#,
                "{\"customer\":\"\u{7f}\\u001f\\b/\",\"event\":\"gala\",\"best_available\":{\"quantity\":2,\"adjacent\":\"required\"},\"areas\":[]}",
            ),
            (
                r#"{"customer":"ann","contact":{"phone":"+1"},"event":"gala","seats":[],"metadata":{"n":-1.50,"t":"\t","o":{"y":{},"x":1e3}}}"#,
                r#"{"customer":"ann","contact":{"email":null,"phone":"+1"},"event":"gala","seats":[],"metadata":{"n":-1.5,"o":{"x":1000.0,"y":{}},"t":"\t"}}"#,
            ),
            (
                r#"{"customer":"ann","shop":"bakery","box":"evening","quantity":1,"event":null}"#,
                r#"{"customer":"ann","shop":"bakery","box":"evening"}"#,
            ),
        ] {
            assert_eq!(understood(sent), kept);
        }
    }
}
