//! One Redis: a server, what Sentinel says is the server, or a cluster.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use redis::aio::{ConnectionLike, MultiplexedConnection, PubSub};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::sentinel::SentinelClient;
use redis::{AsyncConnectionConfig, Client, Cmd, RedisError, RedisResult, Value};
use tokio::sync::Mutex;
use tokio::time::{MissedTickBehavior, timeout};

/// Whether each Redis answered when it was last asked, at least once a second: 0 or 1.
pub const AVAILABLE: &str = "boxoffice_redis_available";

/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(2);
/// How long a server may take to answer: the whole of an event with a million seats is one command.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// How often a server is pinged.
const PING_EVERY: Duration = Duration::from_secs(1);
/// How long a server may take to answer a ping: longer than a script that writes a large inventory keeps it busy.
const PONG_MAX: Duration = Duration::from_secs(5);

/// One Redis.
pub struct Instance {
    kind: Kind,
    /// While there is one.
    line: Mutex<Option<Line>>,
}

pub(super) enum Kind {
    Server(Box<Client>),
    Sentinel(Box<Mutex<SentinelClient>>),
    Cluster {
        client: Box<ClusterClient>,
        /// Any of its servers hears what is published on another.
        seeds: Vec<Client>,
    },
}

/// A connection that many share, and what is at its other end.
#[derive(Clone)]
struct Line {
    connection: Connection,
    has_json: bool,
}

#[derive(Clone)]
enum Connection {
    Server(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// Without the URL: its password is nobody's business.
impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Instance({})", self.place())
    }
}

impl Instance {
    pub(super) fn new(kind: Kind) -> Instance {
        Instance { kind, line: Mutex::new(None) }
    }

    /// Where it is, for people.
    pub fn place(&self) -> String {
        let address = |client: &Client| client.get_connection_info().addr().to_string();
        match &self.kind {
            Kind::Server(client) => address(client),
            Kind::Sentinel(_) => "the service of Sentinel".to_owned(),
            Kind::Cluster { seeds, .. } => {
                format!("the cluster of {}", seeds.first().map(address).unwrap_or_default())
            }
        }
    }

    /// Whether keys that are used together must say so in their names.
    pub(super) fn is_cluster(&self) -> bool {
        match &self.kind {
            Kind::Cluster { .. } => true,
            Kind::Server(_) | Kind::Sentinel(_) => false,
        }
    }

    /// Whether the server has JSON commands: Kvrocks, Redis 8, Redis with RedisJSON. Known for each connection.
    pub(super) async fn has_json(&self) -> RedisResult<bool> {
        Ok(timeout(ANSWER_MAX, self.line()).await.unwrap_or_else(|_| Err(silent()))?.has_json)
    }

    /// Sends commands together and waits for their answers. A server does them in this order; a cluster in any.
    pub(super) async fn run(&self, commands: Vec<Cmd>) -> RedisResult<Vec<Value>> {
        self.run_within(ANSWER_MAX, commands).await
    }

    /// As [`Instance::run`], with a timeout of the caller's. No commands need no server, and say nothing about it.
    pub(super) async fn run_within(&self, patience: Duration, commands: Vec<Cmd>) -> RedisResult<Vec<Value>> {
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let run = async {
            match run_on(self.line().await?.connection, &commands).await {
                // The server was started again since it was last asked: once more, on a connection of today. Whatever is sent
                // from here may arrive twice.
                Err(error) if error.is_connection_dropped() => {
                    *self.line.lock().await = None;
                    run_on(self.line().await?.connection, &commands).await
                }
                answered => answered,
            }
        };
        let answered = timeout(patience, run).await.unwrap_or_else(|_| Err(silent()));
        let available = if answered.is_ok() { 1.0 } else { 0.0 };
        metrics::gauge!(AVAILABLE, "redis" => self.place()).set(available);
        if answered.is_err() {
            // It may be in the middle of anything.
            *self.line.lock().await = None;
        }
        answered
    }

    /// Pings the server once a second until it is dropped, so that [`AVAILABLE`] is right while nothing else is sent.
    pub(super) async fn ping(self: Arc<Instance>) {
        let mut every = tokio::time::interval(PING_EVERY);
        every.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            every.tick().await;
            if let Err(error) = self.run_within(PONG_MAX, vec![redis::cmd("PING")]).await {
                tracing::debug!(%error, place = self.place(), "ping failed");
            }
        }
    }

    /// A connection of its own that hears what is published.
    pub(super) async fn listen(&self) -> RedisResult<PubSub> {
        let connect = async {
            match &self.kind {
                Kind::Server(client) => client.get_async_pubsub().await,
                Kind::Sentinel(client) => {
                    client.lock().await.async_get_client().await?.get_async_pubsub().await
                }
                Kind::Cluster { seeds, .. } => {
                    let mut last = silent();
                    for seed in seeds {
                        match seed.get_async_pubsub().await {
                            Ok(heard) => return Ok(heard),
                            Err(error) => last = error,
                        }
                    }
                    Err(last)
                }
            }
        };
        timeout(CONNECT_MAX, connect).await.unwrap_or_else(|_| Err(silent()))
    }

    async fn line(&self) -> RedisResult<Line> {
        let mut slot = self.line.lock().await;
        if let Some(line) = &*slot {
            return Ok(line.clone());
        }
        let connect = async {
            let connection = self.connect().await?;
            let has_json = finds_json(&connection).await?;
            Ok(Line { connection, has_json })
        };
        let line = timeout(CONNECT_MAX, connect).await.unwrap_or_else(|_| Err(silent()))?;
        *slot = Some(line.clone());
        Ok(line)
    }

    async fn connect(&self) -> RedisResult<Connection> {
        // Limits are set here, where it is known what is waited for.
        let patient = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
        match &self.kind {
            Kind::Server(client) => {
                Ok(Connection::Server(client.get_multiplexed_async_connection_with_config(&patient).await?))
            }
            Kind::Sentinel(client) => {
                let mut client = client.lock().await;
                Ok(Connection::Server(client.get_async_connection_with_config(&patient).await?))
            }
            Kind::Cluster { client, .. } => Ok(Connection::Cluster(client.get_async_connection().await?)),
        }
    }
}

/// Asks for a document that is not there: unlike `COMMAND INFO`, every server answers this as it answers any other command.
async fn finds_json(connection: &Connection) -> RedisResult<bool> {
    let mut get = redis::cmd("JSON.GET");
    get.arg("boxoffice:no-document");
    match run_on(connection.clone(), &[get]).await {
        // A cluster may hand on an error as a value.
        Ok(answers) => Ok(matches!(answers.as_slice(), [Value::Nil])),
        // The command is unknown, or this user may not use it.
        Err(error) if error.code().is_some() => Ok(false),
        Err(error) => Err(error),
    }
}

async fn run_on(connection: Connection, commands: &[Cmd]) -> RedisResult<Vec<Value>> {
    match connection {
        Connection::Server(mut connection) => {
            let mut together = redis::pipe();
            for command in commands {
                together.add_command(command.clone());
            }
            together.query_async(&mut connection).await
        }
        Connection::Cluster(connection) => {
            let one = |command| {
                let mut connection = connection.clone();
                async move { connection.req_packed_command(command).await }
            };
            try_join_all(commands.iter().map(one)).await
        }
    }
}

fn silent() -> RedisError {
    RedisError::from(std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time"))
}

#[cfg(test)]
mod tests {
    use crate::redis::Instances;

    #[tokio::test]
    async fn no_commands_succeed_without_a_server() {
        let instances = Instances::parse("redis://127.0.0.1:1").unwrap();
        assert!(instances.first().run(Vec::new()).await.unwrap().is_empty());
        instances.first().run(vec![redis::cmd("PING")]).await.unwrap_err();
    }
}
