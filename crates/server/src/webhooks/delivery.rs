//! A message for one webhook: what was tried, and when to try again.

use boxoffice_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::Topic;

/// A message for one webhook, as the store keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delivery {
    /// The same for every attempt: receivers know by it what they have already.
    pub(crate) id: String,
    pub(crate) webhook: String,
    pub(crate) place: Place,
    pub(crate) topic: Topic,
    /// The JSON that is sent and signed, without the contact.
    pub(crate) body: String,
    /// What is inserted as the contact when it is sent.
    pub(crate) contact: Option<Vec<u8>>,
    pub(crate) created_at_ms: i64,
    pub(crate) state: DeliveryState,
    /// Failed attempts since it was recorded, or was asked for again.
    pub(crate) failures: u32,
    /// The newest ones.
    pub(crate) attempts: Vec<Attempt>,
}

/// Where in which journal the news stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) inventory: u32,
    pub(crate) sequence: u64,
    /// In the batch.
    pub(crate) index: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum DeliveryState {
    Pending {
        due_at_ms: i64,
    },
    Delivered {
        at_ms: i64,
    },
    /// Given up, or the webhook was disabled.
    Failed {
        at_ms: i64,
    },
}

/// One time it was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) at_ms: i64,
    /// What the receiver answered.
    pub(crate) status: Option<u16>,
    /// Why there was no answer.
    pub(crate) error: Option<String>,
}

/// What an attempt means for its delivery and its webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Delivered,
    Failed,
    /// The receiver wants nothing more, ever.
    Gone,
}

pub(super) const DOCUMENT_PREFIX: &str = "delivery/";
/// All automatic attempts, and some that were asked for.
const ATTEMPTS_KEPT_MAX: usize = 20;
/// How long to wait after each failed attempt, in seconds: three days in all.
const RETRY_AFTER_SECONDS: [u32; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 72_000];
/// Each wait is made longer or shorter by up to this part, so that those that failed together do not come back together.
const JITTER: f64 = 0.1;

impl Delivery {
    pub(super) fn document(&self) -> (String, Option<Vec<u8>>) {
        let contents = serde_json::to_vec(self).expect("a delivery is plain data");
        (document_name(&self.webhook, &self.id), Some(contents))
    }

    pub(crate) fn created_at(&self) -> Timestamp {
        Timestamp(self.created_at_ms)
    }

    /// Takes note of an attempt. `chance` is between zero and one.
    pub(super) fn note(&mut self, now: Timestamp, result: Result<u16, String>, chance: f64) -> Verdict {
        let verdict = match result {
            Ok(200..=299) => Verdict::Delivered,
            Ok(410) => Verdict::Gone,
            Ok(_) | Err(_) => Verdict::Failed,
        };
        let status = result.as_ref().ok().copied();
        self.attempts.push(Attempt { at_ms: now.0, status, error: result.err() });
        let surplus = self.attempts.len().saturating_sub(ATTEMPTS_KEPT_MAX);
        self.attempts.drain(..surplus);
        self.state = match verdict {
            Verdict::Delivered => DeliveryState::Delivered { at_ms: now.0 },
            Verdict::Gone => DeliveryState::Failed { at_ms: now.0 },
            Verdict::Failed => match wait_ms(self.failures, chance) {
                Some(wait) => DeliveryState::Pending { due_at_ms: now.0 + wait },
                None => DeliveryState::Failed { at_ms: now.0 },
            },
        };
        if verdict == Verdict::Failed {
            self.failures += 1;
        }
        verdict
    }
}

pub(super) fn document_name(webhook: &str, id: &str) -> String {
    format!("{DOCUMENT_PREFIX}{webhook}/{id}")
}

/// How long to wait after so many failures before; `None` to give up.
fn wait_ms(failures: u32, chance: f64) -> Option<i64> {
    let seconds = RETRY_AFTER_SECONDS.get(failures as usize)?;
    let factor = 1.0 + JITTER * (2.0 * chance - 1.0);
    Some((f64::from(*seconds) * 1_000.0 * factor) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery() -> Delivery {
        Delivery {
            id: "msg_1".to_owned(),
            webhook: "wh_1".to_owned(),
            place: Place { inventory: 1, sequence: 1, index: 0 },
            topic: Topic::Held,
            body: "{}".to_owned(),
            contact: None,
            created_at_ms: 0,
            state: DeliveryState::Pending { due_at_ms: 0 },
            failures: 0,
            attempts: Vec::new(),
        }
    }

    #[test]
    fn success_is_any_2xx_and_410_means_never_again() {
        let now = Timestamp(9);
        for (result, verdict, state) in [
            (Ok(200), Verdict::Delivered, DeliveryState::Delivered { at_ms: 9 }),
            (Ok(299), Verdict::Delivered, DeliveryState::Delivered { at_ms: 9 }),
            (Ok(410), Verdict::Gone, DeliveryState::Failed { at_ms: 9 }),
            (Ok(500), Verdict::Failed, DeliveryState::Pending { due_at_ms: 5_009 }),
            (Ok(301), Verdict::Failed, DeliveryState::Pending { due_at_ms: 5_009 }),
            (Err("no connection".to_owned()), Verdict::Failed, DeliveryState::Pending { due_at_ms: 5_009 }),
        ] {
            let mut delivery = delivery();
            assert_eq!(delivery.note(now, result.clone(), 0.5), verdict, "{result:?}");
            assert_eq!(delivery.state, state, "{result:?}");
            assert_eq!(delivery.attempts.len(), 1);
        }
    }

    #[test]
    fn it_is_tried_for_three_days_and_then_given_up() {
        let mut delivery = delivery();
        let mut now = Timestamp(0);
        let mut attempts = 0;
        while let DeliveryState::Pending { due_at_ms } = delivery.state {
            now = Timestamp(due_at_ms);
            delivery.note(now, Ok(503), 0.5);
            attempts += 1;
        }
        assert_eq!(attempts, RETRY_AFTER_SECONDS.len() + 1);
        let hours = now.0 as f64 / 3_600_000.0;
        assert!((71.0..=72.0).contains(&hours), "{hours} h");
    }

    #[test]
    fn waits_differ_by_a_tenth_at_most() {
        assert_eq!(wait_ms(0, 0.0), Some(4_500));
        assert_eq!(wait_ms(0, 1.0), Some(5_500));
        assert_eq!(wait_ms(1, 0.5), Some(300_000));
        assert_eq!(wait_ms(9, 0.5), None);
    }
}
