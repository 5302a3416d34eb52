//! (a') Redis: the whole booking in one Lua script.
//!
//! Not in the source designs: what (a) becomes when its two steps are made one, in its strongest form. Any client may book
//! in any subsection, nothing can come between finding and taking, and a booking is one round trip. The first
//! subsection that is not full is kept beside the counters.
//!
//! After a power cut: as (a). The effects of a script are logged as one transaction.
//!
//! Where it sells twice or loses: not while one server is up. A failover to a replica loses what was not yet copied, and
//! sells those seats again. Whatever else has to happen with a booking (deadlines, limits per customer, a journal) has to happen
//! inside the script, while everybody else waits.

use redis::aio::MultiplexedConnection;
use redis::cmd;

use super::PRICE;
use super::redis_lua::{CONNECTIONS, SUBSECTION_COLUMNS, SUBSECTION_SEATS, SUBSECTIONS, open_hall, recorded};
use crate::drive::{Client, Design, Recorded};
use crate::error::{Error, Result};
use crate::redis_server::{Durability, Redis};

/// Answers the number of the seat in the hall; -1 if all are sold.
const BOOK: &str = r"
local booking = 'booking:' .. ARGV[1]
local known = redis.call('HGET', booking, 'seat')
if known then return tonumber(known) end
local first = tonumber(redis.call('HGET', 'event_state:1', 'first') or '0')
for subsection = first, tonumber(ARGV[4]) - 1 do
  local key = 'seats_bf:1:' .. subsection
  local bits = redis.call('GET', key) or ''
  local at = string.find(bits, '[^U]') or #bits + 1
  local byte = string.byte(bits, at) or 0
  local seat = (at - 1) * 4
  local pair = 64
  while math.floor(byte / pair) % 4 ~= 0 do
    seat = seat + 1
    pair = pair / 4
  end
  if seat < tonumber(ARGV[3]) then
    if subsection > first then redis.call('HSET', 'event_state:1', 'first', subsection) end
    local row = math.floor(seat / tonumber(ARGV[5]))
    local number = subsection * tonumber(ARGV[3]) + seat
    redis.call('BITFIELD', key, 'SET', 'u2', seat * 2, 1)
    redis.call('DECR', 'seats_avail:1:' .. subsection)
    redis.call('DECR', 'seats_avail_row:1:' .. subsection .. ':' .. row)
    redis.call('HINCRBY', 'event_state:1', 'available', -1)
    redis.call('HINCRBY', 'event_state:1', 'reserved', 1)
    redis.call('HSET', booking, 'status', 'RESERVE_SUCCESS', 'customer', ARGV[2], 'seat', number, 'total_price', ARGV[6])
    return number
  end
end
return -1
";

/// A Redis with an empty hall.
pub(crate) struct RedisScript {
    redis: Redis,
    connections: Vec<MultiplexedConnection>,
    /// How the script is named once it is loaded.
    book: String,
}

impl RedisScript {
    pub(crate) async fn start(durability: Durability) -> Result<RedisScript> {
        let redis = Redis::start(durability).await?;
        let (connections, book) = open_hall(&redis, BOOK).await?;
        Ok(RedisScript { redis, connections, book })
    }
}

impl Design for RedisScript {
    type Client = Caller;

    async fn client(&self, index: usize, _clients: usize) -> Result<Caller> {
        let connection = self.connections[index % CONNECTIONS].clone();
        Ok(Caller { connection, book: self.book.clone(), seats: Vec::new() })
    }

    fn processes(&self) -> Vec<u32> {
        vec![self.redis.server.id()]
    }

    async fn recorded(mut self) -> Result<Recorded> {
        recorded(&mut self.connections[0]).await
    }
}

/// Runs the script.
pub(crate) struct Caller {
    connection: MultiplexedConnection,
    book: String,
    seats: Vec<u64>,
}

impl Client for Caller {
    async fn book(&mut self, number: u64) -> Result<()> {
        let mut call = cmd("EVALSHA");
        call.arg(&self.book).arg(0);
        call.arg(format!("key-{number}")).arg(format!("customer-{number}"));
        call.arg(SUBSECTION_SEATS).arg(SUBSECTIONS).arg(SUBSECTION_COLUMNS).arg(PRICE);
        let seat: i64 = call.query_async(&mut self.connection).await?;
        let seat = u64::try_from(seat).map_err(|_| Error::Wrong("the hall is sold out".to_owned()))?;
        self.seats.push(seat);
        Ok(())
    }

    fn seats(self) -> Vec<u64> {
        self.seats
    }
}
