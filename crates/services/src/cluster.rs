//! A whole cluster on this machine: PostgreSQL, three Redis, Kafka, three nodes and a balancer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::balancer::Balancer;
use crate::error::{Error, Result};
use crate::process::{Server, directory};
use crate::{Kafka, Postgres, Redis};

const NODES: usize = 3;
const DATABASE: &str = "boxoffice";
/// How long nodes may take until they own their partitions and answer 2xx.
const PATIENCE: Duration = Duration::from_secs(120);
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// A running cluster. Dropping it ends all its processes, the nodes first, and removes their directories.
#[derive(Debug)]
pub struct Cluster {
    balancer: Balancer,
    nodes: Vec<Node>,
    kafka: Kafka,
    redis: Vec<Redis>,
    postgres: Postgres,
    _logs: tempfile::TempDir,
}

#[derive(Debug)]
struct Node {
    address: SocketAddr,
    /// Dropping it stops the node.
    _server: Server,
}

impl Cluster {
    /// Starts everything on free ports; `program` is the server's binary.
    pub fn start(program: &Path) -> Result<Cluster> {
        let logs = directory()?;
        let postgres = Postgres::start(&[])?;
        postgres.create_database(DATABASE)?;
        let redis = (0..3).map(|_| Redis::start(&[])).collect::<Result<Vec<_>>>()?;
        let kafka = Kafka::start()?;
        let redis_urls: Vec<String> = redis.iter().map(Redis::url).collect();
        let nodes = (1..=NODES).map(|number| {
            let mut command = Command::new(program);
            // What the caller's tests are told is not meant for the nodes.
            let inherited = std::env::vars_os().map(|(name, _)| name);
            for name in inherited.filter(|name| name.to_string_lossy().starts_with("BOXOFFICE_")) {
                command.env_remove(name);
            }
            command.args(["serve", "--listen", "127.0.0.1:0", "--database-url", &postgres.url(DATABASE)]);
            command.args(["--redis-urls", &redis_urls.join(","), "--kafka-brokers", &kafka.brokers()]);
            Node::start(&mut command, &logs.path().join(format!("node-{number}.log")))
        });
        let nodes = nodes.collect::<Result<Vec<_>>>()?;
        let balancer = Balancer::start(nodes.iter().map(|node| node.address).collect())?;
        Ok(Cluster { balancer, nodes, kafka, redis, postgres, _logs: logs })
    }

    /// Where each node listens.
    pub fn nodes(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(|node| node.address).collect()
    }

    /// Where the balancer listens.
    pub fn balancer(&self) -> SocketAddr {
        self.balancer.address()
    }

    /// The services beside the nodes: what each is, and its address.
    pub fn services(&self) -> Vec<(&'static str, String)> {
        let redis: Vec<String> = self.redis.iter().map(Redis::url).collect();
        vec![
            ("PostgreSQL", self.postgres.url(DATABASE)),
            ("Redis", redis.join(",")),
            ("Kafka", self.kafka.brokers()),
        ]
    }
}

impl Node {
    fn start(command: &mut Command, log: &Path) -> Result<Node> {
        let mut server = Server::start(command, Signal::TERM, log.to_path_buf())?;
        let mut address = None;
        server.wait_until_ready(|| {
            // It prints the port that it was given.
            let said = std::fs::read_to_string(log).unwrap_or_default();
            let url = said.split("http://").nth(1).and_then(|rest| rest.split_whitespace().next());
            address = url.and_then(|url| url.trim_end_matches('/').parse::<SocketAddr>().ok());
            Ok(address.is_some())
        })?;
        let address =
            address.ok_or_else(|| Error::Wrong("a node does not say where it listens".to_owned()))?;
        Ok(Node { address, _server: server })
    }
}

/// Posts JSON under an idempotency key until it is created, and returns the response's body.
pub fn create(address: SocketAddr, path: &str, key: &str, body: &str) -> Result<String> {
    let start = Instant::now();
    loop {
        let response = post(address, path, key, body).map_err(Error::io(format!("POST {path}")))?;
        let (head, answer) = response.split_once("\r\n\r\n").unwrap_or((response.as_str(), ""));
        if head.starts_with("HTTP/1.1 201") {
            return Ok(answer.to_owned());
        }
        // Until the nodes own their partitions, they answer 503 and ask for a retry.
        if !head.starts_with("HTTP/1.1 503") || start.elapsed() > PATIENCE {
            return Err(Error::Wrong(format!("POST {path} at {address} was answered with {response}")));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn post(address: SocketAddr, path: &str, key: &str, body: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nidempotency-key: {key}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}
