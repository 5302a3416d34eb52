//! Contacts in messages: inserted when a message is sent, so that no delivery stores one in the clear, and listed in the audit.

use boxoffice_core::time::Timestamp;
use boxoffice_engine::store::StoreError;
use boxoffice_engine::{Engine, SubmitError};
use serde::{Deserialize, Serialize};

use super::{Topic, Webhook, damaged};
use crate::contacts::{ContactKeys, document_of};
use crate::routes::bookings::CONTACT_FIELD;

/// Webhooks with contacts that were removed stay here, for the audit.
const REMOVED_PREFIX: &str = "webhook-with-contacts/";

/// A webhook that is or was sent contacts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ContactRecipient {
    pub(crate) webhook: Webhook,
    removed_at_ms: Option<i64>,
}

impl ContactRecipient {
    pub(crate) fn new(webhook: Webhook) -> ContactRecipient {
        ContactRecipient { webhook, removed_at_ms: None }
    }

    /// Whether the message of this topic about a change at this moment had the contact in it.
    pub(crate) fn was_sent(&self, topic: Topic, at: Timestamp) -> bool {
        let ended_at_ms = self.removed_at_ms.or(self.webhook.disabled_at_ms);
        self.webhook.include_contact
            && self.webhook.events.contains(&topic)
            && self.webhook.created_at_ms <= at.0
            && ended_at_ms.is_none_or(|ended| at.0 < ended)
    }
}

/// What to write when a webhook is removed, so that the audit goes on listing what it was sent.
pub(super) fn removal(webhook: &Webhook, now: Timestamp) -> Option<(String, Option<Vec<u8>>)> {
    let recipient = ContactRecipient { webhook: webhook.clone(), removed_at_ms: Some(now.0) };
    let contents = serde_json::to_vec(&recipient).expect("a webhook is plain data");
    let name = format!("{REMOVED_PREFIX}{}/{}", webhook.tenant, webhook.id);
    webhook.include_contact.then_some((name, Some(contents)))
}

/// The webhooks of a tenant that were sent contacts and then removed.
pub(super) fn removed(engine: &Engine, tenant: &str) -> Result<Vec<ContactRecipient>, StoreError> {
    let documents = engine.documents(&format!("{REMOVED_PREFIX}{tenant}/"))?;
    let parsed = |(name, contents): (String, Vec<u8>)| {
        serde_json::from_slice(&contents).map_err(|error| damaged(&name, &error))
    };
    documents.into_iter().map(parsed).collect()
}

/// A message with the contact of its booking, unless that was erased.
pub(super) async fn insert_contact(
    engine: &Engine,
    tenant: &str,
    body: &str,
    sealed_contact: &[u8],
) -> Result<String, SubmitError> {
    let documents = document_of(tenant, sealed_contact).into_iter().collect();
    let opened = ContactKeys::read(engine, documents).await?.open_sealed(sealed_contact);
    let field = std::str::from_utf8(CONTACT_FIELD).expect("JSON is UTF-8");
    let opened = serde_json::to_string(&opened).expect("a contact is plain data");
    // The first such field is the booking's own: inside a text its quotes would be escaped, and metadata come later.
    Ok(body.replacen(&format!("{field}null"), &format!("{field}{opened}"), 1))
}
