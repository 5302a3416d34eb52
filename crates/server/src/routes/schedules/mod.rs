//! `/v1/schedules`.

pub(crate) mod analytics;
pub(crate) mod body;
pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod show;
pub(crate) mod slots;
pub(crate) mod stream;
pub(crate) mod tickets;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::ids::InventoryKind;
use boxoffice_core::outcome::{Grant, Summary};
use boxoffice_engine::view::{KindView, ScheduleView, StockView};

use crate::app::App;
use crate::caller::Caller;
use crate::ids::{find_inventory, inventory_not_found};
use crate::outer::json;
use crate::problem::Problem;
use crate::submit::Granted;

const KIND: InventoryKind = InventoryKind::Schedule;

/// The answer to a command that changed a schedule.
fn changed(status: StatusCode, granted: &Granted) -> Response {
    let Grant::Inventory(summary) = granted.grant() else { unreachable!("answered with the schedule") };
    let Summary::Schedule(schedule) = &**summary else { unreachable!("answered with the schedule") };
    let body = body::ScheduleBody::new(
        &schedule.terms,
        &schedule.timezone,
        &schedule.pattern,
        granted.answer.sequence,
    );
    json(status, &body, granted.answer.replayed)
}

/// A tenant's schedule as of its last commit.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<Arc<StockView>, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, id).await?;
    Ok(app.engine.view(number).await?)
}

fn schedule_of<'a>(stock: &'a StockView, id: &str) -> Result<&'a ScheduleView, Problem> {
    match &stock.kind {
        KindView::Schedule(schedule) => Ok(schedule),
        KindView::Event(_) | KindView::Shop(_) => Err(inventory_not_found(KIND, id)),
    }
}
