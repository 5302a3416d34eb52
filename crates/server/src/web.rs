//! The web pages: plain files that are part of the binary, and talk to the public API like everybody else.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{Embed, EmbeddedFile};

use crate::app::App;
use crate::outer::{is_known, nothing_there};
use crate::problem::Problem;

/// Nothing from elsewhere, nothing inline, in nobody's frame. Blobs are calendar files and the camera's pictures.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
                      media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; \
                      form-action 'self'; frame-ancestors 'none'";
/// The desk reads codes with the camera.
const PERMISSIONS: &str = "camera=(self), microphone=(), geolocation=()";

/// In debug builds they are read from the working tree, so that an edit needs only a reload.
#[derive(Embed)]
#[folder = "web/"]
struct Files;

/// `/web/{file}`: scripts, styles and pictures.
pub(crate) async fn part(Path(name): Path<String>, headers: HeaderMap) -> Result<Response, Problem> {
    file(&name, &headers)
}

/// One of the files, if its kind is one that browsers get.
pub(crate) fn file(name: &str, headers: &HeaderMap) -> Result<Response, Problem> {
    let kind = match name.rsplit_once('.') {
        Some((_, "html")) => "text/html; charset=utf-8",
        Some((_, "js")) => "text/javascript; charset=utf-8",
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => return Err(nothing_there()),
    };
    let file = Files::get(name).ok_or_else(nothing_there)?;
    let tag = tag_of(&file);
    let response = if is_known(headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        file.data.into_response()
    };
    let mut response = with_rules(response, kind);
    response.headers_mut().insert(header::ETAG, HeaderValue::from_str(&tag).expect("hexadecimal"));
    Ok(response)
}

/// A page with something of its own in it.
pub(crate) fn rewritten(name: &str, how: impl FnOnce(&str) -> String) -> Result<Response, Problem> {
    let file = Files::get(name).ok_or_else(nothing_there)?;
    let page = how(std::str::from_utf8(&file.data).expect("pages are text"));
    Ok(with_rules(page.into_response(), "text/html; charset=utf-8"))
}

/// `/web/settings.js`: what this server tells its own pages.
pub(crate) async fn settings(State(app): State<Arc<App>>) -> Response {
    let key = serde_json::to_string(&app.settings.pages_key).expect("text");
    with_rules(format!("export const key = {key};\n").into_response(), "text/javascript; charset=utf-8")
}

fn tag_of(file: &EmbeddedFile) -> String {
    let hash: String = file.metadata.sha256_hash()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hash}\"")
}

fn with_rules(mut response: Response, kind: &'static str) -> Response {
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_TYPE, kind);
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::HeaderName::from_static("permissions-policy"), PERMISSIONS);
    // A new binary may have new ones.
    set(header::CACHE_CONTROL, "no-cache");
    // The picker is a module on other sites' pages too, and modules are read across origins only with this. Nothing here is secret.
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    response
}

#[cfg(test)]
mod tests {
    use super::Files;

    #[test]
    fn the_pages_need_nothing_from_elsewhere_and_have_nothing_inline() {
        let mut seen = 0;
        for name in Files::iter() {
            let file = Files::get(&name).expect("it is listed");
            let text = String::from_utf8(file.data.into_owned()).expect("text");
            let text = text.replace("http://www.w3.org/2000/svg", "");
            seen += 1;
            for forbidden in ["http://", "https://", "innerHTML", "eval(", "style=\"", "onclick="] {
                assert!(!text.contains(forbidden), "{name} contains {forbidden:?}");
            }
            if name.ends_with(".html") {
                assert_eq!(
                    text.matches("<script").count(),
                    text.matches("<script type=\"module\" src=\"/web/").count()
                );
            }
        }
        assert!(seen > 10, "only {seen} files");
    }
}
