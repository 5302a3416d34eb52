//! `/healthz`, `/readyz` and `/metrics`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::RunsSales;
use crate::outer;
use crate::problem::Problem;

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
struct Health {
    #[schema(example = "ok")]
    status: &'static str,
}

/// Whether the process answers.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "operations",
    operation_id = "healthz",
    responses(
        (status = 200, description = "It does.", body = Health),
    ),
)]
pub(crate) async fn healthz() -> Response {
    outer::json(StatusCode::OK, &Health { status: "ok" }, false)
}

/// Whether the store was recovered, answers, and can be written; with Kafka, whether that answers, too.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operations",
    operation_id = "readyz",
    responses(
        (status = 200, description = "It can.", body = Health),
        (status = 503, description = "`UNAVAILABLE`"),
    ),
)]
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    if let Some(reason) = app.engine.stop_reason() {
        return Err(Problem::unavailable("UNAVAILABLE", format!("Not ready: {reason}."), 5));
    }
    if app.engine.clocks_apart() {
        let detail =
            "Not ready: this machine's clock and the database's do not agree, and every command is refused.";
        return Err(Problem::unavailable("UNAVAILABLE", detail, 2));
    }
    if let Some(away) = app.engine.unavailable_for() {
        let detail = format!("Not ready: the database has not answered for {} s.", away.as_secs());
        return Err(Problem::unavailable("UNAVAILABLE", detail, 2));
    }
    if !app.engine.log_answers() {
        let detail = "Not ready: Kafka does not answer, or cannot be used any more, as the log says. Every command is refused.";
        return Err(Problem::unavailable("UNAVAILABLE", detail, 2));
    }
    Ok(outer::json(StatusCode::OK, &Health { status: "ready" }, false))
}

/// What is counted, for Prometheus.
///
/// For `admin` and `operator` of the tenant `default`, or of the only one.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operations",
    operation_id = "metrics",
    responses(
        (status = 200, description = "Metrics named `boxoffice_*`.", body = String, content_type = "text/plain"),
    ),
)]
pub(crate) async fn metrics(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
) -> Result<Response, Problem> {
    caller.must_be_of_the_house(&app)?;
    let text = app.measures.render(&app);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
