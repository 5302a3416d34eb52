//! (a) Redis: a Lua script finds a free seat, then MULTI/EXEC marks it and stores the booking.
//!
//! As in the source design: two bits a seat in a bitfield per subsection, the id of the booking as its idempotency key,
//! counters per subsection, row and event. The find and the MULTI/EXEC are two steps, and between them anybody else may
//! find the same seat: the design is safe only because one consumer serves a subsection, behind a queue. So here each
//! client is the one consumer of its subsections.
//!
//! Made easier for it than in the source:
//! - no queue: clients hand themselves the work, which skips Kafka, its disk and its latency;
//! - the search is one GET and one pattern match over the 125 bytes of a subsection, not a BITFIELD read a row;
//! - the check of the key goes out together with the search: two round trips a booking;
//! - the event's numbers are in a hash, because plain Redis has no JSON, and are not read back;
//! - no copy in PostgreSQL, which is the source's truth about tickets.
//!
//! After a power cut with `everysec`: up to two seconds of acknowledged bookings are gone, and their seats are sold again. With
//! `always`: what was acknowledged is there, because the answer waits for the sync.
//!
//! Where it sells twice or loses: with a second consumer of a subsection, also for the moments in which the queue moves
//! a partition; MULTI/EXEC does not roll back if one of its commands fails; best available ends at the subsection, so a
//! customer is told that it is full while the hall is not; a failover to a replica loses what was not yet copied.

use redis::aio::MultiplexedConnection;
use redis::{cmd, pipe};

use super::PRICE;
use crate::drive::{Client, Design, Recorded};
use crate::error::{Error, Result};
use crate::redis_server::{Durability, Redis};

/// 25 rows of 20 seats, as in the source; 2,000 of them are a hall of a million.
pub(super) const SUBSECTION_SEATS: u64 = 500;
pub(super) const SUBSECTION_COLUMNS: u64 = 20;
pub(super) const SUBSECTIONS: u64 = 2_000;
/// Clients share connections, so that requests travel together; several, because Redis reads at most 16 KiB of each
/// before it syncs and answers.
pub(super) const CONNECTIONS: usize = 8;

/// `U` is a byte of four taken seats. Answers the first free seat, or -1.
const FIND: &str = r"
local bits = redis.call('GET', KEYS[1]) or ''
local at = string.find(bits, '[^U]') or #bits + 1
local byte = string.byte(bits, at) or 0
local seat = (at - 1) * 4
local pair = 64
while math.floor(byte / pair) % 4 ~= 0 do
  seat = seat + 1
  pair = pair / 4
end
if seat >= tonumber(ARGV[1]) then return -1 end
return seat
";

/// A Redis with an empty hall.
pub(crate) struct RedisLua {
    redis: Redis,
    connections: Vec<MultiplexedConnection>,
    /// How the script is named once it is loaded.
    find: String,
}

impl RedisLua {
    pub(crate) async fn start(durability: Durability) -> Result<RedisLua> {
        let redis = Redis::start(durability).await?;
        let (connections, find) = open_hall(&redis, FIND).await?;
        Ok(RedisLua { redis, connections, find })
    }
}

/// Connections, the script loaded, and the counters of a hall that nobody booked.
pub(super) async fn open_hall(redis: &Redis, script: &str) -> Result<(Vec<MultiplexedConnection>, String)> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(redis.connect().await?);
    }
    let connection = &mut connections[0];
    let script = cmd("SCRIPT").arg("LOAD").arg(script).query_async(connection).await?;
    let mut counters = pipe();
    counters.hset("event_state:1", "available", SUBSECTIONS * SUBSECTION_SEATS).ignore();
    for subsection in 0..SUBSECTIONS {
        counters.set(format!("seats_avail:1:{subsection}"), SUBSECTION_SEATS).ignore();
        for row in 0..SUBSECTION_SEATS / SUBSECTION_COLUMNS {
            counters.set(format!("seats_avail_row:1:{subsection}:{row}"), SUBSECTION_COLUMNS).ignore();
        }
    }
    let () = counters.query_async(connection).await?;
    Ok((connections, script))
}

impl Design for RedisLua {
    type Client = Consumer;

    async fn client(&self, index: usize, clients: usize) -> Result<Consumer> {
        Ok(Consumer {
            connection: self.connections[index % CONNECTIONS].clone(),
            find: self.find.clone(),
            subsection: index as u64,
            next: clients as u64,
            seats: Vec::new(),
        })
    }

    fn processes(&self) -> Vec<u32> {
        vec![self.redis.server.id()]
    }

    async fn recorded(mut self) -> Result<Recorded> {
        recorded(&mut self.connections[0]).await
    }
}

/// Bookings, and the bits that say that a seat is taken: one in each pair.
pub(super) async fn recorded(connection: &mut MultiplexedConnection) -> Result<Recorded> {
    let mut bits = pipe();
    for subsection in 0..SUBSECTIONS {
        bits.cmd("BITCOUNT").arg(format!("seats_bf:1:{subsection}"));
    }
    let taken: Vec<u64> = bits.query_async(connection).await?;
    let mut bookings = 0;
    let mut cursor = 0;
    loop {
        let mut scan = cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg("booking:*").arg("COUNT").arg(5_000);
        let (next, found): (u64, Vec<String>) = scan.query_async(connection).await?;
        bookings += found.len() as u64;
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    // A booking is found by its key: it is the record of it.
    Ok(Recorded { bookings, taken: taken.iter().sum(), keys: bookings })
}

/// The one consumer of every so manieth subsection.
pub(crate) struct Consumer {
    connection: MultiplexedConnection,
    find: String,
    subsection: u64,
    next: u64,
    seats: Vec<u64>,
}

impl Client for Consumer {
    async fn book(&mut self, number: u64) -> Result<()> {
        let booking = format!("booking:key-{number}");
        let seat = loop {
            let bits = format!("seats_bf:1:{}", self.subsection);
            let mut look = pipe();
            look.hget(&booking, "reserved_seats");
            look.cmd("EVALSHA").arg(&self.find).arg(1).arg(&bits).arg(SUBSECTION_SEATS);
            let (known, found): (Option<String>, i64) = look.query_async(&mut self.connection).await?;
            if let Some(known) = known {
                return Err(Error::Wrong(format!("key-{number} was new and has {known}")));
            }
            match u64::try_from(found) {
                Ok(seat) => break seat,
                Err(_) if self.subsection + self.next < SUBSECTIONS => self.subsection += self.next,
                Err(_) => return Err(Error::Wrong("the subsections of a client are sold out".to_owned())),
            }
        };
        let subsection = self.subsection;
        let (row, column) = (seat / SUBSECTION_COLUMNS, seat % SUBSECTION_COLUMNS);
        let mut take = pipe();
        take.atomic();
        take.cmd("BITFIELD")
            .arg(format!("seats_bf:1:{subsection}"))
            .arg("SET")
            .arg("u2")
            .arg(seat * 2)
            .arg(1);
        take.decr(format!("seats_avail:1:{subsection}"), 1).ignore();
        take.decr(format!("seats_avail_row:1:{subsection}:{row}"), 1).ignore();
        take.hincr("event_state:1", "available", -1).ignore();
        take.hincr("event_state:1", "reserved", 1).ignore();
        let fields = [
            ("status", "RESERVE_SUCCESS".to_owned()),
            ("customer", format!("customer-{number}")),
            ("reserved_seats", format!("{subsection}-{}-{}", row + 1, column + 1)),
            ("total_price", PRICE.to_string()),
        ];
        take.hset_multiple(&booking, &fields).ignore();
        let ((was,),): ((u64,),) = take.query_async(&mut self.connection).await?;
        if was != 0 {
            return Err(Error::Wrong(format!("the seat {subsection}-{seat} was sold when it was taken")));
        }
        self.seats.push(subsection * SUBSECTION_SEATS + seat);
        Ok(())
    }

    fn seats(self) -> Vec<u64> {
        self.seats
    }
}
