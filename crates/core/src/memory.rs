//! The answers that idempotency keys remember.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::map::HashMap;
use crate::outcome::Outcome;
use crate::time::Timestamp;

/// A digest of an idempotency key, made by the caller with a cryptographic hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct KeyDigest(pub [u8; 16]);

/// What one key remembers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// Of the request the answer belongs to.
    pub fingerprint: u64,
    /// The first answer.
    pub outcome: Outcome,
    /// The sequence in that answer.
    pub sequence: u64,
    /// When it was given.
    pub decided_at: Timestamp,
    /// Until when it is given again.
    pub keep_until: Timestamp,
}

/// All remembered answers of one inventory, and the order in which they are forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Memory {
    answers: HashMap<KeyDigest, Remembered>,
    /// In order of time: an answer is kept at least as long as those before it.
    queue: VecDeque<(Timestamp, KeyDigest)>,
}

impl Memory {
    /// How many answers are kept.
    pub fn len(&self) -> usize {
        self.answers.len()
    }

    /// How many entries wait to be forgotten; at least as many as answers are kept.
    pub(crate) fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Whether no answer is kept.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The answer of a key that is still good.
    pub(crate) fn recall(&self, key: &KeyDigest, now: Timestamp) -> Option<&Remembered> {
        self.answers.get(key).filter(|remembered| remembered.keep_until > now)
    }

    /// The earliest moment at which a new answer may be forgotten, if it is to be kept until `keep_until`.
    pub(crate) fn in_order(&self, keep_until: Timestamp) -> Timestamp {
        self.queue.back().map_or(keep_until, |&(last, _)| last.max(keep_until))
    }

    /// When the next answer is to be forgotten.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        self.queue.front().map(|&(keep_until, _)| keep_until)
    }

    /// What is to be forgotten, in this order; without an answer where the key was used again since.
    pub(crate) fn queue(&self) -> impl Iterator<Item = (KeyDigest, Timestamp, Option<&Remembered>)> {
        self.queue.iter().map(|&(keep_until, key)| {
            let answer = self.answers.get(&key).filter(|answer| answer.keep_until == keep_until);
            (key, keep_until, answer)
        })
    }

    /// Room for so many answers of a snapshot.
    pub(crate) fn with_capacity(entries: usize) -> Memory {
        Memory {
            answers: HashMap::with_capacity_and_hasher(entries, Default::default()),
            queue: VecDeque::with_capacity(entries),
        }
    }

    /// Queues a use of a key whose answer a later use replaced.
    pub(crate) fn queue_replaced(&mut self, key: KeyDigest, keep_until: Timestamp) {
        self.queue.push_back((keep_until, key));
    }

    pub(crate) fn remember(&mut self, key: KeyDigest, remembered: Remembered) {
        self.queue.push_back((remembered.keep_until, key));
        self.answers.insert(key, remembered);
    }

    /// Forgets all answers that were to be kept until `through` or earlier.
    pub(crate) fn forget(&mut self, through: Timestamp) {
        while let Some(&(keep_until, key)) = self.queue.front()
            && keep_until <= through
        {
            self.queue.pop_front();
            // The key may have been used again since.
            if self.answers.get(&key).is_some_and(|remembered| remembered.keep_until == keep_until) {
                self.answers.remove(&key);
            }
        }
    }
}
