//! Real servers for tests and comparisons: found, started, and ended with whoever started them. Development only.

mod error;
mod postgres;
mod process;

pub use error::Error;
pub use postgres::{Postgres, create_database};
pub use process::{Server, directory, find};
