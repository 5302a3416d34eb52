//! `/healthz`, `/readyz` and `/metrics`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::app::App;
use crate::caller::Caller;
use crate::outer;
use crate::problem::Problem;

/// The process answers.
pub(crate) async fn healthz() -> Response {
    outer::json(StatusCode::OK, &json!({ "status": "ok" }), false)
}

/// The store was recovered and can be written.
pub(crate) async fn readyz(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    if let Some(reason) = app.engine.stop_reason() {
        return Err(Problem::unavailable("UNAVAILABLE", format!("Not ready: {reason}."), 5));
    }
    Ok(outer::json(StatusCode::OK, &json!({ "status": "ready" }), false))
}

pub(crate) async fn metrics(State(app): State<Arc<App>>, caller: Caller) -> Result<Response, Problem> {
    caller.must_run_sales()?;
    let text = app.measures.render(&app);
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response())
}
