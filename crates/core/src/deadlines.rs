//! When the holds of an inventory end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Timestamp;

/// The deadlines of all holds, by the places of their bookings.
///
/// A heap, because most holds are paid long before they end and then need not be looked for: their entries stay until
/// they come to the top, where there is always one that counts, or until most entries are like them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deadlines {
    heap: BinaryHeap<Reverse<Entry>>,
    /// How many entries count.
    holds: usize,
}

/// When a hold ends, and its place. The time in two halves, so that an entry is twelve bytes and not sixteen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// Signed, so that the order is that of the times.
    high: i32,
    low: u32,
    place: u32,
}

impl Entry {
    fn new(expires_at: Timestamp, place: u32) -> Entry {
        Entry { high: (expires_at.0 >> 32) as i32, low: expires_at.0 as u32, place }
    }

    fn parts(self) -> (Timestamp, u32) {
        (Timestamp(i64::from(self.high) << 32 | i64::from(self.low)), self.place)
    }
}

/// Entries that do not count and are not worth sweeping.
const LEFT_BEHIND_MIN: usize = 64;

impl Deadlines {
    /// The hold that ends first; of those that end together, the one that was made first.
    pub(crate) fn first(&self) -> Option<(Timestamp, u32)> {
        self.heap.peek().map(|&Reverse(entry)| entry.parts())
    }

    /// How many holds there are.
    pub(crate) fn len(&self) -> usize {
        self.holds
    }

    /// All holds in the order in which they end.
    pub(crate) fn in_order(&self, counts: impl Fn(Timestamp, u32) -> bool) -> Vec<(Timestamp, u32)> {
        let mut entries: Vec<(Timestamp, u32)> =
            self.heap.iter().map(|&Reverse(entry)| entry.parts()).collect();
        entries.retain(|&(expires_at, place)| counts(expires_at, place));
        entries.sort_unstable();
        entries.dedup();
        entries
    }

    /// Follows a booking whose deadline changed. `counts` says whether a deadline is now that of its booking.
    pub(crate) fn replace(
        &mut self,
        place: u32,
        old: Option<Timestamp>,
        new: Option<Timestamp>,
        counts: impl Fn(Timestamp, u32) -> bool,
    ) {
        if let Some(expires_at) = new {
            self.heap.push(Reverse(Entry::new(expires_at, place)));
            self.holds += 1;
        }
        if old.is_none() {
            return;
        }
        self.holds -= 1;
        while self.first().is_some_and(|(expires_at, place)| !counts(expires_at, place)) {
            self.heap.pop();
        }
        if self.heap.len() > 2 * self.holds + LEFT_BEHIND_MIN {
            self.heap.retain(|&Reverse(entry)| {
                let (expires_at, place) = entry.parts();
                counts(expires_at, place)
            });
            self.heap.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_deadline_counts_and_what_is_left_behind_is_bounded() {
        let mut deadlines = Deadlines::default();
        let mut current: Vec<Option<Timestamp>> = vec![None; 100];
        let mut state = 7u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (state >> 33) as u32 % 100;
            let old = current[place as usize];
            // Holds are made and extended to a later time, or end; some where a half of the time runs over.
            let start = if place.is_multiple_of(2) { -300 } else { (1 << 32) - 300 };
            let later = Timestamp(old.map_or(start, |old| old.0) + 1 + (state >> 40) as i64 % 50);
            let new = (state >> 60 < 11).then_some(later);
            current[place as usize] = new;
            deadlines
                .replace(place, old, new, |expires_at, place| current[place as usize] == Some(expires_at));

            let mut expected: Vec<(Timestamp, u32)> =
                (0..).zip(&current).filter_map(|(place, deadline)| Some(((*deadline)?, place))).collect();
            expected.sort();
            assert_eq!(deadlines.first(), expected.first().copied());
            assert!(deadlines.heap.len() <= 2 * expected.len() + LEFT_BEHIND_MIN);
            let counts = |expires_at, place: u32| current[place as usize] == Some(expires_at);
            assert_eq!(deadlines.in_order(counts), expected);
            assert_eq!(deadlines.len(), expected.len());
        }
    }
}
