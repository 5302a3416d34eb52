//! What happened: the closed list of everything that can change an inventory.
//!
//! The journal is a list of these. Replaying it onto an empty inventory gives the same state as the commands did,
//! because commands have no other way to change anything: see [`crate::inventory::Inventory::replay`].
//! The order of the variants is part of the journal's format; new ones go to the end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::booking::{Booking, Units};
use crate::event::EventPlan;
use crate::event_info::EventInfo;
use crate::ids::{Actor, BookingId, RedeemCode};
use crate::memory::{Fingerprint, KeyDigest};
use crate::money::{Money, PriceStep};
use crate::outcome::Reply;
use crate::rules::Terms;
use crate::schedule::{Pattern, SchedulePlan, Slot, Ticket};
use crate::seats::Seat;
use crate::shop::{PickupBox, PickupWindow, ShopPlan};
use crate::time::{Date, SlotId, Timestamp};

/// One change of an inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// What follows happened at this time and was asked for by this caller.
    Act {
        /// When.
        at: Timestamp,
        /// Who; [`Actor`] zero for what falls due by itself.
        by: Actor,
    },
    /// The inventory is an event.
    EventCreated(Box<EventPlan>),
    /// The inventory is a schedule, still without slots.
    ScheduleCreated(Box<SchedulePlan>),
    /// The inventory is a shop, still without boxes.
    ShopCreated(Box<ShopPlan>),
    /// Name, sales window, status or rules are these now.
    TermsPatched(Box<Terms>),
    /// Sections and areas cost this from now on.
    PricesPatched {
        /// Index of the section and its price.
        sections: Vec<(u16, Money)>,
        /// Index of the area and its price.
        areas: Vec<(u16, Money)>,
    },
    /// House seats.
    SeatsBlocked(Vec<Seat>),
    /// House seats given to the public.
    SeatsUnblocked(Vec<Seat>),
    /// The schedule makes these slots from now on.
    PatternPatched(Box<Pattern>),
    /// New slots.
    SlotsAdded(Vec<(SlotId, Slot)>),
    /// Slots that nobody had booked.
    SlotsRemoved(Vec<SlotId>),
    /// A slot was closed, opened, or given another capacity or price.
    SlotPatched {
        /// Which.
        slot: SlotId,
        /// Whether the operator keeps it closed.
        closed: bool,
        /// Its places.
        capacity: u32,
        /// Of one place, for bookings from now on.
        price: Money,
    },
    /// The slots of all days up to this date are made.
    RolledThrough(Date),
    /// A new box.
    BoxAdded(Box<PickupBox>),
    /// The properties of a box are these now.
    BoxPatched(Box<BoxProperties>),
    /// Tickets were registered or changed.
    TicketsImported(Vec<(Arc<str>, Ticket)>),
    /// A new booking, on hold or confirmed.
    Booked(Arc<Booking>),
    /// A hold was paid.
    Confirmed {
        /// Which.
        booking: BookingId,
        /// Of the payment.
        payment_reference: Option<Arc<str>>,
    },
    /// An expired hold was paid late, and its units were taken again.
    Revived {
        /// Which.
        booking: BookingId,
        /// What it claimed before it expired: for readers of the journal.
        from: Box<Units>,
        /// What it claims now.
        units: Box<Units>,
        /// Its code, which may have been given to another meanwhile.
        redeem_code: RedeemCode,
        /// Of the payment.
        payment_reference: Option<Arc<str>>,
    },
    /// A hold lasts longer.
    Extended {
        /// Which.
        booking: BookingId,
        /// Until when.
        expires_at: Timestamp,
    },
    /// A booking was cancelled.
    Cancelled {
        /// Which.
        booking: BookingId,
        /// Why, in the caller's words.
        reason: Option<Arc<str>>,
    },
    /// A booking claims other units.
    Moved {
        /// Which.
        booking: BookingId,
        /// What it claimed before: for readers of the journal.
        from: Box<Units>,
        /// What it claims now.
        units: Box<Units>,
    },
    /// A booking, or what was left of one, was collected, admitted.
    Redeemed {
        /// Which.
        booking: BookingId,
        /// Whether an operator overrode a wrong date or time.
        forced: bool,
    },
    /// A hold was not paid in time.
    Expired {
        /// Which.
        booking: BookingId,
    },
    /// A customer's contact details were erased with the key that sealed them. Changes nothing here: a record for readers of the
    /// journal.
    ContactForgotten {
        /// Whose.
        customer: Arc<str>,
    },
    /// A key remembers the answer to the command whose changes stand before this one.
    Remembered {
        /// Which.
        key: KeyDigest,
        /// Of the request.
        fingerprint: Fingerprint,
        /// Until when.
        keep_until: Timestamp,
        /// What to answer.
        reply: Reply,
    },
    /// All answers that were to be kept until then are gone.
    KeysForgotten {
        /// This time and earlier.
        through: Timestamp,
    },
    /// When and where the event takes place, and what it is about, is this now.
    EventInfoPatched(Box<EventInfo>),
    /// Some units of a booking were collected, admitted, and others are still to come.
    PartRedeemed {
        /// Which.
        booking: BookingId,
        /// These units. Of places and boxes, the first that were not redeemed before.
        part: Box<Units>,
        /// Of the whole booking, from now on.
        redeemed_quantity: u32,
        /// Whether an operator overrode a wrong date or time.
        forced: bool,
    },
    /// A redemption was undone.
    Unredeemed {
        /// Which.
        booking: BookingId,
        /// These units; of places and boxes, the last that were redeemed. `None` for all.
        part: Option<Box<Units>>,
        /// Of the whole booking, from now on.
        redeemed_quantity: u32,
        /// Its code, which may have been given to another meanwhile.
        redeem_code: RedeemCode,
        /// Why, in the caller's words.
        reason: Arc<str>,
    },
    /// The event does not take place and sells nothing any more. The cancellations of its bookings follow in the same batch.
    EventCancelled {
        /// Why, in the caller's words.
        reason: Arc<str>,
    },
    /// The event is gone for callers. Nothing was ever booked, and its id stays taken.
    EventDeleted,
}

impl Change {
    /// The booking that it is about.
    pub fn booking(&self) -> Option<BookingId> {
        match self {
            Change::Booked(booking) => Some(booking.id),
            Change::Confirmed { booking, .. }
            | Change::Revived { booking, .. }
            | Change::Extended { booking, .. }
            | Change::Cancelled { booking, .. }
            | Change::Moved { booking, .. }
            | Change::Redeemed { booking, .. }
            | Change::PartRedeemed { booking, .. }
            | Change::Unredeemed { booking, .. }
            | Change::Expired { booking } => Some(*booking),
            Change::Act { .. }
            | Change::EventCreated(_)
            | Change::ScheduleCreated(_)
            | Change::ShopCreated(_)
            | Change::TermsPatched(_)
            | Change::PricesPatched { .. }
            | Change::SeatsBlocked(_)
            | Change::SeatsUnblocked(_)
            | Change::PatternPatched(_)
            | Change::SlotsAdded(_)
            | Change::SlotsRemoved(_)
            | Change::SlotPatched { .. }
            | Change::RolledThrough(_)
            | Change::BoxAdded(_)
            | Change::BoxPatched(_)
            | Change::TicketsImported(_)
            | Change::ContactForgotten { .. }
            | Change::Remembered { .. }
            | Change::KeysForgotten { .. }
            | Change::EventInfoPatched(_)
            | Change::EventCancelled { .. }
            | Change::EventDeleted => None,
        }
    }
}

/// What can be changed of a box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxProperties {
    /// Index into [`crate::shop::Shop::boxes`].
    pub number: u32,
    /// For people.
    pub name: String,
    /// How many there are in all.
    pub quantity: u32,
    /// Before the first step of the curve.
    pub price: Money,
    /// When it can be collected.
    pub pickup: Option<PickupWindow>,
    /// In order of time.
    pub price_curve: Vec<PriceStep>,
    /// Closed by the operator.
    pub closed: bool,
}
