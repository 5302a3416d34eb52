//! Several servers on one database sell one hall, while one thing after another fails. Each scene ends with the same audit.
//!
//! `BOXOFFICE_CLUSTER_BOOKINGS` says how many bookings each scene tries; without it the plain one tries 20,000 and the others
//! a tenth of that and more.
#![expect(clippy::print_stdout, reason = "figures for whoever looks closer")]

mod client;
mod kafka;
mod nodes;
mod redis;
mod sale;
mod scenes;
