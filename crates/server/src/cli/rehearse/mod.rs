//! `boxoffice rehearse`: an on-sale over HTTP before the real one, and whether every promise was kept.

mod audit;
mod chart;
mod connection;
mod drive;
mod hall;
mod own_server;
mod plan;
mod report;
mod results;
mod sale;
mod tally;
mod waits;
mod words;

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::Method;
use boxoffice_core::limits::SEATS_PER_EVENT_MAX;
use boxoffice_engine::Clock;
use boxoffice_engine::private_files::replace_file;
use boxoffice_engine::store::Store;
use clap::Args;
use clap::builder::{FalseyValueParser, RangedU64ValueParser};
use clap::value_parser;
use serde_json::json;

use self::audit::{Check, Stats};
use self::drive::Road;
use self::own_server::{Directory, OwnServer};
use self::plan::{Arrivals, GroupSizes, Plan};
use self::results::{Circumstances, Results};
use self::sale::{Oddities, Sale};
use super::client::Server;
use super::console::{Failure, LogFormat, counting, log, say, watching};
use super::serve::raise_open_files;
use super::{store, verify};
use crate::time::Moment;
use words::{count, duration, grouped};

/// What is rehearsed. Without a server it starts one of its own, with a temporary store.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// A running server, such as http://127.0.0.1:8080, instead of one of its own.
    #[arg(long, env = "BOXOFFICE_REHEARSE_SERVER")]
    server: Option<String>,
    /// An admin's key of the server; with --event an operator's is enough.
    #[arg(long, env = "BOXOFFICE_REHEARSE_KEY", hide_env_values = true, requires = "server")]
    key: Option<String>,
    /// Let the server be on another machine. It will be loaded as hard as this machine can.
    #[arg(long, env = "BOXOFFICE_REHEARSE_ALLOW_REMOTE", value_parser = FalseyValueParser::new())]
    allow_remote: bool,
    /// An event of the server whose seats are sold, instead of a hall made for the rehearsal. These are real bookings; they stay.
    #[arg(long, env = "BOXOFFICE_REHEARSE_EVENT", requires = "server")]
    event: Option<String>,
    /// Sell the seats of an event that was not made for the rehearsal.
    #[arg(long, env = "BOXOFFICE_REHEARSE_YES", value_parser = FalseyValueParser::new())]
    yes: bool,
    /// Seats of the hall that is made.
    #[arg(long, env = "BOXOFFICE_REHEARSE_SEATS", default_value_t = 2_000, value_parser = value_parser!(u32).range(1..=i64::from(SEATS_PER_EVENT_MAX)))]
    seats: u32,
    /// Buyers who come.
    #[arg(long, env = "BOXOFFICE_REHEARSE_BUYERS", default_value_t = 2_000, value_parser = value_parser!(u32).range(1..=BUYERS_MAX))]
    buyers: u32,
    /// How they come.
    #[arg(long, env = "BOXOFFICE_REHEARSE_ARRIVALS", default_value = "spike")]
    arrivals: Arrivals,
    /// In how many seconds they come, if not all at once.
    #[arg(long, env = "BOXOFFICE_REHEARSE_OVER_SECONDS", default_value_t = 10, value_parser = value_parser!(u32).range(1..=DURATION_SECONDS_MAX))]
    over_seconds: u32,
    /// How many seats each wants: a number such as 2, or two such as 1-4.
    #[arg(long, env = "BOXOFFICE_REHEARSE_GROUP", default_value = "1")]
    group: GroupSizes,
    /// Of a hundred buyers, those who look at the map first.
    #[arg(long, env = "BOXOFFICE_REHEARSE_LOOK", default_value_t = 0, value_name = "PERCENT", value_parser = value_parser!(u32).range(0..=100))]
    look: u32,
    /// Of a hundred buyers, those who choose their seats on the map instead of taking the best available.
    #[arg(long, env = "BOXOFFICE_REHEARSE_PICK", default_value_t = 0, value_name = "PERCENT", value_parser = value_parser!(u32).range(0..=100))]
    pick: u32,
    /// Of a hundred buyers, those who send their request twice at once, with the same idempotency key.
    #[arg(long, env = "BOXOFFICE_REHEARSE_REPEAT", default_value_t = 2, value_name = "PERCENT", value_parser = value_parser!(u32).range(0..=100))]
    repeat: u32,
    /// Buyers hold their seats, think, and then pay or walk away, instead of paying with the booking.
    #[arg(long, env = "BOXOFFICE_REHEARSE_HOLD", value_parser = FalseyValueParser::new())]
    hold: bool,
    /// How long they think before they pay, in milliseconds: half to one and a half times as long.
    #[arg(long, env = "BOXOFFICE_REHEARSE_THINK_MS", default_value_t = 2_000, value_parser = value_parser!(u32).range(0..=600_000))]
    think_ms: u32,
    /// Of a hundred buyers who hold, those who walk away.
    #[arg(long, env = "BOXOFFICE_REHEARSE_ABANDON", default_value_t = 10, value_name = "PERCENT", value_parser = value_parser!(u32).range(0..=100))]
    abandon: u32,
    /// From which everything random follows; any number if not set. It is printed.
    #[arg(long, env = "BOXOFFICE_REHEARSE_SEED")]
    seed: Option<u32>,
    /// Connections for bookings; as many again for maps and payments, if there are any.
    #[arg(long, env = "BOXOFFICE_REHEARSE_CONNECTIONS", default_value_t = 64, value_parser = RangedU64ValueParser::<usize>::new().range(1..=CONNECTIONS_MAX))]
    connections: usize,
    /// Bookings that may be under way on one connection. 1 for servers behind proxies that cannot do more.
    #[arg(long, env = "BOXOFFICE_REHEARSE_IN_FLIGHT", default_value_t = 32, value_parser = RangedU64ValueParser::<usize>::new().range(1..=IN_FLIGHT_MAX))]
    in_flight: usize,
    /// The sale is broken off after so many seconds; whoever waits then got no answer.
    #[arg(long, env = "BOXOFFICE_REHEARSE_DURATION_MAX_SECONDS", default_value_t = 300, value_parser = value_parser!(u32).range(1..=DURATION_SECONDS_MAX))]
    duration_max_seconds: u32,
    /// Where the report for people is written.
    #[arg(long, env = "BOXOFFICE_REHEARSE_REPORT", default_value = "./rehearsal.html")]
    report: PathBuf,
    /// Where the results for programs are written.
    #[arg(long, env = "BOXOFFICE_REHEARSE_JSON", default_value = "./rehearsal.json")]
    json: PathBuf,
}

/// One machine can play so many; their outcomes are ten megabytes.
const BUYERS_MAX: i64 = 10_000_000;
/// An hour.
const DURATION_SECONDS_MAX: i64 = 3_600;
/// Each is an open file, here and at the server.
const CONNECTIONS_MAX: u64 = 4_096;
/// What is under way on one connection fits the buffers of the system, so that neither side waits for the other to read.
const IN_FLIGHT_MAX: u64 = 64;

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    log(LogFormat::Text, "warn");
    let results = rehearse(options).map_err(Failure::could_not_run)?;
    let json = serde_json::to_vec_pretty(&results).map_err(Failure::from);
    write(&options.report, report::page(&results).as_bytes())
        .and_then(|()| write(&options.json, &json?))
        .map_err(Failure::could_not_run)?;
    tell(options, &results)?;
    match results.first_broken() {
        None => Ok(()),
        Some(check) => {
            Err(Failure::new(format!("a promise was broken: {}: {}", check.promise, check.detail)))
        }
    }
}

/// Writes a report, which names the server and what is left for sale there.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    replace_file(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Rehearses and audits.
fn rehearse(options: &Options) -> Result<Results, Failure> {
    raise_open_files();
    let plan = options.plan();
    match &options.server {
        Some(url) => {
            let server = Server::new(url, options.key.clone())?;
            let address = options.reach(&server)?;
            let (event, before) = options.prepare(&server, &plan)?;
            let sale = options.sell(&server, address, plan, &event, before)?;
            let (checks, after) = read_back(&server, &sale)?;
            options.retire(&server, &sale.event)?;
            Ok(Results::new(&sale, before, after, checks, options.circumstances(&sale)))
        }
        None => {
            let directory = Directory::new(plan.seed)?;
            let own = OwnServer::start(&directory.store())?;
            let server = Server::new(&own.url(), None)?;
            let (event, before) = options.prepare(&server, &plan)?;
            let sale = options.sell(&server, options.reach(&server)?, plan, &event, before)?;
            own.close()?;
            // What was acknowledged has to be there for whoever comes next.
            let own = OwnServer::start(&directory.store())?;
            let (mut checks, after) = read_back(&Server::new(&own.url(), None)?, &sale)?;
            own.close()?;
            checks.push(replay(&directory)?);
            Ok(Results::new(&sale, before, after, checks, options.circumstances(&sale)))
        }
    }
}

impl Options {
    fn plan(&self) -> Plan {
        Plan {
            seed: self.seed.unwrap_or_else(rand::random).into(),
            buyers: self.buyers,
            arrivals: self.arrivals,
            over: Duration::from_secs(self.over_seconds.into()),
            group: self.group,
            look_percent: self.look,
            pick_percent: self.pick,
            repeat_percent: self.repeat,
            hold: self.hold,
            think_ms: self.think_ms,
            abandon_percent: self.abandon,
        }
    }

    /// Where the server is, if it may be loaded.
    fn reach(&self, server: &Server) -> Result<SocketAddr, Failure> {
        let addresses = server.addresses()?;
        if let Some(elsewhere) = addresses.iter().find(|address| !address.ip().is_loopback())
            && !self.allow_remote
        {
            return Err(Failure::new(format!(
                "{} is not this machine, and a rehearsal loads a server as hard as it can; say --allow-remote if it is yours",
                elsewhere.ip()
            )));
        }
        addresses.first().copied().ok_or_else(|| Failure::new("the server's name leads nowhere"))
    }

    /// The event that is sold, and what is left of it.
    fn prepare(&self, server: &Server, plan: &Plan) -> Result<(String, Stats), Failure> {
        let id = match &self.event {
            Some(id) if self.yes => id.clone(),
            Some(id) => {
                let left = audit::event(server, id)?.stats.available;
                return Err(Failure::new(format!(
                    "the rehearsal would make real bookings of the {} of {id:?}, and they would stay; say --yes if that is what you want",
                    count(left, "free unit", "free units")
                )));
            }
            None => {
                let id = format!("rehearsal-{:x}-{:08x}", plan.seed, rand::random::<u32>());
                server.ask(
                    Method::POST,
                    "/v1/events",
                    Some(&hall::description(&id, self.seats, plan.group.most)),
                )?;
                id
            }
        };
        let stats = audit::event(server, &id)?.stats;
        Ok((id, stats))
    }

    /// Nobody should buy a seat in a hall that was made for a rehearsal.
    fn retire(&self, server: &Server, event: &str) -> Result<(), Failure> {
        if self.event.is_none() {
            server.ask(
                Method::PATCH,
                &format!("/v1/events/{event}"),
                Some(&json!({ "status": "closed" })),
            )?;
        }
        Ok(())
    }

    fn sell(
        &self,
        server: &Server,
        address: SocketAddr,
        plan: Plan,
        event: &str,
        before: Stats,
    ) -> Result<Sale, Failure> {
        let sale = Sale::new(plan, event.to_owned(), &audit::seat_map(server, event)?);
        if sale.hall.seats() == 0 {
            return Err(Failure::new(format!("{event:?} has no seats; only seats can be rehearsed")));
        }
        let road = Road {
            address,
            lines: server.head_lines(),
            connections: self.connections,
            in_flight_max: self.in_flight,
            duration_max: Duration::from_secs(self.duration_max_seconds.into()),
        };
        let bar = watching("selling");
        bar.set_length(before.available);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sold = runtime.block_on(drive::drive(sale, road, |sale| {
            bar.set_position(sale.tally.seats_taken);
            bar.set_message(progress(sale, before));
        }));
        bar.finish_and_clear();
        let sold = sold?;
        if sold.tally.requests() == 0 {
            return Err(Failure::new("nobody was answered, so there is nothing to judge"));
        }
        Ok(sold)
    }

    fn circumstances(&self, sale: &Sale) -> Circumstances {
        Circumstances {
            made_at: Moment(Clock::system().now()).to_string(),
            version: env!("CARGO_PKG_VERSION"),
            server: self.server.clone(),
            event: sale.event.clone(),
            connections: self.connections,
            in_flight_max: self.in_flight,
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: memory_gib(),
            command: self.command(&sale.plan),
        }
    }

    /// The command that does the same again. A key is not for reports.
    fn command(&self, plan: &Plan) -> String {
        let mut command = "boxoffice rehearse".to_owned();
        if let Some(server) = &self.server {
            command += &format!(" --server {server}");
        }
        match &self.event {
            Some(event) => command += &format!(" --event {event} --yes"),
            None => command += &format!(" --seats {}", self.seats),
        }
        command +=
            &format!(" --buyers {} --group {} --repeat {}", plan.buyers, plan.group, plan.repeat_percent);
        let arrivals = match plan.arrivals {
            Arrivals::Spike => " --arrivals spike".to_owned(),
            Arrivals::Ramp => format!(" --arrivals ramp --over-seconds {}", self.over_seconds),
            Arrivals::Steady => format!(" --arrivals steady --over-seconds {}", self.over_seconds),
        };
        command += &arrivals;
        if plan.look_percent + plan.pick_percent > 0 {
            command += &format!(" --look {} --pick {}", plan.look_percent, plan.pick_percent);
        }
        if plan.hold {
            command += &format!(" --hold --think-ms {} --abandon {}", plan.think_ms, plan.abandon_percent);
        }
        command
            + &format!(
                " --connections {} --in-flight {} --seed {}",
                self.connections, self.in_flight, plan.seed
            )
    }
}

fn read_back(server: &Server, sale: &Sale) -> Result<(Vec<Check>, Stats), Failure> {
    let bar = counting("reading back");
    bar.set_length(sale.acknowledged.len() as u64);
    let audited = audit::audit(server, sale, |read| bar.set_position(read));
    bar.finish_and_clear();
    audited
}

/// The last promise can be proved only where the store is ours.
fn replay(directory: &Directory) -> Result<Check, Failure> {
    let store = store::open(&directory.store())?;
    let mut oddities = Oddities::default();
    let proved = verify::prove(&store);
    store.close()?;
    let compared = match &proved {
        Ok(report) => verify::describe(report),
        Err(difference) => {
            oddities.add(|| difference.to_string());
            String::new()
        }
    };
    Ok(Check::new("The journal replays to the same state", &oddities, compared))
}

/// One line on how it is going.
fn progress(sale: &Sale, before: Stats) -> String {
    let tally = &sale.tally;
    let left = before.available.saturating_sub(tally.seats_taken);
    let per_second = tally.requests() as f64 / tally.last_answer.as_secs_f64().max(0.001);
    let wait = |percent| tally.books.percentile_ms(percent).map_or("-".to_owned(), duration);
    let refused: Vec<String> =
        tally.refused.iter().map(|(code, count)| format!("{code} {}", grouped(*count))).collect();
    format!(
        "{} left  {}/s  p50 {}  p99 {}  {}",
        count(left, "seat", "seats"),
        grouped(per_second as u64),
        wait(50.0),
        wait(99.0),
        refused.join(" "),
    )
}

fn tell(options: &Options, results: &Results) -> Result<(), Failure> {
    say(report::headline(results))?;
    say(report::lead(results))?;
    let buyers = &results.buyers;
    say(format!(
        "  buyers    {} bought, {} turned away, {} held and left, {} too late, {} without a useful answer",
        grouped(buyers.bought),
        grouped(buyers.refused),
        grouped(buyers.left),
        grouped(buyers.too_late),
        grouped(buyers.lost()),
    ))?;
    if let Some(waits) = &results.booking_waits {
        let [p50, p99, longest] = [waits.p50_ms, waits.p99_ms, waits.longest_ms].map(duration);
        say(format!("  waits     p50 {p50}, p99 {p99}, longest {longest}, from when each was due"))?;
    }
    let per_second = results.requests_per_second.round() as u64;
    say(format!(
        "  rate      {} answers in {}: {} a second",
        grouped(results.requests),
        duration(results.took_ms),
        grouped(per_second)
    ))?;
    if !results.refusals.is_empty() {
        let refusals: Vec<String> =
            results.refusals.iter().map(|(code, count)| format!("{} {code}", grouped(*count))).collect();
        say(format!("  refusals  {}", refusals.join(", ")))?;
    }
    for check in &results.checks {
        say(format!(
            "  {}  {}: {}",
            if check.held { "kept    " } else { "BROKEN  " },
            check.promise,
            check.detail
        ))?;
    }
    say(format!("  report    {} and {}", options.report.display(), options.json.display()))?;
    say(format!("  again     {}", results.circumstances.command))
}

fn memory_gib() -> Option<f64> {
    let memory = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib: f64 = memory.lines().next()?.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0 / 1024.0)
}
