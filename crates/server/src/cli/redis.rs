//! Where Redis is, if it is anywhere.

use boxoffice_cluster::redis::Instances;
use clap::Args;

use super::console::Failure;

/// Where Redis is.
#[derive(Debug, Clone, Args)]
pub(super) struct Redis {
    /// Redis or Kvrocks beside a database, for the mirror and for what servers tell each other: redis://host:port, one, or three
    /// and more with commas between them. The environment's `REDIS_URLS` says the same.
    #[arg(long, value_name = "URLS", env = "BOXOFFICE_REDIS_URLS", hide_env_values = true)]
    redis_urls: Option<String>,
}

impl Redis {
    /// Its instances, if anybody said where they are.
    pub(super) fn instances(&self) -> Result<Option<Instances>, Failure> {
        let usual = || std::env::var("REDIS_URLS").ok().filter(|urls| !urls.is_empty());
        let urls = self.redis_urls.clone().or_else(usual);
        Ok(urls.map(|urls| Instances::parse(&urls)).transpose()?)
    }
}
