//! `GET /v1/events/{id}/seats`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::body::{AllSeatsBody, SeatsBody};
use super::{event_of, find};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::problem::Problem;
use crate::query::Query;

/// Which seats are wanted.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// One subsection, such as `A-1`; all of them if nothing is said.
    section: Option<String>,
}

pub(crate) async fn seats(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stock = find(&app, &caller, &id).await?;
    let event = event_of(&stock, &id)?;
    let tag = format!("\"{}\"", stock.sequence);
    let mut response = match &wanted.section {
        Some(section) => {
            let seats = SeatsBody::of(&stock, event, section).ok_or_else(|| {
                Problem::not_found("SECTION_NOT_FOUND", format!("There is no section {section:?}."))
            })?;
            if is_known(&headers, &tag) {
                StatusCode::NOT_MODIFIED.into_response()
            } else {
                json(StatusCode::OK, &seats, false)
            }
        }
        None if is_known(&headers, &tag) => StatusCode::NOT_MODIFIED.into_response(),
        None => json(StatusCode::OK, &AllSeatsBody::of(&stock, event), false),
    };
    response.headers_mut().insert(header::ETAG, HeaderValue::from_str(&tag).expect("digits"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Whether the caller has this version already.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok()).unwrap_or_default();
    known
        .split(',')
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}
