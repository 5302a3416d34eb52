//! The designs, each in a file with what it guarantees and where it fails.

pub(crate) mod boxoffice;
pub(crate) mod on_postgres;
pub(crate) mod redis_lua;
pub(crate) mod redis_script;
pub(crate) mod redlock;
pub(crate) mod slot_row;

/// What every booking is for: the price of a seat.
const PRICE: u32 = 3_000;
