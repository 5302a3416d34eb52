//! What the machine that this one runs on does meanwhile: its other guests are part of every figure.

use std::time::Instant;

/// How much of the processors the host lets this machine have, from a moment on.
pub(crate) struct Host {
    since: Instant,
    stolen_seconds: f64,
}

impl Host {
    pub(crate) fn watch() -> Host {
        Host { since: Instant::now(), stolen_seconds: stolen_seconds() }
    }

    /// 1.0 if nobody else had them.
    pub(crate) fn share_given(&self) -> f64 {
        let processors = stat().lines().filter(|line| line.starts_with("cpu")).count() - 1;
        let stolen_seconds = stolen_seconds() - self.stolen_seconds;
        1.0 - stolen_seconds / (processors as f64 * self.since.elapsed().as_secs_f64())
    }
}

/// A line for all processors together, and one for each.
fn stat() -> String {
    std::fs::read_to_string("/proc/stat").expect("Linux")
}

/// In which something here wanted to run and the host ran others, of all processors together.
fn stolen_seconds() -> f64 {
    let stat = stat();
    let ticks =
        stat.split_whitespace().nth(8).expect("user, nice, system, idle, iowait, irq, softirq, steal");
    ticks.parse::<f64>().expect("a number") / 100.0
}
