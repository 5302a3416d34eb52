//! Writing the mirror: whole, or since an earlier view; never back in time.
//!
//! Stock is written by one script for all keys of an inventory: it compares sequences, writes, and notes the new one, and
//! nothing can come between. What changed since a view is taken only if the mirror is exactly as of that view, and ignored if
//! the mirror is as far already. A mirror that is as of any other view may show something that neither of the two does: a seat
//! that was held and given back in between is the same in both. Then whoever writes has to compare with what the mirror has, or
//! write the whole.

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
if since >= 0 and at ~= since then return -1 end
local a = 3
for k = 2, #KEYS do
  local what, first, last = ARGV[a], a + 2, a + 1 + tonumber(ARGV[a + 1])
  if what == 'text' then
    redis.call('SET', KEYS[k], ARGV[first])
  elseif what == 'document' then
    redis.call('DEL', KEYS[k])
    redis.call('JSON.SET', KEYS[k], '$', ARGV[first])
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
  elseif what == 'counters' then
    for i = first, last, 2 do
      redis.call('SET', KEYS[k] .. ':' .. ARGV[i], ARGV[i + 1])
    end
  end
  a = last + 1
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
";

/// Whether a later version stays; then of each booking: its version, how long it is shown (zero: as long as it lives), whether it
/// is written if it is not there, when its hold ends (zero: it is none), what stands at the hold's key, its customer's set
/// (empty: none), whether it is in that set and under which id, and its fields.
const BOOKINGS: &str = "
local a, k = 2, 1
while k <= #KEYS do
  local version, shown, always = tonumber(ARGV[a]), ARGV[a + 1], ARGV[a + 2]
  local ends, hold, member, active = ARGV[a + 3], ARGV[a + 4], ARGV[a + 5], ARGV[a + 6]
  local last = a + 7 + tonumber(ARGV[a + 7])
  local there = tonumber(redis.call('HGET', KEYS[k], 'version') or '-1')
  if there <= version or ARGV[1] == 'anyway' then
    if there >= 0 or always == 'yes' then
      redis.call('DEL', KEYS[k])
      redis.call('HSET', KEYS[k], unpack(ARGV, a + 8, last))
      if shown ~= '0' then redis.call('PEXPIRE', KEYS[k], shown) end
    end
    if ends ~= '0' then
      redis.call('SET', KEYS[k + 1], hold)
      redis.call('PEXPIREAT', KEYS[k + 1], ends)
    else
      redis.call('DEL', KEYS[k + 1])
    end
    if active == 'yes' then
      redis.call('SADD', KEYS[k + 2], member)
    elseif member ~= '' then
      redis.call('SREM', KEYS[k + 2], member)
    end
  end
  if member == '' then k = k + 2 else k = k + 3 end
  a = last + 1
end
return #KEYS
";

/// Whether what the mirror shows of bookings counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// A later version stays.
    Version,
    /// It may be of another history: whatever is there is written over.
    None,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// The mirror shows it now.
    Done,
    /// Somebody else has written as much, or more.
    Already,
    /// The mirror is not as of the view that was compared with: it needs what changed since another one, or the whole.
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
    let has_json = instance.has_json().await?;
    let writes = picture::since(keys, before, stock);
    let stock_written = stock_command(keys, from, stock.sequence, &writes, has_json);
    let mut commands = bookings_commands(keys, name, stock, changed, true, Guard::Version);
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
    guard: Guard,
) -> RedisResult<Written> {
    for some in bookings.chunks(BOOKINGS_AHEAD) {
        instance.run(bookings_commands(keys, name, stock, some, false, guard)).await?;
    }
    let has_json = instance.has_json().await?;
    let command = stock_command(keys, WHOLE, stock.sequence, &picture::whole(keys, stock), has_json);
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

fn stock_command(keys: &Keys, since: i64, to: u64, writes: &[Write], has_json: bool) -> Cmd {
    let mut eval = cmd("EVAL");
    eval.arg(STOCK).arg(writes.len() + 1).arg(keys.sequence());
    for write in writes {
        eval.arg(&write.key);
    }
    eval.arg(since).arg(to);
    for write in writes {
        match &write.what {
            What::Text(text) => eval.arg("text").arg(1).arg(text),
            What::Document(document) => {
                eval.arg(if has_json { "document" } else { "text" }).arg(1).arg(document.to_string())
            }
            What::Bitmap(bits) => eval.arg("text").arg(1).arg(bits.as_slice()),
            What::Drop | What::Gone => eval.arg("drop").arg(0),
            What::Fields(fields) => eval.arg("fields").arg(2 * fields.len()).arg(fields),
            What::Lose(names) => eval.arg("lose").arg(names.len()).arg(names),
            What::Seats(seats) => {
                eval.arg("seats").arg(2 * seats.len());
                for &(seat, state) in seats {
                    eval.arg(2 * seat).arg(state);
                }
                &mut eval
            }
            What::Counters(counters) => eval.arg("counters").arg(2 * counters.len()).arg(counters),
        };
    }
    eval
}

fn bookings_commands(
    keys: &Keys,
    name: &str,
    stock: &StockView,
    bookings: &[Arc<Booking>],
    ended_too: bool,
    guard: Guard,
) -> Vec<Cmd> {
    let at_once = if keys.is_cluster() { 1 } else { BOOKINGS_AT_ONCE };
    let command = |some: &[Arc<Booking>]| {
        let mut eval = cmd("EVAL");
        let keys_of = |booking: &Arc<Booking>| {
            let set = keys.reservations(&booking.customer);
            [keys.booking(booking.id), keys.hold(booking.id)].into_iter().chain(set)
        };
        let all: Vec<String> = some.iter().flat_map(keys_of).collect();
        eval.arg(BOOKINGS).arg(all.len()).arg(all);
        eval.arg(match guard {
            Guard::Version => "later",
            Guard::None => "anyway",
        });
        for booking in some {
            let has_ended = bookings::has_ended(booking);
            let shown = if has_ended { ENDED_SHOWN.as_millis() } else { 0 };
            let always = if ended_too || !has_ended { "yes" } else { "no" };
            let fields = bookings::fields(name, booking, stock);
            let ends = booking.deadline().map_or(0, |deadline| deadline.0);
            let hold = bookings::hold(keys, name, booking, stock).unwrap_or_default();
            let is_in_set = keys.reservations(&booking.customer).is_some();
            let member = if is_in_set { keys::id_text(booking.id) } else { String::new() };
            let active = if is_in_set && booking.is_active() { "yes" } else { "no" };
            eval.arg(booking.version).arg(shown.to_string()).arg(always);
            eval.arg(ends).arg(hold).arg(member).arg(active).arg(2 * fields.len()).arg(&fields);
        }
        eval
    };
    bookings.chunks(at_once).map(command).collect()
}

#[cfg(test)]
mod tests {
    use boxoffice_core::command::{Action, Command};
    use boxoffice_core::commands::{BestAvailable, Book, Cancel, Confirm, CreateEvent, SeatWish, Want};
    use boxoffice_core::event::{SectionPlan, SubsectionPlan};
    use boxoffice_core::ids::{BookingId, RedeemCode};
    use boxoffice_core::inventory::Inventory;
    use boxoffice_core::money::{Currency, Money};
    use boxoffice_core::time::Timestamp;
    use boxoffice_services::Redis;

    use super::*;
    use crate::redis::Instances;
    use crate::redis::check::{self, Look};

    const NAME: &str = "default/event:hall";
    const BOOKING: BookingId = BookingId::from_bytes([7; 16]);

    /// A hall after each of four batches: created, a seat held, sold, free again; and the booking as it was.
    fn history() -> (Vec<StockView>, Vec<Arc<Booking>>) {
        let subsections = vec![SubsectionPlan { number: 1, rows: 3, cols: 5, blocked: Vec::new() }];
        let section = SectionPlan { name: "A".to_owned(), price: Money(1_000), subsections };
        let create = CreateEvent::new("hall", "Hall", Currency(*b"TWD"), vec![section]);
        let best = BestAvailable { quantity: 2, section: None, adjacent_required: false };
        let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
        let confirm =
            Confirm { booking: BOOKING, payment_reference: None, if_expired: None, free_only: false };
        let actions = [
            Action::CreateEvent(Box::new(create)),
            Action::Book(Box::new(Book::new(BOOKING, "ann", want, RedeemCode::from_random(1)))),
            Action::Confirm(confirm),
            Action::Cancel(Cancel { booking: BOOKING, reason: None, ticket: None }),
        ];
        let mut hall = Inventory::default();
        let (mut views, mut bookings) = (Vec::new(), Vec::new());
        for (second, action) in (1..).zip(actions) {
            boxoffice_core::apply(&mut hall, Timestamp(second * 1_000), &Command::of(action));
            hall.end_batch().expect("it changed something");
            views.push(StockView::new(&hall).expect("it was created"));
            bookings.extend(hall.booking(BOOKING).cloned());
        }
        (views, bookings)
    }

    async fn shows(instance: &Instance, keys: &Keys, view: &StockView) -> bool {
        check::stock(instance, keys, view).await.unwrap() == Look::Compared(0, None)
    }

    #[tokio::test]
    async fn a_late_or_repeated_writer_changes_nothing_and_a_gap_is_noticed() {
        let server = Redis::start(&[]).unwrap();
        let instances = Instances::parse(&server.url()).unwrap();
        let (redis, keys) = (instances.first(), Keys::of(NAME, false).unwrap());
        let (views, _) = history();
        let write = async |from: usize, to: usize| {
            since(redis, &keys, NAME, &views[from], &views[to], &[]).await.unwrap()
        };
        let write_whole =
            async |at: usize| whole(redis, &keys, NAME, &views[at], &[], Guard::Version).await.unwrap();
        // Nothing is there yet.
        assert_eq!(write(0, 1).await, Written::Missing);
        assert_eq!(sequences(redis, std::slice::from_ref(&keys)).await.unwrap(), [None]);
        assert_eq!(write_whole(0).await, Written::Done);
        assert_eq!(write(0, 1).await, Written::Done);
        assert_eq!(write(0, 1).await, Written::Already);
        // Somebody else has written what this writer does not know of.
        assert_eq!(write(0, 2).await, Written::Missing);
        assert_eq!(write(1, 2).await, Written::Done);
        assert!(shows(redis, &keys, &views[2]).await);
        // Late.
        for from_to in [(0, 1), (1, 2)] {
            assert_eq!(write(from_to.0, from_to.1).await, Written::Already);
        }
        assert_eq!(write_whole(1).await, Written::Already);
        assert!(shows(redis, &keys, &views[2]).await);
        // The whole again, of the same sequence, repairs.
        server.ask(&["SET", "seats_avail:hall:A-1", "99"]).unwrap();
        assert!(!shows(redis, &keys, &views[2]).await);
        assert_eq!(write_whole(2).await, Written::Done);
        assert!(shows(redis, &keys, &views[2]).await);
        // A mirror that was put back to an earlier state lacks what was between.
        server.ask(&["SET", "event_sequence:hall", "1"]).unwrap();
        assert_eq!(write(2, 3).await, Written::Missing);
        assert_eq!(write_whole(3).await, Written::Done);
        assert!(shows(redis, &keys, &views[3]).await);
    }

    #[tokio::test]
    async fn a_seat_that_another_node_held_and_this_one_freed_is_shown_free() {
        let server = Redis::start(&[]).unwrap();
        let instances = Instances::parse(&server.url()).unwrap();
        let (redis, keys) = (instances.first(), Keys::of(NAME, false).unwrap());
        let (views, _) = history();
        let write = async |from: usize, to: usize| {
            since(redis, &keys, NAME, &views[from], &views[to], &[]).await.unwrap()
        };
        whole(redis, &keys, NAME, &views[0], &[], Guard::Version).await.unwrap();
        assert_eq!(write(0, 2).await, Written::Done, "the other one writes that the seats are sold");
        // This one knows the hall before and after, and the seats are free in both.
        assert_eq!(write(0, 3).await, Written::Missing);
        assert_eq!(write(2, 3).await, Written::Done);
        assert!(shows(redis, &keys, &views[3]).await);
    }

    #[tokio::test]
    async fn a_booking_never_goes_back_to_an_earlier_version() {
        let server = Redis::start(&[]).unwrap();
        let instances = Instances::parse(&server.url()).unwrap();
        let (redis, keys) = (instances.first(), Keys::of(NAME, false).unwrap());
        let key = keys.booking(BOOKING);
        let (views, bookings) = history();
        let write = async |booking: usize, ended_too: bool| {
            let booking = &bookings[booking..=booking];
            let commands = bookings_commands(&keys, NAME, &views[3], booking, ended_too, Guard::Version);
            redis.run(commands).await.unwrap();
        };
        let there = async |version: usize| {
            let shown =
                check::bookings(redis, &keys, NAME, &views[3], &bookings[version..=version]).await.unwrap();
            shown.is_none() && server.ask(&["EXISTS", &key]).unwrap() == ":1"
        };
        // One that has ended is not shown if it was not.
        write(2, false).await;
        assert_eq!(server.ask(&["EXISTS", &key]).unwrap(), ":0");
        write(1, true).await;
        assert!(there(1).await);
        write(0, true).await;
        assert!(there(1).await, "an earlier version came late");
        assert_eq!(server.ask(&["PTTL", &key]).unwrap(), ":-1");
        write(2, false).await;
        assert!(there(2).await);
        write(1, true).await;
        assert!(there(2).await, "it has ended, and stays so");
        assert_ne!(server.ask(&["PTTL", &key]).unwrap(), ":-1", "it goes by itself");
    }
}
