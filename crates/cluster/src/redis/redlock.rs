//! Redlock: a lock that a majority of independent servers has given.
//!
//! A lock is a key with a token that nobody else knows, set where it is not, with an end. It is had if a majority set it and
//! enough of its time is left: less what asking took, less what clocks may drift apart. Only who has the token extends or
//! releases it. With one server the majority is that one.
//!
//! It keeps writers from colliding, and is no proof of anything: a holder that is stopped for longer than the lock lasts does not
//! know that it has lost it. What keeps such a writer from harm is the fence of the store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use redis::{Cmd, FromRedisValue, Value, cmd};

use super::instance::Instance;
use super::urls::Instances;

/// How clocks that count the same time may differ, beside the drift: they count in milliseconds.
const CLOCKS_DIFFER: Duration = Duration::from_millis(2);

/// Only who has the token may release.
const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";
/// Only who has the token may extend.
const EXTEND: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) else return 0 end";

/// How locks are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LockSettings {
    /// A lock ends by itself after so long.
    pub lasts: Duration,
    /// So much of that the servers' clocks may drift apart.
    pub drift_factor: f64,
    /// How often a lock that others have is asked for again.
    pub retries: u32,
    /// Before it is asked for again.
    pub retry_delay: Duration,
    /// At most so much more, at random: those who met must not meet again.
    pub retry_jitter: Duration,
    /// How long one server may take. Much less than the lock lasts, so that one that hangs costs little.
    pub answer_max: Duration,
}

impl Default for LockSettings {
    fn default() -> LockSettings {
        LockSettings {
            lasts: Duration::from_secs(5),
            drift_factor: 0.01,
            retries: 3,
            retry_delay: Duration::from_millis(200),
            retry_jitter: Duration::from_millis(100),
            answer_max: Duration::from_millis(50),
        }
    }
}

/// Gives locks.
#[derive(Debug)]
pub struct Redlock {
    instances: Vec<Arc<Instance>>,
    settings: LockSettings,
}

/// A lock that somebody has, until its time is over.
#[derive(Debug)]
pub struct Lock {
    name: String,
    token: String,
    valid_until: Instant,
}

/// Why there is no lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LockError {
    /// Others have it.
    #[error("others have the lock")]
    Taken,
    /// No majority of the servers answered in time.
    #[error("only {answered} of {instances} servers answered in time")]
    Unreachable {
        /// How many did.
        answered: usize,
        /// Of how many.
        instances: usize,
    },
}

impl Lock {
    /// For how long it is certainly still had, as far as clocks can be trusted.
    pub fn remaining(&self) -> Duration {
        self.valid_until.saturating_duration_since(Instant::now())
    }
}

impl Redlock {
    /// Locks on these instances.
    pub fn new(instances: &Instances, settings: LockSettings) -> Redlock {
        Redlock { instances: instances.all().to_vec(), settings }
    }

    /// Asks for a lock, again and again as the settings say. Can be dropped while waiting: what was taken of the lock ends by
    /// itself.
    pub async fn acquire(&self, name: &str) -> Result<Lock, LockError> {
        let mut retries = 0;
        loop {
            let error = match self.attempt(name).await {
                Ok(lock) => return Ok(lock),
                Err(error) => error,
            };
            if retries == self.settings.retries {
                return Err(error);
            }
            retries += 1;
            let LockSettings { retry_delay, retry_jitter, .. } = self.settings;
            tokio::time::sleep(retry_delay + retry_jitter.mul_f64(rand::random())).await;
        }
    }

    /// Makes a lock last as long as a new one, from now on; says whether a majority did.
    pub async fn extend(&self, lock: &mut Lock) -> bool {
        let began = Instant::now();
        let mut extend = cmd("EVAL");
        extend.arg(EXTEND).arg(1).arg(&lock.name).arg(&lock.token).arg(self.lasts_ms());
        let extended = self.ask(&extend).await.into_iter().filter(|answer| is_one(answer.as_ref()));
        let valid_until = self.valid_until(began);
        let extended = extended.count() >= self.majority() && valid_until > Instant::now();
        if extended {
            lock.valid_until = valid_until;
        }
        extended
    }

    /// Lets others have it; says whether it was still had.
    pub async fn release(&self, lock: Lock) -> bool {
        let released = self.release_token(&lock.name, &lock.token).await;
        released >= self.majority()
    }

    /// Asks for a lock once.
    pub async fn attempt(&self, name: &str) -> Result<Lock, LockError> {
        let began = Instant::now();
        let token = format!("{:032x}", rand::random::<u128>());
        let mut set = cmd("SET");
        set.arg(name).arg(&token).arg("NX").arg("PX").arg(self.lasts_ms());
        let answers = self.ask(&set).await;
        let answered = answers.iter().flatten().count();
        let given = answers.iter().flatten().filter(|answer| matches!(answer, Value::Okay)).count();
        let valid_until = self.valid_until(began);
        if given >= self.majority() && valid_until > Instant::now() {
            return Ok(Lock { name: name.to_owned(), token, valid_until });
        }
        // Also where no answer came: it may have been set all the same.
        self.release_token(name, &token).await;
        if answered < self.majority() {
            return Err(LockError::Unreachable { answered, instances: self.instances.len() });
        }
        Err(LockError::Taken)
    }

    async fn release_token(&self, name: &str, token: &str) -> usize {
        let mut release = cmd("EVAL");
        release.arg(RELEASE).arg(1).arg(name).arg(token);
        self.ask(&release).await.into_iter().filter(|answer| is_one(answer.as_ref())).count()
    }

    /// Asks all servers at once; `None` of those that did not answer in time.
    async fn ask(&self, command: &Cmd) -> Vec<Option<Value>> {
        let one = |instance: &Arc<Instance>| {
            let (instance, command) = (Arc::clone(instance), command.clone());
            let answer_max = self.settings.answer_max;
            async move { instance.run_within(answer_max, vec![command]).await.ok()?.pop() }
        };
        join_all(self.instances.iter().map(one)).await
    }

    /// More than half.
    fn majority(&self) -> usize {
        self.instances.len() / 2 + 1
    }

    fn lasts_ms(&self) -> u64 {
        u64::try_from(self.settings.lasts.as_millis()).unwrap_or(u64::MAX)
    }

    /// Until when a lock that was asked for then is certainly had.
    fn valid_until(&self, began: Instant) -> Instant {
        let LockSettings { lasts, drift_factor, .. } = self.settings;
        let drift = lasts.mul_f64(drift_factor) + CLOCKS_DIFFER;
        began + lasts.saturating_sub(drift)
    }
}

fn is_one(answer: Option<&Value>) -> bool {
    answer.is_some_and(|answer| i64::from_redis_value_ref(answer) == Ok(1))
}
