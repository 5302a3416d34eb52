//! A booking as the API shows it.

use boxoffice_core::booking::{Booking, Status, Units};
use boxoffice_core::ids::InventoryKind;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::view::{KindView, StockView};
use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::answer::address;
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
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Booking)]
pub(crate) struct BookingBody<'a> {
    id: Uuid,
    status: BookingStatus,
    customer: &'a str,
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
    tickets: Vec<&'a str>,
    #[schema(required)]
    r#box: Option<&'a str>,
    quantity: u32,
    total_price: i64,
    currency: &'a str,
    #[schema(required)]
    adjacent: Option<bool>,
    #[schema(required)]
    hold_token: Option<String>,
    redeem_code: String,
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
    #[schema(required)]
    payment_reference: Option<&'a str>,
    #[schema(value_type = Option<Object>, required)]
    metadata: Option<&'a RawValue>,
    version: u32,
    sequence: u64,
    /// Only in the answer to a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) price_difference: Option<i64>,
}

/// One seat of a booking.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BookedSeat)]
struct SeatBody<'a> {
    section: &'a str,
    #[schema(value_type = String)]
    seat: SeatText,
    price: i64,
}

/// Places in one area.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BookedArea)]
struct AreaBody<'a> {
    name: &'a str,
    quantity: u32,
    price: i64,
}

/// Written without a list in between: a booking's seats are read where they stand.
#[derive(Debug)]
struct Seats<'a> {
    units: &'a Units,
    stock: &'a StockView,
}

#[derive(Debug)]
struct SeatText(u16, u16);

impl Serialize for SeatText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}-{}", self.0, self.1))
    }
}

impl Serialize for Seats<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let claims: &[_] = match self.units {
            Units::Event { seats, .. } => seats,
            Units::Slot { .. } | Units::Box { .. } => &[],
        };
        let mut list = serializer.serialize_seq(Some(claims.len()))?;
        for claim in claims {
            list.serialize_element(&SeatBody {
                section: address(Some(self.stock), claim.seat.subsection),
                seat: SeatText(claim.seat.row, claim.seat.number),
                price: claim.price.0,
            })?;
        }
        list.end()
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
        let (areas, slot, tickets, r#box, adjacent) = match &booking.units {
            Units::Event { areas, .. } => {
                let areas = areas.iter().map(|claim| AreaBody {
                    name: area_name(stock, claim.area),
                    quantity: claim.quantity,
                    price: claim.price.0,
                });
                (areas.collect(), None, Vec::new(), None, Some(booking.is_adjacent()))
            }
            Units::Slot { slot, tickets, .. } => {
                let tickets = tickets.iter().map(|ticket| &**ticket).collect();
                (Vec::new(), Some(slot.to_string()), tickets, None, None)
            }
            Units::Box { number, .. } => (Vec::new(), None, Vec::new(), Some(box_id(stock, *number)), None),
        };
        BookingBody {
            id: uuid(booking.id),
            status,
            customer: &booking.customer,
            event: of(InventoryKind::Event),
            schedule: of(InventoryKind::Schedule),
            shop: of(InventoryKind::Shop),
            seats: Seats { units: &booking.units, stock },
            areas,
            slot,
            tickets,
            r#box,
            quantity: booking.units.quantity(),
            total_price: booking.total_price().0,
            currency: stock.terms.currency.as_str(),
            adjacent,
            hold_token,
            redeem_code: booking.redeem_code.to_string(),
            created_at: Moment(booking.created_at),
            expires_at: expires_at.map(Moment),
            expires_in_seconds: left,
            confirmed_at: confirmed_at.map(Moment),
            cancelled_at: cancelled_at.map(Moment),
            redeemed_at: redeemed_at.map(Moment),
            payment_reference: booking.payment_reference().map(|reference| &**reference),
            metadata: booking.metadata().and_then(|bytes| serde_json::from_slice(bytes).ok()),
            version: booking.version,
            sequence: as_of.sequence,
            price_difference: None,
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
