//! Places in a time slot.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{check_customer, check_units};
use crate::booking::Units;
use crate::ids::check_identifier;
use crate::inventory::Inventory;
use crate::limits::TICKET_CHARACTERS_MAX;
use crate::refusal::Refusal;
use crate::rules::TicketRule;
use crate::schedule::{Schedule, Slot};
use crate::time::{Minute, SlotId, Timestamp};

/// How many places, or for which tickets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Places {
    /// So many.
    Quantity(u32),
    /// One for each ticket.
    Tickets(Vec<Arc<str>>),
}

impl Places {
    fn count(&self) -> u64 {
        match self {
            Places::Quantity(quantity) => u64::from(*quantity),
            Places::Tickets(tickets) => tickets.len() as u64,
        }
    }

    fn tickets(&self) -> &[Arc<str>] {
        match self {
            Places::Quantity(_) => &[],
            Places::Tickets(tickets) => tickets,
        }
    }
}

pub(super) fn check_form(places: &Places) -> Result<(), Refusal> {
    match places {
        Places::Quantity(0) => Err(Refusal::invalid("/quantity", "must be at least 1")),
        Places::Quantity(_) => Ok(()),
        Places::Tickets(tickets) if tickets.is_empty() => {
            Err(Refusal::invalid("/tickets", "must not be empty"))
        }
        Places::Tickets(tickets) => {
            let mut numbers = HashSet::new();
            for (index, ticket) in tickets.iter().enumerate() {
                check_identifier(ticket, TICKET_CHARACTERS_MAX, format_args!("/tickets/{index}"))?;
                if !numbers.insert(ticket) {
                    return Err(Refusal::invalid(
                        format_args!("/tickets/{index}"),
                        "stands in the list twice",
                    ));
                }
            }
            Ok(())
        }
    }
}

pub(super) fn find(
    inventory: &Inventory,
    now: Timestamp,
    customer: &str,
    id: SlotId,
    places: &Places,
) -> Result<Units, Refusal> {
    let schedule = inventory.schedule()?;
    let rules = &schedule.terms.rules;
    check_units(rules, places.count())?;
    if rules.tickets == TicketRule::Registered && places.tickets().is_empty() {
        return Err(Refusal::invalid("/tickets", "must name registered tickets: only they may book here"));
    }
    let quantity = u32::try_from(places.count()).expect("units per booking are bounded");
    let slot = schedule.slots.get(&id).ok_or(Refusal::SlotNotFound)?;
    schedule.terms.check_open()?;
    schedule.terms.check_sales(now)?;
    check_open(slot, now)?;
    schedule.check_tickets(places.tickets(), now)?;
    check_customer(inventory, rules, customer, quantity)?;
    check_places(schedule, id, quantity, now)?;
    Ok(Units::Slot { slot: id, end: slot.end, quantity, price: slot.price, tickets: places.tickets().into() })
}

/// See [`super::check_again`].
pub(super) fn check_again(
    inventory: &Inventory,
    now: Timestamp,
    customer: &str,
    (id, end): (SlotId, Minute),
    quantity: u32,
    tickets: &[Arc<str>],
) -> Result<(), Refusal> {
    let schedule = inventory.schedule()?;
    let slot = schedule.slots.get(&id).filter(|slot| slot.end == end).ok_or(Refusal::SlotNotFound)?;
    schedule.terms.check_open()?;
    check_open(slot, now)?;
    schedule.check_tickets(tickets, now)?;
    check_customer(inventory, &schedule.terms.rules, customer, quantity)?;
    check_places(schedule, id, quantity, now)
}

/// Refuses a slot that is over, or closed.
pub(crate) fn check_open(slot: &Slot, now: Timestamp) -> Result<(), Refusal> {
    if slot.is_past(now) {
        return Err(Refusal::SlotPast);
    }
    if slot.closed { Err(Refusal::SlotClosed) } else { Ok(()) }
}

/// Refuses more places than the slot has left, and offers others.
pub(crate) fn check_places(
    schedule: &Schedule,
    id: SlotId,
    quantity: u32,
    now: Timestamp,
) -> Result<(), Refusal> {
    let available = schedule.slots[&id].pool.available();
    if quantity > available {
        let alternatives = schedule.alternatives(id, quantity, now);
        return Err(Refusal::SlotFull { available, alternatives });
    }
    Ok(())
}
