//! From an engine to the log, and back to whoever waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use boxoffice_engine::routing::{Routed, Router, Sending};
use boxoffice_engine::{Answer, SubmitError};
use parking_lot::Mutex;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::OwnedHeaders;
use rdkafka::producer::FutureRecord;
use rdkafka::producer::future_producer::DeliveryFuture;
use tokio::sync::oneshot;

use super::async_bookings;
use super::broker::{Health, Sender};
use super::log::Log;
use super::message::{self, Reply, ReplyTo};
use super::topics::Topics;

/// How long whoever sent a command waits for its answer. It may be decided later all the same.
const ANSWERED_WITHIN: Duration = Duration::from_secs(10);
/// What whoever cannot be served is asked to wait before the next try.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Who waits for replies, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    pub(super) id: u128,
    /// Of the replies. Several nodes may share one.
    pub(super) partition: i32,
}

impl Node {
    pub(super) fn new(reply_partitions: i32) -> Node {
        let id: u128 = rand::random();
        let partitions = u128::try_from(reply_partitions).expect("topics have partitions");
        Node { id, partition: i32::try_from(id % partitions).expect("less than their number") }
    }
}

/// Those who wait for replies, by the correlation of their command.
#[derive(Default)]
pub(super) struct Waiting {
    next: AtomicU64,
    open: Mutex<HashMap<u64, oneshot::Sender<Result<Answer, SubmitError>>>>,
}

impl Waiting {
    fn begin(self: &Arc<Waiting>) -> Waiter {
        let correlation = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.open.lock().insert(correlation, sender);
        Waiter { waiting: Arc::clone(self), correlation, receiver }
    }

    /// Tells whoever waits, if anybody does.
    pub(super) fn answer(&self, reply: Reply) {
        let waiter = self.open.lock().remove(&reply.correlation);
        if let Some(waiter) = waiter {
            // They may have gone in this moment.
            drop(waiter.send(reply.into_result()));
        }
    }
}

/// One who waits, until it does not.
struct Waiter {
    waiting: Arc<Waiting>,
    correlation: u64,
    receiver: oneshot::Receiver<Result<Answer, SubmitError>>,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.waiting.open.lock().remove(&self.correlation);
    }
}

/// The way of all commands of a node.
pub(super) struct KafkaRouter {
    pub(super) producer: Sender,
    pub(super) health: Health,
    pub(super) topics: Topics,
    pub(super) node: Node,
    pub(super) waiting: Arc<Waiting>,
    /// That inventories are spread over.
    partitions: AtomicI32,
}

impl KafkaRouter {
    pub(super) fn new(
        producer: Sender,
        health: Health,
        topics: Topics,
        node: Node,
        log: Log,
        waiting: Arc<Waiting>,
    ) -> KafkaRouter {
        let partitions = AtomicI32::new(log.partitions);
        KafkaRouter { producer, health, topics, node, waiting, partitions }
    }

    /// The log is another one.
    pub(super) fn follow(&self, log: Log) {
        self.partitions.store(log.partitions, Ordering::Relaxed);
    }

    pub(super) fn changes(&self) -> Changes {
        let topic = self.topics.changes.clone();
        Changes { producer: self.producer.clone(), health: self.health.clone(), topic }
    }

    /// Hands a command to the connection, in the order of the calls. After an error it was not taken.
    fn send(
        &self,
        routed: &Routed,
        reply_to: Option<ReplyTo>,
        headers: OwnedHeaders,
    ) -> Result<DeliveryFuture, SubmitError> {
        if !self.health.is_up() {
            return Err(SubmitError::Unavailable { retry_after: RETRY_AFTER });
        }
        let Routed { inventory, name, command } = routed;
        let payload = message::encode_command(*inventory, reply_to, command);
        let partition = Log::partition_of(self.partitions.load(Ordering::Relaxed), name);
        let record = FutureRecord::to(&self.topics.commands).key(&**name).partition(partition);
        let record = record.payload(&payload).headers(headers);
        self.producer.send_result(record).map_err(|(error, _)| match error {
            KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull) => {
                SubmitError::Overloaded { retry_after: RETRY_AFTER }
            }
            error => refused(&error),
        })
    }

    /// Waits until the brokers have a command for good.
    async fn taken(&self, delivery: DeliveryFuture) -> Result<(), SubmitError> {
        match delivery.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err((error, _))) => match error.rdkafka_error_code() {
                Some(RDKafkaErrorCode::MessageSizeTooLarge) => Err(refused(&error)),
                code => {
                    if code == Some(RDKafkaErrorCode::MessageTimedOut) {
                        self.health.set(false);
                    }
                    tracing::warn!(%error, "whether Kafka has taken a command is not known");
                    Err(SubmitError::OutcomeUnknown)
                }
            },
            Err(_) => Err(SubmitError::OutcomeUnknown),
        }
    }

    async fn answer(&self, sent: Sent) -> Result<Answer, SubmitError> {
        let Sent { delivery, mut waiter, until } = sent;
        let answered = async {
            tokio::select! {
                // The answer proves that the command was taken.
                biased;
                answer = &mut waiter.receiver => return answer,
                taken = self.taken(delivery) => if let Err(error) = taken { return Ok(Err(error)) },
            }
            (&mut waiter.receiver).await
        };
        match tokio::time::timeout_at(until, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) | Err(_) => Err(SubmitError::OutcomeUnknown),
        }
    }
}

/// A command on its way.
struct Sent {
    delivery: DeliveryFuture,
    waiter: Waiter,
    until: tokio::time::Instant,
}

impl Router for KafkaRouter {
    fn submit(&self, commands: Vec<Routed>) -> Sending<'_, Vec<Result<Answer, SubmitError>>> {
        // All are on their way, in order, before the first is waited for.
        let until = tokio::time::Instant::now() + ANSWERED_WITHIN;
        let sent: Vec<Result<Sent, SubmitError>> = commands
            .iter()
            .map(|routed| {
                let waiter = self.waiting.begin();
                let Node { id: node, partition } = self.node;
                let reply_to = ReplyTo { node, partition, correlation: waiter.correlation };
                let delivery = self.send(routed, Some(reply_to), OwnedHeaders::new())?;
                Ok(Sent { delivery, waiter, until })
            })
            .collect();
        Box::pin(async move {
            let mut answers = Vec::with_capacity(sent.len());
            for one in sent {
                answers.push(match one {
                    Ok(sent) => self.answer(sent).await,
                    Err(error) => Err(error),
                });
            }
            answers
        })
    }

    fn hand_over<'a>(&'a self, command: Routed, request_id: &'a str) -> Sending<'a, Result<(), SubmitError>> {
        Box::pin(async move {
            let delivery = self.send(&command, None, async_bookings::headers_of(request_id))?;
            self.taken(delivery).await
        })
    }

    fn answers(&self) -> bool {
        self.health.is_up()
    }
}

fn refused(error: &KafkaError) -> SubmitError {
    tracing::warn!(%error, "Kafka does not take a command");
    SubmitError::Unavailable { retry_after: RETRY_AFTER }
}

/// Where changes go out, in order for each inventory.
#[derive(Clone)]
pub struct Changes {
    producer: Sender,
    health: Health,
    topic: String,
}

/// Why changes did not go out, or nobody knows whether they did: send them again.
#[derive(Debug, thiserror::Error)]
#[error("changes cannot be sent to Kafka: {0}")]
pub struct ChangesError(String);

impl Changes {
    /// Where they go.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Sends messages of one inventory, in order, and waits until the brokers have all of them.
    pub async fn send(&self, inventory: &str, messages: &[Vec<u8>]) -> Result<(), ChangesError> {
        if !self.health.is_up() {
            return Err(ChangesError("no broker answers".to_owned()));
        }
        let mut deliveries = Vec::with_capacity(messages.len());
        for payload in messages {
            let record = FutureRecord::to(&self.topic).key(inventory).payload(payload);
            let sent = self.producer.send_result(record);
            deliveries.push(sent.map_err(|(error, _)| ChangesError(error.to_string()))?);
        }
        for delivery in deliveries {
            match delivery.await {
                Ok(Ok(_)) => {}
                Ok(Err((error, _))) => return Err(ChangesError(error.to_string())),
                Err(_) => return Err(ChangesError("the connection is gone".to_owned())),
            }
        }
        Ok(())
    }
}
