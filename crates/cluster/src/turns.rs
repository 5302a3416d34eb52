//! Turns: how nodes that sell one inventory at the same time keep out of each other's way.
//!
//! A node that commits often could fence another one for ever: the other reads what it missed, decides, and is too late again. So
//! nodes take turns with an inventory that several of them write to: see [`Store::take_turn`]. A turn is a lock somewhere, of any
//! kind that is a [`Turns`]. It keeps nodes from colliding and nothing more: what keeps them from harm is the fence. So a node
//! whose turn does not come goes without, and a node that hangs in its turn loses it after some seconds.
//!
//! [`Store::take_turn`]: boxoffice_engine::store::Store::take_turn

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_engine::InventoryNumber;
use boxoffice_engine::store::ToldOfTurn;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// How long a node waits for its turn. Longer than those of all others together, if they are well.
pub const TURN_WAIT_MAX: Duration = Duration::from_secs(1);
/// How often a node says that it still wants a turn. A turn of which nothing was heard for several times as long may end.
pub const TURN_EXTENDED_EVERY: Duration = Duration::from_millis(500);
/// How often a node may say so: a turn is for some commits, however long they take.
const EXTENSIONS_MAX: u32 = 20;

/// How long a node waited for the lock of an inventory, whether it got it or not.
pub const LOCK_WAIT_SECONDS: &str = "boxoffice_lock_wait_seconds";
/// Locks that a node did not get; it proceeds without them.
pub const LOCK_FAILURES: &str = "boxoffice_lock_failures_total";

/// Something to be waited for.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A kind of turns.
pub trait Turns: Send + Sync + 'static {
    /// Waits for the turn at an inventory. Whoever waits may stop at any moment by dropping the future; nothing must stay of
    /// it then, or end by itself after some seconds.
    fn take(&self, inventory: InventoryNumber) -> Pending<'_, Result<Box<dyn Turn>, NoTurn>>;
}

/// A turn that a node has. Dropping it without a word must end it after some seconds, as when the node dies.
pub trait Turn: Send + 'static {
    /// Keeps it for some seconds more, and says whether it is still held. It may be lost: then nobody is told, because nothing
    /// depends on it.
    fn extend(&mut self) -> Pending<'_, bool>;

    /// Lets the next one have it.
    fn give_back(self: Box<Self>) -> Pending<'static, ()>;
}

/// Why a turn could not be had.
#[derive(Debug, thiserror::Error)]
#[error("no turn: {0}")]
pub struct NoTurn(pub String);

/// The turns that this node has, or goes without.
pub(crate) struct Held {
    kind: Box<dyn Turns>,
    /// By inventory, until it is over. Dropping what is kept there says so to whoever keeps the turn.
    over: Mutex<HashMap<InventoryNumber, oneshot::Sender<()>>>,
}

impl Held {
    pub(crate) fn new(kind: Box<dyn Turns>) -> Held {
        Held { kind, over: Mutex::default() }
    }

    /// Whether it is this node's turn, or nobody's that it waited for.
    pub(crate) fn may_write(&self, inventory: InventoryNumber) -> bool {
        self.over.lock().contains_key(&inventory)
    }

    /// Waits for a turn, says whether it has come, and keeps it until it is over.
    pub(crate) async fn take(self: Arc<Held>, inventory: InventoryNumber, then: ToldOfTurn) {
        let began = Instant::now();
        let taken = timeout(TURN_WAIT_MAX, self.kind.take(inventory)).await;
        metrics::histogram!(LOCK_WAIT_SECONDS).record(began.elapsed().as_secs_f64());
        let taken = taken.unwrap_or_else(|_| Err(NoTurn("others have it".to_owned())));
        let (sender, over) = oneshot::channel();
        self.over.lock().insert(inventory, sender);
        then(taken.is_ok());
        match taken {
            Ok(turn) => keep(turn, over).await,
            Err(error) => {
                metrics::counter!(LOCK_FAILURES).increment(1);
                tracing::debug!(%inventory, %error, "node proceeds without the lock");
            }
        }
    }

    /// A turn, or what was done without one, is over.
    pub(crate) fn end(&self, inventory: InventoryNumber) {
        drop(self.over.lock().remove(&inventory));
    }
}

/// Keeps a turn until it is over, is lost, or was had for far too long.
async fn keep(mut turn: Box<dyn Turn>, mut over: oneshot::Receiver<()>) {
    for _ in 0..EXTENSIONS_MAX {
        tokio::select! {
            // It was dropped.
            _ = &mut over => break,
            () = sleep(TURN_EXTENDED_EVERY) => {
                // Whoever does not answer has lost it: nobody waits for a connection that leads nowhere.
                if !timeout(TURN_WAIT_MAX, turn.extend()).await.unwrap_or(false) {
                    return;
                }
            }
        }
    }
    // What is not given back in time ends by itself.
    drop(timeout(TURN_WAIT_MAX, turn.give_back()).await);
}
