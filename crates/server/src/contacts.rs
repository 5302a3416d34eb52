//! How to reach customers: each booking has a contact of its own, encrypted with a key per customer, so that erasing the key
//! erases every copy.
//!
//! The journal is never rewritten. What it has of a contact is sealed bytes; the key is a document of its own, which is deleted
//! when the customer asks. Backups that were made before still have it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_engine::{Engine, SubmitError};
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::problem::Problem;

/// How to reach a customer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Contact {
    #[serde(default)]
    #[schema(example = "a@example.com")]
    pub(crate) email: Option<String>,
    #[serde(default)]
    #[schema(example = "+12025551234")]
    pub(crate) phone: Option<String>,
}

/// How to reach a customer, sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SealedContact {
    pub(crate) customer: String,
    pub(crate) sealed: Vec<u8>,
}

impl Contact {
    /// Refuses what cannot be a contact.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        if let Some(email) = &self.email {
            let well_formed =
                email.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty());
            let plain = !email.chars().any(|letter| letter.is_control() || letter.is_whitespace());
            if !well_formed || !plain || email.chars().count() > EMAIL_CHARACTERS_MAX {
                return Err(Problem::invalid("/contact/email", "must be a mail address"));
            }
        }
        if let Some(phone) = &self.phone {
            let plain = phone.chars().all(|letter| letter.is_ascii_digit() || "+-() .".contains(letter));
            if !plain || !PHONE_CHARACTERS.contains(&phone.len()) {
                return Err(Problem::invalid("/contact/phone", "must be a telephone number"));
            }
        }
        Ok(())
    }
}

/// Keys that are kept in memory; the others are read again.
const CACHED_KEYS_MAX: usize = 100_000;
/// New keys that wait to be written; they share one commit.
const WAITING_KEYS_MAX: usize = 4_096;
const EMAIL_CHARACTERS_MAX: usize = 254;
const PHONE_CHARACTERS: std::ops::RangeInclusive<usize> = 3..=32;
const NONCE_BYTES: usize = 12;

type CustomerKey = [u8; 32];

/// Seals contacts.
pub(crate) struct Contacts {
    engine: Engine,
    keys: Arc<Mutex<HashMap<String, CustomerKey>>>,
    /// Held while keys are made or erased, which takes as long as the disk does; `keys` is held for moments only.
    making: Arc<Mutex<()>>,
    new_keys: mpsc::Sender<NewKey>,
}

struct NewKey {
    document: String,
    written: oneshot::Sender<Result<CustomerKey, SubmitError>>,
}

impl Contacts {
    pub(crate) fn new(engine: &Engine) -> Contacts {
        let (new_keys, waiting) = mpsc::channel(WAITING_KEYS_MAX);
        let keys = Arc::new(Mutex::new(HashMap::new()));
        let making = Arc::new(Mutex::new(()));
        tokio::spawn(write_keys(engine.clone(), Arc::clone(&keys), Arc::clone(&making), waiting));
        Contacts { engine: engine.clone(), keys, making, new_keys }
    }

    /// A contact as the journal keeps it.
    pub(crate) async fn seal(
        &self,
        tenant: &str,
        customer: &str,
        contact: &Contact,
    ) -> Result<Arc<[u8]>, Problem> {
        contact.check()?;
        let key = self.key(document(tenant, customer)).await?;
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let plain = serde_json::to_vec(contact).expect("a contact is plain data");
        let sealed = cipher(&key).encrypt(&Nonce::from(nonce), plain.as_slice());
        Ok([&nonce, sealed.expect("contacts are short").as_slice()].concat().into())
    }

    /// Erases the key, and with it every sealed contact of the customer.
    pub(crate) async fn erase(&self, tenant: &str, customer: &str) -> Result<(), Problem> {
        let name = document(tenant, customer);
        let (engine, keys) = (self.engine.clone(), Arc::clone(&self.keys));
        let making = Arc::clone(&self.making);
        let erase = move || {
            let _making = making.lock();
            keys.lock().remove(&name);
            engine.write_documents(&[(name, None)])
        };
        Ok(tokio::task::spawn_blocking(erase).await.expect("it does not panic")?)
    }

    /// The keys that open the contacts of these bookings: none for callers who may not read contacts.
    pub(crate) async fn keys_for<'a>(
        &self,
        caller: &Caller,
        bookings: impl IntoIterator<Item = &'a Booking>,
    ) -> Result<ContactKeys, SubmitError> {
        if caller.reads_contacts() {
            self.keys_of(&caller.tenant, bookings).await
        } else {
            self.keys_of(&caller.tenant, []).await
        }
    }

    /// The keys that open the contacts of these bookings, for what no caller is shown.
    pub(crate) async fn keys_of<'a>(
        &self,
        tenant: &Arc<str>,
        bookings: impl IntoIterator<Item = &'a Booking>,
    ) -> Result<ContactKeys, SubmitError> {
        let mut keys = ContactKeys { tenant: Arc::clone(tenant), by_document: HashMap::new() };
        let mut unread = HashSet::new();
        for document in documents_of(tenant, bookings) {
            match self.cached(&document) {
                Some(key) => drop(keys.by_document.insert(document, key)),
                None => drop(unread.insert(document)),
            }
        }
        let (engine, unread) = (self.engine.clone(), unread.into_iter().collect());
        keys.by_document.extend(read_keys(engine, unread).await?);
        Ok(keys)
    }

    /// Makes a customer's key, if there is none: many at once share commits.
    pub(crate) async fn prepare(&self, tenant: &str, customer: &str) {
        let document = document(tenant, customer);
        if self.cached(&document).is_some() {
            return;
        }
        let (written, result) = oneshot::channel();
        if self.new_keys.send(NewKey { document, written }).await.is_ok() {
            // What went wrong is told to whoever needs the key.
            drop(result.await);
        }
    }

    /// A key that is known here. Where several servers are, another one may have erased it meanwhile: then none is.
    fn cached(&self, document: &str) -> Option<CustomerKey> {
        if self.engine.is_shared() {
            return None;
        }
        self.keys.lock().get(document).copied()
    }

    async fn key(&self, document: String) -> Result<CustomerKey, Problem> {
        if let Some(key) = self.cached(&document) {
            return Ok(key);
        }
        let (written, result) = oneshot::channel();
        let overloaded =
            || Problem::unavailable("OVERLOADED", "Too many contacts are waiting; try again.", 1);
        self.new_keys.try_send(NewKey { document, written }).map_err(|_| overloaded())?;
        Ok(result.await.unwrap_or(Err(SubmitError::Stopped))?)
    }
}

/// The keys of some customers of one tenant.
pub(crate) struct ContactKeys {
    tenant: Arc<str>,
    by_document: HashMap<String, CustomerKey>,
}

impl ContactKeys {
    /// The key of one customer, read from the store.
    pub(crate) async fn read(
        engine: &Engine,
        tenant: &str,
        customer: &str,
    ) -> Result<ContactKeys, SubmitError> {
        let by_document = read_keys(engine.clone(), vec![document(tenant, customer)]).await?;
        Ok(ContactKeys { tenant: tenant.into(), by_document })
    }

    /// How to reach the customer of a booking; `None` if it does not say, its key was erased or is not among these.
    pub(crate) fn open(&self, booking: &Booking) -> Option<Box<Contact>> {
        self.open_sealed(&booking.customer, booking.contact()?).map(Box::new)
    }

    /// Whether a booking was made with this contact or with none. An erased contact is compared with nothing.
    pub(crate) fn is_same(&self, booking: &Booking, contact: Option<&Contact>) -> bool {
        match booking.contact() {
            None => contact.is_none(),
            Some(_) => self.open(booking).is_none_or(|opened| Some(&*opened) == contact),
        }
    }

    /// See [`ContactKeys::open`].
    pub(crate) fn open_sealed(&self, customer: &str, sealed: &[u8]) -> Option<Contact> {
        unseal(self.by_document.get(&document(&self.tenant, customer)).map(|key| &key[..]), sealed)
    }
}

fn documents_of<'a>(
    tenant: &str,
    bookings: impl IntoIterator<Item = &'a Booking>,
) -> impl Iterator<Item = String> {
    let with_contact = bookings.into_iter().filter(|booking| booking.contact().is_some());
    with_contact.map(|booking| document(tenant, &booking.customer))
}

async fn read_keys(
    engine: Engine,
    documents: Vec<String>,
) -> Result<HashMap<String, CustomerKey>, SubmitError> {
    if documents.is_empty() {
        return Ok(HashMap::new());
    }
    let read = move || engine.documents_named(&documents);
    let found = tokio::task::spawn_blocking(read).await.expect("reading does not panic")?;
    found.into_iter().map(|(name, contents)| Ok((name.clone(), customer_key(&name, contents)?))).collect()
}

/// Reads or makes keys for those who wait, all in one commit.
async fn write_keys(
    engine: Engine,
    keys: Arc<Mutex<HashMap<String, CustomerKey>>>,
    making: Arc<Mutex<()>>,
    mut waiting: mpsc::Receiver<NewKey>,
) {
    let mut wanted = Vec::new();
    while waiting.recv_many(&mut wanted, WAITING_KEYS_MAX).await > 0 {
        let (engine, keys, making) = (engine.clone(), Arc::clone(&keys), Arc::clone(&making));
        let batch = std::mem::take(&mut wanted);
        let work = move || {
            // No erasure falls in between.
            let _making = making.lock();
            let found = find_or_make(&engine, &batch);
            for NewKey { document, written } in batch {
                // Whoever asked may be gone.
                drop(written.send(found.as_ref().map(|found| found[&document]).map_err(SubmitError::clone)));
            }
            let mut keys = keys.lock();
            if keys.len() > CACHED_KEYS_MAX {
                keys.clear();
            }
            keys.extend(found.into_iter().flatten());
        };
        if tokio::task::spawn_blocking(work).await.is_err() {
            return;
        }
    }
}

fn find_or_make(engine: &Engine, wanted: &[NewKey]) -> Result<HashMap<String, CustomerKey>, SubmitError> {
    let mut keys = HashMap::new();
    let mut made = Vec::new();
    for NewKey { document, .. } in wanted {
        if keys.contains_key(document) {
            continue;
        }
        let key = match find(engine, document)? {
            Some(key) => key,
            None => {
                let key: CustomerKey = rand::random();
                made.push((document.clone(), Some(key.to_vec())));
                key
            }
        };
        keys.insert(document.clone(), key);
    }
    if !engine.is_shared() {
        if !made.is_empty() {
            engine.write_documents(&made)?;
        }
        return Ok(keys);
    }
    for (document, key) in made {
        if !engine.create_document(&document, &key.unwrap_or_default())?
            && let Some(key) = find(engine, &document)?
        {
            // Another server was faster.
            keys.insert(document, key);
        }
    }
    Ok(keys)
}

fn find(engine: &Engine, document: &str) -> Result<Option<CustomerKey>, SubmitError> {
    let found = engine.documents(document)?;
    found.into_iter().next().map(|(_, contents)| customer_key(document, contents)).transpose()
}

fn customer_key(document: &str, contents: Vec<u8>) -> Result<CustomerKey, SubmitError> {
    contents.try_into().map_err(|_| SubmitError::Damaged(format!("the document {document:?}").into()))
}

/// What was sealed, if the key is still there.
pub(crate) fn unseal(key: Option<&[u8]>, sealed: &[u8]) -> Option<Contact> {
    let key: CustomerKey = key?.try_into().ok()?;
    let (nonce, sealed) = sealed.split_first_chunk::<NONCE_BYTES>()?;
    let plain = cipher(&key).decrypt(&Nonce::from(*nonce), sealed).ok()?;
    serde_json::from_slice(&plain).ok()
}

/// The document of a customer's key. Hashed, so that no name is the beginning of another.
pub(crate) fn document(tenant: &str, customer: &str) -> String {
    format!("contact/{tenant}/{}", blake3::hash(customer.as_bytes()).to_hex())
}

fn cipher(key: &CustomerKey) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(&Key::from(*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_read_with_its_key_and_with_no_other() {
        let contact = Contact { email: Some("a@example.com".to_owned()), phone: None };
        let plain = serde_json::to_vec(&contact).unwrap();
        let nonce = [7; NONCE_BYTES];
        let sealed = cipher(&[1; 32]).encrypt(&Nonce::from(nonce), plain.as_slice()).unwrap();
        let sealed = [&nonce, sealed.as_slice()].concat();
        assert!(!sealed.windows(7).any(|window| window == b"example"));
        assert_eq!(unseal(Some(&[1; 32]), &sealed), Some(contact));
        assert_eq!(unseal(Some(&[2; 32]), &sealed), None);
        assert_eq!(unseal(None, &sealed), None);
        assert_eq!(unseal(Some(&[1; 32]), &sealed[..5]), None);
    }

    #[test]
    fn contacts_look_like_contacts() {
        let email = |email: &str| Contact { email: Some(email.to_owned()), phone: None }.check().is_ok();
        let phone = |phone: &str| Contact { email: None, phone: Some(phone.to_owned()) }.check().is_ok();
        assert!(email("a@example.com") && email("ä@例え.jp"));
        assert!(
            !email("a")
                && !email("@b")
                && !email("a@")
                && !email("a b@c")
                && !email(&format!("a@{}", "b".repeat(254)))
        );
        assert!(phone("+12025551234") && phone("(02) 2345-6789"));
        assert!(!phone("12") && !phone("call me") && !phone(&"1".repeat(33)));
    }
}
