//! Finds where in a list something stands, by its key.

use std::hash::{BuildHasher, Hash};

use foldhash::quality::RandomState;

use crate::limits::{BOOKINGS_PER_INVENTORY_MAX, KEYS_PER_INVENTORY_MAX};

/// From keys to places in a list. The keys stand in the list only: an index costs eight bytes a slot, and growing it
/// touches nothing else. Each has a seed of its own, which makes it hard to choose keys that collide.
///
/// A slot is a hash above a place; zero is empty. A key stands in the slot that the highest bits of its hash say, or in the
/// first that is free after it: so one cold cache line is all that finding and adding a key costs, and the slots of a
/// table twice the size come in the same order.
///
/// A large table grows a little with each key that is added, so that nobody waits until all of it has moved: first the pages of the
/// next one are made, then the keys are moved there, and meanwhile they are looked for in both. If no more are added, both stay.
#[derive(Debug, Clone, Default)]
pub struct Index {
    seed: RandomState,
    /// Their number is a power of two, or zero.
    slots: Vec<u64>,
    keys: usize,
    leaving: Leaving,
    /// As much as was made of the table to which the keys will be moved next.
    next: Vec<u64>,
}

/// A table whose keys are being moved to the one twice its size.
#[derive(Debug, Clone, Default)]
struct Leaving {
    /// Empty if there is no such table. So are slots that were moved.
    slots: Vec<u64>,
    /// The slot that is moved next. Runs of keys are moved whole, so it is an empty one until somebody goes on.
    at: usize,
    /// How many slots have not been moved.
    to_move: usize,
}

/// Places are below this. Bookings and keys of an inventory are bounded by less.
pub const PLACES: u32 = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 25;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

const _: () = assert!(BOOKINGS_PER_INVENTORY_MAX < PLACES as usize);
const _: () = assert!(KEYS_PER_INVENTORY_MAX < PLACES as usize);

const EMPTY: u64 = 0;
/// Of eight slots so many may be taken before there are twice as many.
const TAKEN_OF_EIGHT_MAX: usize = 6;
const SLOTS_MIN: usize = 8;
const SLOTS_OF_A_PAGE: usize = 4096 / size_of::<u64>();
/// A table with more slots than this is moved a little at a time. Moving fewer takes some ten microseconds.
const MOVED_AT_ONCE_SLOTS_MAX: usize = 4_096;
/// So many slots are moved for each key that is added, and the rest of the run of keys that they end in. Both tables are there for
/// at most a twelfth of the keys that it takes to fill the larger one.
const MOVED_SLOTS_MIN: usize = 16;
/// The next table is made when one of so many of the slots is left to be taken: one page for each key, so that half of them are enough.
const MADE_AHEAD: usize = 128;

const _: () = assert!(SLOTS_OF_A_PAGE / 2 > MADE_AHEAD, "all pages are made in time");
const _: () = assert!(MOVED_AT_ONCE_SLOTS_MAX > MADE_AHEAD);

impl Index {
    /// Room for so many keys.
    pub fn with_capacity(keys: usize) -> Index {
        let mut index = Index::default();
        if keys > 0 {
            let slots = (keys * 8).div_ceil(TAKEN_OF_EIGHT_MAX);
            index.slots = vec![EMPTY; slots.next_power_of_two().max(SLOTS_MIN)];
        }
        index
    }

    /// How many keys it knows.
    pub(crate) fn len(&self) -> usize {
        self.keys
    }

    /// The place of a key. `is_at` says whether it stands at a place; it is asked about few others.
    pub fn find<K: Hash + ?Sized>(&self, key: &K, is_at: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = self.hash(key);
        place_in(&self.slots, hash, &is_at).or_else(|| place_in(&self.leaving.slots, hash, &is_at))
    }

    /// Reads the slots in which a key would stand, so that they are in the cache when the key is looked for.
    pub fn warm<K: Hash + ?Sized>(&self, key: &K) {
        let hash = self.hash(key);
        for slots in [&self.slots, &self.leaving.slots] {
            if !slots.is_empty() {
                std::hint::black_box(slots[home(slots, hash)]);
            }
        }
    }

    /// The place of a key; if it is not there, it is added and leads to `place` from now on.
    pub fn find_or_insert<K: Hash + ?Sized>(
        &mut self,
        key: &K,
        place: u32,
        is_at: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        assert!(place < PLACES, "lists are bounded");
        self.make_room();
        let hash = self.hash(key);
        let at = look(&self.slots, hash, &is_at);
        let slot = self.slots[at];
        if slot != EMPTY {
            return Some(place_of(slot));
        }
        let found = place_in(&self.leaving.slots, hash, &is_at);
        if found.is_none() {
            self.slots[at] = hash | u64::from(place);
            self.keys += 1;
        }
        found
    }

    /// Adds a key that is not there yet.
    pub fn insert<K: Hash + ?Sized>(&mut self, key: &K, place: u32) {
        self.find_or_insert(key, place, |_| false);
    }

    /// Removes a key if it leads to `place`.
    pub fn remove<K: Hash + ?Sized>(&mut self, key: &K, place: u32) {
        let hash = self.hash(key);
        if remove_from(&mut self.slots, hash, place) || remove_from(&mut self.leaving.slots, hash, place) {
            self.keys -= 1;
        }
    }

    /// Sees to it that a key can be added, and does a part of what the next larger table needs.
    fn make_room(&mut self) {
        if !self.leaving.slots.is_empty() {
            self.move_on(MOVED_SLOTS_MIN);
        }
        let slots = self.slots.len();
        let free = (slots / 8 * TAKEN_OF_EIGHT_MAX).saturating_sub(self.keys);
        if free == 0 {
            self.grow();
        } else if slots > MOVED_AT_ONCE_SLOTS_MAX && free < slots / MADE_AHEAD {
            make_page(&mut self.next, slots * 2);
        }
    }

    fn grow(&mut self) {
        // Long done, or there would be no keys for a table of this size.
        self.move_on(usize::MAX);
        let twice = (self.slots.len() * 2).max(SLOTS_MIN);
        let mut next = std::mem::take(&mut self.next);
        next.resize(twice, EMPTY);
        let slots = std::mem::replace(&mut self.slots, next);
        // Behind an empty slot a run of keys begins, or another one.
        let at = slots.iter().position(|&slot| slot == EMPTY).unwrap_or_default();
        let at_once = slots.len() <= MOVED_AT_ONCE_SLOTS_MAX;
        self.leaving = Leaving { at, to_move: slots.len(), slots };
        self.move_on(if at_once { usize::MAX } else { MOVED_SLOTS_MIN });
    }

    /// Moves the keys of so many slots, and of those after them up to an empty one: a key is looked for from its own slot on, and what
    /// stands between it and that slot must not be moved before it.
    fn move_on(&mut self, slots_min: usize) {
        let Leaving { slots, at, to_move } = &mut self.leaving;
        let mut moved = 0;
        while *to_move > 0 && (moved < slots_min || slots[*at] != EMPTY) {
            let slot = std::mem::replace(&mut slots[*at], EMPTY);
            if slot != EMPTY {
                let free = look(&self.slots, slot, |_| false);
                self.slots[free] = slot;
            }
            *at = after(slots, *at);
            *to_move -= 1;
            moved += 1;
        }
        if *to_move == 0 {
            *slots = Vec::new();
        }
    }

    /// In the bits of a slot above the place. One of them is always set, so that no slot is taken for an empty one.
    fn hash<K: Hash + ?Sized>(&self, key: &K) -> u64 {
        self.seed.hash_one(key) & !PLACE_MASK | 1 << PLACE_BITS
    }
}

/// Makes another page of a table that will have so many slots, if there is one to be made. Memory that nobody has used costs when it is
/// touched for the first time, and twice as much if it is read before it is written.
fn make_page(next: &mut Vec<u64>, slots: usize) {
    next.reserve_exact(slots - next.len());
    next.resize(slots.min(next.len() + SLOTS_OF_A_PAGE), EMPTY);
}

/// The place of a key in a table, or in none.
fn place_in(slots: &[u64], hash: u64, is_at: impl Fn(u32) -> bool) -> Option<u32> {
    if slots.is_empty() {
        return None;
    }
    let slot = slots[look(slots, hash, is_at)];
    (slot != EMPTY).then(|| place_of(slot))
}

/// The slot in which a key stands, or the empty one in which it would.
fn look(slots: &[u64], hash: u64, is_at: impl Fn(u32) -> bool) -> usize {
    let mut at = home(slots, hash);
    loop {
        let slot = slots[at];
        if slot == EMPTY || (slot & !PLACE_MASK == hash && is_at(place_of(slot))) {
            return at;
        }
        at = after(slots, at);
    }
}

/// Removes a key that leads to `place`; says whether it was there.
fn remove_from(slots: &mut [u64], hash: u64, place: u32) -> bool {
    if slots.is_empty() {
        return false;
    }
    let mut hole = look(slots, hash, |other| other == place);
    if slots[hole] == EMPTY {
        return false;
    }
    // Whoever stands behind the hole and could stand in it moves up, so that nobody is looked for behind an empty slot.
    let mut at = hole;
    loop {
        at = after(slots, at);
        let slot = slots[at];
        if slot == EMPTY {
            break;
        }
        if distance(slots, home(slots, slot), at) >= distance(slots, hole, at) {
            slots[hole] = slot;
            hole = at;
        }
    }
    slots[hole] = EMPTY;
    true
}

fn home(slots: &[u64], hash: u64) -> usize {
    (hash >> (u64::BITS - slots.len().trailing_zeros())) as usize
}

fn after(slots: &[u64], at: usize) -> usize {
    (at + 1) & (slots.len() - 1)
}

/// How many steps it is from one slot to another.
fn distance(slots: &[u64], from: usize, to: usize) -> usize {
    to.wrapping_sub(from) & (slots.len() - 1)
}

fn place_of(slot: u64) -> u32 {
    (slot & PLACE_MASK) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lead_to_their_places_until_they_are_removed() {
        let list: Vec<u64> = (0..1_000).map(|number| number * 7).collect();
        let mut index = Index::default();
        let find = |index: &Index, key: u64| index.find(&key, |place| list[place as usize] == key);
        for (place, key) in (0..).zip(&list) {
            assert_eq!(find(&index, *key), None);
            index.insert(key, place);
        }
        assert_eq!((index.len(), find(&index, 21), find(&index, 22)), (1_000, Some(3), None));
        index.remove(&21u64, 4);
        assert_eq!((index.len(), find(&index, 21)), (1_000, Some(3)), "the key leads to another place");
        index.remove(&21u64, 3);
        index.remove(&21u64, 3);
        assert_eq!((index.len(), find(&index, 21)), (999, None));
        for (place, key) in (0..).zip(&list).skip(4) {
            assert_eq!(find(&index, *key), Some(place));
        }
    }

    #[test]
    fn a_key_is_added_once() {
        let mut index = Index::with_capacity(1);
        assert_eq!(index.find_or_insert("ann", 7, |place| place == 7), None);
        assert_eq!(index.find_or_insert("ann", 8, |place| place == 7), Some(7));
        assert_eq!(
            (index.len(), index.find("ann", |_| true), index.find("bob", |_| true)),
            (1, Some(7), None)
        );
    }

    /// In small and crowded tables, so that many keys stand behind others and some behind the last slot.
    #[test]
    fn an_index_agrees_with_a_plain_list_whatever_is_added_and_removed() {
        let mut state = 11u64;
        for capacity in [0, 1, 6, 12, 40] {
            let mut index = Index::with_capacity(capacity);
            let room = index.slots.len();
            let mut places: Vec<Option<u32>> = vec![None; 40];
            for step in 0..20_000u32 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let key = (state >> 33) as usize % 40;
                let place = step % PLACES;
                match places[key] {
                    Some(old) => {
                        index.remove(&key, old);
                        places[key] = None;
                    }
                    None if capacity == 0 || places.iter().flatten().count() < capacity => {
                        index.insert(&key, place);
                        places[key] = Some(place);
                    }
                    None => {}
                }
                assert_eq!(index.len(), places.iter().flatten().count());
                for (key, place) in places.iter().enumerate() {
                    assert_eq!(index.find(&key, |it| places[key] == Some(it)), *place, "key {key}");
                }
            }
            assert!(capacity == 0 || index.slots.len() == room, "there was room for {capacity}");
        }
    }

    /// Through several tables that are left a little at a time, with keys removed and looked for meanwhile.
    #[test]
    fn a_large_index_grows_a_little_with_each_key_and_forgets_none() {
        const KEYS: usize = 60_000;
        let mut index = Index::default();
        let mut places: Vec<Option<u32>> = vec![None; KEYS];
        let find = |index: &Index, places: &[Option<u32>], key: usize| {
            assert_eq!(index.find(&key, |place| places[key] == Some(place)), places[key], "key {key}");
        };
        let (mut state, mut both, mut longest, mut finished) = (7u64, 0, 0, 0);
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        for key in 0..KEYS {
            let (before, to_move) = (index.slots.len(), index.leaving.to_move);
            let made = index.next.len();
            let place = key as u32;
            assert_eq!(index.find_or_insert(&key, place, |at| at == place), None);
            places[key] = Some(place);
            if index.slots.len() > before && before > MOVED_AT_ONCE_SLOTS_MAX {
                assert_eq!(made, before * 2, "the next table was ready");
                finished += 1;
                // A copy goes on by itself.
                let mut copy = index.clone();
                (0..1_000).for_each(|other| copy.insert(&(KEYS + other), 0));
                (0..=key).for_each(|key| find(&copy, &places, key));
            }
            let Leaving { slots, at, to_move: rest } = &index.leaving;
            assert!(slots.is_empty() || slots[*at] == EMPTY, "runs are moved whole");
            if to_move > 0 {
                both += 1;
                longest = longest.max(to_move - rest);
                if slots.len() == 2 * MOVED_AT_ONCE_SLOTS_MAX {
                    (0..=key).for_each(|key| find(&index, &places, key));
                }
            }
            // One of five is removed again, whichever table it is in; another is asked for to be added, and is there.
            let other = random() % (key + 1);
            if let Some(place) = places[other] {
                let again = index.find_or_insert(&other, 0, |at| places[other] == Some(at));
                assert_eq!(again, Some(place));
                if random() % 5 == 0 {
                    index.remove(&other, place);
                    places[other] = None;
                }
            }
            (0..3).for_each(|_| find(&index, &places, random() % (key + 1)));
        }
        (0..KEYS).for_each(|key| find(&index, &places, key));
        assert_eq!(index.len(), places.iter().flatten().count());
        assert!(both > 500, "in {both} steps there were two tables");
        assert!(finished > 0, "{finished} tables were made ahead");
        assert!((MOVED_SLOTS_MIN..1_000).contains(&longest), "{longest} slots were moved at once");
    }
}
