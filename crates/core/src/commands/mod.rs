//! The commands, one file each: its fields, its checks in order, and the changes that follow if all hold.

pub(crate) mod add_box;
mod add_slot;
mod block_seats;
mod book;
mod cancel;
mod cancel_event;
mod confirm;
pub(crate) mod create_event;
pub(crate) mod create_schedule;
mod create_shop;
pub(crate) mod delete_event;
mod delete_slot;
pub(crate) mod expire;
mod extend;
mod forget_contact;
pub(crate) mod forget_keys;
mod import_tickets;
mod move_booking;
mod patch_box;
mod patch_event;
mod patch_schedule;
mod patch_shop;
mod patch_slot;
mod redeem;
pub(crate) mod roll_slots;
mod unblock_seats;
mod unit_choice;
mod unredeem;

pub use add_box::AddBox;
pub use add_slot::AddSlot;
pub use block_seats::BlockSeats;
pub use book::{AreaWish, BestAvailable, Book, Places, SeatWish, SectionSeats, Want};
pub use cancel::Cancel;
pub use cancel_event::CancelEvent;
pub use confirm::Confirm;
pub use create_event::CreateEvent;
pub use create_schedule::CreateSchedule;
pub use create_shop::CreateShop;
pub use delete_slot::DeleteSlot;
pub use extend::Extend;
pub use forget_contact::ForgetContact;
pub use import_tickets::ImportTickets;
pub use move_booking::{Destination, Move};
pub use patch_box::PatchBox;
pub use patch_event::PatchEvent;
pub use patch_schedule::{PatchSchedule, PatternPatch};
pub use patch_shop::PatchShop;
pub use patch_slot::PatchSlot;
pub use redeem::Redeem;
pub use unblock_seats::UnblockSeats;
pub use unit_choice::UnitChoice;
pub use unredeem::Unredeem;

use std::sync::Arc;

use crate::booking::Booking;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::schedule::TicketUse;

/// Room for what most commands come to: a heading, a change, a remembered answer.
const CHANGES_OF_A_COMMAND: usize = 3;

/// What follows from a command that was granted.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) changes: Vec<Change>,
    pub(crate) reply: Reply,
}

impl Decision {
    /// Granted, and nothing had to change.
    pub(crate) fn nothing(reply: Reply) -> Decision {
        Decision { changes: Vec::new(), reply }
    }

    /// Granted with one change.
    pub(crate) fn one(change: Change, reply: Reply) -> Decision {
        let mut changes = Vec::with_capacity(CHANGES_OF_A_COMMAND);
        changes.push(change);
        Decision { changes, reply }
    }
}

/// Refuses a booking that was named by a ticket and does not have it reserved.
fn check_reserved(
    inventory: &Inventory,
    booking: &Booking,
    ticket: Option<&Arc<str>>,
) -> Result<(), Refusal> {
    let Some(ticket) = ticket else { return Ok(()) };
    let ticket_use = inventory.schedule().ok().and_then(|schedule| schedule.ticket_uses.get(ticket));
    if ticket_use == Some(&TicketUse::Reserved(booking.id)) {
        return Ok(());
    }
    Err(Refusal::TicketNotReserved { ticket: Arc::clone(ticket) })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::IntoEnumIterator;

    use crate::command::ActionKind;
    use crate::refusal::RefusalCode;

    #[test]
    fn every_command_and_every_refusal_is_reached_by_a_table() {
        let mut tables = vec![
            super::add_box::tests::table(),
            super::add_slot::tests::table(),
            super::block_seats::tests::table(),
            super::cancel::tests::table(),
            super::cancel_event::tests::table(),
            super::confirm::tests::table(),
            super::confirm::tests::late_seats_table(),
            super::confirm::tests::late_pools_table(),
            super::create_event::tests::table(),
            super::create_schedule::tests::table(),
            super::create_shop::tests::table(),
            super::delete_event::tests::table(),
            super::delete_slot::tests::table(),
            super::expire::tests::table(),
            super::extend::tests::table(),
            super::forget_contact::tests::table(),
            super::forget_keys::tests::table(),
            super::import_tickets::tests::table(),
            super::move_booking::tests::seats_table(),
            super::move_booking::tests::slots_table(),
            super::patch_box::tests::table(),
            super::patch_event::tests::table(),
            super::patch_schedule::tests::table(),
            super::patch_shop::tests::table(),
            super::patch_slot::tests::table(),
            super::redeem::tests::table(),
            super::redeem::tests::partial_table(),
            super::roll_slots::tests::table(),
            super::unblock_seats::tests::table(),
            super::unredeem::tests::table(),
        ];
        tables.extend(super::book::tests::tables());
        let actions: BTreeSet<ActionKind> = tables.iter().flat_map(|table| table.actions.clone()).collect();
        let refusals: BTreeSet<RefusalCode> =
            tables.iter().flat_map(|table| table.refusals.clone()).collect();
        assert_eq!(actions, ActionKind::iter().collect());
        assert_eq!(refusals, RefusalCode::iter().collect());
    }

    /// The codes of the HTTP contract that the rules decide; the others are the server's own.
    const CODES_OF_THE_API: &str = "IDEMPOTENCY_KEY_REUSED IDEMPOTENCY_KEY_REQUIRED INVALID_REQUEST EVENT_NOT_FOUND \
        SCHEDULE_NOT_FOUND SHOP_NOT_FOUND ALREADY_EXISTS OVERLOADED BOOKING_NOT_FOUND TICKET_NOT_RESERVED ALREADY_CONFIRMED \
        NOT_CONFIRMABLE FORBIDDEN HOLD_EXPIRED NOT_EXTENDABLE HOLD_LIMIT_REACHED NOT_CANCELLABLE NOT_MOVABLE ALREADY_REDEEMED \
        NOT_REDEEMABLE NOT_REDEEMED WRONG_CODE WRONG_DATE WRONG_TIME BOOKING_ID_TAKEN TOO_MANY_UNITS SECTION_NOT_FOUND SEAT_NOT_FOUND \
        DUPLICATE_SEAT NOT_IN_BOOKING AREA_NOT_FOUND SLOT_NOT_FOUND BOX_NOT_FOUND INVENTORY_CLOSED SALES_NOT_OPEN SALES_CLOSED \
        SLOT_PAST SLOT_CLOSED PICKUP_WINDOW_CLOSED TICKET_NOT_FOUND TICKET_NOT_ACTIVE TICKET_EXPIRED \
        TICKET_ALREADY_USED TICKET_ALREADY_RESERVED ACTIVE_RESERVATION_EXISTS CUSTOMER_LIMIT_REACHED \
        SEAT_UNAVAILABLE ORPHAN_SEAT NOT_ENOUGH_SEATS NOT_ADJACENT AREA_FULL SLOT_FULL NEW_SLOT_FULL BOX_UNAVAILABLE \
        INSUFFICIENT_INVENTORY SLOT_ALREADY_EXISTS CANNOT_CREATE_PAST_SLOT CAPACITY_BELOW_BOOKED_COUNT \
        SLOT_HAS_BOOKINGS EVENT_HAS_BOOKINGS";

    #[test]
    fn refusals_have_the_codes_of_the_api() {
        let codes: Vec<&'static str> = RefusalCode::iter().map(Into::into).collect();
        assert_eq!(codes, CODES_OF_THE_API.split_whitespace().collect::<Vec<_>>());
    }
}
