//! How long somebody waited, counted in buckets: any number of waits in the same memory.

use std::time::Duration;

/// Buckets for each doubling: a wait is known to a thirty-second part of itself.
const BUCKETS_PER_DOUBLING: usize = 32;

/// A histogram of waits in microseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Waits {
    /// Grows to the longest wait: 1,000 buckets are over an hour.
    buckets: Vec<u32>,
    count: u64,
    longest_us: u64,
}

impl Waits {
    pub(super) fn add(&mut self, wait: Duration) {
        let us = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        let bucket = bucket_of(us);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.longest_us = self.longest_us.max(us);
    }

    pub(super) fn merge(&mut self, other: &Waits) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket += more;
        }
        self.count += other.count;
        self.longest_us = self.longest_us.max(other.longest_us);
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// In milliseconds, the wait that so many percent did not exceed; `None` if nobody waited.
    pub(super) fn percentile_ms(&self, percent: f64) -> Option<f64> {
        let wanted = ((self.count as f64 * percent / 100.0).ceil() as u64).max(1);
        let mut counted = 0;
        let bucket = self.buckets.iter().position(|count| {
            counted += u64::from(*count);
            counted >= wanted
        })?;
        Some(end_of(bucket).min(self.longest_us) as f64 / 1_000.0)
    }
}

fn bucket_of(us: u64) -> usize {
    let doublings = (u64::BITS - us.leading_zeros()).saturating_sub(BUCKETS_PER_DOUBLING.ilog2() + 1);
    doublings as usize * BUCKETS_PER_DOUBLING + (us >> doublings) as usize
}

/// The longest wait that falls into a bucket.
fn end_of(bucket: usize) -> u64 {
    let doublings = (bucket / BUCKETS_PER_DOUBLING).saturating_sub(1);
    let part = (bucket - doublings * BUCKETS_PER_DOUBLING) as u64;
    ((part + 1) << doublings) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wait_is_in_a_bucket_that_ends_close_above_it() {
        for us in
            (0..10_000).chain((1..50).map(|power| (1 << power) - 1)).chain((0..50).map(|power| 1 << power))
        {
            let end = end_of(bucket_of(us));
            assert!(us <= end && end - us <= us / 32, "{us}: {end}");
        }
    }

    #[test]
    fn percentiles_are_of_all_that_waited() {
        let (mut some, mut others) = (Waits::default(), Waits::default());
        assert_eq!(some.percentile_ms(50.0), None);
        (1..=50).for_each(|ms| some.add(Duration::from_millis(ms)));
        (51..=100).for_each(|ms| others.add(Duration::from_millis(ms)));
        some.merge(&others);
        assert_eq!(some.count(), 100);
        for (percent, ms) in [(0.0, 1.0), (50.0, 50.0), (99.0, 99.0), (100.0, 100.0)] {
            let found = some.percentile_ms(percent).unwrap();
            assert!((ms..=ms * 1.04).contains(&found), "{percent} %: {found}");
        }
    }
}
