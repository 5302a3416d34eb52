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
