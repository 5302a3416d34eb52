//! What the callers know: everything they asked, what they were told, and what they saw.

use std::sync::Arc;

use boxoffice_core::command::Command;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::{Answer, InventoryNumber};

/// Everything that callers know, in the order in which they asked.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Commands.
    pub asked: Vec<Asked>,
    /// Views that somebody looked at.
    pub seen: Vec<Seen>,
}

/// One command and what became of it.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The name of the inventory.
    pub inventory: Arc<str>,
    /// What was asked.
    pub command: Command,
    /// When.
    pub asked_at: Timestamp,
    /// After how many operations of the disk.
    pub asked_after: u64,
    /// What the caller was told.
    pub end: End,
    /// When.
    pub ended_at: Timestamp,
    /// After how many operations of the disk.
    pub ended_after: u64,
}

/// What a caller was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Nothing yet.
    Open,
    /// A durable answer.
    Answered(Answer),
    /// That nobody knows; or nothing, and the process is gone.
    Unknown,
    /// That it was not done and never will be.
    NotDone,
}

/// A view that somebody looked at: as good as an answer.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Of which inventory.
    pub inventory: InventoryNumber,
    /// As of which batch.
    pub sequence: u64,
    /// All of it, in words.
    pub stock: String,
    /// After how many operations of the disk.
    pub seen_after: u64,
}

impl Asked {
    /// Its answer, if there is one.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.end {
            End::Answered(answer) => Some(answer),
            End::Open | End::Unknown | End::NotDone => None,
        }
    }

    /// Whether it may have had an effect, for all that its caller knows.
    pub fn may_be_done(&self) -> bool {
        match &self.end {
            End::Answered(answer) => matches!(answer.outcome, boxoffice_core::outcome::Outcome::Granted(_)),
            End::Open | End::Unknown => true,
            End::NotDone => false,
        }
    }
}

impl History {
    /// What was known when the disk had done so many operations.
    pub fn until(&self, operations: u64) -> History {
        let mut asked: Vec<Asked> =
            self.asked.iter().filter(|asked| asked.asked_after <= operations).cloned().collect();
        for asked in &mut asked {
            if asked.ended_after > operations {
                asked.end = End::Unknown;
            }
        }
        let seen = self.seen.iter().filter(|seen| seen.seen_after <= operations).cloned().collect();
        History { asked, seen }
    }

    /// Nobody who still waits will be told anything more.
    pub fn forget_the_waiting(&mut self) {
        for asked in &mut self.asked {
            if asked.end == End::Open {
                asked.end = End::Unknown;
            }
        }
    }
}
