//! The routes, in folders that mirror their addresses.

pub(crate) mod attempts;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod batch;
pub(crate) mod bookings;
pub(crate) mod customers;
pub(crate) mod erasures;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod health;
pub(crate) mod journal;
pub(crate) mod keys;
pub(crate) mod schedules;
pub(crate) mod shops;
pub(crate) mod webhooks;

use std::sync::Arc;

use axum::http::StatusCode;
use boxoffice_core::ids::{InventoryKind, parts_of_name};
use boxoffice_core::limits::SLUG_CHARACTERS_MAX;
use boxoffice_engine::InventoryNumber;
use boxoffice_engine::view::StockView;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::caller::Caller;
use crate::idempotency::IdempotencyKey;
use crate::ids::{MADE_ID_CHARACTERS, readable};
use crate::page;
use crate::problem::Problem;

/// Which page of a list is wanted.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageWanted {
    /// How many; 50 if nothing is said.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The id of a new inventory: as the caller says, or made from the idempotency key, so that a retry finds it.
pub(crate) fn new_id(
    app: &App,
    caller: &Caller,
    kind: InventoryKind,
    given: Option<&String>,
    key: &IdempotencyKey,
) -> Result<String, Problem> {
    match given {
        // What else an id must be, the rules say; names in the store have a bound of their own.
        Some(id) if id.len() > SLUG_CHARACTERS_MAX => {
            let message = format!("must be at most {SLUG_CHARACTERS_MAX} characters");
            Err(Problem::invalid("/id", message))
        }
        Some(id) => Ok(id.clone()),
        None => Ok(readable("", &seed(app, caller, kind.word(), key), MADE_ID_CHARACTERS)),
    }
}

/// What the ids and secrets of a new thing are made from: the idempotency key, so that a retry finds it, or chance.
pub(crate) fn seed(app: &App, caller: &Caller, what: &str, key: &IdempotencyKey) -> [u8; 32] {
    match &key.0 {
        Some(key) => app.secret.derive(what, &[caller.tenant.as_bytes(), key.as_bytes()]),
        None => rand::random(),
    }
}

/// One page of a list that is at hand as a whole, in order of `place`, and where the next one begins.
pub(crate) fn page_of<T, P: Ord + Serialize + DeserializeOwned>(
    mut list: Vec<T>,
    wanted: &PageWanted,
    place: impl Fn(&T) -> P,
) -> Result<(Vec<T>, Option<String>), Problem> {
    let limit = page::limit(wanted.limit)?;
    if let Some(cursor) = &wanted.cursor {
        let after: P = page::read_cursor(cursor)?;
        list.retain(|item| place(item) > after);
    }
    let more = list.len() > limit;
    list.truncate(limit);
    let next_cursor = list.last().filter(|_| more).map(|last| page::cursor(&place(last)));
    Ok((list, next_cursor))
}

/// A key that made something was sent again with another request.
pub(crate) fn idempotency_key_reused() -> Problem {
    let detail = "This Idempotency-Key was used for another request.";
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "IDEMPOTENCY_KEY_REUSED", detail)
}

/// The request that made something with a secret was repeated after the secret was used or revoked.
pub(crate) fn secret_no_longer_shown(what: &str, id: &str) -> Problem {
    let detail = format!(
        "The secret of {what} {id} was used or revoked and is not shown again. Create another {what} with a new Idempotency-Key, \
         and delete this one if its secret is lost."
    );
    Problem::new(StatusCode::CONFLICT, "SECRET_NO_LONGER_SHOWN", detail)
}

/// A page of a tenant's inventories of one kind, in the order they were created, and where the next one begins.
pub(crate) async fn inventories(
    app: &App,
    caller: &Caller,
    kind: InventoryKind,
    wanted: &PageWanted,
) -> Result<(Vec<Arc<StockView>>, Option<String>), Problem> {
    let limit = page::limit(wanted.limit)?;
    let after = match &wanted.cursor {
        Some(cursor) => Some(InventoryNumber(page::read_cursor(cursor)?)),
        None => None,
    };
    let of_kind = |name: &str| {
        parts_of_name(name).is_some_and(|(tenant, of, _)| tenant == &*caller.tenant && of == kind)
    };
    let mut listed = app.engine.inventories();
    listed.retain(|one| after.is_none_or(|after| one.number > after) && of_kind(&one.name));
    let mut views = Vec::with_capacity(listed.len().min(limit));
    let mut last = None;
    for one in listed {
        if views.len() == limit {
            return Ok((views, last.map(|last: InventoryNumber| page::cursor(&last.0))));
        }
        let stock = app.engine.view(one.number).await?;
        if !stock.is_deleted() {
            views.push(stock);
            last = Some(one.number);
        }
    }
    Ok((views, None))
}
