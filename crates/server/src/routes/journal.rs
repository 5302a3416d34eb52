//! `GET /v1/journal`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::ids::{Actor, InventoryKind};
use boxoffice_engine::view::StockView;
use boxoffice_engine::{Batch, InventoryNumber};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::Admin;
use crate::ids::find_inventory;
use crate::journal::{described, headed, unreadable};
use crate::outer::json;
use crate::page;
use crate::problem::Problem;
use crate::query::Query;
use crate::time::Moment;

/// Which part of which journal is wanted.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// `event:gala`, `schedule:museum`, `shop:bakery`.
    #[param(example = "event:gala")]
    inventory: String,
    /// Only what was committed after this sequence.
    after: Option<u64>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Some of the journal.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Journal)]
pub(crate) struct JournalPage {
    items: Vec<ChangeBody>,
    /// `null` if nothing more was committed yet.
    #[schema(required)]
    next_cursor: Option<String>,
    /// The last sequence that was shown to its end: what to send as `after` to go on later, once `next_cursor` is `null`. A page may
    /// end in the middle of a sequence, and only `cursor` goes on from there.
    next_after: u64,
}

/// Where a page begins: after this sequence, and after so many changes of the next one.
type Place = (u64, usize);

/// One committed change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Change)]
pub(crate) struct ChangeBody {
    sequence: u64,
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    /// The id of the key that asked for it; `null` for what fell due by itself, and while there are no keys.
    #[schema(required)]
    by: Option<String>,
    #[schema(example = "booked")]
    r#type: &'static str,
    data: Value,
}

/// Lists every committed change of an inventory, in order.
///
/// For `admin`.
#[utoipa::path(
    get,
    path = "/v1/journal",
    tag = "operations",
    operation_id = "journal",
    params(
        Wanted,
    ),
    responses(
        (status = 200, description = "Some of the journal.", body = JournalPage),
        (status = 404, description = "`EVENT_NOT_FOUND`, `SCHEDULE_NOT_FOUND`, `SHOP_NOT_FOUND`, `JOURNAL_CUT`"),
    ),
)]
pub(crate) async fn journal(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let limit = page::limit(wanted.limit)?;
    let (kind, id) = inventory(&wanted.inventory)?;
    let number = find_inventory(&app.engine, &caller.tenant, kind, id).await?;
    let place: Place = match (&wanted.cursor, wanted.after) {
        (Some(_), Some(_)) => return Err(Problem::invalid("/cursor", "send either cursor or after")),
        (Some(cursor), None) => page::read_cursor(cursor)?,
        (None, after) => (after.unwrap_or(0), 0),
    };
    Ok(json(StatusCode::OK, &read(&app, number, place, limit).await?, false))
}

fn inventory(text: &str) -> Result<(InventoryKind, &str), Problem> {
    let wrong = || Problem::invalid("/inventory", "must be like event:gala, schedule:museum or shop:bakery");
    let (kind, id) = text.split_once(':').filter(|(_, id)| !id.is_empty()).ok_or_else(wrong)?;
    Ok((InventoryKind::of_word(kind).ok_or_else(wrong)?, id))
}

async fn read(
    app: &App,
    number: InventoryNumber,
    (after, mut shown): Place,
    limit: usize,
) -> Result<JournalPage, Problem> {
    let stock = app.engine.view(number).await?;
    let mut page = JournalPage { items: Vec::new(), next_cursor: None, next_after: after };
    if after >= stock.sequence {
        return Ok(page);
    }
    let mut subscription = app.engine.subscribe(number, after).await?;
    while page.next_after < stock.sequence && page.items.len() < limit {
        let batch: Arc<Batch> = subscription.next().await.map_err(unreadable)?;
        let mut changes = changes_of(app, &batch, &stock).skip(shown);
        let before = page.items.len();
        page.items.extend(changes.by_ref().take(limit - before));
        if changes.next().is_some() {
            shown += page.items.len() - before;
            break;
        }
        shown = 0;
        page.next_after = batch.sequence;
    }
    let place: Place = (page.next_after, shown);
    page.next_cursor = (page.next_after < stock.sequence).then(|| page::cursor(&place));
    Ok(page)
}

/// The changes of a batch, one by one.
pub(crate) fn changes_of<'a>(
    app: &'a App,
    batch: &'a Batch,
    stock: &'a StockView,
) -> impl Iterator<Item = ChangeBody> + 'a {
    headed(&batch.changes).map(|(heading, change)| {
        let (name, data) = described(change, stock);
        ChangeBody {
            sequence: batch.sequence,
            at: Moment(heading.at),
            by: heading.by.and_then(|by: Actor| Some(app.keys.of_actor(by)?.id.clone())),
            r#type: name,
            data,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_is_named_by_its_kind_and_id() {
        assert_eq!(inventory("event:gala").unwrap(), (InventoryKind::Event, "gala"));
        assert_eq!(inventory("schedule:museum").unwrap(), (InventoryKind::Schedule, "museum"));
        assert_eq!(inventory("shop:bakery").unwrap(), (InventoryKind::Shop, "bakery"));
        for wrong in ["", "gala", "event:", "hall:gala", "Event:gala"] {
            assert_eq!(inventory(wrong).unwrap_err().code, "INVALID_REQUEST", "{wrong:?}");
        }
    }
}
