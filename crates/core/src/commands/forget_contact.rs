//! Erases a customer's contact details.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Decision;
use crate::change::Change;
use crate::inventory::Inventory;
use crate::outcome::Reply;

/// Erases a customer's contact details. The bookings stay in the books.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetContact {
    /// Whose.
    pub customer: Arc<str>,
}

impl ForgetContact {
    pub(crate) fn decide(&self, inventory: &Inventory) -> Decision {
        let known =
            inventory.customers().get(&self.customer).is_some_and(|account| account.contact.is_some());
        if !known {
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
    use crate::testing::{Reached, Scene, book, one_section};

    #[test]
    fn contacts_are_forgotten_and_the_books_kept() {
        table();
    }

    pub(crate) fn table() -> Reached {
        let forget = || Action::ForgetContact(ForgetContact { customer: "ann".into() });
        let with = |label: &str, contact: &[u8]| Book {
            contact: Some(contact.into()),
            ..book(label, "ann").best(1)
        };
        let mut scene = Scene::of(one_section(1, 4));
        let contact = |scene: &Scene| {
            scene.inventory.customers().get("ann").and_then(|account| account.contact.map(<[u8]>::to_vec))
        };
        scene.row(forget(), "done");
        assert_eq!(scene.inventory.customers().iter().count(), 0);
        scene.row(with("b1", b"old"), "on hold A-1 1-1 for 1000 until 900");
        scene.row(with("b2", b"new"), "on hold A-1 1-2 for 1000 until 900");
        scene.row(book("b3", "ann").best(1), "on hold A-1 1-3 for 1000 until 900");
        assert_eq!(contact(&scene).as_deref(), Some(b"new".as_slice()));
        scene.row(forget(), "done");
        assert_eq!(contact(&scene), None);
        scene.row(forget(), "done");
        assert_eq!(scene.inventory.customers().get("ann").unwrap().units, 3);
        assert_eq!(scene.inventory.customers().iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["ann"]);
        scene.reached
    }
}
