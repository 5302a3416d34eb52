//! Whether the mirror shows the truth.

use std::collections::BTreeMap;
use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_engine::view::StockView;
use redis::{Cmd, FromRedisValue, RedisResult, Value, cmd};

use super::bookings;
use super::instance::Instance;
use super::keys::{self, Keys};
use super::picture::{self, What, Write};
use super::write::BOOKINGS_AHEAD;

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
    let get_sequence = || command("GET", &keys.sequence());
    let mut commands = vec![get_sequence()];
    for (key, value) in &expected {
        commands.push(match value {
            Expected::Text(_) | Expected::Bitmap(_) => command("GET", key),
            Expected::Hash(_) => command("HGETALL", key),
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
        let (differ, found) = expected.compare(answer)?;
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
    name: &str,
    stock: &StockView,
    bookings: &[Arc<Booking>],
) -> RedisResult<Option<Difference>> {
    for some in bookings.chunks(BOOKINGS_AHEAD) {
        let commands = some.iter().map(|booking| command("HGETALL", &keys::booking(booking.id)));
        let answers = instance.run(commands.collect()).await?;
        for (booking, answer) in some.iter().zip(answers) {
            let found: BTreeMap<String, String> = FromRedisValue::from_redis_value(answer)?;
            let fields = bookings::fields(name, booking, stock).into_iter();
            let expected: BTreeMap<String, String> =
                fields.map(|(field, value)| (field.to_owned(), value)).collect();
            let gone = found.is_empty() && bookings::has_ended(booking);
            if found != expected && !gone {
                let (found, expected) = (format!("{found:?}"), format!("{expected:?}"));
                return Ok(Some(Difference { key: keys::booking(booking.id), found, expected }));
            }
        }
    }
    Ok(None)
}

/// What a key must hold.
enum Expected {
    Text(String),
    Bitmap(Vec<u8>),
    Hash(BTreeMap<String, String>),
}

impl Expected {
    /// How many units or texts are not so, and what is there.
    fn compare(&self, found: Value) -> RedisResult<(u64, String)> {
        match self {
            Expected::Text(expected) => {
                let found: Option<String> = FromRedisValue::from_redis_value(found)?;
                let differ = found.as_ref() != Some(expected);
                Ok((differ.into(), found.unwrap_or_else(|| "nothing".to_owned())))
            }
            Expected::Bitmap(expected) => {
                let found: Vec<u8> = FromRedisValue::from_redis_value(found)?;
                Ok((differing(&found, expected), hexadecimal(&found)))
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
            Expected::Bitmap(bits) => f.write_str(&hexadecimal(bits)),
            Expected::Hash(fields) => write!(f, "{fields:?}"),
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
            What::Bitmap(bits) => values.push((key.clone(), Expected::Bitmap(bits.clone()))),
            What::Rows(rows) => {
                let row =
                    |(row, count): &(u16, u32)| (format!("{key}:{row}"), Expected::Text(count.to_string()));
                values.extend(rows.iter().map(row));
            }
            What::Drop => values.push((key.clone(), Expected::Hash(BTreeMap::new()))),
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
