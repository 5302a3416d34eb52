//! `POST /v1/keys`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::caller::Admin;
use crate::idempotency::{IdempotencyKey, fingerprint};
use crate::input::Input;
use crate::keys::{Key, NewKey, Role, Wanted, check_name};
use crate::outer::json;
use crate::problem::Problem;
use crate::routes::{idempotency_key_reused, secret_no_longer_shown, seed};
use crate::time::Moment;

/// A key for somebody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewKey)]
pub(crate) struct NewKeyRequest {
    role: Role,
    /// For people.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200, example = "ticket shop")]
    name: Option<String>,
}

/// A key, with its secret: nobody can show it again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = KeyWithSecret)]
pub(crate) struct NewKeyBody<'a> {
    id: &'a str,
    /// Sent as `Authorization: Bearer <key>`.
    key: &'a str,
    role: Role,
    #[schema(required)]
    name: Option<&'a str>,
    tenant: &'a str,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
}

/// Makes an API key.
///
/// `key` is shown only here. A repeated request with the same `Idempotency-Key` shows it again until it was used or revoked.
/// For `admin`.
#[utoipa::path(
    post,
    path = "/v1/keys",
    tag = "keys",
    operation_id = "create_key",
    params(
        IdempotencyKey,
    ),
    request_body(content = NewKeyRequest, example = json!({ "role": "seller", "name": "ticket shop" })),
    responses(
        (status = 201, description = "The key, with its secret.", body = NewKeyBody),
        (status = 409, description = "`SECRET_NO_LONGER_SHOWN`"),
    ),
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Admin(caller): Admin,
    key: IdempotencyKey,
    Input(request): Input<NewKeyRequest>,
) -> Result<Response, Problem> {
    if let Some(name) = &request.name {
        check_name(name).map_err(|message| Problem::invalid("/name", message))?;
    }
    // From the first key on everybody needs one.
    if app.is_open() && request.role != Role::Admin {
        tracing::warn!(
            "the first key is no admin's, so that no other can be made over HTTP: stop the server and make one with \
             `boxoffice keys create --role admin`"
        );
    }
    let fingerprint = key.0.as_ref().map(|_| fingerprint(&app, &caller, "create key", &request));
    let seed = seed(&app, &caller, "key", &key);
    let make = move || {
        let NewKeyRequest { role, name } = request;
        app.keys.make(Wanted { tenant: &caller.tenant, role, name, seed, fingerprint })
    };
    let NewKey { key, text, known } =
        tokio::task::spawn_blocking(make).await.expect("making a key does not panic")?;
    if known && key.fingerprint != fingerprint {
        return Err(idempotency_key_reused());
    }
    if known && !key.secret_may_be_shown() {
        return Err(secret_no_longer_shown("key", &key.id));
    }
    Ok(json(StatusCode::CREATED, &shown(&key, &text), known))
}

fn shown<'a>(key: &'a Key, text: &'a str) -> NewKeyBody<'a> {
    NewKeyBody {
        id: &key.id,
        key: text,
        role: key.role,
        name: key.name.as_deref(),
        tenant: &key.tenant,
        created_at: Moment(key.created_at()),
    }
}
