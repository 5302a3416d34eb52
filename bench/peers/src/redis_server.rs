//! A Redis of our own.

use std::process::Command;

use boxoffice_services::{Server, directory, find};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client};
use rustix::process::Signal;

use crate::error::Result;

/// When what was written is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// Once a second, after the answer.
    EverySecond,
    /// Before the answer: one sync for all that came together.
    Always,
    /// Never: for locks, which end by themselves.
    Never,
}

/// A running, empty server.
#[derive(Debug)]
pub(crate) struct Redis {
    pub(crate) server: Server,
    directory: tempfile::TempDir,
}

/// Says what is missing before anything is measured.
pub(crate) fn check_installed() -> Result<()> {
    find("redis-server", "redis-server")?;
    Ok(())
}

impl Redis {
    pub(crate) async fn start(durability: Durability) -> Result<Redis> {
        let program = find("redis-server", "redis-server")?;
        let directory = directory()?;
        let mut command = Command::new(program);
        // No port: a socket in the file system is faster. No dumps, and no rewriting of the log while it is measured.
        command.args([
            "--port",
            "0",
            "--save",
            "",
            "--auto-aof-rewrite-percentage",
            "0",
            "--loglevel",
            "warning",
        ]);
        command.arg("--dir").arg(directory.path()).arg("--unixsocket").arg(directory.path().join("socket"));
        match durability {
            Durability::EverySecond => command.args(["--appendonly", "yes", "--appendfsync", "everysec"]),
            Durability::Always => command.args(["--appendonly", "yes", "--appendfsync", "always"]),
            Durability::Never => command.args(["--appendonly", "no"]),
        };
        let server = Server::start(&mut command, Signal::KILL, directory.path().join("redis.log"))?;
        let mut redis = Redis { server, directory };
        let client = redis.client()?;
        redis.server.ready(async |_| connect(&client).await.map(drop)).await?;
        Ok(redis)
    }

    fn client(&self) -> Result<Client> {
        Ok(Client::open(format!("redis+unix://{}", self.directory.path().join("socket").display()))?)
    }

    /// A connection that many can share: what they ask goes out together and is answered in order.
    pub(crate) async fn connect(&self) -> Result<MultiplexedConnection> {
        Ok(connect(&self.client()?).await?)
    }
}

/// Without the driver's limits of half a second: who waits, waits.
async fn connect(client: &Client) -> redis::RedisResult<MultiplexedConnection> {
    let patient = AsyncConnectionConfig::new().set_connection_timeout(None).set_response_timeout(None);
    client.get_multiplexed_async_connection_with_config(&patient).await
}
