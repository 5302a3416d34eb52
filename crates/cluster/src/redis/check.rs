//! Whether the mirror shows the truth.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use boxoffice_core::booking::Booking;
use boxoffice_engine::view::StockView;
use redis::{Cmd, FromRedisValue, RedisResult, Value, cmd};

use super::bookings;
use super::instance::Instance;
use super::keys::{self, Keys};
use super::picture::{self, What, Write};
use super::write::BOOKINGS_AHEAD;

/// A document in whichever form the server has it; nothing if something else is there.
const GET_DOCUMENT: &str = "
local found = redis.pcall('JSON.GET', KEYS[1], '$')
if type(found) == 'table' then return false end
return found
";

/// Something that the mirror shows and that is not so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: the mirror has {found}, and the truth is {expected}")]
pub struct Difference {
    /// Where.
    pub key: String,
    /// In the mirror.
    pub found: String,
    /// By the journal.
    pub expected: String,
}

/// What a look at the mirror found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Look {
    /// It is as of another sequence, or was being written.
    Elsewhere(Option<u64>),
    /// It is as of the view's sequence. So many units and texts differ; the first of them.
    Compared(u64, Option<Difference>),
}

/// Compares the stock of an inventory with a view of it.
pub(super) async fn stock(instance: &Instance, keys: &Keys, stock: &StockView) -> RedisResult<Look> {
    let expected = values(&picture::whole(keys, stock));
    let has_json = instance.has_json().await?;
    let get_sequence = || command("GET", &keys.sequence());
    let mut commands = vec![get_sequence()];
    for (key, value) in &expected {
        commands.push(match value {
            Expected::Text(_) | Expected::Bitmap(_) => command("GET", key),
            Expected::Document(_) if has_json => {
                let mut get = cmd("EVAL");
                get.arg(GET_DOCUMENT).arg(1).arg(key);
                get
            }
            Expected::Document(_) => command("GET", key),
            Expected::Hash(_) => command("HGETALL", key),
            Expected::Nothing => command("EXISTS", key),
        });
    }
    commands.push(get_sequence());
    let mut answers = instance.run(commands).await?;
    let after: Option<u64> = FromRedisValue::from_redis_value(answers.pop().unwrap_or(Value::Nil))?;
    let before: Option<u64> = FromRedisValue::from_redis_value(answers.remove(0))?;
    if before != Some(stock.sequence) || after != before {
        return Ok(Look::Elsewhere(after));
    }
    let (mut units, mut first) = (0, None);
    for ((key, expected), answer) in expected.into_iter().zip(answers) {
        let (differ, found) = expected.compare(answer, has_json)?;
        units += differ;
        if differ > 0 {
            let difference = || Difference { found, expected: expected.to_string(), key };
            first.get_or_insert_with(difference);
        }
    }
    Ok(Look::Compared(units, first))
}

/// The first booking that the mirror does not show as it is. One that has ended may be gone.
pub(super) async fn bookings(
    instance: &Instance,
    keys: &Keys,
    name: &str,
    stock: &StockView,
    bookings: &[Arc<Booking>],
) -> RedisResult<Option<Difference>> {
    for some in bookings.chunks(BOOKINGS_AHEAD) {
        let hashes = some.iter().map(|booking| command("HGETALL", &keys.booking(booking.id)));
        let holds = some.iter().map(|booking| command("GET", &keys.hold(booking.id)));
        let sets = some.iter().filter_map(|booking| {
            let set = keys.reservations(&booking.customer)?;
            let mut is_member = command("SISMEMBER", &set);
            is_member.arg(keys::id_text(booking.id));
            Some(is_member)
        });
        let mut answers = instance.run(hashes.chain(holds).chain(sets).collect()).await?.into_iter();
        let hashes: Vec<Value> = answers.by_ref().take(some.len()).collect();
        let holds: Vec<Value> = answers.by_ref().take(some.len()).collect();
        for ((booking, hash), hold) in some.iter().zip(hashes).zip(holds) {
            let difference = hold_difference(keys, name, stock, booking, hold)?;
            if difference.is_some() {
                return Ok(difference);
            }
            if let Some(key) = keys.reservations(&booking.customer) {
                let (found, expected) =
                    (bool::from_redis_value(answers.next().unwrap_or(Value::Nil))?, booking.is_active());
                if found != expected {
                    let said = |is_in: bool| {
                        format!("{} {}", keys::id_text(booking.id), if is_in { "in it" } else { "not in it" })
                    };
                    return Ok(Some(Difference { key, found: said(found), expected: said(expected) }));
                }
            }
            let found: BTreeMap<String, String> = FromRedisValue::from_redis_value(hash)?;
            let fields = bookings::fields(name, booking, stock).into_iter();
            let expected: BTreeMap<String, String> =
                fields.map(|(field, value)| (field.to_owned(), value)).collect();
            let gone = found.is_empty() && bookings::has_ended(booking);
            if found != expected && !gone {
                let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
                return Ok(Some(Difference { key: keys.booking(booking.id), found, expected }));
            }
        }
    }
    Ok(None)
}

/// What of a booking's hold is not so. Its key ends with it by the clock of Redis, and the hold by that of a server.
fn hold_difference(
    keys: &Keys,
    name: &str,
    stock: &StockView,
    booking: &Booking,
    found: Value,
) -> RedisResult<Option<Difference>> {
    let found: Option<String> = FromRedisValue::from_redis_value(found)?;
    let expected = bookings::hold(keys, name, booking, stock);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_millis());
    let is_over = booking.deadline().is_some_and(|deadline| i128::from(deadline.0) <= now.cast_signed());
    if found == expected || (found.is_none() && is_over) {
        return Ok(None);
    }
    let said = |hold: Option<String>| hold.unwrap_or_else(|| "nothing".to_owned());
    Ok(Some(Difference { key: keys.hold(booking.id), found: said(found), expected: said(expected) }))
}

/// What a key must hold.
enum Expected {
    Text(String),
    Document(serde_json::Value),
    Bitmap(Vec<u8>),
    Hash(BTreeMap<String, String>),
    Nothing,
}

impl Expected {
    /// How many units or texts are not so, and what is there.
    fn compare(&self, found: Value, has_json: bool) -> RedisResult<(u64, String)> {
        match self {
            Expected::Document(expected) => {
                let found: Option<String> = FromRedisValue::from_redis_value(found)?;
                let parsed = found.as_deref().and_then(|found| serde_json::from_str(found).ok());
                // A server with JSON commands answers a path with all that is there.
                let parsed: Option<serde_json::Value> = match parsed {
                    Some(serde_json::Value::Array(mut all)) if has_json => all.pop(),
                    parsed => parsed,
                };
                let differ = parsed.as_ref() != Some(expected);
                Ok((differ.into(), found.unwrap_or_else(|| "nothing".to_owned())))
            }
            Expected::Text(expected) => {
                let found: Option<String> = FromRedisValue::from_redis_value(found)?;
                let differ = found.as_ref() != Some(expected);
                Ok((differ.into(), found.unwrap_or_else(|| "nothing".to_owned())))
            }
            Expected::Bitmap(expected) => {
                let found: Vec<u8> = FromRedisValue::from_redis_value(found)?;
                Ok((differing(&found, expected), hexadecimal(&found)))
            }
            Expected::Nothing => {
                let exists: bool = FromRedisValue::from_redis_value(found)?;
                Ok((exists.into(), "a value".to_owned()))
            }
            Expected::Hash(expected) => {
                let found: BTreeMap<String, String> = FromRedisValue::from_redis_value(found)?;
                let lacking = expected.iter().filter(|(name, value)| found.get(*name) != Some(value)).count();
                let beside = found.keys().filter(|name| !expected.contains_key(*name)).count();
                Ok(((lacking + beside) as u64, format!("{found:?}")))
            }
        }
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expected::Text(text) => f.write_str(text),
            Expected::Document(document) => write!(f, "{document}"),
            Expected::Bitmap(bits) => f.write_str(&hexadecimal(bits)),
            Expected::Hash(fields) => write!(f, "{fields:?}"),
            Expected::Nothing => f.write_str("nothing"),
        }
    }
}

/// Seats whose two bits differ. What is not there is available, as `BITFIELD` has it.
fn differing(found: &[u8], expected: &[u8]) -> u64 {
    let bytes = found.len().max(expected.len());
    let byte = |bytes: &[u8], index: usize| bytes.get(index).copied().unwrap_or(0);
    let unlike = (0..bytes).map(|index| byte(found, index) ^ byte(expected, index));
    unlike.map(|bits| u64::from(((bits | bits >> 1) & 0x55).count_ones())).sum()
}

/// The first bytes.
fn hexadecimal(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 30;
    bytes.iter().take(SHOWN_MAX).map(|byte| format!("{byte:02x}")).collect()
}

/// What the keys must hold after all these writes to an empty mirror.
fn values(writes: &[Write]) -> Vec<(String, Expected)> {
    let mut values: Vec<(String, Expected)> = Vec::new();
    for Write { key, what } in writes {
        match what {
            What::Text(text) => values.push((key.clone(), Expected::Text(text.clone()))),
            What::Document(document) => {
                values.push((key.clone(), Expected::Document(document.clone())));
            }
            What::Bitmap(bits) => values.push((key.clone(), Expected::Bitmap(bits.clone()))),
            What::Counters(counters) => {
                let counter = |(name, count): &(String, u32)| {
                    (format!("{key}:{name}"), Expected::Text(count.to_string()))
                };
                values.extend(counters.iter().map(counter));
            }
            What::Drop => values.push((key.clone(), Expected::Hash(BTreeMap::new()))),
            What::Gone => values.push((key.clone(), Expected::Nothing)),
            What::Fields(fields) => match values.last_mut() {
                Some((last, Expected::Hash(known))) if last == key => known.extend(fields.iter().cloned()),
                _ => values.push((key.clone(), Expected::Hash(fields.iter().cloned().collect()))),
            },
            What::Lose(_) | What::Seats(_) => unreachable!("the whole is written whole"),
        }
    }
    values
}

fn command(name: &str, key: &str) -> Cmd {
    let mut command = cmd(name);
    command.arg(key);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_that_differ_are_counted() {
        for (found, expected, differ) in [
            (vec![0b0001_1011u8], vec![0b0001_1011u8], 0),
            (vec![0b0001_1011], vec![0b0000_0011], 2),
            (vec![0b1111_1111, 0], vec![0, 0], 4),
            (vec![0b1000_0000], vec![0b0100_0000], 1),
            (vec![], vec![0b0100_0001, 0], 2),
        ] {
            assert_eq!(differing(&found, &expected), differ, "{found:?} {expected:?}");
        }
    }
}
