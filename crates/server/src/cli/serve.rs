//! `boxoffice serve`.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_cluster::kafka::Kafka;
use boxoffice_cluster::redis::Beside;
use boxoffice_core::limits::{HOLD_SECONDS_MAX, KEY_KEEP_SECONDS_MAX};
use boxoffice_engine::snapshot::Retention;
use boxoffice_engine::{Engine, Settings};
use clap::Args;
use clap::builder::{FalseyValueParser, RangedU64ValueParser};
use clap::value_parser;
use ipnet::IpNet;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::console::{Failure, LogFormat, log, say};
use super::kafka::KafkaOptions;
use super::redis::{Locks, Redis};
use super::store::Data;
use crate::app::{App, AppSettings};
use crate::attempts;
use crate::changes;
use crate::connections::ConnectionLimits;
use crate::keys::Role;
use crate::limits::CONNECTIONS_DEFAULT;
use crate::listen;
use crate::rates::RateSettings;
use crate::tls::{ServerTls, TlsFiles};
use crate::trusted_proxies::{TrustedProxies, parse_network};

/// How the server runs. A flag beats its environment variable, which beats the configuration file, which beats the default.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Where to listen. An address that others can reach needs an API key first. The port alone is also read from `PORT`.
    #[arg(long, env = "BOXOFFICE_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    #[command(flatten)]
    data: Data,
    /// Do not bring the tables of the database up to date: `boxoffice migrate` does so.
    #[arg(long, env = "BOXOFFICE_NO_MIGRATE", value_parser = FalseyValueParser::new())]
    no_migrate: bool,
    #[command(flatten)]
    redis: Redis,
    #[command(flatten)]
    locks: Locks,
    #[command(flatten)]
    kafka: KafkaOptions,
    /// A TOML file with any of these options by name, such as `idle_after_seconds = 600`.
    #[arg(long, env = "BOXOFFICE_CONFIG")]
    config: Option<PathBuf>,
    /// Threads that decide; as many as there are processors if not set.
    #[arg(long, env = "BOXOFFICE_SHARDS", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_024))]
    shards: Option<usize>,
    /// Events, schedules and shops that nobody used for so long leave memory, in seconds.
    #[arg(long, env = "BOXOFFICE_IDLE_AFTER_SECONDS", default_value_t = 600, value_parser = value_parser!(u32).range(1..))]
    idle_after_seconds: u32,
    /// How much of each journal is kept: all, or so many records before the last snapshot. `verify` and the audit reach back
    /// as far as the journal does.
    #[arg(long, env = "BOXOFFICE_JOURNAL_RETENTION", default_value = "all", value_name = "all|RECORDS")]
    journal_retention: KeptJournal,
    /// Seconds between two passes of the scrubber, which compares what is in memory with the journals in the background, of inventories
    /// up to 64 MiB of snapshot and journal (the metric `boxoffice_scrub_skipped_inventories` counts the others); 0 turns
    /// it off.
    #[arg(long, env = "BOXOFFICE_SCRUB_EVERY_SECONDS", default_value_t = 3_600)]
    scrub_every_seconds: u32,
    /// Seconds to keep the response of an idempotency key; at most 30 days. Floor: an inventory keeps it at least as long as its longest
    /// hold, the rule `max_hold_seconds` (3600 unless the inventory says otherwise), so a lower value has no effect there. Also read from
    /// `IDEMPOTENCY_TTL_MS`, rounded up to seconds.
    #[arg(long, env = "BOXOFFICE_IDEMPOTENCY_KEEP_SECONDS", default_value_t = 86_400, value_parser = value_parser!(u32).range(1..=i64::from(KEY_KEEP_SECONDS_MAX)))]
    idempotency_keep_seconds: u32,
    /// How long holds last in new events, schedules and shops that do not say so in their rules, in seconds; 900 in events, 600 in schedules, 1200 in shops
    /// if not set. Also read from `HOLD_TTL_MS`, rounded up.
    #[arg(long, env = "BOXOFFICE_HOLD_TTL_SECONDS", value_parser = value_parser!(u32).range(1..=i64::from(HOLD_SECONDS_MAX)))]
    hold_ttl_seconds: Option<u32>,
    /// Requests a second that each API key may send; no limit if not set.
    #[arg(long, env = "BOXOFFICE_RATE_LIMIT_PER_KEY", value_parser = value_parser!(u32).range(1..))]
    rate_limit_per_key: Option<u32>,
    /// Requests a second that each IPv4 address or IPv6 /64 may send; no limit if not set.
    #[arg(long, env = "BOXOFFICE_RATE_LIMIT_PER_ADDRESS", value_parser = value_parser!(u32).range(1..))]
    rate_limit_per_address: Option<u32>,
    /// Addresses and networks of the proxies in front of this server, such as `127.0.0.1,10.0.0.0/8`: a caller's address is the
    /// right-most one in `X-Forwarded-For` or `Forwarded` that is not in this list. The server needs an API key then, also on loopback
    /// [default: none].
    #[arg(long, env = "BOXOFFICE_TRUSTED_PROXIES", value_delimiter = ',', value_parser = parse_network, value_name = "CIDR,...")]
    trusted_proxies: Vec<IpNet>,
    /// Read the client's address from a PROXY protocol header (version 1 or 2) before the first byte of each connection from
    /// `--trusted-proxies`; a connection of theirs without it is closed. Other peers must not send one.
    #[arg(long, env = "BOXOFFICE_PROXY_PROTOCOL", value_parser = FalseyValueParser::new())]
    proxy_protocol: bool,
    /// Serve HTTPS with this certificate: a PEM file with the certificate first and its chain after it. Read again on SIGHUP.
    #[arg(long, env = "BOXOFFICE_TLS_CERT", requires = "tls_key", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// The private key of `--tls-cert`: a PEM file that other users of this machine cannot read. Read again on SIGHUP.
    #[arg(long, env = "BOXOFFICE_TLS_KEY", requires = "tls_cert", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Holds that each caller may have alive at one time; no limit if not set.
    #[arg(long, env = "BOXOFFICE_LIVE_HOLDS_PER_CALLER", value_parser = value_parser!(u32).range(1..))]
    live_holds_per_caller: Option<u32>,
    /// The API key that this server's own web pages use; its role must be `public`, since every visitor gets it. Without it the
    /// pages work only while there are no keys.
    #[arg(long, env = "BOXOFFICE_PAGES_KEY", hide_env_values = true)]
    pages_key: Option<String>,
    /// Connections at one time; more are turned away with 503.
    #[arg(long, alias = "max-connections", env = "BOXOFFICE_CONNECTIONS_MAX", default_value_t = CONNECTIONS_DEFAULT)]
    connections_max: usize,
    /// Connections at one time from one address, or from one /64 of IPv6. For another one, the connection that has been idle for longest is
    /// closed; if none is idle, the new one is turned away with 503. Trusted proxies have no such limit, and connections from this machine
    /// have it only if this is set. With `--proxy-protocol` the visitors of a trusted proxy have it.
    /// [default: 1000]
    #[arg(long, env = "BOXOFFICE_CONNECTIONS_PER_ADDRESS", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    connections_per_address: Option<usize>,
    /// Let webhooks use plain HTTP and addresses that are not public. For tests: whoever may make webhooks could reach into
    /// your network.
    #[arg(long, env = "BOXOFFICE_WEBHOOKS_ALLOW_INSECURE", value_parser = FalseyValueParser::new())]
    webhooks_allow_insecure: bool,
    /// How the log is written to standard error. BOXOFFICE_LOG says what is logged, such as `warn`.
    #[arg(long, env = "BOXOFFICE_LOG_FORMAT", default_value = "text")]
    log_format: LogFormat,
}

/// How much of each journal is kept, as it is written on the command line.
#[derive(Debug, Clone, Copy)]
struct KeptJournal(Retention);

impl FromStr for KeptJournal {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<KeptJournal, &'static str> {
        match text {
            "all" => Ok(KeptJournal(Retention::All)),
            number => {
                let records = number.parse().map_err(|_| "must be `all` or a number of records")?;
                Ok(KeptJournal(Retention::Records(records)))
            }
        }
    }
}

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    log(options.log_format, "info");
    if let Some(file) = &options.config {
        tracing::info!("configured by {}", file.display());
    }
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(options))
}

async fn serve(options: &Options) -> Result<(), Failure> {
    if options.proxy_protocol && options.trusted_proxies.is_empty() {
        return Err(Failure::nonsense(
            "--proxy-protocol reads the headers of trusted proxies only: name them with --trusted-proxies",
        ));
    }
    let tls = options
        .tls_files()
        .map(ServerTls::load)
        .transpose()
        .map_err(|error| Failure::nonsense(error.to_string()))?;
    let place = options.data.place()?;
    let instances = options.redis.instances()?;
    let locks = instances.as_ref().map(|instances| (instances, options.locks.settings()));
    let started = place.start(&options.engine_settings(), !options.no_migrate, locks)?;
    let beside = options.redis.start(&started)?;
    let kafka = options.kafka.start(&started)?;
    let mut settings = options.app_settings();
    settings.tls = tls.map(Arc::new);
    settings.refused_bookings = beside.as_ref().map(Beside::refused_bookings);
    let loopback = settings.loopback;
    let app = App::new(started.engine, settings)?;
    if !loopback && app.keys.is_empty() {
        return Err(Failure::new(format!(
            "{} can be reached {}, and there is no API key. Make one first: boxoffice keys create {} --tenant default --role admin",
            options.listen,
            if options.trusted_proxies.is_empty() { "by others" } else { "through proxies" },
            place.option(),
        )));
    }
    if let Some(key) = &app.settings.pages_key {
        // Each visitor of a page can read it.
        let public = app.keys.check(key).is_some_and(|key| key.role == Role::Public);
        if !public {
            return Err(Failure::nonsense(
                "the pages' key is not known, or may do more than visitors should: make one with --role public",
            ));
        }
    }
    keep_open(app, options.listen, options.connection_limits(), kafka).await?;
    if let Some(beside) = beside {
        beside.finish().await;
    }
    Ok(())
}

impl Options {
    fn engine_settings(&self) -> Settings {
        let defaults = Settings::default();
        Settings {
            shards: self.shards.unwrap_or(defaults.shards),
            idle_after: Duration::from_secs(self.idle_after_seconds.into()),
            retention: self.journal_retention.0,
            scrub_every: (self.scrub_every_seconds > 0)
                .then(|| Duration::from_secs(self.scrub_every_seconds.into())),
            ..defaults
        }
    }

    fn connection_limits(&self) -> ConnectionLimits {
        let defaults = ConnectionLimits::default();
        ConnectionLimits {
            in_all: self.connections_max,
            per_network: self.connections_per_address.unwrap_or(defaults.per_network),
            count_loopback: self.connections_per_address.is_some(),
        }
    }

    fn tls_files(&self) -> Option<TlsFiles> {
        let files = self.tls_cert.clone().zip(self.tls_key.clone());
        files.map(|(certificate, key)| TlsFiles { certificate, key })
    }

    fn app_settings(&self) -> AppSettings {
        AppSettings {
            loopback: self.listen.ip().is_loopback() && self.trusted_proxies.is_empty(),
            trusted_proxies: TrustedProxies::new(self.trusted_proxies.clone()),
            proxy_protocol: self.proxy_protocol,
            tls: None,
            idempotency_keep_seconds: self.idempotency_keep_seconds,
            hold_ttl_seconds: self.hold_ttl_seconds,
            rates: RateSettings {
                requests_per_second_per_key: self.rate_limit_per_key,
                requests_per_second_per_address: self.rate_limit_per_address,
                live_holds_per_caller: self.live_holds_per_caller,
            },
            pages_key: self.pages_key.clone(),
            refused_bookings: None,
            webhooks_allow_insecure: self.webhooks_allow_insecure,
        }
    }
}

/// Serves until it is asked to stop, answers what was taken, and closes the store.
pub(super) async fn keep_open(
    app: Arc<App>,
    listen: SocketAddr,
    connections: ConnectionLimits,
    kafka: Option<Kafka>,
) -> Result<(), Failure> {
    raise_open_files();
    let listener = listen::bind(listen).map_err(|error| not_bound(listen, &error))?;
    let address = listener.local_addr()?;
    // Before the address is told: its readers may ask for a stop.
    let signals = Signals::new()?;
    let scheme = if app.settings.tls.is_some() { "https" } else { "http" };
    if let Some(tls) = app.settings.tls.clone() {
        tokio::spawn(reload_certificate(tls, signal(SignalKind::hangup())?));
    }
    tracing::info!("listening on {scheme}://{address}");
    if app.is_open() {
        tracing::warn!(
            "no API key exists: every program on this machine is admin, and a proxy on this machine can make every visitor admin: nginx \
             from 1.29.7 on cannot be told from a local program. Before others can reach it, create a key: POST /v1/keys, or boxoffice keys create --role admin"
        );
    }
    greet(scheme, address, app.is_open())?;
    let engine = app.engine.clone();
    let changes = kafka.as_ref().map(|kafka| tokio::spawn(changes::send(Arc::clone(&app), kafka.changes())));
    let async_bookings = kafka.as_ref().and_then(Kafka::async_bookings);
    let async_bookings =
        async_bookings.map(|decided| tokio::spawn(attempts::note_async_bookings(Arc::clone(&app), decided)));
    let stop = async {
        signals.stop(&engine).await;
        app.stopping.send_replace(true);
    };
    listen::serve(listener, &app, connections, stop).await;
    app.webhooks.stop().await;
    if let Some(changes) = changes {
        changes.abort();
        // Ended, one way or the other.
        drop(changes.await);
    }
    // First the requests for decisions end, then the decisions. A decision may wait for a database that is away.
    engine.hurry();
    tokio::task::spawn_blocking(move || drop(kafka)).await?;
    if let Some(async_bookings) = async_bookings {
        async_bookings.await?;
    }
    if let Err(error) = attempts::write_queued(&app).await {
        tracing::warn!(%error, "the last booking attempts were not written");
    }
    tokio::task::spawn_blocking(move || engine.close()).await??;
    Ok(())
}

fn not_bound(listen: SocketAddr, error: &std::io::Error) -> Failure {
    Failure::new(match error.kind() {
        ErrorKind::AddrInUse => {
            format!("{listen} is used by another program; stop that, or choose another address with --listen")
        }
        _ => format!("{listen} cannot be listened on: {error}"),
    })
}

/// Reads the certificate again on every SIGHUP.
async fn reload_certificate(tls: Arc<ServerTls>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        match tls.reload() {
            Ok(()) => tracing::info!("the TLS certificate was read again"),
            Err(error) => {
                tracing::error!(%error, "the new TLS certificate cannot be used; the one before stays");
            }
        }
    }
}

/// Says where to click.
fn greet(scheme: &str, address: SocketAddr, open: bool) -> Result<(), Failure> {
    let key = if open { "" } else { " -H 'Authorization: Bearer YOUR-KEY'" };
    say(format!("Boxoffice is open at {scheme}://{address}"))?;
    say(format!("  the desk      {scheme}://{address}/desk"))?;
    say(format!("  the API       {scheme}://{address}/docs"))?;
    say(format!("  from a shell  curl{key} {scheme}://{address}/v1/events"))
}

/// Every connection is an open file; the usual limit is a thousand, and raising it needs nobody's leave.
pub(super) fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// What asks a server to stop. It is heard from when this is made.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Signals { terminate, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Resolves when the server is asked to stop, or has to.
    async fn stop(mut self, engine: &Engine) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("asked to stop"),
            _ = self.interrupt.recv() => tracing::info!("asked to stop"),
            _ = engine.stopped() => {}
        }
    }
}
