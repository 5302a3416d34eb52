//! `GET /v1/erasures`: whose contacts were erased, for restores.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::app::App;
use crate::caller::Admin;
use crate::contacts::ERASURE_PREFIX;
use crate::problem::Problem;
use crate::{erasures, secret};

/// Lists the erasures of contacts, for `boxoffice restore --erasures`. Customers are keyed hashes in it.
///
/// For `admin` of the tenant `default`.
#[utoipa::path(
    get,
    path = "/v1/erasures",
    tag = "operations",
    operation_id = "list_erasures",
    responses(
        (status = 200, description = "A line for each customer.", body = String, content_type = "text/plain"),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
) -> Result<impl IntoResponse, Problem> {
    caller.must_be_of_the_house(&app)?;
    let read = move || -> Result<String, Problem> {
        let (_, secret) = app.engine.documents(secret::DOCUMENT)?.pop().expect("a server makes it");
        Ok(erasures::list(&app.engine.documents(ERASURE_PREFIX)?, &secret))
    };
    let text = tokio::task::spawn_blocking(read).await.expect("reading does not panic")?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CACHE_CONTROL, "no-store")], text))
}
