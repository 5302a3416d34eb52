//! Finds where in a list something stands, by its key.

use std::hash::{BuildHasher, Hash};

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use crate::limits::{BOOKINGS_PER_INVENTORY_MAX, KEYS_PER_INVENTORY_MAX};

/// From keys to places in a list. The keys stand in the list only: an index costs eight bytes a bucket, and growing it
/// touches nothing else. Each has a seed of its own, which makes it hard to choose keys that collide.
#[derive(Debug, Clone, Default)]
pub struct Index {
    seed: RandomState,
    table: HashTable<Slot>,
}

/// Places are below this. Bookings and keys of an inventory are bounded by less.
pub const PLACES: u32 = 1 << PLACE_BITS;
const PLACE_BITS: u32 = 25;
const HASH_BITS: u32 = SLOT_BYTES as u32 * 8 - PLACE_BITS;
const SLOT_BYTES: usize = 7;

const _: () = assert!(BOOKINGS_PER_INVENTORY_MAX < PLACES as usize);
const _: () = assert!(KEYS_PER_INVENTORY_MAX < PLACES as usize);

/// A hash and a place, in bytes because there are millions of them, half of them empty.
#[derive(Debug, Clone, Copy)]
struct Slot([u8; SLOT_BYTES]);

impl Slot {
    fn new(hash: u32, place: u32) -> Slot {
        assert!(place < PLACES, "lists are bounded");
        let number = u64::from(hash) << PLACE_BITS | u64::from(place);
        let mut bytes = [0; SLOT_BYTES];
        bytes.copy_from_slice(&number.to_le_bytes()[..SLOT_BYTES]);
        Slot(bytes)
    }

    fn number(self) -> u64 {
        let mut bytes = [0; 8];
        bytes[..SLOT_BYTES].copy_from_slice(&self.0);
        u64::from_le_bytes(bytes)
    }

    fn hash(self) -> u32 {
        (self.number() >> PLACE_BITS) as u32
    }

    fn place(self) -> u32 {
        (self.number() & u64::from(PLACES - 1)) as u32
    }
}

impl Index {
    /// Room for so many keys.
    pub fn with_capacity(keys: usize) -> Index {
        Index { seed: RandomState::default(), table: HashTable::with_capacity(keys) }
    }

    /// How many keys it knows.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The place of a key. `is_at` says whether it stands at a place; it is asked about few others.
    pub fn find<K: Hash + ?Sized>(&self, key: &K, is_at: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = self.hash(key);
        let found = self.table.find(bucket_hash(hash), |slot| slot.hash() == hash && is_at(slot.place()));
        found.map(|slot| slot.place())
    }

    /// Adds a key that is not there yet.
    pub fn insert<K: Hash + ?Sized>(&mut self, key: &K, place: u32) {
        let hash = self.hash(key);
        self.table.insert_unique(bucket_hash(hash), Slot::new(hash, place), |slot| bucket_hash(slot.hash()));
    }

    /// Removes a key if it leads to `place`.
    pub fn remove<K: Hash + ?Sized>(&mut self, key: &K, place: u32) {
        if let Ok(found) = self.table.find_entry(bucket_hash(self.hash(key)), |slot| slot.place() == place) {
            found.remove();
        }
    }

    fn hash<K: Hash + ?Sized>(&self, key: &K) -> u32 {
        (self.seed.hash_one(key) >> (u64::BITS - HASH_BITS)) as u32
    }
}

/// The table takes the bucket from the low bits and a first comparison from the high ones: both are there.
fn bucket_hash(hash: u32) -> u64 {
    u64::from(hash) << (u64::BITS - HASH_BITS) | u64::from(hash)
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
}
