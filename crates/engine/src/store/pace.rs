//! How fast what waits is moved into redb: in short steps with pauses between them, unless somebody waits for it.
//!
//! A move takes milliseconds of a processor and of the disk, several times in a second of an on-sale, and has more time than it needs:
//! until the other file of the log is full. In one go, it would keep a processor and the disk from those who decide and answer meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Steps between two pauses. Each takes some microseconds: a record put into a page, a page written.
const STEPS: u32 = 16;
/// Longer than the steps before it, so that at least half of the time is left to others; short beside the wait for a sync.
const PAUSE: Duration = Duration::from_micros(200);

/// What whoever moves and whoever waits for it share.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// How many are in a hurry.
    hurried: AtomicU32,
    /// Whether little time is left before everybody would be.
    late: AtomicBool,
    /// Since the last pause.
    steps: AtomicU32,
}

/// Somebody in a hurry, for as long as it lives.
pub(super) struct Hurry<'a>(&'a Pace);

impl Pace {
    /// Nobody pauses until the result is dropped.
    pub(super) fn hurry(&self) -> Hurry<'_> {
        self.hurried.fetch_add(1, Ordering::Relaxed);
        Hurry(self)
    }

    /// How much of the other file of the log is full: there are no pauses from the half on.
    pub(super) fn note_filled(&self, bytes: u64, bytes_max: u64) {
        self.late.store(bytes > bytes_max / 2, Ordering::Relaxed);
    }

    /// A step was done. Sleeps if there were many since the last pause, and nobody is in a hurry.
    pub(super) fn step(&self) {
        if self.is_time_to_pause() {
            std::thread::sleep(PAUSE);
        }
    }

    fn is_time_to_pause(&self) -> bool {
        if self.hurried.load(Ordering::Relaxed) > 0 || self.late.load(Ordering::Relaxed) {
            return false;
        }
        let steps = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        if steps >= STEPS {
            self.steps.store(0, Ordering::Relaxed);
        }
        steps >= STEPS
    }
}

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.hurried.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_follows_some_steps_unless_somebody_is_in_a_hurry() {
        let pace = Pace::default();
        let pauses = |steps: u32| (0..steps).filter(|_| pace.is_time_to_pause()).count();
        assert_eq!(pauses(STEPS - 1), 0);
        assert_eq!(pauses(1), 1);
        assert_eq!(pauses(5 * STEPS), 5);
        let (one, another) = (pace.hurry(), pace.hurry());
        assert_eq!(pauses(5 * STEPS), 0);
        drop(one);
        assert_eq!(pauses(5 * STEPS), 0, "another is");
        drop(another);
        assert_eq!(pauses(5 * STEPS), 5);
        pace.note_filled(51, 100);
        assert_eq!(pauses(5 * STEPS), 0, "time is running out");
        pace.note_filled(0, 100);
        assert_eq!(pauses(5 * STEPS), 5);
    }
}
