//! Around every request: its id, its log line if it failed, and the body of its error.

use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;

use crate::app::App;
use crate::attempts;
use crate::caller::CallerAddress;
use crate::cross_origin;
use crate::limits::REQUEST_ID_CHARACTERS_MAX;
use crate::problem::Problem;
use crate::stale;
use crate::trusted_proxies::ForwardingHeaders;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// How long any cache keeps an answer that sets no `Cache-Control` of its own, as only the pages do.
pub(crate) const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// The id by which a request is found in the logs.
#[derive(Debug, Clone)]
pub(crate) struct RequestId(pub(crate) String);

/// The one layer around all routes.
pub(crate) async fn outer(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    if let Some(response) = cross_origin::preflight(&request) {
        return response;
    }
    let from_elsewhere = cross_origin::has_key(request.headers());
    let id = RequestId::of(request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()));
    request.extensions_mut().insert(id.clone());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    let address = match caller_address(&app, &request) {
        Ok(address) => address,
        Err(problem) => {
            let around =
                Around { app: &app, id: &id, address: None, method: &method, route, started, from_elsewhere };
            return finish(problem.into_response(), &around);
        }
    };
    if let Some(address) = address {
        request.extensions_mut().insert(CallerAddress(address));
    }
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|_| broken().into_response());
    stale::mark(&method, route, app.engine.unavailable_for(), &mut response);
    finish(response, &Around { app: &app, id: &id, address, method: &method, route, started, from_elsewhere })
}

/// Where a request came from; `None` in tests without a connection.
fn caller_address(app: &App, request: &Request) -> Result<Option<IpAddr>, Problem> {
    let Some(ConnectInfo(peer)) = request.extensions().get::<ConnectInfo<SocketAddr>>() else {
        return Ok(None);
    };
    if app.settings.trusted_proxies.is_empty() {
        return Ok(Some(peer.ip()));
    }
    let headers = ForwardingHeaders::of(request.headers());
    app.settings.trusted_proxies.caller_address(peer.ip(), &headers).map(Some)
}

/// A request, to whoever finishes its answer.
pub(crate) struct Around<'a> {
    pub(crate) app: &'a App,
    pub(crate) id: &'a RequestId,
    /// Of the caller.
    pub(crate) address: Option<IpAddr>,
    pub(crate) method: &'a Method,
    pub(crate) route: &'a str,
    pub(crate) started: Instant,
    /// Whether a page of another site may read the answer.
    pub(crate) from_elsewhere: bool,
}

/// What is said when we panicked. The panic itself has told where.
pub(crate) fn broken() -> Problem {
    let detail = "Something went wrong here. Whether it was done is not known.";
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", detail)
}

/// Gives an answer the body of its problem and what all answers have, and counts it.
pub(crate) fn finish(mut response: Response, around: &Around<'_>) -> Response {
    let Around { app, id, address, method, route, started, from_elsewhere } = *around;
    if let Some(problem) = of_framework(&response) {
        response = problem.into_response();
    }
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        if problem.status.is_server_error() {
            let cause = problem.cause.as_deref().unwrap_or(&problem.detail);
            let client = address.map(tracing::field::display);
            tracing::warn!(request_id = id.0, code = problem.code, client, %method, route, cause, "failed");
        }
        let body = serde_json::to_vec(&problem.body(&id.0)).expect("a problem is plain data");
        response.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
        *response.body_mut() = Body::from(body);
        if problem.replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        crate::measure::count_code(problem.code);
        attempts::note(app, &id.0, &problem);
        attempts::count_unread(method, route, &problem);
    }
    crate::measure::count_request(method, route, response.status(), started.elapsed());
    if from_elsewhere {
        cross_origin::allow(&mut response);
    }
    let id = HeaderValue::from_str(&id.0).expect("ids are printable");
    response.headers_mut().insert(REQUEST_ID, id);
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NO_STORE);
    response
}

/// What axum refuses by itself (a path that is not text, and the like) gets the same shape as everything else.
fn of_framework(response: &Response) -> Option<Problem> {
    let status = response.status();
    let refused = status.is_client_error() || status.is_server_error();
    // A page that says so to people is an answer of ours, too.
    let is_page = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if !refused || is_page || response.extensions().get::<Problem>().is_some() {
        return None;
    }
    if status == StatusCode::BAD_REQUEST {
        return Some(Problem::invalid("", "the request cannot be understood"));
    }
    Some(Problem::new(status, "REQUEST_REFUSED", "The request cannot be understood."))
}

impl RequestId {
    /// The caller's own id, if it is a sensible one.
    pub(crate) fn of(given: Option<&str>) -> RequestId {
        let sensible = |id: &&str| {
            (1..=REQUEST_ID_CHARACTERS_MAX).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        match given.filter(sensible) {
            Some(id) => RequestId(id.to_owned()),
            None => {
                let number = uuid::Uuid::from_u128(rand::random());
                RequestId(number.simple().encode_lower(&mut [0; 32]).to_owned())
            }
        }
    }
}

/// A JSON answer.
pub(crate) fn json(status: StatusCode, body: &impl serde::Serialize, replayed: bool) -> Response {
    let bytes = serde_json::to_vec(body).expect("answers are plain data");
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// The answer to a deletion.
pub(crate) fn no_content(replayed: bool) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// Whether the caller has this version already.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    known
        .split(',')
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}

pub(crate) fn nothing_there() -> Problem {
    Problem::not_found("ROUTE_NOT_FOUND", "There is nothing at this address.")
}

pub(crate) async fn method_not_allowed() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "METHOD_NOT_ALLOWED",
        "This address does not take this method.",
    )
}
