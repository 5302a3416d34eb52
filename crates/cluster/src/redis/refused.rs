//! Refused bookings in the mirror.
//!
//! A refusal changes nothing and is in no journal, so the mirror cannot follow it there. The node that refused a booking whose
//! id its caller chose queues it here, without waiting. If the queue is full or Redis is away, it is lost.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::ids::BookingId;
use redis::cmd;
use tokio::sync::mpsc;

use super::instance::Instance;
use super::keys::Keys;

/// Refusals that wait for Redis: some hundred bytes each.
const QUEUED_MAX: usize = 1_000;
/// Refusals in one round trip.
const WRITTEN_AT_ONCE: usize = 200;
/// How long a refused booking is shown.
const SHOWN: Duration = Duration::from_secs(3_600);

/// A booking that was granted, before or after, is never written over.
const REFUSED: &str = "
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HGET', KEYS[1], 'status') ~= 'RESERVE_FAILED' then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'status', 'RESERVE_FAILED', 'inventory', ARGV[1], 'code', ARGV[2], 'error', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
";

/// A booking that was refused.
#[derive(Debug, Clone)]
pub struct RefusedBooking {
    /// Chosen by its caller, who can look for it.
    pub id: BookingId,
    /// The inventory's name.
    pub inventory: Arc<str>,
    /// Such as `SEAT_UNAVAILABLE`.
    pub code: &'static str,
    /// The same for people.
    pub reason: String,
}

/// Takes refused bookings for the mirror.
#[derive(Debug, Clone)]
pub struct RefusedBookings(mpsc::Sender<RefusedBooking>);

impl RefusedBookings {
    /// Queues a refused booking; drops it if the queue is full.
    pub fn note(&self, refused: RefusedBooking) {
        if self.0.try_send(refused).is_err() {
            tracing::debug!("a refused booking is not shown in the mirror: too many wait");
        }
    }
}

pub(super) fn queue() -> (RefusedBookings, mpsc::Receiver<RefusedBooking>) {
    let (sender, receiver) = mpsc::channel(QUEUED_MAX);
    (RefusedBookings(sender), receiver)
}

/// Writes what is queued until every sender is gone.
pub(super) async fn write(instance: Arc<Instance>, mut queued: mpsc::Receiver<RefusedBooking>) {
    let mut refused = Vec::new();
    while queued.recv_many(&mut refused, WRITTEN_AT_ONCE).await > 0 {
        let commands = refused.drain(..).filter_map(|RefusedBooking { id, inventory, code, reason }| {
            let keys = Keys::of(&inventory, instance.is_cluster())?;
            let mut eval = cmd("EVAL");
            eval.arg(REFUSED).arg(1).arg(keys.booking(id));
            eval.arg(&*inventory).arg(code).arg(reason).arg(SHOWN.as_millis().to_string());
            Some(eval)
        });
        if let Err(error) = instance.run(commands.collect()).await {
            tracing::debug!(%error, "refused bookings are not shown in the mirror");
        }
    }
}
