//! A process to be killed: hammers an embedded store and writes down what it was told. See `boxoffice_sim::hammer`.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Instant;

use boxoffice_engine::store::EmbeddedStore;
use boxoffice_engine::{Clock, Engine, Settings, StopReason, SubmitError};
use boxoffice_sim::hammer::audit::{self, Scope};
use boxoffice_sim::hammer::client::{self, OnSale, Shared};
use boxoffice_sim::hammer::fill::{self, Stadiums};
use boxoffice_sim::hammer::history::History;
use boxoffice_sim::hammer::log;
use boxoffice_sim::hammer::log::{Line, Log};

const USAGE: &str = "usage: hammer <mode> --store DIRECTORY --log FILE [options]

  run     clients book, pay, cancel and repeat themselves   --seed N --clients N --commands N --only-hall --log-bytes N
          without --commands until the process is killed
  fill    makes bookings as fast as it can                  --bookings N --seats N --wait
          in stadiums of so many seats, and waits to be killed
  check   opens the store and audits it against the log

A dot on the standard output stands for an answer that is in the log, or for thousands of them when filling.
The exit code is 0 after an orderly end, 2 if the arguments are wrong, 3 if the store failed, 4 if the disk is full, 5 after
a panic, 1 for anything else.
";

/// Of the store's log while clients run: little, so that a life fills it many times.
const LOG_BYTES_MAX: u64 = 128 * 1024;
/// Of one stadium, if nobody says otherwise.
const STADIUM_SEATS: u64 = 50_000;

#[derive(Default)]
struct Arguments {
    mode: String,
    store: PathBuf,
    log: PathBuf,
    seed: u64,
    clients: Option<u64>,
    commands: Option<i64>,
    bookings: Option<u64>,
    seats: Option<u64>,
    only_hall: bool,
    log_bytes: Option<u64>,
    wait: bool,
}

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let Some(arguments) = read_arguments() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(async {
            match arguments.mode.as_str() {
                "run" => run(&arguments).await,
                "fill" => fill_stadium(&arguments).await,
                "check" => check(&arguments).await,
                other => Err(format!("no such mode: {other}").into()),
            }
        }),
        Err(error) => Err(error.into()),
    };
    result.unwrap_or_else(|error| {
        eprintln!("hammer: {error}");
        ExitCode::FAILURE
    })
}

fn read_arguments() -> Option<Arguments> {
    let mut given = std::env::args().skip(1);
    let mut arguments = Arguments { mode: given.next()?, ..Arguments::default() };
    while let Some(name) = given.next() {
        match name.as_str() {
            "--store" => arguments.store = given.next()?.into(),
            "--log" => arguments.log = given.next()?.into(),
            "--seed" => arguments.seed = given.next()?.parse().ok()?,
            "--clients" => arguments.clients = Some(given.next()?.parse().ok()?),
            "--commands" => arguments.commands = Some(given.next()?.parse().ok()?),
            "--bookings" => arguments.bookings = Some(given.next()?.parse().ok()?),
            "--seats" => arguments.seats = Some(given.next()?.parse().ok()?),
            "--only-hall" => arguments.only_hall = true,
            "--log-bytes" => arguments.log_bytes = Some(given.next()?.parse().ok()?),
            "--wait" => arguments.wait = true,
            _ => return None,
        }
    }
    Some(arguments)
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let history = History::of(&arguments.log)?;
    let log_bytes = arguments.log_bytes.unwrap_or(LOG_BYTES_MAX);
    let store = Arc::new(EmbeddedStore::open_gathering(&arguments.store, log_bytes)?);
    let engine = Engine::start(store, Clock::system(), &Settings::default())?;
    let log = Arc::new(Log::open(&arguments.log)?);
    hammer(arguments, &engine, &log, &history).await?;
    finish(&engine, &log).await
}

/// Clients end by themselves when the engine does.
async fn hammer(
    arguments: &Arguments,
    engine: &Engine,
    log: &Arc<Log>,
    history: &History,
) -> Result<(), Failure> {
    let on_sale = match OnSale::prepare(engine, arguments.only_hall).await {
        Ok(on_sale) => Arc::new(on_sale),
        // The engine says why when it is closed.
        Err(SubmitError::OutcomeUnknown | SubmitError::Stopped) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let left = Arc::new(AtomicI64::new(arguments.commands.unwrap_or(i64::MAX)));
    let shared = Shared { engine: engine.clone(), log: Arc::clone(log), on_sale, left };
    client::resend_open(&shared, history).await;
    let clients = (0..arguments.clients.unwrap_or(48))
        .map(|number| tokio::spawn(client::run(shared.clone(), seed_of(arguments.seed, number))))
        .collect::<Vec<_>>();
    for client in clients {
        client.await?;
    }
    Ok(())
}

/// Ends the engine, and says how it ended. What is in memory can be read whatever happened.
async fn finish(engine: &Engine, log: &Log) -> Result<ExitCode, Failure> {
    let Err(reason) = engine.close() else { return Ok(ExitCode::SUCCESS) };
    log.write(&Line::Stopped(reason.to_string()));
    for listed in engine.inventories() {
        let (sequence, bookings) = engine.bookings(listed.number).await?;
        let view = engine.view(listed.number).await?;
        log.write(&Line::Read(format!("view of {} at {}", listed.name, view.sequence)));
        log.write(&Line::Read(format!("{} bookings at {sequence}", bookings.len())));
        if let Some(booking) = bookings.last() {
            let found = engine.booking("", booking.id).await?;
            let found = found.is_some_and(|(number, found)| (number, &found) == (listed.number, booking));
            let id = log::hexadecimal(&booking.id.to_bytes());
            log.write(&Line::Read(format!("booking {id}, found again: {found}")));
        }
    }
    Ok(ExitCode::from(match reason {
        StopReason::Asked => 0,
        StopReason::StoreFailed(_) => 3,
        StopReason::DiskFull(_) => 4,
        StopReason::Panicked(_) => 5,
    }))
}

async fn fill_stadium(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let log = Log::open(&arguments.log)?;
    let engine = Engine::open(&arguments.store, &Settings::default())?;
    let started = Instant::now();
    let bookings = arguments.bookings.unwrap_or(1_000_000);
    fill::fill(&engine, &log, bookings, arguments.seats.unwrap_or(STADIUM_SEATS)).await?;
    say(&format!("filled {bookings} in {} ms", started.elapsed().as_millis()));
    if arguments.wait {
        engine.stopped().await;
    }
    finish(&engine, &log).await
}

async fn check(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let history = History::of(&arguments.log)?;
    let started = Instant::now();
    let engine = Engine::open(&arguments.store, &Settings::default())?;
    let opened = started.elapsed();
    if let Some(stadiums) = Stadiums::of(&engine) {
        // The first one again: it is answered from the key, as soon as its stadium is in memory.
        engine.submit(stadiums.inventory_of(0), stadiums.command_of(0)).await?;
    }
    say(&format!("ready {} opened {}", started.elapsed().as_millis(), opened.as_millis()));
    engine.close()?;
    drop(engine);
    let report = audit::audit(&arguments.store, &history, Scope::Everything).await?;
    say(&report.to_string());
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn say(words: &str) {
    let mut output = std::io::stdout().lock();
    // Nobody has to listen.
    drop(writeln!(output, "{words}").and_then(|()| output.flush()));
}

/// Different for each client of each life.
fn seed_of(seed: u64, client: u64) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(&client.to_le_bytes());
    u64::from_le_bytes(*hasher.finalize().as_bytes().first_chunk().expect("a hash has 32 bytes"))
}
