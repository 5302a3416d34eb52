//! Real servers for tests and comparisons: found, started, and ended with whoever started them. Development only.

mod balancer;
mod cluster;
mod error;
mod fake_redis;
mod kafka;
mod postgres;
mod process;
mod proxy;
mod redis;

pub use balancer::Balancer;
pub use cluster::{Cluster, create};
pub use error::Error;
pub use fake_redis::FakeRedis;
pub use kafka::Kafka;
pub use postgres::{Postgres, create_database};
pub use process::{Server, directory, find};
pub use proxy::Proxy;
pub use redis::Redis;
