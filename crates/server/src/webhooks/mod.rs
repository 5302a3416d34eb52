//! Webhooks: telling others what was committed, signed, in order, at least once.
//!
//! The journal is the queue. A cursor for each webhook and inventory says how far its journal was read; what was found there
//! is written as pending deliveries in the same commit that moves the cursor, so that no crash loses or skips one. One task
//! does all of this (`worker.rs`) and is the only writer of cursors, deliveries and webhooks.

pub(crate) mod address;
mod attempt_slots;
pub(crate) mod contact_sharing;
pub(crate) mod delivery;
mod news;
pub(crate) mod replays;
mod send;
mod signature;
mod sold_out;
mod worker;

use std::collections::HashMap;
use std::sync::Arc;

use boxoffice_core::ids::Actor;
use boxoffice_core::memory::Fingerprint;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::Engine;
use boxoffice_engine::store::StoreError;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use utoipa::ToSchema;

use crate::app::AppSettings;
use crate::ids::readable;
use crate::problem::Problem;
use crate::secret::Secret;
use contact_sharing::ContactRecipient;
use delivery::Delivery;
pub(crate) use news::topic_of;
use worker::{Order, Worker};

/// What a webhook can be told.
///
/// `inventory.sold_out` is sent each time a commit leaves nothing to book of an event as a whole, of a slot or of a box: all units are held, sold or blocked,
/// or the capacity was lowered to them. `inventory.back_on_sale` is sent after that as soon as some can be booked again: units that return to what is closed or over
/// are not on sale until it is opened. What happens and is undone in one commit is not told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
pub(crate) enum Topic {
    #[serde(rename = "booking.held")]
    Held,
    #[serde(rename = "booking.confirmed")]
    Confirmed,
    #[serde(rename = "booking.cancelled")]
    Cancelled,
    #[serde(rename = "booking.expired")]
    Expired,
    #[serde(rename = "booking.moved")]
    Moved,
    #[serde(rename = "booking.redeemed")]
    Redeemed,
    #[serde(rename = "booking.unredeemed")]
    Unredeemed,
    #[serde(rename = "inventory.sold_out")]
    SoldOut,
    #[serde(rename = "inventory.back_on_sale")]
    BackOnSale,
}

/// An address that wants to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Webhook {
    pub(crate) id: String,
    pub(crate) tenant: Arc<str>,
    pub(crate) url: String,
    /// In the order they were asked for.
    pub(crate) events: Vec<Topic>,
    /// Whether messages about bookings say how to reach the customer.
    pub(crate) include_contact: bool,
    pub(crate) created_by: Actor,
    pub(crate) created_at_ms: i64,
    /// It answered 410: nothing is sent any more.
    pub(crate) disabled_at_ms: Option<i64>,
    /// Of the request that made it, if that had an idempotency key.
    pub(crate) fingerprint: Option<Fingerprint>,
}

impl Webhook {
    pub(crate) fn created_at(&self) -> Timestamp {
        Timestamp(self.created_at_ms)
    }

    pub(crate) fn disabled_at(&self) -> Option<Timestamp> {
        self.disabled_at_ms.map(Timestamp)
    }

    fn document(&self, prefix: &str) -> (String, Option<Vec<u8>>) {
        let contents = serde_json::to_vec(self).expect("a webhook is plain data");
        (format!("{prefix}{}", self.id), Some(contents))
    }
}

/// All webhooks, and the way to the task that serves them.
pub(crate) struct Webhooks {
    /// Secrets are made from this and never stored.
    secret: [u8; 32],
    pub(crate) allow_insecure: bool,
    idempotency_keep_seconds: u32,
    by_id: RwLock<HashMap<String, Arc<Webhook>>>,
    orders: mpsc::Sender<Order>,
    /// Held by whoever asks under a key that something be sent again: another one under the same key waits for the answer.
    pub(crate) replaying: tokio::sync::Mutex<()>,
}

/// A webhook that was asked for, and whether it was there before, made from the same seed.
pub(crate) struct Made {
    pub(crate) webhook: Arc<Webhook>,
    pub(crate) known: bool,
}

const DOCUMENT_PREFIX: &str = "webhook/";
/// Webhooks that were deleted, for whoever sends again the request that made one, as long as its key is remembered: made anew, it would
/// live again.
const DELETED_PREFIX: &str = "webhook-deleted/";
const ID_CHARACTERS: usize = 20;
/// Requests that wait for the task.
const ORDERS_MAX: usize = 64;

impl Webhooks {
    /// Reads all webhooks and begins to serve them.
    pub(crate) fn start(
        engine: &Engine,
        secret: &Secret,
        settings: &AppSettings,
    ) -> Result<Arc<Webhooks>, StoreError> {
        let by_id = read_webhooks(engine)?;
        let (orders, taken) = mpsc::channel(ORDERS_MAX);
        let secret = secret.derive("webhooks", &[]);
        let webhooks = Arc::new(Webhooks {
            secret,
            allow_insecure: settings.webhooks_allow_insecure,
            idempotency_keep_seconds: settings.idempotency_keep_seconds,
            by_id: RwLock::new(by_id),
            orders,
            replaying: tokio::sync::Mutex::default(),
        });
        let worker = Worker::load(engine, &webhooks)?;
        tokio::spawn(worker.run(taken));
        Ok(webhooks)
    }

    /// The id of the webhook that is made from a seed.
    pub(crate) fn id_of(seed: &[u8; 32]) -> String {
        readable("wh_", seed, ID_CHARACTERS)
    }

    /// A tenant's webhooks, oldest first.
    pub(crate) fn of_tenant(&self, tenant: &str) -> Vec<Arc<Webhook>> {
        let mut list: Vec<Arc<Webhook>> = self.by_id.read().values().cloned().collect();
        list.retain(|webhook| *webhook.tenant == *tenant);
        list.sort_by_key(|webhook| place(webhook));
        list
    }

    /// The webhooks of a tenant that are or were sent contacts. Blocks for as long as reading takes.
    pub(crate) fn contact_recipients(
        &self,
        engine: &Engine,
        tenant: &str,
    ) -> Result<Vec<ContactRecipient>, StoreError> {
        let live = self.of_tenant(tenant).into_iter().filter(|webhook| webhook.include_contact);
        let mut recipients: Vec<_> =
            live.map(|webhook| ContactRecipient::new(Webhook::clone(&webhook))).collect();
        recipients.extend(contact_sharing::removed(engine, tenant)?);
        Ok(recipients)
    }

    /// A tenant's webhook.
    pub(crate) fn find(&self, tenant: &str, id: &str) -> Result<Arc<Webhook>, Problem> {
        let found = self.by_id.read().get(id).filter(|webhook| *webhook.tenant == *tenant).cloned();
        found.ok_or_else(|| Problem::not_found("WEBHOOK_NOT_FOUND", "There is no such webhook."))
    }

    /// Signs what is sent to a webhook.
    pub(crate) fn secret_of(&self, id: &str) -> [u8; 32] {
        *blake3::keyed_hash(&self.secret, id.as_bytes()).as_bytes()
    }

    /// The same as its owner gets it, once.
    pub(crate) fn secret_text(&self, id: &str) -> String {
        signature::secret_text(&self.secret_of(id))
    }

    /// Whether a webhook's secret may be shown again to a caller who repeats the request that made it: only while the webhook is there
    /// and no message was made for it. Every message is kept before it is signed, and some of them for good.
    pub(crate) async fn secret_may_be_shown(engine: &Engine, id: &str) -> Result<bool, Problem> {
        let (engine, name) = (engine.clone(), format!("{DOCUMENT_PREFIX}{id}"));
        let messages = format!("{}{id}/", delivery::DOCUMENT_PREFIX);
        let look = move || -> Result<bool, StoreError> {
            let Some((name, contents)) =
                engine.documents(&name)?.into_iter().find(|(found, _)| *found == name)
            else {
                return Ok(false);
            };
            let webhook: Webhook =
                serde_json::from_slice(&contents).map_err(|error| damaged(&name, &error))?;
            Ok(webhook.disabled_at_ms.is_none() && engine.documents(&messages)?.is_empty())
        };
        Ok(tokio::task::spawn_blocking(look).await.expect("reading does not panic")?)
    }

    /// What is to be sent to a webhook, and what was sent lately, in no order.
    pub(crate) async fn deliveries(
        &self,
        engine: &Engine,
        webhook: &Webhook,
    ) -> Result<Vec<Delivery>, Problem> {
        let (engine, prefix) = (engine.clone(), format!("{}{}/", delivery::DOCUMENT_PREFIX, webhook.id));
        let read = move || -> Result<Vec<Delivery>, StoreError> {
            let documents = engine.documents(&prefix)?.into_iter();
            let parsed = |(name, contents): (String, Vec<u8>)| {
                serde_json::from_slice(&contents).map_err(|error| damaged(&name, &error))
            };
            documents.map(parsed).collect()
        };
        Ok(tokio::task::spawn_blocking(read).await.expect("reading does not panic")?)
    }

    /// Makes a webhook, or finds the one of the same id. It is told what is committed from now on.
    pub(crate) async fn add(&self, webhook: Webhook) -> Result<Made, Problem> {
        self.order(|reply| Order::Add { webhook, reply }).await
    }

    /// Forgets a tenant's webhook, and all that was to be sent to it.
    pub(crate) async fn remove(&self, tenant: &str, id: &str) -> Result<(), Problem> {
        let webhook = self.find(tenant, id)?;
        self.order(|reply| Order::Remove { webhook, reply }).await
    }

    /// Sends a delivery again, as soon as possible.
    pub(crate) async fn replay(&self, webhook: Arc<Webhook>, delivery: &str) -> Result<Delivery, Problem> {
        let delivery = delivery.to_owned();
        self.order(|reply| Order::Replay { webhook, delivery, reply }).await
    }

    /// Sends nothing more. What was not delivered will be after the next start.
    pub(crate) async fn stop(&self) {
        let (reply, stopped) = oneshot::channel();
        if self.orders.send(Order::Stop { reply }).await.is_ok() {
            // Gone is stopped, too.
            drop(stopped.await);
        }
    }

    async fn order<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<T, Problem>>) -> Order,
    ) -> Result<T, Problem> {
        let stopped = || Problem::unavailable("UNAVAILABLE", "The server is stopping.", 2);
        let (reply, answer) = oneshot::channel();
        self.orders.send(order(reply)).await.map_err(|_| stopped())?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    fn keep(&self, webhook: Webhook) -> Arc<Webhook> {
        let webhook = Arc::new(webhook);
        self.by_id.write().insert(webhook.id.clone(), Arc::clone(&webhook));
        webhook
    }
}

fn read_webhooks(engine: &Engine) -> Result<HashMap<String, Arc<Webhook>>, StoreError> {
    let parsed = |(name, contents): (String, Vec<u8>)| {
        let webhook: Webhook = serde_json::from_slice(&contents).map_err(|error| damaged(&name, &error))?;
        Ok((webhook.id.clone(), Arc::new(webhook)))
    };
    engine.documents(DOCUMENT_PREFIX)?.into_iter().map(parsed).collect()
}

/// Webhooks are listed in this order.
pub(crate) fn place(webhook: &Webhook) -> (i64, String) {
    (webhook.created_at_ms, webhook.id.clone())
}

fn damaged(name: &str, error: &serde_json::Error) -> StoreError {
    StoreError::Inconsistent(format!("the document {name:?}: {error}"))
}
