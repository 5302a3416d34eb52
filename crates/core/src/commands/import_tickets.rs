//! Registers tickets.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::ids::check_text;
use crate::inventory::Inventory;
use crate::limits::{TICKET_CHARACTERS_MAX, TICKETS_PER_IMPORT_MAX, TICKETS_PER_SCHEDULE_MAX};
use crate::outcome::Reply;
use crate::refusal::Refusal;
use crate::schedule::Ticket;

/// Registers tickets, or changes registered ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportTickets {
    /// Number and properties; each number once.
    pub tickets: Vec<(Arc<str>, Ticket)>,
}

impl ImportTickets {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Result<Decision, Refusal> {
        if self.tickets.len() > TICKETS_PER_IMPORT_MAX {
            return Err(Refusal::invalid("/tickets", format!("must be at most {TICKETS_PER_IMPORT_MAX}")));
        }
        let mut numbers = HashSet::with_capacity(self.tickets.len());
        for (index, (number, ticket)) in self.tickets.iter().enumerate() {
            check_text(number, TICKET_CHARACTERS_MAX, &format!("/tickets/{index}/id"))?;
            if let Some(expires_at) = ticket.expires_at {
                expires_at.check(&format!("/tickets/{index}/expires_at"))?;
            }
            if !numbers.insert(number) {
                return Err(Refusal::invalid(&format!("/tickets/{index}/id"), "stands in the list twice"));
            }
        }
        let schedule = inventory.schedule()?;
        let updated = self.tickets.iter().filter(|(number, _)| schedule.tickets.contains_key(number)).count();
        let added = self.tickets.len() - updated;
        if schedule.tickets.len() + added > TICKETS_PER_SCHEDULE_MAX {
            return Err(Refusal::Overloaded);
        }

        let count = |tickets: usize| u32::try_from(tickets).expect("imports are bounded");
        let reply = Reply::Tickets { added: count(added), updated: count(updated) };
        if self.tickets.is_empty() {
            return Ok(Decision::nothing(reply));
        }
        Ok(Decision::one(Change::TicketsImported(self.tickets.clone()), reply))
    }
}
