//! `GET /v1/audit`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::booking::Booking;
use boxoffice_core::change::Change;
use boxoffice_core::ids::Actor;
use boxoffice_engine::{InventoryNumber, SubscriptionError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::{Caller, RunsSales, find_booking};
use crate::ids::booking_id;
use crate::journal::{described, headed, unreadable};
use crate::keys::Role;
use crate::outer::json;
use crate::page::{self, Page};
use crate::problem::Problem;
use crate::query::Query;
use crate::time::Moment;
use crate::webhooks::contact_sharing::ContactRecipient;
use crate::webhooks::topic_of;

/// Whose story is wanted.
#[derive(Debug, Clone, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Wanted {
    /// The booking's id.
    #[param(example = "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a")]
    booking: String,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Who did what when.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Deed)]
pub(crate) struct DeedBody {
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    /// `null` for what fell due by itself, and while there are no keys. Of `contact_shared`, the admin who made the webhook.
    #[schema(required)]
    by: Option<ActorBody>,
    #[schema(example = "confirmed")]
    action: &'static str,
    sequence: u64,
    details: Value,
}

/// A key by its name, revoked or not.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Actor)]
struct ActorBody {
    id: String,
    #[schema(required)]
    name: Option<String>,
    role: Role,
}

/// Journals read from their beginning at one time; each costs as much as loading the inventory.
static READERS: Semaphore = Semaphore::const_new(2);
/// Batches that are searched before others get their turn.
const BATCHES_AT_ONCE: u64 = 64;

/// Tells who did what to a booking, and when.
///
/// For `admin` and `operator`.
#[utoipa::path(
    get,
    path = "/v1/audit",
    tag = "operations",
    operation_id = "audit",
    params(
        Wanted,
    ),
    responses(
        (status = 200, description = "A page of what was done, in order.", body = Page<DeedBody>),
        (status = 404, description = "`BOOKING_NOT_FOUND`"),
    ),
)]
pub(crate) async fn audit(
    State(app): State<Arc<App>>,
    RunsSales(caller): RunsSales,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let limit = page::limit(wanted.limit)?;
    // What was done stays as it is, so that a place is how many came before. (Where the journal is cut between two pages, the second may
    // leave some out.)
    let told: usize = wanted.cursor.as_deref().map_or(Ok(0), page::read_cursor)?;
    let (number, booking) = find_booking(&app, &caller, booking_id(&wanted.booking)?).await?;
    let _turn = READERS.acquire().await.expect("never closed");
    let recipients = contact_recipients(&app, &caller, &booking).await?;
    let wanted = told.saturating_add(limit).saturating_add(1);
    let mut items = deeds(&app, number, &booking, &recipients, wanted).await?;
    items.drain(..told.min(items.len()));
    let more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = more.then(|| page::cursor(&(told + limit)));
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}

/// What made a booking what it is, as far back as the journal reaches, and at least so much of it as is wanted.
async fn deeds(
    app: &App,
    number: InventoryNumber,
    booking: &Booking,
    recipients: &[ContactRecipient],
    wanted: usize,
) -> Result<Vec<DeedBody>, Problem> {
    let stock = app.engine.view(number).await?;
    let mut subscription = app.engine.subscribe(number, 0).await?;
    let mut deeds = Vec::new();
    let (mut changes, mut read, mut erased) = (0, 0, false);
    while read < stock.sequence {
        let batch = match subscription.next().await {
            // The journal was cut, and tells what was done from there on.
            Err(SubscriptionError::Gone { first: Some(first), .. }) => {
                read = first - 1;
                subscription = app.engine.subscribe(number, read).await?;
                continue;
            }
            Err(SubscriptionError::Gone { first: None, .. }) => break,
            batch => batch.map_err(unreadable)?,
        };
        read = batch.sequence;
        for (heading, change) in headed(&batch.changes) {
            if let Change::ContactForgotten { customer } = change {
                erased |= *customer == booking.customer;
            }
            if change.booking() != Some(booking.id) {
                continue;
            }
            let (action, details) = described(change, &stock);
            let by = heading.by.and_then(|by| actor(app, by));
            let (at, sequence) = (Moment(heading.at), batch.sequence);
            deeds.push(DeedBody { at, by, action, sequence, details });
            changes += 1;
            let topic = topic_of(change);
            let sent = |recipient: &&ContactRecipient| {
                !erased && topic.is_some_and(|topic| recipient.was_sent(topic, at.0))
            };
            for ContactRecipient { webhook, .. } in recipients.iter().filter(sent) {
                let by = actor(app, webhook.created_by);
                // Not the address: it often has a secret in it, and operators may not read webhooks.
                let details = json!({ "webhook": webhook.id, "event": topic });
                deeds.push(DeedBody { at, by, action: "contact_shared", sequence, details });
            }
        }
        // Every change of a booking is counted in its version: nothing more can come.
        if deeds.len() >= wanted || changes >= booking.version {
            break;
        }
        if read.is_multiple_of(BATCHES_AT_ONCE) {
            tokio::task::yield_now().await;
        }
    }
    Ok(deeds)
}

/// The webhooks that may have been sent the contact of this booking.
async fn contact_recipients(
    app: &Arc<App>,
    caller: &Caller,
    booking: &Booking,
) -> Result<Vec<ContactRecipient>, Problem> {
    if booking.contact().is_none() {
        return Ok(Vec::new());
    }
    let (app, tenant) = (Arc::clone(app), Arc::clone(&caller.tenant));
    let read = move || app.webhooks.contact_recipients(&app.engine, &tenant);
    Ok(tokio::task::spawn_blocking(read).await.expect("reading does not panic")?)
}

fn actor(app: &App, actor: Actor) -> Option<ActorBody> {
    let key = app.keys.of_actor(actor)?;
    Some(ActorBody { id: key.id.clone(), name: key.name.clone(), role: key.role })
}
