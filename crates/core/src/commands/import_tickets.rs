//! Registers tickets.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::ids::check_identifier;
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
            check_identifier(number, TICKET_CHARACTERS_MAX, format_args!("/tickets/{index}/id"))?;
            if let Some(expires_at) = ticket.expires_at {
                expires_at.check(format_args!("/tickets/{index}/expires_at"))?;
            }
            if !numbers.insert(number) {
                return Err(Refusal::invalid(
                    format_args!("/tickets/{index}/id"),
                    "stands in the list twice",
                ));
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::testing::{Reached, Scene, museum};
    use crate::time::Timestamp;

    #[test]
    fn tickets_are_imported_or_refused() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let active = Ticket { active: true, expires_at: None };
        let import = |numbers: &[&str], ticket: Ticket| {
            let tickets = numbers.iter().map(|&number| (Arc::from(number), ticket)).collect();
            Action::ImportTickets(ImportTickets { tickets })
        };
        let mut scene = Scene::empty();
        scene.row(import(&["T1"], active), "SCHEDULE_NOT_FOUND");
        let mut scene = Scene::of(museum());
        scene.row(import(&["T1", "T2"], active), "2 added, 0 updated");
        scene.row(import(&["T3", "T2"], Ticket { active: false, expires_at: None }), "1 added, 1 updated");
        assert!(!scene.inventory.schedule().unwrap().tickets["T2"].active);
        scene.row(import(&[], active), "0 added, 0 updated");
        scene.row(import(&["T4", "T4"], active), "INVALID_REQUEST /tickets/1/id");
        scene.row(import(&["T4", ""], active), "INVALID_REQUEST /tickets/1/id");
        scene.row(import(&[&"T".repeat(101)], active), "INVALID_REQUEST /tickets/0/id");
        for spaced in [" T4", "T4 ", "T4\u{2009}"] {
            scene.row(import(&["T5", spaced], active), "INVALID_REQUEST /tickets/1/id");
        }
        let never = Ticket { active: true, expires_at: Some(Timestamp(i64::MAX)) };
        scene.row(import(&["T4"], never), "INVALID_REQUEST /tickets/0/expires_at");
        let many: Vec<String> = (0..=TICKETS_PER_IMPORT_MAX).map(|number| number.to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        scene.row(import(&many, active), "INVALID_REQUEST /tickets");
        scene.row(import(&many[1..], active), "200000 added, 0 updated");
        scene.reached
    }
}
