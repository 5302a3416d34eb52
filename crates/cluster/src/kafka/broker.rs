//! Connections to the brokers, and whether anybody answers there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::producer::{FutureProducer, Producer};
use rdkafka::statistics::Statistics;

use super::Settings;
use super::measure;
use super::topics::Topics;

/// The largest command there is: tickets of a whole season, as bytes.
pub(super) const MESSAGE_BYTES_MAX: &str = "16777216";
/// How long a command may be on its way to the broker before its outcome is unknown.
const DELIVERED_WITHIN_MS: &str = "5000";
/// An owner that was not heard of for so long is put aside. Brokers allow no less unless they are told to.
const SESSION_MS: &str = "6000";
/// How long a broker may take to say something about itself.
pub(super) const ASKED_WITHIN: Duration = Duration::from_secs(10);
/// The same, for one that was not there a moment ago.
const LOOKED_FOR_WITHIN: Duration = Duration::from_secs(1);

/// What sends.
pub(super) type Sender = FutureProducer<Health>;
/// What takes from the log, as a member of the group.
pub(super) type Member = BaseConsumer<Membership>;

/// How to connect.
pub(super) struct Brokers {
    common: ClientConfig,
    health: Health,
}

impl Brokers {
    pub(super) fn new(settings: &Settings) -> Brokers {
        let mut common = ClientConfig::new();
        common.set("bootstrap.servers", &settings.brokers).set("client.id", "boxoffice");
        common.set("allow.auto.create.topics", "false").set_log_level(RDKafkaLogLevel::Warning);
        // A broker that comes back is found at once.
        common.set("reconnect.backoff.ms", "50").set("reconnect.backoff.max.ms", "1000");
        for (name, value) in &settings.options {
            common.set(name, value);
        }
        Brokers { common, health: Health::default() }
    }

    /// A connection that sends: what it says was taken is on as many brokers as the topic asks for, once and in order.
    pub(super) fn producer(&self) -> KafkaResult<Sender> {
        let mut config = self.common.clone();
        config.set("acks", "all").set("enable.idempotence", "true").set("linger.ms", "1");
        config.set("message.timeout.ms", DELIVERED_WITHIN_MS).set("message.max.bytes", MESSAGE_BYTES_MAX);
        config.set("queue.buffering.max.messages", "100000");
        config.create_with_context(self.health.clone())
    }

    /// A member of the group that shares the partitions of the commands, once it subscribes.
    pub(super) fn group(&self, topics: &Topics) -> KafkaResult<Member> {
        let mut config = self.common.clone();
        let default = |config: &mut ClientConfig, name: &str, value: &str| {
            if config.get(name).is_none() {
                config.set(name, value);
            }
        };
        default(&mut config, "session.timeout.ms", SESSION_MS);
        default(&mut config, "group.id", &topics.group);
        config.set("partition.assignment.strategy", "cooperative-sticky");
        // Where to begin is only a hint: what was decided is known by the store. A topic that was made anew begins again, which
        // the owner notices.
        config.set("auto.offset.reset", "earliest").set("enable.auto.offset.store", "false");
        config.set("auto.commit.interval.ms", "1000").set("statistics.interval.ms", "1000");
        config.set("fetch.message.max.bytes", MESSAGE_BYTES_MAX).set("queued.max.messages.kbytes", "65536");
        config.create_with_context(Membership::default())
    }

    /// A connection that reads on its own account.
    pub(super) fn reader(&self) -> KafkaResult<BaseConsumer<Health>> {
        let mut config = self.common.clone();
        // Asked for, though nothing is ever kept under it.
        config.set("group.id", "boxoffice-reader").set("enable.auto.commit", "false");
        config.set("auto.offset.reset", "latest").set("fetch.message.max.bytes", MESSAGE_BYTES_MAX);
        config.create_with_context(self.health.clone())
    }

    pub(super) fn health(&self) -> Health {
        self.health.clone()
    }

    /// A connection that makes topics.
    pub(super) fn admin(&self) -> KafkaResult<rdkafka::admin::AdminClient<Health>> {
        self.common.create_with_context(self.health.clone())
    }
}

/// Whether a broker answers: what cannot be taken is refused at once instead of being kept.
#[derive(Clone, Default)]
pub(super) struct Health(Arc<State>);

#[derive(Default)]
struct State {
    is_away: AtomicBool,
    /// Nothing can be sent any more until the program, or a newer one, is started again.
    is_broken: AtomicBool,
}

impl Health {
    pub(super) fn is_up(&self) -> bool {
        !self.0.is_away.load(Ordering::Relaxed) && !self.0.is_broken.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, up: bool) {
        if self.0.is_away.swap(!up, Ordering::Relaxed) == up {
            tracing::warn!(up, "whether Kafka answers has changed");
        }
        measure::available(self.is_up());
    }

    /// No more commands are taken until somebody starts this server again.
    pub(super) fn give_up(&self) {
        self.0.is_broken.store(true, Ordering::Relaxed);
        measure::available(false);
    }

    /// Looks for a broker if there was none.
    pub(super) fn look(&self, producer: &Sender, topic: &str) {
        if !self.is_up() && producer.client().fetch_metadata(Some(topic), LOOKED_FOR_WITHIN).is_ok() {
            self.set(true);
        }
    }
}

impl ClientContext for Health {
    fn error(&self, error: KafkaError, reason: &str) {
        match error {
            KafkaError::Global(RDKafkaErrorCode::AllBrokersDown) => self.set(false),
            KafkaError::Global(RDKafkaErrorCode::Fatal) => {
                tracing::error!(reason, "nothing can be sent to Kafka any more: start this server again");
                self.give_up();
            }
            error => tracing::debug!(%error, reason, "Kafka"),
        }
    }
}

impl ConsumerContext for Health {}

/// What the group says to a member.
#[derive(Default)]
pub(super) struct Membership {
    /// Partitions that were given to it since it last looked, if any assignment was made.
    assigned: Mutex<Option<Vec<i32>>>,
}

impl Membership {
    /// The partitions that were given to it since this was last asked; `None` if nothing was said about it.
    pub(super) fn assigned(&self) -> Option<Vec<i32>> {
        self.assigned.lock().take()
    }
}

impl ClientContext for Membership {
    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(%error, reason, "Kafka");
    }

    fn stats(&self, statistics: Statistics) {
        let partitions = statistics.topics.values().flat_map(|topic| topic.partitions.values());
        // Of those that are not its own nothing is known: -1.
        measure::lag(partitions.map(|partition| partition.consumer_lag_stored.max(0)).sum());
    }
}

impl ConsumerContext for Membership {
    fn post_rebalance(&self, _member: &BaseConsumer<Membership>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(partitions) => {
                tracing::info!(
                    partitions = partitions.count(),
                    "this server decides more of Kafka's commands"
                );
                let given = partitions.elements().into_iter().map(|given| given.partition());
                self.assigned.lock().get_or_insert_default().extend(given);
            }
            Rebalance::Revoke(partitions) => {
                tracing::info!(partitions = partitions.count(), "others decide what this server did");
            }
            Rebalance::Error(error) => tracing::warn!(%error, "who decides could not be agreed on"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_send_nothing_any_more_is_not_up_again_when_a_broker_answers() {
        let health = Health::default();
        health.error(KafkaError::Global(RDKafkaErrorCode::AllBrokersDown), "all are down");
        assert!(!health.is_up());
        health.set(true);
        assert!(health.is_up());
        health.error(KafkaError::Global(RDKafkaErrorCode::Fatal), "out of sequence");
        health.set(true);
        assert!(!health.is_up());
    }
}
