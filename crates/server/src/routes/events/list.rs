//! `GET /v1/events`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::body::EventBody;
use super::{KIND, event_of};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::page::Page;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::{PageWanted, inventories};

/// Lists events in the order they were created.
#[utoipa::path(
    get,
    path = "/v1/events",
    tag = "events",
    operation_id = "list_events",
    params(
        PageWanted,
    ),
    responses(
        (status = 200, description = "A page of events.", body = Page<EventBody>),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<PageWanted>,
) -> Result<Response, Problem> {
    let (views, next_cursor) = inventories(&app, &caller, KIND, &wanted).await?;
    let items = views.iter().map(|stock| Ok(EventBody::of_view(stock, event_of(stock, &stock.terms.id)?)));
    let items = items.collect::<Result<_, Problem>>()?;
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}
