//! The HTTP contract, through the real binary: one folder or file for each group of routes.

mod attempts;
mod batch;
mod bookings;
mod callers;
mod client;
mod common;
mod crash;
mod customers;
mod documented;
mod erasure;
mod errors;
mod events;
mod express;
mod framing;
mod health;
mod idempotency;
mod invisible;
mod kept_connections;
mod pages;
mod proxies;
mod roles;
mod schedules;
mod server;
mod shops;
mod venue;
