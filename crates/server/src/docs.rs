//! `/docs`: a page that draws the document, whole in the binary.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

/// Nothing from elsewhere, nothing inline, in nobody's frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(crate) async fn page() -> Response {
    file("text/html; charset=utf-8", include_str!("docs.html"))
}

pub(crate) async fn script() -> Response {
    file("text/javascript; charset=utf-8", include_str!("docs.js"))
}

pub(crate) async fn style() -> Response {
    file("text/css; charset=utf-8", include_str!("docs.css"))
}

fn file(kind: &'static str, text: &'static str) -> Response {
    let fixed = HeaderValue::from_static;
    let headers: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_TYPE, fixed(kind)),
        (header::CONTENT_SECURITY_POLICY, fixed(POLICY)),
        (header::REFERRER_POLICY, fixed("no-referrer")),
        // A new binary may have new ones.
        (header::CACHE_CONTROL, fixed("no-cache")),
    ];
    (headers, text).into_response()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_has_nothing_inline() {
        let page = include_str!("docs.html");
        for text in [page, include_str!("docs.js"), include_str!("docs.css")] {
            assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("innerHTML"));
        }
        assert!(
            !page.contains("style=") && !page.contains("onclick") && page.matches("<script src").count() == 1
        );
    }
}
