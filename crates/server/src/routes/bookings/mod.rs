//! `/v1/bookings`.

pub(crate) mod body;
pub(crate) mod cancel;
pub(crate) mod confirm;
pub(crate) mod create;
pub(crate) mod extend;
pub(crate) mod list;
pub(crate) mod move_booking;
pub(crate) mod new_booking;
pub(crate) mod redeem;
pub(crate) mod show;
pub(crate) mod slot_info;
pub(crate) mod stream;
pub(crate) mod unredeem;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::command::Action;
use boxoffice_core::ids::BookingId;
use boxoffice_core::outcome::Grant;
use boxoffice_engine::InventoryNumber;
use serde::Serialize;

use crate::app::App;
use crate::caller::{Caller, find_booking};
use crate::idempotency::IdempotencyKey;
use crate::outer::json;
use crate::problem::Problem;
use crate::submit::{Asked, Granted, untold};

pub(crate) use body::{AsOf, BookingBody, BookingStatus, CONTACT_FIELD, Life, area_name, box_id, kind_of};
pub(crate) use slot_info::Expansion;

/// The booking after an action on it, as of its answer.
pub(crate) fn acted(granted: &Granted) -> BookingBody<'_> {
    let mut body = create::shown(granted, None);
    if let Grant::Moved(moved) = granted.grant() {
        body.price_difference = Some(moved.price_difference.0);
    }
    body
}

/// What names an action on a booking in the fingerprint of its request.
pub(crate) fn operation(verb: &str, id: BookingId) -> String {
    format!("{verb} {}", crate::ids::uuid(id))
}

/// Sends an action on a booking that the caller may act on.
async fn act<T: Serialize>(
    app: &Arc<App>,
    caller: &Caller,
    key: &IdempotencyKey,
    (verb, id): (&str, BookingId),
    request: &T,
    action: Action,
    expansion: Expansion,
) -> Result<Response, Problem> {
    let (inventory, _) = find_booking(app, caller, id).await?;
    let operation = operation(verb, id);
    let asked = Asked { app, caller, key, operation: &operation, request };
    act_on(&asked, inventory, action, expansion).await
}

/// Sends an action on a booking of an inventory, and answers with the booking.
pub(crate) async fn act_on<T: Serialize>(
    asked: &Asked<'_, T>,
    inventory: InventoryNumber,
    action: Action,
    expansion: Expansion,
) -> Result<Response, Problem> {
    let Asked { app, caller, .. } = asked;
    let mut granted = asked.send(inventory, action).await?;
    let keys = app.contacts.keys_for(caller, [granted.booking()]).await.map_err(|error| untold(&error))?;
    granted.contact = keys.open(granted.booking());
    let sequence = granted.answer.sequence;
    let counts = expansion.as_of(app, inventory, sequence, granted.booking()).await;
    let mut body = acted(&granted);
    body.expand(counts);
    Ok(json(StatusCode::OK, &body, granted.answer.replayed))
}
