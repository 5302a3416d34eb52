//! Commands that pass through a log which all processes share: sent there instead of being decided here, and taken from
//! there, each with its position, by the process whose turn it is to decide.
//!
//! The store keeps the last position of each inventory together with the batch that it brought: see
//! [`crate::store::BatchWrite::positions`]. So a command that comes twice is decided once, whoever brings it.

use std::pin::Pin;
use std::sync::Arc;

use boxoffice_core::command::Command;

use crate::answer::{Answer, SubmitError};
use crate::ids::InventoryNumber;

/// Where a command stands in the log. Those of one inventory only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Counts the logs: one that was begun anew comes after all before it.
    pub epoch: u32,
    /// The part of the log. All commands of an inventory stand in the same one.
    pub partition: i32,
    /// The place in that part.
    pub offset: i64,
}

/// The positions of the commands in a batch, all of which are decided in it or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Of the first command.
    pub first: Position,
    /// Of the last one.
    pub last: Position,
}

/// A command on its way to the log.
#[derive(Debug, Clone)]
pub struct Routed {
    /// Which inventory it is for.
    pub inventory: InventoryNumber,
    /// The name of the inventory.
    pub name: Arc<str>,
    /// What is asked.
    pub command: Command,
}

/// What a router is asked for, when it is there.
pub type Sending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The way to the log and back: see [`crate::Engine::route`].
pub trait Router: Send + Sync + 'static {
    /// Sends commands, those of one inventory in order, and waits for the durable answer to each, in their order.
    ///
    /// An answer of [`SubmitError::OutcomeUnknown`] may still be followed by the deed; every other error means that the
    /// command was not done and never will be.
    fn submit(&self, commands: Vec<Routed>) -> Sending<'_, Vec<Result<Answer, SubmitError>>>;

    /// Sends a command and waits until the log has it for good. It will be decided; no caller waits for the answer, which is counted
    /// under the request's id.
    fn hand_over<'a>(&'a self, command: Routed, request_id: &'a str) -> Sending<'a, Result<(), SubmitError>>;

    /// Whether the log answers; while it does not, every command is refused.
    fn answers(&self) -> bool;
}
