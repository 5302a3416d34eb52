//! What a command is answered.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::booking::Booking;
use crate::change::Change;
use crate::event::{Area, SeatName, Section, Sellout};
use crate::event_info::EventInfo;
use crate::ids::BookingId;
use crate::money::Money;
use crate::refusal::Refusal;
use crate::rules::Terms;
use crate::schedule::{Pattern, Slot};
use crate::seats::Counts;
use crate::shop::PickupBox;
use crate::time::{SlotId, Timestamp};

/// The result of one command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// What to answer, once the changes are durable.
    pub outcome: Outcome,
    /// What changed, holds that fell due included. Empty if nothing did.
    pub changes: Vec<Change>,
    /// The batch that makes the answer durable; for a refusal without changes, as of which it was decided.
    pub sequence: u64,
    /// When it was decided.
    pub decided_at: Timestamp,
    /// Whether it is the first answer again, from an idempotency key.
    pub replayed: bool,
}

/// Granted, or refused by the rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It was done.
    Granted(Grant),
    /// It was not done, and never will be by this command.
    Refused(Box<Refusal>),
}

/// What was done. Everything in here is as it was when the command was decided, and stays so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grant {
    /// A booking was made or changed.
    Booking(Arc<Booking>),
    /// A booking claims other units.
    Moved(Box<Moved>),
    /// An inventory was created or changed.
    Inventory(Arc<Summary>),
    /// A slot was added or changed.
    Slot(Box<(SlotId, Slot)>),
    /// A slot was removed.
    SlotDeleted(SlotId),
    /// A box was added or changed.
    Box(Arc<PickupBox>),
    /// Tickets were registered.
    Tickets {
        /// New ones.
        added: u32,
        /// Known before.
        updated: u32,
    },
    /// Nothing to show.
    Done,
    /// An event was cancelled, or what that would do was asked.
    EventCancelled {
        /// Bookings on hold.
        holds_ended: u32,
        /// Confirmed ones of which no unit was redeemed.
        bookings_cancelled: u32,
    },
}

/// A booking that claims other units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// As it is now.
    pub booking: Arc<Booking>,
    /// To be paid on top; negative if the new units cost less.
    pub price_difference: Money,
}

// One is kept for every idempotency key.
const _: () = assert!(size_of::<Outcome>() == 16);

/// An inventory without its bookings, as of a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Summary {
    /// Of an event.
    Event(EventSummary),
    /// Of a schedule.
    Schedule(ScheduleSummary),
    /// Of a shop.
    Shop {
        /// Name, currency, sales window and rules.
        terms: Terms,
        /// IANA name.
        timezone: String,
    },
}

/// An event in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventSummary {
    /// Name, currency, sales window and rules.
    pub terms: Terms,
    /// When and where it takes place.
    pub info: EventInfo,
    /// With their counts.
    pub sections: Vec<(Section, Counts)>,
    /// Of all sections, in order.
    pub subsections: Vec<SubsectionSummary>,
    /// With their pools.
    pub areas: Vec<Area>,
    /// Of all seats and areas.
    pub totals: Counts,
    /// How fast it went.
    pub sellout: Sellout,
}

/// A subsection in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubsectionSummary {
    /// Such as `A-1`.
    pub address: String,
    /// From the front.
    pub rows: u16,
    /// From the left.
    pub cols: u16,
    /// What its seats are.
    pub counts: Counts,
    /// Its house seats, in order.
    pub blocked: Vec<SeatName>,
}

/// A schedule without its slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduleSummary {
    /// Name, currency, sales window and rules.
    pub terms: Terms,
    /// IANA name.
    pub timezone: String,
    /// Which slots it makes.
    pub pattern: Pattern,
}

/// An answer in the journal's form: what was granted is named, and looked up in the state right after the changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// See [`Grant::Booking`].
    Booking(BookingId),
    /// See [`Grant::Moved`].
    Moved {
        /// Which.
        booking: BookingId,
        /// To be paid on top.
        price_difference: Money,
    },
    /// See [`Grant::Inventory`].
    Inventory,
    /// See [`Grant::Slot`].
    Slot(SlotId),
    /// See [`Grant::SlotDeleted`].
    SlotDeleted(SlotId),
    /// See [`Grant::Box`].
    Box(u32),
    /// See [`Grant::Tickets`].
    Tickets {
        /// New ones.
        added: u32,
        /// Known before.
        updated: u32,
    },
    /// See [`Grant::Done`].
    Done,
    /// See [`Outcome::Refused`].
    Refused(Box<Refusal>),
    /// See [`Grant::EventCancelled`].
    EventCancelled {
        /// Bookings on hold.
        holds_ended: u32,
        /// Confirmed ones of which no unit was redeemed.
        bookings_cancelled: u32,
    },
}
