//! How to reach customers: each booking has a contact of its own, encrypted with a key of its own, so that erasing the keys of a
//! customer erases every copy.
//!
//! The journal is never rewritten. What it has of a contact is sealed bytes: the name of the key (a keyed hash of the customer and a
//! random id), then the ciphertext. The key is a document, `contact/{tenant}/{hash}/{id}`. It is written before the booking is submitted,
//! and removed when the booking was refused, or when the answer is that of an earlier request. If the outcome is unknown it stays.
//! Erasing a customer's contacts deletes all documents of the hash and leaves a mark, `erasure/{tenant}/{hash}`. Backups that were made
//! before still have the keys; `boxoffice restore --erasures` deletes them again.

use std::collections::HashMap;
use std::sync::Arc;

use boxoffice_core::booking::Booking;
use boxoffice_core::outcome::Outcome;
use boxoffice_engine::{Answer, Engine, SubmitError};
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Key, Nonce};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};
use utoipa::ToSchema;

use crate::caller::Caller;
use crate::erasures;
use crate::problem::Problem;
use crate::secret::Secret;

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

/// Requests to write or remove keys that wait for the next commit.
const KEY_WRITES_WAITING_MAX: usize = 4_096;
/// Removals that are tried again with the next commit while the store is away.
const KEYS_TO_REMOVE_MAX: usize = 100_000;
const EMAIL_CHARACTERS_MAX: usize = 254;
const PHONE_CHARACTERS: std::ops::RangeInclusive<usize> = 3..=32;
const HASH_BYTES: usize = 16;
/// The hash of a customer and the id of a key.
const KEY_NAME_BYTES: usize = 2 * HASH_BYTES;

type KeyName = [u8; KEY_NAME_BYTES];
type ContactKey = [u8; 32];

/// Seals contacts, and keeps their keys.
pub(crate) struct Contacts {
    engine: Engine,
    /// Hashes customers.
    hash_key: [u8; 32],
    writes: mpsc::Sender<KeyWrite>,
    /// Held by an erasure: two of one customer must not run at the same time.
    erasing: Arc<tokio::sync::Mutex<()>>,
}

/// The key of a contact that was sealed and is not yet in the store.
pub(crate) struct UnsavedKey {
    document: String,
    key: ContactKey,
}

enum KeyWrite {
    Keep { keys: Vec<UnsavedKey>, written: oneshot::Sender<Result<(), SubmitError>> },
    Remove(Vec<String>),
}

impl UnsavedKey {
    /// The document that it will be.
    pub(crate) fn document(&self) -> &str {
        &self.document
    }
}

impl Contacts {
    pub(crate) fn new(engine: &Engine, secret: &Secret) -> Contacts {
        let (writes, waiting) = mpsc::channel(KEY_WRITES_WAITING_MAX);
        tokio::spawn(write_keys(engine.clone(), waiting));
        let erasing = Arc::new(tokio::sync::Mutex::new(()));
        tokio::spawn(finish_erasures(engine.clone(), Arc::clone(&erasing)));
        let hash_key = secret.derive("customers of contacts", &[]);
        Contacts { engine: engine.clone(), hash_key, writes, erasing }
    }

    /// A contact as the journal keeps it, and its key, which [`Contacts::keep`] must write before the contact is.
    pub(crate) fn seal(
        &self,
        tenant: &str,
        customer: &str,
        contact: &Contact,
    ) -> Result<(Arc<[u8]>, UnsavedKey), Problem> {
        contact.check()?;
        let (id, key): ([u8; HASH_BYTES], ContactKey) = (rand::random(), rand::random());
        let name: KeyName =
            [self.customer_hash(tenant, customer), id].concat().try_into().expect("two halves");
        let plain = serde_json::to_vec(contact).expect("a contact is plain data");
        let sealed = cipher(&key).encrypt(&Nonce::default(), plain.as_slice()).expect("contacts are short");
        let sealed = [name.as_slice(), &sealed].concat();
        Ok((sealed.into(), UnsavedKey { document: document(tenant, &name), key }))
    }

    /// Makes keys durable. Requests that wait at the same time share a commit.
    pub(crate) async fn keep(&self, keys: Vec<UnsavedKey>) -> Result<(), Problem> {
        if keys.is_empty() {
            return Ok(());
        }
        let (written, result) = oneshot::channel();
        let overloaded =
            || Problem::unavailable("OVERLOADED", "Too many contacts are waiting; try again.", 1);
        self.writes.try_send(KeyWrite::Keep { keys, written }).map_err(|_| overloaded())?;
        Ok(result.await.unwrap_or(Err(SubmitError::Stopped))?)
    }

    /// Removes keys of bookings that were not made, with the next commit. A key that is kept later is written after that.
    pub(crate) async fn remove(&self, documents: Vec<String>) {
        if !documents.is_empty() {
            // The writer ends with the server.
            drop(self.writes.send(KeyWrite::Remove(documents)).await);
        }
    }

    /// Erases the keys of a customer, and with them every contact. Durable when it returns.
    pub(crate) async fn erase(&self, tenant: &str, customer: &str) -> Result<(), Problem> {
        let hash = hexadecimal(&self.customer_hash(tenant, customer));
        let (keys, mark) =
            (format!("{KEY_PREFIX}{tenant}/{hash}/"), format!("{ERASURE_PREFIX}{tenant}/{hash}"));
        let (engine, erasing) = (self.engine.clone(), Arc::clone(&self.erasing));
        // As a task, so that it comes to its end although the client hangs up.
        let erasure = tokio::spawn(async move {
            let _one_at_a_time = erasing.lock().await;
            let erase = move || {
                let last = engine.documents_named(std::slice::from_ref(&mark))?;
                let last_ms = last.iter().map(|(_, at)| erasures::time_in(at)).max();
                // Clocks differ: an erasure is always later than the one before.
                let at_ms = engine.now().0.max(last_ms.map_or(i64::MIN, |ms| ms.saturating_add(1)));
                engine.erase_documents(&keys, (mark, at_ms.to_string().into_bytes()))
            };
            tokio::task::spawn_blocking(erase).await.expect("it does not panic")
        });
        Ok(erasure.await.expect("it does not panic")?)
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
            Ok(ContactKeys::default())
        }
    }

    /// The keys that open the contacts of these bookings, for what no caller is shown.
    pub(crate) async fn keys_of<'a>(
        &self,
        tenant: &str,
        bookings: impl IntoIterator<Item = &'a Booking>,
    ) -> Result<ContactKeys, SubmitError> {
        let names = bookings.into_iter().filter_map(|booking| document_of(tenant, booking.contact()?));
        ContactKeys::read(&self.engine, names.collect()).await
    }

    /// Tells customers apart without naming them: the same for the same customer, and not to be told without the store's secret.
    fn customer_hash(&self, tenant: &str, customer: &str) -> [u8; HASH_BYTES] {
        let named = [tenant.as_bytes(), &[0], customer.as_bytes()].concat();
        *blake3::keyed_hash(&self.hash_key, &named).as_bytes().first_chunk().expect("a hash has 32 bytes")
    }
}

/// Whether no booking was made with the contact of a command: then its key opens nothing.
pub(crate) fn made_no_booking(answer: &Result<Answer, SubmitError>) -> bool {
    match answer {
        Ok(answer) => answer.replayed || matches!(answer.outcome, Outcome::Refused(_)),
        Err(error) => was_not_done(error),
    }
}

/// Whether a command with this error was not decided and never will be.
pub(crate) fn was_not_done(error: &SubmitError) -> bool {
    match error {
        SubmitError::OutcomeUnknown | SubmitError::AlreadyDecided => false,
        SubmitError::Overloaded { .. }
        | SubmitError::Unavailable { .. }
        | SubmitError::Stopped
        | SubmitError::NoSuchInventory
        | SubmitError::Damaged(_) => true,
    }
}

/// The keys of some contacts.
#[derive(Default)]
pub(crate) struct ContactKeys {
    by_name: HashMap<KeyName, ContactKey>,
}

impl ContactKeys {
    /// The keys of these documents, those that are still there.
    pub(crate) async fn read(engine: &Engine, documents: Vec<String>) -> Result<ContactKeys, SubmitError> {
        if documents.is_empty() {
            return Ok(ContactKeys::default());
        }
        let engine = engine.clone();
        let read = move || engine.documents_named(&documents);
        let found = tokio::task::spawn_blocking(read).await.expect("reading does not panic")?;
        let key = |(document, contents): (String, Vec<u8>)| {
            let damaged = || SubmitError::Damaged(format!("the document {document:?}").into());
            let name = name_in(&document).ok_or_else(damaged)?;
            Ok((name, contents.try_into().map_err(|_| damaged())?))
        };
        Ok(ContactKeys { by_name: found.into_iter().map(key).collect::<Result<_, SubmitError>>()? })
    }

    /// How to reach the customer of a booking; `None` if it does not say, its key was erased or is not among these.
    pub(crate) fn open(&self, booking: &Booking) -> Option<Box<Contact>> {
        self.open_sealed(booking.contact()?).map(Box::new)
    }

    /// See [`ContactKeys::open`].
    pub(crate) fn open_sealed(&self, sealed: &[u8]) -> Option<Contact> {
        unseal(self.by_name.get(sealed.first_chunk::<KEY_NAME_BYTES>()?).map(|key| &key[..]), sealed)
    }

    /// Whether a booking was made with this contact or with none. An erased contact is compared with nothing.
    pub(crate) fn is_same(&self, booking: &Booking, contact: Option<&Contact>) -> bool {
        match booking.contact() {
            None => contact.is_none(),
            Some(_) => self.open(booking).is_none_or(|opened| Some(&*opened) == contact),
        }
    }
}

/// Finishes erasures that were interrupted when the server ended.
async fn finish_erasures(engine: Engine, erasing: Arc<tokio::sync::Mutex<()>>) {
    let _one_at_a_time = erasing.lock().await;
    let finished = tokio::task::spawn_blocking(move || engine.finish_erasures()).await;
    if let Ok(Err(error)) = finished {
        tracing::warn!(%error, "an interrupted erasure was not finished; the next start tries again");
    }
}

/// Writes and removes keys, all that wait in one commit.
async fn write_keys(engine: Engine, mut waiting: mpsc::Receiver<KeyWrite>) {
    let mut writes = Vec::new();
    let mut to_remove: Vec<String> = Vec::new();
    while waiting.recv_many(&mut writes, KEY_WRITES_WAITING_MAX).await > 0 {
        let (mut documents, mut callers) = (Vec::new(), Vec::new());
        for write in writes.drain(..) {
            match write {
                KeyWrite::Keep { keys, written } => {
                    let names: Vec<String> = keys.iter().map(|new| new.document.clone()).collect();
                    documents.extend(keys.into_iter().map(|new| (new.document, Some(new.key.to_vec()))));
                    callers.push((names, written));
                }
                KeyWrite::Remove(names) => to_remove.extend(names),
            }
        }
        to_remove.truncate(KEYS_TO_REMOVE_MAX);
        documents.extend(to_remove.iter().map(|name| (name.clone(), None)));
        let engine = engine.clone();
        let write = tokio::task::spawn_blocking(move || engine.write_documents(&documents));
        let Ok(result) = write.await else { return };
        match &result {
            Ok(()) => to_remove.clear(),
            Err(error) => tracing::warn!(%error, "keys of contacts cannot be written"),
        }
        for (names, caller) in callers {
            // Without an `Ok` the caller makes no booking, although the keys may have been written.
            if caller.send(result.clone()).is_err() || result.is_err() {
                to_remove.extend(names);
            }
        }
    }
}

/// What was sealed, if the key is still there.
pub(crate) fn unseal(key: Option<&[u8]>, sealed: &[u8]) -> Option<Contact> {
    let key: ContactKey = key?.try_into().ok()?;
    let (_, sealed) = sealed.split_first_chunk::<KEY_NAME_BYTES>()?;
    let plain = cipher(&key).decrypt(&Nonce::default(), sealed).ok()?;
    serde_json::from_slice(&plain).ok()
}

/// Documents of this prefix are keys of contacts.
pub(crate) const KEY_PREFIX: &str = "contact/";
/// Documents of this prefix say when a customer's contacts were erased last.
pub(crate) const ERASURE_PREFIX: &str = "erasure/";

/// The document with the key of a sealed contact.
pub(crate) fn document_of(tenant: &str, sealed: &[u8]) -> Option<String> {
    Some(document(tenant, sealed.first_chunk()?))
}

fn document(tenant: &str, name: &KeyName) -> String {
    let (customer, id) = name.split_at(HASH_BYTES);
    format!("{KEY_PREFIX}{tenant}/{}/{}", hexadecimal(customer), hexadecimal(id))
}

/// The name in the name of a document.
fn name_in(document: &str) -> Option<KeyName> {
    let mut parts = document.rsplit('/');
    let (id, customer) = (parts.next()?, parts.next()?);
    let half = |text: &str| Some(u128::from_str_radix(text, 16).ok()?.to_be_bytes());
    [half(customer)?, half(id)?].concat().try_into().ok()
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Each key seals one contact: the nonce is zero.
fn cipher(key: &ContactKey) -> ChaCha20Poly1305 {
    ChaCha20Poly1305::new(&Key::from(*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_read_with_its_key_and_with_no_other() {
        let contact = Contact { email: Some("a@example.com".to_owned()), phone: None };
        let plain = serde_json::to_vec(&contact).unwrap();
        let sealed = cipher(&[1; 32]).encrypt(&Nonce::default(), plain.as_slice()).unwrap();
        let sealed = [&[7; KEY_NAME_BYTES], sealed.as_slice()].concat();
        assert!(!sealed.windows(7).any(|window| window == b"example"));
        assert_eq!(unseal(Some(&[1; 32]), &sealed), Some(contact));
        assert_eq!(unseal(Some(&[2; 32]), &sealed), None);
        assert_eq!(unseal(None, &sealed), None);
        assert_eq!(unseal(Some(&[1; 32]), &sealed[..5]), None);
    }

    #[test]
    fn document_of_a_key_is_found_by_the_sealed_contact_and_leads_back_to_it() {
        let name: KeyName = std::array::from_fn(|index| index as u8);
        let document = document_of("house", &[&name[..], b"sealed"].concat()).unwrap();
        assert_eq!(
            document,
            "contact/house/000102030405060708090a0b0c0d0e0f/101112131415161718191a1b1c1d1e1f"
        );
        assert_eq!(name_in(&document), Some(name));
        assert_eq!(document_of("house", &name[1..]), None);
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
