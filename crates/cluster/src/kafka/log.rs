//! Which log the commands are in. Offsets count from zero in every topic, so a topic that was deleted and made anew, or
//! another one in its place, is another log: its epoch is larger, and its first command comes after the last of the old one.
//!
//! The store has a document for each epoch, with the topic and the number of partitions that inventories are spread over. That
//! number stays even if the topic gets more: an inventory never changes its partition within one log.
//!
//! Whoever reads the topic notices when a partition begins anew: see `owner.rs`. For whoever begins to read it: a
//! topic that ends before what was decided is not the one that was decided from, or it has lost what it had. The brokers
//! forget the group's offsets together with a topic: if they still have them, nothing is assumed.

use boxoffice_engine::store::{Store, StoreError};
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};

use super::StartError;
use super::broker::{ASKED_WITHIN, Member};
use super::topics::{self, Topics};
use crate::postgres::PostgresStore;

const DOCUMENT_PREFIX: &str = "kafka/log/";

/// A log of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) epoch: u32,
    /// That inventories are spread over.
    pub(super) partitions: i32,
}

impl Log {
    /// The log that the topic is: the last one, or a new one if it is not that.
    pub(super) fn find(store: &PostgresStore, member: &Member, topics: &Topics) -> Result<Log, StartError> {
        let topic = &topics.commands;
        loop {
            let known = last(store)?;
            let epoch = known.as_ref().map_or(0, |(log, _)| log.epoch);
            if let Some((log, of)) = known
                && of == *topic
                && log.is_in(store, member, topics)?
            {
                return Ok(log);
            }
            begin(store, member, topic, epoch + 1)?;
        }
    }

    /// The log after this one, when the topic was seen to begin anew. Of several that see it, one begins the log, and the others
    /// read which it is.
    pub(super) fn next(
        &self,
        store: &PostgresStore,
        member: &Member,
        topics: &Topics,
    ) -> Result<Log, StartError> {
        loop {
            match last(store)? {
                Some((log, of)) if log.epoch > self.epoch && of == topics.commands => return Ok(log),
                _ => begin(store, member, &topics.commands, self.epoch + 1)?,
            }
        }
    }

    /// Whether the topic has everything that was decided from this log.
    fn is_in(&self, store: &PostgresStore, member: &Member, topics: &Topics) -> Result<bool, StartError> {
        let topic = &topics.commands;
        let failed = |error: KafkaError| unusable(topic, &error);
        let partitions = topics::partitions(member.client(), topic).map_err(failed)?;
        for (partition, decided) in store.log_ends(self.epoch)? {
            let end = if partition < partitions {
                topics::end(member.client(), topic, partition).map_err(failed)?
            } else {
                0
            };
            if decided < end {
                continue;
            }
            if committed(member, topic, partition)?.is_some() {
                let (topic, group) = (topic.clone(), topics.group.clone());
                return Err(StartError::Lost { topic, partition, end, decided, group });
            }
            return Ok(false);
        }
        Ok(self.partitions <= partitions)
    }

    /// Where the commands of an inventory are. The same for ever: not a hash that may change with a library.
    pub(super) fn partition_of(partitions: i32, name: &str) -> i32 {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let partitions = u64::try_from(partitions).expect("topics have partitions");
        i32::try_from(hash % partitions).expect("less than the number of partitions")
    }
}

/// Writes down that the topic is a log of this epoch, unless somebody else has.
fn begin(store: &PostgresStore, member: &Member, topic: &str, epoch: u32) -> Result<(), StartError> {
    let partitions = topics::partitions(member.client(), topic).map_err(|error| unusable(topic, &error))?;
    let name = format!("{DOCUMENT_PREFIX}{epoch:010}");
    let made = store.create_document(&name, format!("{partitions} {topic}").as_bytes());
    if made.map_err(|error| StoreError::Failed(error.to_string()))? && epoch > 1 {
        tracing::warn!(topic, epoch, "Kafka's commands are in another log than before");
    }
    Ok(())
}

/// How far the group has come in a partition, if the brokers know. They forget it together with a topic.
pub(super) fn committed(member: &Member, topic: &str, partition: i32) -> Result<Option<i64>, StartError> {
    let mut asked = TopicPartitionList::new();
    asked.add_partition(topic, partition);
    let found = member.committed_offsets(asked, ASKED_WITHIN).map_err(|error| unusable(topic, &error))?;
    Ok(found.elements().iter().find_map(|found| match found.offset() {
        Offset::Offset(offset) => Some(offset),
        _ => None,
    }))
}

/// The log of the largest epoch, and its topic.
fn last(store: &PostgresStore) -> Result<Option<(Log, String)>, StoreError> {
    let documents = store.documents(DOCUMENT_PREFIX)?;
    let Some((name, contents)) = documents.last() else { return Ok(None) };
    let damaged = || StoreError::Inconsistent(format!("the document {name:?} cannot be read"));
    let epoch = name.strip_prefix(DOCUMENT_PREFIX).and_then(|epoch| epoch.parse().ok());
    let text = std::str::from_utf8(contents).ok().and_then(|text| text.split_once(' '));
    let (epoch, (partitions, topic)) = epoch.zip(text).ok_or_else(damaged)?;
    let partitions = partitions.parse().ok().filter(|&partitions| partitions > 0).ok_or_else(damaged)?;
    Ok(Some((Log { epoch, partitions }, topic.to_owned())))
}

fn unusable(topic: &str, error: &KafkaError) -> StartError {
    StartError::Topic { topic: topic.to_owned(), problem: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_stays_in_its_partition() {
        let at = |name| Log::partition_of(12, name);
        assert_eq!([at(""), at("default/event:gala"), at("default/shop:bakery")], [5, 2, 7]);
    }
}
