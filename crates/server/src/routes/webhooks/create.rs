//! `POST /v1/webhooks`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::WebhookBody;
use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::{IdempotencyKey, fingerprint};
use crate::input::{Input, null_as_default};
use crate::outer::json;
use crate::problem::Problem;
use crate::routes::{idempotency_key_reused, secret_no_longer_shown, seed};
use crate::webhooks::{Made, Topic, Webhook, Webhooks, address};

/// An address that wants to be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWebhook {
    #[schema(max_length = 2048, example = "https://example.com/hooks/boxoffice")]
    url: String,
    /// At least one, each at most once.
    #[schema(min_items = 1)]
    events: Vec<Topic>,
    /// Messages about bookings say how to reach the customer. The audit of each booking lists the messages that have them.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Option<bool>)]
    include_contact: bool,
}

/// A webhook, with the secret that its messages are signed with: nobody can show it again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookWithSecret)]
pub(crate) struct NewWebhookBody<'a> {
    #[serde(flatten)]
    webhook: WebhookBody<'a>,
    #[schema(example = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")]
    secret: &'a str,
}

/// Adds an address that is told what happens.
///
/// Messages follow Standard Webhooks; `secret`, with which they are signed, is shown only here. A repeated request with the same
/// `Idempotency-Key` shows it again until there is a message, or the webhook was deleted or disabled. Messages are sent again, less and less
/// often, for three days; an answer of 410 disables the webhook. For `admin`.
#[utoipa::path(
    post,
    path = "/v1/webhooks",
    tag = "webhooks",
    operation_id = "create_webhook",
    params(
        IdempotencyKey,
    ),
    request_body(content = NewWebhook, example = json!({ "url": "https://example.com/hooks/boxoffice", "events": ["booking.confirmed"] })),
    responses(
        (status = 201, description = "The webhook, with its secret.", body = NewWebhookBody, links(("show" = (operation_id = "show_webhook", parameters(("id" = "$response.body#/id")))), ("deliveries" = (operation_id = "list_deliveries", parameters(("id" = "$response.body#/id")))), ("delete" = (operation_id = "delete_webhook", parameters(("id" = "$response.body#/id")))))),
        (status = 409, description = "`SECRET_NO_LONGER_SHOWN`, `WEBHOOK_LIMIT_REACHED`"),
    ),
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Input(request): Input<NewWebhook>,
) -> Result<Response, Problem> {
    check_events(&request.events)?;
    let checked = address::check(&request.url, app.webhooks.allow_insecure).await;
    checked.map_err(|message| Problem::invalid("/url", message))?;
    let fingerprint = key.0.as_ref().map(|_| fingerprint(&app, &caller, "create webhook", &request));
    let wanted = Webhook {
        id: Webhooks::id_of(&seed(&app, &caller, "webhook", &key)),
        tenant: Arc::clone(&caller.tenant),
        url: request.url,
        events: request.events,
        include_contact: request.include_contact,
        created_by: caller.actor,
        created_at_ms: app.engine.now().0,
        disabled_at_ms: None,
        fingerprint,
    };
    let Made { webhook, known } = app.webhooks.add(wanted).await?;
    if known && webhook.fingerprint != fingerprint {
        return Err(idempotency_key_reused());
    }
    if known && !Webhooks::secret_may_be_shown(&app.engine, &webhook.id).await? {
        return Err(secret_no_longer_shown("webhook", &webhook.id));
    }
    let secret = app.webhooks.secret_text(&webhook.id);
    let body = NewWebhookBody { webhook: WebhookBody::of(&webhook), secret: &secret };
    Ok(json(StatusCode::CREATED, &body, known))
}

fn check_events(events: &[Topic]) -> Result<(), Problem> {
    if events.is_empty() {
        return Err(Problem::invalid("/events", "must name at least one"));
    }
    let twice = (1..events.len()).find(|&index| events[..index].contains(&events[index]));
    match twice {
        Some(index) => Err(Problem::invalid(&format!("/events/{index}"), "is named twice")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_named_once_and_there_is_one() {
        let pointer = |events: &[Topic]| {
            let problem = check_events(events).err()?;
            Some(problem.more["errors"][0]["pointer"].as_str().unwrap().to_owned())
        };
        assert_eq!(pointer(&[]).as_deref(), Some("/events"));
        assert_eq!(pointer(&[Topic::Held, Topic::SoldOut]), None);
        assert_eq!(pointer(&[Topic::Held, Topic::Moved, Topic::Held]).as_deref(), Some("/events/2"));
    }
}
