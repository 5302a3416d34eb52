//! Bookings and utilization as CSV tables, for spreadsheets.

use std::io::Write;

use boxoffice_core::booking::{Booking, Units};
use boxoffice_core::ids::InventoryKind;
use boxoffice_core::seats::Counts;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::view::{KindView, StockView};
use clap::ValueEnum;
use csv::Writer;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::answer::address;
use crate::contacts::Contact;
use crate::ids::uuid;
use crate::routes::bookings::{Life, area_name, box_id};
use crate::time::Moment;

/// A table that can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Table {
    /// A line for every booking ever made, with contacts that were not erased.
    #[default]
    Bookings,
    /// A line for every section, area, slot and box.
    Utilization,
}

const BOOKING_COLUMNS: [&str; 21] = [
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
    "reference",
];

const UTILIZATION_COLUMNS: [&str; 10] =
    ["tenant", "kind", "inventory", "part", "capacity", "held", "sold", "available", "blocked", "rate"];

impl Table {
    /// Writes the names of the columns.
    pub(crate) fn write_heading(self, table: &mut Writer<impl Write>) -> csv::Result<()> {
        match self {
            Table::Bookings => table.write_record(BOOKING_COLUMNS),
            Table::Utilization => table.write_record(UTILIZATION_COLUMNS),
        }
    }
}

/// The inventory that is being exported.
pub(crate) struct Exported<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) kind: InventoryKind,
    pub(crate) id: &'a str,
    pub(crate) stock: &'a StockView,
}

/// Writes the line of a booking.
pub(crate) fn write_booking(
    table: &mut Writer<impl Write>,
    of: &Exported<'_>,
    booking: &Booking,
    contact: Option<&Contact>,
) -> csv::Result<()> {
    let Life { status, expires_at, confirmed_at, cancelled_at, redeemed_at } = Life::of(&booking.status);
    let status = serde_json::to_value(status).expect("a word");
    let email = contact.and_then(|contact| contact.email.clone());
    let phone = contact.and_then(|contact| contact.phone.clone());
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
        email.unwrap_or_default(),
        phone.unwrap_or_default(),
        booking.version.to_string(),
        booking.reference().map(ToString::to_string).unwrap_or_default(),
    ];
    table.write_record(fields.map(as_text))
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

/// Writes a line for each section, area, slot and box.
pub(crate) fn write_utilization(table: &mut Writer<impl Write>, of: &Exported<'_>) -> csv::Result<()> {
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
