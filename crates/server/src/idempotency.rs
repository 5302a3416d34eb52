//! One key, one effect, one answer: how a request becomes the key and the fingerprint that the core remembers.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use boxoffice_core::command::Idempotency;
use boxoffice_core::memory::{Fingerprint, KeyDigest};
use serde::Serialize;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use uuid::Uuid;

use crate::app::App;
use crate::caller::Caller;
use crate::ids::readable;
use crate::keys::Role;
use crate::limits::IDEMPOTENCY_KEY_CHARACTERS_MAX;
use crate::problem::Problem;

/// The `Idempotency-Key` of a request, if it has one; of a booking without one, the id that its caller chose.
#[derive(Debug, Clone, Default)]
pub(crate) struct IdempotencyKey(pub(crate) Option<String>);

/// Keys made of booking ids begin with this; no header can.
const BOOKING_ID_PREFIX: &str = "\0booking ";

impl FromRequestParts<Arc<App>> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &Arc<App>) -> Result<IdempotencyKey, Problem> {
        let mut values = parts.headers.get_all("idempotency-key").iter();
        let Some(value) = values.next() else { return Ok(IdempotencyKey(None)) };
        if values.next().is_some() {
            return Err(Problem::invalid("", "Idempotency-Key must be sent once"));
        }
        let text = value.to_str().map_err(|_| invalid())?;
        IdempotencyKey::new(text)
    }
}

fn invalid() -> Problem {
    Problem::invalid(
        "",
        format!("Idempotency-Key must be 1 to {IDEMPOTENCY_KEY_CHARACTERS_MAX} printable ASCII characters"),
    )
}

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let schema = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(IDEMPOTENCY_KEY_CHARACTERS_MAX))
            .pattern(Some("^[!-~]([ -~]*[!-~])?$"));
        let key = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .description(Some("Sent again with the same key, the request has one effect and one answer."))
            .schema(Some(schema));
        vec![key.build()]
    }
}

impl IdempotencyKey {
    /// The draft standard's quoted form names the same key.
    pub(crate) fn new(text: &str) -> Result<IdempotencyKey, Problem> {
        let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let key = quoted.unwrap_or(text);
        let printable = key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if key.is_empty() || key.len() > IDEMPOTENCY_KEY_CHARACTERS_MAX || !printable {
            return Err(invalid());
        }
        Ok(IdempotencyKey(Some(key.to_owned())))
    }

    /// This key, or if there is none the key that a booking id stands for.
    pub(crate) fn or_booking_id(self, id: Option<Uuid>) -> IdempotencyKey {
        IdempotencyKey(self.0.or_else(|| id.map(|id| format!("{BOOKING_ID_PREFIX}{id}"))))
    }

    /// Whether it was made of a booking id.
    pub(crate) fn is_booking_id(&self) -> bool {
        self.0.as_ref().is_some_and(|key| key.starts_with(BOOKING_ID_PREFIX))
    }

    /// What the core remembers. `operation` names what is asked, and of what; `request` is the request as it was
    /// understood, so that spaces, the order of fields and defaults make no difference.
    pub(crate) fn for_request(
        &self,
        app: &App,
        caller: &Caller,
        operation: &str,
        request: &impl Understood,
    ) -> Option<Idempotency> {
        let key = self.0.as_ref()?;
        // Browsers choose among themselves: their keys must not be in the way of those who sell.
        let digest = if caller.role == Role::Public {
            blake3::hash(&[key.as_bytes(), &[0], &caller.actor.0.to_le_bytes()].concat())
        } else {
            blake3::hash(key.as_bytes())
        };
        let digest = digest.as_bytes().first_chunk().expect("a hash is longer");
        Some(Idempotency {
            key: KeyDigest(*digest),
            fingerprint: fingerprint(app, caller, operation, request),
            keep_seconds: app.settings.idempotency_keep_seconds,
        })
    }

    /// What an answer under this key says as its request's id, whichever request it was.
    pub(crate) fn answer_id(&self, app: &App, caller: &Caller) -> Option<Box<str>> {
        let key = self.0.as_ref()?;
        let parts: [&[u8]; 2] = [caller.tenant.as_bytes(), key.as_bytes()];
        Some(readable("idk-", &app.secret.derive("answer", &parts), 20).into())
    }
}

/// A request as it was understood: the same for all forms in which it can be sent.
pub(crate) trait Understood {
    /// Appends it. What keys remember was made of these bytes: they must stay as they are.
    fn write(&self, text: &mut Vec<u8>);
}

impl<T: Serialize> Understood for T {
    fn write(&self, text: &mut Vec<u8>) {
        serde_json::to_writer(text, self).expect("requests are plain data");
    }
}

/// Of the caller and the request as it was understood.
pub(crate) fn fingerprint(
    app: &App,
    caller: &Caller,
    operation: &str,
    request: &impl Understood,
) -> Fingerprint {
    // An answer is repeated to whoever may see it: those who run the house see all, others what they asked for.
    let asker = match caller.role {
        Role::Admin | Role::Operator => 0,
        Role::Seller | Role::Public => caller.actor.0,
    };
    // Hashed at once: piece by piece would cost more than the request is worth.
    let mut together = Vec::with_capacity(256);
    together.extend_from_slice(&asker.to_le_bytes());
    together.extend_from_slice(&(operation.len() as u64).to_le_bytes());
    together.extend_from_slice(operation.as_bytes());
    request.write(&mut together);
    app.secret.fingerprint(&together)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quoted_form_is_the_same_key_and_keys_have_bounds() {
        let key = |text: &str| IdempotencyKey::new(text).map(|key| key.0.unwrap()).ok();
        assert_eq!(key("\"abc\""), key("abc"));
        assert_eq!(key("a b").as_deref(), Some("a b"));
        assert_eq!(key(&"x".repeat(255)).map(|key| key.len()), Some(255));
        for wrong in ["", "\"\"", "a\tb", "é", &"x".repeat(256)] {
            assert_eq!(key(wrong), None, "{wrong}");
        }
    }
}
