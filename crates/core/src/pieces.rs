//! A list that grows without being copied.

use std::ops::{Index, IndexMut};

/// A list to whose end is added, and whose first items are let go. It stands in pieces of equal size: a list in one piece is copied
/// whenever it has outgrown its room, and with a million bookings everybody would wait tens of milliseconds for that.
#[derive(Debug, Clone)]
pub struct Pieces<T> {
    /// All but the last have [`PIECE_ITEMS`].
    pieces: Vec<Vec<T>>,
    /// How many of the first piece were let go. They are gone with the last of it.
    gone: usize,
    len: usize,
}

/// Ten to a hundred kilobytes: small enough that nobody notices when one is made or given back, large enough that they are few.
const PIECE_ITEMS: usize = 1_024;

impl<T> Pieces<T> {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an item to the end.
    pub fn push(&mut self, item: T) {
        let end = self.gone + self.len;
        if end == self.pieces.len() * PIECE_ITEMS {
            // Most lists stay short: the first piece grows as it is needed.
            let room = if end == 0 { 0 } else { PIECE_ITEMS };
            self.pieces.push(Vec::with_capacity(room));
        }
        self.pieces.last_mut().expect("there is room").push(item);
        self.len += 1;
    }

    /// Lets go of the first item, if there is one. Its memory is given back with the rest of its piece.
    pub(crate) fn let_go(&mut self) {
        if self.len <= 1 {
            *self = Pieces::default();
            return;
        }
        (self.gone, self.len) = (self.gone + 1, self.len - 1);
        if self.gone == PIECE_ITEMS {
            self.pieces.remove(0);
            self.gone = 0;
        }
    }

    /// The first item.
    pub(crate) fn first(&self) -> Option<&T> {
        (!self.is_empty()).then(|| &self[0])
    }

    /// The last item.
    pub(crate) fn last(&self) -> Option<&T> {
        self.len.checked_sub(1).map(|last| &self[last])
    }

    /// All items in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> + DoubleEndedIterator {
        (0..self.len).map(|index| &self[index])
    }
}

impl<T> Default for Pieces<T> {
    fn default() -> Pieces<T> {
        Pieces { pieces: Vec::new(), gone: 0, len: 0 }
    }
}

impl<T> Index<usize> for Pieces<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        let place = self.gone + index;
        &self.pieces[place / PIECE_ITEMS][place % PIECE_ITEMS]
    }
}

impl<T> IndexMut<usize> for Pieces<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        let place = self.gone + index;
        &mut self.pieces[place / PIECE_ITEMS][place % PIECE_ITEMS]
    }
}

impl<T> FromIterator<T> for Pieces<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Pieces<T> {
        let mut pieces = Pieces::default();
        items.into_iter().for_each(|item| pieces.push(item));
        pieces
    }
}

// Where the pieces end is not part of what is there.
impl<T: PartialEq> PartialEq for Pieces<T> {
    fn eq(&self, other: &Pieces<T>) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn a_list_in_pieces_agrees_with_a_plain_one_whatever_is_added_and_let_go() {
        let (mut pieces, mut plain) = (Pieces::default(), VecDeque::new());
        let mut next = 0u32;
        // Longer and longer, then empty, and from there on again.
        for (added, gone) in [(1, 1), (1_023, 0), (1, 500), (3_000, 2_000), (0, 1_524), (5, 9), (2_050, 3)] {
            for _ in 0..added {
                pieces.push(next);
                plain.push_back(next);
                next += 1;
            }
            for _ in 0..gone {
                pieces.let_go();
                plain.pop_front();
            }
            assert_eq!((pieces.len(), pieces.is_empty()), (plain.len(), plain.is_empty()));
            assert_eq!((pieces.first(), pieces.last()), (plain.front(), plain.back()));
            assert!(pieces.iter().eq(&plain), "after {added} and {gone}");
            assert!(pieces.iter().rev().eq(plain.iter().rev()));
            for (index, item) in plain.iter_mut().enumerate() {
                *item += 1;
                pieces[index] += 1;
                assert_eq!(pieces[index], *item);
            }
        }
        assert!(plain.len() > PIECE_ITEMS, "there are several pieces");
    }

    #[test]
    fn lists_are_the_same_wherever_their_pieces_end() {
        let mut rest: Pieces<usize> = (0..3_000).collect();
        (0..1_500).for_each(|_| rest.let_go());
        assert_eq!(rest, (1_500..3_000).collect());
        assert_ne!(rest, (1_500..3_001).collect());
    }

    #[test]
    fn what_is_let_go_gives_its_room_back_piece_by_piece() {
        let mut pieces: Pieces<usize> = (0..PIECE_ITEMS * 2 + 2).collect();
        for expected in [2, 1] {
            (0..PIECE_ITEMS).for_each(|_| pieces.let_go());
            assert_eq!(pieces.pieces.len(), expected);
        }
        pieces.let_go();
        assert_eq!((pieces.len(), pieces.pieces.len()), (1, 1));
        pieces.let_go();
        assert_eq!((pieces.len(), pieces.pieces.len()), (0, 0), "the last one takes its piece along");
    }
}
