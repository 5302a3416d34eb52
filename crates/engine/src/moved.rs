//! Which inventories show something new, for those who follow all of them.
//!
//! Whoever commits only notes the inventory in each follower's list, where it stands once however often it moves. So a
//! follower that is slow, or hangs, costs nobody anything.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;

use crate::ids::InventoryNumber;

/// An inventory that shows something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub inventory: InventoryNumber,
    /// The last sequence that can be read of it.
    pub sequence: u64,
    /// Whether this engine committed any of it; else all of it was read from the store.
    pub ours: bool,
}

/// What has moved since it was last asked; see [`crate::Engine::moved`].
#[derive(Debug)]
pub struct Moved {
    list: Arc<List>,
}

impl Moved {
    /// Waits until anything has moved, and takes all that has. Can be dropped while waiting without losing anything.
    pub async fn next(&mut self) -> Vec<Move> {
        loop {
            let moved = std::mem::take(&mut *self.list.moved.lock());
            if !moved.is_empty() {
                return moved.into_values().collect();
            }
            self.list.any.notified().await;
        }
    }
}

/// The lists of all followers.
#[derive(Debug, Default)]
pub(crate) struct Followers {
    lists: RwLock<Vec<Weak<List>>>,
}

#[derive(Debug, Default)]
struct List {
    moved: Mutex<BTreeMap<InventoryNumber, Move>>,
    any: Notify,
}

impl Followers {
    /// A list of its own for somebody who follows.
    pub(crate) fn join(&self) -> Moved {
        let list = Arc::<List>::default();
        let mut lists = self.lists.write();
        lists.retain(|list| list.strong_count() > 0);
        lists.push(Arc::downgrade(&list));
        Moved { list }
    }

    pub(crate) fn note(&self, moved: Move) {
        for list in self.lists.read().iter().filter_map(Weak::upgrade) {
            list.moved
                .lock()
                .entry(moved.inventory)
                .and_modify(|known| {
                    known.sequence = moved.sequence;
                    known.ours |= moved.ours;
                })
                .or_insert(moved);
            list.any.notify_one();
        }
    }
}
