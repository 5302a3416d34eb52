//! What is durable in the log and not yet in redb, in memory: whoever reads the store sees both as one.

use std::collections::BTreeMap;
use std::sync::Arc;

use boxoffice_core::ids::tenant_of_name;

use super::log::{Entry, Frame};
use crate::ids::InventoryNumber;
use crate::record::Head;

/// How far the store is, and what of it waits to be moved into redb.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The number of the last commit.
    pub(super) commits: u64,
    /// What is in the file of the log that is being filled.
    filling: Gathered,
    /// What is in the other one; `None` when redb has all of it.
    moving: Option<Arc<Gathered>>,
}

/// What some commits wrote.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The last head of each inventory, and the commit that wrote it.
    pub(super) heads: BTreeMap<InventoryNumber, (u64, Head)>,
    pub(super) records: BTreeMap<(InventoryNumber, u64), Arc<Vec<u8>>>,
    /// By tenant and id.
    pub(super) booking_ids: BTreeMap<(Box<str>, u128), InventoryNumber>,
    /// How many inventories were created.
    pub(super) created: u64,
}

impl Gathered {
    pub(super) fn add(&mut self, Frame { commit, entries }: Frame) {
        for entry in entries {
            let Entry { head, creates, record, chosen_ids } = entry;
            let number = head.inventory;
            self.created += u64::from(creates);
            let tenant = tenant_of_name(&head.name);
            self.booking_ids.extend(chosen_ids.into_iter().map(|id| ((tenant.into(), id), number)));
            self.records.insert((number, head.sequence), record);
            self.heads.insert(number, (commit, head));
        }
    }
}

impl Waiting {
    /// A commit that is durable in the log.
    pub(super) fn add(&mut self, frame: Frame) {
        self.commits = frame.commit;
        self.filling.add(frame);
    }

    /// What is to be moved.
    pub(super) fn moving(&self) -> Option<&Arc<Gathered>> {
        self.moving.as_ref()
    }

    /// redb has what was to be moved.
    pub(super) fn moved(&mut self) {
        self.moving = None;
    }

    /// What was filled is to be moved, if it is anything. Nothing else may be.
    pub(super) fn turn(&mut self) {
        debug_assert!(self.moving.is_none(), "one at a time");
        let filled = std::mem::take(&mut self.filling);
        self.moving = (!filled.heads.is_empty()).then(|| Arc::new(filled));
    }

    pub(super) fn head(&self, number: InventoryNumber) -> Option<&(u64, Head)> {
        self.newest_first().find_map(|gathered| gathered.heads.get(&number))
    }

    /// The heads that waiting commits wrote, of each inventory the last.
    pub(super) fn heads(&self) -> BTreeMap<InventoryNumber, (u64, Head)> {
        let mut heads = BTreeMap::new();
        for gathered in self.newest_first() {
            for (number, head) in &gathered.heads {
                heads.entry(*number).or_insert_with(|| head.clone());
            }
        }
        heads
    }

    /// The records of an inventory with their sequences, in order.
    pub(super) fn records(&self, number: InventoryNumber) -> Vec<(u64, Arc<Vec<u8>>)> {
        let all = (number, 0)..=(number, u64::MAX);
        let oldest_first = self.moving.as_deref().into_iter().chain([&self.filling]);
        let records = oldest_first.flat_map(|gathered| gathered.records.range(all.clone()));
        records.map(|((_, sequence), record)| (*sequence, Arc::clone(record))).collect()
    }

    pub(super) fn find_booking(&self, tenant: &str, id: u128) -> Option<InventoryNumber> {
        let id = (tenant.into(), id);
        self.newest_first().find_map(|gathered| gathered.booking_ids.get(&id).copied())
    }

    fn newest_first(&self) -> impl Iterator<Item = &Gathered> {
        [&self.filling].into_iter().chain(self.moving.as_deref())
    }
}
