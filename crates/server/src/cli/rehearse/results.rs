//! What came of a rehearsal, as it is written for programs; the report for people is drawn from the same.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::audit::{Check, Stats};
use super::plan::Plan;
use super::sale::{Outcome, Sale};
use super::tally::Interval;
use super::waits::Waits;

/// Everything there is to tell.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    /// Whether every promise was kept.
    pub(super) held: bool,
    pub(super) checks: Vec<Check>,
    pub(super) circumstances: Circumstances,
    pub(super) plan: Plan,
    pub(super) buyers: Buyers,
    pub(super) seats: Seats,
    /// Requests that were answered.
    pub(super) requests: u64,
    /// Of these, requests that were sent twice and answered with the same bytes.
    pub(super) repeated: u64,
    /// From the first arrival to the last answer.
    pub(super) took_ms: f64,
    pub(super) requests_per_second: f64,
    /// When the last seat went; `null` if some are left.
    pub(super) sold_out_ms: Option<f64>,
    /// From when each request was due to its answer; `null` if nobody asked.
    pub(super) look_waits: Option<Percentiles>,
    pub(super) booking_waits: Option<Percentiles>,
    pub(super) payment_waits: Option<Percentiles>,
    /// Of a hundred bookings, how long each waited at most.
    pub(super) booking_waits_by_percent: Vec<f64>,
    /// Answers that were not what was asked for, by code.
    pub(super) refusals: BTreeMap<String, u64>,
    pub(super) interval_ms: f64,
    pub(super) intervals: Vec<Stretch>,
}

/// Where and how it was rehearsed.
#[derive(Debug, Serialize)]
pub(super) struct Circumstances {
    pub(super) made_at: String,
    pub(super) version: &'static str,
    /// The address of the server; `null` if the rehearsal had one of its own.
    pub(super) server: Option<String>,
    pub(super) event: String,
    pub(super) connections: usize,
    pub(super) in_flight_max: usize,
    pub(super) cores: usize,
    pub(super) memory_gib: Option<f64>,
    /// The command that repeats it.
    pub(super) command: String,
}

/// How it ended for the buyers; the parts add up to `all`.
#[derive(Debug, Default, Serialize)]
pub(super) struct Buyers {
    pub(super) all: u64,
    pub(super) bought: u64,
    pub(super) left: u64,
    pub(super) refused: u64,
    pub(super) too_late: u64,
    pub(super) failed: u64,
    pub(super) unanswered: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct Seats {
    pub(super) before: Stats,
    pub(super) after: Stats,
    /// Acknowledged to buyers, held or sold.
    pub(super) taken: u64,
    pub(super) sold: u64,
}

/// Waits in milliseconds.
#[derive(Debug, Serialize)]
pub(super) struct Percentiles {
    pub(super) count: u64,
    pub(super) p50_ms: f64,
    pub(super) p90_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) p999_ms: f64,
    pub(super) longest_ms: f64,
}

/// What happened in one stretch of time.
#[derive(Debug, Serialize)]
pub(super) struct Stretch {
    pub(super) from_ms: f64,
    pub(super) arrived: u64,
    pub(super) answered: u64,
    pub(super) seats_taken: u64,
    pub(super) seats_sold: u64,
    pub(super) booking_waits: Option<Percentiles>,
    pub(super) refusals: BTreeMap<String, u64>,
}

impl Results {
    pub(super) fn new(
        sale: &Sale,
        before: Stats,
        after: Stats,
        checks: Vec<Check>,
        circumstances: Circumstances,
    ) -> Results {
        let tally = &sale.tally;
        let took = tally.last_answer.as_secs_f64();
        let interval_ms = milliseconds(tally.interval);
        let intervals = tally.intervals.iter().enumerate();
        Results {
            held: checks.iter().all(|check| check.held),
            checks,
            circumstances,
            plan: sale.plan,
            buyers: Buyers::count(&sale.outcomes),
            seats: Seats { before, after, taken: tally.seats_taken, sold: tally.seats_sold },
            requests: tally.requests(),
            repeated: sale.repeated,
            took_ms: milliseconds(tally.last_answer),
            requests_per_second: if took > 0.0 { tally.requests() as f64 / took } else { 0.0 },
            sold_out_ms: (before.available > 0 && after.available == 0)
                .then(|| milliseconds(tally.last_seat)),
            look_waits: Percentiles::of(&tally.looks),
            booking_waits: Percentiles::of(&tally.books),
            payment_waits: Percentiles::of(&tally.pays),
            booking_waits_by_percent: (0..=100)
                .filter_map(|percent| tally.books.percentile_ms(percent.into()))
                .collect(),
            refusals: tally.refused.clone(),
            interval_ms,
            intervals: intervals
                .map(|(index, interval)| Stretch::new(index as f64 * interval_ms, interval))
                .collect(),
        }
    }

    /// The first promise that was not kept.
    pub(super) fn first_broken(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.held)
    }
}

impl Buyers {
    /// Those who got no answer, or one that helped nobody.
    pub(super) fn lost(&self) -> u64 {
        self.failed + self.unanswered
    }

    fn count(outcomes: &[Outcome]) -> Buyers {
        let mut buyers = Buyers { all: outcomes.len() as u64, ..Buyers::default() };
        for outcome in outcomes {
            *match outcome {
                Outcome::Unanswered => &mut buyers.unanswered,
                Outcome::Bought => &mut buyers.bought,
                Outcome::Left => &mut buyers.left,
                Outcome::Refused => &mut buyers.refused,
                Outcome::TooLate => &mut buyers.too_late,
                Outcome::Failed => &mut buyers.failed,
            } += 1;
        }
        buyers
    }
}

impl Percentiles {
    fn of(waits: &Waits) -> Option<Percentiles> {
        Some(Percentiles {
            count: waits.count(),
            p50_ms: waits.percentile_ms(50.0)?,
            p90_ms: waits.percentile_ms(90.0)?,
            p99_ms: waits.percentile_ms(99.0)?,
            p999_ms: waits.percentile_ms(99.9)?,
            longest_ms: waits.percentile_ms(100.0)?,
        })
    }
}

impl Stretch {
    fn new(from_ms: f64, interval: &Interval) -> Stretch {
        Stretch {
            from_ms,
            arrived: interval.arrived,
            answered: interval.answered,
            seats_taken: interval.seats_taken,
            seats_sold: interval.seats_sold,
            booking_waits: Percentiles::of(&interval.waits),
            refusals: interval.refused.clone(),
        }
    }
}

/// To the microsecond.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1_000.0
}
