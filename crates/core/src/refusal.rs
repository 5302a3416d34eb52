//! Why a command was refused: one closed list, in the order in which the checks are made.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::BookingId;
use crate::money::Money;
use crate::seats::Seat;
use crate::time::{SlotId, Timestamp};

/// A refusal by the rules, with what the caller needs to do better next time.
///
/// The variants stand in the order of the checks: of two reasons that hold, the earlier is given. What cannot be judged
/// without the inventory (a patch of its terms, the number of seats of a move) is refused as invalid later, and of the
/// items of one list the first that is wrong decides.
/// [`Refusal::code`] is the error code of the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, strum::EnumDiscriminants)]
#[strum_discriminants(
    name(RefusalCode),
    doc = "The code of a [`Refusal`] without its data.",
    derive(PartialOrd, Ord, Hash, strum::EnumIter, strum::IntoStaticStr),
    strum(serialize_all = "SCREAMING_SNAKE_CASE")
)]
pub enum Refusal {
    /// The key was used for another request.
    IdempotencyKeyReused,
    /// The inventory demands an idempotency key on bookings.
    IdempotencyKeyRequired,
    /// A value that cannot be accepted, whatever else is booked.
    InvalidRequest {
        /// JSON pointer to the value.
        pointer: String,
        /// What it must be.
        message: String,
    },
    /// The event was never created, or was deleted.
    EventNotFound,
    /// The schedule was never created.
    ScheduleNotFound,
    /// The shop was never created.
    ShopNotFound,
    /// An inventory or a box of this id exists, or an event of this id was deleted.
    AlreadyExists,
    /// A named limit of the inventory is reached; nothing is wrong with the request.
    Overloaded,

    /// No booking of this id in this inventory.
    BookingNotFound,
    /// The booking was named by a ticket, and does not have it reserved: it ended, or the ticket was redeemed.
    TicketNotReserved {
        /// Which.
        ticket: Arc<str>,
    },
    /// Confirmed with another payment reference.
    AlreadyConfirmed,
    /// Cancelled or redeemed.
    NotConfirmable,
    /// There is something to pay, and the caller may not take money.
    Forbidden,
    /// The hold ended before the command came.
    HoldExpired,
    /// Not on hold.
    NotExtendable,
    /// The hold may not last that long after its creation.
    HoldLimitReached,
    /// Redeemed, in part or as a whole, or expired.
    NotCancellable,
    /// Neither on hold nor confirmed, redeemed in part, or nothing in it can be moved.
    NotMovable,
    /// Redeemed before.
    AlreadyRedeemed {
        /// When.
        redeemed_at: Timestamp,
    },
    /// Not confirmed.
    NotRedeemable,
    /// Its redemption, or that of a unit, cannot be undone: there was none.
    NotRedeemed,
    /// Not this booking's code.
    WrongCode,
    /// The slot is on another day.
    WrongDate,
    /// The event's doors are not open, or the box cannot be collected yet, or either no longer.
    WrongTime {
        /// The first moment at which it can be redeemed.
        opens_at: Option<Timestamp>,
        /// The first moment at which it no longer can.
        closes_at: Option<Timestamp>,
    },

    /// A booking of this id exists.
    BookingIdTaken,
    /// More units than one booking may have.
    TooManyUnits {
        /// How many it may have.
        most: u32,
    },
    /// No such section or subsection.
    SectionNotFound {
        /// As asked for.
        section: String,
    },
    /// Outside the rows and columns of its subsection.
    SeatNotFound {
        /// The address of the subsection.
        section: String,
        /// Row, counted from one.
        row: u16,
        /// Seat, counted from one.
        seat: u16,
    },
    /// The same seat twice in one request.
    DuplicateSeat {
        /// Which.
        seat: Seat,
    },
    /// A seat or ticket that the booking does not have.
    NotInBooking {
        /// Which.
        unit: String,
    },
    /// No such standing area.
    AreaNotFound {
        /// As asked for.
        area: String,
    },
    /// No such slot.
    SlotNotFound,
    /// No such box.
    BoxNotFound,
    /// The operator closed the inventory, or cancelled the event.
    InventoryClosed,
    /// Too early.
    SalesNotOpen {
        /// When sales open.
        opens_at: Timestamp,
    },
    /// Too late.
    SalesClosed {
        /// When sales closed.
        closed_at: Timestamp,
    },
    /// The slot has ended.
    SlotPast,
    /// The operator closed the slot.
    SlotClosed,
    /// The box can no longer be collected.
    PickupWindowClosed,
    /// Not a registered ticket.
    TicketNotFound {
        /// Which.
        ticket: Arc<str>,
    },
    /// Registered as inactive.
    TicketNotActive {
        /// Which.
        ticket: Arc<str>,
    },
    /// Registered until an earlier time.
    TicketExpired {
        /// Which.
        ticket: Arc<str>,
    },
    /// Admitted before.
    TicketAlreadyUsed {
        /// Which.
        ticket: Arc<str>,
    },
    /// Has a live booking.
    TicketAlreadyReserved {
        /// Which.
        ticket: Arc<str>,
        /// The booking that has it.
        booking: BookingId,
    },
    /// The one active booking the customer may have exists.
    ActiveReservationExists {
        /// Which, if it is the customer's latest.
        booking: Option<BookingId>,
    },
    /// Any other limit of the customer.
    CustomerLimitReached {
        /// The customer's latest booking, if it is active.
        booking: Option<BookingId>,
    },
    /// Seats asked for, or to be blocked, that are not free.
    SeatUnavailable {
        /// Each seat that is in the way.
        conflicts: Vec<SeatConflict>,
        /// Free sets of the same size, nearest first.
        alternatives: Vec<SeatAlternative>,
    },
    /// The pick would leave a single seat that nobody buys.
    OrphanSeat {
        /// The single seats.
        orphans: Vec<Seat>,
        /// Sets of the same size that leave none, nearest first.
        alternatives: Vec<SeatAlternative>,
    },
    /// Fewer seats are free than asked for.
    NotEnoughSeats {
        /// How many are.
        available: u32,
    },
    /// Enough are free, but not side by side.
    NotAdjacent,
    /// Fewer places are free in the area than asked for.
    AreaFull {
        /// Which.
        area: String,
        /// How many are.
        available: u32,
    },
    /// Fewer places are free in the slot than asked for.
    SlotFull {
        /// How many are.
        available: u32,
        /// The nearest slots that have room.
        alternatives: Vec<SlotAlternative>,
    },
    /// The slot to move to has no room.
    NewSlotFull {
        /// How many places are free.
        available: u32,
        /// The nearest slots that have room.
        alternatives: Vec<SlotAlternative>,
    },
    /// None left, or closed by the operator.
    BoxUnavailable {
        /// Which of the two; a closed box that is sold out is closed.
        reason: BoxUnavailability,
    },
    /// Some left, but fewer than asked for.
    InsufficientInventory {
        /// How many are.
        available: u32,
    },

    /// A slot starts then.
    SlotAlreadyExists,
    /// It would have ended already.
    CannotCreatePastSlot,
    /// Fewer than are held and sold.
    CapacityBelowBookedCount {
        /// How many are held and sold.
        booked: u32,
    },
    /// Places in it are held or sold.
    SlotHasBookings,
    /// Bookings of the event were made, whatever became of them.
    EventHasBookings,
}

/// Why a box cannot be booked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxUnavailability {
    /// None are left.
    SoldOut,
    /// The operator closed it.
    Closed,
}

/// What sort of answer a refusal is; decides its HTTP status class and whether a key remembers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request could never succeed (400).
    Invalid,
    /// It is not for this caller (403).
    Forbidden,
    /// It names something that is not there (404).
    NotFound,
    /// The rules are against it as things stand (409).
    Conflict,
    /// It came too late (410).
    Gone,
    /// The key belongs to another request (422).
    KeyReused,
    /// Not now (503).
    Overloaded,
}

impl Refusal {
    /// `pointer` is put into words only here: a check that holds costs nothing for it.
    pub(crate) fn invalid(pointer: impl std::fmt::Display, message: impl Into<String>) -> Refusal {
        Refusal::InvalidRequest { pointer: pointer.to_string(), message: message.into() }
    }

    /// The error code of the API, such as `SEAT_UNAVAILABLE`.
    pub fn code(&self) -> &'static str {
        RefusalCode::from(self).into()
    }

    /// What sort of answer it is.
    pub fn kind(&self) -> RefusalKind {
        RefusalCode::from(self).kind()
    }
}

impl RefusalCode {
    /// What sort of answer it is.
    pub fn kind(self) -> RefusalKind {
        match self {
            RefusalCode::InvalidRequest
            | RefusalCode::IdempotencyKeyRequired
            | RefusalCode::DuplicateSeat
            | RefusalCode::TooManyUnits => RefusalKind::Invalid,
            RefusalCode::IdempotencyKeyReused => RefusalKind::KeyReused,
            RefusalCode::Overloaded => RefusalKind::Overloaded,
            RefusalCode::Forbidden => RefusalKind::Forbidden,
            RefusalCode::HoldExpired => RefusalKind::Gone,
            RefusalCode::EventNotFound
            | RefusalCode::ScheduleNotFound
            | RefusalCode::ShopNotFound
            | RefusalCode::BookingNotFound
            | RefusalCode::SectionNotFound
            | RefusalCode::SeatNotFound
            | RefusalCode::AreaNotFound
            | RefusalCode::SlotNotFound
            | RefusalCode::BoxNotFound => RefusalKind::NotFound,
            RefusalCode::AlreadyExists
            | RefusalCode::AlreadyConfirmed
            | RefusalCode::NotConfirmable
            | RefusalCode::NotExtendable
            | RefusalCode::HoldLimitReached
            | RefusalCode::NotCancellable
            | RefusalCode::NotMovable
            | RefusalCode::AlreadyRedeemed
            | RefusalCode::NotRedeemable
            | RefusalCode::NotRedeemed
            | RefusalCode::NotInBooking
            | RefusalCode::WrongCode
            | RefusalCode::WrongDate
            | RefusalCode::WrongTime
            | RefusalCode::BookingIdTaken
            | RefusalCode::InventoryClosed
            | RefusalCode::SalesNotOpen
            | RefusalCode::SalesClosed
            | RefusalCode::SlotPast
            | RefusalCode::SlotClosed
            | RefusalCode::PickupWindowClosed
            | RefusalCode::TicketNotFound
            | RefusalCode::TicketNotActive
            | RefusalCode::TicketExpired
            | RefusalCode::TicketAlreadyUsed
            | RefusalCode::TicketAlreadyReserved
            | RefusalCode::TicketNotReserved
            | RefusalCode::ActiveReservationExists
            | RefusalCode::CustomerLimitReached
            | RefusalCode::SeatUnavailable
            | RefusalCode::OrphanSeat
            | RefusalCode::NotEnoughSeats
            | RefusalCode::NotAdjacent
            | RefusalCode::AreaFull
            | RefusalCode::SlotFull
            | RefusalCode::NewSlotFull
            | RefusalCode::BoxUnavailable
            | RefusalCode::InsufficientInventory
            | RefusalCode::SlotAlreadyExists
            | RefusalCode::CannotCreatePastSlot
            | RefusalCode::CapacityBelowBookedCount
            | RefusalCode::SlotHasBookings
            | RefusalCode::EventHasBookings => RefusalKind::Conflict,
        }
    }

    /// Whether a key remembers the refusal and repeats it. What could not be read, or was asked at a bad moment,
    /// is decided afresh.
    pub(crate) fn is_remembered(self) -> bool {
        match self.kind() {
            RefusalKind::Invalid
            | RefusalKind::Forbidden
            | RefusalKind::KeyReused
            | RefusalKind::Overloaded => false,
            RefusalKind::NotFound | RefusalKind::Conflict | RefusalKind::Gone => true,
        }
    }
}

/// A seat that is in the way, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatConflict {
    /// Which.
    pub seat: Seat,
    /// Why; never [`SeatState::Available`](crate::seats::SeatState::Available).
    pub reason: crate::seats::SeatState,
}

/// A free set of seats offered instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeatAlternative {
    /// In order of section, row, seat.
    pub seats: Vec<Seat>,
    /// Whether all sit together in one row.
    pub adjacent: bool,
    /// What they would cost.
    pub total_price: Money,
}

/// A slot with room offered instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotAlternative {
    /// Which.
    pub slot: SlotId,
    /// When it starts.
    pub starts_at: Timestamp,
    /// How many places it has.
    pub available_count: u32,
}
