//! Nodes on one database whose commands go through one broker.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use boxoffice_cluster::kafka::{Kafka, Settings};
use boxoffice_core::seats::Counts;
use boxoffice_engine::verify::verify;
use boxoffice_engine::{Engine, InventoryNumber};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use crate::database::Database;
use crate::nodes::totals;
use crate::scene::{HALL, eventually};
use crate::tables::assert_tables_agree;

const ASKED_WITHIN: Duration = Duration::from_secs(10);

/// The broker that tests share which run at the same time; ended with the last of them.
static BROKER: Mutex<Weak<boxoffice_services::Kafka>> = Mutex::new(Weak::new());

/// A database, a broker, and topics of their own.
pub(super) struct House {
    pub(super) database: Database,
    pub(super) brokers: String,
    pub(super) prefix: String,
    _broker: Option<Arc<boxoffice_services::Kafka>>,
}

/// A node whose commands go through Kafka.
pub(super) struct KafkaNode {
    pub(super) engine: Engine,
    pub(super) kafka: Kafka,
}

impl House {
    pub(super) fn open(prefix: &str) -> House {
        let broker = {
            let mut shared = BROKER.lock().unwrap();
            shared.upgrade().unwrap_or_else(|| {
                let broker = boxoffice_services::Kafka::start().unwrap_or_else(|error| panic!("{error}"));
                let broker = Arc::new(broker);
                *shared = Arc::downgrade(&broker);
                broker
            })
        };
        let brokers = broker.brokers();
        House { database: Database::start(), brokers, prefix: prefix.to_owned(), _broker: Some(broker) }
    }

    /// With a broker of the test's own.
    pub(super) fn at(prefix: &str, brokers: String) -> House {
        House { database: Database::start(), brokers, prefix: prefix.to_owned(), _broker: None }
    }

    /// A node that shares the partitions with the others.
    pub(super) fn node(&self) -> KafkaNode {
        self.node_in("deciders")
    }

    /// A node that shares the partitions with those of its group only: whoever is alone in one owns everything, and is given every
    /// command from the first one on.
    pub(super) fn node_in(&self, group: &str) -> KafkaNode {
        let store = self.database.store();
        let engine = crate::scene::node(Arc::clone(&store) as _);
        let group = ("group.id".to_owned(), format!("{}.{group}", self.prefix));
        let settings =
            Settings { brokers: self.brokers.clone(), prefix: self.prefix.clone(), options: vec![group] };
        let kafka = Kafka::start(&settings, &engine, &store).unwrap_or_else(|error| panic!("{error}"));
        KafkaNode { engine, kafka }
    }

    pub(super) fn topic(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix)
    }

    /// A connection of the test's own.
    pub(super) fn config(&self, group: &str) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.brokers).set("group.id", group);
        config
    }

    /// How many messages a topic has and had.
    pub(super) fn messages(&self, topic: &str) -> i64 {
        (0..12).map(|partition| self.messages_in(topic, partition)).sum()
    }

    pub(super) fn messages_in(&self, topic: &str, partition: i32) -> i64 {
        let reader: BaseConsumer = self.config("test").create().unwrap();
        reader.fetch_watermarks(&self.topic(topic), partition, ASKED_WITHIN).unwrap().1
    }

    /// Where the next owner of a partition begins.
    pub(super) fn next_of(&self, group: &str, partition: i32) -> i64 {
        let reader: BaseConsumer = self.config(&self.topic(group)).create().unwrap();
        let mut partitions = TopicPartitionList::new();
        partitions.add_partition(&self.topic("commands"), partition);
        let committed = reader.committed_offsets(partitions, ASKED_WITHIN).unwrap();
        match committed.elements()[0].offset() {
            Offset::Offset(next) => next,
            // Nothing was noted: at the beginning.
            _ => 0,
        }
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.config("test").create().unwrap()
    }

    pub(super) async fn delete_commands(&self) {
        let deleted = self.admin().delete_topics(&[&self.topic("commands")], &AdminOptions::new()).await;
        deleted.unwrap()[0].as_ref().unwrap();
    }

    /// Deletes the topic of the commands and makes it anew at once.
    pub(super) async fn make_commands_anew(&self) {
        self.delete_commands().await;
        let commands = self.topic("commands");
        let new = NewTopic::new(&commands, 12, TopicReplication::Fixed(1));
        eventually("the topic is there again", || async {
            let made = self.admin().create_topics([&new], &AdminOptions::new()).await;
            made.unwrap()[0].is_ok()
        })
        .await;
    }

    /// Waits until a group has been through all commands.
    pub(super) async fn caught_up(&self, group: &str) {
        let reader: BaseConsumer = self.config(&self.topic(group)).create().unwrap();
        let commands = self.topic("commands");
        eventually("all commands were delivered", || async {
            let mut partitions = TopicPartitionList::new();
            partitions.add_partition_range(&commands, 0, 11);
            let committed = reader.committed_offsets(partitions, ASKED_WITHIN).unwrap();
            committed.elements().iter().all(|partition| {
                let (_, end) =
                    reader.fetch_watermarks(&commands, partition.partition(), ASKED_WITHIN).unwrap();
                end == 0 || partition.offset() == Offset::Offset(end)
            })
        })
        .await;
    }

    /// Head of the hall: whatever changes it changes this.
    pub(super) fn head(&self) -> Vec<String> {
        self.database.rows("SELECT sequence, encode(head, 'hex'), held, sold FROM inventory")
    }

    /// Everything agrees with everything, when no node writes.
    pub(super) fn audit(&self) {
        let store = self.database.store();
        assert_tables_agree(&self.database, &*store);
        verify(&*store, |_, _| {}).unwrap();
    }
}

impl KafkaNode {
    /// Knows the hall.
    pub(super) async fn knows(&self, hall: InventoryNumber) {
        eventually("the hall is known", || async { self.engine.number(HALL) == Some(hall) }).await;
    }

    pub(super) async fn shows(&self, hall: InventoryNumber, expected: Counts) {
        eventually("every node shows the same", || async { totals(&self.engine, hall).await == expected })
            .await;
    }

    /// Leaves the others in an orderly way.
    pub(super) async fn leave(self) {
        let KafkaNode { engine, kafka } = self;
        let close = move || {
            drop(kafka);
            engine.close()
        };
        tokio::task::spawn_blocking(close).await.unwrap().unwrap();
    }
}
