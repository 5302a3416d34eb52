//! `POST /v1/batch`: many commands, each for itself, answered when all are durable.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::ids::{BookingId, InventoryKind};
use boxoffice_engine::view::StockView;
use boxoffice_engine::{Answer, InventoryNumber, SubmitError};
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, IntoDeserializer, MapAccess};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{RefOr, Schema};
use uuid::Uuid;

use super::bookings::cancel::Cancellation;
use super::bookings::confirm::Payment;
use super::bookings::create::{NewBooking, OPERATION, admit_hold, created, settle_hold};
use super::bookings::extend::Extension;
use super::bookings::move_booking::Target;
use super::bookings::redeem::Redemption;
use super::bookings::{acted, operation};
use crate::app::App;
use crate::by_name::ByName;
use crate::caller::{Caller, find_booking};
use crate::idempotency::IdempotencyKey;
use crate::input::{Strict, parse, read_large_body};
use crate::limits::BATCH_COMMANDS_MAX;
use crate::outer::{REPLAYED, RequestId};
use crate::problem::Problem;
use crate::submit::{Asked, Granted};

/// Many commands.
#[derive(serde::Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    #[schema(min_items = 1, max_items = 10000)]
    commands: Vec<BatchCommand>,
}

/// What was answered to each, in order. Written piece by piece: ten thousand bookings are never all in memory as values.
#[derive(ToSchema)]
#[expect(dead_code, reason = "for the document")]
pub(crate) struct BatchAnswer {
    results: Vec<BatchResult>,
}

/// What the route of that name would have answered.
#[derive(ToSchema)]
#[expect(dead_code, reason = "for the document")]
struct BatchResult {
    #[schema(example = 201)]
    status: u16,
    /// A booking or a problem.
    #[schema(value_type = Object)]
    body: Value,
}

/// One command of a batch: `op`, an `idempotency_key` of its own, and the fields of the route of that name.
struct BatchCommand {
    key: Option<String>,
    op: Op,
}

enum Op {
    Book(Box<NewBooking>),
    Confirm(BookingId, Payment),
    Extend(BookingId, Extension),
    Cancel(BookingId, Cancellation),
    Move(BookingId, Target),
    Redeem(BookingId, Redemption),
}

const OPS: [&str; 6] = ["book", "confirm", "extend", "cancel", "move", "redeem"];

impl utoipa::PartialSchema for BatchCommand {
    fn schema() -> RefOr<Schema> {
        let nullable = |kind: Type| SchemaType::from_iter([kind, Type::Null]);
        let key = ObjectBuilder::new().schema_type(nullable(Type::String));
        let id = ObjectBuilder::new()
            .schema_type(nullable(Type::String))
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
            .description(Some("The booking that is acted on, or the id of a new one."));
        let description = "`op`, an `idempotency_key` of its own, and the fields of the route of that name.";
        ObjectBuilder::new()
            .property("op", ObjectBuilder::new().schema_type(Type::String).enum_values(Some(OPS)))
            .required("op")
            .property("id", id)
            .property("idempotency_key", key)
            .description(Some(description))
            .into()
    }
}

impl ToSchema for BatchCommand {}

impl<'de> Deserialize<'de> for BatchCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BatchCommand, D::Error> {
        deserializer.deserialize_map(CommandVisitor)
    }
}

struct CommandVisitor;

impl<'de> de::Visitor<'de> for CommandVisitor {
    type Value = BatchCommand;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object with op")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BatchCommand, A::Error> {
        let Some(Text(first)) = map.next_key()? else { return Err(de::Error::missing_field("op")) };
        if first == "op" {
            let Text(op) = map.next_value()?;
            return of_op(&op, map);
        }
        // The usual order is fast; in any other one the command is gathered first.
        let mut fields = serde_json::Map::new();
        let mut name = Some(first.into_owned());
        while let Some(field) = name {
            let Strict(value) = map.next_value()?;
            if fields.insert(field.clone(), value).is_some() {
                return Err(de::Error::custom(format!("duplicate field `{field}`")));
            }
            name = map.next_key()?;
        }
        let Some(Value::String(op)) = fields.remove("op") else { return Err(de::Error::missing_field("op")) };
        of_op(&op, ByName(de::value::MapDeserializer::new(fields.into_iter())))
            .map_err(de::Error::custom::<serde_json::Error>)
    }
}

fn of_op<'de, A: MapAccess<'de>>(op: &str, map: A) -> Result<BatchCommand, A::Error> {
    let on_booking = op != "book";
    let mut fields = Fields { map, key: None, has_key: false, id: None, takes_id: on_booking };
    macro_rules! body {
        () => {
            Deserialize::deserialize(de::value::MapAccessDeserializer::new(&mut fields))?
        };
    }
    enum Body {
        Book(Box<NewBooking>),
        Confirm(Payment),
        Extend(Extension),
        Cancel(Cancellation),
        Move(Target),
        Redeem(Redemption),
    }
    let body = match op {
        "book" => Body::Book(body!()),
        "confirm" => Body::Confirm(body!()),
        "extend" => Body::Extend(body!()),
        "cancel" => Body::Cancel(body!()),
        "move" => Body::Move(body!()),
        "redeem" => Body::Redeem(body!()),
        other => return Err(de::Error::unknown_variant(other, &OPS)),
    };
    let key = fields.key;
    let id = fields.id.map(|uuid| BookingId::from_bytes(uuid.into_bytes()));
    let id = || id.ok_or_else(|| de::Error::missing_field("id"));
    let op = match body {
        Body::Book(request) => Op::Book(request),
        Body::Confirm(request) => Op::Confirm(id()?, request),
        Body::Extend(request) => Op::Extend(id()?, request),
        Body::Cancel(request) => Op::Cancel(id()?, request),
        Body::Move(request) => Op::Move(id()?, request),
        Body::Redeem(request) => Op::Redeem(id()?, request),
    };
    Ok(BatchCommand { key, op })
}

/// Text that is read where it stands, if it has no escapes. (serde's own `Cow` always copies.)
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text<'de>, D::Error> {
        deserializer.deserialize_str(TextVisitor).map(Text)
    }
}

struct TextVisitor;

impl<'de> de::Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// The fields of a command without those that belong to the batch.
struct Fields<A> {
    map: A,
    key: Option<String>,
    /// Whether a key was there, `null` or not.
    has_key: bool,
    id: Option<Uuid>,
    /// Whether `id` names the booking that is acted on, rather than being a field of the request.
    takes_id: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for &mut Fields<A> {
    type Error = A::Error;

    fn next_key_seed<K: de::DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(Text(name)) = self.map.next_key()? {
            match &*name {
                "idempotency_key" if !self.has_key => {
                    self.has_key = true;
                    self.key = self.map.next_value()?;
                }
                "id" if self.takes_id && self.id.is_none() => self.id = Some(self.map.next_value()?),
                "op" | "idempotency_key" => {
                    let _: IgnoredAny = self.map.next_value()?;
                    return Err(de::Error::custom(format!("duplicate field `{name}`")));
                }
                _ => return seed.deserialize(name.into_deserializer()).map(Some),
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: de::DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// A command on its way: where it goes, and what its answer needs.
struct Sent {
    inventory: InventoryNumber,
    key: IdempotencyKey,
    /// The id that a new booking was to have.
    admitted: Option<BookingId>,
    /// Whether the caller chose that id, and can act on it later in the batch.
    is_named: bool,
}

/// Sends many commands at once, each for itself.
///
/// Answered in order when all are durable. A command that is refused does not stop the others. A command without an
/// `idempotency_key` of its own has the one of the header, with its place in the batch.
#[utoipa::path(
    post,
    path = "/v1/batch",
    tag = "bookings",
    operation_id = "batch",
    params(
        IdempotencyKey,
    ),
    request_body(content = Batch, example = json!({
                "commands": [
                    { "op": "book", "idempotency_key": "a-1", "customer": "user-42", "event": "gala", "best_available": { "quantity": 2 } },
                    { "op": "confirm", "id": "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b55", "payment_reference": "pi_3Nq8" },
                ],
            })),
    responses(
        (status = 200, description = "What was answered to each.", body = BatchAnswer),
    ),
)]
pub(crate) async fn batch(
    State(app): State<Arc<App>>,
    caller: Caller,
    header_key: IdempotencyKey,
    request: Request,
) -> Result<Response, Problem> {
    let request_id = request.extensions().get::<RequestId>().cloned().map_or_else(String::new, |id| id.0);
    let (parts, body) = request.into_parts();
    let bytes = read_large_body(&parts.headers, body).await?;
    let Batch { commands } = parse(&bytes)?;
    if commands.is_empty() || commands.len() > BATCH_COMMANDS_MAX {
        return Err(Problem::invalid("/commands", format!("must be 1 to {BATCH_COMMANDS_MAX} commands")));
    }
    app.rates.charge(&caller, commands.len() - 1);
    make_contact_keys(&app, &caller, &commands).await;
    let mut answered = Answered {
        app: &app,
        caller: &caller,
        request_id: &request_id,
        made: HashMap::new(),
        replayed: true,
        text: Pieces::default(),
        booked: None,
    };
    answered.text.open().extend_from_slice(RESULTS);
    let mut first = 0;
    for part in parts_of(&commands) {
        answered.send(part, first, &header_key).await;
        first += part.len();
    }
    answered.text.open().extend_from_slice(b"]}");
    let (length, body) = answered.text.into_body();
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if answered.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The commands in parts, so that each acts only on bookings that were made before its part: whether they were, and by whom, has
/// to be known by then.
fn parts_of(commands: &[BatchCommand]) -> Vec<&[BatchCommand]> {
    let mut parts = Vec::new();
    let mut first = 0;
    let mut booked = HashSet::new();
    for (index, command) in commands.iter().enumerate() {
        let acts_on = match &command.op {
            Op::Book(request) => {
                booked.extend(request.id.map(|id| BookingId::from_bytes(id.into_bytes())));
                continue;
            }
            Op::Confirm(id, _)
            | Op::Extend(id, _)
            | Op::Cancel(id, _)
            | Op::Move(id, _)
            | Op::Redeem(id, _) => id,
        };
        if booked.contains(acts_on) {
            parts.push(&commands[first..index]);
            first = index;
            booked.clear();
        }
    }
    parts.push(&commands[first..]);
    parts
}

/// The keys of new customers' contacts share commits if they are asked for together. What fails here fails again, and is told,
/// with its command. What cannot be booked for has none made: keys stay until they are erased.
async fn make_contact_keys(app: &App, caller: &Caller, commands: &[BatchCommand]) {
    let mut customers = HashSet::new();
    for command in commands {
        let Op::Book(request) = &command.op else { continue };
        if request.has_contact_to_keep() && request.inventory(app, caller).await.is_ok() {
            customers.insert(request.customer.as_str());
        }
    }
    futures_util::future::join_all(
        customers.into_iter().map(|customer| app.contacts.prepare(&caller.tenant, customer)),
    )
    .await;
}

/// How an answer begins.
const RESULTS: &[u8] = b"{\"results\":[";

/// What was answered so far.
struct Answered<'a> {
    app: &'a App,
    caller: &'a Caller,
    request_id: &'a str,
    /// Bookings that this batch made under ids of the caller's own.
    made: HashMap<BookingId, InventoryNumber>,
    /// Whether all of it was said before.
    replayed: bool,
    text: Pieces,
    /// Where the last booking went: most batches are for one inventory.
    booked: Option<(InventoryKind, String, InventoryNumber)>,
}

/// An answer in pieces of a size that is used again and again: one of megabytes would be fresh memory every time.
#[derive(Default)]
struct Pieces {
    full: Vec<Bytes>,
    open: Vec<u8>,
}

const PIECE_BYTES: usize = 64 * 1024;

impl Pieces {
    /// Where to go on writing.
    fn open(&mut self) -> &mut Vec<u8> {
        if self.open.len() >= PIECE_BYTES {
            self.full.push(std::mem::take(&mut self.open).into());
        }
        if self.open.capacity() == 0 {
            self.open.reserve_exact(PIECE_BYTES + PIECE_BYTES / 8);
        }
        &mut self.open
    }

    fn into_body(mut self) -> (usize, Body) {
        self.full.push(self.open.into());
        let length = self.full.iter().map(Bytes::len).sum();
        let frames = self.full.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        (length, Body::new(StreamBody::new(futures_util::stream::iter(frames))))
    }
}

impl Answered<'_> {
    /// Sends a part of the commands and writes down what was answered.
    async fn send(&mut self, part: &[BatchCommand], first: usize, header_key: &IdempotencyKey) {
        let mut sent: Vec<Result<Sent, Problem>> = Vec::with_capacity(part.len());
        let mut submitted = Vec::with_capacity(part.len());
        for (index, command) in (first..).zip(part) {
            let key = match (&command.key, &header_key.0) {
                (Some(key), _) => IdempotencyKey::new(key),
                (None, Some(key)) => Ok(IdempotencyKey(Some(format!("{key}#{index}")))),
                (None, None) => Ok(IdempotencyKey(None)),
            };
            let prepared = match key {
                Ok(key) => self.prepare(command, key).await,
                Err(problem) => Err(problem),
            };
            sent.push(prepared.map(|(one, command)| {
                submitted.push((one.inventory, command));
                one
            }));
        }
        let mut answers = self.app.engine.submit_all(submitted).await.into_iter();
        let mut seen: Option<(InventoryNumber, Arc<StockView>)> = None;
        for (index, one) in (first..).zip(sent) {
            let result = match one {
                Ok(sent) => {
                    let answer = answers.next().expect("one for each");
                    let result = self.understand(&sent, answer, &mut seen).await;
                    if let Some(admitted) = sent.admitted {
                        settle_hold(self.app, self.caller, admitted, result.as_ref().ok());
                        if sent.is_named && result.is_ok() {
                            self.made.insert(admitted, sent.inventory);
                        }
                    }
                    result.map(|granted| (sent.admitted.is_some(), granted))
                }
                Err(problem) => Err(problem),
            };
            self.replayed &= match &result {
                Ok((_, granted)) => granted.answer.replayed,
                Err(problem) => problem.replayed,
            };
            let text = self.text.open();
            if index > 0 {
                text.push(b',');
            }
            write_result(self.app, self.request_id, result, text);
        }
    }
}

impl Answered<'_> {
    /// Finds out where a command goes. Bookings that were made earlier in the batch are the caller's own.
    async fn prepare(
        &mut self,
        command: &BatchCommand,
        key: IdempotencyKey,
    ) -> Result<(Sent, Command), Problem> {
        let (app, caller) = (self.app, self.caller);
        let (id, verb, action) = match &command.op {
            Op::Book(request) => {
                let inventory = self.inventory(request).await?;
                let book = request.command(app, caller, inventory).await?;
                admit_hold(app, caller, inventory, &book, &key).await?;
                let admitted = Some(book.id);
                let asked = Asked { app, caller, key: &key, operation: OPERATION, request: &**request };
                let command = asked.command(Action::Book(Box::new(book)));
                let is_named = request.id.is_some();
                return Ok((Sent { inventory, key, admitted, is_named }, command));
            }
            Op::Confirm(id, request) => (*id, "confirm", request.action(*id, caller)),
            Op::Extend(id, request) => (*id, "extend", request.action(*id)),
            Op::Cancel(id, request) => (*id, "cancel", request.action(*id)),
            Op::Move(id, request) => (*id, "move", request.action(*id, caller)?),
            Op::Redeem(id, request) => (*id, "redeem", request.action(*id, caller)?),
        };
        let inventory = match self.made.get(&id) {
            Some(inventory) => *inventory,
            None => find_booking(app, caller, id).await?.0,
        };
        let operation = operation(verb, id);
        let command = match &command.op {
            Op::Confirm(_, request) => {
                Asked { app, caller, key: &key, operation: &operation, request }.command(action)
            }
            Op::Extend(_, request) => {
                Asked { app, caller, key: &key, operation: &operation, request }.command(action)
            }
            Op::Cancel(_, request) => {
                Asked { app, caller, key: &key, operation: &operation, request }.command(action)
            }
            Op::Move(_, request) => {
                Asked { app, caller, key: &key, operation: &operation, request }.command(action)
            }
            Op::Redeem(_, request) => {
                Asked { app, caller, key: &key, operation: &operation, request }.command(action)
            }
            Op::Book(_) => unreachable!("returned above"),
        };
        Ok((Sent { inventory, key, admitted: None, is_named: false }, command))
    }

    /// Where a booking goes.
    async fn inventory(&mut self, request: &NewBooking) -> Result<InventoryNumber, Problem> {
        let (kind, id) = request.inventory_id()?;
        if let Some((of_kind, of_id, inventory)) = &self.booked
            && (*of_kind, of_id.as_str()) == (kind, id)
        {
            return Ok(*inventory);
        }
        let inventory = request.inventory(self.app, self.caller).await?;
        self.booked = Some((kind, id.to_owned(), inventory));
        Ok(inventory)
    }

    /// Turns an answer into what is said. `seen` is the stock of the last answer, as of after the whole part.
    async fn understand(
        &self,
        sent: &Sent,
        answer: Result<Answer, SubmitError>,
        seen: &mut Option<(InventoryNumber, Arc<StockView>)>,
    ) -> Result<Granted, Problem> {
        let answer = answer?;
        let stock = match seen {
            Some((inventory, stock)) if *inventory == sent.inventory => Arc::clone(stock),
            _ => {
                let stock = self.app.engine.view(sent.inventory).await?;
                *seen = Some((sent.inventory, Arc::clone(&stock)));
                stock
            }
        };
        let asked = Asked { app: self.app, caller: self.caller, key: &sent.key, operation: "", request: &() };
        asked.understand(stock, answer).await
    }
}

fn write_result(app: &App, request_id: &str, result: Result<(bool, Granted), Problem>, text: &mut Vec<u8>) {
    let begin = |status: StatusCode, text: &mut Vec<u8>| {
        text.extend_from_slice(b"{\"status\":");
        text.extend_from_slice(status.as_str().as_bytes());
        text.extend_from_slice(b",\"body\":");
    };
    match result {
        Ok((true, granted)) => {
            begin(StatusCode::CREATED, text);
            created(app, &granted).write(text);
        }
        Ok((false, granted)) => {
            begin(StatusCode::OK, text);
            acted(&granted).write(text);
        }
        Err(problem) => {
            if let Some(cause) = &problem.cause {
                tracing::warn!(request_id, code = problem.code, %cause, "failed in a batch");
            }
            crate::measure::count_code(problem.code);
            begin(problem.status, text);
            serde_json::to_writer(&mut *text, &problem.body(request_id)).expect("a problem is plain data");
        }
    }
    text.push(b'}');
}
