//! Records that a customer's contact details were erased.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;

/// Records that a customer's contact details were erased with the key that sealed them. The bookings stay as they are: what they have of
/// a contact can no longer be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetContact {
    /// Whose.
    pub customer: Arc<str>,
}

impl ForgetContact {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Decision {
        if inventory.customers().get(&self.customer).is_none() {
            return Decision::nothing(Reply::Done);
        }

        Decision::one(Change::ContactForgotten { customer: Arc::clone(&self.customer) }, Reply::Done)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::command::Action;
    use crate::commands::Book;
    use crate::testing::{Reached, Scene, book, id, one_section};

    #[test]
    fn erased_contacts_are_recorded_where_the_customer_booked() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let forget = || Action::ForgetContact(ForgetContact { customer: "ann".into() });
        let mut scene = Scene::of(one_section(1, 4));
        let before = scene.inventory.sequence();
        scene.row(forget(), "done");
        assert_eq!(scene.inventory.sequence(), before, "nothing is recorded of a customer who never booked");
        let with_contact = Book { contact: Some([1].as_slice().into()), ..book("b1", "ann").best(1) };
        scene.row(with_contact, "on hold A-1 1-1 for 1000 until 900");
        let before = (scene.inventory.sequence(), scene.inventory.booking(id("b1")).cloned());
        scene.row(forget(), "done");
        let after = (scene.inventory.sequence(), scene.inventory.booking(id("b1")).cloned());
        assert_eq!(after, (before.0 + 1, before.1));
        scene.reached
    }
}
