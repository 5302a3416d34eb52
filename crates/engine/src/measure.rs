//! What the engine counts about itself, under names that whoever installs a recorder can describe.

use std::time::Duration;

/// How long the store took to make a commit durable.
pub const COMMIT_SECONDS: &str = "boxoffice_commit_seconds";
/// How many commands one shard's batch had.
pub const BATCH_COMMANDS: &str = "boxoffice_batch_commands";

/// How many batches of an inventory were decided on what was no longer so, and were decided again.
pub const FENCED_BATCHES: &str = "boxoffice_fenced_batches_total";

pub(crate) fn commit(took: Duration) {
    metrics::histogram!(COMMIT_SECONDS).record(took.as_secs_f64());
}

pub(crate) fn fenced(batches: usize) {
    metrics::counter!(FENCED_BATCHES).increment(batches as u64);
}

pub(crate) fn batch(commands: usize) {
    metrics::histogram!(BATCH_COMMANDS).record(commands as f64);
}
