//! (b) PostgreSQL: a slot's row is locked with `SELECT .. FOR UPDATE`, counted, and committed.
//!
//! As in the source design: the slot is one row with its capacity and its count; a transaction locks it, checks the
//! capacity, inserts the booking and raises the count. The answer of the key is stored in the same transaction, so that it is
//! there exactly when the booking is (the source has no keys).
//!
//! Made easier for it than in the source: statements are prepared and travel together, so that the lock is held for one
//! round trip and the commit; the row has room on its page; there are no tickets and no seats, only a count.
//!
//! After a power cut: what was acknowledged is there (`synchronous_commit=on`, `fsync=on`), once.
//!
//! Where it fails: the lock is held until the commit is on disk, so one hot row sells one booking a sync, whatever the
//! machine. In the source, `UNIQUE(ticket_id)` forbids a booking after a cancellation, cancelling twice counts down twice,
//! a closed slot is opened by a cancellation, and changing between two slots locks them in the order of the request, which
//! deadlocks.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client as Connection, Statement};

use crate::drive::{Client, Design, Recorded};
use crate::error::{Error, Result};
use crate::postgres::Postgres;

const TABLES: &str = "
CREATE TABLE slots (id int PRIMARY KEY, total_capacity int NOT NULL, booked_count int NOT NULL) WITH (fillfactor = 10);
CREATE TABLE reservations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, slot_id int NOT NULL, place int NOT NULL,
    customer text NOT NULL, status text NOT NULL, reserved_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE idempotency (key text PRIMARY KEY, response text NOT NULL);
INSERT INTO slots VALUES (1, 1000000, 0);
";

/// A PostgreSQL with one slot.
pub(crate) struct SlotRow {
    postgres: Postgres,
}

impl SlotRow {
    pub(crate) async fn start() -> Result<SlotRow> {
        let postgres = Postgres::start()?;
        postgres.prepare(TABLES).await?;
        Ok(SlotRow { postgres })
    }
}

impl Design for SlotRow {
    type Client = Booker;

    async fn client(&self, _index: usize, _clients: usize) -> Result<Booker> {
        let connection = self.postgres.connect().await?;
        Ok(Booker {
            recall: connection.prepare("SELECT response FROM idempotency WHERE key = $1").await?,
            lock: connection
                .prepare("SELECT total_capacity, booked_count FROM slots WHERE id = 1 FOR UPDATE")
                .await?,
            insert: connection
                .prepare(
                    "INSERT INTO reservations (slot_id, place, customer, status) VALUES (1, $1, $2, 'RESERVED')",
                )
                .await?,
            remember: connection.prepare("INSERT INTO idempotency VALUES ($1, $2)").await?,
            count: connection.prepare("UPDATE slots SET booked_count = booked_count + 1 WHERE id = 1").await?,
            connection,
            places: Vec::new(),
        })
    }

    fn processes(&self) -> Vec<u32> {
        vec![self.postgres.server.id()]
    }

    async fn recorded(self) -> Result<Recorded> {
        let connection = self.postgres.connect().await?;
        let counts = connection
            .query_one(
                "SELECT (SELECT count(*) FROM reservations), (SELECT sum(booked_count) FROM slots), \
                 (SELECT count(*) FROM idempotency)",
                &[],
            )
            .await?;
        let count = |column: usize| counts.get::<_, i64>(column) as u64;
        Ok(Recorded { bookings: count(0), taken: count(1), keys: count(2) })
    }
}

/// One connection and its prepared statements.
pub(crate) struct Booker {
    connection: Connection,
    recall: Statement,
    lock: Statement,
    insert: Statement,
    remember: Statement,
    count: Statement,
    places: Vec<u64>,
}

impl Client for Booker {
    async fn book(&mut self, number: u64) -> Result<()> {
        let Booker { connection, recall, lock, insert, remember, count, places } = self;
        let (key, customer) = (format!("key-{number}"), format!("customer-{number}"));
        let by_key: [&(dyn ToSql + Sync); 1] = [&key];
        // Each of these is sent when it is first polled: in this order, and together.
        let (begun, known, slot) = tokio::join!(
            biased;
            connection.batch_execute("BEGIN"),
            connection.query_opt(&*recall, &by_key),
            connection.query_one(&*lock, &[]),
        );
        begun?;
        if known?.is_some() {
            return Err(Error::Wrong(format!("{key} was new and has an answer")));
        }
        let slot = slot?;
        let (capacity, booked): (i32, i32) = (slot.get(0), slot.get(1));
        if booked >= capacity {
            return Err(Error::Wrong("the slot is full".to_owned()));
        }
        let place = booked + 1;
        let response = format!(r#"{{"slot":1,"place":{place},"customer":"{customer}","status":"RESERVED"}}"#);
        let booking: [&(dyn ToSql + Sync); 2] = [&place, &customer];
        let answer: [&(dyn ToSql + Sync); 2] = [&key, &response];
        let (inserted, remembered, counted, committed) = tokio::join!(
            biased;
            connection.execute(&*insert, &booking),
            connection.execute(&*remember, &answer),
            connection.execute(&*count, &[]),
            connection.batch_execute("COMMIT"),
        );
        inserted?;
        remembered?;
        counted?;
        committed?;
        places.push(place as u64);
        Ok(())
    }

    fn seats(self) -> Vec<u64> {
        self.places
    }
}
