//! Two nodes as a server runs them, with threads of their own: on PostgreSQL with three Redis servers beside it, and with
//! their commands through Kafka.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_cluster::kafka::{Kafka, Settings};
use boxoffice_core::command::Command;
use boxoffice_core::outcome::Applied;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::store::Store;
use boxoffice_engine::{Clock, SubmitError};
use boxoffice_services::Redis;
use tokio::runtime::Runtime;

use crate::beside::{Node, ask, await_mirror, redis_server};
use crate::creation::START;
use crate::database::Database;
use crate::nodes::{NAME, answers_alike, empty, turn};

/// A command that was sent to Kafka waits for its owner, who may have changed; after this time it has been forgotten.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// The servers that nodes share, one pair after the other.
pub(crate) struct House {
    database: Database,
    redis: [Redis; 3],
    broker: Option<boxoffice_services::Kafka>,
    runtime: Runtime,
}

/// The nodes of one scenario.
pub(crate) struct Running<'a> {
    house: &'a House,
    clock: Clock,
    nodes: Vec<Node>,
    kafka: Vec<Kafka>,
    sent: usize,
    /// One of them does not know what became of a command.
    pub(crate) is_unknown: bool,
}

impl House {
    pub(crate) fn with_redis() -> House {
        House {
            database: Database::start(),
            redis: [redis_server(), redis_server(), redis_server()],
            broker: None,
            runtime: Runtime::new().expect("a runtime"),
        }
    }

    pub(crate) fn with_kafka() -> House {
        let broker = boxoffice_services::Kafka::start().unwrap_or_else(|error| panic!("{error}"));
        House { broker: Some(broker), ..House::with_redis() }
    }

    fn urls(&self) -> String {
        self.redis.iter().map(Redis::url).collect::<Vec<_>>().join(",")
    }

    /// On a database, and a mirror, that are emptied for them; with topics that nobody had before them.
    pub(crate) fn nodes(&self, scenario: usize) -> Running<'_> {
        let _in_runtime = self.runtime.enter();
        // Makes the tables, the first time.
        drop(self.database.store());
        empty(&self.database);
        for redis in &self.redis {
            self.runtime.block_on(ask::<()>(redis, &["FLUSHALL"]));
        }
        let clock = Clock::manual(START);
        let nodes: Vec<Node> = (0..2).map(|_| Node::start(&self.database, &self.urls(), &clock)).collect();
        let kafka = self.broker.iter().flat_map(|broker| {
            let settings = Settings {
                brokers: broker.brokers(),
                prefix: format!("model-{scenario}"),
                options: Vec::new(),
            };
            nodes.iter().map(move |node| {
                Kafka::start(&settings, &node.engine, &node.store).unwrap_or_else(|error| panic!("{error}"))
            })
        });
        let kafka = kafka.collect();
        Running { house: self, clock, nodes, kafka, sent: 0, is_unknown: false }
    }
}

impl Running<'_> {
    /// Has one of them answer, and compares.
    pub(crate) fn answer(
        &mut self,
        now: Timestamp,
        command: &Command,
        expected: &Applied,
    ) -> Result<(), String> {
        self.clock.set(now);
        self.sent += 1;
        let engine = &self.nodes[turn(self.sent)].engine;
        let answer = self.house.runtime.block_on(async {
            // As a route does: what the other node created is found at once, and only what is there goes through Kafka.
            let once = async || match engine.find(NAME).await? {
                Some(inventory) => engine.submit(inventory, command.clone()).await,
                None => engine.submit_to(NAME, command.clone()).await,
            };
            let answer = async {
                loop {
                    match once().await {
                        // A busy machine may keep the database from answering for seconds. Nothing was taken then.
                        Err(SubmitError::Unavailable { .. }) => tokio::time::sleep(ASKED_AGAIN_AFTER).await,
                        answered => break answered,
                    }
                }
            };
            let answer = tokio::time::timeout(ANSWERED_WITHIN, answer).await;
            answer.map_err(|_| "a node does not answer".to_owned())
        })?;
        self.is_unknown = answer == Err(SubmitError::OutcomeUnknown);
        answers_alike(&answer.map_err(|error| error.to_string())?, expected)
    }

    /// Waits until the mirror shows what the database has.
    pub(crate) fn check_mirror(&self) -> Result<(), String> {
        let (urls, store) = (self.house.urls(), self.nodes[0].store());
        self.house.runtime.block_on(await_mirror(&urls, &store)).map(drop)
    }

    /// Ends the nodes. Returns the store as they left it.
    pub(crate) fn end(self) -> Arc<dyn Store> {
        let Running { house, nodes, kafka, .. } = self;
        house.runtime.block_on(async {
            tokio::task::spawn_blocking(move || drop(kafka)).await.expect("it does not panic");
            for node in nodes {
                node.stop().await;
            }
        });
        house.database.shared_store()
    }
}
