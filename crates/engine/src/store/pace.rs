//! How fast what waits is moved into redb: in short steps with pauses between them, unless somebody waits for it.
//!
//! A move takes milliseconds of a processor and of the disk, several times in a second of an on-sale, and has more time than it needs:
//! until the other file of the log is full. In one go, it would keep a processor and the disk from those who decide and answer meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Steps between two pauses. Each takes some microseconds: a record put into a page, a page written.
const STEPS: u32 = 16;
/// What is longer than this counts as several steps.
const STEP_BYTES: usize = 4096;
/// However long a step was: whoever comes in a hurry meanwhile waits for no more pauses than these.
const PAUSES_AT_ONCE_MAX: u32 = 5;
/// About as long as the steps before it take, or a little longer, so that half of the time is left to others.
pub(super) const PAUSE: Duration = Duration::from_micros(200);

/// What whoever moves and whoever waits for it share.
#[derive(Debug)]
pub(super) struct Pace {
    /// Zero if there are to be no pauses.
    pause: Duration,
    /// How many are in a hurry.
    hurried: AtomicU32,
    /// Whether little time is left before everybody would be.
    late: AtomicBool,
    /// Since the last pause.
    steps: AtomicU32,
    #[cfg(test)]
    pauses: AtomicU32,
}

/// Somebody in a hurry, for as long as it lives.
#[must_use]
pub(super) struct Hurry<'a>(&'a Pace);

impl Pace {
    pub(super) fn new(pause: Duration) -> Pace {
        Pace {
            pause,
            hurried: AtomicU32::new(0),
            late: AtomicBool::new(false),
            steps: AtomicU32::new(0),
            #[cfg(test)]
            pauses: AtomicU32::new(0),
        }
    }

    /// There are no pauses until the result is dropped.
    pub(super) fn hurry(&self) -> Hurry<'_> {
        self.hurried.fetch_add(1, Ordering::Relaxed);
        Hurry(self)
    }

    /// How much of the other file of the log is full: there are no pauses beyond the half.
    pub(super) fn note_filled(&self, bytes: u64, bytes_max: u64) {
        self.late.store(bytes > bytes_max / 2, Ordering::Relaxed);
    }

    /// A step was done, with so many bytes. Sleeps if there were many since the last pause, and nobody is in a hurry.
    pub(super) fn step(&self, bytes: usize) {
        let pauses = self.pauses_due(bytes);
        if pauses > 0 {
            std::thread::sleep(self.pause * pauses);
        }
    }

    fn pauses_due(&self, bytes: usize) -> u32 {
        let no_pauses = self.pause.is_zero()
            || self.hurried.load(Ordering::Relaxed) > 0
            || self.late.load(Ordering::Relaxed);
        if no_pauses {
            return 0;
        }
        let more = u32::try_from(bytes.saturating_sub(1) / STEP_BYTES)
            .unwrap_or(u32::MAX)
            .min(STEPS * PAUSES_AT_ONCE_MAX);
        let steps = self.steps.fetch_add(1 + more, Ordering::Relaxed) + 1 + more;
        self.steps.store(steps % STEPS, Ordering::Relaxed);
        let pauses = (steps / STEPS).min(PAUSES_AT_ONCE_MAX);
        #[cfg(test)]
        self.pauses.fetch_add(pauses, Ordering::Relaxed);
        pauses
    }

    /// How many there were.
    #[cfg(test)]
    pub(super) fn pauses(&self) -> u32 {
        self.pauses.load(Ordering::Relaxed)
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
        let pace = Pace::new(PAUSE);
        let pauses = |steps: u32| (0..steps).map(|_| pace.pauses_due(100)).sum::<u32>();
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
        pace.note_filled(50, 100);
        assert_eq!(pauses(5 * STEPS), 5);
        assert_eq!(pace.pauses(), 16);
    }

    #[test]
    fn a_long_step_counts_as_several() {
        let pace = Pace::new(PAUSE);
        let pages = |count: u32| (0..count).map(|_| pace.pauses_due(STEP_BYTES)).sum::<u32>();
        assert_eq!(pages(STEPS), 1, "a page is one");
        assert_eq!(pace.pauses_due(2 * 16 * STEP_BYTES), 2);
        assert_eq!(pace.pauses_due(1_000 * 16 * STEP_BYTES), PAUSES_AT_ONCE_MAX, "others may come meanwhile");
        assert_eq!(Pace::new(Duration::ZERO).pauses_due(2 * 16 * STEP_BYTES), 0);
    }
}
