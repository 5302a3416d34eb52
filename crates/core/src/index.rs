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
#[derive(Debug, Clone, Default)]
pub struct Index {
    seed: RandomState,
    /// Their number is a power of two, or zero.
    slots: Vec<u64>,
    keys: usize,
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
        if self.slots.is_empty() {
            return None;
        }
        let slot = self.slots[self.look(self.hash(key), is_at)];
        (slot != EMPTY).then(|| place_of(slot))
    }

    /// Reads the slot in which a key would stand, so that it is in the cache when the key is looked for.
    pub(crate) fn warm<K: Hash + ?Sized>(&self, key: &K) {
        if !self.slots.is_empty() {
            std::hint::black_box(self.slots[self.home(self.hash(key))]);
        }
    }

    /// The place of a key; if it is not there, it is added and leads to `place` from now on.
    pub fn find_or_insert<K: Hash + ?Sized>(
        &mut self,
        key: &K,
        place: u32,
        is_at: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        self.make_room();
        let hash = self.hash(key);
        let at = self.look(hash, is_at);
        let slot = self.slots[at];
        if slot != EMPTY {
            return Some(place_of(slot));
        }
        self.fill(at, hash, place);
        None
    }

    /// Adds a key that is not there yet.
    pub fn insert<K: Hash + ?Sized>(&mut self, key: &K, place: u32) {
        self.find_or_insert(key, place, |_| false);
    }

    /// Removes a key if it leads to `place`.
    pub fn remove<K: Hash + ?Sized>(&mut self, key: &K, place: u32) {
        if self.slots.is_empty() {
            return;
        }
        let mut hole = self.look(self.hash(key), |other| other == place);
        if self.slots[hole] == EMPTY {
            return;
        }
        // Whoever stands behind the hole and could stand in it moves up, so that nobody is looked for behind an empty slot.
        let mut at = hole;
        loop {
            at = self.after(at);
            let slot = self.slots[at];
            if slot == EMPTY {
                break;
            }
            if self.distance(self.home(slot), at) >= self.distance(hole, at) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = EMPTY;
        self.keys -= 1;
    }

    /// The slot in which a key stands, or the empty one in which it would.
    fn look(&self, hash: u64, is_at: impl Fn(u32) -> bool) -> usize {
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at];
            if slot == EMPTY || (slot & !PLACE_MASK == hash && is_at(place_of(slot))) {
                return at;
            }
            at = self.after(at);
        }
    }

    fn fill(&mut self, at: usize, hash: u64, place: u32) {
        assert!(place < PLACES, "lists are bounded");
        self.slots[at] = hash | u64::from(place);
        self.keys += 1;
    }

    fn make_room(&mut self) {
        if (self.keys + 1) * 8 <= self.slots.len() * TAKEN_OF_EIGHT_MAX {
            return;
        }
        let twice = (self.slots.len() * 2).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, vec![EMPTY; twice]);
        for slot in old.into_iter().filter(|&slot| slot != EMPTY) {
            let at = self.look(slot, |_| false);
            self.slots[at] = slot;
        }
    }

    /// In the bits of a slot above the place. One of them is always set, so that no slot is taken for an empty one.
    fn hash<K: Hash + ?Sized>(&self, key: &K) -> u64 {
        self.seed.hash_one(key) & !PLACE_MASK | 1 << PLACE_BITS
    }

    fn home(&self, hash: u64) -> usize {
        (hash >> (u64::BITS - self.slots.len().trailing_zeros())) as usize
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// How many steps it is from one slot to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.slots.len() - 1)
    }
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
}
