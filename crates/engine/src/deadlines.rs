//! When each inventory has something due.

use std::collections::BTreeSet;

use boxoffice_core::map::HashMap;
use boxoffice_core::time::Timestamp;

use crate::ids::InventoryNumber;
use crate::limits::{OTHERS_BESIDE_MS_MAX, OTHERS_FIRST_MS};

/// When each inventory has something due, in order.
#[derive(Debug, Default)]
pub(crate) struct Deadlines {
    of: HashMap<InventoryNumber, Timestamp>,
    in_order: BTreeSet<(Timestamp, InventoryNumber)>,
    /// How long what is due is left to others who may do it as well; nothing on a store of our own.
    patience: Patience,
}

#[derive(Debug, Clone, Copy, Default)]
struct Patience {
    in_memory_ms: i64,
    elsewhere_ms: i64,
}

impl Deadlines {
    /// Of a store that others write to.
    pub(crate) fn shared() -> Deadlines {
        let in_memory_ms = rand::random_range(0..=OTHERS_BESIDE_MS_MAX);
        let patience = Patience { in_memory_ms, elsewhere_ms: OTHERS_FIRST_MS + in_memory_ms };
        Deadlines { patience, ..Deadlines::default() }
    }

    /// Of an inventory in memory.
    pub(crate) fn set(&mut self, number: InventoryNumber, at: Option<Timestamp>) {
        self.put(number, at.map(|at| Timestamp(at.0.saturating_add(self.patience.in_memory_ms))));
    }

    /// Of one that is not: others may have it.
    pub(crate) fn leave(&mut self, number: InventoryNumber, at: Option<Timestamp>) {
        self.put(number, at.map(|at| Timestamp(at.0.saturating_add(self.patience.elsewhere_ms))));
    }

    fn put(&mut self, number: InventoryNumber, at: Option<Timestamp>) {
        let before = match at {
            Some(at) => self.of.insert(number, at),
            None => self.of.remove(&number),
        };
        if before == at {
            return;
        }
        if let Some(before) = before {
            self.in_order.remove(&(before, number));
        }
        if let Some(at) = at {
            self.in_order.insert((at, number));
        }
    }

    /// Puts off what is still due at `now`.
    pub(crate) fn not_before(&mut self, number: InventoryNumber, at: Timestamp, now: Timestamp) {
        if self.of.get(&number).is_some_and(|&due| due <= now) {
            self.put(number, Some(at));
        }
    }

    pub(crate) fn first(&self) -> Option<Timestamp> {
        self.in_order.first().map(|&(at, _)| at)
    }

    pub(crate) fn due(&self, now: Timestamp) -> Option<InventoryNumber> {
        self.in_order.first().filter(|&&(at, _)| at <= now).map(|&(_, number)| number)
    }
}
