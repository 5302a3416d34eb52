//! A hundred thousand holds that end in the same second, while bookings go on.
//!
//! `cargo bench -p boxoffice-engine --bench expiry` makes the holds, waits for their second, and follows the journal: how
//! late was each ended (from its deadline until a subscriber had the batch), and was each ended once.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use boxoffice_core::booking::Status;
use boxoffice_core::change::Change;
use boxoffice_core::command::{Action, Command};
use boxoffice_core::commands::{BestAvailable, Book, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::ids::BookingId;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::{Engine, InventoryNumber, Settings};

const HOLDS: usize = 100_000;
const HOLD_SECONDS: u32 = 12;
const BOOKINGS_PER_SECOND: u64 = 20_000;
const TICK: Duration = Duration::from_millis(10);

#[tokio::main]
async fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{HOLDS} holds of one event end in one second; {BOOKINGS_PER_SECOND} bookings/s go on; {cores} cores"
    );
    let directory = tempfile::tempdir().expect("a directory");
    let engine = Engine::open(&directory.path().join("store"), &Settings::default()).expect("a new store");
    let hall = create_hall(&engine).await;

    let commands = (0..HOLDS).map(|_| (hall, hold(&engine, hall, HOLD_SECONDS))).collect();
    let mut deadlines: HashMap<BookingId, Timestamp> = HashMap::new();
    for answer in hold_all(&engine, commands).await {
        let (id, expires_at) = answer;
        deadlines.insert(id, expires_at);
    }
    let (first, last) =
        (deadlines.values().min().expect("holds").0, deadlines.values().max().expect("holds").0);
    println!("their deadlines lie within {} ms", last - first);
    assert!(last - first <= 1_000, "the machine is too slow to make {HOLDS} holds in a second");

    let sequence = engine.view(hall).await.expect("the hall").sequence;
    let mut journal = engine.subscribe(hall, sequence).await.expect("a subscription");
    let done = Arc::new(AtomicBool::new(false));
    let booked = Arc::new(AtomicU64::new(0));
    let load = tokio::spawn(go_on_booking(engine.clone(), hall, Arc::clone(&done), Arc::clone(&booked)));

    let mut lags = Vec::with_capacity(HOLDS);
    while lags.len() < HOLDS {
        let batch = journal.next().await.expect("the journal");
        let now = engine.now();
        for change in &*batch.changes {
            let Change::Expired { booking } = change else { continue };
            let deadline = deadlines.remove(booking).expect("each hold ends once");
            assert!(now >= deadline, "a hold ended early");
            lags.push(now.0 - deadline.0);
        }
    }
    done.store(true, Ordering::Relaxed);
    let (rate, mut latencies) = load.await.expect("the load");
    lags.sort_unstable();
    latencies.sort_unstable();
    println!("each of {} ended once, none early", lags.len());
    println!(
        "lag: p50 {} ms, p99 {} ms (under 200), worst {} ms",
        lags[HOLDS / 2],
        lags[HOLDS * 99 / 100],
        lags[HOLDS - 1]
    );
    println!(
        "meanwhile {rate:.0} bookings/s, answered within p50 {:.1?}, p99 {:.1?}, worst {:.1?}",
        latencies[latencies.len() / 2],
        latencies[latencies.len() * 99 / 100],
        latencies[latencies.len() - 1]
    );
    engine.close().expect("a clean end");
}

/// Books at a steady rate, in groups, until it is told to stop.
async fn go_on_booking(
    engine: Engine,
    hall: InventoryNumber,
    done: Arc<AtomicBool>,
    booked: Arc<AtomicU64>,
) -> (f64, Vec<Duration>) {
    let started = Instant::now();
    let mut latencies = Vec::new();
    let mut pending = Vec::new();
    let mut ticks = tokio::time::interval(TICK);
    while !done.load(Ordering::Relaxed) {
        ticks.tick().await;
        let due = (started.elapsed().as_secs_f64() * BOOKINGS_PER_SECOND as f64) as u64;
        let group = due - booked.load(Ordering::Relaxed);
        booked.store(due, Ordering::Relaxed);
        let commands = (0..group).map(|_| (hall, hold(&engine, hall, 86_400))).collect();
        let engine = engine.clone();
        pending.push(tokio::spawn(async move {
            let began = Instant::now();
            for answer in engine.submit_all(commands).await {
                assert!(matches!(answer.expect("an answer").outcome, Outcome::Granted(_)));
            }
            began.elapsed()
        }));
    }
    let rate = booked.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64();
    for group in pending {
        latencies.push(group.await.expect("a group"));
    }
    (rate, latencies)
}

/// As many at a time as the queue takes.
async fn hold_all(engine: &Engine, commands: Vec<(InventoryNumber, Command)>) -> Vec<(BookingId, Timestamp)> {
    let mut groups = Vec::new();
    for group in commands.chunks(HOLDS / 5) {
        groups.push(engine.submit_all(group.to_vec()).await);
    }
    let held = |answer: Result<boxoffice_engine::Answer, _>| match answer.expect("an answer").outcome {
        Outcome::Granted(Grant::Booking(booking)) => match booking.status {
            Status::OnHold { expires_at } => (booking.id, expires_at),
            other => panic!("not a hold: {other:?}"),
        },
        other => panic!("not a hold: {other:?}"),
    };
    groups.into_iter().flatten().map(held).collect()
}

async fn create_hall(engine: &Engine) -> InventoryNumber {
    let subsections = vec![SubsectionPlan { number: 1, rows: 1_000, cols: 1_000, blocked: Vec::new() }];
    let section = SectionPlan { name: "A".to_owned(), price: Money(3_000), subsections };
    let mut create = CreateEvent::new("hall", "Hall", Currency(*b"TWD"), vec![section]);
    create.rules.max_hold_seconds = Some(86_400);
    let answer = engine.submit_to("hall", Command::of(Action::CreateEvent(Box::new(create)))).await;
    assert!(matches!(answer.expect("an answer").outcome, Outcome::Granted(_)));
    engine.number("hall").expect("just created")
}

fn hold(engine: &Engine, hall: InventoryNumber, seconds: u32) -> Command {
    let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let id = engine.new_booking_id(hall);
    let mut book = Book::new(id, &format!("{:?}", id.to_bytes()), want, engine.new_redeem_code());
    book.hold_ttl_seconds = Some(seconds);
    Command::of(Action::Book(Box::new(book)))
}
