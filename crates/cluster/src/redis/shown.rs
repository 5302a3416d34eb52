//! Which bookings the mirror shows, for whoever writes it from nothing: what is of another history has to go.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use boxoffice_core::booking::Booking;
use redis::{Cmd, FromRedisValue, RedisResult, Value, cmd};

use super::instance::Instance;
use super::keys::Keys;

/// Keys that a server looks at for each question: it does nothing else meanwhile.
const LOOKED_AT: usize = 1_000;
/// All bookings.
const PATTERN: &str = "booking:*";

/// Removes a booking, its hold and its place among its customer's if it is one of this inventory.
const REMOVE: &str = "
if redis.call('HGET', KEYS[1], 'inventory') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1], KEYS[2])
if KEYS[3] then redis.call('SREM', KEYS[3], ARGV[2]) end
return 1
";

/// All bookings that the mirror showed at some moment, by the name of their inventory.
pub(super) struct Shown(HashMap<String, Vec<ShownBooking>>);

struct ShownBooking {
    key: String,
    /// An earlier program did not say.
    customer: Option<String>,
}

impl Shown {
    /// Looks at the whole mirror, once.
    pub(super) async fn find(instance: &Instance) -> RedisResult<Shown> {
        let mut shown = Shown(HashMap::new());
        if instance.is_cluster() {
            // Only this command is sent to all of a cluster's servers.
            let mut all = cmd("KEYS");
            all.arg(PATTERN);
            let keys = answer(instance, all).await?;
            shown.add(instance, Vec::from_redis_value(keys)?).await?;
            return Ok(shown);
        }
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(&cursor).arg("MATCH").arg(PATTERN).arg("COUNT").arg(LOOKED_AT);
            let (next, keys) = FromRedisValue::from_redis_value(answer(instance, scan).await?)?;
            shown.add(instance, keys).await?;
            if next == "0" {
                return Ok(shown);
            }
            cursor = next;
        }
    }

    async fn add(&mut self, instance: &Instance, keys: Vec<String>) -> RedisResult<()> {
        for keys in keys.chunks(LOOKED_AT) {
            let of = |key: &String| {
                let mut of = cmd("HMGET");
                of.arg(key).arg("inventory").arg("customer");
                of
            };
            let answers = instance.run(keys.iter().map(of).collect()).await?;
            for (key, answer) in keys.iter().zip(answers) {
                // One that is gone meanwhile has none.
                let (inventory, customer): (Option<String>, Option<String>) =
                    FromRedisValue::from_redis_value(answer)?;
                if let Some(inventory) = inventory {
                    let booking = ShownBooking { key: key.clone(), customer };
                    self.0.entry(inventory).or_default().push(booking);
                }
            }
        }
        Ok(())
    }

    /// Removes those of an inventory that it does not have. They were shown before it was read, so they are not newer.
    pub(super) async fn remove_others(
        &self,
        instance: &Instance,
        keys: &Keys,
        name: &str,
        bookings: &[Arc<Booking>],
    ) -> RedisResult<()> {
        let Some(shown) = self.0.get(name) else { return Ok(()) };
        let known: HashSet<String> = bookings.iter().map(|booking| keys.booking(booking.id)).collect();
        let others: Vec<&ShownBooking> =
            shown.iter().filter(|booking| !known.contains(&booking.key)).collect();
        for some in others.chunks(LOOKED_AT) {
            let remove = |booking: &&ShownBooking| {
                let id = booking.key.trim_start_matches("booking:");
                let set = booking.customer.as_deref().and_then(|customer| keys.reservations(customer));
                let mut remove = cmd("EVAL");
                remove.arg(REMOVE).arg(2 + usize::from(set.is_some()));
                // The customer's set is of one tenant: the id stands there alone.
                let member = id.rsplit('/').next().unwrap_or(id);
                remove.arg(&booking.key).arg(format!("reservation:ttl:{id}")).arg(set).arg(name).arg(member);
                remove
            };
            instance.run(some.iter().map(remove).collect()).await?;
        }
        Ok(())
    }
}

async fn answer(instance: &Instance, command: Cmd) -> RedisResult<Value> {
    let answers = instance.run(vec![command]).await?;
    Ok(answers.into_iter().next().unwrap_or(Value::Nil))
}
