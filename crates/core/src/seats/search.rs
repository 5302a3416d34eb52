//! Which seats to give: best available, and alternatives to what is gone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::limits::{ALTERNATIVE_SUBSECTIONS_EXAMINED_MAX, ALTERNATIVES_MAX};
use crate::rules::{Orphans, Prefer};

use super::tree::Node;
use super::{Seat, SeatMap, SeatState, row};

/// What is looked for.
#[derive(Debug, Clone)]
pub struct Wish {
    /// How many seats; at least one.
    pub quantity: u32,
    /// In which subsections.
    pub subsections: Range<u16>,
    /// Whether seats apart will do.
    pub apart_allowed: bool,
    /// Whether single seats left over matter.
    pub orphans: Orphans,
    /// Which run of a row.
    pub prefer: Prefer,
}

/// Seats that are free, in order of subsection, row, number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// The seats.
    pub seats: Vec<Seat>,
    /// Whether all sit side by side in one row.
    pub adjacent: bool,
}

/// Why nothing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NothingFound {
    /// Fewer are free than asked for.
    NotEnough {
        /// How many are.
        available: u32,
    },
    /// Enough are free, but not side by side.
    NotAdjacent,
}

/// The best seats for a wish: side by side in the first row that fits; else, if that will do, the largest runs of
/// the first subsection that has enough; else the largest runs anywhere.
pub fn best_available(map: &SeatMap, wish: &Wish) -> Result<Pick, NothingFound> {
    let rows = map.rows_of(&wish.subsections);
    if let Some(hall_row) = map.longest_runs.first_at_least(rows.clone(), wish.quantity) {
        return Ok(side_by_side(map, wish, hall_row));
    }
    let subsections = usize::from(wish.subsections.start)..usize::from(wish.subsections.end);
    let roomy = map.available.first_at_least(subsections.clone(), wish.quantity);
    if roomy.is_none() {
        let available = map.available.sum(subsections);
        if available < wish.quantity {
            return Err(NothingFound::NotEnough { available });
        }
    }
    if !wish.apart_allowed {
        return Err(NothingFound::NotAdjacent);
    }
    let rows = match roomy {
        Some(subsection) => {
            let subsection = u16::try_from(subsection).expect("subsections are bounded");
            map.rows_of(&(subsection..subsection + 1))
        }
        None => rows,
    };
    Ok(Pick { seats: largest_runs(map, rows, wish.quantity), adjacent: false })
}

/// Up to three free sets of `wish.quantity` seats near `near`: one per row of its subsection, nearest row first,
/// then the first that fits in each other subsection, then seats apart if there is nothing else.
pub(crate) fn alternatives(map: &SeatMap, near: Seat, wish: &Wish) -> Vec<Pick> {
    let mut found = Vec::new();
    let home = map.rows_of(&(near.subsection..near.subsection + 1));
    let wanted_row = home.start + usize::from(near.row) - 1;
    let mut below = map.longest_runs.first_at_least(wanted_row..home.end, wish.quantity);
    let mut above = map.longest_runs.last_at_least(home.start..wanted_row, wish.quantity);
    while found.len() < ALTERNATIVES_MAX {
        let nearer_above = match (above, below) {
            (None, None) => break,
            (Some(above), Some(below)) => wanted_row - above <= below - wanted_row,
            (above, None) => above.is_some(),
            (None, Some(_)) => false,
        };
        let hall_row = if nearer_above { above } else { below }.expect("one of the two is there");
        if nearer_above {
            above = map.longest_runs.last_at_least(home.start..hall_row, wish.quantity);
        } else {
            below = map.longest_runs.first_at_least(hall_row + 1..home.end, wish.quantity);
        }
        let target = 2 * (i64::from(near.number) - 1);
        found.extend(run_in_row(map, wish, hall_row, |starts, _| row::nearest(starts, target)));
    }
    let mut examined = 0;
    let end = u16::try_from(map.blocks.len()).expect("subsections are bounded");
    for subsections in [0..near.subsection, near.subsection + 1..end] {
        let mut rows = map.rows_of(&subsections);
        while found.len() < ALTERNATIVES_MAX
            && examined < ALTERNATIVE_SUBSECTIONS_EXAMINED_MAX
            && let Some(hall_row) = map.longest_runs.first_at_least(rows.clone(), wish.quantity)
        {
            let (subsection, _) = map.locate(hall_row);
            let here = map.rows_of(&(subsection..subsection + 1));
            found.extend(first_run_in(map, wish, hall_row..here.end));
            rows.start = here.end;
            examined += 1;
        }
    }
    if found.is_empty() && wish.apart_allowed {
        found.extend(best_available(map, wish).ok());
    }
    found
}

/// The free seats that would be single if `picked` were taken, in order.
pub(crate) fn orphans_left(map: &SeatMap, picked: &[Seat]) -> Vec<Seat> {
    let taken = |seat: Seat| {
        !map.contains(seat) || map.state(seat) != SeatState::Available || picked.binary_search(&seat).is_ok()
    };
    let beside = |seat: Seat, step: i16| Seat { number: seat.number.saturating_add_signed(step), ..seat };
    let mut orphans: Vec<Seat> = picked
        .iter()
        .flat_map(|&seat| [beside(seat, -1), beside(seat, 1)])
        .filter(|&seat| !taken(seat) && taken(beside(seat, -1)) && taken(beside(seat, 1)))
        .collect();
    orphans.sort_unstable();
    orphans.dedup();
    orphans
}

/// Whether some `quantity` seats side by side in the subsection leave no single seat.
pub(crate) fn can_avoid_orphans(map: &SeatMap, subsection: u16, quantity: u32) -> bool {
    let wish = Wish {
        quantity,
        subsections: subsection..subsection + 1,
        apart_allowed: false,
        orphans: Orphans::Forbid,
        prefer: Prefer::Front,
    };
    first_run_in(map, &wish, map.rows_of(&wish.subsections)).is_some()
}

/// The run in the subsection of `first_fit`, the first row that fits. Rules about single seats may prefer a later
/// row of the same subsection.
fn side_by_side(map: &SeatMap, wish: &Wish, first_fit: usize) -> Pick {
    match wish.orphans {
        Orphans::Allow => {}
        Orphans::Avoid | Orphans::Forbid => {
            let (subsection, _) = map.locate(first_fit);
            let end = map.rows_of(&(subsection..subsection + 1)).end;
            if let Some(pick) = first_run_in(map, wish, first_fit..end) {
                return pick;
            }
        }
    }
    let any_run = Wish { orphans: Orphans::Allow, ..wish.clone() };
    preferred_run(map, &any_run, first_fit).expect("the first row fits")
}

/// The run of the first row in the range that has one as wished.
fn first_run_in(map: &SeatMap, wish: &Wish, rows: Range<usize>) -> Option<Pick> {
    let mut from = rows.start;
    while let Some(hall_row) = map.longest_runs.first_at_least(from..rows.end, wish.quantity) {
        let pick = preferred_run(map, wish, hall_row);
        if pick.is_some() {
            return pick;
        }
        from = hall_row + 1;
    }
    None
}

/// The run of one row that the rules prefer.
fn preferred_run(map: &SeatMap, wish: &Wish, hall_row: usize) -> Option<Pick> {
    run_in_row(map, wish, hall_row, |starts, cols| match wish.prefer {
        Prefer::Front => row::first(starts),
        Prefer::Center => row::nearest(starts, i64::from(cols) - i64::from(wish.quantity)),
    })
}

/// The run of one row that `choose` takes among all starts that the orphan rule leaves, given the row's width.
fn run_in_row(
    map: &SeatMap,
    wish: &Wish,
    hall_row: usize,
    choose: impl FnOnce(&[u64], u16) -> Option<usize>,
) -> Option<Pick> {
    let (subsection, row) = map.locate(hall_row);
    let words = map.row_words(subsection, row);
    let starts = match wish.orphans {
        Orphans::Allow => row::starts(words, wish.quantity),
        Orphans::Avoid | Orphans::Forbid => row::starts_without_orphan(words, wish.quantity),
    };
    let start = choose(&starts[..words.len()], map.size(subsection).1)?;
    let seats = seats_from(subsection, row, start, wish.quantity).collect();
    Some(Pick { seats, adjacent: true })
}

/// `quantity` seats from the largest runs of a range of rows, ties by row then seat, the last run from its left.
///
/// Where the rows with the very longest runs are enough, as in most halls that are nearly full, they are all it takes.
/// Else best-first over the tree of longest runs: a part of the hall is opened only when no run found so far is as long
/// as its longest, so the cost follows what is taken and not what is there.
fn largest_runs(map: &SeatMap, rows: Range<usize>, quantity: u32) -> Vec<Seat> {
    let mut seats = Vec::with_capacity(quantity as usize);
    let longest = map.longest_runs.largest(rows.clone());
    let mut from = rows.start;
    while let Some(hall_row) = map.longest_runs.first_at_least(from..rows.end, longest) {
        take_runs(map, hall_row, longest, quantity, &mut seats);
        if seats.len() == quantity as usize {
            return seats;
        }
        from = hall_row + 1;
    }
    seats.clear();
    let mut parts: BinaryHeap<Part> = map.longest_runs.cover(rows).into_iter().map(Part::of).collect();
    while let Some(part) = parts.pop() {
        if let Some(children) = map.longest_runs.children(&part.node) {
            parts.extend(children.map(Part::of));
            continue;
        }
        let next_longest = take_runs(map, part.node.first_index, part.longest, quantity, &mut seats);
        if seats.len() == quantity as usize {
            break;
        }
        if next_longest > 0 {
            parts.push(Part { longest: next_longest, ..part });
        }
    }
    seats.sort_unstable();
    seats
}

/// Takes the runs of exactly `length` seats of a row until there are `quantity` seats; returns the next shorter length.
fn take_runs(map: &SeatMap, hall_row: usize, length: u32, quantity: u32, seats: &mut Vec<Seat>) -> u32 {
    let (subsection, row) = map.locate(hall_row);
    let mut next_longest = 0;
    for (start, found) in row::runs(map.row_words(subsection, row)) {
        if found == length {
            let missing = quantity - u32::try_from(seats.len()).expect("quantities are bounded");
            seats.extend(seats_from(subsection, row, start, length.min(missing)));
        } else if found < length {
            next_longest = next_longest.max(found);
        }
    }
    next_longest
}

/// A part of the hall and the longest run that is still to be taken from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    longest: u32,
    node: Node,
}

impl Part {
    fn of(node: Node) -> Part {
        Part { longest: node.largest, node }
    }
}

impl Ord for Part {
    fn cmp(&self, other: &Part) -> std::cmp::Ordering {
        let rank = |part: &Part| (part.longest, Reverse(part.node.first_index));
        rank(self).cmp(&rank(other))
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

fn seats_from(subsection: u16, row: u16, start: usize, quantity: u32) -> impl Iterator<Item = Seat> {
    let first = u16::try_from(start + 1).expect("a row has at most 1,000 seats");
    let quantity = u16::try_from(quantity).expect("a row has at most 1,000 seats");
    (first..first + quantity).map(move |number| Seat { subsection, row, number })
}
