//! `/v1/shops`.

pub(crate) mod body;
pub(crate) mod boxes;
pub(crate) mod create;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod show;
pub(crate) mod stream;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::ids::InventoryKind;
use boxoffice_core::outcome::{Grant, Summary};
use boxoffice_engine::view::{KindView, ShopView, StockView};

use crate::app::App;
use crate::caller::Caller;
use crate::ids::{find_inventory, inventory_not_found};
use crate::outer::json;
use crate::problem::Problem;
use crate::submit::Granted;

const KIND: InventoryKind = InventoryKind::Shop;

/// The answer to a command that changed a shop.
fn changed(status: StatusCode, granted: &Granted) -> Response {
    let Grant::Inventory(summary) = granted.grant() else { unreachable!("answered with the shop") };
    let Summary::Shop { terms, timezone } = &**summary else { unreachable!("answered with the shop") };
    json(status, &body::ShopBody::new(terms, timezone, granted.answer.sequence), granted.answer.replayed)
}

/// A tenant's shop as of its last commit.
async fn find(app: &App, caller: &Caller, id: &str) -> Result<Arc<StockView>, Problem> {
    let number = find_inventory(&app.engine, &caller.tenant, KIND, id).await?;
    Ok(app.engine.view(number).await?)
}

fn shop_of<'a>(stock: &'a StockView, id: &str) -> Result<&'a ShopView, Problem> {
    match &stock.kind {
        KindView::Shop(shop) => Ok(shop),
        KindView::Event(_) | KindView::Schedule(_) => Err(inventory_not_found(KIND, id)),
    }
}
