//! Several servers on one database sell one hall, while one thing after another fails. Each scene ends with the same audit.
//!
//! `BOXOFFICE_CLUSTER_BOOKINGS` says how many bookings each scene tries; without it they are 20,000.
#![expect(clippy::print_stdout, reason = "figures for whoever looks closer")]

mod client;
mod kafka;
mod nodes;
mod questions;
mod redis;
mod sale;
mod scenes;
