//! Which topics there are, and how they come to be. One that is there is used as it is.

use std::time::{Duration, Instant};

use rdkafka::ClientContext;
use rdkafka::admin::{AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::Client;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::producer::Producer;

use super::StartError;
use super::broker::{ASKED_WITHIN, Brokers, MESSAGE_BYTES_MAX, Sender};
use crate::wait::wait;

/// Partitions of a topic that is made here: as many nodes can share the work.
const PARTITIONS: i32 = 12;
/// Copies of each message, where there are so many brokers.
const COPIES_MAX: usize = 3;
/// A week: so long may all servers be away without losing a command that was answered 202.
const KEPT_MS: &str = "604800000";
/// Whoever waits for a reply does not wait for longer.
const REPLIES_KEPT_MS: &str = "600000";
/// A month, for somebody to look at them.
const DEAD_LETTERS_KEPT_MS: &str = "2592000000";
/// How long a topic that was made may take to be known.
const KNOWN_WITHIN: Duration = Duration::from_secs(20);

/// The names of everything.
#[derive(Debug, Clone)]
pub(super) struct Topics {
    pub(super) commands: String,
    pub(super) replies: String,
    pub(super) dead_letters: String,
    pub(super) changes: String,
    /// Of those who decide.
    pub(super) group: String,
}

impl Topics {
    pub(super) fn of(prefix: &str) -> Topics {
        let name = |what: &str| format!("{prefix}.{what}");
        Topics {
            commands: name("commands"),
            replies: name("replies"),
            dead_letters: name("dead-letters"),
            changes: name("changes"),
            group: name("deciders"),
        }
    }

    /// Makes the topics that are missing, and waits until all of them can be used.
    pub(super) fn make(&self, brokers: &Brokers, producer: &Sender) -> Result<(), StartError> {
        let wrong = |problem: String| StartError::Topic { topic: self.commands.clone(), problem };
        let said = |error: KafkaError| wrong(error.to_string());
        let metadata = producer.client().fetch_metadata(None, ASKED_WITHIN).map_err(said)?;
        let copies = metadata.brokers().len().clamp(1, COPIES_MAX);
        // One broker may be away without stopping sales, and what was taken is on two.
        let in_sync = if copies == COPIES_MAX { "2" } else { "1" };
        let replication = || TopicReplication::Fixed(i32::try_from(copies).expect("a few"));
        let wanted = [
            (&self.commands, KEPT_MS),
            (&self.replies, REPLIES_KEPT_MS),
            (&self.dead_letters, DEAD_LETTERS_KEPT_MS),
            (&self.changes, KEPT_MS),
        ];
        let missing = wanted.iter().filter(|(name, _)| {
            !metadata.topics().iter().any(|topic| topic.name() == *name && !topic.partitions().is_empty())
        });
        let new: Vec<NewTopic<'_>> = missing
            .map(|(name, kept_ms)| {
                NewTopic::new(name, PARTITIONS, replication())
                    .set("cleanup.policy", "delete")
                    .set("retention.ms", kept_ms)
                    .set("min.insync.replicas", in_sync)
                    .set("max.message.bytes", MESSAGE_BYTES_MAX)
            })
            .collect();
        if !new.is_empty() {
            let admin = brokers.admin().map_err(said)?;
            let options = AdminOptions::new().operation_timeout(Some(ASKED_WITHIN));
            let made = wait(admin.create_topics(&new, &options)).map_err(said)?;
            for result in made {
                match result {
                    // Of several that start at once, one makes it.
                    Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
                    Err((topic, code)) => {
                        return Err(StartError::Topic { topic, problem: code.to_string() });
                    }
                }
            }
        }
        for (name, _) in wanted {
            let known = patiently(|| partitions(producer.client(), name));
            known.map_err(|error| StartError::Topic { topic: name.clone(), problem: error.to_string() })?;
        }
        Ok(())
    }
}

/// Asks again for what a broker does not know yet.
fn patiently<T>(mut ask: impl FnMut() -> KafkaResult<T>) -> KafkaResult<T> {
    let start = Instant::now();
    loop {
        match ask() {
            Err(_) if start.elapsed() < KNOWN_WITHIN => std::thread::sleep(Duration::from_millis(50)),
            answer => return answer,
        }
    }
}

/// Where a partition ends: the offset of the next message.
pub(super) fn end<C: ClientContext>(client: &Client<C>, topic: &str, partition: i32) -> KafkaResult<i64> {
    patiently(|| client.fetch_watermarks(topic, partition, ASKED_WITHIN)).map(|(_, end)| end)
}

/// How many partitions a topic has, all of which have a leader.
pub(super) fn partitions<C: ClientContext>(client: &Client<C>, topic: &str) -> KafkaResult<i32> {
    let metadata = client.fetch_metadata(Some(topic), ASKED_WITHIN)?;
    let unknown = || KafkaError::MetadataFetch(RDKafkaErrorCode::UnknownTopicOrPartition);
    let found = metadata.topics().iter().find(|found| found.name() == topic).ok_or_else(unknown)?;
    let led = found.partitions().iter().all(|partition| partition.leader() >= 0);
    match i32::try_from(found.partitions().len()) {
        Ok(count) if count > 0 && led => Ok(count),
        _ => Err(unknown()),
    }
}
