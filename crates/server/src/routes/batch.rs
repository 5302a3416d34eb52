//! `POST /v1/batch`: many commands, each for itself, answered when all are durable.

mod command;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::ids::{BookingId, InventoryKind};
use boxoffice_core::memory::Fingerprint;
use boxoffice_core::outcome::Outcome;
use boxoffice_core::refusal::Refusal;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::view::StockView;
use boxoffice_engine::{Answer, InventoryNumber, SubmitError};
use futures_util::{StreamExt, future, stream};
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::bookings::create::{OPERATION, admit_hold, check_contact, created, mirror_refusal, settle_hold};
use super::bookings::new_booking::NewBooking;
use super::bookings::{acted, operation};
use crate::app::App;
use crate::attempts;
use crate::caller::{Caller, find_booking};
use crate::contacts::{UnsavedKey, made_no_booking};
use crate::idempotency::{IdempotencyKey, fingerprint};
use crate::input::{parse, read_all, read_large_body, unreadable};
use crate::keys::Role;
use crate::limits::{
    BATCH_COMMANDS_MAX, LARGE_BODY_BYTES_MAX, PUBLIC_BATCH_BYTES_MAX, PUBLIC_BATCH_COMMANDS_MAX,
};
use crate::outer::{REPLAYED, RequestId};
use crate::problem::Problem;
use crate::routes::idempotency_key_reused;
use crate::submit::{Asked, Granted, granted_bookings, replayed_bookings, stock_after, untold};
use command::{BatchCommand, On, Op};

/// Many commands.
#[derive(serde::Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Batch {
    #[schema(min_items = 1, max_items = 10000)]
    commands: Vec<BatchCommand>,
}

/// The same, with the commands as they stand there.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Apart<'a> {
    #[serde(borrow)]
    commands: Vec<&'a RawValue>,
}

/// The same, for the mistakes around the commands.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Outline {
    #[serde(rename = "commands")]
    _commands: Vec<IgnoredAny>,
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

/// A command on its way: where it goes, and what its answer needs.
struct Sent {
    inventory: InventoryNumber,
    /// The id that a new booking was to have.
    admitted: Option<BookingId>,
    /// Whether the caller chose that id, and can act on it later in the batch.
    is_named: bool,
    /// The document with the key of its contact.
    contact_key: Option<String>,
}

/// Sends many commands at once, each for itself.
///
/// Answered in order when all are durable. A command that is refused, or that cannot be understood, does not stop the others. A
/// command without an `idempotency_key` of its own has the one of the header, with its place in the batch; another batch under
/// that one is refused as a whole. A batch may have 10,000 commands and 8 MiB, and with a `public` key 100 commands and 256 KiB.
///
/// For rate limits a batch counts as many requests as it has commands. If too little of the limit is left, it is refused as a whole with
/// 429 `RATE_LIMITED` and nothing is done. A batch of more commands than a second allows is accepted when none of the last second's budget is
/// used; the requests after it wait until the rest is paid off.
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
    let bytes_max = if caller.role == Role::Public { PUBLIC_BATCH_BYTES_MAX } else { LARGE_BODY_BYTES_MAX };
    let bytes = read_large_body(&app, &parts.headers, body, bytes_max).await?;
    let commands = read(&bytes, &caller)?;
    app.rates.admit_batch(&caller, commands.len())?;
    // As a task, so that it comes to its end although the client hangs up: unused keys of contacts are removed at the end.
    tokio::spawn(run(app, caller, request_id, header_key, commands)).await.expect("it does not panic")
}

async fn run(
    app: Arc<App>,
    caller: Caller,
    request_id: String,
    header_key: IdempotencyKey,
    commands: Vec<BatchCommand>,
) -> Result<Response, Problem> {
    let mut answered = Answered {
        app: &app,
        caller: &caller,
        request_id: &request_id,
        batch: header_key.0.as_ref().map(|_| fingerprint_of(&app, &caller, &commands)),
        claims: HashMap::new(),
        known: HashMap::new(),
        replayed: false,
        fresh: false,
        text: Pieces::for_results(commands.len()),
        booked: None,
    };
    answered.text.open().extend_from_slice(RESULTS);
    answered.claim(&commands, &header_key).await?;
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
    if answered.replayed && !answered.fresh {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// The commands of a batch. They are read in one go, and one by one only if that shows that something is wrong with one of them.
fn read(bytes: &[u8], caller: &Caller) -> Result<Vec<BatchCommand>, Problem> {
    let most = if caller.role == Role::Public { PUBLIC_BATCH_COMMANDS_MAX } else { BATCH_COMMANDS_MAX };
    let check = |count: usize| {
        if (1..=most).contains(&count) {
            return Ok(());
        }
        Err(Problem::invalid("/commands", format!("must be 1 to {most} commands")))
    };
    if let Ok(Batch { commands }) = read_all(bytes) {
        check(commands.len())?;
        return Ok(commands);
    }
    let Apart { commands } = read_all(bytes).map_err(|error| unreadable::<Outline>(bytes, &error))?;
    check(commands.len())?;
    let understood = |text: &RawValue| {
        let text = text.get().as_bytes();
        parse(text).unwrap_or_else(|problem| {
            let problem = attempts::with_attempt_of_command(problem, caller, text);
            BatchCommand { key: None, op: Op::Refused(Box::new(problem)) }
        })
    };
    Ok(commands.into_iter().map(understood).collect())
}

/// Of all commands together.
fn fingerprint_of(app: &App, caller: &Caller, commands: &[BatchCommand]) -> Fingerprint {
    let each: Vec<Fingerprint> = commands.iter().map(|command| command.fingerprint(app, caller)).collect();
    fingerprint(app, caller, "batch", &each)
}

/// The commands in parts, so that each acts only on bookings that were made before its part: whether they were, and by whom, has
/// to be known by then.
fn parts_of(commands: &[BatchCommand]) -> Vec<&[BatchCommand]> {
    let mut parts = Vec::new();
    let mut first = 0;
    let mut booked = HashSet::new();
    for (index, command) in commands.iter().enumerate() {
        match command.op.on() {
            On::New(_, named) => booked.extend(named),
            On::Booking(id) if booked.contains(&id) => {
                parts.push(&commands[first..index]);
                first = index;
                booked.clear();
            }
            On::Booking(_) | On::Nothing => {}
        }
    }
    parts.push(&commands[first..]);
    parts
}

/// So many share a reading of the clock for their ids. Not all: ids of one millisecond are told apart by chance alone.
const COMMANDS_OF_ONE_MOMENT: usize = 256;

/// Bookings that are looked up together, where that is a question to a database.
const LOOKED_UP_AT_ONCE: usize = 32;

/// How an answer begins.
const RESULTS: &[u8] = b"{\"results\":[";

/// What was answered so far.
struct Answered<'a> {
    app: &'a App,
    caller: &'a Caller,
    request_id: &'a str,
    /// The fingerprint of the whole, if the header has a key: each command that is remembered under that key is remembered with it.
    batch: Option<Fingerprint>,
    /// Where the header's key stands for this batch, and where that could not be had.
    claims: HashMap<InventoryNumber, Result<(), Problem>>,
    /// Where bookings are that the caller may act on: those that were found there, and those that this batch made under ids of the caller's own.
    known: HashMap<BookingId, InventoryNumber>,
    /// Whether some of it was said before.
    replayed: bool,
    /// Whether some of it was decided now, or may be decided otherwise the next time.
    fresh: bool,
    text: Pieces,
    /// Where the last booking went: most batches are for one inventory.
    booked: Option<(InventoryKind, String, InventoryNumber)>,
}

/// An answer in pieces of a size that is used again and again: one of megabytes would be fresh memory every time. The larger they are, the
/// fewer writes.
struct Pieces {
    full: Vec<Bytes>,
    open: Vec<u8>,
}

const PIECE_BYTES: usize = 256 * 1024;
/// A piece, and the result that it ends with.
const PIECE_ROOM_BYTES: usize = PIECE_BYTES + PIECE_BYTES / 8;
/// Enough for most.
const RESULT_BYTES: usize = 1024;

impl Pieces {
    fn for_results(results: usize) -> Pieces {
        Pieces { full: Vec::new(), open: Vec::with_capacity((results * RESULT_BYTES).min(PIECE_ROOM_BYTES)) }
    }

    /// Where to go on writing.
    fn open(&mut self) -> &mut Vec<u8> {
        if self.open.len() >= PIECE_BYTES {
            let next = Vec::with_capacity(PIECE_ROOM_BYTES);
            self.full.push(std::mem::replace(&mut self.open, next).into());
        }
        &mut self.open
    }

    fn into_body(mut self) -> (usize, Body) {
        self.full.push(self.open.into());
        let length = self.full.iter().map(Bytes::len).sum();
        let frames = self.full.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
        (length, Body::new(StreamBody::new(stream::iter(frames))))
    }
}

impl Answered<'_> {
    /// Has the key of the header remembered for this batch wherever it is going to act under that key, before anything is done: another
    /// batch, or any other request, under the same key is refused there as a whole.
    async fn claim(&mut self, commands: &[BatchCommand], header_key: &IdempotencyKey) -> Result<(), Problem> {
        let Some(batch) = self.batch else { return Ok(()) };
        let inventories = self.under_the_key_of_the_header(commands).await;
        let asked = Asked {
            app: self.app,
            caller: self.caller,
            key: header_key,
            operation: "claim for a batch",
            request: &batch,
        };
        // To end what is due is what every command does: this one does nothing else.
        let claims = inventories.iter().map(|inventory| (*inventory, asked.command(Action::Expire)));
        let answers = self.app.engine.submit_all(claims.collect()).await;
        for (inventory, answer) in inventories.into_iter().zip(answers) {
            let claimed = match answer.map(|answer| answer.outcome) {
                Ok(Outcome::Refused(refusal)) if *refusal == Refusal::IdempotencyKeyReused => {
                    return Err(idempotency_key_reused());
                }
                Ok(Outcome::Granted(_)) => Ok(()),
                Ok(Outcome::Refused(_)) => {
                    Err(Problem::unavailable("OVERLOADED", "No more keys can be remembered here for now.", 1))
                }
                Err(error) => Err(error.into()),
            };
            self.claims.insert(inventory, claimed);
        }
        Ok(())
    }

    /// Where commands without a key of their own go, as far as that can be known before any is sent.
    async fn under_the_key_of_the_header(&mut self, commands: &[BatchCommand]) -> BTreeSet<InventoryNumber> {
        let (mut inventories, mut acted_on) = (BTreeSet::new(), HashSet::new());
        let mut named: HashMap<BookingId, BTreeSet<InventoryNumber>> = HashMap::new();
        for command in commands {
            let has_own = command.key.is_some();
            match command.op.on() {
                On::New(_, None) | On::Booking(_) if has_own => {}
                On::New(request, id) => {
                    let Ok(inventory) = self.inventory(request).await else { continue };
                    if let Some(id) = id {
                        named.entry(id).or_default().insert(inventory);
                    }
                    if !has_own {
                        inventories.insert(inventory);
                    }
                }
                On::Booking(id) => {
                    inventories.extend(named.get(&id).into_iter().flatten());
                    acted_on.insert(id);
                }
                On::Nothing => {}
            }
        }
        // Those of names that this batch gives, too: there may be others of these names already.
        let (app, caller) = (self.app, self.caller);
        let found = stream::iter(acted_on)
            .map(async |id| Some((id, find_booking(app, caller, id).await.ok()?.0)))
            .buffer_unordered(LOOKED_UP_AT_ONCE);
        self.known = found.filter_map(future::ready).collect().await;
        inventories.extend(self.known.values());
        inventories
    }

    /// Nothing is done under the header's key where that does not stand for this batch.
    fn must_be_claimed(&self, command: &BatchCommand, inventory: InventoryNumber) -> Result<(), Problem> {
        if self.batch.is_none() || command.key.is_some() {
            return Ok(());
        }
        let unknown =
            || Problem::unavailable("UNAVAILABLE", "It was not known where this goes; send it again.", 1);
        self.claims.get(&inventory).cloned().unwrap_or_else(|| Err(unknown()))
    }

    /// Sends a part of the commands and writes down what was answered.
    async fn send(&mut self, part: &[BatchCommand], first: usize, header_key: &IdempotencyKey) {
        // Problems are large and few: thousands that were sent are not to take as much room.
        let mut prepared: Vec<Result<(Sent, Command), Box<Problem>>> = Vec::with_capacity(part.len());
        let mut new_keys = Vec::new();
        let mut asked_at = self.app.engine.now();
        for (index, command) in (first..).zip(part) {
            if index % COMMANDS_OF_ONE_MOMENT == 0 {
                asked_at = self.app.engine.now();
            }
            let one = match command.key(index, header_key) {
                Ok(key) => self.prepare(command, key, asked_at, &mut new_keys).await,
                Err(problem) => Err(problem),
            };
            prepared.push(one.map_err(Box::new));
        }
        let kept = self.app.contacts.keep(new_keys).await;
        let mut sent: Vec<Result<Sent, Box<Problem>>> = Vec::with_capacity(part.len());
        let mut submitted = Vec::with_capacity(part.len());
        for one in prepared {
            sent.push(one.and_then(|(one, command)| {
                if let (Some(_), Err(problem)) = (&one.contact_key, &kept) {
                    return Err(Box::new(problem.clone()));
                }
                submitted.push((one.inventory, command));
                Ok(one)
            }));
        }
        let answers = self.app.engine.submit_all(submitted).await;
        self.remove_unused_keys(&sent, &answers).await;
        let acts = part.iter().any(|command| !matches!(command.op, Op::Book(_)));
        // What is booked is answered with the request's own contact.
        let contacts = if acts {
            self.app.contacts.keys_for(self.caller, granted_bookings(&answers)).await
        } else {
            self.app.contacts.keys_for(self.caller, []).await
        };
        let of_replays = self.app.contacts.keys_of(&self.caller.tenant, replayed_bookings(&answers)).await;
        let mut answers = answers.into_iter();
        let mut seen: Option<(InventoryNumber, Arc<StockView>)> = None;
        for ((index, command), one) in (first..).zip(part).zip(sent) {
            let sent_to = one.as_ref().ok().map(|sent| sent.inventory);
            let was_sent = sent_to.is_some();
            let mut result = match one {
                Ok(sent) => {
                    let answer = answers.next().expect("one for each");
                    let key = || command.key(index, header_key).expect("it was sent with its key");
                    let mut result = self.understand(&sent, key, answer, &mut seen).await;
                    if let (Op::Book(request), Ok(granted)) = (&command.op, &result)
                        && granted.answer.replayed
                        && let Err(problem) = check_contact(&of_replays, request, &key(), granted)
                    {
                        result = Err(problem);
                    }
                    if let Some(admitted) = sent.admitted {
                        settle_hold(self.app, self.caller, admitted, result.as_ref().ok());
                        if sent.is_named && result.is_ok() {
                            self.known.insert(admitted, sent.inventory);
                        }
                    }
                    result.map(|granted| (sent.admitted.is_some(), granted))
                }
                Err(problem) => Err(*problem),
            };
            if let Op::Book(request) = &command.op {
                match &mut result {
                    Ok((_, granted)) => {
                        granted.contact = request.contact_for(self.caller);
                        granted.count();
                    }
                    Err(problem) => {
                        if let Some(inventory) = sent_to {
                            mirror_refusal(self.app, request, inventory, problem);
                        }
                        problem.attempt = Some(attempts::attempt_of(self.caller, request));
                    }
                }
            } else if let Ok((_, granted)) = &mut result {
                match &contacts {
                    Ok(keys) => granted.contact = keys.open(granted.booking()),
                    Err(error) => result = Err(untold(error).into()),
                }
            }
            match &mut result {
                Ok((_, granted)) if granted.answer.replayed => self.replayed = true,
                Ok(_) => self.fresh = true,
                Err(problem) => {
                    self.note(problem, was_sent);
                    // What no key remembers is said the same again, too, for as long as the request is to blame: under the id of
                    // the key, and not as of the sequence at which it was looked at this time.
                    if problem.answer_id.is_none()
                        && is_lasting(problem.status)
                        && let Ok(key) = command.key(index, header_key)
                        && let Some(id) = key.answer_id(self.app, self.caller)
                    {
                        problem.answer_id = Some(id);
                        problem.more.remove("sequence");
                    }
                }
            }
            let text = self.text.open();
            if index > 0 {
                text.push(b',');
            }
            write_result(self.app, self.request_id, &result, text);
            if let (Some(inventory), Ok((_, granted))) = (sent_to, result) {
                seen = Some((inventory, granted.stock));
            }
        }
    }
}

/// Whether the same request is refused in the same way the next time, as far as it depends on the request.
fn is_lasting(status: StatusCode) -> bool {
    status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS
}

impl Answered<'_> {
    fn note(&mut self, problem: &Problem, was_sent: bool) {
        let is_remembered = was_sent
            && matches!(problem.status, StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::GONE);
        if problem.replayed {
            self.replayed = true;
        } else if is_remembered || !is_lasting(problem.status) {
            self.fresh = true;
        }
    }

    /// Removes the keys of contacts whose bookings were not made.
    async fn remove_unused_keys(
        &self,
        sent: &[Result<Sent, Box<Problem>>],
        answers: &[Result<Answer, SubmitError>],
    ) {
        let sent = sent.iter().filter_map(|one| one.as_ref().ok());
        let unused = sent.zip(answers).filter(|(_, answer)| made_no_booking(answer));
        self.app.contacts.remove(unused.filter_map(|(one, _)| one.contact_key.clone()).collect()).await;
    }

    /// Finds out where a command goes. Bookings that were made earlier in the batch are the caller's own.
    async fn prepare(
        &mut self,
        command: &BatchCommand,
        key: IdempotencyKey,
        asked_at: Timestamp,
        new_keys: &mut Vec<UnsavedKey>,
    ) -> Result<(Sent, Command), Problem> {
        let (app, caller) = (self.app, self.caller);
        let batch = self.batch.filter(|_| command.key.is_none());
        let in_batch = |operation: String| match batch {
            Some(Fingerprint(batch)) => format!("{operation} in {:032x}", u128::from_be_bytes(batch)),
            None => operation,
        };
        let (id, verb, action) = match &command.op {
            Op::Book(request) => {
                let inventory = self.inventory(request).await?;
                self.must_be_claimed(command, inventory)?;
                let (book, new_key) = request.command(app, caller, inventory, asked_at)?;
                admit_hold(app, caller, inventory, &book, &key).await?;
                let contact_key = new_key.as_ref().map(|new| new.document().to_owned());
                new_keys.extend(new_key);
                let admitted = Some(book.id);
                let named = batch.map(|_| in_batch(OPERATION.to_owned()));
                let operation = named.as_deref().unwrap_or(OPERATION);
                let asked = Asked { app, caller, key: &key, operation, request: &**request };
                let command = asked.command(Action::Book(Box::new(book)));
                let is_named = request.id.is_some();
                return Ok((Sent { inventory, admitted, is_named, contact_key }, command));
            }
            Op::Confirm(id, request) => (*id, "confirm", request.action(*id, caller)),
            Op::Extend(id, request) => (*id, "extend", request.action(*id)),
            Op::Cancel(id, request) => (*id, "cancel", request.action(*id, None)),
            Op::Move(id, request) => (*id, "move", request.action(*id, caller)?),
            Op::Redeem(id, request) => (*id, "redeem", request.action(*id, caller)?),
            Op::Refused(problem) => return Err((**problem).clone()),
        };
        let inventory = match self.known.get(&id) {
            Some(inventory) => *inventory,
            None => find_booking(app, caller, id).await?.0,
        };
        self.must_be_claimed(command, inventory)?;
        let operation = in_batch(operation(verb, id));
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
            Op::Book(_) | Op::Refused(_) => unreachable!("returned above"),
        };
        Ok((Sent { inventory, admitted: None, is_named: false, contact_key: None }, command))
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

    /// Turns an answer into what is said. `seen` is the stock of the answer before, as of after the whole part: who is granted something
    /// takes it along and hands it back, as all who answer share one count of who has it.
    async fn understand(
        &self,
        sent: &Sent,
        key: impl Fn() -> IdempotencyKey,
        answer: Result<Answer, SubmitError>,
        seen: &mut Option<(InventoryNumber, Arc<StockView>)>,
    ) -> Result<Granted, Problem> {
        let answer = answer?;
        let stock = match seen.take() {
            Some((inventory, stock)) if inventory == sent.inventory => stock,
            _ => stock_after(&self.app.engine, sent.inventory).await?,
        };
        // Only a refusal is told under the id of its key.
        let key = match answer.outcome {
            Outcome::Granted(_) => IdempotencyKey::default(),
            Outcome::Refused(_) => {
                *seen = Some((sent.inventory, Arc::clone(&stock)));
                key()
            }
        };
        let asked = Asked { app: self.app, caller: self.caller, key: &key, operation: "", request: &() };
        asked.understand(stock, answer).await
    }
}

fn write_result(app: &App, request_id: &str, result: &Result<(bool, Granted), Problem>, text: &mut Vec<u8>) {
    let begin = |status: StatusCode, text: &mut Vec<u8>| {
        text.extend_from_slice(b"{\"status\":");
        text.extend_from_slice(status.as_str().as_bytes());
        text.extend_from_slice(b",\"body\":");
    };
    match result {
        Ok((true, granted)) => {
            begin(StatusCode::CREATED, text);
            created(app, granted).write(text);
        }
        Ok((false, granted)) => {
            begin(StatusCode::OK, text);
            acted(granted).write(text);
        }
        Err(problem) => {
            if let Some(cause) = &problem.cause {
                tracing::warn!(request_id, code = problem.code, %cause, "failed in a batch");
            }
            crate::measure::count_code(problem.code);
            attempts::note(app, request_id, problem);
            begin(problem.status, text);
            serde_json::to_writer(&mut *text, &problem.body(request_id)).expect("a problem is plain data");
        }
    }
    text.push(b'}');
}
