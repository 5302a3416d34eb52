//! Marks what is read while the database is away: it may be out of date, and says since when.

use std::time::Duration;

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;

/// RFC 7234, 5.5.1: what was stored is shown although it could not be asked whether it still holds.
const STALE: HeaderValue = HeaderValue::from_static("110 boxoffice \"Response is Stale\"");

/// Marks an answer from memory; `away` is for how long nothing was heard of the database.
pub(crate) fn mark(method: &Method, route: &str, away: Option<Duration>, response: &mut Response) {
    let Some(away) = away else { return };
    let is_read = method == Method::GET && route.starts_with("/v1/");
    let is_shown = response.status().is_success() || response.status() == StatusCode::NOT_MODIFIED;
    if is_read && is_shown {
        response.headers_mut().insert(header::WARNING, STALE);
        response.headers_mut().insert(header::AGE, away.as_secs().into());
    }
}
