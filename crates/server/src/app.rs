//! What every request needs: the engine, the keys, the secret, the settings.

use std::sync::{Arc, Weak};

use boxoffice_cluster::redis::RefusedBookings;
use boxoffice_engine::Engine;
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::attempts::{self, Attempts};
use crate::body_budget::BodyBudget;
use crate::caller::OPEN_TENANT;
use crate::contacts::Contacts;
use crate::keys::Keys;
use crate::limits::{
    BODIES_BYTES_MAX, KEYS_REFRESHED_EVERY, MEASURES_SUMMED_UP_EVERY, PUBLIC_BATCHES_BYTES_MAX,
};
use crate::measure::Measures;
use crate::problem::Problem;
use crate::rates::{RateSettings, Rates};
use crate::secret::Secret;
use crate::stream::Feeds;
use crate::tls::ServerTls;
use crate::trusted_proxies::TrustedProxies;
use crate::webhooks::Webhooks;

/// A running server's state.
pub(crate) struct App {
    pub(crate) engine: Engine,
    pub(crate) keys: Keys,
    pub(crate) secret: Secret,
    pub(crate) contacts: Contacts,
    pub(crate) rates: Rates,
    pub(crate) feeds: Feeds,
    pub(crate) webhooks: Arc<Webhooks>,
    pub(crate) measures: Measures,
    pub(crate) attempts: Attempts,
    pub(crate) bodies: Arc<BodyBudget>,
    /// Of the batches of `public` keys.
    pub(crate) public_batches: Arc<BodyBudget>,
    pub(crate) settings: AppSettings,
    /// Whether commands go through a log, and can be taken before they are decided.
    pub(crate) commands_are_routed: bool,
    /// Becomes true when the server is asked to stop: live streams end then.
    pub(crate) stopping: watch::Sender<bool>,
    /// Of callers without a key.
    pub(crate) open_tenant: Arc<str>,
}

/// What can be configured about answering requests.
#[derive(Debug, Clone)]
pub(crate) struct AppSettings {
    /// Whether callers without a key may be let in while no key exists: only on loopback, and without proxies.
    pub(crate) loopback: bool,
    pub(crate) trusted_proxies: TrustedProxies,
    /// Whether connections of trusted proxies begin with a PROXY header.
    pub(crate) proxy_protocol: bool,
    /// Accepts TLS; `None`: connections are plain.
    pub(crate) tls: Option<Arc<ServerTls>>,
    /// How long the answer of an idempotency key is kept.
    pub(crate) idempotency_keep_seconds: u32,
    /// How long holds last in new inventories that do not say so; `None`: as their kind has it.
    pub(crate) hold_ttl_seconds: Option<u32>,
    pub(crate) rates: RateSettings,
    /// The `public` key that this server's own pages use.
    pub(crate) pages_key: Option<String>,
    /// Where refused bookings go beside the answer: the mirror, if there is one.
    pub(crate) refused_bookings: Option<RefusedBookings>,
    /// Whether webhooks may use plain HTTP and lead to addresses that are not public: for tests.
    pub(crate) webhooks_allow_insecure: bool,
}

impl Default for AppSettings {
    fn default() -> AppSettings {
        AppSettings {
            loopback: true,
            trusted_proxies: TrustedProxies::default(),
            proxy_protocol: false,
            tls: None,
            idempotency_keep_seconds: 86_400,
            hold_ttl_seconds: None,
            rates: RateSettings::default(),
            pages_key: None,
            refused_bookings: None,
            webhooks_allow_insecure: false,
        }
    }
}

impl App {
    pub(crate) fn new(engine: Engine, settings: AppSettings) -> Result<Arc<App>, Problem> {
        let commands_are_routed = engine.is_routed();
        let keys = Keys::load(&engine)?;
        let secret = Secret::load(&engine)?;
        let rates = Rates::new(settings.rates);
        let contacts = Contacts::new(&engine, &secret);
        let webhooks = Webhooks::start(&engine, &secret, &settings)?;
        let app = Arc::new(App {
            engine,
            keys,
            secret,
            contacts,
            rates,
            feeds: Feeds::default(),
            webhooks,
            measures: Measures::install(),
            attempts: Attempts::new(),
            bodies: BodyBudget::new(BODIES_BYTES_MAX),
            public_batches: BodyBudget::new(PUBLIC_BATCHES_BYTES_MAX),
            settings,
            commands_are_routed,
            stopping: watch::Sender::new(false),
            open_tenant: OPEN_TENANT.into(),
        });
        if app.engine.is_shared() {
            tokio::spawn(refresh_keys(Arc::downgrade(&app)));
        }
        tokio::spawn(sum_up_measures(Arc::downgrade(&app)));
        tokio::spawn(attempts::keep_writing(Arc::downgrade(&app)));
        Ok(app)
    }

    /// Whether callers without a key are let in.
    pub(crate) fn is_open(&self) -> bool {
        self.settings.loopback && self.keys.is_empty()
    }
}

/// Keeps up with the keys that other servers make and revoke, as long as there is an app.
async fn refresh_keys(app: Weak<App>) {
    let mut every = tokio::time::interval(KEYS_REFRESHED_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let Some(app) = app.upgrade() else { return };
        let refreshed = tokio::task::spawn_blocking(move || app.keys.refresh()).await;
        match refreshed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the keys cannot be read"),
            Err(_) => return,
        }
    }
}

/// What is measured gathers until it is summed up: somebody has to do so even if nobody ever asks for it.
async fn sum_up_measures(app: Weak<App>) {
    let mut every = tokio::time::interval(MEASURES_SUMMED_UP_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        let Some(app) = app.upgrade() else { return };
        app.measures.sum_up();
    }
}
