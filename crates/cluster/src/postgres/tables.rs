//! The statements that read and write rows, each for all rows of a commit at once.

use std::collections::BTreeSet;

use boxoffice_core::booking::Units;
use boxoffice_core::change::Change;
use boxoffice_core::ids::BookingId;
use boxoffice_core::inventory::Inventory;
use boxoffice_core::rules::InventoryStatus;
use boxoffice_core::seats::Seat;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::types::Uuid;
use sqlx::{Row, query};

use super::rows::{BookingRow, BookingStatus, Claim, Claimed, Number, PoolRow, Rows, wanted, wanted_pools};

/// Seats that one statement takes: it must end in time, however many a commit takes.
pub(super) const STATEMENT_ROWS_MAX: usize = 20_000;

/// Why the tables were not brought up to date.
#[derive(Debug, thiserror::Error)]
pub(super) enum TablesError {
    #[error(transparent)]
    Sql(#[from] sqlx::Error),
    /// They do not have what the journal says they must.
    #[error("the tables are not what the journal says: {0}")]
    Inconsistent(String),
}

/// What the tables must say after the changes of a commit, whose inventories' rows must be locked.
pub(super) async fn fold(
    connection: &mut PgConnection,
    batches: &[(Number, &[Change])],
) -> Result<Rows, TablesError> {
    let mut rows = Rows::default();
    let mut pools = read_bookings(connection, batches, &mut rows).await?;
    for (number, changes) in batches {
        wanted_pools(*number, changes, &mut pools);
    }
    read_pools(connection, &pools, &mut rows).await?;
    count_boxes(connection, batches, &mut rows).await?;
    for (number, changes) in batches {
        rows.fold(*number, changes).map_err(TablesError::Inconsistent)?;
    }
    rows.count_claims().map_err(TablesError::Inconsistent)?;
    Ok(rows)
}

/// Writes all rows of an inventory whose first records are gone, so that nothing could be made of the later ones. Its row
/// must be locked.
pub(super) async fn rebuild(
    connection: &mut PgConnection,
    number: Number,
    inventory: &Inventory,
) -> Result<(), TablesError> {
    // A journal with a gap may have left some.
    for statement in [
        "DELETE FROM pool_claim WHERE inventory = $1",
        "DELETE FROM section WHERE inventory = $1",
        "DELETE FROM pool WHERE inventory = $1",
        "DELETE FROM booking WHERE inventory = $1",
        "DELETE FROM claim WHERE inventory = $1",
        "DELETE FROM ticket WHERE inventory = $1",
        "DELETE FROM ticket_claim WHERE inventory = $1",
        "DELETE FROM idempotency WHERE inventory = $1",
        "UPDATE inventory SET capacity = 0, held = 0, sold = 0, blocked = 0, complete = true WHERE number = $1",
    ] {
        query(statement).bind(number).execute(&mut *connection).await?;
    }
    write(connection, &Rows::of(number, inventory).map_err(TablesError::Inconsistent)?).await
}

/// Brings the tables up to date.
pub(super) async fn write(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    write_inventories(connection, rows).await?;
    write_sections(connection, rows).await?;
    write_pools(connection, rows).await?;
    write_bookings(connection, rows).await?;
    write_claims(connection, rows).await?;
    write_pool_claims(connection, rows).await?;
    write_tickets(connection, rows).await?;
    write_keys(connection, rows).await
}

pub(super) fn uuid(id: BookingId) -> Uuid {
    Uuid::from_bytes(id.to_bytes())
}

/// Reads the bookings that are about to change, and says which pools they claim.
async fn read_bookings(
    connection: &mut PgConnection,
    batches: &[(Number, &[Change])],
    rows: &mut Rows,
) -> Result<BTreeSet<(Number, String)>, TablesError> {
    let changes = batches.iter().flat_map(|(number, changes)| changes.iter().map(|change| (*number, change)));
    let wanted = BookingKeys::of(wanted(changes));
    let mut pools = BTreeSet::new();
    if wanted.ids.is_empty() {
        return Ok(pools);
    }
    let found = query(
        "SELECT b.id, b.inventory, b.status, b.quantity, b.total_price,
                ARRAY(SELECT p.pool FROM pool_claim p WHERE p.booking = b.id AND p.inventory = b.inventory
                      ORDER BY p.pool) AS pools,
                ARRAY(SELECT p.quantity FROM pool_claim p WHERE p.booking = b.id AND p.inventory = b.inventory
                      ORDER BY p.pool) AS quantities
         FROM booking b JOIN UNNEST($1::uuid[], $2::bigint[]) AS w(id, inventory) USING (id, inventory)",
    )
    .bind(wanted.ids)
    .bind(wanted.inventories)
    .fetch_all(connection)
    .await?;
    for row in found {
        let ((id, number), booking) = booking_of(&row)?;
        pools.extend(booking.after.pools.iter().map(|(pool, _)| (number, pool.clone())));
        rows.bookings.insert((id, number), booking);
    }
    Ok(pools)
}

fn booking_of(row: &PgRow) -> Result<((BookingId, Number), BookingRow), TablesError> {
    let id: Uuid = row.try_get("id")?;
    let word: String = row.try_get("status")?;
    let status = BookingStatus::ALL.into_iter().find(|status| status.word() == word);
    let status = status.ok_or_else(|| TablesError::Inconsistent(format!("{word:?} is no status")))?;
    let (pools, quantities): (Vec<String>, Vec<i64>) = (row.try_get("pools")?, row.try_get("quantities")?);
    let pools = pools.into_iter().zip(quantities).collect();
    let claimed = Claimed { status, quantity: row.try_get("quantity")?, pools };
    let key = (BookingId::from_bytes(id.into_bytes()), row.try_get("inventory")?);
    Ok((key, BookingRow::known(claimed, row.try_get("total_price")?)))
}

async fn read_pools(
    connection: &mut PgConnection,
    wanted: &BTreeSet<(Number, String)>,
    rows: &mut Rows,
) -> Result<(), TablesError> {
    if wanted.is_empty() {
        return Ok(());
    }
    let (numbers, keys): (Vec<Number>, Vec<&str>) =
        wanted.iter().map(|(number, key)| (number, key.as_str())).unzip();
    let found = query(
        "SELECT p.inventory, p.pool, p.name, p.capacity, p.held, p.sold, p.closed
         FROM pool p JOIN UNNEST($1::bigint[], $2::text[]) AS w(inventory, pool) USING (inventory, pool)",
    )
    .bind(numbers)
    .bind(keys)
    .fetch_all(connection)
    .await?;
    for row in found {
        let pool = PoolRow {
            name: row.try_get("name")?,
            capacity: row.try_get("capacity")?,
            held: row.try_get("held")?,
            sold: row.try_get("sold")?,
            closed: row.try_get("closed")?,
            removed: false,
        };
        rows.pools.insert((row.try_get("inventory")?, row.try_get("pool")?), pool);
    }
    Ok(())
}

/// A new box is known by its place in the list of all of them. None is ever removed.
async fn count_boxes(
    connection: &mut PgConnection,
    batches: &[(Number, &[Change])],
    rows: &mut Rows,
) -> Result<(), TablesError> {
    let adds = |changes: &[Change]| changes.iter().any(|change| matches!(change, Change::BoxAdded(_)));
    let numbers: Vec<Number> =
        batches.iter().filter(|(_, changes)| adds(changes)).map(|(number, _)| *number).collect();
    if numbers.is_empty() {
        return Ok(());
    }
    let counted =
        query("SELECT inventory, count(*) AS boxes FROM pool WHERE inventory = ANY($1) GROUP BY inventory")
            .bind(numbers)
            .fetch_all(connection)
            .await?;
    for row in counted {
        let boxes: i64 = row.try_get("boxes")?;
        let inventory = rows.inventories.entry(row.try_get("inventory")?).or_default();
        inventory.boxes = usize::try_from(boxes).expect("a count");
    }
    Ok(())
}

async fn write_inventories(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    if rows.inventories.is_empty() {
        return Ok(());
    }
    let (mut numbers, mut currencies, mut statuses) = (Vec::new(), Vec::new(), Vec::new());
    let (mut capacity, mut held, mut sold, mut blocked) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (number, row) in &rows.inventories {
        numbers.push(*number);
        currencies.push(row.currency.as_deref());
        statuses.push(row.status.map(InventoryStatus::word));
        capacity.push(row.capacity);
        held.push(row.held);
        sold.push(row.sold);
        blocked.push(row.blocked);
    }
    query(
        "UPDATE inventory i SET currency = coalesce(d.currency, i.currency), status = coalesce(d.status, i.status),
                capacity = i.capacity + d.capacity, held = i.held + d.held, sold = i.sold + d.sold, blocked = i.blocked + d.blocked
         FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
              AS d(number, currency, status, capacity, held, sold, blocked)
         WHERE i.number = d.number",
    )
    .bind(numbers)
    .bind(currencies)
    .bind(statuses)
    .bind(capacity)
    .bind(held)
    .bind(sold)
    .bind(blocked)
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_sections(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    if rows.sections.is_empty() {
        return Ok(());
    }
    let sections = &rows.sections;
    query(
        "INSERT INTO section (inventory, subsection, address, rows, cols)
         SELECT * FROM UNNEST($1::bigint[], $2::integer[], $3::text[], $4::integer[], $5::integer[])",
    )
    .bind(sections.iter().map(|section| section.inventory).collect::<Vec<_>>())
    .bind(sections.iter().map(|section| section.subsection).collect::<Vec<_>>())
    .bind(sections.iter().map(|section| section.address.as_str()).collect::<Vec<_>>())
    .bind(sections.iter().map(|section| section.rows).collect::<Vec<_>>())
    .bind(sections.iter().map(|section| section.cols).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_pools(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    let (removed, kept): (Vec<_>, Vec<_>) = rows.pools.iter().partition(|(_, pool)| pool.removed);
    if !removed.is_empty() {
        query(
            "DELETE FROM pool p USING UNNEST($1::bigint[], $2::text[]) AS r(inventory, pool)
             WHERE p.inventory = r.inventory AND p.pool = r.pool",
        )
        .bind(removed.iter().map(|((number, _), _)| *number).collect::<Vec<_>>())
        .bind(removed.iter().map(|((_, key), _)| key.as_str()).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    if kept.is_empty() {
        return Ok(());
    }
    query(
        "INSERT INTO pool (inventory, pool, name, capacity, held, sold, closed)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[])
         ON CONFLICT (inventory, pool)
         DO UPDATE SET capacity = excluded.capacity, held = excluded.held, sold = excluded.sold, closed = excluded.closed",
    )
    .bind(kept.iter().map(|((number, _), _)| *number).collect::<Vec<_>>())
    .bind(kept.iter().map(|((_, key), _)| key.as_str()).collect::<Vec<_>>())
    .bind(kept.iter().map(|(_, pool)| pool.name.as_str()).collect::<Vec<_>>())
    .bind(kept.iter().map(|(_, pool)| pool.capacity).collect::<Vec<_>>())
    .bind(kept.iter().map(|(_, pool)| pool.held).collect::<Vec<_>>())
    .bind(kept.iter().map(|(_, pool)| pool.sold).collect::<Vec<_>>())
    .bind(kept.iter().map(|(_, pool)| pool.closed).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// The bookings that this commit makes, then those that it changes.
async fn write_bookings(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    let (made, changed): (Vec<_>, Vec<_>) = rows.bookings.iter().partition(|(_, row)| row.before.is_none());
    if !made.is_empty() {
        query(
            "INSERT INTO booking (id, inventory, customer, status, quantity, total_price, created_at, expires_at,
                                  confirmed_at, cancelled_at, redeemed_at, redeemed_quantity, payment_reference,
                                  reference, version)
             SELECT id, inventory, customer, status, quantity, total_price,
                    to_timestamp(created / 1000.0), to_timestamp(expires / 1000.0), to_timestamp(confirmed / 1000.0),
                    to_timestamp(cancelled / 1000.0), to_timestamp(redeemed / 1000.0), coalesce(redeemed_quantity, 0),
                    payment_reference, reference, version
             FROM UNNEST($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                         $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[], $14::bigint[],
                         $15::text[])
                  AS b(id, status, quantity, total_price, expires, confirmed, cancelled,
                       redeemed, payment_reference, version, inventory, customer, created, redeemed_quantity, reference)",
        )
        .bind(made.iter().map(|((id, _), _)| uuid(*id)).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.after.status.word()).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.after.quantity).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.total_price).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.expires_at_ms).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.confirmed_at_ms).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.cancelled_at_ms).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.redeemed_at_ms).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.payment_reference.as_deref()).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.versions).collect::<Vec<_>>())
        .bind(made.iter().map(|((_, number), _)| *number).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.customer.as_str()).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.created_at_ms).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.redeemed_quantity).collect::<Vec<_>>())
        .bind(made.iter().map(|(_, row)| row.reference.as_deref()).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    if changed.is_empty() {
        return Ok(());
    }
    query(
        "UPDATE booking b SET status = c.status, quantity = c.quantity, total_price = c.total_price,
                expires_at = coalesce(to_timestamp(c.expires / 1000.0), b.expires_at),
                confirmed_at = coalesce(to_timestamp(c.confirmed / 1000.0), b.confirmed_at),
                cancelled_at = coalesce(to_timestamp(c.cancelled / 1000.0), b.cancelled_at),
                redeemed_at = CASE WHEN c.status = 'redeemed'
                                   THEN coalesce(to_timestamp(c.redeemed / 1000.0), b.redeemed_at) END,
                redeemed_quantity = coalesce(c.redeemed_quantity, b.redeemed_quantity),
                payment_reference = coalesce(c.payment_reference, b.payment_reference),
                version = b.version + c.versions
         FROM UNNEST($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                     $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[])
              AS c(id, status, quantity, total_price, expires, confirmed, cancelled,
                   redeemed, payment_reference, versions, redeemed_quantity, inventory)
         WHERE b.id = c.id AND b.inventory = c.inventory",
    )
    .bind(changed.iter().map(|((id, _), _)| uuid(*id)).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.after.status.word()).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.after.quantity).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.total_price).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.expires_at_ms).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.confirmed_at_ms).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.cancelled_at_ms).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.redeemed_at_ms).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.payment_reference.as_deref()).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.versions).collect::<Vec<_>>())
    .bind(changed.iter().map(|(_, row)| row.redeemed_quantity).collect::<Vec<_>>())
    .bind(changed.iter().map(|((_, number), _)| *number).collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}

/// Seats: first those that are free now, then those that were sold, then those that are taken. The last are inserted and nothing
/// else, so that the table's key refuses a seat that somebody has.
async fn write_claims(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    let released = released(rows);
    if !released.ids.is_empty() {
        query(
            "DELETE FROM claim c USING UNNEST($1::uuid[], $2::bigint[]) AS r(booking, inventory)
             WHERE c.booking = r.booking AND c.inventory = r.inventory",
        )
        .bind(released.ids)
        .bind(released.inventories)
        .execute(&mut *connection)
        .await?;
    }
    if !rows.unblocked.is_empty() {
        let seats = Seats::of(rows.unblocked.iter().copied());
        query(
            "DELETE FROM claim c
             USING UNNEST($1::bigint[], $2::integer[], $3::integer[], $4::integer[]) AS u(inventory, subsection, seat_row, seat)
             WHERE (c.inventory, c.subsection, c.seat_row, c.seat) = (u.inventory, u.subsection, u.seat_row, u.seat)
               AND c.state = 'blocked'",
        )
        .bind(seats.inventories)
        .bind(seats.subsections)
        .bind(seats.rows)
        .bind(seats.numbers)
        .execute(&mut *connection)
        .await?;
    }
    let sold = BookingKeys::of(rows.bookings.iter().filter(|(_, row)| was_sold(row)).map(|(key, _)| *key));
    if !sold.ids.is_empty() {
        query(
            "UPDATE claim c SET state = 'sold' FROM UNNEST($1::uuid[], $2::bigint[]) AS s(booking, inventory)
             WHERE c.booking = s.booking AND c.inventory = s.inventory",
        )
        .bind(sold.ids)
        .bind(sold.inventories)
        .execute(&mut *connection)
        .await?;
    }
    let mut taken = Seats::of(rows.blocked.iter().copied());
    let mut states = vec!["blocked"; taken.numbers.len()];
    let mut bookings: Vec<Option<Uuid>> = vec![None; states.len()];
    let mut prices: Vec<Option<i64>> = vec![None; states.len()];
    for ((id, number), row, units) in claiming(rows) {
        let Units::Event { seats, .. } = units else { continue };
        for claim in seats {
            taken.push(number, claim.seat);
            states.push(row.after.claim().word());
            bookings.push(Some(uuid(id)));
            prices.push(Some(claim.price.0));
        }
    }
    for start in (0..states.len()).step_by(STATEMENT_ROWS_MAX) {
        let some = start..states.len().min(start + STATEMENT_ROWS_MAX);
        query(
            "INSERT INTO claim (inventory, subsection, seat_row, seat, state, booking, price)
             SELECT * FROM UNNEST($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::text[], $6::uuid[], $7::bigint[])",
        )
        .bind(&taken.inventories[some.clone()])
        .bind(&taken.subsections[some.clone()])
        .bind(&taken.rows[some.clone()])
        .bind(&taken.numbers[some.clone()])
        .bind(&states[some.clone()])
        .bind(&bookings[some.clone()])
        .bind(&prices[some])
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Bookings by id and inventory, as columns. An id alone may be of several tenants' bookings.
#[derive(Default)]
struct BookingKeys {
    ids: Vec<Uuid>,
    inventories: Vec<Number>,
}

impl BookingKeys {
    fn of(keys: impl IntoIterator<Item = (BookingId, Number)>) -> BookingKeys {
        let (ids, inventories) = keys.into_iter().map(|(id, number)| (uuid(id), number)).unzip();
        BookingKeys { ids, inventories }
    }
}

/// Seats as columns.
#[derive(Default)]
struct Seats {
    inventories: Vec<Number>,
    subsections: Vec<i32>,
    rows: Vec<i32>,
    numbers: Vec<i32>,
}

impl Seats {
    fn of(seats: impl Iterator<Item = (Number, Seat)>) -> Seats {
        let mut columns = Seats::default();
        seats.for_each(|(number, seat)| columns.push(number, seat));
        columns
    }

    fn push(&mut self, inventory: Number, seat: Seat) {
        self.inventories.push(inventory);
        self.subsections.push(seat.subsection.into());
        self.rows.push(seat.row.into());
        self.numbers.push(seat.number.into());
    }
}

/// Bookings that the tables have and that no longer claim what they did.
fn released(rows: &Rows) -> BookingKeys {
    let gone = |row: &BookingRow| {
        let claimed = row.before.as_ref().is_some_and(|before| before.claim() != Claim::Free);
        claimed && (row.units.is_some() || row.after.claim() == Claim::Free)
    };
    BookingKeys::of(rows.bookings.iter().filter(|(_, row)| gone(row)).map(|(key, _)| *key))
}

/// Whether what the tables have as held is sold now.
fn was_sold(row: &BookingRow) -> bool {
    let held = row.before.as_ref().is_some_and(|before| before.claim() == Claim::Held);
    held && row.units.is_none() && row.after.claim() == Claim::Sold
}

/// Bookings that claim units which the tables do not have yet.
fn claiming(rows: &Rows) -> impl Iterator<Item = ((BookingId, Number), &BookingRow, &Units)> {
    rows.bookings.iter().filter_map(|(key, row)| {
        let units = row.units.as_ref().filter(|_| row.after.claim() != Claim::Free)?;
        Some((*key, row, units))
    })
}

async fn write_pool_claims(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    // A booking that was over may still have said what it claimed.
    let said = rows
        .bookings
        .iter()
        .filter(|(_, row)| row.before.as_ref().is_some_and(|before| !before.pools.is_empty()))
        .filter(|(_, row)| row.units.is_some());
    let said = BookingKeys::of(said.map(|(key, _)| *key));
    if !said.ids.is_empty() {
        query(
            "DELETE FROM pool_claim p USING UNNEST($1::uuid[], $2::bigint[]) AS s(booking, inventory)
             WHERE p.booking = s.booking AND p.inventory = s.inventory",
        )
        .bind(said.ids)
        .bind(said.inventories)
        .execute(&mut *connection)
        .await?;
    }
    let (mut bookings, mut inventories) = (Vec::new(), Vec::new());
    let (mut pools, mut quantities) = (Vec::new(), Vec::new());
    for ((id, number), row) in rows.bookings.iter().filter(|(_, row)| row.units.is_some()) {
        for (pool, quantity) in &row.after.pools {
            bookings.push(uuid(*id));
            inventories.push(*number);
            pools.push(pool.as_str());
            quantities.push(*quantity);
        }
    }
    if bookings.is_empty() {
        return Ok(());
    }
    query(
        "INSERT INTO pool_claim (booking, inventory, pool, quantity)
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::text[], $4::bigint[])",
    )
    .bind(bookings)
    .bind(inventories)
    .bind(pools)
    .bind(quantities)
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_tickets(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    if !rows.tickets.is_empty() {
        let tickets = &rows.tickets;
        query(
            "INSERT INTO ticket (inventory, ticket, active, expires_at)
             SELECT inventory, ticket, active, to_timestamp(expires / 1000.0)
             FROM UNNEST($1::bigint[], $2::text[], $3::boolean[], $4::bigint[]) AS t(inventory, ticket, active, expires)
             ON CONFLICT (inventory, ticket) DO UPDATE SET active = excluded.active, expires_at = excluded.expires_at",
        )
        .bind(tickets.keys().map(|(number, _)| *number).collect::<Vec<_>>())
        .bind(tickets.keys().map(|(_, ticket)| ticket.as_str()).collect::<Vec<_>>())
        .bind(tickets.values().map(|row| row.active).collect::<Vec<_>>())
        .bind(tickets.values().map(|row| row.expires_at_ms).collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    let released = released(rows);
    if !released.ids.is_empty() {
        query(
            "DELETE FROM ticket_claim t USING UNNEST($1::uuid[], $2::bigint[]) AS r(booking, inventory)
             WHERE t.booking = r.booking AND t.inventory = r.inventory",
        )
        .bind(released.ids)
        .bind(released.inventories)
        .execute(&mut *connection)
        .await?;
    }
    let (mut inventories, mut claimed, mut bookings) = (Vec::new(), Vec::new(), Vec::new());
    for ((id, number), _, units) in claiming(rows) {
        let Units::Slot { tickets, .. } = units else { continue };
        for ticket in tickets {
            inventories.push(number);
            claimed.push(&**ticket);
            bookings.push(uuid(id));
        }
    }
    if bookings.is_empty() {
        return Ok(());
    }
    query(
        "INSERT INTO ticket_claim (inventory, ticket, booking)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::uuid[])",
    )
    .bind(inventories)
    .bind(claimed)
    .bind(bookings)
    .execute(connection)
    .await?;
    Ok(())
}

async fn write_keys(connection: &mut PgConnection, rows: &Rows) -> Result<(), TablesError> {
    if !rows.forgotten.is_empty() {
        query(
            "DELETE FROM idempotency i USING UNNEST($1::bigint[], $2::bigint[]) AS f(inventory, through)
             WHERE i.inventory = f.inventory AND i.keep_until_ms <= f.through",
        )
        .bind(rows.forgotten.keys().copied().collect::<Vec<_>>())
        .bind(rows.forgotten.values().copied().collect::<Vec<_>>())
        .execute(&mut *connection)
        .await?;
    }
    if rows.keys.is_empty() {
        return Ok(());
    }
    query(
        "INSERT INTO idempotency (inventory, key, keep_until_ms)
         SELECT * FROM UNNEST($1::bigint[], $2::bytea[], $3::bigint[])
         ON CONFLICT (inventory, key) DO UPDATE SET keep_until_ms = excluded.keep_until_ms",
    )
    .bind(rows.keys.keys().map(|(number, _)| *number).collect::<Vec<_>>())
    .bind(rows.keys.keys().map(|(_, key)| key.as_slice()).collect::<Vec<_>>())
    .bind(rows.keys.values().copied().collect::<Vec<_>>())
    .execute(connection)
    .await?;
    Ok(())
}
