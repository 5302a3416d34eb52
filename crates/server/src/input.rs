//! Reading what callers send: bounded, in time, strict.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, IgnoredAny};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::app::App;
use crate::body_budget::{BodyBuffer, OutOfBudget};
use crate::by_name::ByName;
use crate::fault;
use crate::limits::{
    BODY_BYTES_MAX, BODY_READ_TIMEOUT, DISCARDED_BYTES_MAX, LARGE_BODY_BYTES_MAX, LARGE_BODY_READ_TIMEOUT,
    PUBLIC_BATCH_BYTES_MAX,
};
use crate::problem::Problem;

/// A body that was read and understood.
pub(crate) struct Input<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Input<T>, Problem> {
        let (parts, body) = request.into_parts();
        parse(read_small_body(app, &parts.headers, body).await?.bytes()).map(Input)
    }
}

/// Reads a JSON body for the routes that take no more than [`BODY_BYTES_MAX`]. Its memory counts until it is dropped.
pub(crate) async fn read_small_body(
    app: &App,
    headers: &HeaderMap,
    body: Body,
) -> Result<BodyBuffer, Problem> {
    let mut buffer = BodyBuffer::new(&app.bodies, Vec::new()).map_err(out_of_budget)?;
    read_body(headers, body, BODY_BYTES_MAX, &mut buffer).await?;
    Ok(buffer)
}

/// As [`Input`], for the routes that take more: imports, batches, halls.
pub(crate) struct LargeInput<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for LargeInput<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<LargeInput<T>, Problem> {
        let (parts, body) = request.into_parts();
        let body = read_large_body(app, &parts.headers, body, LARGE_BODY_BYTES_MAX).await?;
        parse(&body).map(LargeInput)
    }
}

/// Buffers for large bodies. The system clears every page of a fresh one, which takes longer than reading the body into it.
static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
/// Large bodies that are read at one time without a fresh buffer: at most 8 MiB each.
const SPARE_BUFFERS_MAX: usize = 4;
/// A smaller buffer is not worth keeping, and a smaller body does not get a spare one.
const SPARE_BUFFER_BYTES_MIN: usize = 1024 * 1024;

/// A large body; its buffer is used again.
pub(crate) struct LargeBody(BodyBuffer);

impl std::ops::Deref for LargeBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.bytes()
    }
}

impl Drop for LargeBody {
    fn drop(&mut self) {
        let memory = self.0.take_memory();
        let mut spare = SPARE.lock();
        if memory.capacity() >= SPARE_BUFFER_BYTES_MIN && spare.len() < SPARE_BUFFERS_MAX {
            spare.push(memory);
        }
    }
}

/// Reads a JSON body of at most so many bytes for the routes that take more. Its memory counts until it is dropped.
pub(crate) async fn read_large_body(
    app: &App,
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<LargeBody, Problem> {
    let is_large = announced_bytes(headers).is_none_or(|bytes| bytes >= SPARE_BUFFER_BYTES_MIN as u64);
    let spare = if is_large && bytes_max >= LARGE_BODY_BYTES_MAX { SPARE.lock().pop() } else { None };
    let budget = if bytes_max == PUBLIC_BATCH_BYTES_MAX { &app.public_batches } else { &app.bodies };
    let buffer = BodyBuffer::new(budget, spare.unwrap_or_default()).map_err(out_of_budget)?;
    let mut body_read = LargeBody(buffer);
    read_body(headers, body, bytes_max, &mut body_read.0).await?;
    Ok(body_read)
}

fn out_of_budget(_: OutOfBudget) -> Problem {
    let detail = "Too many bytes of other requests are in memory. Nothing was done; try again.";
    Problem::unavailable("OVERLOADED", detail, 1)
}

fn announced_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads a JSON body of at most so many bytes.
async fn read_body(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
    buffer: &mut BodyBuffer,
) -> Result<(), Problem> {
    let too_large = || {
        let detail = format!("The body may have at most {bytes_max} bytes.");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", detail)
    };
    // A client that asks first is not sending yet.
    let discarded_max = if headers.contains_key(header::EXPECT) { 0 } else { DISCARDED_BYTES_MAX };
    if announced_bytes(headers).is_some_and(|bytes| bytes > (bytes_max + discarded_max) as u64) {
        return Err(too_large());
    }
    let timeout = if bytes_max > BODY_BYTES_MAX { LARGE_BODY_READ_TIMEOUT } else { BODY_READ_TIMEOUT };
    match tokio::time::timeout(timeout, collect(body, bytes_max, buffer)).await {
        Ok(Ok(())) => {}
        Ok(Err(BodyReadError::TooLarge)) => return Err(too_large()),
        Ok(Err(BodyReadError::OutOfBudget(full))) => return Err(out_of_budget(full)),
        Ok(Err(BodyReadError::Broken(error))) => {
            let detail = format!("The body ended before it was complete: {error}.");
            return Err(Problem::new(StatusCode::BAD_REQUEST, "MALFORMED_JSON", detail));
        }
        Err(_) => {
            let detail = format!("The body took longer than {} s.", timeout.as_secs());
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT", detail));
        }
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !buffer.bytes().is_empty() && !is_json(kind) {
        let detail = "Send the body as application/json.";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", detail));
    }
    if headers.get_all(header::CONTENT_ENCODING).iter().any(|coding| coding != "identity") {
        let detail = "Send the body as it is, without a Content-Encoding.";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", detail));
    }
    Ok(())
}

/// Why a body is not in the buffer.
enum BodyReadError {
    TooLarge,
    OutOfBudget(OutOfBudget),
    Broken(axum::Error),
}

/// All of a body. If it is too large, what follows is read and dropped, up to a bound: a client that is still sending would not receive
/// the response of a server that closes the connection.
async fn collect(mut body: Body, bytes_max: usize, buffer: &mut BodyBuffer) -> Result<(), BodyReadError> {
    let mut discarded = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(BodyReadError::Broken)?.into_data() else { continue };
        if discarded == 0 && buffer.bytes().len() + data.len() <= bytes_max {
            buffer.append(&data, bytes_max).map_err(BodyReadError::OutOfBudget)?;
            continue;
        }
        discarded += data.len();
        if discarded > DISCARDED_BYTES_MAX {
            break;
        }
    }
    if discarded == 0 { Ok(()) } else { Err(BodyReadError::TooLarge) }
}

const _: () = assert!(BODY_READ_TIMEOUT.as_nanos() >= Duration::from_secs(1).as_nanos());

pub(crate) fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

/// Parses a body; a mistake is told by its place. An empty body counts as `{}`.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    read_all(bytes).map_err(|error| unreadable::<T>(bytes, &error))
}

/// Why a body is no `T`, after [`read_all`] failed with this error. It reads the body again.
pub(crate) fn unreadable<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Problem {
    match error.classify() {
        // It was left where something in it was wrong. What is no JSON at all is told first.
        serde_json::error::Category::Data => match json_text(or_empty(bytes)) {
            Ok(text) => fault::of_body::<T>(text),
            Err(error) => malformed(&error),
        },
        _ => malformed(error),
    }
}

fn or_empty(bytes: &[u8]) -> &[u8] {
    if bytes.is_empty() { b"{}" } else { bytes }
}

/// The text, if it is JSON, whatever it says. Without a bound on how deep it is nested: nothing is made of it.
fn json_text(bytes: &[u8]) -> Result<&str, Box<dyn std::error::Error>> {
    let text = std::str::from_utf8(bytes)?;
    serde_json::from_str::<IgnoredAny>(text)?;
    Ok(text)
}

/// Parses a body without looking for the place of a mistake: see [`unreadable`]. An empty body counts as `{}`.
pub(crate) fn read_all<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, serde_json::Error> {
    let bytes = or_empty(bytes);
    // Checked at once that it is text, and not again for each string in it. What is none is told by its place.
    match std::str::from_utf8(bytes) {
        Ok(text) => read_from(serde_json::Deserializer::from_str(text)),
        Err(_) => read_from(serde_json::Deserializer::from_slice(bytes)),
    }
}

fn read_from<'a, T, R>(mut deserializer: serde_json::Deserializer<R>) -> Result<T, serde_json::Error>
where
    T: Deserialize<'a>,
    R: serde_json::de::Read<'a>,
{
    let body = T::deserialize(ByName::new(&mut deserializer))?;
    deserializer.end()?;
    Ok(body)
}

fn malformed(error: &impl std::fmt::Display) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "MALFORMED_JSON", format!("The body is not JSON: {error}."))
}

/// A JSON object in which no name occurs twice, at any depth.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(transparent)]
pub(crate) struct Object(pub(crate) Map<String, Value>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        match Strict::deserialize(deserializer)?.0 {
            Value::Object(object) => Ok(Object(object)),
            _ => Err(de::Error::custom("must be an object")),
        }
    }
}

/// Any JSON value in which no name occurs twice.
pub(crate) struct Strict(pub(crate) Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> de::Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(value)) = seq.next_element()? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some((name, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if object.contains_key(&name) {
                return Err(de::Error::custom(format!("duplicate field `{name}`")));
            }
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

/// Tells a field that is `null` (`Some(None)`) from one that is not there (`None`), with `#[serde(default)]`.
pub(crate) fn nullable<'de, T, D>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// Writes what [`nullable`] reads so that all three differ: a field that is not there as `null`, and one that is `null` as `false`, which
/// none of these can be. For fingerprints.
pub(crate) fn told_apart<T: Serialize, S: Serializer>(
    field: &Option<Option<T>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match field {
        None => serializer.serialize_none(),
        Some(None) => serializer.serialize_bool(false),
        Some(Some(value)) => value.serialize(serializer),
    }
}

/// A field that is `null` is as one that is not there, with `#[serde(default)]`.
pub(crate) fn null_as_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_name::TOO_DEEP;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code, reason = "only whether it can be read matters")]
        name: String,
        #[serde(default)]
        metadata: Option<Object>,
        #[serde(default, deserialize_with = "nullable")]
        limit: Option<Option<u32>>,
    }

    #[test]
    fn what_is_wrong_is_told_by_its_place() {
        let rows = [
            (r#"{"name":1}"#, "INVALID_REQUEST", "/name"),
            (r#"{"name":"a","nam":1}"#, "INVALID_REQUEST", "/nam"),
            (r#"{"name":"a","name":"b"}"#, "INVALID_REQUEST", "/name"),
            (r#"{"name":"a","metadata":{"b":[{"c":1,"c":2}]}}"#, "INVALID_REQUEST", "/metadata/b/0/c"),
            (r#"{"name":"a","metadata":[]}"#, "INVALID_REQUEST", "/metadata"),
            (r#"{}"#, "INVALID_REQUEST", "/name"),
            (r#"["a"]"#, "INVALID_REQUEST", ""),
            (r#"{"name":"a""#, "MALFORMED_JSON", ""),
            (r#"{"name":"a"} x"#, "MALFORMED_JSON", ""),
            (r#"{"nam":"#, "MALFORMED_JSON", ""),
            (r#"{"name":1,}"#, "MALFORMED_JSON", ""),
            (r#"{"name":1} x"#, "MALFORMED_JSON", ""),
            ("{\"name\":\"\u{7f}\u{0}\"}", "MALFORMED_JSON", ""),
        ];
        for (body, code, pointer) in rows {
            let problem = parse::<Sample>(body.as_bytes()).unwrap_err();
            assert_eq!(problem.code, code, "{body}");
            if code == "INVALID_REQUEST" {
                let told = problem.more["errors"][0]["pointer"].as_str().unwrap();
                assert_eq!(told, pointer, "{body}");
            }
        }
        for no_text in [&b"{\"name\":\"\xff\"}"[..], b"{\"nam\":\"\xff\"}"] {
            assert_eq!(parse::<Sample>(no_text).unwrap_err().code, "MALFORMED_JSON");
        }
    }

    #[test]
    fn nesting_has_a_bound_and_brackets_in_strings_do_not_count() {
        let nested = |depth: usize| {
            format!(
                r#"{{"name":"{}","metadata":{}1{}}}"#,
                "[".repeat(99),
                r#"{"a":"#.repeat(depth),
                "}".repeat(depth)
            )
        };
        assert!(parse::<Sample>(nested(31).as_bytes()).is_ok());
        let lists = |depth: usize| {
            format!(r#"{{"name":"a","metadata":{{"a":{}{}}}}}"#, "[".repeat(depth), "]".repeat(depth))
        };
        assert!(parse::<Sample>(lists(30).as_bytes()).is_ok());
        let endless = format!(r#"{{"name":"a","metadata":{{"a":{}"#, "[".repeat(60_000));
        for deep in [nested(32), lists(31), lists(30_000)] {
            let problem = parse::<Sample>(deep.as_bytes()).unwrap_err();
            assert_eq!((problem.code, &*problem.detail), ("INVALID_REQUEST", TOO_DEEP));
        }
        assert_eq!(parse::<Sample>(endless.as_bytes()).unwrap_err().code, "MALFORMED_JSON");
    }

    #[test]
    fn null_and_absent_are_two_things() {
        assert_eq!(parse::<Sample>(br#"{"name":"a"}"#).unwrap().limit, None);
        assert_eq!(parse::<Sample>(br#"{"name":"a","limit":null}"#).unwrap().limit, Some(None));
        assert_eq!(parse::<Sample>(br#"{"name":"a","limit":3}"#).unwrap().limit, Some(Some(3)));
        assert!(parse::<Sample>(br#"{"name":"a","metadata":null}"#).unwrap().metadata.is_none());
    }
}
