//! What a caller is told when there is no success: `application/problem+json`, always of one shape.

use std::borrow::Cow;
use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use boxoffice_engine::SubmitError;
use boxoffice_engine::store::StoreError;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::attempts::BookingAttempt;
use crate::codes::{CODES, is_listed};

/// An error answer. It becomes a body in `outer.rs`, which knows the request's id.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) detail: Cow<'static, str>,
    /// When it makes sense to try again, in seconds.
    pub(crate) retry_after: Option<u32>,
    /// Fields of this code alone.
    pub(crate) more: Map<String, Value>,
    /// Stands in for the request's id where the answer must be the same, byte for byte, to every retry.
    pub(crate) answer_id: Option<Box<str>>,
    /// Whether it is the first answer again, from an idempotency key.
    pub(crate) replayed: bool,
    /// What the log is told and the caller is not.
    pub(crate) cause: Option<Arc<str>>,
    /// The booking attempt that it answers.
    pub(crate) attempt: Option<Box<BookingAttempt>>,
}

impl Problem {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<Cow<'static, str>>,
    ) -> Problem {
        debug_assert!(is_listed(code), "{code} is missing in codes.rs");
        Problem {
            status,
            code,
            detail: detail.into(),
            retry_after: None,
            more: Map::new(),
            answer_id: None,
            replayed: false,
            cause: None,
            attempt: None,
        }
    }

    /// A value that no state could accept, by its place in the body.
    pub(crate) fn invalid(pointer: &str, message: impl Into<String>) -> Problem {
        let message: String = message.into();
        let detail = if pointer.is_empty() { message.clone() } else { format!("{pointer}: {message}") };
        Problem::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", detail)
            .with("errors", json!([{ "pointer": pointer, "message": message }]))
    }

    pub(crate) fn not_found(code: &'static str, detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(StatusCode::NOT_FOUND, code, detail)
    }

    pub(crate) fn forbidden(detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "FORBIDDEN", detail)
    }

    pub(crate) fn unavailable(
        code: &'static str,
        detail: impl Into<Cow<'static, str>>,
        retry_after: u64,
    ) -> Problem {
        let mut problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, code, detail);
        problem.retry_after = Some(u32::try_from(retry_after).unwrap_or(u32::MAX));
        problem
    }

    pub(crate) fn rate_limited(detail: impl Into<Cow<'static, str>>, retry_after: u64) -> Problem {
        let mut problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", detail);
        problem.retry_after = Some(u32::try_from(retry_after).unwrap_or(u32::MAX));
        problem
    }

    pub(crate) fn with(mut self, name: &str, value: Value) -> Problem {
        self.more.insert(name.to_owned(), value);
        self
    }

    /// The body, for the answer to one request.
    pub(crate) fn body<'a>(&'a self, request_id: &'a str) -> ProblemBody<'a> {
        ProblemBody {
            r#type: format!("/docs#{}", self.code),
            title: title(self.code),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            request_id: self.answer_id.as_deref().unwrap_or(request_id),
            more: &self.more,
        }
    }
}

/// RFC 9457, with a code for programs and the request's id for people who read logs.
#[derive(Debug, Serialize)]
pub(crate) struct ProblemBody<'a> {
    r#type: String,
    title: String,
    status: u16,
    code: &'a str,
    detail: &'a str,
    request_id: &'a str,
    /// What belongs to the code: `errors`, `conflicts`, `alternatives`, `booking`, `redeemed_at`, and so on.
    #[serde(flatten)]
    more: &'a Map<String, Value>,
}

impl PartialSchema for ProblemBody<'_> {
    fn schema() -> RefOr<Schema> {
        let text =
            |description: &str| ObjectBuilder::new().schema_type(Type::String).description(Some(description));
        let codes = CODES.iter().map(|listed| listed.code);
        let error = ObjectBuilder::new()
            .property("pointer", text("A JSON pointer into the body, or `/` and a parameter's name."))
            .required("pointer")
            .property("message", text("In words."))
            .required("message");
        let description = "What is said when there is no success. Some codes have fields of their own: \
                           `conflicts`, `alternatives`, `booking`, `redeemed_at` and others.";
        ObjectBuilder::new()
            .property("type", text("Where the code is explained.").examples(["/docs#SEAT_UNAVAILABLE"]))
            .required("type")
            .property("title", text("The code in words."))
            .required("title")
            .property("status", ObjectBuilder::new().schema_type(Type::Integer))
            .required("status")
            .property("code", text("For programs.").enum_values(Some(codes)))
            .required("code")
            .property("detail", text("For people."))
            .required("detail")
            .property("request_id", text("Finds the request in the logs."))
            .required("request_id")
            .property("errors", ArrayBuilder::new().items(error))
            .description(Some(description))
            .into()
    }
}

impl ToSchema for ProblemBody<'_> {
    fn name() -> Cow<'static, str> {
        "Problem".into()
    }
}

/// The code in words: `SEAT_UNAVAILABLE` is "Seat unavailable".
fn title(code: &str) -> String {
    let lower = code.to_ascii_lowercase().replace('_', " ");
    let (first, rest) = lower.split_at(1);
    first.to_ascii_uppercase() + rest
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
        }
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Problem {
        match error {
            SubmitError::Overloaded { retry_after } => Problem::unavailable(
                "OVERLOADED",
                "Too many commands are waiting. Nothing was done; try again.",
                retry_after.as_secs().max(1),
            ),
            SubmitError::Unavailable { retry_after } => Problem::unavailable(
                "UNAVAILABLE",
                "The database, or Kafka, does not answer. Nothing was done; try again.",
                retry_after.as_secs().max(1),
            ),
            // A command of the log has nobody who waits for this; whoever were to would know as little.
            SubmitError::OutcomeUnknown | SubmitError::AlreadyDecided => Problem::unavailable(
                "OUTCOME_UNKNOWN",
                "Nobody can say whether it was done. Send it again with the same Idempotency-Key.",
                1,
            ),
            SubmitError::Stopped => {
                Problem::unavailable("UNAVAILABLE", "The server is stopping. Nothing was done; try again.", 2)
            }
            SubmitError::NoSuchInventory => {
                Problem::not_found("ROUTE_NOT_FOUND", "There is no such inventory.")
            }
            SubmitError::Damaged(problem) => {
                let detail = "The stored data cannot be read. Nothing was done.";
                let told = Problem::unavailable("UNAVAILABLE", detail, 60);
                Problem { cause: Some(problem), ..told }
            }
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        Problem::from(SubmitError::from(error))
    }
}
