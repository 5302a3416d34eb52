//! Signatures by the Standard Webhooks specification: HMAC-SHA256 of id, time and body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// What a receiver is told: its secret, once.
pub(super) fn secret_text(secret: &[u8; 32]) -> String {
    format!("whsec_{}", STANDARD.encode(secret))
}

/// The `webhook-signature` of a message that is sent at a time, in seconds since 1970.
pub(super) fn sign(secret: &[u8; 32], id: &str, seconds: i64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("keys of any length are taken");
    mac.update(format!("{id}.{seconds}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_signed_as_the_specification_says() {
        // Computed with Python's hmac and base64 modules.
        let secret: [u8; 32] = std::array::from_fn(|index| index as u8);
        assert_eq!(secret_text(&secret), "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
        let signature = sign(&secret, "msg_1", 1_700_000_000, r#"{"type":"booking.held"}"#);
        assert_eq!(signature, "v1,PyhZE3OkpGjohwA/hUlTO4m6JHOcaKg9CdjBCSN23wk=");
    }
}
