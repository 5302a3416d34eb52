//! `/v1/webhooks`.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod deliveries;
pub(crate) mod list;
pub(crate) mod show;

use serde::Serialize;
use utoipa::ToSchema;

use crate::time::Moment;
use crate::webhooks::{Topic, Webhook};

/// An address that is told what happens.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(crate) struct WebhookBody<'a> {
    id: &'a str,
    url: &'a str,
    events: &'a [Topic],
    /// Whether messages about bookings say how to reach the customer.
    include_contact: bool,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    /// When it answered 410; nothing is sent since.
    #[schema(value_type = Option<String>, format = DateTime, required)]
    disabled_at: Option<Moment>,
}

impl WebhookBody<'_> {
    fn of(webhook: &Webhook) -> WebhookBody<'_> {
        WebhookBody {
            id: &webhook.id,
            url: &webhook.url,
            events: &webhook.events,
            include_contact: webhook.include_contact,
            created_at: Moment(webhook.created_at()),
            disabled_at: webhook.disabled_at().map(Moment),
        }
    }
}
