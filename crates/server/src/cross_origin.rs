//! Pages of other sites: they may use the API with a key of their own, and not otherwise.
//!
//! Without keys the server trusts its machine, and every page in a browser there could speak for it; so what has no key gets
//! none of these headers, and the browser keeps the answer from the page.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

const METHODS: &str = "GET, POST, PATCH, PUT, DELETE";
const SENT: &str =
    "Authorization, Content-Type, Hold-Token, Idempotency-Key, If-None-Match, Last-Event-ID, X-Request-Id";
const READ: &str = "ETag, Idempotent-Replayed, Retry-After, X-Request-Id";
/// Browsers do not keep it longer than two hours.
const REMEMBERED_SECONDS: &str = "7200";

/// The answer to a browser that asks whether a page may send what it wants to send.
pub(crate) fn preflight(request: &Request) -> Option<Response> {
    let headers = request.headers();
    let asks =
        *request.method() == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if !asks || !request.uri().path().starts_with("/v1/") {
        return None;
    }
    let names = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).and_then(|names| names.to_str().ok())?;
    if !names.split(',').any(|name| name.trim().eq_ignore_ascii_case("authorization")) {
        return None;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    let mut set = |name, value| response.headers_mut().insert(name, HeaderValue::from_static(value));
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    set(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    set(header::ACCESS_CONTROL_ALLOW_HEADERS, SENT);
    set(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED_SECONDS);
    set(header::CACHE_CONTROL, "no-store");
    Some(response)
}

/// Whether a page of another site may read the answer to this.
pub(crate) fn has_key(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) && headers.contains_key(header::AUTHORIZATION)
}

/// What [`allow`] adds, for those who write their answers themselves.
pub(crate) const ALLOWED_LINES: &str = "access-control-allow-origin: *\r\naccess-control-expose-headers: ETag, Idempotent-Replayed, Retry-After, X-Request-Id\r\n";

pub(crate) fn allow(response: &mut Response) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_writing_it_say_the_same() {
        let mut response = StatusCode::OK.into_response();
        allow(&mut response);
        let written: String = response
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}\r\n", value.to_str().unwrap()))
            .collect();
        assert_eq!(written, ALLOWED_LINES);
    }
}
