//! The answers that idempotency keys remember.

use serde::{Deserialize, Serialize};

use crate::index::{Index, PLACES};
use crate::outcome::Outcome;
use crate::pieces::Pieces;
use crate::time::Timestamp;

/// A digest of an idempotency key, made by the caller with a cryptographic hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyDigest(pub [u8; 16]);

/// A keyed hash of a caller and a request, made by the caller. Without the key nothing about the request can be told from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(pub [u8; 16]);

/// For tests and simulations, whose requests have numbers.
impl From<u64> for Fingerprint {
    fn from(number: u64) -> Fingerprint {
        Fingerprint(u128::from(number).to_le_bytes())
    }
}

/// What one key remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Which key.
    pub key: KeyDigest,
    /// Of the request the answer belongs to.
    pub fingerprint: Fingerprint,
    /// The first answer.
    pub outcome: Outcome,
    /// The sequence in that answer.
    pub sequence: u64,
    /// When it was given.
    pub decided_at: Timestamp,
    /// Until when it is given again.
    pub keep_until: Timestamp,
}

/// All remembered answers of one inventory, in the order in which they are forgotten.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    /// In order of time: an answer is kept at least as long as those before it.
    queue: Pieces<Remembered>,
    /// To the number of a key's last answer, counted from the first that was ever given and wrapping around at
    /// [`PLACES`]: fewer are kept at one time.
    numbers: Index,
    /// The number of the first answer in the queue.
    first: u32,
}

impl PartialEq for Memory {
    // The queue says all: the last answer of a key is the one that is given.
    fn eq(&self, other: &Memory) -> bool {
        self.queue == other.queue
    }
}

impl Memory {
    /// How many answers are kept.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// How many entries wait to be forgotten; at least as many as answers are kept.
    pub(crate) fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no answer is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The answer of a key that is still good.
    pub(crate) fn recall(&self, key: &KeyDigest, now: Timestamp) -> Option<&Remembered> {
        self.number(key).map(|number| self.at(number)).filter(|remembered| remembered.keep_until > now)
    }

    /// See [`Index::warm`].
    pub(crate) fn warm(&self, key: &KeyDigest) {
        self.numbers.warm(key);
    }

    /// The answer that was remembered last.
    pub(crate) fn last(&self) -> Option<&Remembered> {
        self.queue.last()
    }

    /// The earliest moment at which a new answer may be forgotten, if it is to be kept until `keep_until`.
    pub(crate) fn in_order(&self, keep_until: Timestamp) -> Timestamp {
        self.last().map_or(keep_until, |last| last.keep_until.max(keep_until))
    }

    /// When the next answer is to be forgotten.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        self.queue.first().map(|first| first.keep_until)
    }

    /// All answers in the order in which they are forgotten, also those that a later use of their key replaced.
    pub fn queue(&self) -> impl ExactSizeIterator<Item = &Remembered> {
        self.queue.iter()
    }

    /// Room for so many answers of a snapshot.
    pub(crate) fn with_capacity(entries: usize) -> Memory {
        Memory { queue: Pieces::default(), numbers: Index::with_capacity(entries), first: 0 }
    }

    pub(crate) fn remember(&mut self, remembered: Remembered) {
        let waiting = u32::try_from(self.queue.len()).expect("keys are bounded");
        let (key, number) = (remembered.key, (self.first + waiting) % PLACES);
        let (queue, first) = (&self.queue, self.first);
        let has_it = |number: u32| queue[queue_index(first, number)].key == key;
        if let Some(used_before) = self.numbers.find_or_insert(&key, number, has_it) {
            self.numbers.remove(&key, used_before);
            self.numbers.insert(&key, number);
        }
        self.queue.push(remembered);
    }

    /// Forgets all answers that were to be kept until `through` or earlier.
    pub(crate) fn forget(&mut self, through: Timestamp) {
        while let Some(first) = self.queue.first()
            && first.keep_until <= through
        {
            // The key may have been used again since: then it leads to another number.
            self.numbers.remove(&first.key, self.first);
            self.queue.let_go();
            self.first = (self.first + 1) % PLACES;
        }
    }

    fn number(&self, key: &KeyDigest) -> Option<u32> {
        self.numbers.find(key, |number| self.at(number).key == *key)
    }

    fn at(&self, number: u32) -> &Remembered {
        &self.queue[queue_index(self.first, number)]
    }
}

/// Where in the queue an answer of a number stands, by the number of the first.
fn queue_index(first: u32, number: u32) -> usize {
    ((number + PLACES - first) % PLACES) as usize
}
