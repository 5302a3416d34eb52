//! Kafka, if commands are to go through it.

use boxoffice_cluster::kafka::{Kafka, Settings};
use clap::Args;

use super::console::Failure;
use super::store::Started;

/// Whether commands go through Kafka, and where that is.
#[derive(Debug, Clone, Args)]
pub(super) struct KafkaOptions {
    /// Addresses of Kafka brokers, with commas between: commands go through a topic there to the server that decides them. For
    /// several servers on one database. The environment's KAFKA_BROKERS says the same.
    #[arg(long, value_name = "HOST:PORT,...", env = "BOXOFFICE_KAFKA_BROKERS")]
    kafka_brokers: Option<String>,
    /// What the names of Kafka's topics begin with: another one for each group of servers that share brokers.
    #[arg(long, env = "BOXOFFICE_KAFKA_PREFIX", default_value = "boxoffice")]
    kafka_prefix: String,
    /// Further settings of librdkafka, with commas between, such as `security.protocol=sasl_plaintext,sasl.username=me`.
    #[arg(long, value_name = "NAME=VALUE,...", env = "BOXOFFICE_KAFKA_OPTIONS", hide_env_values = true)]
    kafka_options: Option<String>,
}

impl KafkaOptions {
    /// Joins the other servers, if Kafka is asked for.
    pub(super) fn start(&self, started: &Started) -> Result<Option<Kafka>, Failure> {
        let usual = || std::env::var("KAFKA_BROKERS").ok();
        let brokers = self.kafka_brokers.clone().or_else(usual).filter(|brokers| !brokers.is_empty());
        let Some(brokers) = brokers else { return Ok(None) };
        let Some(database) = &started.database else {
            return Err(Failure::nonsense("Kafka is for servers on a database: give --database-url, too"));
        };
        let settings = Settings { brokers, prefix: self.kafka_prefix.clone(), options: self.options()? };
        let kafka = Kafka::start(&settings, &started.engine, database)?;
        tracing::info!("commands go through Kafka at {}", settings.brokers);
        Ok(Some(kafka))
    }

    fn options(&self) -> Result<Vec<(String, String)>, Failure> {
        let given = self.kafka_options.as_deref().unwrap_or_default();
        let pair = |option: &str| {
            let (name, value) = option.split_once('=').ok_or_else(|| {
                // Not what it says: it may be a password.
                Failure::nonsense("--kafka-options has something without a `=` in it")
            })?;
            Ok((name.trim().to_owned(), value.to_owned()))
        };
        given.split(',').filter(|option| !option.is_empty()).map(pair).collect()
    }
}
