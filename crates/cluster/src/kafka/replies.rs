//! What the owners of partitions reply to this node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaResult;
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};

use super::broker::{Brokers, Health, Sender};
use super::message::Reply;
use super::router::{Node, Waiting};
use super::topics;

/// How long it may take to notice that the node stops.
const POLL: Duration = Duration::from_millis(100);

/// A reader of one partition, which other nodes may share.
pub(super) struct Replies {
    reader: BaseConsumer<Health>,
    producer: Sender,
    health: Health,
    topic: String,
    node: Node,
    waiting: Arc<Waiting>,
}

impl Replies {
    /// From now on no reply is missed.
    pub(super) fn begin(
        brokers: &Brokers,
        producer: &Sender,
        topic: &str,
        node: Node,
        waiting: &Arc<Waiting>,
    ) -> KafkaResult<Replies> {
        let reader = brokers.reader()?;
        let end = topics::end(reader.client(), topic, node.partition)?;
        let mut from = TopicPartitionList::new();
        from.add_partition_offset(topic, node.partition, Offset::Offset(end))?;
        reader.assign(&from)?;
        Ok(Replies {
            reader,
            producer: producer.clone(),
            health: brokers.health(),
            topic: topic.to_owned(),
            node,
            waiting: Arc::clone(waiting),
        })
    }

    /// Reads until the node stops. Also looks for a broker while there is none, because it waits anyway.
    pub(super) fn run(self, stopping: &AtomicBool) {
        while !stopping.load(Ordering::Relaxed) {
            self.health.look(&self.producer, &self.topic);
            match self.reader.poll(POLL) {
                None => {}
                Some(Ok(message)) => match Reply::decode(message.payload().unwrap_or_default()) {
                    Ok(reply) if reply.node == self.node.id => self.waiting.answer(reply),
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "a reply cannot be read"),
                },
                Some(Err(error)) => tracing::debug!(%error, "replies cannot be read"),
            }
        }
    }
}
