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
            // A parameter that was read and not understood is named before its message.
            match detail.split_once(": ").filter(|(name, _)| is_parameter(name)) {
                Some((name, detail)) => Problem::invalid(&format!("/{name}"), detail),
                None => Problem::invalid("", detail),
            }
        })
    }
}

fn is_parameter(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[expect(dead_code, reason = "only whether it can be read matters")]
        limit: Option<usize>,
    }

    #[tokio::test]
    async fn what_is_wrong_is_told_by_its_name() {
        for (query, pointer) in [
            ("limit=x", Some("/limit")),
            ("limit=-1", Some("/limit")),
            ("limit=99999999999999999999", Some("/limit")),
            ("limit=1&limit=2", Some("")),
            ("limits=1", Some("/limits")),
            ("limit=%00", Some("/limit")),
            ("limit=%FF", Some("/limit")),
            ("", None),
            ("limit=5", None),
        ] {
            let request = axum::http::Request::get(format!("/?{query}")).body(()).unwrap();
            let read = Query::<Sample>::from_request_parts(&mut request.into_parts().0, &()).await;
            let told =
                read.err().map(|problem| problem.more["errors"][0]["pointer"].as_str().unwrap().to_owned());
            assert_eq!(told.as_deref(), pointer, "{query}");
        }
    }
}
