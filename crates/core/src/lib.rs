//! The rules of Boxoffice.
//!
//! [`apply`] is the whole of it: an inventory, the time and a command go in; an outcome and the changes come out.
//! It does no I/O, reads no clock, rolls no dice and cannot fail. A refusal is an outcome; a broken invariant panics.
//!
//! The shape of every command is the same: decide on what is there (`commands/`, one file each, a ladder of checks),
//! then apply the changes that follow ([`inventory::Inventory`], the only place that mutates). The journal keeps the
//! changes, so replaying it takes the same path and ends in the same state.

mod apply;
pub mod booking;
mod bookings;
pub mod change;
pub mod characters;
pub mod codec;
pub mod command;
pub mod commands;
pub mod customers;
mod deadlines;
pub mod event;
pub mod event_info;
pub mod ids;
pub mod index;
pub mod inventory;
pub mod limits;
pub mod map;
pub mod memory;
pub mod money;
pub mod outcome;
pub mod pieces;
pub mod pool;
pub(crate) mod redemption;
pub mod refusal;
pub mod rules;
pub mod schedule;
pub mod seats;
pub mod shop;
mod snapshot;
#[cfg(test)]
mod testing;
pub mod time;

pub use apply::{apply, refuse};
