//! `GET /v1/events/{id}/seats`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::body::{AllSeatsBody, SeatsAnswer, SeatsBody};
use super::{event_of, find};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::{is_known, json};
use crate::path::Path;
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

/// Shows the state of every seat.
///
/// One string a row, one character a seat: `.` available, `h` held, `s` sold, `x` blocked. The `ETag` is the sequence: send it as
/// `If-None-Match`, and nothing is sent if nothing changed.
#[utoipa::path(
    get,
    path = "/v1/events/{id}/seats",
    tag = "events",
    operation_id = "list_seats",
    params(
        ("id" = String, Path, description = "The event.", example = "gala"),
        Wanted,
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of an earlier answer.", example = "\"42\""),
    ),
    responses(
        (status = 200, description = "The seats of one subsection, or of all.", body = SeatsAnswer, headers(("ETag" = String, description = "The sequence, in quotes."))),
        (status = 304, description = "Nothing has changed since.", headers(("ETag" = String, description = "The sequence, in quotes."))),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SECTION_NOT_FOUND`"),
    ),
)]
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
    let seats = match &wanted.section {
        Some(section) => SeatsAnswer::One(SeatsBody::of(&stock, event, section).ok_or_else(|| {
            Problem::not_found("SECTION_NOT_FOUND", format!("There is no section {section:?}."))
        })?),
        None => SeatsAnswer::All(AllSeatsBody::of(&stock, event)),
    };
    let mut response = if is_known(&headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        json(StatusCode::OK, &seats, false)
    };
    response.headers_mut().insert(header::ETAG, HeaderValue::from_str(&tag).expect("digits"));
    Ok(response)
}
