//! The seats of an event: who sits where is in the bookings; here is only what is free.
//!
//! A hall is a list of subsections of rows x cols, one after the other in the order they were declared. Each row is
//! a few words of bits. Over all rows of the hall stands a tree of the longest free run per row, and over all
//! subsections a tree of their free seats: a search asks the trees for the first row that fits and touches no other.

pub(crate) mod row;
pub mod search;
mod tree;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use tree::MaxTree;

/// One seat: the subsection's place in the order of declaration, and row and number counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Seat {
    /// Index into [`crate::event::Event::subsections`].
    pub subsection: u16,
    /// Row, from the front, counted from one.
    pub row: u16,
    /// Seat in the row, from the left, counted from one.
    pub number: u16,
}

/// What a seat is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SeatState {
    /// Can be booked.
    Available,
    /// In a booking on hold.
    Held,
    /// In a confirmed or redeemed booking.
    Sold,
    /// A house seat.
    Blocked,
}

/// How many units are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Can be booked.
    pub available: u32,
    /// In bookings on hold.
    pub held: u32,
    /// In confirmed or redeemed bookings.
    pub sold: u32,
    /// House seats.
    pub blocked: u32,
}

impl Counts {
    /// All units.
    pub fn total(&self) -> u32 {
        self.available + self.held + self.sold + self.blocked
    }

    /// The counts after `moved` units changed from one state to another.
    ///
    /// # Panics
    /// If fewer were in the first state: the counters would no longer match the units.
    pub(crate) fn shifted(mut self, moved: u32, from: SeatState, to: SeatState) -> Counts {
        let source = self.of_mut(from);
        *source = source.checked_sub(moved).expect("counters match the units");
        *self.of_mut(to) += moved;
        self
    }

    fn of_mut(&mut self, state: SeatState) -> &mut u32 {
        match state {
            SeatState::Available => &mut self.available,
            SeatState::Held => &mut self.held,
            SeatState::Sold => &mut self.sold,
            SeatState::Blocked => &mut self.blocked,
        }
    }

    /// The counts of two parts together.
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            available: self.available + other.available,
            held: self.held + other.held,
            sold: self.sold + other.sold,
            blocked: self.blocked + other.blocked,
        }
    }
}

/// The seats of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatMap {
    blocks: Vec<Block>,
    free: Vec<u64>,
    sold: Vec<u64>,
    blocked: Vec<u64>,
    /// Per row of the hall, the length of its longest free run.
    longest_runs: MaxTree,
    /// Per subsection, how many seats are available.
    available: MaxTree,
}

/// The seats of one row: see [`SeatMap::row_bits`].
#[derive(Debug, Clone, Copy)]
pub struct RowOfBits<'a> {
    /// Available.
    pub free: &'a [u64],
    /// Sold.
    pub sold: &'a [u64],
    /// Blocked.
    pub blocked: &'a [u64],
}

/// One subsection's place in the lists of the hall.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    rows: u16,
    cols: u16,
    first_row: usize,
    first_word: usize,
    words_per_row: usize,
    held: u32,
    sold: u32,
    blocked: u32,
}

impl SeatMap {
    /// A hall with every seat free. `sizes` has the rows and cols of each subsection.
    pub(crate) fn new(sizes: &[(u16, u16)]) -> SeatMap {
        let mut blocks = Vec::with_capacity(sizes.len());
        let mut free = Vec::new();
        let mut longest_runs = Vec::new();
        let mut available = Vec::with_capacity(sizes.len());
        for &(rows, cols) in sizes {
            let words_per_row = usize::from(cols).div_ceil(64);
            blocks.push(Block {
                rows,
                cols,
                first_row: longest_runs.len(),
                first_word: free.len(),
                words_per_row,
                held: 0,
                sold: 0,
                blocked: 0,
            });
            available.push(u32::from(rows) * u32::from(cols));
            for _ in 0..rows {
                longest_runs.push(u32::from(cols));
                let spare = words_per_row * 64 - usize::from(cols);
                free.extend(std::iter::repeat_n(u64::MAX, words_per_row - 1));
                free.push(u64::MAX >> spare);
            }
        }
        SeatMap {
            blocks,
            sold: vec![0; free.len()],
            blocked: vec![0; free.len()],
            free,
            longest_runs: MaxTree::new(&longest_runs),
            available: MaxTree::new(&available),
        }
    }

    /// Whether a subsection has such a seat.
    pub fn contains(&self, seat: Seat) -> bool {
        let Some(block) = self.blocks.get(usize::from(seat.subsection)) else { return false };
        (1..=block.rows).contains(&seat.row) && (1..=block.cols).contains(&seat.number)
    }

    /// What a seat is at the moment.
    ///
    /// # Panics
    /// If there is no such seat.
    pub fn state(&self, seat: Seat) -> SeatState {
        let (word, mask) = self.bit(seat);
        self.state_of(word, mask)
    }

    fn state_of(&self, word: usize, mask: u64) -> SeatState {
        if self.free[word] & mask != 0 {
            SeatState::Available
        } else if self.sold[word] & mask != 0 {
            SeatState::Sold
        } else if self.blocked[word] & mask != 0 {
            SeatState::Blocked
        } else {
            SeatState::Held
        }
    }

    /// The counts of one subsection.
    ///
    /// # Panics
    /// If there is no such subsection.
    pub fn counts(&self, subsection: u16) -> Counts {
        let block = &self.blocks[usize::from(subsection)];
        Counts {
            available: self.available.get(usize::from(subsection)),
            held: block.held,
            sold: block.sold,
            blocked: block.blocked,
        }
    }

    /// Rows and cols of one subsection.
    ///
    /// # Panics
    /// If there is no such subsection.
    pub fn size(&self, subsection: u16) -> (u16, u16) {
        let block = &self.blocks[usize::from(subsection)];
        (block.rows, block.cols)
    }

    /// How many seats of one row are available; the row is counted from one.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn available_in_row(&self, subsection: u16, row: u16) -> u32 {
        self.row_words(subsection, row).iter().map(|word| word.count_ones()).sum()
    }

    /// The seats of one row, a bit each, the first one in the lowest bit of the first word; the row is counted from one. A seat that is in
    /// none of them is held, or is not there.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_bits(&self, subsection: u16, row: u16) -> RowOfBits<'_> {
        let words = self.words_of(subsection, row);
        RowOfBits {
            free: &self.free[words.clone()],
            sold: &self.sold[words.clone()],
            blocked: &self.blocked[words],
        }
    }

    /// The blocked seats of one subsection, in order.
    ///
    /// # Panics
    /// If there is no such subsection.
    pub fn blocked(&self, subsection: u16) -> impl Iterator<Item = Seat> + '_ {
        let block = &self.blocks[usize::from(subsection)];
        let end = block.first_word + usize::from(block.rows) * block.words_per_row;
        let rows = self.blocked[block.first_word..end].chunks_exact(block.words_per_row);
        (1u16..).zip(rows).flat_map(move |(row, words)| {
            row::positions(words).map(move |position| {
                let number = u16::try_from(position + 1).expect("a row has at most 1,000 seats");
                Seat { subsection, row, number }
            })
        })
    }

    /// Moves seats from one state to another; cheapest in order of subsection and row.
    ///
    /// # Panics
    /// If a seat is not in the state it should be in: somebody's claim would be lost.
    pub(crate) fn transfer(&mut self, seats: impl Iterator<Item = Seat>, from: SeatState, to: SeatState) {
        let mut row: Option<(Seat, u32)> = None;
        for seat in seats {
            let (word, mask) = self.bit(seat);
            assert_eq!(self.state_of(word, mask), from, "{seat:?} is not {from:?}");
            if let Some(bits) = self.bits_mut(from) {
                bits[word] &= !mask;
            }
            if let Some(bits) = self.bits_mut(to) {
                bits[word] |= mask;
            }
            row = match row {
                Some((first, moved)) if (first.subsection, first.row) == (seat.subsection, seat.row) => {
                    Some((first, moved + 1))
                }
                Some((first, moved)) => {
                    self.settle(first, moved, from, to);
                    Some((seat, 1))
                }
                None => Some((seat, 1)),
            };
        }
        if let Some((first, moved)) = row {
            self.settle(first, moved, from, to);
        }
    }

    /// The bitmap of a state; held is what is in none of them.
    fn bits_mut(&mut self, state: SeatState) -> Option<&mut Vec<u64>> {
        match state {
            SeatState::Available => Some(&mut self.free),
            SeatState::Held => None,
            SeatState::Sold => Some(&mut self.sold),
            SeatState::Blocked => Some(&mut self.blocked),
        }
    }

    /// Brings counters and the longest run up to date after `moved` seats of one row changed.
    fn settle(&mut self, seat: Seat, moved: u32, from: SeatState, to: SeatState) {
        let counts = self.counts(seat.subsection).shifted(moved, from, to);
        let block = &mut self.blocks[usize::from(seat.subsection)];
        (block.held, block.sold, block.blocked) = (counts.held, counts.sold, counts.blocked);
        if from == SeatState::Available || to == SeatState::Available {
            let hall_row = block.first_row + usize::from(seat.row) - 1;
            self.available.set(usize::from(seat.subsection), counts.available);
            let longest = row::longest_run(self.row_words(seat.subsection, seat.row));
            self.longest_runs.set(hall_row, longest);
        }
    }

    fn bit(&self, seat: Seat) -> (usize, u64) {
        let block = &self.blocks[usize::from(seat.subsection)];
        assert!(self.contains(seat), "{seat:?} is outside its subsection");
        let position = usize::from(seat.number) - 1;
        let word = block.first_word + (usize::from(seat.row) - 1) * block.words_per_row + position / 64;
        (word, 1 << (position % 64))
    }

    fn row_words(&self, subsection: u16, row: u16) -> &[u64] {
        &self.free[self.words_of(subsection, row)]
    }

    fn words_of(&self, subsection: u16, row: u16) -> Range<usize> {
        let block = &self.blocks[usize::from(subsection)];
        assert!((1..=block.rows).contains(&row), "row {row} is outside subsection {subsection}");
        let start = block.first_word + (usize::from(row) - 1) * block.words_per_row;
        start..start + block.words_per_row
    }

    /// The rows of the hall that belong to a range of subsections.
    fn rows_of(&self, subsections: &Range<u16>) -> Range<usize> {
        if subsections.is_empty() {
            return 0..0;
        }
        let last = &self.blocks[usize::from(subsections.end) - 1];
        self.blocks[usize::from(subsections.start)].first_row..last.first_row + usize::from(last.rows)
    }

    /// The subsection and row (from one) of a row of the hall.
    fn locate(&self, hall_row: usize) -> (u16, u16) {
        let subsection = self.blocks.partition_point(|block| block.first_row <= hall_row) - 1;
        let row = hall_row - self.blocks[subsection].first_row + 1;
        (
            u16::try_from(subsection).expect("subsections are bounded"),
            u16::try_from(row).expect("rows are bounded"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_change_state_and_the_counters_follow() {
        let mut map = SeatMap::new(&[(2, 3), (1, 70)]);
        let seat = |subsection, row, number| Seat { subsection, row, number };
        map.transfer(
            [seat(0, 1, 2), seat(0, 2, 1), seat(1, 1, 66)].into_iter(),
            SeatState::Available,
            SeatState::Held,
        );
        map.transfer([seat(0, 2, 1)].into_iter(), SeatState::Held, SeatState::Sold);
        map.transfer([seat(1, 1, 70)].into_iter(), SeatState::Available, SeatState::Blocked);
        assert_eq!(map.counts(0), Counts { available: 4, held: 1, sold: 1, blocked: 0 });
        assert_eq!(map.counts(1), Counts { available: 68, held: 1, sold: 0, blocked: 1 });
        assert_eq!(map.counts(0).total(), 6);
        assert_eq!(map.state(seat(0, 1, 2)), SeatState::Held);
        assert_eq!(map.state(seat(0, 2, 1)), SeatState::Sold);
        assert_eq!(map.state(seat(1, 1, 70)), SeatState::Blocked);
        assert_eq!(map.state(seat(1, 1, 69)), SeatState::Available);
        assert_eq!(
            (map.available_in_row(0, 1), map.available_in_row(0, 2), map.available_in_row(1, 1)),
            (2, 2, 68)
        );
        assert_eq!((0..3).map(|row| map.longest_runs.get(row)).collect::<Vec<_>>(), [1, 2, 65]);
        for outside in [seat(0, 0, 1), seat(0, 3, 1), seat(0, 1, 0), seat(0, 1, 4), seat(2, 1, 1)] {
            assert!(!map.contains(outside), "{outside:?}");
        }
    }

    #[test]
    #[should_panic(expected = "is not Available")]
    fn taking_a_taken_seat_is_a_bug() {
        let mut map = SeatMap::new(&[(1, 1)]);
        let seat = Seat { subsection: 0, row: 1, number: 1 };
        map.transfer([seat].into_iter(), SeatState::Available, SeatState::Held);
        map.transfer([seat].into_iter(), SeatState::Available, SeatState::Held);
    }
}
