//! (c) Redlock over three Redis, then a PostgreSQL transaction with a version check and an idempotency record.
//!
//! As in the source design: look for the key's record; take the lock on a majority with a token; in one transaction
//! check the seat's status and version, insert the booking and the record `IN_PROGRESS`, update the seat where its version is
//! still the same, commit; release by a script that compares the token; set the record to `SUCCESS` with the answer. The
//! source books seats that the customer names and locks each seat. The same work as the others do, the first free seat
//! of a hot event, needs a lock on the event ([`Locked::Event`]). [`Locked::Seat`] is the source's own case at its best:
//! every customer names another free seat, and nobody ever waits for anybody.
//!
//! Made easier for it than in the source: the three are asked at the same time and keep nothing on disk; statements are
//! prepared and travel together; a lock that is taken is asked for again within milliseconds and for ever, not three times 200 ms
//! apart; the search for a free seat begins behind those that this process knows to be sold.
//!
//! After a power cut: bookings that were acknowledged are there, once. A cut between the commit and the second write of
//! the record leaves it `IN_PROGRESS`: the customer has a seat, and is told 409 until the record ends, then that it failed.
//!
//! Where it fails: the lock is not a fence, and a paused holder comes back; only the version check keeps it from
//! selling twice. The record is in the transaction, so a refusal leaves none. Every booking is seven round trips and two
//! syncs, and a hot event waits for five and one of them.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::cmd;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client as Connection, Statement};

use super::PRICE;
use crate::drive::{Client, Design, Recorded};
use crate::error::{Error, Result};
use crate::postgres::Postgres;
use crate::redis_server::{Durability, Redis};

const INSTANCES: usize = 3;
const QUORUM: usize = INSTANCES / 2 + 1;
/// The source's `LOCK_TTL_MS` and `REDLOCK_DRIFT_FACTOR`.
const LOCK_LASTS: Duration = Duration::from_secs(5);
const DRIFT: f64 = 0.01;
/// At most so long until a lock is asked for again; about one booking.
const RETRY_MS_MAX: u64 = 4;
/// More than are sold in a run; the server makes them faster than a million.
const SEATS: u64 = 200_000;

const TABLES: &str = "
CREATE TABLE seats (id int PRIMARY KEY, status text NOT NULL, version int NOT NULL) WITH (fillfactor = 50);
CREATE TABLE bookings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, seat_id int NOT NULL, customer text NOT NULL,
    status text NOT NULL, price int NOT NULL, idempotency_key text NOT NULL UNIQUE);
CREATE INDEX ON bookings (seat_id);
CREATE TABLE idempotency (
    key text PRIMARY KEY, state text NOT NULL, request_hash text NOT NULL, response text,
    expires_at timestamptz NOT NULL DEFAULT now() + interval '5 minutes');
";

/// Only who has the token may release.
const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

/// What a lock is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locked {
    /// The whole event; the first free seat is taken.
    Event,
    /// One seat, which the customer names.
    Seat,
}

/// Three Redis for locks, and a PostgreSQL with a hall.
pub(crate) struct Redlock {
    postgres: Postgres,
    redis: Vec<Redis>,
    locks: [MultiplexedConnection; INSTANCES],
    release: String,
    locked: Locked,
    /// Every seat up to this one is known to be sold.
    sold_up_to: Rc<Cell<i32>>,
}

impl Redlock {
    pub(crate) async fn start(locked: Locked) -> Result<Redlock> {
        let postgres = Postgres::start()?;
        let seats =
            format!("INSERT INTO seats SELECT id, 'AVAILABLE', 0 FROM generate_series(1, {SEATS}) AS id;");
        postgres.prepare(&format!("{TABLES}{seats}")).await?;
        let redis = vec![
            Redis::start(Durability::Never).await?,
            Redis::start(Durability::Never).await?,
            Redis::start(Durability::Never).await?,
        ];
        let mut locks = [redis[0].connect().await?, redis[1].connect().await?, redis[2].connect().await?];
        let mut release = String::new();
        for connection in &mut locks {
            release = cmd("SCRIPT").arg("LOAD").arg(RELEASE).query_async(connection).await?;
        }
        Ok(Redlock { postgres, redis, locks, release, locked, sold_up_to: Rc::default() })
    }
}

impl Design for Redlock {
    type Client = Booker;

    async fn client(&self, _index: usize, _clients: usize) -> Result<Booker> {
        let connection = self.postgres.connect().await?;
        Ok(Booker {
            lock: Lock { connections: self.locks.clone(), release: self.release.clone() },
            locked: self.locked,
            recall: connection.prepare("SELECT state, response FROM idempotency WHERE key = $1").await?,
            find: connection
                .prepare(
                    "SELECT id, version FROM seats WHERE id >= $1 AND status = 'AVAILABLE' ORDER BY id LIMIT 1",
                )
                .await?,
            insert: connection
                .prepare(
                    "INSERT INTO bookings (seat_id, customer, status, price, idempotency_key) \
                     VALUES ($1, $2, 'CONFIRMED', $3, $4)",
                )
                .await?,
            begin: connection
                .prepare("INSERT INTO idempotency (key, state, request_hash) VALUES ($1, 'IN_PROGRESS', $2)")
                .await?,
            take: connection
                .prepare(
                    "UPDATE seats SET status = 'BOOKED', version = version + 1 WHERE id = $1 AND version = $2",
                )
                .await?,
            succeed: connection
                .prepare("UPDATE idempotency SET state = 'SUCCESS', response = $2 WHERE key = $1")
                .await?,
            connection,
            sold_up_to: Rc::clone(&self.sold_up_to),
            seats: Vec::new(),
        })
    }

    fn processes(&self) -> Vec<u32> {
        self.redis.iter().map(|redis| redis.server.id()).chain([self.postgres.server.id()]).collect()
    }

    async fn recorded(self) -> Result<Recorded> {
        let connection = self.postgres.connect().await?;
        let counts = connection
            .query_one(
                "SELECT (SELECT count(*) FROM bookings), (SELECT count(*) FROM seats WHERE status = 'BOOKED'), \
                 (SELECT count(*) FROM idempotency WHERE state = 'SUCCESS')",
                &[],
            )
            .await?;
        let count = |column: usize| counts.get::<_, i64>(column) as u64;
        Ok(Recorded { bookings: count(0), taken: count(1), keys: count(2) })
    }
}

/// Takes and releases on all three.
struct Lock {
    connections: [MultiplexedConnection; INSTANCES],
    release: String,
}

impl Lock {
    /// Asks until a majority gave it, with enough of its time left; answers the token.
    async fn acquire(&mut self, name: &str) -> Result<String> {
        loop {
            let token = format!("{:032x}", rand::random::<u128>());
            let mut set = cmd("SET");
            set.arg(name).arg(&token).arg("NX").arg("PX").arg(LOCK_LASTS.as_millis() as u64);
            let start = Instant::now();
            let [first, second, third] = &mut self.connections;
            let (first, second, third) = tokio::join!(
                set.query_async::<Option<String>>(first),
                set.query_async::<Option<String>>(second),
                set.query_async::<Option<String>>(third),
            );
            let given = [first?, second?, third?].iter().flatten().count();
            let drift = LOCK_LASTS.mul_f64(DRIFT) + Duration::from_millis(2);
            if given >= QUORUM && start.elapsed() + drift < LOCK_LASTS {
                return Ok(token);
            }
            self.release(name, &token).await?;
            tokio::time::sleep(Duration::from_millis(rand::random_range(1..=RETRY_MS_MAX))).await;
        }
    }

    async fn release(&mut self, name: &str, token: &str) -> Result<()> {
        let mut call = cmd("EVALSHA");
        call.arg(&self.release).arg(1).arg(name).arg(token);
        let [first, second, third] = &mut self.connections;
        let (first, second, third) = tokio::join!(
            call.query_async::<u64>(first),
            call.query_async::<u64>(second),
            call.query_async::<u64>(third),
        );
        first?;
        second?;
        third?;
        Ok(())
    }
}

/// One connection to PostgreSQL with its prepared statements, and a share of those to Redis.
pub(crate) struct Booker {
    lock: Lock,
    locked: Locked,
    connection: Connection,
    recall: Statement,
    find: Statement,
    insert: Statement,
    begin: Statement,
    take: Statement,
    succeed: Statement,
    sold_up_to: Rc<Cell<i32>>,
    seats: Vec<u64>,
}

impl Client for Booker {
    async fn book(&mut self, number: u64) -> Result<()> {
        let key = format!("key-{number}");
        if self.connection.query_opt(&self.recall, &[&key]).await?.is_some() {
            return Err(Error::Wrong(format!("{key} was new and has a record")));
        }
        let name = match self.locked {
            Locked::Event => "lock:event:1".to_owned(),
            Locked::Seat => format!("lock:seat:{}", number + 1),
        };
        let token = self.lock.acquire(&name).await?;
        let booked = self.transact(number, &key).await;
        self.lock.release(&name, &token).await?;
        let seat = booked?;
        let response = format!(r#"{{"seatId":{seat},"customer":"customer-{number}","status":"CONFIRMED"}}"#);
        self.connection.execute(&self.succeed, &[&key, &response]).await?;
        self.seats.push(seat as u64);
        Ok(())
    }

    fn seats(self) -> Vec<u64> {
        self.seats
    }
}

impl Booker {
    async fn transact(&self, number: u64, key: &str) -> Result<i32> {
        let from = match self.locked {
            Locked::Event => self.sold_up_to.get() + 1,
            Locked::Seat => number as i32 + 1,
        };
        // What is joined is sent when it is first polled: in this order, and together.
        let parameters: [&(dyn ToSql + Sync); 1] = [&from];
        let (begun, found) = tokio::join!(
            biased;
            self.connection.batch_execute("BEGIN"),
            self.connection.query_opt(&self.find, &parameters),
        );
        begun?;
        let found = found?.ok_or_else(|| Error::Wrong("the hall is sold out".to_owned()))?;
        let (seat, version): (i32, i32) = (found.get(0), found.get(1));
        let (customer, hash, price) = (format!("customer-{number}"), format!("{number:064x}"), PRICE as i32);
        let booking: [&(dyn ToSql + Sync); 4] = [&seat, &customer, &price, &key];
        let record: [&(dyn ToSql + Sync); 2] = [&key, &hash];
        let as_it_was: [&(dyn ToSql + Sync); 2] = [&seat, &version];
        let (inserted, begun, taken) = tokio::join!(
            biased;
            self.connection.execute(&self.insert, &booking),
            self.connection.execute(&self.begin, &record),
            self.connection.execute(&self.take, &as_it_was),
        );
        inserted?;
        begun?;
        if taken? != 1 {
            return Err(Error::Wrong(format!("seat {seat} changed although it was locked")));
        }
        self.connection.batch_execute("COMMIT").await?;
        if self.locked == Locked::Event {
            self.sold_up_to.set(seat);
        }
        Ok(seat)
    }
}
