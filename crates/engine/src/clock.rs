//! The one clock: what time it is, and how far it may be trusted.
//!
//! Holds end when their time has really passed, not when somebody sets the machine's clock. So the engine reads the wall
//! once, when it starts, and counts from there with the clock that nobody can set (which also counts while the machine
//! sleeps). What the wall says later is followed slowly, by at most one part in two thousand, and not at all if it is
//! more than a minute off: that is a jump, not a drift, and is logged.
//!
//! Processes that share a store end each other's holds, so their clocks have to agree: each compares its own with the store's.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use boxoffice_core::time::{Date, Timestamp};
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};

use crate::limits::{CLOCK_JUMP_MS, CLOCKS_APART_MS_MAX};

/// How fast a drift is made up for: one millisecond in so many.
const SLEW: i64 = 2_000;

/// What time it is. Never runs backwards.
#[derive(Debug, Clone)]
pub struct Clock(Arc<Source>);

#[derive(Debug)]
enum Source {
    System(Mutex<Steady>),
    Manual(AtomicI64),
}

impl Clock {
    /// The machine's.
    pub fn system() -> Clock {
        Clock(Arc::new(Source::System(Mutex::new(Steady::new(wall_ms(), counted_ms())))))
    }

    /// One that stands still until it is set, for tests and simulations.
    pub fn manual(now: Timestamp) -> Clock {
        Clock(Arc::new(Source::Manual(AtomicI64::new(now.0))))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        match &*self.0 {
            Source::System(steady) => Timestamp(steady.lock().at(wall_ms(), counted_ms())),
            Source::Manual(now) => Timestamp(now.load(Ordering::Acquire)),
        }
    }

    /// Sets a manual clock forward.
    ///
    /// # Panics
    /// If it is the machine's.
    pub fn set(&self, now: Timestamp) {
        match &*self.0 {
            Source::System(_) => panic!("the machine's clock is not ours to set"),
            Source::Manual(clock) => {
                clock.fetch_max(now.0, Ordering::AcqRel);
            }
        }
    }

    /// Compares it with another clock, which may take its time to answer or not be there; says if they are too far apart. One
    /// that is set by hand is whoever's sets it.
    pub(crate) fn compare<E>(
        &self,
        ask: impl FnOnce() -> Result<Option<Timestamp>, E>,
    ) -> Result<Option<ClocksApart>, E> {
        match &*self.0 {
            Source::System(_) => {
                let asked = self.now();
                let Some(theirs) = ask()? else { return Ok(None) };
                Ok(apart(asked, theirs, self.now()))
            }
            Source::Manual(_) => Ok(None),
        }
    }

    /// When a thread that has something to do at a time should look again.
    pub(crate) fn instant_of(&self, at: Timestamp) -> Instant {
        let wait = match &*self.0 {
            Source::System(_) => at.0.saturating_sub(self.now().0).clamp(0, MOST_WAIT_MS),
            // Set by somebody else at any time.
            Source::Manual(_) => MANUAL_WAIT_MS,
        };
        Instant::now() + Duration::from_millis(wait.unsigned_abs())
    }
}

/// Two clocks that do not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClocksApart {
    /// This process's.
    pub ours: Timestamp,
    /// The store's.
    pub theirs: Timestamp,
}

impl fmt::Display for ClocksApart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClocksApart { ours, theirs } = *self;
        write!(
            f,
            "it is {} by this machine's clock and {} by the database's, and at most {} s may be between them: \
             keep both right with NTP, then start this server again",
            Utc(ours),
            Utc(theirs),
            CLOCKS_APART_MS_MAX / 1_000
        )
    }
}

/// A moment as people read it.
struct Utc(Timestamp);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DAY_SECONDS: i64 = 24 * 60 * 60;
        let seconds = self.0.0.div_euclid(1_000);
        let date = Date(i32::try_from(seconds.div_euclid(DAY_SECONDS)).unwrap_or_default());
        let seconds = seconds.rem_euclid(DAY_SECONDS);
        write!(f, "{date}T{:02}:{:02}:{:02}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
    }
}

/// Whether another clock was too far from ours at some moment between two.
fn apart(asked: Timestamp, theirs: Timestamp, answered: Timestamp) -> Option<ClocksApart> {
    let ours = Timestamp(theirs.0.clamp(asked.0, answered.0));
    (ours.0.abs_diff(theirs.0) > CLOCKS_APART_MS_MAX.unsigned_abs()).then_some(ClocksApart { ours, theirs })
}

/// Long waits are cut, so that a clock that was slewed meanwhile is looked at again.
const MOST_WAIT_MS: i64 = 1_000;
const MANUAL_WAIT_MS: i64 = 1;

/// A time that follows the wall slowly.
#[derive(Debug)]
struct Steady {
    now: i64,
    counted: i64,
    /// Milliseconds counted since the time was last brought nearer to the wall.
    unslewed: i64,
    off: bool,
}

impl Steady {
    fn new(wall: i64, counted: i64) -> Steady {
        Steady { now: wall, counted, unslewed: 0, off: false }
    }

    fn at(&mut self, wall: i64, counted: i64) -> i64 {
        let passed = (counted - self.counted).max(0);
        self.counted = self.counted.max(counted);
        self.now += passed;
        self.unslewed += passed;
        let ahead = wall - self.now;
        let off = ahead.abs() > CLOCK_JUMP_MS;
        if off != self.off {
            self.off = off;
            if off {
                tracing::warn!(jump_ms = ahead, "the clock was set; holds keep the time they were given");
            } else {
                tracing::info!("the clock agrees again with the time that was counted");
            }
        }
        let most = self.unslewed / SLEW;
        if most > 0 {
            self.unslewed -= most * SLEW;
            if !off {
                // Backwards only as far as time went on, so that it never runs backwards.
                self.now += ahead.clamp(-most.min(passed), most);
            }
        }
        self.now
    }
}

fn wall_ms() -> i64 {
    let since = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => since(after),
        Err(before) => -since(before.duration()),
    }
}

/// Counts on while the machine sleeps, unlike `Instant`.
fn counted_ms() -> i64 {
    let time = clock_gettime(ClockId::Boottime);
    time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_796_083_200_000;

    /// Moves both clocks on by seconds, the wall by some more, and says how far the time is from what was counted.
    fn after(steady: &mut Steady, seconds: i64, wall_offset_ms: i64) -> i64 {
        let mut at = steady.now;
        for second in 1..=seconds {
            let counted = second * 1_000;
            let before = at;
            at = steady.at(START + counted + wall_offset_ms, counted);
            assert!(at >= before, "time ran backwards");
        }
        at - START - seconds * 1_000
    }

    #[test]
    fn clocks_that_are_more_than_five_seconds_apart_are_told_and_how_long_an_answer_took_does_not_count() {
        for (asked, theirs, answered, expected) in [
            (0, 0, 0, None),
            (0, 5_000, 0, None),
            (0, 5_001, 0, Some((0, 5_001))),
            (0, -5_001, 0, Some((0, -5_001))),
            (0, 60_000, 60_000, None),
            (0, 65_001, 60_000, Some((60_000, 65_001))),
        ] {
            let found = apart(Timestamp(asked), Timestamp(theirs), Timestamp(answered));
            assert_eq!(found.map(|it| (it.ours.0, it.theirs.0)), expected, "{asked} {theirs} {answered}");
        }
        let message =
            ClocksApart { ours: Timestamp(START + 3_723_000), theirs: Timestamp(START) }.to_string();
        assert!(message.starts_with("it is 2026-12-01T01:02:03Z by this machine's clock and 2026-12-01T00:00:00Z by the database's"), "{message}");
        assert!(message.contains("NTP"), "{message}");
    }

    #[test]
    fn time_is_what_was_counted_if_the_wall_agrees() {
        assert_eq!(after(&mut Steady::new(START, 0), 3_600, 0), 0);
    }

    #[test]
    fn a_jump_of_the_wall_is_not_followed() {
        assert_eq!(after(&mut Steady::new(START, 0), 600, 3_600_000), 0, "forwards");
        assert_eq!(after(&mut Steady::new(START, 0), 600, -3_600_000), 0, "backwards");
    }

    #[test]
    fn a_drift_of_the_wall_is_followed_slowly() {
        assert_eq!(after(&mut Steady::new(START, 0), 600, 10_000), 300, "one part in two thousand");
        assert_eq!(after(&mut Steady::new(START, 0), 600, -10_000), -300);
        assert_eq!(after(&mut Steady::new(START, 0), 600, 7), 7, "until it agrees");
    }

    #[test]
    fn reading_the_clock_often_does_not_make_it_drift() {
        let mut steady = Steady::new(START, 0);
        let mut at = START;
        for counted in 1..=60_000 {
            at = steady.at(START + counted + 10_000, counted);
        }
        assert_eq!(at - START - 60_000, 30);
    }
}
