//! What happened, counted over time: in as many intervals as can be drawn, however long it takes.

use std::collections::BTreeMap;
use std::time::Duration;

use super::waits::Waits;

/// The first intervals are so long; they double whenever there are too many.
const INTERVAL_FIRST: Duration = Duration::from_millis(1);
/// Between half and all of these are drawn: enough for a curve, and each with enough in it to be calm.
const INTERVALS_MAX: usize = 120;
/// Codes beyond these are counted together: a server that lies could make up any number.
const CODES_MAX: usize = 40;
const OTHER_CODES: &str = "OTHER";

/// What a buyer asks the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    Look,
    Book,
    Pay,
}

/// Counts of one stretch of time.
#[derive(Debug, Clone, Default)]
pub(super) struct Interval {
    /// Buyers who were due.
    pub(super) arrived: u64,
    /// Requests that were answered.
    pub(super) answered: u64,
    /// Seats that were acknowledged, held or sold.
    pub(super) seats_taken: u64,
    /// Seats that were acknowledged as sold.
    pub(super) seats_sold: u64,
    /// Of bookings, from when they were due; those that were answered in this interval.
    pub(super) waits: Waits,
    /// Answers that were not what the buyer wanted, by code.
    pub(super) refused: BTreeMap<String, u64>,
}

/// Everything that was counted.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) interval: Duration,
    pub(super) intervals: Vec<Interval>,
    pub(super) looks: Waits,
    pub(super) books: Waits,
    pub(super) pays: Waits,
    pub(super) refused: BTreeMap<String, u64>,
    pub(super) seats_taken: u64,
    pub(super) seats_sold: u64,
    /// When the last answer came, from the beginning.
    pub(super) last_answer: Duration,
    /// When the last seat was taken.
    pub(super) last_seat: Duration,
}

impl Tally {
    pub(super) fn new() -> Tally {
        Tally {
            interval: INTERVAL_FIRST,
            intervals: Vec::new(),
            looks: Waits::default(),
            books: Waits::default(),
            pays: Waits::default(),
            refused: BTreeMap::new(),
            seats_taken: 0,
            seats_sold: 0,
            last_answer: Duration::ZERO,
            last_seat: Duration::ZERO,
        }
    }

    /// A buyer is due.
    pub(super) fn arrived(&mut self, at: Duration) {
        self.at(at).arrived += 1;
    }

    /// A request that was due at `due` was answered at `at`.
    pub(super) fn answered(&mut self, question: Question, due: Duration, at: Duration) {
        let wait = at.saturating_sub(due);
        let interval = self.at(at);
        interval.answered += 1;
        if question == Question::Book {
            interval.waits.add(wait);
        }
        match question {
            Question::Look => self.looks.add(wait),
            Question::Book => self.books.add(wait),
            Question::Pay => self.pays.add(wait),
        }
        self.last_answer = self.last_answer.max(at);
    }

    pub(super) fn took(&mut self, seats: u64, at: Duration) {
        self.at(at).seats_taken += seats;
        self.seats_taken += seats;
        self.last_seat = self.last_seat.max(at);
    }

    pub(super) fn sold(&mut self, seats: u64, at: Duration) {
        self.at(at).seats_sold += seats;
        self.seats_sold += seats;
    }

    pub(super) fn refused(&mut self, code: &str, at: Duration) {
        let known = self.refused.contains_key(code) || self.refused.len() < CODES_MAX;
        let code = if known { code } else { OTHER_CODES };
        *self.refused.entry(code.to_owned()).or_default() += 1;
        *self.at(at).refused.entry(code.to_owned()).or_default() += 1;
    }

    /// Every request that was answered.
    pub(super) fn requests(&self) -> u64 {
        self.looks.count() + self.books.count() + self.pays.count()
    }

    fn at(&mut self, at: Duration) -> &mut Interval {
        let mut index = self.index(at);
        while index >= INTERVALS_MAX {
            self.interval *= 2;
            self.intervals = self.intervals.chunks(2).map(joined).collect();
            index = self.index(at);
        }
        if index >= self.intervals.len() {
            self.intervals.resize_with(index + 1, Interval::default);
        }
        &mut self.intervals[index]
    }

    fn index(&self, at: Duration) -> usize {
        (at.as_nanos() / self.interval.as_nanos()) as usize
    }
}

fn joined(neighbours: &[Interval]) -> Interval {
    let mut joined = neighbours[0].clone();
    for other in &neighbours[1..] {
        joined.arrived += other.arrived;
        joined.answered += other.answered;
        joined.seats_taken += other.seats_taken;
        joined.seats_sold += other.seats_sold;
        joined.waits.merge(&other.waits);
        for (code, count) in &other.refused {
            *joined.refused.entry(code.clone()).or_default() += count;
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_double_when_there_are_too_many_and_lose_nothing() {
        let mut tally = Tally::new();
        for ms in 0..10_000 {
            let at = Duration::from_millis(ms);
            tally.arrived(at);
            tally.answered(Question::Book, at, at + Duration::from_millis(3));
            tally.took(2, at);
            tally.refused("NOT_ENOUGH_SEATS", at);
        }
        assert_eq!(tally.interval, Duration::from_millis(128));
        assert!(tally.intervals.len() <= INTERVALS_MAX);
        let sum = |count: fn(&Interval) -> u64| tally.intervals.iter().map(count).sum::<u64>();
        assert_eq!(sum(|interval| interval.arrived), 10_000);
        assert_eq!(sum(|interval| interval.waits.count()), 10_000);
        assert_eq!(sum(|interval| interval.seats_taken), tally.seats_taken);
        assert_eq!(sum(|interval| interval.refused.values().sum()), 10_000);
        assert_eq!(tally.last_answer, Duration::from_millis(10_002));
    }

    #[test]
    fn made_up_codes_are_counted_together() {
        let mut tally = Tally::new();
        (0..1_000).for_each(|number| tally.refused(&format!("CODE_{number}"), Duration::ZERO));
        assert_eq!(tally.refused.len(), CODES_MAX + 1);
        assert_eq!(tally.refused.values().sum::<u64>(), 1_000);
    }
}
