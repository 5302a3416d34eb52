//! Durable bookings through the engine, beside what the disk and the store below can do at best.
//!
//! `cargo bench -p boxoffice-engine` prints all figures of one run, side by side; read the ratios. The store lies in a
//! temporary directory (`TMPDIR` chooses the disk). Every line is measured in slices that alternate with the others, so that
//! a disk that is slow for a while is slow for all.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{BestAvailable, Book, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::ids::Actor;
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;
use boxoffice_engine::{Engine, InventoryNumber, Settings};
use redb::{Database, TableDefinition};

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RECORDS: TableDefinition<u64, &[u8]> = TableDefinition::new("records");
const SLICES: usize = 5;
const SLICE: Duration = Duration::from_millis(1_500);

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cores} cores; each figure is the median of {SLICES} slices of {SLICE:?}, taken in turn");
    let directory = tempfile::tempdir().expect("a directory");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(cores).build().expect("a runtime");
    let bytes = bytes_per_booking(directory.path(), &runtime);
    println!("{bytes} bytes of journal a booking");
    println!();

    let mut rivals = Rivals::new(directory.path(), bytes);
    let mut lines: Vec<(String, Vec<Sample>)> = Vec::new();
    for slice in 0..SLICES {
        let mut measured = vec![
            ("one fsync per booking".to_owned(), rivals.one_fsync_per_booking()),
            ("one redb commit per booking".to_owned(), rivals.redb_commits(1)),
        ];
        for (clients, group, halls) in [(1, 1, 1), (64, 1, 1), (4_096, 1, 1), (8, 512, 1), (8, 512, 8)] {
            let store = directory.path().join(format!("engine-{slice}-{clients}-{halls}"));
            let sample = runtime.block_on(engine_bookings(&store, clients, group, halls));
            if clients > 1 {
                let batch = sample.bookings_per_commit.round().max(1.0) as usize;
                measured
                    .push(("raw redb, batches as in the next line".to_owned(), rivals.redb_commits(batch)));
            }
            let name = match group {
                1 => format!("engine, {clients} outstanding"),
                _ => {
                    format!("engine, {} outstanding, {group} a call, halls: {halls}", clients as u64 * group)
                }
            };
            measured.push((name, sample));
            // The disk must not fill with what was measured.
            let _ = std::fs::remove_dir_all(store);
        }
        for (index, (name, sample)) in measured.into_iter().enumerate() {
            if lines.len() <= index {
                lines.push((name, Vec::new()));
            }
            lines[index].1.push(sample);
        }
    }
    println!(
        "{:<36} {:>12} {:>14} {:>12} {:>14}",
        "", "bookings/s", "CPU us/booking", "p50 us", "bookings/commit"
    );
    let mut medians = Vec::new();
    for (name, samples) in &lines {
        let median = Sample::median(samples);
        println!(
            "{name:<36} {:>12.0} {:>14.2} {:>12.0} {:>14.1}",
            median.per_second, median.cpu_us, median.p50_us, median.bookings_per_commit
        );
        medians.push(median);
    }
    let [fsync, one_commit, one, _, few, _, many, raw, grouped, _, spread] =
        medians.try_into().expect("eleven lines");
    println!();
    println!("engine, durable bookings/s with 4,096 outstanding (at least 400000):");
    println!("  one hall, one by one {:.0}, in groups {:.0}", many.per_second, grouped.per_second);
    println!("  eight halls, in groups {:.0}", spread.per_second);
    println!(
        "  one hall in groups / raw redb commits of the same batches: {:.2} (at least 0.5)",
        grouped.per_second / raw.per_second
    );
    println!("  one hall in groups / one fsync per booking: {:.0}", grouped.per_second / fsync.per_second);
    println!("engine with 64 outstanding / one fsync per booking: {:.1}", few.per_second / fsync.per_second);
    println!("p50 with 1 outstanding / one redb commit: {:.2} (at most 1.5)", one.p50_us / one_commit.p50_us);
}

/// What one slice showed.
#[derive(Debug, Clone, Copy)]
struct Sample {
    per_second: f64,
    cpu_us: f64,
    p50_us: f64,
    bookings_per_commit: f64,
}

impl Sample {
    fn median(samples: &[Sample]) -> Sample {
        let of = |figure: fn(&Sample) -> f64| {
            let mut figures: Vec<f64> = samples.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures[figures.len() / 2]
        };
        Sample {
            per_second: of(|sample| sample.per_second),
            cpu_us: of(|sample| sample.cpu_us),
            p50_us: of(|sample| sample.p50_us),
            bookings_per_commit: of(|sample| sample.bookings_per_commit),
        }
    }
}

/// What others would do with the same disk.
struct Rivals {
    file: std::fs::File,
    database: Database,
    next_record: u64,
    bytes_per_booking: usize,
}

impl Rivals {
    fn new(directory: &Path, bytes_per_booking: usize) -> Rivals {
        Rivals {
            file: std::fs::File::create(directory.join("log")).expect("a file"),
            database: Database::create(directory.join("raw.redb")).expect("a database"),
            next_record: 0,
            bytes_per_booking,
        }
    }

    fn one_fsync_per_booking(&mut self) -> Sample {
        let record = vec![7; self.bytes_per_booking];
        timed(1, || {
            self.file.write_all(&record).expect("room on the disk");
            self.file.sync_data().expect("a disk that works");
        })
    }

    /// One record a batch, of the size the engine's would have.
    fn redb_commits(&mut self, batch: usize) -> Sample {
        let record = vec![7; self.bytes_per_booking * batch];
        timed(batch, || {
            let transaction = self.database.begin_write().expect("a transaction");
            {
                let mut table = transaction.open_table(RECORDS).expect("a table");
                table.insert(self.next_record, record.as_slice()).expect("an insertion");
            }
            self.next_record += 1;
            transaction.commit().expect("a commit");
        })
    }
}

fn timed(batch: usize, mut commit: impl FnMut()) -> Sample {
    let started = Instant::now();
    let cpu = cpu_seconds();
    let mut latencies = Vec::new();
    while started.elapsed() < SLICE {
        let began = Instant::now();
        commit();
        latencies.push(began.elapsed());
    }
    let seconds = started.elapsed().as_secs_f64();
    let bookings = (latencies.len() * batch) as f64;
    Sample {
        per_second: bookings / seconds,
        cpu_us: (cpu_seconds() - cpu) * 1e6 / bookings,
        p50_us: median(&mut latencies).as_secs_f64() * 1e6,
        bookings_per_commit: batch as f64,
    }
}

/// Keeps so many bookings outstanding, each submitted and awaited by a task of its own.
async fn engine_bookings(directory: &Path, clients: usize, group: u64, halls: usize) -> Sample {
    let engine = Engine::open(directory, &Settings::default()).expect("a new store");
    let mut numbers = Vec::new();
    for hall in 0..halls {
        numbers.push(create_hall(&engine, &format!("hall-{hall}")).await);
    }
    let halls = numbers;
    let engine = Arc::new(engine);
    let cpu = cpu_seconds();
    let started = Instant::now();
    let first = batches(&engine, &halls).await;
    let tasks: Vec<_> = (0..clients)
        .map(|client| {
            let engine = Arc::clone(&engine);
            let hall = halls[client % halls.len()];
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                for turn in 0u64.. {
                    if started.elapsed() >= SLICE {
                        break;
                    }
                    let began = Instant::now();
                    let answers = if group == 1 {
                        vec![engine.submit(hall, booking(&engine, hall, client as u64, turn)).await]
                    } else {
                        let turns = turn * group..(turn + 1) * group;
                        let commands =
                            turns.map(|turn| (hall, booking(&engine, hall, client as u64, turn))).collect();
                        engine.submit_all(commands).await
                    };
                    latencies.push(began.elapsed());
                    for answer in answers {
                        let outcome = answer.expect("an answer").outcome;
                        assert!(matches!(outcome, Outcome::Granted(_)), "{outcome:?}");
                    }
                }
                latencies
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.expect("a client"));
    }
    let seconds = started.elapsed().as_secs_f64();
    let cpu = cpu_seconds() - cpu;
    let commits = (batches(&engine, &halls).await - first).max(1);
    let engine = Arc::into_inner(engine).expect("all clients are done");
    engine.close().expect("a clean end");
    let bookings = latencies.len() as f64 * group as f64;
    Sample {
        per_second: bookings / seconds,
        cpu_us: cpu * 1e6 / bookings,
        p50_us: median(&mut latencies).as_secs_f64() * 1e6,
        bookings_per_commit: bookings / commits as f64,
    }
}

/// Batches so far. With several halls a commit has up to one of each.
async fn batches(engine: &Engine, halls: &[InventoryNumber]) -> u64 {
    let mut most = 0;
    for &hall in halls {
        most = most.max(engine.view(hall).await.expect("a hall").sequence);
    }
    most
}

/// A million seats in subsections of 50 x 50, so that none of the slices sells out.
async fn create_hall(engine: &Engine, name: &str) -> InventoryNumber {
    let plan = |number| SubsectionPlan { number, rows: 50, cols: 50, blocked: Vec::new() };
    let subsections = (1..=400).map(plan).collect();
    let section = SectionPlan { name: "A".to_owned(), price: Money(3_000), subsections };
    let create = CreateEvent::new(name, "Hall", Currency(*b"TWD"), vec![section]);
    let answer = engine.submit_to(name, Command::of(Action::CreateEvent(Box::new(create)))).await;
    assert!(matches!(answer.expect("an answer").outcome, Outcome::Granted(_)));
    engine.number(name).expect("just created")
}

/// One seat for a new customer under a new key.
fn booking(engine: &Engine, hall: InventoryNumber, client: u64, turn: u64) -> Command {
    let number = client << 32 | turn;
    let random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&random.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    // As the server has them made: an id that a caller chose has to be looked up in the whole store.
    let id = engine.new_booking_id(hall);
    let code = engine.new_redeem_code();
    let book = Book::new(id, &format!("user-{number:x}"), want, code);
    let idempotency = Idempotency { key: KeyDigest(key), fingerprint: random.into(), keep_seconds: 86_400 };
    Command { by: Actor(1), idempotency: Some(idempotency), action: Action::Book(Box::new(book)) }
}

fn bytes_per_booking(directory: &Path, runtime: &tokio::runtime::Runtime) -> usize {
    const BOOKINGS: usize = 1_000;
    let store = directory.join("size");
    runtime.block_on(async {
        let engine = Engine::open(&store, &Settings::default()).expect("a new store");
        let hall = create_hall(&engine, "hall").await;
        let commands = (0..BOOKINGS).map(|turn| (hall, booking(&engine, hall, 1, turn as u64))).collect();
        engine.submit_all(commands).await;
        engine.close().expect("a clean end");
    });
    let store = boxoffice_engine::store::EmbeddedStore::open(&store).expect("the store");
    let records = boxoffice_engine::store::Store::records(&store, InventoryNumber(1), 1, usize::MAX);
    records.expect("records").iter().map(Vec::len).sum::<usize>() / BOOKINGS
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn median(latencies: &mut [Duration]) -> Duration {
    latencies.sort_unstable();
    latencies.get(latencies.len() / 2).copied().unwrap_or_default()
}
