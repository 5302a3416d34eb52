//! API keys: who may do what. Only hashes are kept.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boxoffice_core::characters::{TextKind, check_characters};
use boxoffice_core::ids::Actor;
use boxoffice_core::memory::Fingerprint;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::Engine;
use boxoffice_engine::store::StoreError;
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::ids::readable;
use crate::problem::Problem;

/// What a key may do; `api.md` has the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// Everything in its tenant.
    Admin,
    /// Runs sales.
    Operator,
    /// Sells, and sees what it sold.
    Seller,
    /// A browser: holds, and acts with a booking's hold token.
    Public,
}

/// One key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) id: String,
    /// Stands for the key in the journal; never given to another one.
    pub(crate) number: u64,
    pub(crate) tenant: Arc<str>,
    pub(crate) role: Role,
    pub(crate) name: Option<String>,
    pub(crate) created_at_ms: i64,
    pub(crate) revoked_at_ms: Option<i64>,
    /// Of the secret.
    hash: [u8; 32],
    /// Whether a request was sent with it: its owner has the secret, which is not shown again. Kept in a document of its own, so that
    /// noting the first use cannot undo a revocation.
    #[serde(skip)]
    is_used: UseMark,
    /// Of the request that made it, if that had an idempotency key.
    pub(crate) fingerprint: Option<Fingerprint>,
}

impl Key {
    pub(crate) fn actor(&self) -> Actor {
        Actor(self.number)
    }

    /// Whether its secret may be shown again to a caller who repeats the request that made it.
    pub(crate) fn secret_may_be_shown(&self) -> bool {
        self.revoked_at_ms.is_none() && !self.is_used.0.load(Ordering::Relaxed)
    }

    pub(crate) fn created_at(&self) -> Timestamp {
        Timestamp(self.created_at_ms)
    }
}

/// Whether a key was used, shared by all copies of it.
#[derive(Debug, Clone, Default)]
struct UseMark(Arc<AtomicBool>);

impl PartialEq for UseMark {
    fn eq(&self, other: &UseMark) -> bool {
        self.0.load(Ordering::Relaxed) == other.0.load(Ordering::Relaxed)
    }
}

impl Eq for UseMark {}

/// All keys, revoked ones included: the journal names them for ever.
pub(crate) struct Keys {
    engine: Engine,
    by_id: RwLock<HashMap<String, Arc<Key>>>,
    /// Told of each change of `by_id` that can take a key away.
    changes: watch::Sender<()>,
    /// One key is made at a time, so that numbers stay unique.
    making: parking_lot::Mutex<()>,
}

/// A key as its owner gets it, once.
pub(crate) struct NewKey {
    pub(crate) key: Arc<Key>,
    pub(crate) text: String,
    /// Whether it was made before, from the same seed.
    pub(crate) known: bool,
}

/// What a new key is to be.
pub(crate) struct Wanted<'a> {
    pub(crate) tenant: &'a str,
    pub(crate) role: Role,
    pub(crate) name: Option<String>,
    /// Id and secret are derived from these bytes: random, or from an idempotency key, so that a retry finds the same key.
    pub(crate) seed: [u8; 32],
    pub(crate) fingerprint: Option<Fingerprint>,
}

const NAME_CHARACTERS_MAX: usize = 200;
const PREFIX: &str = "bo";
const ID_CHARACTERS: usize = 12;
const SECRET_CHARACTERS: usize = 32;
const DOCUMENT_PREFIX: &str = "key/";
/// Numbers that are taken, where several servers take them.
const NUMBER_PREFIX: &str = "key-number/";
/// Keys that were used.
const USED_PREFIX: &str = "key-used/";

impl Keys {
    /// Reads all keys.
    pub(crate) fn load(engine: &Engine) -> Result<Keys, StoreError> {
        let by_id = RwLock::new(read(engine)?);
        Ok(Keys {
            engine: engine.clone(),
            by_id,
            changes: watch::Sender::new(()),
            making: parking_lot::Mutex::new(()),
        })
    }

    /// Reads them again: another server may have made or revoked some.
    pub(crate) fn refresh(&self) -> Result<(), StoreError> {
        // One that is made meanwhile must not be forgotten.
        let _one_at_a_time = self.making.lock();
        let found = read(&self.engine)?;
        for (id, key) in &*self.by_id.read() {
            // The first use may not be written yet.
            if let Some(found) = found.get(id) {
                found.is_used.0.fetch_or(key.is_used.0.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        let has_changed = *self.by_id.read() != found;
        if has_changed {
            *self.by_id.write() = found;
            self.changes.send_replace(());
        }
        Ok(())
    }

    /// Whether nobody ever made a key. A revoked one does not open the door again.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_id.read().is_empty()
    }

    /// The key of a bearer token, if it is one of ours and good.
    pub(crate) fn check(&self, text: &str) -> Option<Arc<Key>> {
        let (id, secret) = text.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
        let key = self.by_id.read().get(id).cloned()?;
        // `blake3::Hash` compares in constant time.
        let matches = blake3::hash(secret.as_bytes()) == blake3::Hash::from_bytes(key.hash);
        if !matches || key.revoked_at_ms.is_some() {
            return None;
        }
        if !key.is_used.0.load(Ordering::Relaxed) {
            self.note_first_use(&key);
        }
        Some(key)
    }

    /// Notes that a key was used. The request does not wait for the write; if it fails, the next request tries again.
    fn note_first_use(&self, key: &Arc<Key>) {
        if key.is_used.0.swap(true, Ordering::Relaxed) {
            return;
        }
        let (engine, key) = (self.engine.clone(), Arc::clone(key));
        tokio::task::spawn_blocking(move || {
            let document = (format!("{USED_PREFIX}{}", key.id), Some(Vec::new()));
            if let Err(error) = engine.write_documents(&[document]) {
                tracing::warn!(key = key.id, %error, "the first use of a key was not noted");
                key.is_used.0.store(false, Ordering::Relaxed);
            }
        });
    }

    /// Waits until a key no longer allows what it did: it was revoked or deleted, or has another role.
    pub(crate) async fn revocation(&self, key: &Key) {
        let is_gone = || {
            let keys = self.by_id.read();
            keys.get(&key.id).is_none_or(|now| now.revoked_at_ms.is_some() || now.role != key.role)
        };
        // The channel ends with the keys.
        drop(self.changes.subscribe().wait_for(|_| is_gone()).await);
    }

    /// A tenant's keys that were not revoked, oldest first.
    pub(crate) fn of_tenant(&self, tenant: &str) -> Vec<Arc<Key>> {
        let mut keys: Vec<Arc<Key>> = self.by_id.read().values().cloned().collect();
        keys.retain(|key| *key.tenant == *tenant && key.revoked_at_ms.is_none());
        keys.sort_by_key(|key| key.number);
        keys
    }

    /// All keys that were ever made, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Key>> {
        let mut keys: Vec<Arc<Key>> = self.by_id.read().values().cloned().collect();
        keys.sort_by_key(|key| key.number);
        keys
    }

    /// The key that the journal knows by a number.
    pub(crate) fn of_actor(&self, actor: Actor) -> Option<Arc<Key>> {
        self.by_id.read().values().find(|key| key.actor() == actor).cloned()
    }

    /// Makes a key, or finds the one that was made from the same seed. Blocks until it is durable.
    pub(crate) fn make(&self, wanted: Wanted<'_>) -> Result<NewKey, Problem> {
        let half = |part: &str| *blake3::keyed_hash(&wanted.seed, part.as_bytes()).as_bytes();
        let id = readable("", &half("id"), ID_CHARACTERS);
        let secret = readable("", &half("secret"), SECRET_CHARACTERS);
        let text = format!("{PREFIX}_{id}_{secret}");
        if self.engine.is_shared() {
            self.refresh()?;
        }
        let _one_at_a_time = self.making.lock();
        if let Some(key) = self.by_id.read().get(&id).cloned() {
            return Ok(NewKey { key, text, known: true });
        }
        let mut number = self.by_id.read().values().map(|key| key.number).max().unwrap_or(0) + 1;
        // Another server may make a key at the same time.
        while self.engine.is_shared()
            && !self.engine.create_document(&format!("{NUMBER_PREFIX}{number}"), &[])?
        {
            number += 1;
        }
        let key = Key {
            id: id.clone(),
            number,
            tenant: wanted.tenant.into(),
            role: wanted.role,
            name: wanted.name,
            created_at_ms: self.engine.now().0,
            revoked_at_ms: None,
            hash: *blake3::hash(secret.as_bytes()).as_bytes(),
            is_used: UseMark::default(),
            fingerprint: wanted.fingerprint,
        };
        let key = self.keep(key)?;
        Ok(NewKey { key, text, known: false })
    }

    /// Makes a tenant's key useless. Blocks until that is durable.
    pub(crate) fn revoke(&self, tenant: &str, id: &str) -> Result<(), Problem> {
        let known = self.by_id.read().get(id).filter(|key| *key.tenant == *tenant).cloned();
        let key = known.ok_or_else(|| Problem::not_found("KEY_NOT_FOUND", "There is no such key."))?;
        if key.revoked_at_ms.is_none() {
            let _one_at_a_time = self.making.lock();
            self.keep(Key { revoked_at_ms: Some(self.engine.now().0), ..Key::clone(&key) })?;
            self.changes.send_replace(());
        }
        Ok(())
    }

    fn keep(&self, key: Key) -> Result<Arc<Key>, Problem> {
        let contents = serde_json::to_vec(&key).expect("a key is plain data");
        self.engine.write_documents(&[(format!("{DOCUMENT_PREFIX}{}", key.id), Some(contents))])?;
        let key = Arc::new(key);
        self.by_id.write().insert(key.id.clone(), Arc::clone(&key));
        Ok(key)
    }
}

fn read(engine: &Engine) -> Result<HashMap<String, Arc<Key>>, StoreError> {
    let parsed = |(name, contents): (String, Vec<u8>)| {
        let key: Key = serde_json::from_slice(&contents)
            .map_err(|error| StoreError::Inconsistent(format!("the document {name:?}: {error}")))?;
        Ok((key.id.clone(), Arc::new(key)))
    };
    let keys: HashMap<String, Arc<Key>> =
        engine.documents(DOCUMENT_PREFIX)?.into_iter().map(parsed).collect::<Result<_, StoreError>>()?;
    for (name, _) in engine.documents(USED_PREFIX)? {
        if let Some(key) = name.strip_prefix(USED_PREFIX).and_then(|id| keys.get(id)) {
            key.is_used.0.store(true, Ordering::Relaxed);
        }
    }
    Ok(keys)
}

/// Says what is wrong with the name of a key.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    if !(1..=NAME_CHARACTERS_MAX).contains(&name.chars().count()) || name.chars().any(char::is_control) {
        return Err(format!(
            "must be 1 to {NAME_CHARACTERS_MAX} characters, none of them control characters"
        ));
    }
    check_characters(name, TextKind::Name)
}

#[cfg(test)]
mod tests {
    use boxoffice_engine::Settings;
    use futures_util::FutureExt;

    use super::*;

    fn made(keys: &Keys, seed: u8) -> Arc<Key> {
        let wanted =
            Wanted { tenant: "t", role: Role::Operator, name: None, seed: [seed; 32], fingerprint: None };
        keys.make(wanted).unwrap().key
    }

    #[tokio::test]
    async fn revocation_is_told_whether_a_key_is_revoked_deleted_or_gets_another_role() {
        let place = tempfile::tempdir().unwrap();
        let engine = Engine::open(&place.path().join("store"), &Settings::default()).unwrap();
        let keys = Keys::load(&engine).unwrap();
        let untouched = made(&keys, 0);
        let document = |key: &Key| serde_json::to_vec(key).unwrap();
        // Another server on the same database writes documents; this one reads them again.
        let write = |keys: &Keys, key: &Key, contents: Option<Vec<u8>>| {
            keys.engine.write_documents(&[(format!("{DOCUMENT_PREFIX}{}", key.id), contents)]).unwrap();
            keys.refresh().unwrap();
        };
        let lowered = |key: &Key| document(&Key { role: Role::Seller, ..key.clone() });
        let here = made(&keys, 1);
        let elsewhere = made(&keys, 2);
        let deleted = made(&keys, 3);
        let role = made(&keys, 4);
        for (name, key, change) in [
            ("revoked here", &here, &(|| keys.revoke("t", &here.id).unwrap()) as &dyn Fn()),
            ("revoked elsewhere", &elsewhere, &|| {
                let revoked = Key { revoked_at_ms: Some(1), ..Key::clone(&elsewhere) };
                write(&keys, &elsewhere, Some(document(&revoked)));
            }),
            ("deleted", &deleted, &|| write(&keys, &deleted, None)),
            ("another role", &role, &|| write(&keys, &role, Some(lowered(&role)))),
        ] {
            let mut revocation = Box::pin(keys.revocation(key));
            let mut other = Box::pin(keys.revocation(&untouched));
            assert_eq!((&mut revocation).now_or_never(), None, "{name}: before");
            assert_eq!((&mut other).now_or_never(), None, "{name}: before");
            change();
            assert_eq!((&mut revocation).now_or_never(), Some(()), "{name}: after");
            assert_eq!((&mut other).now_or_never(), None, "{name}: another key");
            assert_eq!(keys.revocation(key).now_or_never(), Some(()), "{name}: asked for later");
        }
    }

    #[test]
    fn names_of_keys_are_for_people() {
        for name in ["shop", "Кассa 1", &*"x".repeat(200)] {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
        for name in ["", "a\nb", "shop\u{202e}", &"x".repeat(201)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
    }
}
