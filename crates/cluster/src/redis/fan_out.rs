//! Nodes tell each other what has moved, so that a live stream on one shows at once what another sold.
//!
//! A message is a hint: the number of an inventory and a sequence. Whoever has the inventory in memory and is not as far reads the
//! journal, which alone is believed. Whoever misses a message finds out when it asks the store, ten times a second.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_engine::{Engine, InventoryNumber};
use futures_util::StreamExt;
use redis::{Cmd, RedisError, RedisResult, cmd};
use tokio::time::{MissedTickBehavior, timeout};

use super::instance::Instance;

const CHANNEL: &str = "boxoffice:moved";
/// Between two attempts while Redis is away.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// A connection that says nothing is asked whether it is still there.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// Tells the others what this node committed, until it is dropped.
pub(super) async fn tell(instance: Arc<Instance>, engine: Engine) {
    let mut moved = engine.moved();
    loop {
        let moves = moved.next().await;
        let ours = moves.iter().filter(|moved| moved.ours);
        let messages: Vec<Cmd> =
            ours.map(|moved| publish(&written(moved.inventory, moved.sequence))).collect();
        if messages.is_empty() {
            continue;
        }
        if let Err(error) = instance.run(messages).await {
            tracing::debug!(%error, "nobody was told what has moved");
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }
}

/// Hears what others committed, until it is dropped.
pub(super) async fn hear(instance: Arc<Instance>, engine: Engine) {
    loop {
        if let Err(error) = listen(&instance, &engine).await {
            tracing::debug!(%error, "what others tell is not heard");
        }
        tokio::time::sleep(RETRY_AFTER).await;
    }
}

/// Listens until the connection is lost.
async fn listen(instance: &Instance, engine: &Engine) -> RedisResult<()> {
    let mut connection = instance.listen().await?;
    connection.subscribe(CHANNEL).await?;
    let (mut asks, mut messages) = connection.split();
    let mut ask = tokio::time::interval(ASK_EVERY);
    ask.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            message = messages.next() => {
                let Some(message) = message else { return Ok(()) };
                if let Some((inventory, sequence)) = read(message.get_payload_bytes()) {
                    engine.heard(inventory, sequence);
                }
            }
            _ = ask.tick() => match timeout(ASK_EVERY, asks.ping::<redis::Value>()).await {
                Ok(answer) => drop(answer?),
                Err(_) => return Err(RedisError::from(std::io::Error::from(std::io::ErrorKind::TimedOut))),
            },
        }
    }
}

fn publish(message: &str) -> Cmd {
    let mut publish = cmd("PUBLISH");
    publish.arg(CHANNEL).arg(message);
    publish
}

fn written(inventory: InventoryNumber, sequence: u64) -> String {
    format!("{} {sequence}", inventory.0)
}

/// What a message says; `None` if it is not one of ours.
fn read(message: &[u8]) -> Option<(InventoryNumber, u64)> {
    let (inventory, sequence) = std::str::from_utf8(message).ok()?.split_once(' ')?;
    Some((InventoryNumber(inventory.parse().ok()?), sequence.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        let message = written(InventoryNumber(7), 1_234);
        assert_eq!(read(message.as_bytes()), Some((InventoryNumber(7), 1_234)));
        for rubbish in ["", "7", "7 ", "seven 1", "7 -1", "99999999999 1", "7 1 1"] {
            assert_eq!(read(rubbish.as_bytes()), None, "{rubbish:?}");
        }
    }
}
