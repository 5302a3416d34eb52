//! What the mirror shows of a booking.
//!
//! Bookings are written beside the stock, each guarded by its own version: so they can be written ahead of it, by several
//! nodes, and in pieces. One that has ended stays for a while, so that whoever is late with an earlier version finds it, and
//! then goes.

use std::time::Duration;

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_engine::view::{KindView, StockView};
use serde_json::{Map, json};

use super::keys::{self, Keys};

/// How long a booking that has ended is shown.
pub(super) const ENDED_SHOWN: Duration = Duration::from_secs(3_600);

/// Whether it has ended, and its units are free.
pub(super) fn has_ended(booking: &Booking) -> bool {
    match booking.status {
        Status::OnHold { .. } | Status::Confirmed { .. } | Status::Redeemed { .. } => false,
        Status::Cancelled { .. } | Status::Expired { .. } => true,
    }
}

/// The fields of a booking's hash.
pub(super) fn fields(name: &str, booking: &Booking, stock: &StockView) -> Vec<(&'static str, String)> {
    let state = match booking.status {
        Status::OnHold { .. } => "on_hold",
        Status::Confirmed { .. } => "confirmed",
        Status::Redeemed { .. } => "redeemed",
        Status::Cancelled { .. } => "cancelled",
        Status::Expired { .. } => "expired",
    };
    let mut fields = vec![
        ("version", booking.version.to_string()),
        ("status", "RESERVE_SUCCESS".to_owned()),
        ("state", state.to_owned()),
        ("inventory", name.to_owned()),
        ("customer", booking.customer.to_string()),
        ("quantity", booking.units.quantity().to_string()),
        ("redeemed_quantity", booking.redeemed_quantity().to_string()),
        ("total_price", booking.total_price().0.to_string()),
    ];
    if let Some(deadline) = booking.deadline() {
        fields.push(("expires_at_ms", deadline.0.to_string()));
    }
    match (&booking.units, &stock.kind) {
        (Units::Event { seats, areas }, KindView::Event(event)) => {
            let (mut reserved, mut by_section) = (Vec::new(), Map::new());
            for claim in seats {
                let address = &event.subsections[usize::from(claim.seat.subsection)].address;
                let seat = format!("{}-{}", claim.seat.row, claim.seat.number);
                let of_section = by_section.entry(address.to_string()).or_insert_with(|| json!([]));
                if let Some(of_section) = of_section.as_array_mut() {
                    of_section.push(seat.clone().into());
                }
                reserved.push(seat);
            }
            fields.push(("reserved_seats", json!(reserved).to_string()));
            fields.push(("seats_by_section", serde_json::Value::Object(by_section).to_string()));
            if !areas.is_empty() {
                let name = |area: u16| event.areas[usize::from(area)].name.clone();
                let areas = areas.iter().map(|claim| (name(claim.area), claim.quantity.into()));
                let reserved: Map<String, serde_json::Value> = areas.collect();
                fields.push(("reserved_areas", serde_json::Value::Object(reserved).to_string()));
            }
        }
        (Units::Slot { slot, .. }, KindView::Schedule(_)) => fields.push(("slot", slot.to_string())),
        (Units::Box { number, .. }, KindView::Shop(shop)) => {
            let boxed = usize::try_from(*number).ok().and_then(|number| shop.boxes.get(number));
            fields.extend(boxed.map(|boxed| ("box", boxed.id.to_string())));
        }
        (Units::Event { .. } | Units::Slot { .. } | Units::Box { .. }, _) => {
            unreachable!("a booking is of its inventory's kind")
        }
    }
    fields
}

/// What stands at the key of a booking's hold; `None` if it is not on hold.
pub(super) fn hold(keys: &Keys, name: &str, booking: &Booking, stock: &StockView) -> Option<String> {
    let deadline = booking.deadline()?;
    let expires_at = jiff::Timestamp::from_millisecond(deadline.0).ok()?;
    let mut hold = json!({
        "reservationId": keys::id_text(booking.id),
        "userId": &*booking.customer,
        "expiresAt": format!("{expires_at:.3}"),
    });
    match (&booking.units, &stock.kind) {
        (Units::Box { number, .. }, KindView::Shop(shop)) => {
            let boxed = usize::try_from(*number).ok().and_then(|number| shop.boxes.get(number));
            hold["boxInventoryId"] = boxed.map(|boxed| keys.box_inventory(&boxed.id)).into();
        }
        (Units::Event { .. } | Units::Slot { .. } | Units::Box { .. }, _) => {
            hold["inventory"] = name.into();
        }
    }
    Some(hold.to_string())
}
