//! What is derived instead of stored: hold tokens and made-up ids, from one secret of the store.

use boxoffice_core::ids::BookingId;
use boxoffice_core::memory::Fingerprint;
use boxoffice_engine::{Engine, SubmitError};

use crate::ids::readable;
use crate::problem::Problem;

/// The store's secret. Whoever has it can act on every hold.
pub(crate) struct Secret {
    root: [u8; 32],
    /// Derived once: every booking under a key has a fingerprint.
    fingerprint_key: [u8; 32],
}

/// The document with the secret.
pub(crate) const DOCUMENT: &str = "setting/secret";
const TOKEN_CHARACTERS: usize = 26;
/// 80 bits: two customers of one store do not get the same.
const PSEUDONYM_CHARACTERS: usize = 16;

impl Secret {
    /// Reads the secret, or makes one for a new store.
    pub(crate) fn load(engine: &Engine) -> Result<Secret, Problem> {
        let mut found = engine.documents(DOCUMENT)?;
        if found.is_empty() {
            // Another server may do so at the same time: what is there afterwards counts.
            engine.create_document(DOCUMENT, &rand::random::<[u8; 32]>())?;
            found = engine.documents(DOCUMENT)?;
        }
        let bytes = found.pop().and_then(|(_, contents)| contents.try_into().ok());
        let damaged = || Problem::from(SubmitError::Damaged("the store's secret is not 32 bytes".into()));
        bytes.map(Secret::new).ok_or_else(damaged)
    }

    fn new(root: [u8; 32]) -> Secret {
        Secret { root, fingerprint_key: derive(&root, "fingerprint", &[]) }
    }

    /// Of a request, for the journal: who reads the journal without this secret cannot try requests until one fits.
    pub(crate) fn fingerprint(&self, request: &[u8]) -> Fingerprint {
        let hash = blake3::keyed_hash(&self.fingerprint_key, request);
        Fingerprint(*hash.as_bytes().first_chunk().expect("a hash has 32 bytes"))
    }

    /// The token with which the maker of a hold acts on it. Another tenant may have a booking of the same id: the token is of one
    /// tenant's booking only.
    pub(crate) fn hold_token(&self, tenant: &str, booking: BookingId) -> String {
        let parts: [&[u8]; 2] = [tenant.as_bytes(), &booking.to_bytes()];
        readable("ht_", &self.derive("hold token", &parts), TOKEN_CHARACTERS)
    }

    /// Whether a token is a booking's; takes the same time for every wrong one.
    pub(crate) fn is_hold_token(&self, tenant: &str, booking: BookingId, token: &str) -> bool {
        blake3::hash(self.hold_token(tenant, booking).as_bytes()) == blake3::hash(token.as_bytes())
    }

    /// Stands for a customer in logs: the same for the same customer, and not to be told without the secret.
    pub(crate) fn pseudonym(&self, tenant: &str, customer: &str) -> String {
        readable(
            "",
            &self.derive("customer in logs", &[tenant.as_bytes(), customer.as_bytes()]),
            PSEUDONYM_CHARACTERS,
        )
    }

    /// Bytes that only this store can make, the same ones for the same parts.
    pub(crate) fn derive(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        derive(&self.root, purpose, parts)
    }
}

fn derive(root: &[u8; 32], purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
    // Hashed at once: a hasher for pieces is two thousand bytes, and each booking that is answered has a token.
    let mut together = Vec::with_capacity(64);
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        together.extend_from_slice(&(part.len() as u64).to_le_bytes());
        together.extend_from_slice(part);
    }
    *blake3::keyed_hash(root, &together).as_bytes()
}
