//! `GET /v1/bookings`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::booking::{Booking, Status};
use boxoffice_core::ids::{InventoryKind, parts_of_name};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::InventoryNumber;
use serde::Deserialize;

use super::slot_info::Expand;
use super::{AsOf, BookingBody, BookingStatus, Expansion, kind_of};
use crate::app::App;
use crate::caller::Caller;
use crate::ids::find_inventory;
use crate::outer::json;
use crate::page::{self, Page};
use crate::problem::Problem;
use crate::query::Query;

/// Which bookings are wanted.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    customer: Option<String>,
    event: Option<String>,
    schedule: Option<String>,
    shop: Option<String>,
    #[param(inline)]
    status: Option<BookingStatus>,
    /// Bookings that name this ticket, whatever became of them.
    ticket: Option<String>,
    /// `slot` adds `booked_count` and `available_count` to `slot_info`.
    #[param(inline)]
    expand: Option<Expand>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Bookings are ordered by these, the newest first; within an inventory that is the order they were made in.
type Place = (Timestamp, InventoryNumber, usize);

/// Bookings looked at for one answer. Whoever filters out almost all of them gets a short page and a cursor.
const LOOKED_AT_MAX: usize = 100_000;
const READ_AT_ONCE: usize = 500;

/// Lists bookings, the newest first.
///
/// A `seller` sees those it created. Not for `public`.
#[utoipa::path(
    get,
    path = "/v1/bookings",
    tag = "bookings",
    operation_id = "list_bookings",
    params(
        Wanted,
    ),
    responses(
        (status = 200, description = "A page of bookings.", body = Page<BookingBody<'static>>),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SCHEDULE_NOT_FOUND`, `SHOP_NOT_FOUND`"),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    caller.must_be_trusted()?;
    let limit = page::limit(wanted.limit)?;
    let mut before: Place = match &wanted.cursor {
        Some(cursor) => {
            let (at, number, place): (i64, u32, usize) = page::read_cursor(cursor)?;
            (Timestamp(at), InventoryNumber(number), place)
        }
        None => (Timestamp(i64::MAX), InventoryNumber(u32::MAX), usize::MAX),
    };
    let inventories = inventories(&app, &caller, &wanted).await?;
    let fits = |booking: &Booking| {
        caller.sees(booking)
            && wanted.customer.as_deref().is_none_or(|customer| *booking.customer == *customer)
            && wanted.status.is_none_or(|status| status == status_of(booking))
    };
    let expansion = Expansion { expand: wanted.expand };
    let listed = match (&wanted.ticket, &wanted.customer) {
        (Some(ticket), _) => Some(Listed::Ticket(ticket)),
        (None, Some(customer)) => Some(Listed::Customer(customer)),
        (None, None) => None,
    };
    if let Some(listed) = listed {
        let (found, next) = of_list(&app, &inventories, listed, before, limit, &fits).await?;
        return show(&app, &caller, found, next, expansion, fits).await;
    }
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut more = true;
    while more && found.len() < limit && looked_at < LOOKED_AT_MAX {
        let mut next = Vec::new();
        let mut unread = None;
        for &number in &inventories {
            let older = |place: usize, booking: &Booking| (booking.created_at, number, place) < before;
            let page = app.engine.bookings_before(number, READ_AT_ONCE, older).await?;
            let places = page.iter().map(|(place, booking)| (booking.created_at, number, *place));
            // What lies before the last one read is not known yet: nothing older may be shown in this round.
            if page.len() == READ_AT_ONCE {
                unread = unread.max(places.clone().min());
            }
            next.extend(places.zip(page.iter().map(|(_, booking)| Arc::clone(booking))));
        }
        next.retain(|(place, _)| unread.is_none_or(|unread| *place >= unread));
        next.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
        more = unread.is_some();
        for (place, booking) in next {
            if found.len() == limit {
                more = true;
                break;
            }
            looked_at += 1;
            before = place;
            if fits(&booking) {
                found.push((place.1, booking));
            }
        }
    }
    show(&app, &caller, found, more.then_some(before), expansion, fits).await
}

/// Whose bookings are listed without reading all bookings.
#[derive(Clone, Copy)]
enum Listed<'a> {
    Customer(&'a str),
    Ticket(&'a str),
}

/// The bookings of a customer or ticket, from the lists that are kept of them. A place is one in that list.
async fn of_list(
    app: &App,
    inventories: &[InventoryNumber],
    listed: Listed<'_>,
    before: Place,
    limit: usize,
    fits: impl Fn(&Booking) -> bool,
) -> Result<(Vec<(InventoryNumber, Arc<Booking>)>, Option<Place>), Problem> {
    let mut all = Vec::new();
    for &number in inventories {
        let newest_first = match listed {
            Listed::Customer(customer) => app.engine.bookings_of(number, customer).await?,
            Listed::Ticket(ticket) => app.engine.bookings_of_ticket(number, ticket).await?,
        };
        let placed = newest_first.into_iter().rev().enumerate();
        all.extend(placed.map(|(place, booking)| ((booking.created_at, number, place), booking)));
    }
    all.retain(|(place, booking)| *place < before && fits(booking));
    all.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
    let more = all.len() > limit;
    all.truncate(limit);
    let next = all.last().filter(|_| more).map(|(place, _)| *place);
    Ok((all.into_iter().map(|((_, number, _), booking)| (number, booking)).collect(), next))
}

async fn show(
    app: &App,
    caller: &Caller,
    found: Vec<(InventoryNumber, Arc<Booking>)>,
    next: Option<Place>,
    expansion: Expansion,
    fits: impl Fn(&Booking) -> bool,
) -> Result<Response, Problem> {
    let next_cursor = next.map(|next| page::cursor(&(next.0.0, next.1.0, next.2)));
    // Each with the stock of the same commit, so that its sequence is true.
    let mut shown = Vec::with_capacity(found.len());
    for (number, booking) in found {
        let both = app.engine.booking_and_stock(number, booking.id).await?;
        shown.extend(both.filter(|(booking, _)| fits(booking)));
    }
    let keys = app.contacts.keys_for(caller, shown.iter().map(|(booking, _)| &**booking)).await?;
    let contacts: Vec<_> = shown.iter().map(|(booking, _)| keys.open(booking)).collect();
    let at = app.engine.now();
    let items = shown.iter().zip(&contacts).map(|((booking, stock), contact)| {
        let as_of = AsOf { sequence: stock.sequence, at };
        let mut body = BookingBody::new(booking, kind_of(stock), stock, as_of, None);
        body.contact = contact.as_deref();
        body.expand(expansion.of(Some(stock), booking));
        body
    });
    Ok(json(StatusCode::OK, &Page { items: items.collect(), next_cursor }, false))
}

async fn inventories(app: &App, caller: &Caller, wanted: &Wanted) -> Result<Vec<InventoryNumber>, Problem> {
    let named = [
        (InventoryKind::Event, &wanted.event),
        (InventoryKind::Schedule, &wanted.schedule),
        (InventoryKind::Shop, &wanted.shop),
    ];
    let mut named = named.iter().filter_map(|(kind, id)| id.as_ref().map(|id| (*kind, id)));
    match (named.next(), named.next()) {
        (Some(_), Some(_)) => Err(Problem::invalid("", "name at most one of event, schedule and shop")),
        (Some((kind, id)), None) => Ok(vec![find_inventory(&app.engine, &caller.tenant, kind, id).await?]),
        (None, _) => {
            let all = app.engine.inventories().into_iter();
            // Only schedules have tickets.
            let fits = |kind| wanted.ticket.is_none() || kind == InventoryKind::Schedule;
            let own = all.filter(|one| {
                let parts = parts_of_name(&one.name);
                parts.is_some_and(|(tenant, kind, _)| tenant == &*caller.tenant && fits(kind))
            });
            Ok(own.map(|one| one.number).collect())
        }
    }
}

fn status_of(booking: &Booking) -> BookingStatus {
    match booking.status {
        Status::OnHold { .. } => BookingStatus::OnHold,
        Status::Confirmed { .. } => BookingStatus::Confirmed,
        Status::Redeemed { .. } => BookingStatus::Redeemed,
        Status::Cancelled { .. } => BookingStatus::Cancelled,
        Status::Expired { .. } => BookingStatus::Expired,
    }
}
