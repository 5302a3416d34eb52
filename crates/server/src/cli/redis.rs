//! Where Redis is, if it is anywhere.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_cluster::redis::{Beside, Instances, LockSettings, RedlockTurns};
use clap::{Args, value_parser};

use super::console::Failure;
use super::store::Started;

/// Where Redis is.
#[derive(Debug, Clone, Args)]
pub(super) struct Redis {
    /// Redis or Kvrocks beside a database, for the mirror and for what servers tell each other: redis://host:port, one, or three
    /// and more with commas between them. Also read from `REDIS_URLS` and, for one, `REDIS_URL`.
    #[arg(long, value_name = "URLS", env = "BOXOFFICE_REDIS_URLS", hide_env_values = true)]
    redis_urls: Option<String>,
}

impl Redis {
    /// Its instances, if anybody said where they are.
    pub(super) fn instances(&self) -> Result<Option<Instances>, Failure> {
        let usual = |name: &'static str| {
            let urls = std::env::var(name).ok().filter(|urls| !urls.is_empty())?;
            Some((name, urls))
        };
        let ours = self.redis_urls.clone().map(|urls| ("--redis-urls", urls));
        let urls = ours.or_else(|| usual("REDIS_URLS")).or_else(|| usual("REDIS_URL"));
        let parse = |(name, urls): (&str, String)| {
            Instances::parse(&urls).map_err(|error| Failure::nonsense(format!("{name}: {error}")))
        };
        urls.map(parse).transpose()
    }

    /// Starts what runs beside an engine, if anybody said where Redis is.
    pub(super) fn start(&self, started: &Started) -> Result<Option<Beside>, Failure> {
        let Some(instances) = self.instances()? else { return Ok(None) };
        let Some(database) = &started.database else {
            let why = "Redis is for servers that share a database: give one with --database-url, or leave out --redis-urls, REDIS_URLS and REDIS_URL";
            return Err(Failure::nonsense(why));
        };
        tracing::info!("Redis is at {}", instances.first().place());
        let store = Arc::<PostgresStore>::clone(database);
        Ok(Some(Beside::start(&instances, &started.engine, store)))
    }
}

/// How servers take turns at a hot inventory by Redlock, where there is Redis.
#[derive(Debug, Clone, Args)]
pub(super) struct Locks {
    /// After so long a server's turn ends by itself, in milliseconds; it is extended every half a second. The environment's
    /// `LOCK_TTL_MS` says the same.
    #[arg(long, env = "BOXOFFICE_LOCK_TTL_MS", default_value_t = 3_000, value_parser = value_parser!(u32).range(1_000..=60_000))]
    lock_ttl_ms: u32,
    /// The part of it by which the clocks of the Redis servers may drift apart. The environment's `REDLOCK_DRIFT_FACTOR` says the same.
    #[arg(long, env = "BOXOFFICE_REDLOCK_DRIFT_FACTOR", default_value_t = 0.01, value_parser = drift_factor)]
    redlock_drift_factor: f64,
    /// How often a turn that another server has is asked for again before this one goes without. After a second it does so in any
    /// case. The environment's `REDLOCK_RETRY_COUNT` says the same.
    #[arg(long, env = "BOXOFFICE_REDLOCK_RETRY_COUNT", default_value_t = 1_000)]
    redlock_retry_count: u32,
    /// How long to wait before a turn is asked for again, in milliseconds, and up to half as much more, or 6 ms. The environment's
    /// `REDLOCK_RETRY_DELAY_MS` says the same.
    #[arg(long, env = "BOXOFFICE_REDLOCK_RETRY_DELAY_MS", default_value_t = 2, value_parser = value_parser!(u32).range(1..=1_000))]
    redlock_retry_delay_ms: u32,
}

/// Those who met must not meet again, however soon they come back.
const RETRY_JITTER_MIN: Duration = Duration::from_millis(6);

impl Locks {
    pub(super) fn settings(&self) -> LockSettings {
        let retry_delay = Duration::from_millis(self.redlock_retry_delay_ms.into());
        LockSettings {
            lasts: Duration::from_millis(self.lock_ttl_ms.into()),
            drift_factor: self.redlock_drift_factor,
            retries: self.redlock_retry_count,
            retry_delay,
            retry_jitter: (retry_delay / 2).max(RETRY_JITTER_MIN),
            ..RedlockTurns::settings()
        }
    }
}

fn drift_factor(text: &str) -> Result<f64, &'static str> {
    let factor = text.parse().ok().filter(|factor| (0.0..=0.5).contains(factor));
    factor.ok_or("must be a number from 0 to 0.5")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        locks: Locks,
    }

    fn settings(arguments: &[&str]) -> Result<LockSettings, clap::Error> {
        let line = Line::try_parse_from([&["serve"], arguments].concat())?;
        Ok(line.locks.settings())
    }

    #[test]
    fn locks_are_asked_for_as_the_options_say() {
        assert_eq!(settings(&[]).unwrap(), RedlockTurns::settings());
        let said = ["--lock-ttl-ms=5000", "--redlock-drift-factor=0.02"];
        let more = ["--redlock-retry-count=3", "--redlock-retry-delay-ms=200"];
        let expected = LockSettings {
            lasts: Duration::from_secs(5),
            drift_factor: 0.02,
            retries: 3,
            retry_delay: Duration::from_millis(200),
            retry_jitter: Duration::from_millis(100),
            ..RedlockTurns::settings()
        };
        assert_eq!(settings(&[said, more].concat()).unwrap(), expected);
    }

    #[test]
    fn locks_that_would_end_between_two_extensions_are_refused() {
        for wrong in ["--lock-ttl-ms=999", "--redlock-drift-factor=0.6", "--redlock-drift-factor=NaN"] {
            assert!(settings(&[wrong]).is_err(), "{wrong}");
        }
    }
}
