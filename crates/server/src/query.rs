//! The query string, strict as bodies are.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::fault;
use crate::problem::Problem;

/// What stands after the question mark.
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Query<T>, Problem> {
        if let Ok(query) = axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            return Ok(Query(query.0));
        }
        let parameters = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
        let parameters = parameters.map(|query| query.0).unwrap_or_default();
        Err(fault::of_query::<T>(&parameters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Day;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Sample {
        limit: Option<usize>,
        from: Option<Day>,
        status: Option<Word>,
        all: Option<bool>,
        name: Option<String>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Word {
        OnHold,
        Sold,
    }

    #[tokio::test]
    async fn mistakes_are_told_by_the_name_of_the_parameter_in_the_words_of_the_api() {
        for (query, expected) in [
            ("limit=x", Some(("/limit", r#"must be an integer, got "x""#.to_owned()))),
            ("limit=", Some(("/limit", r#"must be an integer, got """#.to_owned()))),
            ("limit=-1", Some(("/limit", r#"is too small, got "-1""#.to_owned()))),
            (
                "limit=99999999999999999999",
                Some(("/limit", r#"is too large, got "99999999999999999999""#.to_owned())),
            ),
            ("limit=1&limit=2", Some(("/limit", "is given twice".to_owned()))),
            ("limits=1", Some(("/limits", "is not a known parameter".to_owned()))),
            ("limit=%00", Some(("/limit", r#"must be an integer, got "\u0000""#.to_owned()))),
            ("limit=%FF", Some(("/limit", "must be an integer, got \"\u{fffd}\"".to_owned()))),
            ("from=today", Some(("/from", r#"must be a date like 2026-12-01, got "today""#.to_owned()))),
            ("status=gone", Some(("/status", r#"must be one of "on_hold", "sold", got "gone""#.to_owned()))),
            ("all=1", Some(("/all", r#"must be true or false, got "1""#.to_owned()))),
            ("name=a+b&name=c", Some(("/name", "is given twice".to_owned()))),
            ("", None),
            ("limit=5&from=2026-12-01&status=sold&all=true&name=x", None),
        ] {
            let request = axum::http::Request::get(format!("/?{query}")).body(()).unwrap();
            let read = Query::<Sample>::from_request_parts(&mut request.into_parts().0, &()).await;
            let problem = read.err();
            let told = problem.as_ref().map(|problem| {
                let error = &problem.more["errors"][0];
                (error["pointer"].as_str().unwrap(), error["message"].as_str().unwrap().to_owned())
            });
            assert_eq!(told, expected, "{query}");
        }
    }
}
