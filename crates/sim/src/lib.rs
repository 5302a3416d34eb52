//! A seeded simulator of the whole system with an independent auditor. Development only.
//!
//! ```text
//! Workload -> SteppedEngine -> EmbeddedStore -> Disk (loses, tears, reorders, fails)
//!    |  answers                    |  what is read back after a crash
//!    +---------> Auditor <---------+
//! ```
//!
//! The rules, the shards, the committer and the store are the real ones; the disk, the clock and the callers are not. One run
//! is a seed and what follows from it, in one thread: the same seed gives the same run, step by step.

pub mod auditor;
pub mod capacity;
pub mod disk;
pub mod hammer;
pub mod history;
mod ledger;
pub mod random;
pub mod settings;
pub mod simulator;
pub mod trace;
pub mod workload;

pub use auditor::Violation;
pub use settings::Settings;
pub use simulator::{Report, run};
