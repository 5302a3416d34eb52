//! UUIDs of bookings, names of inventories, and ids made for things that nobody named.

use std::borrow::Cow;

use boxoffice_core::ids::{BookingId, InventoryKind, inventory_name, is_slug};
use boxoffice_core::limits::{CUSTOMER_CHARACTERS_MAX, TICKET_CHARACTERS_MAX};
use boxoffice_engine::{Engine, InventoryNumber};
use serde::{Deserialize, Deserializer};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use uuid::Uuid;

use crate::problem::Problem;
use crate::time::parsed;

/// A booking's id from the path. What is not a UUID cannot be one of ours.
pub(crate) fn booking_id(text: &str) -> Result<BookingId, Problem> {
    // Only the usual form: one booking, one URL.
    let usual = Uuid::try_parse(text).ok().filter(|_| text.len() == 36);
    let uuid = usual.ok_or_else(booking_not_found)?;
    Ok(BookingId::from_bytes(uuid.into_bytes()))
}

/// The id that a caller chose for a new booking.
struct ChosenId(Uuid);

impl std::str::FromStr for ChosenId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<ChosenId, &'static str> {
        let uuid = Uuid::try_parse(text);
        uuid.map(ChosenId).map_err(|_| "must be a UUID like 019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a")
    }
}

impl<'de> Deserialize<'de> for ChosenId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ChosenId, D::Error> {
        parsed(deserializer)
    }
}

/// Reads a UUID that may be left out, with `#[serde(default)]`.
pub(crate) fn chosen_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Uuid>, D::Error> {
    Ok(Option::<ChosenId>::deserialize(deserializer)?.map(|id| id.0))
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

/// The schema of customer references. The core checks them: see [`boxoffice_core::ids::is_customer`].
pub(crate) struct CustomerReference;

/// The schema of the ids of registered and unregistered tickets.
pub(crate) struct TicketId;

/// Neither control characters nor, at the beginning or end, the white space of Unicode.
const IDENTIFIER_PATTERN: &str = "^[^\\u0000-\\u0020\\u007F-\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000]([^\\u0000-\\u001F\\u007F-\\u009F]*[^\\u0000-\\u0020\\u007F-\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000])?$";

fn identifier_schema(characters_max: usize, description: &str, example: &str) -> RefOr<Schema> {
    let description = format!(
        "{description} Case is significant; leading and trailing white space and invisible characters are errors."
    );
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(characters_max))
        .pattern(Some(IDENTIFIER_PATTERN))
        .description(Some(description))
        .examples([example])
        .into()
}

impl PartialSchema for CustomerReference {
    fn schema() -> RefOr<Schema> {
        let description = "The caller's reference for the customer. Stored in the clear for good: put no contact details here, use \
                           `contact`.";
        identifier_schema(CUSTOMER_CHARACTERS_MAX, description, "user-42")
    }
}

impl ToSchema for CustomerReference {
    fn name() -> Cow<'static, str> {
        "CustomerReference".into()
    }
}

impl PartialSchema for TicketId {
    fn schema() -> RefOr<Schema> {
        identifier_schema(TICKET_CHARACTERS_MAX, "The number printed on the ticket.", "TKT-2025-ABC123")
    }
}

impl ToSchema for TicketId {
    fn name() -> Cow<'static, str> {
        "TicketId".into()
    }
}

/// An id that nobody has to guess and nobody chose.
pub(crate) const MADE_ID_CHARACTERS: usize = 20;
