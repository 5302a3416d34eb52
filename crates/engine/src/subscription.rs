//! Following an inventory's batches, without gap or duplicate, however slowly.

use std::sync::Arc;

use tokio::sync::{oneshot, watch};

use crate::ids::InventoryNumber;
use crate::inbox::Rejected;
use crate::load::LoadError;
use crate::published::{Batch, Published};
use crate::record;
use crate::store::StoreError;
use crate::threads::{Errand, Shared};

/// The batches of one inventory from a sequence on.
///
/// Those who keep up get them from memory; those who fell behind get them from the journal. Nobody slows the writer.
pub struct Subscription {
    shared: Arc<Shared>,
    inventory: InventoryNumber,
    published: Arc<Published>,
    sequence: watch::Receiver<u64>,
    /// The last batch that was given out.
    last: u64,
    /// Read from the journal, in reverse.
    read: Vec<Arc<Batch>>,
}

/// Why a subscription ended.
#[derive(Debug, thiserror::Error)]
pub enum SubscriptionError {
    /// The journal no longer has what comes next: begin again from a fresh view.
    #[error("the journal begins after sequence {after}; begin again from a fresh view")]
    Gone {
        /// The last batch that was given out.
        after: u64,
        /// The first batch after it that the journal still has.
        first: Option<u64>,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The journal is damaged.
    #[error(transparent)]
    Damaged(#[from] LoadError),
    /// Too many others read the journal. Nothing is lost: ask again.
    #[error("too many subscribers read the journal")]
    Overloaded,
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
}

impl Subscription {
    pub(crate) fn new(
        shared: Arc<Shared>,
        inventory: InventoryNumber,
        published: Arc<Published>,
        after: u64,
    ) -> Subscription {
        let sequence = published.follow();
        Subscription { shared, inventory, published, sequence, last: after, read: Vec::new() }
    }

    /// The next batch, as soon as it is committed. Can be dropped while waiting without losing anything.
    pub async fn next(&mut self) -> Result<Arc<Batch>, SubscriptionError> {
        let last = self.last;
        let mut stopped = self.shared.stopped.subscribe();
        tokio::select! {
            biased;
            changed = self.sequence.wait_for(|&sequence| sequence > last) => {
                changed.map_err(|_| SubscriptionError::Stopped)?;
            }
            _ = stopped.wait_for(Option::is_some) => return Err(SubscriptionError::Stopped),
        }
        let wanted = last + 1;
        let batch = match self.read.pop().or_else(|| self.published.recent(wanted)) {
            Some(batch) => batch,
            None => {
                self.read_journal().await?;
                self.read.pop().ok_or(SubscriptionError::Gone { after: last, first: None })?
            }
        };
        if batch.sequence != wanted {
            return Err(SubscriptionError::Gone { after: last, first: Some(batch.sequence) });
        }
        self.last = wanted;
        Ok(batch)
    }

    async fn read_journal(&mut self) -> Result<(), SubscriptionError> {
        let (sender, receiver) = oneshot::channel();
        let errand = Errand::Records(self.inventory, self.last, sender);
        self.shared.errands.offer(errand).map_err(|rejected| match rejected {
            Rejected::Full(_) => SubscriptionError::Overloaded,
            Rejected::Closed(_) => SubscriptionError::Stopped,
        })?;
        let records = receiver.await.map_err(|_| SubscriptionError::Stopped)??;
        let mut batches = Vec::with_capacity(records.len());
        for (sequence, bytes) in (self.last + 1..).zip(&records) {
            let record = record::decode_record(bytes).map_err(|error| LoadError::Record {
                inventory: self.inventory,
                sequence,
                error,
            })?;
            let changes = Arc::new(record.changes);
            let batch = Batch { sequence: record.sequence, changes, stock: None };
            batches.push(Arc::new(batch));
        }
        batches.reverse();
        self.read = batches;
        Ok(())
    }
}
