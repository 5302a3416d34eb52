//! What can be asked of an inventory.

use serde::{Deserialize, Serialize};

use crate::commands::{
    AddBox, AddSlot, BlockSeats, Book, Cancel, CancelEvent, Confirm, CreateEvent, CreateSchedule, CreateShop,
    DeleteSlot, Extend, ForgetContact, ImportTickets, Move, PatchBox, PatchEvent, PatchSchedule, PatchShop,
    PatchSlot, Redeem, UnblockSeats, Unredeem,
};
use crate::ids::Actor;
use crate::memory::{Fingerprint, KeyDigest};

/// One request to one inventory. Ids, codes and keys in it were made outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Who asks.
    pub by: Actor,
    /// Makes the command safe to send again.
    pub idempotency: Option<Idempotency>,
    /// What is asked.
    pub action: Action,
}

impl Command {
    /// By the system itself, without a key.
    pub fn of(action: Action) -> Command {
        Command { by: Actor::default(), idempotency: None, action }
    }
}

/// One key, one effect, one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idempotency {
    /// Of the key.
    pub key: KeyDigest,
    /// Of the caller and the request as parsed, without contact details: the same for the same request of the same caller, whatever ids
    /// were made for it.
    pub fingerprint: Fingerprint,
    /// How long the answer is kept, from the decision; never shorter than the longest hold of the inventory.
    pub keep_seconds: u32,
}

/// The closed list of what can be asked. The order is part of the wire format; new ones go to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, strum::EnumDiscriminants)]
#[strum_discriminants(
    name(ActionKind),
    doc = "The name of an [`Action`] without its data.",
    derive(Hash, PartialOrd, Ord, strum::EnumIter)
)]
pub enum Action {
    /// Makes the inventory an event.
    CreateEvent(Box<CreateEvent>),
    /// Makes the inventory a schedule and its first slots.
    CreateSchedule(Box<CreateSchedule>),
    /// Makes the inventory a shop.
    CreateShop(Box<CreateShop>),
    /// Changes the terms or prices of an event, or closes it.
    PatchEvent(Box<PatchEvent>),
    /// Changes the terms or the pattern of a schedule, or closes it.
    PatchSchedule(Box<PatchSchedule>),
    /// Changes the terms of a shop, or closes it.
    PatchShop(Box<PatchShop>),
    /// Takes seats out of sale.
    BlockSeats(BlockSeats),
    /// Puts blocked seats on sale.
    UnblockSeats(UnblockSeats),
    /// Adds one slot by hand.
    AddSlot(AddSlot),
    /// Closes or opens a slot, or changes its capacity or price.
    PatchSlot(PatchSlot),
    /// Removes a slot that nobody booked.
    DeleteSlot(DeleteSlot),
    /// Makes the slots of the days that came into view, removes old ones. Sent when due.
    RollSlots,
    /// Adds a box.
    AddBox(Box<AddBox>),
    /// Changes a box.
    PatchBox(Box<PatchBox>),
    /// Registers tickets.
    ImportTickets(ImportTickets),
    /// Makes a booking.
    Book(Box<Book>),
    /// Pays a hold.
    Confirm(Confirm),
    /// Keeps a hold longer.
    Extend(Extend),
    /// Frees the units of a booking.
    Cancel(Cancel),
    /// Swaps the units of a booking for others.
    Move(Box<Move>),
    /// Collects or admits a booking.
    Redeem(Redeem),
    /// Ends the holds that are due, which every other command does too. Sent when nobody else comes.
    Expire,
    /// Erases a customer's contact details.
    ForgetContact(ForgetContact),
    /// Forgets the answers of idempotency keys that were kept long enough. Sent when due.
    ForgetKeys,
    /// Undoes a redemption.
    Unredeem(Unredeem),
    /// Cancels an event and its bookings.
    CancelEvent(CancelEvent),
    /// Deletes an event without bookings.
    DeleteEvent,
}
