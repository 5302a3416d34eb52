//! `GET /v1/schedules`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::body::ScheduleBody;
use super::{KIND, schedule_of};
use crate::app::App;
use crate::caller::Caller;
use crate::outer::json;
use crate::page::Page;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::{PageWanted, inventories};

/// Lists schedules in the order they were created.
#[utoipa::path(
    get,
    path = "/v1/schedules",
    tag = "schedules",
    operation_id = "list_schedules",
    params(
        PageWanted,
    ),
    responses(
        (status = 200, description = "A page of schedules.", body = Page<ScheduleBody>),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<PageWanted>,
) -> Result<Response, Problem> {
    let (views, next_cursor) = inventories(&app, &caller, KIND, &wanted).await?;
    let items = views.iter().map(|stock| {
        let schedule = schedule_of(stock, &stock.terms.id)?;
        Ok(ScheduleBody::new(&stock.terms, &schedule.timezone, &schedule.pattern, stock.sequence))
    });
    let items = items.collect::<Result<_, Problem>>()?;
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}
