//! `GET /v1/webhooks/{id}/deliveries` and `POST /v1/webhooks/{id}/deliveries/{delivery}/replay`.

use std::cmp::Reverse;
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::Engine;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::IdempotencyKey;
use crate::outer::json;
use crate::page::Page;
use crate::path::Path;
use crate::problem::Problem;
use crate::query::Query;
use crate::routes::{PageWanted, page_of};
use crate::time::Moment;
use crate::webhooks::delivery::{Delivery, DeliveryState};
use crate::webhooks::{Topic, replays};

/// A message for a webhook, and what became of it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Delivery)]
pub(crate) struct DeliveryBody<'a> {
    /// Sent as `webhook-id`, the same with every attempt.
    id: &'a str,
    r#type: Topic,
    status: DeliveryStatus,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    next_attempt_at: Option<Moment>,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    delivered_at: Option<Moment>,
    /// The newest last.
    attempts: Vec<AttemptBody<'a>>,
    /// What is sent, without the contact.
    #[schema(value_type = Object)]
    body: &'a RawValue,
}

#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum DeliveryStatus {
    Pending,
    Delivered,
    /// Given up after three days, or the webhook was disabled.
    Failed,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attempt)]
struct AttemptBody<'a> {
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    /// What the receiver answered.
    #[schema(required)]
    status: Option<u16>,
    /// Why there was no answer.
    #[schema(required)]
    error: Option<&'a str>,
}

impl DeliveryBody<'_> {
    fn of(delivery: &Delivery) -> DeliveryBody<'_> {
        let (status, next_attempt_at, delivered_at) = match delivery.state {
            DeliveryState::Pending { due_at_ms } => (DeliveryStatus::Pending, Some(due_at_ms), None),
            DeliveryState::Delivered { at_ms } => (DeliveryStatus::Delivered, None, Some(at_ms)),
            DeliveryState::Failed { .. } => (DeliveryStatus::Failed, None, None),
        };
        let moment = |ms: i64| Moment(Timestamp(ms));
        let attempts = delivery.attempts.iter().map(|attempt| AttemptBody {
            at: moment(attempt.at_ms),
            status: attempt.status,
            error: attempt.error.as_deref(),
        });
        DeliveryBody {
            id: &delivery.id,
            r#type: delivery.topic,
            status,
            created_at: Moment(delivery.created_at()),
            next_attempt_at: next_attempt_at.map(moment),
            delivered_at: delivered_at.map(moment),
            attempts: attempts.collect(),
            body: serde_json::from_str(&delivery.body).expect("bodies are JSON"),
        }
    }
}

/// Lists the messages of a webhook and what became of them, the newest first.
///
/// For `admin`.
#[utoipa::path(
    get,
    path = "/v1/webhooks/{id}/deliveries",
    tag = "webhooks",
    operation_id = "list_deliveries",
    params(
        ("id" = String, Path, description = "The webhook.", example = "h3n8q5"),
        PageWanted,
    ),
    responses(
        (status = 200, description = "A page of deliveries.", body = Page<DeliveryBody<'static>>),
        (status = 404, description = "`WEBHOOK_NOT_FOUND`"),
    ),
)]
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    Path(id): Path<String>,
    Query(wanted): Query<PageWanted>,
) -> Result<Response, Problem> {
    let webhook = app.webhooks.find(&caller.tenant, &id)?;
    let mut all = app.webhooks.deliveries(&app.engine, &webhook).await?;
    let place = |delivery: &Delivery| {
        let place = delivery.place;
        Reverse((delivery.created_at_ms, place.inventory, place.sequence, place.index))
    };
    all.sort_by_key(place);
    let (deliveries, next_cursor) = page_of(all, &wanted, place)?;
    let items = deliveries.iter().map(DeliveryBody::of).collect();
    Ok(json(StatusCode::OK, &Page { items, next_cursor }, false))
}

/// Sends a message again.
///
/// For `admin`.
#[utoipa::path(
    post,
    path = "/v1/webhooks/{id}/deliveries/{delivery}/replay",
    tag = "webhooks",
    operation_id = "replay_delivery",
    params(
        ("id" = String, Path, description = "The webhook.", example = "h3n8q5"),
        ("delivery" = String, Path, description = "The delivery.", example = "msg_h3n8q5"),
        IdempotencyKey,
    ),
    responses(
        (status = 200, description = "The delivery.", body = DeliveryBody),
        (status = 404, description = "`WEBHOOK_NOT_FOUND`, `DELIVERY_NOT_FOUND`"),
        (status = 409, description = "`WEBHOOK_DISABLED`"),
    ),
)]
pub(crate) async fn replay(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Path((id, delivery)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let webhook = app.webhooks.find(&caller.tenant, &id)?;
    let Some(key) = key.0 else {
        let delivery = app.webhooks.replay(webhook, &delivery).await?;
        return Ok(json(StatusCode::OK, &DeliveryBody::of(&delivery), false));
    };
    let _turn = app.webhooks.replaying.lock().await;
    // Under the webhook's id, which was seen to be the caller's: a delivery's may be known to others.
    let place = format!("{id}/{delivery}");
    if let Some(answer) = with_store(&app, &place, &key, replays::find).await? {
        return Ok(json(StatusCode::OK, &as_it_was(&answer), true));
    }
    let sent = app.webhooks.replay(webhook, &delivery).await?;
    let answer = serde_json::to_string(&DeliveryBody::of(&sent)).expect("a delivery is plain data");
    let answered = answer.clone();
    let keep_seconds = app.settings.idempotency_keep_seconds;
    let keep = move |engine: &Engine, place: &str, key: &str| {
        replays::keep(engine, place, key, &answered, keep_seconds)
    };
    with_store(&app, &place, &key, keep).await?;
    Ok(json(StatusCode::OK, &as_it_was(&answer), false))
}

fn as_it_was(answer: &str) -> &RawValue {
    serde_json::from_str(answer).expect("it was written as JSON")
}

/// Reads or writes what is kept of a key, beside the threads that answer.
async fn with_store<T: Send + 'static>(
    app: &App,
    delivery: &str,
    key: &str,
    work: impl FnOnce(&Engine, &str, &str) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let (engine, delivery, key) = (app.engine.clone(), delivery.to_owned(), key.to_owned());
    let work = move || work(&engine, &delivery, &key);
    tokio::task::spawn_blocking(work).await.expect("it does not panic")
}
