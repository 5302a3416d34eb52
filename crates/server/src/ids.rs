//! UUIDs of bookings, names of inventories, and ids made for things that nobody named.

use boxoffice_core::ids::{BookingId, InventoryKind, inventory_name, is_slug};
use boxoffice_engine::{Engine, InventoryNumber};
use uuid::Uuid;

use crate::problem::Problem;

/// A booking's id from the path. What is not a UUID cannot be one of ours.
pub(crate) fn booking_id(text: &str) -> Result<BookingId, Problem> {
    // Only the usual form: one booking, one URL.
    let usual = Uuid::try_parse(text).ok().filter(|_| text.len() == 36);
    let uuid = usual.ok_or_else(booking_not_found)?;
    Ok(BookingId::from_bytes(uuid.into_bytes()))
}

pub(crate) fn uuid(id: BookingId) -> Uuid {
    Uuid::from_bytes(id.to_bytes())
}

pub(crate) fn booking_not_found() -> Problem {
    Problem::not_found("BOOKING_NOT_FOUND", "There is no such booking.")
}

/// The number of a tenant's inventory.
pub(crate) async fn find_inventory(
    engine: &Engine,
    tenant: &str,
    kind: InventoryKind,
    id: &str,
) -> Result<InventoryNumber, Problem> {
    // What cannot be an id need not be looked for in the store, which may not even be able to say it.
    let found = if is_slug(id) { engine.find(&inventory_name(tenant, kind, id)).await? } else { None };
    found.ok_or_else(|| inventory_not_found(kind, id))
}

pub(crate) fn inventory_not_found(kind: InventoryKind, id: &str) -> Problem {
    let code = match kind {
        InventoryKind::Event => "EVENT_NOT_FOUND",
        InventoryKind::Schedule => "SCHEDULE_NOT_FOUND",
        InventoryKind::Shop => "SHOP_NOT_FOUND",
    };
    Problem::not_found(code, format!("There is no {} {id:?}.", kind.word()))
}

/// Lower case, no lookalikes, so that it can be read out.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Random or derived bytes as so many readable characters, at most 32, five bits each, after a few that say what it is.
pub(crate) fn readable(beginning: &str, bytes: &[u8; 32], characters: usize) -> String {
    let mut text = String::with_capacity(beginning.len() + characters);
    text.push_str(beginning);
    let letters = bytes.map(|byte| ALPHABET[usize::from(byte % 32)]);
    text.push_str(std::str::from_utf8(&letters[..characters]).expect("the alphabet is ASCII"));
    text
}

/// An id that nobody has to guess and nobody chose.
pub(crate) const MADE_ID_CHARACTERS: usize = 20;
