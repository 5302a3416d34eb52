//! Word arithmetic on one row of seats. Bit `p` of a row is its seat number `p + 1`; set means free.
//!
//! Bits past the last seat are always clear, so that the end of the row looks like a taken seat.

use crate::limits::ROW_WORDS_MAX;

/// A row's bits on the stack, widest row included.
pub(crate) type RowBits = [u64; ROW_WORDS_MAX];

/// The length of the longest run of free seats.
pub(crate) fn longest_run(words: &[u64]) -> u32 {
    let mut longest = 0;
    // Of the run that reaches the end of the words so far.
    let mut open = 0;
    for &word in words {
        if word == u64::MAX {
            open += 64;
            continue;
        }
        longest = longest.max(open + word.trailing_ones());
        open = word.leading_ones();
        // Most words have nothing longer than what was found.
        if starts_in_word(word, longest + 1) != 0 {
            longest = longest_run_of_word(word);
        }
    }
    longest.max(open)
}

fn longest_run_of_word(word: u64) -> u32 {
    let mut remaining = word;
    let mut longest = 0;
    while remaining != 0 {
        remaining >>= remaining.trailing_zeros();
        let run = remaining.trailing_ones();
        longest = longest.max(run);
        remaining = remaining.checked_shr(run).unwrap_or(0);
    }
    longest
}

/// Marks every position at which `quantity` free seats start.
pub(crate) fn starts(words: &[u64], quantity: u32) -> RowBits {
    let mut bits = [0; ROW_WORDS_MAX];
    if let [word] = words {
        bits[0] = starts_in_word(*word, quantity);
        return bits;
    }
    bits[..words.len()].copy_from_slice(words);
    let mut length = 1;
    while length < quantity {
        let step = length.min(quantity - length);
        bits = both(&bits, &towards_left(&bits[..words.len()], step as usize));
        length += step;
    }
    bits
}

fn starts_in_word(word: u64, quantity: u32) -> u64 {
    let mut bits = word;
    let mut missing = quantity - 1;
    let mut step = 1;
    while missing > 0 && bits != 0 {
        step = missing.min(step);
        bits &= bits.checked_shr(step).unwrap_or(0);
        missing -= step;
        step *= 2;
    }
    bits
}

/// Those of [`starts`] that leave no single free seat beside the run.
pub(crate) fn starts_without_orphan(words: &[u64], quantity: u32) -> RowBits {
    let mut clean = starts(words, quantity);
    let before = towards_right(words, 1);
    let two_before = towards_right(words, 2);
    let after = towards_left(words, quantity as usize);
    let two_after = towards_left(words, quantity as usize + 1);
    for (index, clean) in clean.iter_mut().enumerate() {
        let left_single = before[index] & !two_before[index];
        let right_single = after[index] & !two_after[index];
        *clean &= !(left_single | right_single);
    }
    clean
}

/// The lowest marked position.
pub(crate) fn first(bits: &[u64]) -> Option<usize> {
    let word = bits.iter().position(|&word| word != 0)?;
    Some(word * 64 + bits[word].trailing_zeros() as usize)
}

/// The marked position `p` for which `2 * p` is nearest `twice_target`; of two equally near the lower.
pub(crate) fn nearest(bits: &[u64], twice_target: i64) -> Option<usize> {
    positions(bits).min_by_key(|&position| {
        let twice = i64::try_from(2 * position).expect("a row has at most 1,000 seats");
        ((twice - twice_target).abs(), position)
    })
}

/// All maximal runs of free seats, from the left: where each starts and how long it is.
pub(crate) fn runs(words: &[u64]) -> impl Iterator<Item = (usize, u32)> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = next_position(words, from, false)?;
        let end = next_position(words, start, true).unwrap_or(words.len() * 64);
        from = end;
        Some((start, u32::try_from(end - start).expect("a row has at most 1,000 seats")))
    })
}

/// The first position at or after `from` that is free, or (`taken`) that is not.
fn next_position(words: &[u64], from: usize, taken: bool) -> Option<usize> {
    let flip = if taken { u64::MAX } else { 0 };
    let mut index = from / 64;
    let mut word = (words.get(index)? ^ flip) & u64::MAX << (from % 64);
    while word == 0 {
        index += 1;
        word = words.get(index)? ^ flip;
    }
    Some(index * 64 + word.trailing_zeros() as usize)
}

pub(crate) fn positions(bits: &[u64]) -> impl Iterator<Item = usize> + use<> {
    let mut words = [0; ROW_WORDS_MAX];
    words[..bits.len()].copy_from_slice(bits);
    words.into_iter().enumerate().flat_map(|(index, word)| {
        let mut remaining = word;
        std::iter::from_fn(move || {
            let bit = (remaining != 0).then(|| remaining.trailing_zeros())?;
            remaining &= remaining - 1;
            Some(index * 64 + bit as usize)
        })
    })
}

/// Position `p` of the result is position `p + seats` of the row: what lies that far to the right of each seat.
fn towards_left(words: &[u64], seats: usize) -> RowBits {
    let (whole, part) = (seats / 64, seats % 64);
    let word = |index: usize| words.get(index).copied().unwrap_or(0);
    let mut moved = [0; ROW_WORDS_MAX];
    for (index, moved) in moved.iter_mut().enumerate().take(words.len()) {
        let (low, high) = (word(index + whole), word(index + whole + 1));
        *moved = if part == 0 { low } else { low >> part | high << (64 - part) };
    }
    moved
}

/// Position `p` of the result is position `p - seats` of the row, for one or two seats.
fn towards_right(words: &[u64], seats: u32) -> RowBits {
    let mut moved = [0; ROW_WORDS_MAX];
    let mut carried = 0;
    for (moved, &word) in moved.iter_mut().zip(words) {
        *moved = word << seats | carried;
        carried = word >> (64 - seats);
    }
    moved
}

/// The positions marked in both.
fn both(one: &RowBits, other: &RowBits) -> RowBits {
    std::array::from_fn(|index| one[index] & other[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows in words: `.` is free, anything else taken.
    fn row(picture: &str) -> Vec<u64> {
        let mut words = vec![0u64; picture.len().div_ceil(64)];
        for (position, seat) in picture.bytes().enumerate() {
            if seat == b'.' {
                words[position / 64] |= 1 << (position % 64);
            }
        }
        words
    }

    fn free_at(picture: &str, position: usize) -> bool {
        picture.as_bytes().get(position) == Some(&b'.')
    }

    fn pictures() -> Vec<String> {
        let mut pictures: Vec<String> =
            ["x", ".", "..", ".x.", "x..x...", "...x..", ".....", "xx"].map(String::from).to_vec();
        for width in [63, 64, 65, 127, 128, 129, 200, 1_000] {
            pictures.push(".".repeat(width));
            pictures.push("x".repeat(width));
            pictures.push(".x".repeat(width / 2));
            pictures.push(format!("{}x{}", ".".repeat(width / 3), ".".repeat(width - width / 3 - 1)));
            // A fixed scramble, so that runs of many lengths cross word borders.
            let mut state = width as u64;
            let scrambled = (0..width).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if state >> 60 < 13 { '.' } else { 'x' }
            });
            pictures.push(scrambled.collect());
        }
        pictures
    }

    #[test]
    fn runs_and_starts_agree_with_a_plain_scan() {
        for picture in pictures() {
            let words = row(&picture);
            let mut expected = Vec::new();
            for position in 0..picture.len() {
                if free_at(&picture, position) && (position == 0 || !free_at(&picture, position - 1)) {
                    let length = (position..picture.len()).take_while(|&at| free_at(&picture, at)).count();
                    expected.push((position, u32::try_from(length).unwrap()));
                }
            }
            assert_eq!(runs(&words).collect::<Vec<_>>(), expected, "{picture}");
            let longest = expected.iter().map(|run| run.1).max().unwrap_or(0);
            assert_eq!(longest_run(&words), longest, "{picture}");
            for quantity in [1, 2, 3, 4, 7, 63, 64, 65, 100, 999, 1_000] {
                let plain: Vec<usize> = (0..picture.len())
                    .filter(|&start| (start..start + quantity as usize).all(|at| free_at(&picture, at)))
                    .collect();
                let marked = starts(&words, quantity);
                assert_eq!(positions(&marked).collect::<Vec<_>>(), plain, "{quantity} in {picture}");
                assert_eq!(first(&marked), plain.first().copied());
                let clean: Vec<usize> = plain
                    .iter()
                    .copied()
                    .filter(|&start| {
                        let left = start > 0 && free_at(&picture, start - 1);
                        let left_pair = start > 1 && free_at(&picture, start - 2);
                        let end = start + quantity as usize;
                        let right = free_at(&picture, end);
                        let right_pair = free_at(&picture, end + 1);
                        (!left || left_pair) && (!right || right_pair)
                    })
                    .collect();
                let marked = starts_without_orphan(&words, quantity);
                assert_eq!(positions(&marked).collect::<Vec<_>>(), clean, "{quantity} in {picture}");
            }
        }
    }

    #[test]
    fn the_nearest_start_is_the_lower_of_two_equally_near() {
        let marked = row("..x.x..");
        for (twice_target, expected) in
            [(-9, 0), (0, 0), (3, 1), (4, 1), (5, 3), (7, 3), (8, 3), (9, 5), (99, 6)]
        {
            assert_eq!(nearest(&marked, twice_target), Some(expected), "target {twice_target}");
        }
        assert_eq!(nearest(&row("xx"), 0), None);
    }
}
