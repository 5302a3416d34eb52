//! What one run is like, drawn from its seed.

use std::time::Duration;

use boxoffice_engine::snapshot::Retention;

use crate::random::Random;

/// What one run is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Commands that are asked.
    pub commands: usize,
    /// How often the process ends and starts again.
    pub lives: u32,
    /// Of the engine.
    pub shards: usize,
    /// Of the engine.
    pub idle_after: Duration,
    /// Of the engine.
    pub retention: Retention,
    /// Of the engine.
    pub snapshot_journal_bytes_min: u64,
    /// Of the engine.
    pub seal_ahead_commands_min: usize,
    /// Of the store: what gathers in each file of its log.
    pub log_bytes_max: u64,
    /// Commands for every two steps of the engine and one of each shard, on average.
    pub hurry: u64,
    /// Whether operations of the disk fail besides crashes.
    pub faults: bool,
    /// Whether a bit of the disk is turned over at the end.
    pub bit_flip: bool,
}

impl Settings {
    /// Those of a seed.
    pub fn of_seed(seed: u64) -> Settings {
        let mut random = Random::new(seed ^ 0x5e77_1465);
        Settings {
            commands: usize::try_from(random.between(120, 200)).expect("small"),
            lives: u32::try_from(random.between(3, 4)).expect("small"),
            shards: usize::try_from(random.between(1, 3)).expect("small"),
            idle_after: Duration::from_millis(random.between(500, 30_000)),
            retention: if random.percent(25) { Retention::Records(random.below(6)) } else { Retention::All },
            snapshot_journal_bytes_min: random.between(300, 4_000),
            hurry: random.between(1, 2),
            faults: random.percent(30),
            bit_flip: random.percent(20),
            seal_ahead_commands_min: usize::try_from(random.between(1, 12)).expect("small"),
            log_bytes_max: *random.pick(&[8, 16, 64, 256]) * 1024,
        }
    }

    /// For the engine.
    pub fn engine(&self) -> boxoffice_engine::Settings {
        boxoffice_engine::Settings {
            shards: self.shards,
            idle_after: self.idle_after,
            retention: self.retention,
            snapshot_journal_bytes_min: self.snapshot_journal_bytes_min,
            // It would be a thread.
            scrub_every: None,
            seal_ahead_commands_min: Some(self.seal_ahead_commands_min),
        }
    }
}
