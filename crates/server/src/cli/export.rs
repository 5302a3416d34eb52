//! `boxoffice export`.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::ids::{InventoryKind, parts_of_name};
use boxoffice_core::inventory::Inventory;
use boxoffice_core::seats::Counts;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::load::load;
use boxoffice_engine::store::Store;
use boxoffice_engine::view::{KindView, StockView};
use clap::{Args, ValueEnum};
use csv::Writer;

use super::console::{Failure, counting};
use super::store::Data;
use crate::answer::address;
use crate::contacts::{self, Contact};
use crate::ids::uuid;
use crate::routes::bookings::{Life, area_name, box_id};
use crate::time::Moment;

/// What to export.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    data: Data,
    /// Which table.
    #[arg(long, env = "BOXOFFICE_EXPORT_WHAT", default_value = "bookings")]
    what: Table,
    /// Of this tenant only.
    #[arg(long, env = "BOXOFFICE_TENANT")]
    tenant: Option<String>,
    /// Where to; standard output if nothing is said.
    #[arg(long, env = "BOXOFFICE_EXPORT_OUT")]
    out: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Table {
    /// A line for every booking ever made, with contacts that were not erased.
    Bookings,
    /// A line for every section, area, slot and box.
    Utilization,
}

const BOOKING_COLUMNS: [&str; 20] = [
    "id",
    "tenant",
    "kind",
    "inventory",
    "customer",
    "status",
    "units",
    "quantity",
    "total",
    "currency",
    "created_at",
    "confirmed_at",
    "cancelled_at",
    "redeemed_at",
    "expires_at",
    "payment_reference",
    "redeem_code",
    "email",
    "phone",
    "version",
];

const UTILIZATION_COLUMNS: [&str; 10] =
    ["tenant", "kind", "inventory", "part", "capacity", "held", "sold", "available", "blocked", "rate"];

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let store = options.data.open()?;
    let out: Box<dyn Write> = match &options.out {
        Some(path) => Box::new(
            File::create(path).map_err(|error| Failure::new(format!("{}: {error}", path.display())))?,
        ),
        None => Box::new(io::stdout()),
    };
    let mut table = Writer::from_writer(out);
    match options.what {
        Table::Bookings => table.write_record(BOOKING_COLUMNS)?,
        Table::Utilization => table.write_record(UTILIZATION_COLUMNS)?,
    }
    let heads = store.heads()?;
    let bar = counting("exporting");
    bar.set_length(heads.len() as u64);
    for head in &heads {
        bar.inc(1);
        let Some((tenant, kind, id)) = parts_of_name(&head.name) else { continue };
        if options.tenant.as_ref().is_some_and(|wanted| wanted != tenant) {
            continue;
        }
        let Some(loaded) = load(&*store, head.inventory)? else { continue };
        let Some(stock) = StockView::new(&loaded.inventory) else { continue };
        let of = Of { tenant, kind, id, stock: &stock };
        match options.what {
            Table::Bookings => write_bookings(&mut table, &*store, &of, &loaded.inventory)?,
            Table::Utilization => write_utilization(&mut table, &of)?,
        }
    }
    bar.finish_and_clear();
    table.flush()?;
    Ok(store.close()?)
}

/// The inventory that is being written.
struct Of<'a> {
    tenant: &'a str,
    kind: InventoryKind,
    id: &'a str,
    stock: &'a StockView,
}

fn write_bookings(
    table: &mut Writer<Box<dyn Write>>,
    store: &dyn Store,
    of: &Of<'_>,
    inventory: &Inventory,
) -> Result<(), Failure> {
    for booking in inventory.bookings() {
        let account = inventory.customers().get(&booking.customer);
        let sealed = account.and_then(|account| account.contact);
        let contact = match sealed {
            Some(sealed) => unsealed(store, of.tenant, &booking.customer, sealed)?,
            None => Contact { email: None, phone: None },
        };
        write_booking(table, of, booking, contact)?;
    }
    Ok(())
}

/// The contact; empty if its key was erased.
fn unsealed(store: &dyn Store, tenant: &str, customer: &str, sealed: &[u8]) -> Result<Contact, Failure> {
    let key = store.documents(&contacts::document(tenant, customer))?.pop();
    let contact = contacts::unseal(key.as_ref().map(|(_, key)| key.as_slice()), sealed);
    Ok(contact.unwrap_or(Contact { email: None, phone: None }))
}

fn write_booking(
    table: &mut Writer<Box<dyn Write>>,
    of: &Of<'_>,
    booking: &Booking,
    contact: Contact,
) -> Result<(), Failure> {
    let Life { status, expires_at, confirmed_at, cancelled_at, redeemed_at } = Life::of(&booking.status);
    let status = serde_json::to_value(status)?;
    let moment = |at: Option<Timestamp>| at.map(|at| Moment(at).to_string()).unwrap_or_default();
    let fields = [
        uuid(booking.id).to_string(),
        of.tenant.to_owned(),
        of.kind.word().to_owned(),
        of.id.to_owned(),
        booking.customer.to_string(),
        status.as_str().unwrap_or_default().to_owned(),
        units(booking, of.stock),
        booking.units.quantity().to_string(),
        booking.total_price().0.to_string(),
        of.stock.terms.currency.as_str().to_owned(),
        moment(Some(booking.created_at)),
        moment(confirmed_at),
        moment(cancelled_at),
        moment(redeemed_at),
        moment(expires_at),
        booking.payment_reference().map(ToString::to_string).unwrap_or_default(),
        booking.redeem_code.to_string(),
        contact.email.unwrap_or_default(),
        contact.phone.unwrap_or_default(),
        booking.version.to_string(),
    ];
    Ok(table.write_record(fields.map(as_text))?)
}

/// Spreadsheets run what begins like a formula, and customers choose their names: such a text gets an apostrophe before it. What has only
/// digits and the signs of telephone numbers in it stays as it is: it runs nothing.
fn as_text(field: String) -> String {
    // The wide ones are the same to some.
    let begins_like_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    let is_number =
        field.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b' ' | b'(' | b')'));
    if begins_like_formula && !is_number { format!("'{field}") } else { field }
}

/// `A-1 4-12; A-1 4-13; standing x2`, `2026-12-01T09:00 x3` with the tickets, `evening x1`.
fn units(booking: &Booking, stock: &StockView) -> String {
    let parts: Vec<String> = match &booking.units {
        Units::Event { seats, areas } => {
            let seats = seats.iter().map(|claim| {
                let seat = claim.seat;
                format!("{} {}-{}", address(Some(stock), seat.subsection), seat.row, seat.number)
            });
            let areas =
                areas.iter().map(|claim| format!("{} x{}", area_name(stock, claim.area), claim.quantity));
            seats.chain(areas).collect()
        }
        Units::Slot { slot, quantity, tickets, .. } => {
            let slot = format!("{slot} x{quantity}");
            std::iter::once(slot).chain(tickets.iter().map(ToString::to_string)).collect()
        }
        Units::Box { number, quantity, .. } => vec![format!("{} x{quantity}", box_id(stock, *number))],
    };
    parts.join("; ")
}

fn write_utilization(table: &mut Writer<Box<dyn Write>>, of: &Of<'_>) -> Result<(), Failure> {
    let parts: Vec<(String, Counts)> = match &of.stock.kind {
        KindView::Event(event) => {
            let seats = event.subsections.iter().map(|part| (part.address.to_string(), part.counts));
            seats.chain(event.areas.iter().map(|area| (area.name.clone(), area.pool.counts()))).collect()
        }
        KindView::Schedule(schedule) => {
            schedule.slots.iter().map(|(id, slot)| (id.to_string(), slot.pool.counts())).collect()
        }
        KindView::Shop(shop) => {
            shop.boxes.iter().map(|boxed| (boxed.id.to_string(), boxed.pool.counts())).collect()
        }
    };
    for (part, Counts { available, held, sold, blocked }) in parts {
        // What is blocked is not for sale, and does not count as empty.
        let capacity = available + held + sold;
        let rate = if capacity == 0 { 0.0 } else { f64::from(held + sold) * 100.0 / f64::from(capacity) };
        let fields = [
            of.tenant.to_owned(),
            of.kind.word().to_owned(),
            of.id.to_owned(),
            part,
            capacity.to_string(),
            held.to_string(),
            sold.to_string(),
            available.to_string(),
            blocked.to_string(),
            format!("{rate:.1}"),
        ];
        table.write_record(fields.map(as_text))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_run_by_a_spreadsheet() {
        for formula in ["=cmd()", "+cmd()", "-2+cmd()", "@cmd", "\tcmd", "\r=1", "＝cmd()"] {
            assert_eq!(as_text(formula.to_owned()), format!("'{formula}"));
        }
        for harmless in
            ["ann", "a=b", "", "'=x", "-5", "+12025551234", "+1 (202) 555-1234", "2026-12-01T09:00"]
        {
            assert_eq!(as_text(harmless.to_owned()), harmless);
        }
    }
}
