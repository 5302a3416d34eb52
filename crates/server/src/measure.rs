//! What is counted, for Prometheus.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use boxoffice_engine::view::KindView;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::app::App;
use crate::ids::parts_of;

/// From half a millisecond to ten seconds.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.0, 3.0, 10.0];

/// Where everything is counted.
pub(crate) struct Measures {
    handle: PrometheusHandle,
}

impl Measures {
    /// Begins to count.
    pub(crate) fn install() -> Measures {
        let builder = PrometheusBuilder::new().set_buckets(&SECONDS).expect("there are buckets");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        // Only the first server of a process is counted.
        drop(metrics::set_global_recorder(recorder));
        Measures { handle }
    }

    /// All that was counted, and what can be read off now.
    pub(crate) async fn render(&self, app: &App) -> String {
        metrics::gauge!("boxoffice_queue_commands").set(app.engine.waiting() as f64);
        metrics::gauge!("boxoffice_inventories_in_memory").set(app.engine.in_memory() as f64);
        for listed in app.engine.inventories_in_memory() {
            let Some((tenant, _, _)) = parts_of(&listed.name) else { continue };
            let Ok(stock) = app.engine.view(listed.number).await else { continue };
            let counts = match &stock.kind {
                KindView::Event(event) => event.totals,
                KindView::Schedule(schedule) => schedule
                    .slots
                    .values()
                    .map(|slot| slot.pool.counts())
                    .fold(Default::default(), |all: boxoffice_core::seats::Counts, one| all.plus(one)),
                KindView::Shop(shop) => shop
                    .boxes
                    .iter()
                    .map(|boxed| boxed.pool.counts())
                    .fold(Default::default(), |all: boxoffice_core::seats::Counts, one| all.plus(one)),
            };
            let states = [
                ("free", counts.available),
                ("held", counts.held),
                ("sold", counts.sold),
                ("blocked", counts.blocked),
            ];
            for (state, count) in states {
                let inventory = listed.name[tenant.len() + 1..].to_owned();
                metrics::gauge!("boxoffice_inventory_units", "tenant" => tenant.to_owned(), "inventory" => inventory, "state" => state).set(f64::from(count));
            }
        }
        self.handle.run_upkeep();
        self.handle.render()
    }
}

/// One request answered.
pub(crate) fn count_request(method: &Method, route: &str, status: StatusCode, took: Duration) {
    let labels = [
        ("method", method.as_str().to_owned()),
        ("route", route.to_owned()),
        ("status", status.as_u16().to_string()),
    ];
    metrics::counter!("boxoffice_requests_total", &labels).increment(1);
    metrics::histogram!("boxoffice_request_seconds").record(took.as_secs_f64());
}

/// One command that is durable, from when it was handed to the engine.
pub(crate) fn count_commit(took: Duration) {
    metrics::histogram!("boxoffice_commit_seconds").record(took.as_secs_f64());
}

/// One refusal or error, by its code.
pub(crate) fn count_code(code: &'static str) {
    metrics::counter!("boxoffice_refusals_total", "code" => code).increment(1);
}
