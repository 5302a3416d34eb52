//! The commands, one file each: its fields, its checks in order, and the changes that follow if all hold.

mod add_box;
mod add_slot;
mod block_seats;
mod book;
mod cancel;
mod confirm;
mod create_event;
mod create_schedule;
mod create_shop;
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

pub use add_box::AddBox;
pub use add_slot::AddSlot;
pub use block_seats::BlockSeats;
pub use book::{AreaWish, BestAvailable, Book, Places, SeatWish, SectionSeats, Want};
pub use cancel::Cancel;
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

use crate::change::Change;
use crate::outcome::Reply;

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
        Decision { changes: vec![change], reply }
    }
}
