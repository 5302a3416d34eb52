//! `GET /v1/export`: bookings or utilization of the caller's tenant as CSV, while sales go on.

use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use boxoffice_core::booking::Booking;
use boxoffice_core::ids::parts_of_name;
use boxoffice_engine::view::StockView;
use boxoffice_engine::{Listed, SubmitError};
use csv::Writer;
use futures_util::stream;
use serde::Deserialize;

use crate::app::App;
use crate::caller::{Caller, RunsSales};
use crate::export::{Exported, Table, write_booking, write_utilization};
use crate::keys::Role;
use crate::problem::Problem;
use crate::query::Query;

/// Which table is wanted.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// `bookings` unless given.
    #[serde(default)]
    #[param(inline)]
    what: Table,
}

/// Bookings whose lines are written, and whose contact keys are read, at one time.
const BOOKINGS_AT_ONCE: usize = 1_000;

/// Exports bookings or utilization as CSV, while sales go on.
///
/// For `admin` and `operator`; only an `admin` gets contacts. Each inventory is exported as of one moment.
#[utoipa::path(
    get,
    path = "/v1/export",
    tag = "operations",
    operation_id = "export",
    params(Wanted),
    responses(
        (status = 200, description = "The table, with a line of column names.", body = String, content_type = "text/csv"),
    ),
)]
pub(crate) async fn export(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let mut own = app.engine.inventories();
    own.retain(|one| parts_of_name(&one.name).is_some_and(|(tenant, ..)| tenant == &*caller.tenant));
    let export = Export { app, caller, what: wanted.what, rest: own.into_iter(), open: None };
    let pieces = stream::unfold((Some(heading(wanted.what)), export), |(heading, mut export)| async {
        let piece = match heading {
            Some(heading) => Ok(heading),
            None => export.next_piece().await.transpose()?,
        };
        let piece = piece.map(Bytes::from).map_err(|error| {
            tracing::warn!(%error, "an export broke off");
            io::Error::other(error.to_string())
        });
        Some((piece, (None, export)))
    });
    let attachment = match wanted.what {
        Table::Bookings => "attachment; filename=\"bookings.csv\"",
        Table::Utilization => "attachment; filename=\"utilization.csv\"",
    };
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static(attachment));
    Ok(response)
}

/// What is left to be exported.
struct Export {
    app: Arc<App>,
    caller: Caller,
    what: Table,
    rest: std::vec::IntoIter<Listed>,
    open: Option<OpenInventory>,
}

/// An inventory of which some bookings were written.
struct OpenInventory {
    name: Arc<str>,
    stock: Arc<StockView>,
    bookings: std::vec::IntoIter<Arc<Booking>>,
}

impl Export {
    /// The next lines; `None` after the last.
    async fn next_piece(&mut self) -> Result<Option<Vec<u8>>, SubmitError> {
        loop {
            if let Some(open) = &mut self.open {
                let bookings: Vec<_> = open.bookings.by_ref().take(BOOKINGS_AT_ONCE).collect();
                if !bookings.is_empty() {
                    let of = exported(&open.name, &open.stock);
                    return booking_lines(&self.app, &self.caller, &of, &bookings).await.map(Some);
                }
                self.open = None;
            }
            let Some(Listed { number, name }) = self.rest.next() else { return Ok(None) };
            let bookings = match self.what {
                Table::Bookings => self.app.engine.bookings(number).await?.1,
                Table::Utilization => Vec::new(),
            };
            // After the bookings: it names all that they have.
            let stock = self.app.engine.view(number).await?;
            if stock.is_deleted() {
                continue;
            }
            if self.what == Table::Utilization {
                let lines = lines(|table| write_utilization(table, &exported(&name, &stock)));
                return Ok(Some(lines));
            }
            self.open = Some(OpenInventory { name, stock, bookings: bookings.into_iter() });
        }
    }
}

async fn booking_lines(
    app: &App,
    caller: &Caller,
    of: &Exported<'_>,
    bookings: &[Arc<Booking>],
) -> Result<Vec<u8>, SubmitError> {
    let with_contacts = if caller.role == Role::Admin { bookings } else { &[] };
    let keys = app.contacts.keys_for(caller, with_contacts.iter().map(|booking| &**booking)).await?;
    Ok(lines(|table| {
        let mut bookings = bookings.iter();
        bookings.try_for_each(|booking| write_booking(table, of, booking, keys.open(booking).as_deref()))
    }))
}

fn exported<'a>(name: &'a str, stock: &'a StockView) -> Exported<'a> {
    let (tenant, kind, id) = parts_of_name(name).expect("it was selected by its tenant");
    Exported { tenant, kind, id, stock }
}

fn heading(what: Table) -> Vec<u8> {
    lines(|table| what.write_heading(table))
}

fn lines(write: impl FnOnce(&mut Writer<Vec<u8>>) -> csv::Result<()>) -> Vec<u8> {
    let mut table = Writer::from_writer(Vec::new());
    write(&mut table).expect("lines have as many fields as there are columns");
    table.into_inner().expect("memory takes what it is given")
}
