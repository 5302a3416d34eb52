//! The pages of events, schedules and shops, with their names in the title, and the page of an address where there is nothing.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::{MethodRouter, get};
use boxoffice_core::ids::InventoryKind;

use crate::app::App;
use crate::caller::{Caller, CallerAddress};
use crate::ids::{booking_id, find_inventory, inventory_not_found};
use crate::outer::nothing_there;
use crate::path::Path;
use crate::problem::Problem;
use crate::web;

/// Who a page is shown to: the pages' key, or the open server's own machine. `None` where neither may read, or not now.
pub(crate) struct PageReader(Option<Caller>);

impl FromRequestParts<Arc<App>> for PageReader {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        app: &Arc<App>,
    ) -> Result<PageReader, std::convert::Infallible> {
        let address = parts.extensions.get::<CallerAddress>().map(|address| address.0);
        Ok(PageReader(Caller::of_page(app, parts, address).ok()))
    }
}

/// `/events/{id}` and its like: the page if there is such an inventory, and not found otherwise.
pub(crate) fn inventory_page(kind: InventoryKind, file: &'static str) -> MethodRouter<Arc<App>> {
    let shown = move |State(app): State<Arc<App>>,
                      reader: PageReader,
                      Path(id): Path<String>,
                      headers: HeaderMap| async move {
        match name_of(&app, reader, kind, &id).await {
            Ok(Some(name)) => web::rewritten(file, |page| titled(page, &name)),
            Err(problem) if problem.status == StatusCode::NOT_FOUND => not_found(&headers, problem),
            // The page's script asks again, and says why it cannot show it.
            Ok(None) | Err(_) => web::file(file, &headers),
        }
    };
    get(shown)
}

/// `/bookings/{id}`: not found if no booking can have this id. Whether there is one is told only to callers with its token.
pub(crate) fn booking_page(file: &'static str) -> MethodRouter<Arc<App>> {
    get(move |Path(id): Path<String>, headers: HeaderMap| async move {
        match booking_id(&id) {
            Ok(_) => web::file(file, &headers),
            Err(problem) => not_found(&headers, problem),
        }
    })
}

/// The name of an inventory, if the reader may know it.
async fn name_of(
    app: &App,
    reader: PageReader,
    kind: InventoryKind,
    id: &str,
) -> Result<Option<String>, Problem> {
    let Some(caller) = reader.0 else { return Ok(None) };
    let number = find_inventory(&app.engine, &caller.tenant, kind, id).await?;
    let stock = app.engine.view(number).await?;
    if stock.is_deleted() {
        return Err(inventory_not_found(kind, id));
    }
    Ok(Some(stock.terms.name.clone()))
}

/// For every address that no route has: a page for browsers, a problem for programs.
pub(crate) async fn fallback(method: Method, uri: Uri, headers: HeaderMap) -> Result<Response, Problem> {
    let of_the_api = uri.path() == "/v1" || uri.path().starts_with("/v1/");
    if of_the_api || !method.is_safe() { Err(nothing_there()) } else { not_found(&headers, nothing_there()) }
}

/// The page that says so to a browser; the problem itself to every other client.
fn not_found(headers: &HeaderMap, problem: Problem) -> Result<Response, Problem> {
    let accepts = headers.get(header::ACCEPT).and_then(|kinds| kinds.to_str().ok()).unwrap_or_default();
    if !accepts.contains("text/html") {
        return Err(problem);
    }
    let mut page = web::rewritten("not-found.html", str::to_owned)?;
    *page.status_mut() = StatusCode::NOT_FOUND;
    Ok(page)
}

/// The page with a name in place of the title that the file has.
fn titled(page: &str, name: &str) -> String {
    let (before, rest) = page.split_once("<title>").expect("a page has a title");
    let (_, after) = rest.split_once(" · Boxoffice</title>").expect("the title ends with our name");
    format!("{before}<title>{} · Boxoffice</title>{after}", escaped(name))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_title_is_text_and_never_markup() {
        let page =
            titled("<head><title>Event · Boxoffice</title></head>", "A </title><script src=\"x\"> & B");
        let expected = "<head><title>A &lt;/title&gt;&lt;script src=&quot;x&quot;&gt; &amp; B · Boxoffice</title></head>";
        assert_eq!(page, expected);
    }
}
