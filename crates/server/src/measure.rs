//! What is counted, for Prometheus. Everything is there from the first scrape on, so that an alert can tell "none" from "not
//! known".

use std::sync::OnceLock;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use boxoffice_cluster::kafka::measure as kafka;
use boxoffice_cluster::redis::{AVAILABLE as REDIS_AVAILABLE, BEHIND, DRIFT};
use boxoffice_cluster::turns::{LOCK_FAILURES, LOCK_WAIT_SECONDS};
use boxoffice_core::ids::{InventoryKind, parts_of_name};
use boxoffice_core::seats::Counts;
use boxoffice_engine::measure::{
    BATCH_COMMANDS, COMMIT_SECONDS, EXPIRY_SWEEP_SECONDS, FENCED_BATCHES, HOLDS_EXPIRED, INCONSISTENCIES,
    SCRUB_SKIPPED,
};
use boxoffice_engine::scrub;
use boxoffice_engine::view::{KindView, StockView};
use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::app::App;
use crate::codes::CODES;

/// From half a millisecond to ten seconds.
const SECONDS: [f64; 14] =
    [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.0, 3.0, 10.0];
/// From one command to the largest batch there can be.
const COMMANDS: [f64; 8] = [1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0, 16_384.0];

const REQUESTS: &str = "boxoffice_requests_total";
const REQUEST_SECONDS: &str = "boxoffice_request_seconds";
const REFUSALS: &str = "boxoffice_refusals_total";
const BOOKINGS: &str = "boxoffice_bookings_total";
const IDEMPOTENCY_REPLAYS: &str = "boxoffice_idempotency_replays_total";
const ATTEMPTS_DROPPED: &str = "boxoffice_attempts_dropped_total";
const CONNECTIONS_REFUSED: &str = "boxoffice_connections_refused_total";
const BODY_BYTES: &str = "boxoffice_body_bytes";
const QUEUE: &str = "boxoffice_queue_commands";
const QUEUE_MAX: &str = "boxoffice_queue_commands_max";
const IN_MEMORY: &str = "boxoffice_inventories_in_memory";
const UNITS: &str = "boxoffice_inventory_units";
const LIVE_HOLDS: &str = "boxoffice_live_holds";
const EXPIRY_LAG: &str = "boxoffice_expiry_lag_seconds";
const SSE_CLIENTS: &str = "boxoffice_sse_clients";
const STORE_AVAILABLE: &str = "boxoffice_store_available";
const WEBHOOK_BACKLOG: &str = "boxoffice_webhook_backlog";

/// The codes that say something about the server and not about a request.
const SERVER_CODES: [&str; 4] = ["OVERLOADED", "OUTCOME_UNKNOWN", "UNAVAILABLE", "RATE_LIMITED"];

/// Where everything is counted.
pub(crate) struct Measures {
    handle: PrometheusHandle,
}

impl Measures {
    /// Begins to count.
    pub(crate) fn install() -> Measures {
        let builder = PrometheusBuilder::new()
            .set_buckets(&SECONDS)
            .and_then(|builder| {
                builder.set_buckets_for_metric(Matcher::Full(BATCH_COMMANDS.to_owned()), &COMMANDS)
            })
            .expect("there are buckets");
        let recorder = builder.build_recorder();
        let handle = recorder.handle();
        // Only the first server of a process is counted.
        drop(metrics::set_global_recorder(recorder));
        describe();
        begin_at_zero();
        Measures { handle }
    }

    /// All that was counted, and what can be read off now.
    pub(crate) fn render(&self, app: &App) -> String {
        gauge!(BODY_BYTES).set((app.bodies.reserved_bytes() + app.public_batches.reserved_bytes()) as f64);
        gauge!(QUEUE).set(app.engine.waiting() as f64);
        gauge!(QUEUE_MAX).set(app.engine.waiting_max() as f64);
        gauge!(EXPIRY_LAG).set(app.engine.expiry_lag().as_secs_f64());
        gauge!(STORE_AVAILABLE).set(if app.engine.unavailable_for().is_none() { 1.0 } else { 0.0 });
        let views = app.engine.views_in_memory();
        gauge!(IN_MEMORY).set(views.len() as f64);
        gauge!(LIVE_HOLDS).set(views.iter().map(|(_, stock)| stock.live_holds).sum::<usize>() as f64);
        for (listed, stock) in views {
            let Some((tenant, _, _)) = parts_of_name(&listed.name) else { continue };
            set_units(tenant, &listed.name[tenant.len() + 1..], counts_of(&stock));
        }
        self.sum_up();
        self.handle.render()
    }

    /// Turns what was measured one by one into sums.
    pub(crate) fn sum_up(&self) {
        self.handle.run_upkeep();
    }
}

fn describe() {
    describe_counter!(REQUESTS, "Requests that were answered, by method, route and status.");
    describe_histogram!(REQUEST_SECONDS, "How long requests took.");
    describe_counter!(REFUSALS, "Requests and commands that did not succeed, by code.");
    describe_counter!(
        BOOKINGS,
        "Booking attempts by kind of inventory (unknown if the request does not say), result (granted, refused, failed) and code; replays are not attempts."
    );
    describe_counter!(
        ATTEMPTS_DROPPED,
        "Refused or failed booking attempts that are neither logged nor listed: too many came at once."
    );
    describe_counter!(IDEMPOTENCY_REPLAYS, "Requests that were answered with their first answer.");
    describe_counter!(
        INCONSISTENCIES,
        "Inventories that the scrubber found not to be what their journals say, by kind of difference."
    );
    describe_gauge!(
        SCRUB_SKIPPED,
        "Inventories that the last pass of the scrubber skipped: their snapshot and journal are larger than 64 MiB."
    );
    describe_counter!(HOLDS_EXPIRED, "Holds that ended without being confirmed.");
    describe_histogram!(EXPIRY_SWEEP_SECONDS, "How long a sweep that ended due holds took.");
    describe_histogram!(
        LOCK_WAIT_SECONDS,
        "How long this server waited for the lock of a contended inventory."
    );
    describe_counter!(LOCK_FAILURES, "Locks that this server did not get and proceeded without.");
    describe_counter!(CONNECTIONS_REFUSED, "Connections that were turned away because too many were open.");
    describe_histogram!(COMMIT_SECONDS, "How long the store took to make a commit durable.");
    describe_histogram!(BATCH_COMMANDS, "How many commands shared one batch of a shard.");
    describe_counter!(FENCED_BATCHES, "Batches that were decided again because another server was first.");
    describe_gauge!(BODY_BYTES, "Memory of the request bodies that are being read or answered, in bytes.");
    describe_gauge!(QUEUE, "Commands that wait for a shard.");
    describe_gauge!(QUEUE_MAX, "Commands that may wait before callers are told to come back.");
    describe_gauge!(IN_MEMORY, "Inventories in memory.");
    describe_gauge!(UNITS, "Units of each inventory in memory, by state.");
    describe_gauge!(LIVE_HOLDS, "Bookings on hold in the inventories in memory.");
    describe_gauge!(EXPIRY_LAG, "How long ago something fell due that was not yet looked at.");
    describe_gauge!(SSE_CLIENTS, "Open live streams.");
    describe_gauge!(DRIFT, "Units that the mirror was last found to show other than they are.");
    describe_gauge!(BEHIND, "Inventories in memory that the mirror shows as they were a while ago.");
    describe_gauge!(STORE_AVAILABLE, "Whether the store answers (1) or is away (0).");
    describe_gauge!(REDIS_AVAILABLE, "Whether each Redis answers (1) or not (0); it is asked once a second.");
    describe_gauge!(kafka::AVAILABLE, "Whether Kafka answers, where commands go through it.");
    describe_gauge!(kafka::LAG, "Commands in the partitions of this server that it has not decided.");
    describe_counter!(kafka::REDELIVERED, "Commands that Kafka delivered again and that had been decided.");
    describe_counter!(kafka::DEAD_LETTERS, "Commands that were put aside because they cannot be decided.");
    describe_gauge!(WEBHOOK_BACKLOG, "Webhook messages that wait to be delivered.");
}

fn begin_at_zero() {
    let labels = [("method", "GET"), ("route", "/metrics"), ("status", "200")];
    counter!(REQUESTS, &labels).increment(0);
    SERVER_CODES.into_iter().for_each(|code| counter!(REFUSALS, "code" => code).increment(0));
    for name in [
        CONNECTIONS_REFUSED,
        FENCED_BATCHES,
        IDEMPOTENCY_REPLAYS,
        ATTEMPTS_DROPPED,
        HOLDS_EXPIRED,
        LOCK_FAILURES,
        kafka::REDELIVERED,
        kafka::DEAD_LETTERS,
    ] {
        counter!(name).increment(0);
    }
    for kind in scrub::InconsistencyKind::ALL {
        counter!(INCONSISTENCIES, "kind" => kind.word()).increment(0);
    }
    BookingCounters::get();
    for name in [
        BODY_BYTES,
        QUEUE,
        QUEUE_MAX,
        IN_MEMORY,
        LIVE_HOLDS,
        EXPIRY_LAG,
        SSE_CLIENTS,
        STORE_AVAILABLE,
        SCRUB_SKIPPED,
        WEBHOOK_BACKLOG,
        kafka::LAG,
    ] {
        gauge!(name).increment(0.0);
    }
    // Registered is enough for a histogram to be shown.
    for name in [REQUEST_SECONDS, COMMIT_SECONDS, BATCH_COMMANDS, EXPIRY_SWEEP_SECONDS, LOCK_WAIT_SECONDS] {
        drop(histogram!(name));
    }
}

fn counts_of(stock: &StockView) -> Counts {
    match &stock.kind {
        KindView::Event(event) => event.totals,
        KindView::Schedule(schedule) => total(schedule.slots.values().map(|slot| slot.pool.counts())),
        KindView::Shop(shop) => total(shop.boxes.iter().map(|boxed| boxed.pool.counts())),
    }
}

fn total(counts: impl Iterator<Item = Counts>) -> Counts {
    counts.reduce(Counts::plus).unwrap_or_default()
}

fn set_units(tenant: &str, inventory: &str, counts: Counts) {
    let states = [
        ("free", counts.available),
        ("held", counts.held),
        ("sold", counts.sold),
        ("blocked", counts.blocked),
    ];
    for (state, count) in states {
        let labels =
            [("tenant", tenant.to_owned()), ("inventory", inventory.to_owned()), ("state", state.to_owned())];
        gauge!(UNITS, &labels).set(f64::from(count));
    }
}

/// Anybody can make up methods, and every one would be counted for ever.
fn method_word(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// One request answered.
pub(crate) fn count_request(method: &Method, route: &str, status: StatusCode, took: Duration) {
    let labels = [
        ("method", method_word(method).to_owned()),
        ("route", route.to_owned()),
        ("status", status.as_u16().to_string()),
    ];
    counter!(REQUESTS, &labels).increment(1);
    histogram!(REQUEST_SECONDS).record(took.as_secs_f64());
}

/// One booking made through the express lane: the same as [`count_request`], without looking the counters up.
pub(crate) fn count_booking(took: Duration) {
    static COUNTERS: OnceLock<(Counter, Histogram)> = OnceLock::new();
    let (requests, seconds) = COUNTERS.get_or_init(|| {
        let labels = [("method", "POST"), ("route", "/v1/bookings"), ("status", "201")];
        (counter!(REQUESTS, &labels), histogram!(REQUEST_SECONDS))
    });
    requests.increment(1);
    seconds.record(took.as_secs_f64());
}

/// The counters of booking attempts, looked up once: a sale counts a hundred thousand a second.
struct BookingCounters {
    of_kind: [KindCounters; 3],
    /// Of requests that do not say which kind.
    of_no_kind: KindCounters,
}

struct KindCounters {
    granted: Counter,
    /// One for each of [`CODES`], in that order.
    not_granted: Vec<Counter>,
}

impl BookingCounters {
    fn get() -> &'static BookingCounters {
        static COUNTERS: OnceLock<BookingCounters> = OnceLock::new();
        COUNTERS.get_or_init(|| BookingCounters {
            of_kind: [InventoryKind::Event, InventoryKind::Schedule, InventoryKind::Shop]
                .map(|kind| KindCounters::new(kind.word())),
            of_no_kind: KindCounters::new("unknown"),
        })
    }
}

impl KindCounters {
    fn new(kind: &'static str) -> KindCounters {
        let attempts = |result: &'static str, code: &'static str| {
            let counter = counter!(BOOKINGS, "kind" => kind, "result" => result, "code" => code);
            counter.increment(0);
            counter
        };
        KindCounters {
            granted: attempts("granted", ""),
            not_granted: CODES
                .iter()
                .map(|listed| attempts(result_word(listed.status), listed.code))
                .collect(),
        }
    }
}

/// What became of a booking attempt that was not granted: `failed` if the server is to blame, `refused` if the request or
/// the stock is.
pub(crate) fn result_word(status: u16) -> &'static str {
    if status >= 500 { "failed" } else { "refused" }
}

/// One booking granted; not if it is the answer of an idempotency key again.
pub(crate) fn count_granted(kind: InventoryKind) {
    BookingCounters::get().of_kind[kind as usize].granted.increment(1);
}

/// One booking attempt that was refused or failed; of no kind if the request does not name exactly one inventory.
pub(crate) fn count_not_granted(kind: Option<InventoryKind>, code: &'static str) {
    let counters = BookingCounters::get();
    let of_kind = kind.map_or(&counters.of_no_kind, |kind| &counters.of_kind[kind as usize]);
    if let Some(at) = CODES.iter().position(|listed| listed.code == code) {
        of_kind.not_granted[at].increment(1);
    }
}

/// One attempt that is neither logged nor listed.
pub(crate) fn count_dropped_attempt() {
    static DROPPED: OnceLock<Counter> = OnceLock::new();
    DROPPED.get_or_init(|| counter!(ATTEMPTS_DROPPED)).increment(1);
}

/// One request that was answered with its first answer.
pub(crate) fn count_replay() {
    static REPLAYS: OnceLock<Counter> = OnceLock::new();
    REPLAYS.get_or_init(|| counter!(IDEMPOTENCY_REPLAYS)).increment(1);
}

/// One refusal or error, by its code.
pub(crate) fn count_code(code: &'static str) {
    counter!(REFUSALS, "code" => code).increment(1);
}

/// So many live streams more, or fewer.
pub(crate) fn count_streams(difference: f64) {
    gauge!(SSE_CLIENTS).increment(difference);
}
