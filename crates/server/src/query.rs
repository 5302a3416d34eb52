//! The query string, strict as bodies are.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// What stands after the question mark.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Query<T>, Problem> {
        let read = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        read.map(|query| Query(query.0)).map_err(|error| {
            let message = error.to_string();
            let detail = message.strip_prefix("Failed to deserialize query string: ").unwrap_or(&message);
            Problem::invalid("", detail)
        })
    }
}
