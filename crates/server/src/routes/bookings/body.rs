//! A booking as the API shows it.

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::ids::{InventoryKind, RedeemCode};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::view::{KindView, StockView};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::slot_info::{SlotCounts, SlotInfo};
use crate::answer::address;
use crate::contacts::Contact;
use crate::ids::uuid;
use crate::time::Moment;

/// Where in its life a booking is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BookingStatus {
    OnHold,
    Confirmed,
    Redeemed,
    Cancelled,
    Expired,
}

/// One customer's claim on units of one inventory.
#[derive(Debug, ToSchema)]
#[schema(as = Booking)]
pub(crate) struct BookingBody<'a> {
    id: Uuid,
    status: BookingStatus,
    customer: &'a str,
    /// How to reach the customer about this booking. Only for `admin` and `operator`; `null` for others and after it was erased.
    #[schema(required)]
    pub(crate) contact: Option<&'a Contact>,
    /// The caller's own number or name for the booking.
    #[schema(required)]
    reference: Option<&'a str>,
    #[schema(required)]
    event: Option<&'a str>,
    #[schema(required)]
    schedule: Option<&'a str>,
    #[schema(required)]
    shop: Option<&'a str>,
    #[schema(value_type = Vec<SeatBody>)]
    seats: Seats<'a>,
    areas: Vec<AreaBody<'a>>,
    #[schema(required)]
    slot: Option<String>,
    /// When the slot is.
    #[schema(required)]
    slot_info: Option<SlotInfo>,
    tickets: Vec<&'a str>,
    #[schema(required)]
    r#box: Option<&'a str>,
    quantity: u32,
    /// Of everything in the booking, in minor units of the currency (cents).
    total_price: i64,
    currency: &'a str,
    #[schema(required)]
    adjacent: Option<bool>,
    #[schema(required)]
    hold_token: Option<String>,
    #[schema(value_type = String)]
    redeem_code: RedeemCode,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    expires_at: Option<Moment>,
    #[schema(required)]
    expires_in_seconds: Option<i64>,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    confirmed_at: Option<Moment>,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    cancelled_at: Option<Moment>,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    redeemed_at: Option<Moment>,
    /// How many of its units were redeemed.
    redeemed_quantity: u32,
    #[schema(required)]
    payment_reference: Option<&'a str>,
    #[schema(value_type = Option<Object>, required)]
    metadata: Option<&'a RawValue>,
    version: u32,
    sequence: u64,
    /// Only in the answer to a move: what the new units cost more or less, in minor units of the currency (cents).
    pub(crate) price_difference: Option<i64>,
}

/// One seat of a booking.
#[derive(ToSchema)]
#[schema(as = BookedSeat)]
#[expect(dead_code, reason = "for the document")]
struct SeatBody {
    section: String,
    seat: String,
    /// In minor units of the currency (cents).
    price: i64,
    #[schema(value_type = Option<String>, format = DateTime, required)]
    redeemed_at: Option<Moment>,
}

/// Places in one area.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BookedArea)]
struct AreaBody<'a> {
    name: &'a str,
    quantity: u32,
    /// Of one place, in minor units of the currency (cents).
    price: i64,
}

/// A booking's seats are read where they stand.
#[derive(Debug)]
struct Seats<'a> {
    booking: &'a Booking,
    stock: &'a StockView,
}

impl Seats<'_> {
    fn write(&self, text: &mut Vec<u8>) {
        let claims: &[_] = match &self.booking.units {
            Units::Event { seats, .. } => seats,
            Units::Slot { .. } | Units::Box { .. } => &[],
        };
        let mut before: &[u8] = b"";
        for (place, claim) in claims.iter().enumerate() {
            text.extend_from_slice(before);
            before = b",";
            text.extend_from_slice(b"{\"section\":");
            string(text, address(Some(self.stock), claim.seat.subsection));
            text.extend_from_slice(b",\"seat\":\"");
            value(text, &claim.seat.row);
            text.push(b'-');
            value(text, &claim.seat.number);
            text.extend_from_slice(b"\",\"price\":");
            value(text, &claim.price.0);
            text.extend_from_slice(b",\"redeemed_at\":");
            moment(text, self.booking.unit_redeemed_at(place).map(Moment));
            text.push(b'}');
        }
    }
}

/// What stands before the contact of a booking.
pub(crate) const CONTACT_FIELD: &[u8] = b",\"contact\":";

/// Appends a value as JSON. Fingerprints that are remembered are made of it, too: it must stay as it is.
pub(crate) fn value<T: Serialize + ?Sized>(text: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(text, value).expect("it is plain data");
}

/// As [`value`], of words: most have nothing to escape, and are copied as they are.
pub(crate) fn string(text: &mut Vec<u8>, words: &str) {
    let odd = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    // Without stopping at the first odd one: so that several are looked at together.
    if words.bytes().fold(false, |found, byte| found | odd(byte)) {
        return value(text, words);
    }
    text.reserve(words.len() + 2);
    text.push(b'"');
    text.extend_from_slice(words.as_bytes());
    text.push(b'"');
}

fn string_or_null(text: &mut Vec<u8>, words: Option<&str>) {
    match words {
        Some(words) => string(text, words),
        None => text.extend_from_slice(b"null"),
    }
}

fn moment(text: &mut Vec<u8>, moment: Option<Moment>) {
    match moment.and_then(Moment::text) {
        Some(written) => {
            text.push(b'"');
            text.extend_from_slice(&written);
            text.push(b'"');
        }
        None => text.extend_from_slice(b"null"),
    }
}

impl BookingBody<'_> {
    /// Appends it as JSON. When sales open nearly every answer is one of these: so the names of its fields are copied, and not looked
    /// at letter by letter again, and nothing is made of it in between.
    pub(crate) fn write(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(b"{\"id\":\"");
        text.extend_from_slice(self.id.hyphenated().encode_lower(&mut [0; 36]).as_bytes());
        text.extend_from_slice(b"\",\"status\":");
        value(text, &self.status);
        text.extend_from_slice(b",\"customer\":");
        string(text, self.customer);
        text.extend_from_slice(CONTACT_FIELD);
        match self.contact {
            Some(contact) => value(text, contact),
            None => text.extend_from_slice(b"null"),
        }
        text.extend_from_slice(b",\"reference\":");
        string_or_null(text, self.reference);
        text.extend_from_slice(b",\"event\":");
        string_or_null(text, self.event);
        text.extend_from_slice(b",\"schedule\":");
        string_or_null(text, self.schedule);
        text.extend_from_slice(b",\"shop\":");
        string_or_null(text, self.shop);
        text.extend_from_slice(b",\"seats\":[");
        self.seats.write(text);
        text.extend_from_slice(b"],\"areas\":");
        value(text, &self.areas);
        text.extend_from_slice(b",\"slot\":");
        string_or_null(text, self.slot.as_deref());
        text.extend_from_slice(b",\"slot_info\":");
        value(text, &self.slot_info);
        text.extend_from_slice(b",\"tickets\":");
        value(text, &self.tickets);
        text.extend_from_slice(b",\"box\":");
        string_or_null(text, self.r#box);
        text.extend_from_slice(b",\"quantity\":");
        value(text, &self.quantity);
        text.extend_from_slice(b",\"total_price\":");
        value(text, &self.total_price);
        text.extend_from_slice(b",\"currency\":");
        string(text, self.currency);
        text.extend_from_slice(b",\"adjacent\":");
        value(text, &self.adjacent);
        text.extend_from_slice(b",\"hold_token\":");
        string_or_null(text, self.hold_token.as_deref());
        text.extend_from_slice(b",\"redeem_code\":\"");
        text.extend_from_slice(&self.redeem_code.letters());
        text.extend_from_slice(b"\",\"created_at\":");
        moment(text, Some(self.created_at));
        text.extend_from_slice(b",\"expires_at\":");
        moment(text, self.expires_at);
        text.extend_from_slice(b",\"expires_in_seconds\":");
        value(text, &self.expires_in_seconds);
        text.extend_from_slice(b",\"confirmed_at\":");
        moment(text, self.confirmed_at);
        text.extend_from_slice(b",\"cancelled_at\":");
        moment(text, self.cancelled_at);
        text.extend_from_slice(b",\"redeemed_at\":");
        moment(text, self.redeemed_at);
        text.extend_from_slice(b",\"redeemed_quantity\":");
        value(text, &self.redeemed_quantity);
        text.extend_from_slice(b",\"payment_reference\":");
        string_or_null(text, self.payment_reference);
        text.extend_from_slice(b",\"metadata\":");
        value(text, &self.metadata);
        text.extend_from_slice(b",\"version\":");
        value(text, &self.version);
        text.extend_from_slice(b",\"sequence\":");
        value(text, &self.sequence);
        if let Some(difference) = &self.price_difference {
            text.extend_from_slice(b",\"price_difference\":");
            value(text, difference);
        }
        text.push(b'}');
    }
}

/// Inside something else: as it was written.
impl Serialize for BookingBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = Vec::with_capacity(1_024);
        self.write(&mut text);
        let text: &RawValue = serde_json::from_slice(&text).expect("what was written is JSON");
        text.serialize(serializer)
    }
}

/// As of when an answer was decided, and by which batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AsOf {
    pub(crate) sequence: u64,
    pub(crate) at: Timestamp,
}

impl<'a> BookingBody<'a> {
    pub(crate) fn new(
        booking: &'a Booking,
        kind: InventoryKind,
        stock: &'a StockView,
        as_of: AsOf,
        hold_token: Option<String>,
    ) -> BookingBody<'a> {
        let inventory = stock.terms.id.as_str();
        let of = |wanted: InventoryKind| (kind == wanted).then_some(inventory);
        let Life { status, expires_at, confirmed_at, cancelled_at, redeemed_at } = Life::of(&booking.status);
        let left = booking.deadline().map(|deadline| ((deadline.0 - as_of.at.0).max(0) + 999) / 1_000);
        let (areas, slot, slot_info, tickets, r#box, adjacent) = match &booking.units {
            Units::Event { areas, .. } => {
                let areas = areas.iter().map(|claim| AreaBody {
                    name: area_name(stock, claim.area),
                    quantity: claim.quantity,
                    price: claim.price.0,
                });
                (areas.collect(), None, None, Vec::new(), None, Some(booking.is_adjacent()))
            }
            Units::Slot { slot, end, tickets, .. } => {
                let tickets = tickets.iter().map(|ticket| &**ticket).collect();
                let slot_info = SlotInfo::new(stock, *slot, *end);
                (Vec::new(), Some(slot.to_string()), slot_info, tickets, None, None)
            }
            Units::Box { number, .. } => {
                (Vec::new(), None, None, Vec::new(), Some(box_id(stock, *number)), None)
            }
        };
        BookingBody {
            id: uuid(booking.id),
            status,
            customer: &booking.customer,
            contact: None,
            reference: booking.reference().map(|reference| &**reference),
            event: of(InventoryKind::Event),
            schedule: of(InventoryKind::Schedule),
            shop: of(InventoryKind::Shop),
            seats: Seats { booking, stock },
            areas,
            slot,
            slot_info,
            tickets,
            r#box,
            quantity: booking.units.quantity(),
            total_price: booking.total_price().0,
            currency: stock.terms.currency.as_str(),
            adjacent,
            hold_token,
            redeem_code: booking.redeem_code,
            created_at: Moment(booking.created_at),
            expires_at: expires_at.map(Moment),
            expires_in_seconds: left,
            confirmed_at: confirmed_at.map(Moment),
            cancelled_at: cancelled_at.map(Moment),
            redeemed_at: redeemed_at.map(Moment),
            redeemed_quantity: booking.redeemed_quantity(),
            payment_reference: booking.payment_reference().map(|reference| &**reference),
            metadata: booking.metadata().and_then(|bytes| serde_json::from_slice(bytes).ok()),
            version: booking.version,
            sequence: as_of.sequence,
            price_difference: None,
        }
    }
}

impl BookingBody<'_> {
    /// Shows how full its slot is, if that was asked for.
    pub(crate) fn expand(&mut self, counts: Option<SlotCounts>) {
        if let (Some(slot_info), Some(counts)) = (&mut self.slot_info, counts) {
            slot_info.set_counts(counts);
        }
    }
}

/// Where in its life a booking is, and since when.
pub(crate) struct Life {
    pub(crate) status: BookingStatus,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) confirmed_at: Option<Timestamp>,
    pub(crate) cancelled_at: Option<Timestamp>,
    pub(crate) redeemed_at: Option<Timestamp>,
}

impl Life {
    pub(crate) fn of(status: &Status) -> Life {
        let (status, expires_at, confirmed_at, cancelled_at, redeemed_at) = match *status {
            Status::OnHold { expires_at } => (BookingStatus::OnHold, Some(expires_at), None, None, None),
            Status::Confirmed { confirmed_at } => {
                (BookingStatus::Confirmed, None, Some(confirmed_at), None, None)
            }
            Status::Redeemed { confirmed_at, redeemed_at } => {
                (BookingStatus::Redeemed, None, Some(confirmed_at), None, Some(redeemed_at))
            }
            Status::Cancelled { confirmed_at, cancelled_at } => {
                (BookingStatus::Cancelled, None, confirmed_at, Some(cancelled_at), None)
            }
            Status::Expired { expires_at } => (BookingStatus::Expired, Some(expires_at), None, None, None),
        };
        Life { status, expires_at, confirmed_at, cancelled_at, redeemed_at }
    }
}

/// The kind of a view's inventory.
pub(crate) fn kind_of(stock: &StockView) -> InventoryKind {
    match stock.kind {
        KindView::Event(_) => InventoryKind::Event,
        KindView::Schedule(_) => InventoryKind::Schedule,
        KindView::Shop(_) => InventoryKind::Shop,
    }
}

/// The name of an event's area.
pub(crate) fn area_name(stock: &StockView, area: u16) -> &str {
    match &stock.kind {
        KindView::Event(event) => event.areas.get(usize::from(area)).map_or("?", |area| &area.name),
        KindView::Schedule(_) | KindView::Shop(_) => "?",
    }
}

/// The id of a shop's box.
pub(crate) fn box_id(stock: &StockView, number: u32) -> &str {
    match &stock.kind {
        KindView::Shop(shop) => shop.boxes.get(number as usize).map_or("?", |boxed| &boxed.id),
        KindView::Event(_) | KindView::Schedule(_) => "?",
    }
}
