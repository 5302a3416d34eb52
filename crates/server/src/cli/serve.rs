//! `boxoffice serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use boxoffice_engine::{Engine, Settings};
use clap::Args;
use clap::builder::FalseyValueParser;
use tracing_subscriber::EnvFilter;

use crate::app::{App, AppSettings};
use crate::limits::CONNECTIONS_DEFAULT;
use crate::listen;
use crate::rates::RateSettings;
use crate::router::router;

/// How the server runs.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Where to listen.
    #[arg(long, env = "BOXOFFICE_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Where the data is.
    #[arg(long, env = "BOXOFFICE_DATA", default_value = "./boxoffice-data")]
    data: PathBuf,
    /// How long the answers of idempotency keys are kept, in seconds.
    #[arg(long, env = "BOXOFFICE_IDEMPOTENCY_KEEP_SECONDS", default_value_t = 86_400)]
    idempotency_keep_seconds: u32,
    /// Requests a second that each API key may send; no limit if not set.
    #[arg(long, env = "BOXOFFICE_RATE_LIMIT_PER_KEY")]
    rate_limit_per_key: Option<u32>,
    /// Requests a second that each address may send; no limit if not set.
    #[arg(long, env = "BOXOFFICE_RATE_LIMIT_PER_ADDRESS")]
    rate_limit_per_address: Option<u32>,
    /// Holds that each caller may have alive at one time; no limit if not set.
    #[arg(long, env = "BOXOFFICE_LIVE_HOLDS_PER_CALLER")]
    live_holds_per_caller: Option<u32>,
    /// Connections at one time; more are turned away with 503.
    #[arg(long, env = "BOXOFFICE_CONNECTIONS_MAX", default_value_t = CONNECTIONS_DEFAULT)]
    connections_max: usize,
    /// Let webhooks use plain HTTP and addresses that are not public. For tests: whoever may make webhooks could reach into
    /// your network.
    #[arg(long, env = "BOXOFFICE_WEBHOOKS_ALLOW_INSECURE", value_parser = FalseyValueParser::new())]
    webhooks_allow_insecure: bool,
}

pub(crate) fn run(options: &Options) -> ExitCode {
    let filter = EnvFilter::try_from_env("BOXOFFICE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("no threads: {error}")),
    };
    match runtime.block_on(serve(options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => fail(&message),
    }
}

fn fail(message: &str) -> ExitCode {
    tracing::error!("{message}");
    ExitCode::FAILURE
}

async fn serve(options: &Options) -> Result<(), String> {
    let engine = Engine::open(&options.data, &Settings::default()).map_err(|error| error.to_string())?;
    let loopback = options.listen.ip().is_loopback();
    let settings = AppSettings {
        loopback,
        idempotency_keep_seconds: options.idempotency_keep_seconds,
        rates: RateSettings {
            requests_per_second_per_key: options.rate_limit_per_key,
            requests_per_second_per_address: options.rate_limit_per_address,
            live_holds_per_caller: options.live_holds_per_caller,
        },
        webhooks_allow_insecure: options.webhooks_allow_insecure,
    };
    let app = App::new(engine.clone(), settings).map_err(|problem| problem.detail.into_owned())?;
    if !loopback && app.keys.is_empty() {
        return Err(format!(
            "{} can be reached by others, and there is no API key. Make one first: boxoffice keys create --data {} --tenant default --role admin",
            options.listen,
            options.data.display(),
        ));
    }
    raise_open_files();
    let listener = listen::bind(options.listen).map_err(|error| format!("{}: {error}", options.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    tracing::info!("listening on http://{address}");
    let stop = async {
        stop(engine.clone()).await;
        app.stopping.send_replace(true);
    };
    listen::serve(listener, router(Arc::clone(&app)), options.connections_max, stop).await;
    app.webhooks.stop().await;
    tokio::task::spawn_blocking(move || engine.close())
        .await
        .expect("closing does not panic")
        .map_err(|reason| reason.to_string())
}

/// Every connection is an open file; the usual limit is a thousand, and raising it needs nobody's leave.
fn raise_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// Resolves when the server is asked to stop, or has to.
async fn stop(engine: Engine) {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).expect("signals can be waited for");
    let mut interrupt = signal(SignalKind::interrupt()).expect("signals can be waited for");
    tokio::select! {
        _ = terminate.recv() => tracing::info!("asked to stop"),
        _ = interrupt.recv() => tracing::info!("asked to stop"),
        _ = engine.stopped() => {}
    }
}
