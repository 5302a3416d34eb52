//! `/v1/events`.

pub(crate) mod block;
pub(crate) mod body;
pub(crate) mod cancel;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod seat;
pub(crate) mod seats;
pub(crate) mod show;
pub(crate) mod stream;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::ids::InventoryKind;
use boxoffice_core::outcome::{Grant, Summary};
use boxoffice_engine::view::{EventView, KindView, StockView};

use crate::app::App;
use crate::caller::Caller;
use crate::ids::{find_inventory, inventory_not_found};
use crate::outer::json;
use crate::problem::Problem;
use crate::submit::Granted;

const KIND: InventoryKind = InventoryKind::Event;

/// The answer to a command that changed an event.
fn changed(status: StatusCode, granted: &Granted) -> Response {
    let Grant::Inventory(summary) = granted.grant() else { unreachable!("answered with the event") };
    let Summary::Event(event) = &**summary else { unreachable!("answered with the event") };
    json(status, &body::EventBody::of_summary(event, granted.answer.sequence), granted.answer.replayed)
}

/// A tenant's event as of its last commit.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<Arc<StockView>, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, id).await?;
    Ok(app.engine.view(number).await?)
}

fn event_of<'a>(stock: &'a StockView, id: &str) -> Result<&'a EventView, Problem> {
    match &stock.kind {
        KindView::Event(event) if !stock.is_deleted() => Ok(event),
        KindView::Event(_) | KindView::Schedule(_) | KindView::Shop(_) => Err(inventory_not_found(KIND, id)),
    }
}
