//! Order and routing for a cluster: commands go through one topic, and the owner of a partition decides what is in it.
//!
//! | file | what it is |
//! |---|---|
//! | `topics.rs` | which topics there are, and how they come to be |
//! | `log.rs` | which log the commands are in: a topic that was made anew is another one |
//! | `message.rs` | the bytes of commands and replies |
//! | `router.rs` | from an engine to the log, and back to whoever waits |
//! | `owner.rs` | from the log to the engine of the partition's owner; replies, dead letters |
//! | `replies.rs` | what other owners reply to this node |
//! | `async_bookings.rs` | bookings that were decided after their caller got 202 |
//! | `broker.rs` | connections, and whether anybody answers |
//! | `measure.rs` | what is counted |
//!
//! Kafka gives order and says who decides; it keeps no promise. What was decided, and up to which position of the log, is
//! one transaction of the store. So a command that comes twice, an owner that was put in another's place in the middle of a
//! batch, and one that does not know yet that it was, change nothing.

mod async_bookings;
mod broker;
mod log;
pub mod measure;
mod message;
mod owner;
mod replies;
mod router;
mod topics;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use boxoffice_engine::Engine;
use boxoffice_engine::store::StoreError;
use parking_lot::Mutex;
use rdkafka::error::KafkaError;
use rdkafka::producer::Producer;
use tokio::sync::mpsc;

use crate::postgres::PostgresStore;
use broker::Brokers;
use log::Log;
use owner::Owner;
use replies::Replies;
use router::{KafkaRouter, Node, Waiting};
use topics::Topics;

pub use async_bookings::{AsyncBooking, AsyncOutcome};
pub use router::Changes;

/// How long what was sent may take to arrive when the node stops.
const FLUSH_MAX: Duration = Duration::from_secs(5);

/// Where Kafka is, and how its topics are called.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Addresses of some of the brokers, with commas between.
    pub brokers: String,
    /// What the names of all topics and of the group begin with.
    pub prefix: String,
    /// Settings of librdkafka for all connections, beyond those that are made here.
    pub options: Vec<(String, String)>,
}

/// Why Kafka cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It does not answer, or refuses.
    #[error("Kafka at {brokers} cannot be used: {problem}")]
    Kafka {
        /// Who was asked.
        brokers: String,
        /// What was said.
        problem: String,
    },
    /// A topic cannot be made.
    #[error("the topic {topic} cannot be made: {problem}")]
    Topic {
        /// Which one.
        topic: String,
        /// What the broker said.
        problem: String,
    },
    /// The commands' topic lost what was decided.
    #[error(
        "partition {partition} of {topic} ends at offset {end}, and offset {decided} was decided: it has lost commands. If the topic was made anew, delete the offsets of the group {group}"
    )]
    Lost {
        /// The topic.
        topic: String,
        /// Its partition.
        partition: i32,
        /// Where it ends.
        end: i64,
        /// Where it must reach to.
        decided: i64,
        /// The group that has committed offsets of the partition.
        group: String,
    },
    /// The store that says which log it is.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The machine gives no thread.
    #[error("no thread: {0}")]
    Thread(#[from] std::io::Error),
}

fn unusable(settings: &Settings, error: KafkaError) -> StartError {
    let problem = match error {
        // Not its value, nor what is said of it: it may be a password.
        KafkaError::ClientConfig(_, _, name, _) => {
            format!("the option {name} does not exist, or cannot have this value")
        }
        error => error.to_string(),
    };
    StartError::Kafka { brokers: settings.brokers.clone(), problem }
}

/// A node's part in the cluster: it sends its commands, decides those of the partitions it owns, and hears the replies.
pub struct Kafka {
    router: Arc<KafkaRouter>,
    stopping: Arc<AtomicBool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Until it is taken.
    async_bookings: Mutex<Option<mpsc::Receiver<AsyncBooking>>>,
}

impl Kafka {
    /// Makes what topics are missing, joins the others, and from now on routes the engine's commands. Blocks until Kafka has
    /// answered.
    pub fn start(
        settings: &Settings,
        engine: &Engine,
        store: &Arc<PostgresStore>,
    ) -> Result<Kafka, StartError> {
        let brokers = Brokers::new(settings);
        let unusable = |error| unusable(settings, error);
        let producer = brokers.producer().map_err(unusable)?;
        let topics = Topics::of(&settings.prefix);
        topics.make(&brokers, &producer)?;
        let member = brokers.group(&topics).map_err(unusable)?;
        let log = Log::find(store, &member, &topics)?;
        let reply_partitions = topics::partitions(producer.client(), &topics.replies).map_err(unusable)?;
        let node = Node::new(reply_partitions);
        let waiting = Arc::new(Waiting::default());
        let replies =
            Replies::begin(&brokers, &producer, &topics.replies, node, &waiting).map_err(unusable)?;
        let router =
            Arc::new(KafkaRouter::new(producer, brokers.health(), topics.clone(), node, log, waiting));
        let (decided, async_bookings) = async_bookings::queue();
        let owner = Owner::new(member, Arc::clone(&router), engine.clone(), Arc::clone(store), log, decided);
        let stopping = Arc::new(AtomicBool::new(false));
        let async_bookings = Mutex::new(Some(async_bookings));
        let kafka = Kafka { router, stopping, threads: Mutex::default(), async_bookings };
        kafka.spawn("kafka-replies", |stopping| replies.run(stopping))?;
        kafka.spawn("kafka-owner", |stopping| owner.run(stopping))?;
        let router: Arc<KafkaRouter> = Arc::clone(&kafka.router);
        engine.route(router);
        Ok(kafka)
    }

    /// The way out for changes.
    pub fn changes(&self) -> Changes {
        self.router.changes()
    }

    /// The outcomes of bookings that this node decides after their callers got 202, until it stops; `None` the second time.
    pub fn async_bookings(&self) -> Option<mpsc::Receiver<AsyncBooking>> {
        self.async_bookings.lock().take()
    }

    /// Leaves the others, who take over its partitions, and sends what is still to be sent. What waits for a reply is told that
    /// the outcome is unknown. Blocks.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        for thread in std::mem::take(&mut *self.threads.lock()) {
            if thread.join().is_err() {
                tracing::error!("a thread of Kafka's has panicked");
            }
        }
        if let Err(error) = self.router.producer.flush(FLUSH_MAX) {
            tracing::warn!(%error, "not all that was to be sent to Kafka was taken");
        }
    }

    fn spawn(&self, name: &str, run: impl FnOnce(&AtomicBool) + Send + 'static) -> std::io::Result<()> {
        let stopping = Arc::clone(&self.stopping);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || run(&stopping))?;
        self.threads.lock().push(thread);
        Ok(())
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_option_was_set_to_is_not_told() {
        for name in ["sasl.pasword", "security.protocol"] {
            let options = vec![(name.to_owned(), "hunter2".to_owned())];
            let settings = Settings { brokers: "127.0.0.1:1".to_owned(), prefix: "test".to_owned(), options };
            let Err(error) = Brokers::new(&settings).producer() else { panic!("{name} is taken") };
            let told = unusable(&settings, error);
            assert!(told.to_string().contains(name), "{told}");
            assert!(!format!("{told} {told:?}").contains("hunter2"), "{told:?}");
        }
    }
}
