//! One command of a batch: how it is read, what it acts on, and what its key remembers it by.

use std::borrow::Cow;

use boxoffice_core::ids::BookingId;
use boxoffice_core::memory::Fingerprint;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, IntoDeserializer, MapAccess};
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, SchemaType};
use utoipa::openapi::{RefOr, Schema};
use uuid::Uuid;

use crate::app::App;
use crate::by_name::ByName;
use crate::caller::Caller;
use crate::idempotency::{IdempotencyKey, Understood, fingerprint};
use crate::ids::booking_id;
use crate::input::Strict;
use crate::problem::Problem;
use crate::routes::bookings::cancel::Cancellation;
use crate::routes::bookings::confirm::Payment;
use crate::routes::bookings::create::OPERATION;
use crate::routes::bookings::extend::Extension;
use crate::routes::bookings::move_booking::Target;
use crate::routes::bookings::new_booking::NewBooking;
use crate::routes::bookings::operation;
use crate::routes::bookings::redeem::Redemption;

/// One command of a batch: `op`, an `idempotency_key` of its own, and the fields of the route of that name.
pub(super) struct BatchCommand {
    pub(super) key: Option<String>,
    pub(super) op: Op,
}

pub(super) enum Op {
    Book(Box<NewBooking>),
    Confirm(BookingId, Payment),
    Extend(BookingId, Extension),
    Cancel(BookingId, Cancellation),
    Move(BookingId, Target),
    Redeem(BookingId, Redemption),
    /// Nobody need be asked: it cannot be understood, or is of a booking that cannot exist.
    Refused(Box<Problem>),
}

/// What a command acts on.
pub(super) enum On<'a> {
    /// A booking that it makes, and the id that it is to have, if the caller chose one.
    New(&'a NewBooking, Option<BookingId>),
    Booking(BookingId),
    Nothing,
}

impl Op {
    pub(super) fn on(&self) -> On<'_> {
        match self {
            Op::Book(request) => {
                On::New(request, request.id.map(|id| BookingId::from_bytes(id.into_bytes())))
            }
            Op::Confirm(id, _)
            | Op::Extend(id, _)
            | Op::Cancel(id, _)
            | Op::Move(id, _)
            | Op::Redeem(id, _) => On::Booking(*id),
            Op::Refused(_) => On::Nothing,
        }
    }
}

impl Op {
    /// The id that the caller chose for a new booking.
    fn booked_id(&self) -> Option<Uuid> {
        match self {
            Op::Book(request) => request.id,
            Op::Confirm(..)
            | Op::Extend(..)
            | Op::Cancel(..)
            | Op::Move(..)
            | Op::Redeem(..)
            | Op::Refused(_) => None,
        }
    }
}

/// What a command does.
#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum OpName {
    Book,
    Confirm,
    Extend,
    Cancel,
    Move,
    Redeem,
}

impl utoipa::PartialSchema for BatchCommand {
    /// Anything: what cannot be understood is answered in its place, and does not stop the others.
    fn schema() -> RefOr<Schema> {
        let description = "An object with `op` (`book`, `confirm`, `extend`, `cancel`, `move` or `redeem`), an `idempotency_key` of its own, \
                           the `id` of the booking that is acted on or of a new one, and the fields of the route of that name.";
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).description(Some(description)).into()
    }
}

impl ToSchema for BatchCommand {}

impl<'de> Deserialize<'de> for BatchCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BatchCommand, D::Error> {
        // A deserializer that can tell the fields apart beforehand hands out `op` first.
        deserializer.deserialize_struct("command", &["op"], CommandVisitor)
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
            let op = map.next_value()?;
            return of_op(op, map);
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
        let Some(op) = fields.remove("op") else { return Err(de::Error::missing_field("op")) };
        let op = OpName::deserialize(ByName::new(op)).map_err(de::Error::custom::<serde_json::Error>)?;
        // How deep they are was counted when they were gathered.
        of_op(op, ByName::new(de::value::MapDeserializer::new(fields.into_iter())))
            .map_err(de::Error::custom::<serde_json::Error>)
    }
}

fn of_op<'de, A: MapAccess<'de>>(op: OpName, map: A) -> Result<BatchCommand, A::Error> {
    let on_booking = op != OpName::Book;
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
        OpName::Book => Body::Book(body!()),
        OpName::Confirm => Body::Confirm(body!()),
        OpName::Extend => Body::Extend(body!()),
        OpName::Cancel => Body::Cancel(body!()),
        OpName::Move => Body::Move(body!()),
        OpName::Redeem => Body::Redeem(body!()),
    };
    let key = fields.key;
    let id = match fields.id.transpose() {
        Ok(id) => id,
        Err(problem) => return Ok(BatchCommand { key, op: Op::Refused(Box::new(problem)) }),
    };
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
    id: Option<Result<BookingId, Problem>>,
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
                "id" if self.takes_id && self.id.is_none() => {
                    let Text(id) = self.map.next_value()?;
                    self.id = Some(booking_id(&id));
                }
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

/// A booking with its key, as a pair.
struct Keyed<'a>(&'a Option<String>, &'a NewBooking);

impl Understood for Keyed<'_> {
    fn write(&self, text: &mut Vec<u8>) {
        text.push(b'[');
        self.0.write(text);
        text.push(b',');
        self.1.write(text);
        text.push(b']');
    }
}

impl BatchCommand {
    pub(super) fn fingerprint(&self, app: &App, caller: &Caller) -> Fingerprint {
        let key = &self.key;
        match &self.op {
            Op::Book(request) => fingerprint(app, caller, OPERATION, &Keyed(key, request)),
            Op::Confirm(id, request) => fingerprint(app, caller, &operation("confirm", *id), &(key, request)),
            Op::Extend(id, request) => fingerprint(app, caller, &operation("extend", *id), &(key, request)),
            Op::Cancel(id, request) => fingerprint(app, caller, &operation("cancel", *id), &(key, request)),
            Op::Move(id, request) => fingerprint(app, caller, &operation("move", *id), &(key, request)),
            Op::Redeem(id, request) => fingerprint(app, caller, &operation("redeem", *id), &(key, request)),
            Op::Refused(problem) => fingerprint(app, caller, problem.code, &(key, &problem.detail)),
        }
    }

    /// The key that its answer is remembered under: its own, or that of the header with its place.
    pub(super) fn key(&self, index: usize, header_key: &IdempotencyKey) -> Result<IdempotencyKey, Problem> {
        match (&self.key, &header_key.0) {
            (Some(key), _) => IdempotencyKey::new(key),
            (None, Some(key)) => Ok(IdempotencyKey(Some(format!("{key}#{index}")))),
            (None, None) => Ok(IdempotencyKey(None).or_booking_id(self.op.booked_id())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::parse;

    #[test]
    fn mistakes_in_commands_are_told_by_their_place_wherever_op_stands() {
        const OPS: &str = r#"must be one of "book", "confirm", "extend", "cancel", "move", "redeem""#;
        const ID: &str = r#""id":"019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a""#;
        for (op, fields, pointer, message) in [
            ("", "", "/op", "is missing".to_owned()),
            ("", r#""customer":"ann""#, "/op", "is missing".to_owned()),
            (r#""op":"steal""#, "", "/op", format!(r#"{OPS}, got "steal""#)),
            (r#""op":7"#, r#""customer":7"#, "/op", format!("{OPS}, got 7")),
            (r#""op":"book""#, r#""event":"gala""#, "/customer", "is missing".to_owned()),
            (r#""op":"book""#, r#""customer":7"#, "/customer", "must be a string, got 7".to_owned()),
            (
                r#""op":"book""#,
                r#""customer":"ann","best_available":{"quantity":"2"}"#,
                "/best_available/quantity",
                r#"must be an integer, got "2""#.to_owned(),
            ),
            (
                r#""op":"book""#,
                r#""customer":"ann","best_available":{}"#,
                "/best_available/quantity",
                "is missing".to_owned(),
            ),
            (
                r#""op":"book""#,
                r#""customer":"ann","colour":1"#,
                "/colour",
                "is not a known field".to_owned(),
            ),
            (
                r#""op":"book""#,
                r#""customer":"ann","customer":"bob""#,
                "/customer",
                "is given twice".to_owned(),
            ),
            (r#""op":"confirm""#, "", "/id", "is missing".to_owned()),
            (r#""op":"extend""#, ID, "/seconds", "is missing".to_owned()),
            (r#""op":"cancel""#, r#""id":7"#, "/id", "must be a string, got 7".to_owned()),
            (
                r#""op":"cancel""#,
                r#""idempotency_key":7"#,
                "/idempotency_key",
                "must be a string, got 7".to_owned(),
            ),
            (r#""op":"cancel","op":"book""#, "", "/op", "is given twice".to_owned()),
        ] {
            let parts = |parts: [&str; 2]| {
                let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                format!("{{{}}}", parts.join(","))
            };
            for body in [parts([op, fields]), parts([fields, op])] {
                let Err(problem) = parse::<BatchCommand>(body.as_bytes()) else { panic!("{body}") };
                let error = &problem.more["errors"][0];
                assert_eq!(
                    (&error["pointer"], &error["message"]),
                    (&pointer.into(), &message.clone().into()),
                    "{body}"
                );
            }
        }
    }

    #[test]
    fn a_booking_and_its_key_are_understood_in_the_bytes_that_keys_remember() {
        let booking: NewBooking = parse(br#"{"event":"gala","customer":"ann","quantity":2}"#).unwrap();
        let understood = |key: Option<&str>| {
            let mut text = Vec::new();
            Keyed(&key.map(str::to_owned), &booking).write(&mut text);
            String::from_utf8(text).unwrap()
        };
        assert_eq!(understood(None), r#"[null,{"customer":"ann","event":"gala","quantity":2}]"#);
        assert_eq!(understood(Some("k\"")), r#"["k\"",{"customer":"ann","event":"gala","quantity":2}]"#);
    }
}
