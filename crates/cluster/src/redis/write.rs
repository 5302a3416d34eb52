//! Writing the mirror: whole, or since an earlier view; never back in time.
//!
//! Stock is written by one script for all keys of an inventory: it compares sequences, writes, and notes the new one, and
//! nothing can come between. What was written since a view is taken if the mirror is as of that view or a later one, and ignored if
//! the mirror is as far already. If it is not even as far as the view, something is missing: whoever writes has to write
//! the whole.

use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_engine::view::StockView;
use redis::{Cmd, FromRedisValue, RedisResult, Value, cmd};

use super::bookings::{self, ENDED_SHOWN};
use super::instance::Instance;
use super::keys::{self, Keys};
use super::picture::{self, What, Write};

/// Bookings in one command, where they need not be in one place.
const BOOKINGS_AT_ONCE: usize = 200;
/// Bookings in one round trip, when the whole is written.
pub(super) const BOOKINGS_AHEAD: usize = 20_000;
/// Written since no view: the whole.
const WHOLE: i64 = -1;

const STOCK: &str = "
local at = tonumber(redis.call('GET', KEYS[1]) or '-1')
local since, to = tonumber(ARGV[1]), tonumber(ARGV[2])
if at > to or (at == to and since >= 0) then return 0 end
if at < since then return -1 end
local a = 3
for k = 2, #KEYS do
  local what, first, last = ARGV[a], a + 2, a + 1 + tonumber(ARGV[a + 1])
  if what == 'text' then
    redis.call('SET', KEYS[k], ARGV[first])
  elseif what == 'drop' then
    redis.call('DEL', KEYS[k])
  elseif what == 'fields' then
    redis.call('HSET', KEYS[k], unpack(ARGV, first, last))
  elseif what == 'lose' then
    redis.call('HDEL', KEYS[k], unpack(ARGV, first, last))
  elseif what == 'seats' then
    local sets = {}
    for i = first, last, 2 do
      sets[#sets + 1] = 'SET'
      sets[#sets + 1] = 'u2'
      sets[#sets + 1] = ARGV[i]
      sets[#sets + 1] = ARGV[i + 1]
    end
    redis.call('BITFIELD', KEYS[k], unpack(sets))
  elseif what == 'rows' then
    for i = first, last, 2 do
      redis.call('SET', KEYS[k] .. ':' .. ARGV[i], ARGV[i + 1])
    end
  end
  a = last + 1
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
";

/// Of each booking: its version, how long it is shown (zero: as long as it lives), whether it is written if it is not there,
/// and its fields.
const BOOKINGS: &str = "
local a = 1
for k = 1, #KEYS do
  local version, shown, always = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), ARGV[a + 2]
  local last = a + 3 + tonumber(ARGV[a + 3])
  local there = tonumber(redis.call('HGET', KEYS[k], 'version') or '-1')
  if there <= version and (there >= 0 or always == 'yes') then
    redis.call('DEL', KEYS[k])
    redis.call('HSET', KEYS[k], unpack(ARGV, a + 4, last))
    if shown > 0 then redis.call('PEXPIRE', KEYS[k], shown) end
  end
  a = last + 1
end
return #KEYS
";

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// The mirror shows it now.
    Done,
    /// Somebody else has written as much, or more.
    Already,
    /// The mirror lacks what was before: it needs the whole.
    Missing,
}

/// Where the mirror stands with each of these inventories.
pub(super) async fn sequences(instance: &Instance, keys: &[Keys]) -> RedisResult<Vec<Option<u64>>> {
    let get = |keys: &Keys| {
        let mut get = cmd("GET");
        get.arg(keys.sequence());
        get
    };
    let answers = instance.run(keys.iter().map(get).collect()).await?;
    answers.into_iter().map(|answer| Ok(FromRedisValue::from_redis_value(answer)?)).collect()
}

/// Writes what is not as in an earlier view, and bookings that have changed since, in one round trip.
pub(super) async fn since(
    instance: &Instance,
    keys: &Keys,
    name: &str,
    before: &StockView,
    stock: &StockView,
    changed: &[Arc<Booking>],
) -> RedisResult<Written> {
    let from = i64::try_from(before.sequence).unwrap_or(i64::MAX);
    let stock_written = stock_command(keys, from, stock.sequence, &picture::since(keys, before, stock));
    let mut commands = bookings_commands(instance, name, stock, changed, true);
    if instance.is_cluster() {
        // In any order among themselves, and before the sequence that says that they are there.
        instance.run(std::mem::take(&mut commands)).await?;
    }
    commands.push(stock_written);
    verdict(instance.run(commands).await?)
}

/// Writes the whole of an inventory. Bookings that have ended are written only where the mirror has them still.
pub(super) async fn whole(
    instance: &Instance,
    keys: &Keys,
    name: &str,
    stock: &StockView,
    bookings: &[Arc<Booking>],
) -> RedisResult<Written> {
    for some in bookings.chunks(BOOKINGS_AHEAD) {
        instance.run(bookings_commands(instance, name, stock, some, false)).await?;
    }
    let command = stock_command(keys, WHOLE, stock.sequence, &picture::whole(keys, stock));
    verdict(instance.run(vec![command]).await?)
}

/// Forgets where an inventory stands: whoever writes next writes the whole.
pub(super) async fn forget(instance: &Instance, keys: &Keys) -> RedisResult<()> {
    let mut forget = cmd("DEL");
    forget.arg(keys.sequence());
    instance.run(vec![forget]).await.map(drop)
}

fn verdict(answers: Vec<Value>) -> RedisResult<Written> {
    let last = answers.into_iter().next_back().unwrap_or(Value::Nil);
    Ok(match i64::from_redis_value(last)? {
        1 => Written::Done,
        0 => Written::Already,
        _ => Written::Missing,
    })
}

fn stock_command(keys: &Keys, since: i64, to: u64, writes: &[Write]) -> Cmd {
    let mut eval = cmd("EVAL");
    eval.arg(STOCK).arg(writes.len() + 1).arg(keys.sequence());
    for write in writes {
        eval.arg(&write.key);
    }
    eval.arg(since).arg(to);
    for write in writes {
        match &write.what {
            What::Text(text) => eval.arg("text").arg(1).arg(text),
            What::Bitmap(bits) => eval.arg("text").arg(1).arg(bits.as_slice()),
            What::Drop => eval.arg("drop").arg(0),
            What::Fields(fields) => eval.arg("fields").arg(2 * fields.len()).arg(fields),
            What::Lose(names) => eval.arg("lose").arg(names.len()).arg(names),
            What::Seats(seats) => {
                eval.arg("seats").arg(2 * seats.len());
                for &(seat, state) in seats {
                    eval.arg(2 * seat).arg(state);
                }
                &mut eval
            }
            What::Rows(rows) => eval.arg("rows").arg(2 * rows.len()).arg(rows),
        };
    }
    eval
}

fn bookings_commands(
    instance: &Instance,
    name: &str,
    stock: &StockView,
    bookings: &[Arc<Booking>],
    ended_too: bool,
) -> Vec<Cmd> {
    let at_once = if instance.is_cluster() { 1 } else { BOOKINGS_AT_ONCE };
    let command = |some: &[Arc<Booking>]| {
        let mut eval = cmd("EVAL");
        eval.arg(BOOKINGS).arg(some.len());
        for booking in some {
            eval.arg(keys::booking(booking.id));
        }
        for booking in some {
            let has_ended = bookings::has_ended(booking);
            let shown = if has_ended { ENDED_SHOWN.as_millis() } else { 0 };
            let always = if ended_too || !has_ended { "yes" } else { "no" };
            let fields = bookings::fields(name, booking, stock);
            eval.arg(booking.version).arg(shown.to_string()).arg(always).arg(2 * fields.len()).arg(&fields);
        }
        eval
    };
    bookings.chunks(at_once).map(command).collect()
}
