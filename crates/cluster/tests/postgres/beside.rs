//! Nodes with Redis beside their database.

use std::sync::Arc;

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_cluster::redis::{Beside, Instances, Mirrored, RedlockTurns, check};
use boxoffice_engine::store::Store;
use boxoffice_engine::{Clock, Engine, Settings};
use boxoffice_services::Redis;
use redis::{Cmd, FromRedisValue};

use crate::database::Database;

pub(crate) fn redis_server() -> Redis {
    Redis::start(&[]).unwrap_or_else(|error| panic!("{error}"))
}

/// The instances of these URLs, each time with connections of its own.
pub(crate) fn instances(urls: &str) -> Instances {
    Instances::parse(urls).unwrap()
}

/// An engine and what runs beside it.
pub(crate) struct Node {
    pub(crate) engine: Engine,
    pub(crate) store: Arc<PostgresStore>,
    pub(crate) beside: Beside,
}

impl Node {
    pub(crate) fn start(database: &Database, urls: &str, clock: &Clock) -> Node {
        let turns = instances(urls);
        let store = PostgresStore::migrate(&database.url()).unwrap().0;
        let locks = RedlockTurns::settings();
        let store = Arc::new(store.with_turns(|own| Box::new(RedlockTurns::new(&turns, locks, own))));
        let settings = Settings { shards: 2, ..Settings::default() };
        let engine = Engine::start(Arc::clone(&store) as _, clock.clone(), &settings).unwrap();
        let beside = Beside::start(&instances(urls), &engine, Arc::clone(&store) as _);
        Node { engine, store, beside }
    }

    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store) as _
    }

    pub(crate) async fn stop(self) {
        let Node { engine, beside, .. } = self;
        tokio::task::spawn_blocking(move || engine.close()).await.unwrap().unwrap();
        beside.finish().await;
    }
}

/// Waits until the whole mirror shows the truth; the first difference if it does not in time.
pub(crate) async fn await_mirror(urls: &str, store: &Arc<dyn Store>) -> Result<Mirrored, String> {
    let instances = instances(urls);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    loop {
        match check(instances.first(), store, |_, _| {}).await {
            Ok(mirrored) => return Ok(mirrored),
            Err(error) if std::time::Instant::now() > deadline => return Err(error.to_string()),
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
        }
    }
}

/// What a server answers to one command, on a connection of its own.
pub(crate) async fn ask<T: FromRedisValue>(redis: &Redis, words: &[&str]) -> T {
    ask_at(&redis.url(), words).await
}

/// The same of any server.
pub(crate) async fn ask_at<T: FromRedisValue>(url: &str, words: &[&str]) -> T {
    let client = redis::Client::open(url).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let mut command = Cmd::new();
    for word in words {
        command.arg(word);
    }
    command.query_async(&mut connection).await.unwrap()
}
