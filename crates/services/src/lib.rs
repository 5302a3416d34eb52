//! Real servers for tests and comparisons: found, started, and ended with whoever started them. Development only.

mod error;
mod postgres;
mod process;
mod proxy;
mod redis;

pub use error::Error;
pub use postgres::Postgres;
pub use process::{Server, directory, find};
pub use proxy::Proxy;
pub use redis::Redis;
