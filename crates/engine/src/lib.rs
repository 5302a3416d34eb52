//! One writer per inventory: batches, durable commits, recovery, subscriptions. Never HTTP, SQL, Kafka or Redis.
//!
//! ```text
//! Engine::submit -> inbox -> Shard (apply, apply, apply; seal) -> Committer (one durable commit) -> publish, answer
//!                              ^  reads inventories it does not have        |
//!                              +------------------- settled ----------------+
//! ```
//!
//! [`Engine`] is the way in. A shard is a thread that owns inventories: it applies commands in memory and seals what has
//! gathered whenever its last batch is through. The committer makes the batches of all shards durable together, and only then
//! publishes and answers (`commit.rs`, the one place where anything leaves). Readers look at views that were published after
//! the commit. [`store::Store`] is where the truth is kept, and what it promises.

pub mod answer;
pub mod archive;
pub mod attempt;
mod availability;
mod chosen_ids;
pub mod clock;
mod commit;
mod deadlines;
pub mod engine;
mod history;
pub mod ids;
mod inbox;
pub mod limits;
pub mod load;
pub mod measure;
mod moved;
mod part;
pub mod private_files;
pub mod published;
pub mod record;
pub mod routing;
pub mod scrub;
mod shard;
pub mod snapshot;
pub mod stepped;
pub mod store;
pub mod subscription;
mod threads;
mod unit_holders;
pub mod verify;
pub mod view;

pub use answer::{Answer, SubmitError};
pub use clock::Clock;
pub use engine::{Engine, Listed, Settings, Standing, StartError, TicketView};
pub use ids::InventoryNumber;
pub use moved::{Move, Moved};
pub use published::Batch;
pub use subscription::{Subscription, SubscriptionError};
pub use threads::StopReason;
