//! The one task that serves all webhooks: reads journals, records what is to be sent, sends it, and records what came of it.

#[cfg(test)]
mod fairness;
#[cfg(test)]
mod forgetting;

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::ids::parts_of_name;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::store::StoreError;
use boxoffice_engine::{Engine, InventoryNumber, Standing, SubmitError};
use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, MissedTickBehavior};

use super::attempt_slots::AttemptSlots;
use super::contact_sharing::{insert_contact, removal};
use super::delivery::{self, Delivery, DeliveryState, Place, Verdict, document_name};
use super::news::{self, Cursor, News, ReadError};
use super::send::{Message, Sender};
use super::sold_out::SoldOut;
use super::{Made, Webhook, Webhooks, damaged, read_webhooks, signature};
use crate::ids::readable;
use crate::problem::Problem;

/// How often journals are looked at, and what is due is begun.
const POLL: Duration = Duration::from_millis(200);
/// How often inventories are looked at that are not in memory; they have changed only if this task was very late.
const LOOK_AT_ALL: Duration = Duration::from_secs(60);
/// Deliveries of one webhook that wait. When so many do, its journals are read no further: nothing is lost there.
const PENDING_MAX: usize = 1_000;
/// Deliveries of one webhook that are kept to be looked at afterwards.
const FINISHED_KEPT_MAX: usize = 1_000;
/// Attempts under way, of one webhook: those that hang must not be in the way of the tenant's others.
const ATTEMPTS_AT_ONCE_PER_WEBHOOK: usize = 8;
/// Each is served in every round.
const WEBHOOKS_PER_TENANT_MAX: usize = 20;
/// Where several servers are: how often they agree on who serves the webhooks, and what changed elsewhere is looked at.
const LOOK_AT_OTHERS: Duration = Duration::from_secs(1);
/// Deliveries that another server was asked to send again.
const REPLAY_PREFIX: &str = "webhook-replay/";
const CURSOR_PREFIX: &str = "webhook-cursor/";
const MESSAGE_ID_CHARACTERS: usize = 26;

/// What handlers ask of the task.
pub(super) enum Order {
    Add { webhook: Webhook, reply: oneshot::Sender<Result<Made, Problem>> },
    Remove { webhook: Arc<Webhook>, reply: oneshot::Sender<Result<(), Problem>> },
    Replay { webhook: Arc<Webhook>, delivery: String, reply: oneshot::Sender<Result<Delivery, Problem>> },
    Stop { reply: oneshot::Sender<()> },
}

type Document = (String, Option<Vec<u8>>);

pub(super) struct Worker {
    engine: Engine,
    webhooks: Arc<Webhooks>,
    sender: Arc<Sender>,
    endpoints: HashMap<String, Endpoint>,
    under_way: JoinSet<Tried>,
    slots: AttemptSlots,
    look_at_all: Instant,
    look_at_others: Instant,
    /// Whether this server serves the webhooks: always, unless several share a store. Then one of them does, and the others
    /// leave to it what they are asked.
    leading: bool,
    /// Journals that cannot be read; tried again with the next look at all.
    unreadable: HashSet<InventoryNumber>,
}

/// What is known of one webhook.
#[derive(Default)]
struct Endpoint {
    /// By inventory.
    cursors: HashMap<u32, Cursor>,
    /// Cursors that moved and were not written: if they are lost, only news are read again that nobody wanted.
    moved: HashSet<u32>,
    /// By the time they are due, then in the order of their journals.
    pending: BTreeMap<(i64, Place), Delivery>,
    /// Inventories with a first attempt under way: the next has to wait for its turn.
    first_under_way: HashSet<u32>,
    under_way: usize,
    /// Ids of deliveries that are done with, the oldest first.
    finished: VecDeque<String>,
}

/// An attempt that is over.
struct Tried {
    delivery: Delivery,
    first: bool,
    result: Result<u16, String>,
}

enum Wake {
    Poll,
    Tried(Result<Tried, JoinError>),
    Order(Option<Order>),
    Stopped,
}

impl Worker {
    /// Reads where it left off.
    pub(super) fn load(engine: &Engine, webhooks: &Arc<Webhooks>) -> Result<Worker, StoreError> {
        let ids: Vec<String> = webhooks.by_id.read().keys().cloned().collect();
        let mut endpoints = HashMap::new();
        for id in ids {
            let endpoint = Endpoint::load(engine, &id)?;
            endpoints.insert(id, endpoint);
        }
        Ok(Worker {
            engine: engine.clone(),
            webhooks: Arc::clone(webhooks),
            sender: Arc::new(Sender::new(webhooks.allow_insecure)),
            endpoints,
            under_way: JoinSet::new(),
            slots: AttemptSlots::default(),
            look_at_all: Instant::now(),
            look_at_others: Instant::now(),
            leading: !engine.is_shared(),
            unreadable: HashSet::new(),
        })
    }

    /// Serves until it is told to stop, or the engine stops.
    pub(super) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let engine = self.engine.clone();
        let mut poll = tokio::time::interval(POLL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.start_due();
            let wake = tokio::select! {
                _ = engine.stopped() => Wake::Stopped,
                order = orders.recv() => Wake::Order(order),
                Some(tried) = self.under_way.join_next() => Wake::Tried(tried),
                _ = poll.tick() => Wake::Poll,
            };
            let result = match wake {
                Wake::Poll => self.follow().await,
                Wake::Tried(tried) => self.record(tried).await,
                Wake::Order(Some(order)) => match self.obey(order).await {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => return,
                },
                Wake::Order(None) | Wake::Stopped => return,
            };
            if let Err(problem) = result {
                tracing::warn!(detail = %problem.detail, "webhooks could not be served");
            }
        }
    }

    /// Begins what is due, as much as may be under way: one of each tenant in turn, and of each webhook of a tenant.
    fn start_due(&mut self) {
        if !self.leading {
            return;
        }
        let now = self.engine.now();
        let known = self.webhooks.by_id.read();
        // By tenant, its webhooks with something due: those first that have the fewest attempts under way.
        let mut waiting: BTreeMap<&Arc<str>, VecDeque<&Arc<Webhook>>> = BTreeMap::new();
        for (id, endpoint) in &self.endpoints {
            if let Some(webhook) = known.get(id).filter(|webhook| webhook.disabled_at_ms.is_none())
                && endpoint.next_due(now).is_some()
            {
                waiting.entry(&webhook.tenant).or_default().push_back(webhook);
            }
        }
        for webhooks in waiting.values_mut() {
            webhooks.make_contiguous().sort_by_key(|webhook| self.endpoints[&webhook.id].under_way);
        }
        let busy = self.slots.tenants().filter(|tenant| !waiting.contains_key(tenant)).count();
        let tenants = busy + waiting.len();
        while !waiting.is_empty() {
            waiting.retain(|tenant, webhooks| {
                let Some(&webhook) = webhooks.front() else { return false };
                let Some(slot) = self.slots.try_acquire(tenant, tenants) else { return false };
                let endpoint = self.endpoints.get_mut(&webhook.id).expect("it was found above");
                // To the end of the queue, or out of it.
                webhooks.rotate_left(1);
                if let Some((delivery, first)) = endpoint.take_due(now) {
                    let (engine, webhooks) = (self.engine.clone(), Arc::clone(&self.webhooks));
                    let (sender, webhook) = (Arc::clone(&self.sender), Arc::clone(webhook));
                    self.under_way.spawn(async move {
                        let result = match message(&engine, &webhooks, &webhook, &delivery, now).await {
                            Ok(message) => sender.send(&message).await,
                            Err(error) => Err(format!("the contact could not be opened: {error}")),
                        };
                        drop(slot);
                        Tried { delivery, first, result }
                    });
                } else {
                    webhooks.pop_back();
                }
                true
            });
        }
    }

    /// Reads what was committed since the last time, and records what is to be sent, all in one commit with the cursors.
    async fn follow(&mut self) -> Result<(), Problem> {
        if self.engine.is_shared() && Instant::now() >= self.look_at_others {
            self.look_at_others = Instant::now() + LOOK_AT_OTHERS;
            self.agree_with_others().await?;
        }
        if !self.leading {
            return Ok(());
        }
        let webhooks: Vec<Arc<Webhook>> = self.webhooks.by_id.read().values().cloned().collect();
        let webhooks: Vec<_> = webhooks.into_iter().filter(|it| it.disabled_at_ms.is_none()).collect();
        if webhooks.is_empty() {
            return Ok(());
        }
        let all = Instant::now() >= self.look_at_all;
        let standings = self.standings(all).await?;
        let is_current = all || !self.engine.is_shared();
        let mut documents = Vec::new();
        for standing in &standings {
            let Some((tenant, ..)) = parts_of_name(&standing.name) else { continue };
            for webhook in webhooks.iter().filter(|webhook| *webhook.tenant == *tenant) {
                self.follow_one(webhook, standing, is_current, &mut documents).await;
            }
        }
        if all {
            documents.extend(self.cursor_documents());
        }
        self.write(documents).await
    }

    /// Finds out who serves the webhooks, and which there are. Whoever begins to reads where the last one left off.
    async fn agree_with_others(&mut self) -> Result<(), Problem> {
        let engine = self.engine.clone();
        let agreed = blocking(move || Ok::<_, StoreError>((engine.leads()?, read_webhooks(&engine)?))).await;
        // Whoever does not know does not lead.
        let (leads, known) = agreed.inspect_err(|_| self.leading = false)?;
        *self.webhooks.by_id.write() = known.clone();
        if !leads {
            self.leading = false;
            return Ok(());
        }
        if !self.leading {
            tracing::info!("this server serves the webhooks");
            self.endpoints.clear();
        }
        self.endpoints.retain(|id, _| known.contains_key(id));
        for id in known.into_keys().filter(|id| !self.endpoints.contains_key(id)).collect::<Vec<_>>() {
            let (engine, of) = (self.engine.clone(), id.clone());
            self.endpoints.insert(id, blocking(move || Endpoint::load(&engine, &of)).await?);
        }
        self.leading = true;
        let engine = self.engine.clone();
        for (name, _) in blocking(move || engine.documents(REPLAY_PREFIX)).await? {
            let wanted = name.strip_prefix(REPLAY_PREFIX).and_then(|wanted| wanted.split_once('/'));
            let known =
                wanted.and_then(|(webhook, id)| Some((self.webhooks.by_id.read().get(webhook)?.clone(), id)));
            if let Some((webhook, id)) = known
                && let Err(problem) = self.replay(&webhook, id).await
                && problem.status.is_server_error()
            {
                return Err(problem);
            }
            // Replayed, or gone meanwhile.
            self.write(vec![(name, None)]).await?;
        }
        Ok(())
    }

    async fn standings(&mut self, all: bool) -> Result<Vec<Standing>, Problem> {
        if !all {
            return Ok(self.engine.standings_in_memory());
        }
        // What others sell need not be in memory here.
        self.look_at_all =
            Instant::now() + if self.engine.is_shared() { LOOK_AT_OTHERS } else { LOOK_AT_ALL };
        self.unreadable.clear();
        let engine = self.engine.clone();
        Ok(blocking(move || engine.standings()).await?)
    }

    /// `is_current` says that the standing is not of a view that may be behind the store.
    async fn follow_one(
        &mut self,
        webhook: &Webhook,
        standing: &Standing,
        is_current: bool,
        documents: &mut Vec<Document>,
    ) {
        let number = standing.number;
        let Some(endpoint) = self.endpoints.get_mut(&webhook.id) else { return };
        let reached = endpoint.cursors.get(&number.0).map_or(0, |cursor| cursor.sequence);
        // A cursor of a backup may be ahead of the journal that was saved before it. What is in memory may be behind both.
        let is_ahead = reached > standing.sequence;
        let full = endpoint.pending.len() + endpoint.under_way >= PENDING_MAX;
        if reached == standing.sequence
            || (is_ahead && !is_current)
            || full
            || self.unreadable.contains(&number)
        {
            return;
        }
        let cursor = endpoint.cursors.entry(number.0).or_default();
        let mut read = Err(ReadError::Gone);
        if !is_ahead {
            read = news::read(&self.engine, number, cursor, &webhook.events).await;
        }
        if let Err(ReadError::Gone) = read {
            if !is_ahead {
                tracing::warn!(inventory = %standing.name, webhook = webhook.id, "the journal was cut; some news are not sent");
            }
            let pass_over = news::pass_over(&self.engine, number, cursor, standing.sequence, &webhook.events);
            read = pass_over.await;
        }
        match read {
            Ok((moved, news)) => {
                *cursor = moved;
                endpoint.moved.insert(number.0);
                if news.is_empty() {
                    return;
                }
                let now = self.engine.now();
                for one in news {
                    let delivery = pending(webhook, number, one, now);
                    documents.push(delivery.document());
                    endpoint.pending.insert((now.0, delivery.place), delivery);
                }
                documents.extend(endpoint.cursor_documents(&webhook.id));
            }
            Err(ReadError::Later) => {}
            Err(ReadError::Gone) => {
                *cursor = Cursor::at(standing.sequence);
                endpoint.moved.insert(number.0);
            }
            Err(ReadError::Unreadable(problem)) => {
                tracing::error!(inventory = %standing.name, problem, "no news of it are sent");
                self.unreadable.insert(number);
            }
        }
    }

    /// Records what came of an attempt, and of all others that are over.
    async fn record(&mut self, first: Result<Tried, JoinError>) -> Result<(), Problem> {
        let mut documents = Vec::new();
        let mut next = Some(first);
        while let Some(tried) = next {
            match tried {
                Ok(tried) => self.record_one(tried, &mut documents),
                Err(error) => tracing::error!(%error, "an attempt to deliver was lost until the next start"),
            }
            next = self.under_way.try_join_next();
        }
        self.write(documents).await
    }

    fn record_one(&mut self, tried: Tried, documents: &mut Vec<Document>) {
        let Tried { mut delivery, first, result } = tried;
        // The webhook may be gone meanwhile, and its deliveries with it.
        let Some(endpoint) = self.endpoints.get_mut(&delivery.webhook) else { return };
        // One of the same id may have been made since this attempt began.
        endpoint.under_way = endpoint.under_way.saturating_sub(1);
        if first {
            endpoint.first_under_way.remove(&delivery.place.inventory);
        }
        let now = self.engine.now();
        let verdict = delivery.note(now, result, rand::random());
        metrics::counter!("boxoffice_webhook_attempts_total", "result" => word(verdict)).increment(1);
        documents.push(delivery.document());
        let webhook = delivery.webhook.clone();
        match delivery.state {
            DeliveryState::Pending { due_at_ms } => {
                endpoint.pending.insert((due_at_ms, delivery.place), delivery);
            }
            DeliveryState::Delivered { .. } | DeliveryState::Failed { .. } => {
                endpoint.finish(&webhook, delivery.id, documents);
            }
        }
        if verdict == Verdict::Gone {
            self.disable(&webhook, now, documents);
        }
    }

    /// Sends nothing more to a webhook.
    fn disable(&mut self, id: &str, now: Timestamp, documents: &mut Vec<Document>) {
        let Some(webhook) = self.webhooks.by_id.read().get(id).cloned() else { return };
        let disabled =
            self.webhooks.keep(Webhook { disabled_at_ms: Some(now.0), ..Webhook::clone(&webhook) });
        tracing::info!(webhook = id, "answered 410 and is disabled");
        documents.push(disabled.document(super::DOCUMENT_PREFIX));
        let Some(endpoint) = self.endpoints.get_mut(id) else { return };
        for (_, mut delivery) in std::mem::take(&mut endpoint.pending) {
            delivery.state = DeliveryState::Failed { at_ms: now.0 };
            documents.push(delivery.document());
            endpoint.finish(id, delivery.id, documents);
        }
    }

    async fn obey(&mut self, order: Order) -> ControlFlow<()> {
        // Whoever asked may be gone.
        match order {
            Order::Add { webhook, reply } => drop(reply.send(self.add(webhook).await)),
            Order::Remove { webhook, reply } => drop(reply.send(self.remove(&webhook).await)),
            Order::Replay { webhook, delivery, reply } => {
                drop(reply.send(self.replay(&webhook, &delivery).await));
            }
            Order::Stop { reply } => {
                // What fails now is read again after the next start.
                if self.leading {
                    let documents = self.cursor_documents();
                    drop(self.write(documents).await);
                }
                reply.send(()).ok();
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    /// What is committed already is no news to a new webhook: its cursors begin where the inventories stand.
    async fn add(&mut self, webhook: Webhook) -> Result<Made, Problem> {
        if let Some(known) = self.webhooks.by_id.read().get(&webhook.id) {
            return Ok(Made { webhook: Arc::clone(known), known: true });
        }
        if let Some(deleted) = self.deleted(&webhook).await? {
            return Ok(Made { webhook: Arc::new(deleted), known: true });
        }
        if self.webhooks.of_tenant(&webhook.tenant).len() >= WEBHOOKS_PER_TENANT_MAX {
            let detail = format!("There are {WEBHOOKS_PER_TENANT_MAX} webhooks, and may be no more.");
            return Err(Problem::new(axum::http::StatusCode::CONFLICT, "WEBHOOK_LIMIT_REACHED", detail));
        }
        let engine = self.engine.clone();
        let standings = blocking(move || engine.standings()).await?;
        let mut endpoint = Endpoint::default();
        for standing in standings {
            if parts_of_name(&standing.name).is_some_and(|(tenant, ..)| tenant == &*webhook.tenant) {
                let mut cursor = Cursor::at(standing.sequence);
                // Of others it is read from the journal when there is news of them.
                let shown = self.engine.view_in_memory(standing.number);
                if let Some(stock) = shown.filter(|stock| stock.sequence == standing.sequence) {
                    cursor.sold_out = SoldOut::as_of(&stock);
                }
                endpoint.cursors.insert(standing.number.0, cursor);
                endpoint.moved.insert(standing.number.0);
            }
        }
        let mut documents = endpoint.cursor_documents(&webhook.id);
        documents.push(webhook.document(super::DOCUMENT_PREFIX));
        self.write(documents).await?;
        self.endpoints.insert(webhook.id.clone(), endpoint);
        Ok(Made { webhook: self.webhooks.keep(webhook), known: false })
    }

    /// One of the same id that was made under the same key, and deleted since; those whose keys are forgotten are, too.
    async fn deleted(&self, webhook: &Webhook) -> Result<Option<Webhook>, Problem> {
        // Ids that no key leads to are never asked for again.
        if webhook.fingerprint.is_none() {
            return Ok(None);
        }
        let (engine, keep_seconds) = (self.engine.clone(), self.webhooks.idempotency_keep_seconds);
        let (id, now) = (webhook.id.clone(), engine.now());
        let find = move || -> Result<Option<Webhook>, Problem> {
            let (mut found, mut forgotten) = (None, Vec::new());
            for (name, contents) in engine.documents(super::DELETED_PREFIX)? {
                let deleted: Webhook = parsed(&name, &contents)?;
                if deleted.created_at().plus_seconds(keep_seconds) <= now {
                    forgotten.push((name, None));
                } else if deleted.id == id {
                    found = Some(deleted);
                }
            }
            if !forgotten.is_empty() {
                engine.write_documents(&forgotten)?;
            }
            Ok(found)
        };
        blocking(find).await
    }

    async fn remove(&mut self, webhook: &Webhook) -> Result<(), Problem> {
        let (engine, id) = (self.engine.clone(), webhook.id.clone());
        self.webhooks.by_id.write().remove(&id);
        self.endpoints.remove(&id);
        let deleted = webhook.fingerprint.map(|_| webhook.document(super::DELETED_PREFIX));
        let removal = removal(webhook, engine.now());
        let forget = move || -> Result<(), Problem> {
            let mut documents = vec![(format!("{}{id}", super::DOCUMENT_PREFIX), None)];
            documents.extend(deleted);
            documents.extend(removal);
            for prefix in [delivery::DOCUMENT_PREFIX, CURSOR_PREFIX] {
                let own = engine.documents(&format!("{prefix}{id}/"))?;
                documents.extend(own.into_iter().map(|(name, _)| (name, None)));
            }
            Ok(engine.write_documents(&documents)?)
        };
        blocking(forget).await
    }

    async fn replay(&mut self, webhook: &Webhook, id: &str) -> Result<Delivery, Problem> {
        let not_found = || Problem::not_found("DELIVERY_NOT_FOUND", "There is no such delivery.");
        let name = document_name(&webhook.id, id);
        let engine = self.engine.clone();
        let found = blocking(move || Ok::<_, StoreError>((engine.documents(&name)?, name))).await?;
        let (documents, name) = found;
        let (_, contents) = documents.into_iter().find(|(found, _)| *found == name).ok_or_else(not_found)?;
        let mut delivery: Delivery = parsed(&name, &contents)?;
        if !self.leading {
            self.write(vec![(format!("{REPLAY_PREFIX}{}/{id}", webhook.id), Some(Vec::new()))]).await?;
            delivery.state = DeliveryState::Pending { due_at_ms: self.engine.now().0 };
            delivery.failures = 0;
            return Ok(delivery);
        }
        let known = self.webhooks.by_id.read().get(&webhook.id).cloned();
        let enabled = known.is_some_and(|webhook| webhook.disabled_at_ms.is_none());
        let endpoint = self.endpoints.get_mut(&webhook.id).filter(|_| enabled).ok_or_else(|| {
            let detail = "The webhook is disabled: it answered 410.";
            Problem::new(axum::http::StatusCode::CONFLICT, "WEBHOOK_DISABLED", detail)
        })?;
        if let DeliveryState::Pending { due_at_ms } = delivery.state
            && endpoint.pending.remove(&(due_at_ms, delivery.place)).is_none()
        {
            // It is under way at this moment.
            return Ok(delivery);
        }
        endpoint.finished.retain(|finished| *finished != delivery.id);
        let now = self.engine.now();
        delivery.state = DeliveryState::Pending { due_at_ms: now.0 };
        delivery.failures = 0;
        endpoint.pending.insert((now.0, delivery.place), delivery.clone());
        self.write(vec![delivery.document()]).await?;
        Ok(delivery)
    }

    fn cursor_documents(&mut self) -> Vec<Document> {
        let all = self.endpoints.iter_mut();
        all.flat_map(|(id, endpoint)| endpoint.cursor_documents(id)).collect()
    }

    async fn write(&mut self, documents: Vec<Document>) -> Result<(), Problem> {
        if documents.is_empty() {
            return Ok(());
        }
        let engine = self.engine.clone();
        let written = blocking(move || engine.write_documents(&documents)).await;
        Ok(written.inspect_err(|_| self.forget())?)
    }

    /// What is in memory may be ahead of the store: cursors that were moved there for good would pass over messages that nobody
    /// has written down. It is read again before more is sent.
    fn forget(&mut self) {
        // A store of its own takes no more, and the engine has stopped with it.
        if self.engine.is_shared() {
            self.leading = false;
            self.endpoints.clear();
            // Those under way would be sent beside themselves.
            self.under_way = JoinSet::new();
        }
    }
}

impl Endpoint {
    /// Reads where it was left.
    fn load(engine: &Engine, id: &str) -> Result<Endpoint, StoreError> {
        let mut endpoint = Endpoint::default();
        let prefix = format!("{CURSOR_PREFIX}{id}/");
        for (name, contents) in engine.documents(&prefix)? {
            if let Some(Ok(inventory)) = name.strip_prefix(&prefix).map(str::parse) {
                endpoint.cursors.insert(inventory, parsed(&name, &contents)?);
            }
        }
        let mut finished = Vec::new();
        for (name, contents) in engine.documents(&document_name(id, ""))? {
            let delivery: Delivery = parsed(&name, &contents)?;
            match delivery.state {
                DeliveryState::Pending { due_at_ms } => {
                    endpoint.pending.insert((due_at_ms, delivery.place), delivery);
                }
                DeliveryState::Delivered { at_ms } | DeliveryState::Failed { at_ms } => {
                    finished.push((at_ms, delivery.place, delivery.id));
                }
            }
        }
        finished.sort_unstable();
        endpoint.finished = finished.into_iter().map(|(_, _, id)| id).collect();
        Ok(endpoint)
    }

    /// The place of the next delivery that may begin.
    fn next_due(&self, now: Timestamp) -> Option<(i64, Place)> {
        if self.under_way >= ATTEMPTS_AT_ONCE_PER_WEBHOOK {
            return None;
        }
        let may_begin = |delivery: &Delivery| {
            delivery.failures > 0 || !self.first_under_way.contains(&delivery.place.inventory)
        };
        let due = self.pending.iter().take_while(|((due_at_ms, _), _)| *due_at_ms <= now.0);
        due.filter(|(_, delivery)| may_begin(delivery)).map(|(key, _)| *key).next()
    }

    /// The next delivery that may begin, and whether it is its first attempt.
    fn take_due(&mut self, now: Timestamp) -> Option<(Delivery, bool)> {
        let key = self.next_due(now)?;
        let delivery = self.pending.remove(&key).expect("just found");
        let first = delivery.failures == 0;
        if first {
            self.first_under_way.insert(delivery.place.inventory);
        }
        self.under_way += 1;
        Some((delivery, first))
    }

    /// Keeps a delivery to be looked at, and forgets the oldest if there are too many.
    fn finish(&mut self, webhook: &str, id: String, documents: &mut Vec<Document>) {
        self.finished.push_back(id);
        while self.finished.len() > FINISHED_KEPT_MAX {
            let oldest = self.finished.pop_front().expect("more than none");
            documents.push((document_name(webhook, &oldest), None));
        }
    }

    /// The cursors that moved since they were written last.
    fn cursor_documents(&mut self, webhook: &str) -> Vec<Document> {
        let moved = std::mem::take(&mut self.moved).into_iter();
        let document = |inventory: u32| {
            let contents = serde_json::to_vec(&self.cursors[&inventory]).expect("a cursor is plain data");
            (format!("{CURSOR_PREFIX}{webhook}/{inventory}"), Some(contents))
        };
        moved.map(document).collect()
    }
}

fn pending(webhook: &Webhook, inventory: InventoryNumber, news: News, now: Timestamp) -> Delivery {
    let place = Place { inventory: inventory.0, sequence: news.sequence, index: news.index };
    let name = format!("{} {} {} {}", webhook.id, place.inventory, place.sequence, place.index);
    // With what it says: after a restore, the same place may hold other news.
    let digest =
        blake3::Hasher::new().update(name.as_bytes()).update(&[0]).update(news.body.as_bytes()).finalize();
    Delivery {
        id: readable("msg_", digest.as_bytes(), MESSAGE_ID_CHARACTERS),
        webhook: webhook.id.clone(),
        place,
        topic: news.topic,
        body: news.body,
        contact: news.contact.filter(|_| webhook.include_contact).map(|sealed| sealed.to_vec()),
        created_at_ms: now.0,
        state: DeliveryState::Pending { due_at_ms: now.0 },
        failures: 0,
        attempts: Vec::new(),
    }
}

async fn message(
    engine: &Engine,
    webhooks: &Webhooks,
    webhook: &Webhook,
    delivery: &Delivery,
    now: Timestamp,
) -> Result<Message, SubmitError> {
    let seconds = now.0.div_euclid(1_000);
    let secret = webhooks.secret_of(&webhook.id);
    let body = match &delivery.contact {
        Some(contact) => insert_contact(engine, &webhook.tenant, &delivery.body, contact).await?,
        None => delivery.body.clone(),
    };
    Ok(Message {
        url: webhook.url.clone(),
        id: delivery.id.clone(),
        seconds,
        signature: signature::sign(&secret, &delivery.id, seconds, &body),
        body,
    })
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Delivered => "delivered",
        Verdict::Failed => "failed",
        Verdict::Gone => "gone",
    }
}

fn parsed<T: DeserializeOwned>(name: &str, contents: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(contents).map_err(|error| damaged(name, &error))
}

/// The store is read and written where waiting is allowed.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("it does not panic")
}

#[cfg(test)]
mod tests {
    use super::super::Topic;
    use super::*;

    pub(super) fn waiting(due_at_ms: i64, inventory: u32, sequence: u64, failures: u32) -> Delivery {
        Delivery {
            id: format!("{inventory}/{sequence}"),
            webhook: "wh".to_owned(),
            place: Place { inventory, sequence, index: 0 },
            topic: Topic::Held,
            body: String::new(),
            contact: None,
            created_at_ms: 0,
            state: DeliveryState::Pending { due_at_ms },
            failures,
            attempts: Vec::new(),
        }
    }

    fn endpoint(deliveries: &[Delivery]) -> Endpoint {
        let mut endpoint = Endpoint::default();
        for delivery in deliveries {
            let DeliveryState::Pending { due_at_ms } = delivery.state else { unreachable!("they wait") };
            endpoint.pending.insert((due_at_ms, delivery.place), delivery.clone());
        }
        endpoint
    }

    fn begun(endpoint: &mut Endpoint, now: i64) -> Vec<String> {
        std::iter::from_fn(|| endpoint.take_due(Timestamp(now))).map(|(delivery, _)| delivery.id).collect()
    }

    #[test]
    fn first_attempts_of_an_inventory_begin_one_after_the_other_and_in_order() {
        let mut endpoint = endpoint(&[
            waiting(5, 1, 8, 0),
            waiting(5, 1, 7, 0),
            waiting(5, 2, 3, 0),
            waiting(4, 1, 2, 1),
            waiting(99, 3, 1, 0),
        ]);
        assert_eq!(begun(&mut endpoint, 10), ["1/2", "1/7", "2/3"]);
        assert_eq!(begun(&mut endpoint, 10), [""; 0]);
        endpoint.first_under_way.remove(&1);
        assert_eq!(begun(&mut endpoint, 10), ["1/8"]);
        assert_eq!(begun(&mut endpoint, 99), ["3/1"]);
    }

    #[test]
    fn attempts_under_way_are_bounded() {
        let many: Vec<Delivery> = (1..=20).map(|inventory| waiting(1, inventory, 1, 0)).collect();
        assert_eq!(begun(&mut endpoint(&many), 1).len(), ATTEMPTS_AT_ONCE_PER_WEBHOOK);
    }

    #[test]
    fn the_log_keeps_the_newest() {
        let (mut endpoint, mut documents) = (Endpoint::default(), Vec::new());
        for number in 0..=FINISHED_KEPT_MAX {
            endpoint.finish("wh", number.to_string(), &mut documents);
        }
        assert_eq!(documents, [("delivery/wh/0".to_owned(), None)]);
        assert_eq!(endpoint.finished.len(), FINISHED_KEPT_MAX);
    }
}
