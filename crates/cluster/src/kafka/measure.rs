//! What is counted, under names that whoever installs a recorder can describe.

/// Whether a broker answers: 0 or 1.
pub const AVAILABLE: &str = "boxoffice_kafka_available";
/// Commands in the partitions of this node that it has not decided.
pub const LAG: &str = "boxoffice_kafka_lag_commands";
/// Commands that came again and had been decided.
pub const REDELIVERED: &str = "boxoffice_kafka_redelivered_total";
/// Commands that were put aside, with a reason.
pub const DEAD_LETTERS: &str = "boxoffice_kafka_dead_letters_total";

pub(super) fn available(up: bool) {
    metrics::gauge!(AVAILABLE).set(if up { 1.0 } else { 0.0 });
}

pub(super) fn lag(commands: i64) {
    metrics::gauge!(LAG).set(commands as f64);
}

pub(super) fn redelivered() {
    metrics::counter!(REDELIVERED).increment(1);
}

pub(super) fn dead_letter() {
    metrics::counter!(DEAD_LETTERS).increment(1);
}
