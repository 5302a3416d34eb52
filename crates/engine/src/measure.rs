//! What the engine counts about itself, under names that whoever installs a recorder can describe.

use std::time::Duration;

/// How long the store took to make a commit durable.
pub const COMMIT_SECONDS: &str = "boxoffice_commit_seconds";
/// How many commands one shard's batch had.
pub const BATCH_COMMANDS: &str = "boxoffice_batch_commands";

/// How many batches of an inventory were decided on what was no longer so, and were decided again.
pub const FENCED_BATCHES: &str = "boxoffice_fenced_batches_total";

/// Holds that ended without being confirmed, by any command or by a sweep.
pub const HOLDS_EXPIRED: &str = "boxoffice_holds_expired_total";
/// How long one sweep took that ended due holds.
pub const EXPIRY_SWEEP_SECONDS: &str = "boxoffice_expiry_sweep_seconds";

/// Inventories that were found not to be what their journals say, by kind of difference.
pub const INCONSISTENCIES: &str = "boxoffice_inconsistencies_total";

/// Inventories that the last whole pass of the scrubber did not compare because they are too large.
pub const SCRUB_SKIPPED: &str = "boxoffice_scrub_skipped_inventories";

pub(crate) fn scrub_skipped(inventories: usize) {
    metrics::gauge!(SCRUB_SKIPPED).set(inventories as f64);
}

pub(crate) fn inconsistency(kind: &'static str) {
    metrics::counter!(INCONSISTENCIES, "kind" => kind).increment(1);
}

pub(crate) fn commit(took: Duration) {
    metrics::histogram!(COMMIT_SECONDS).record(took.as_secs_f64());
}

pub(crate) fn fenced(batches: usize) {
    metrics::counter!(FENCED_BATCHES).increment(batches as u64);
}

pub(crate) fn batch(commands: usize) {
    metrics::histogram!(BATCH_COMMANDS).record(commands as f64);
}

/// Counts what this process committed; the same change read from another process is that one's to count.
pub(crate) fn holds_expired(holds: u64) {
    if holds > 0 {
        metrics::counter!(HOLDS_EXPIRED).increment(holds);
    }
}

pub(crate) fn expiry_sweep(took: Duration) {
    metrics::histogram!(EXPIRY_SWEEP_SECONDS).record(took.as_secs_f64());
}
