//! One bit of a store's files is flipped, thousands of times: it is found out, or it changes nothing.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use boxoffice_core::codec;
use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{BestAvailable, Book, Cancel, Confirm, Places, SeatWish, Want};
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::record::Head;
use boxoffice_engine::snapshot::{self, Retention};
use boxoffice_engine::store::{EmbeddedStore, Files, Store};
use boxoffice_engine::{Answer, Clock, Engine, InventoryNumber, Settings, load};
use boxoffice_sim::hammer::stock::{self, BAKERY, BOXES, HALL, MUSEUM};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use redb::StorageBackend;

/// `BOXOFFICE_FLIPS=10000` for more of them.
const FLIPS: u64 = 2_000;
/// The mark is so small that it would hardly ever be hit.
const MARK_ONE_IN: u32 = 10;
const LOG_ONE_IN: u32 = 3;
/// Little, so that the store has most of it, and the log the rest.
const LOG_BYTES_MAX: u64 = 256 * 1024;
const NOW: Timestamp = Timestamp(1_796_083_200_000);

#[test]
fn no_flipped_bit_changes_what_is_stored_without_a_word() {
    let flips = number_from("BOXOFFICE_FLIPS").unwrap_or(FLIPS);
    let seed = number_from("BOXOFFICE_SEED").unwrap_or_else(rand::random);
    eprintln!("flips: BOXOFFICE_SEED={seed}, {flips} flips");
    let started = Instant::now();
    let mut random = StdRng::seed_from_u64(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let images = runtime.block_on(Images::make());
    for (image, name) in [(&images.closed, "after a clean stop"), (&images.killed, "after a kill")] {
        let unharmed = runtime.block_on(judge(image, &images.answers));
        assert_eq!(unharmed, Ok(images.contents.clone()), "{name}, unharmed");
    }
    // What redb says while it panics is not wanted a thousand times.
    std::panic::set_hook(Box::new(|_| {}));
    let mut tally: BTreeMap<(&str, &str, &str), u64> = BTreeMap::new();
    let mut wrong = Vec::new();
    for flip in 0..flips {
        let (image, state) =
            if flip % 2 == 0 { (&images.closed, "clean stop") } else { (&images.killed, "kill") };
        let mut damaged = image.clone();
        let (file, bytes) = if random.random_ratio(1, MARK_ONE_IN) {
            ("mark", &mut damaged.mark)
        } else if state == "kill" && random.random_ratio(1, LOG_ONE_IN) {
            let log = usize::from(random.random::<bool>());
            ("log", &mut damaged.logs[log])
        } else {
            ("store.redb", &mut damaged.store)
        };
        let bit = random.random_range(0..bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let judged = catch_unwind(AssertUnwindSafe(|| runtime.block_on(judge(&damaged, &images.answers))));
        let verdict = match &judged {
            Ok(Ok(contents)) if *contents == images.contents => "harmless",
            Ok(Err(Detected::AtOpen { touched: false, .. })) => "refused to open",
            Ok(Err(Detected::AtOpen { touched: true, .. })) => "REFUSED AND CHANGED",
            Ok(Err(Detected::AtReading(_))) => "refused to read",
            Ok(Ok(_)) => "SILENT",
            Err(_) => "PANIC",
        };
        *tally.entry((file, state, verdict)).or_default() += 1;
        match &judged {
            Ok(Ok(contents)) if *contents != images.contents => {
                wrong.push(format!("{state}, {file}, bit {bit}: {}", contents.difference(&images.contents)));
            }
            Err(panic) => {
                let words = panic.downcast_ref::<String>().map(String::as_str);
                let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("?");
                wrong.push(format!("{state}, {file}, bit {bit}: panic: {words}"));
            }
            Ok(Err(Detected::AtOpen { error, touched: true })) => {
                wrong.push(format!("{state}, {file}, bit {bit}: changed, though refused: {error}"));
            }
            Ok(Ok(_) | Err(_)) => {}
        }
    }
    drop(std::panic::take_hook());
    let in_log = tally.get(&("log", "kill", "refused to open")).copied().unwrap_or(0);
    assert!(in_log > 0 || flips < FLIPS, "no flip in the log was found out: {tally:?}");
    let sizes = [&images.closed, &images.killed]
        .map(|image| [&image.store, &image.mark, &image.logs[0], &image.logs[1]].map(Vec::len));
    eprintln!("flips: {sizes:?} bytes, {:.1?}", started.elapsed());
    for ((file, state, verdict), count) in &tally {
        eprintln!("flips: {file:>10}, {state:>10}: {count:>6} {verdict}");
    }
    assert!(wrong.is_empty(), "seed {seed}: {} of {flips}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Everything that a store tells about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Contents {
    heads: Vec<Head>,
    /// As snapshots of them would be.
    inventories: Vec<Vec<u8>>,
    /// All records that are kept, of all inventories.
    records: Vec<Vec<u8>>,
    chosen_ids: Vec<(BookingId, Option<InventoryNumber>)>,
    /// What is answered when everything is asked again, and then something new.
    answers: Vec<Answer>,
    /// How far each inventory came by that, in the store that was opened after it.
    sequences: Vec<u64>,
}

impl Contents {
    fn difference(&self, other: &Contents) -> String {
        let parts = [
            ("heads", self.heads == other.heads),
            ("inventories", self.inventories == other.inventories),
            ("records", self.records == other.records),
            ("chosen ids", self.chosen_ids == other.chosen_ids),
            ("answers", self.answers == other.answers),
            ("sequences", self.sequences == other.sequences),
        ];
        let differing: Vec<&str> = parts.iter().filter(|(_, equal)| !equal).map(|(name, _)| *name).collect();
        format!("different {}", differing.join(", "))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Detected {
    AtOpen {
        error: String,
        /// Whether the bytes are no longer what they were before.
        touched: bool,
    },
    AtReading(String),
}

/// Reads everything, by way of the store and of an engine, and writes something.
async fn judge(image: &Image, asked: &[Asked]) -> Result<Contents, Detected> {
    let disk = Disk::of(image);
    let opened = disk.open();
    let now = disk.image();
    let touched = now.store != image.store || now.logs != image.logs;
    let store = Arc::new(opened.map_err(|error| Detected::AtOpen { error, touched })?);
    let mut contents = read(&store, asked).map_err(Detected::AtReading)?;
    let engine = Engine::start(store, Clock::manual(NOW), &settings())
        .map_err(|error| Detected::AtReading(error.to_string()))?;
    let commands: Vec<_> = asked.iter().map(|asked| (asked.inventory, asked.command.clone())).collect();
    let (old, new) = commands.split_at(commands.len() - NEW_REQUESTS);
    for commands in [old, new] {
        for answer in engine.submit_all(commands.to_vec()).await {
            contents.answers.push(answer.map_err(|error| Detected::AtReading(error.to_string()))?);
        }
    }
    engine.close().map_err(|reason| Detected::AtReading(reason.to_string()))?;
    drop(engine);
    // What was opened and written to must not be worse for it.
    let store = disk.open().map_err(Detected::AtReading)?;
    let after = read(&store, asked).map_err(Detected::AtReading)?;
    contents.sequences = after.heads.iter().map(|head| head.sequence).collect();
    Ok(contents)
}

fn read(store: &EmbeddedStore, asked: &[Asked]) -> Result<Contents, String> {
    let heads = store.heads().map_err(|error| error.to_string())?;
    let mut inventories = Vec::new();
    let mut records = Vec::new();
    for head in &heads {
        let loaded = load::load(store, head.inventory).map_err(|error| error.to_string())?;
        let loaded = loaded.ok_or_else(|| format!("{} is listed and is not there", head.inventory))?;
        inventories.push(codec::encode_inventory(&loaded.inventory));
        records.extend(store.records(head.inventory, 0, usize::MAX).map_err(|error| error.to_string())?);
    }
    let chosen = asked.iter().filter_map(|asked| asked.chosen);
    let found = chosen.map(|id| Ok((id, store.find_booking("", id).map_err(|error| error.to_string())?)));
    let chosen_ids = found.collect::<Result<_, String>>()?;
    Ok(Contents { heads, inventories, records, chosen_ids, answers: Vec::new(), sequences: Vec::new() })
}

/// The bytes of a store's files.
#[derive(Debug, Clone)]
struct Image {
    store: Vec<u8>,
    mark: Vec<u8>,
    logs: [Vec<u8>; 2],
}

/// One store with several inventories, snapshots and ids that callers chose, in two states.
struct Images {
    closed: Image,
    killed: Image,
    contents: Contents,
    answers: Vec<Asked>,
}

/// A request, and the id of its booking if the caller chose it.
struct Asked {
    inventory: InventoryNumber,
    command: Command,
    chosen: Option<BookingId>,
}

const OLD_REQUESTS: u64 = 240;
const NEW_REQUESTS: usize = 6;

impl Images {
    async fn make() -> Images {
        let disk = Disk::default();
        let store = Arc::new(disk.open().unwrap());
        let engine =
            Engine::start(Arc::<EmbeddedStore>::clone(&store), Clock::manual(NOW), &settings()).unwrap();
        let hall = stock::create(&engine, HALL).await.unwrap();
        let museum = stock::create(&engine, MUSEUM).await.unwrap();
        let bakery = stock::create(&engine, BAKERY).await.unwrap();
        stock::add_boxes(&engine, bakery).await.unwrap();
        let slots = stock::slots(&engine, museum).await.unwrap();
        let mut asked = Vec::new();
        for number in 0..OLD_REQUESTS + NEW_REQUESTS as u64 {
            let (inventory, want) = match number % 3 {
                0 => {
                    let best = BestAvailable { quantity: 3, section: None, adjacent_required: false };
                    (hall, Want::Event { seats: SeatWish::Best(best), areas: Vec::new() })
                }
                1 => {
                    let slot = slots[usize::try_from(number).unwrap() % slots.len()];
                    (museum, Want::Slot { slot, places: Places::Quantity(2) })
                }
                _ => (bakery, Want::Box { id: BOXES[0].into(), quantity: 1 }),
            };
            let chosen = number % 5 == 0;
            let id = booking_of(inventory, number, chosen);
            let chosen = chosen.then_some(id);
            let customer = format!("customer-{}", number % 20);
            let mut book = Book::new(id, &customer, want, RedeemCode::from_random(number as u32));
            book.metadata = Some([number as u8; 100].as_slice().into());
            asked.push(Asked { inventory, command: keyed(number, Action::Book(Box::new(book))), chosen });
            if number % 4 == 1 && number < OLD_REQUESTS {
                let action = if number % 8 == 1 {
                    Action::Cancel(Cancel { booking: id, reason: None, ticket: None })
                } else {
                    let payment_reference = Some("paid".into());
                    Action::Confirm(Confirm {
                        booking: id,
                        payment_reference,
                        if_expired: None,
                        free_only: false,
                    })
                };
                asked.push(Asked { inventory, command: keyed(1_000 + number, action), chosen: None });
            }
        }
        let old = asked.len() - NEW_REQUESTS;
        for (index, asked) in asked[..old].iter().enumerate() {
            engine.submit(asked.inventory, asked.command.clone()).await.unwrap();
            // The hall's journal is cut off before its snapshot, the museum's is kept, the bakery has no snapshot.
            if index == old / 2 {
                snapshot::write(&*store, hall, Retention::Records(3)).unwrap().unwrap();
                snapshot::write(&*store, museum, Retention::All).unwrap().unwrap();
            }
        }
        let killed = disk.image();
        engine.close().unwrap();
        let closed = disk.image();
        let contents = judge(&closed, &asked).await.unwrap();
        Images { closed, killed, contents, answers: asked }
    }
}

fn settings() -> Settings {
    Settings { shards: 1, ..Settings::default() }
}

fn booking_of(inventory: InventoryNumber, number: u64, chosen: bool) -> BookingId {
    let inventory = if chosen { InventoryNumber(u32::MAX) } else { inventory };
    boxoffice_engine::ids::booking_id(inventory, NOW, number)
}

fn keyed(number: u64, action: Action) -> Command {
    let key = KeyDigest(u128::from(number).to_be_bytes());
    let idempotency = Some(Idempotency { key, fingerprint: number.into(), keep_seconds: 86_400 });
    Command { by: Actor(1), idempotency, action }
}

/// Files in memory.
#[derive(Debug, Clone, Default)]
struct Disk {
    store: MemoryFile,
    mark: MemoryFile,
    logs: [MemoryFile; 2],
}

impl Disk {
    fn of(image: &Image) -> Disk {
        let file = |bytes: &Vec<u8>| MemoryFile(Arc::new(Mutex::new(bytes.clone())));
        Disk { store: file(&image.store), mark: file(&image.mark), logs: image.logs.each_ref().map(file) }
    }

    fn image(&self) -> Image {
        let bytes = |file: &MemoryFile| file.0.lock().clone();
        Image { store: bytes(&self.store), mark: bytes(&self.mark), logs: self.logs.each_ref().map(bytes) }
    }

    fn open(&self) -> Result<EmbeddedStore, String> {
        let file = |file: &MemoryFile| -> Box<dyn StorageBackend> { Box::new(file.clone()) };
        let logs = self.logs.each_ref().map(file);
        let (store, mark) = (file(&self.store), file(&self.mark));
        let (log_bytes_max, unsynced_bytes_max, pause) = (LOG_BYTES_MAX, u64::MAX, Duration::ZERO);
        let files = Files { store, mark, logs, log_bytes_max, unsynced_bytes_max, pause };
        EmbeddedStore::open_files(files).map_err(|error| error.to_string())
    }
}

#[derive(Debug, Clone, Default)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl StorageBackend for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.lock();
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let found = start.checked_add(out.len()).and_then(|end| bytes.get(start..end));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.lock().resize(usize::try_from(length).map_err(io::Error::other)?, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut bytes = self.0.lock();
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let end = start + data.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[start..end].copy_from_slice(data);
        Ok(())
    }
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().expect("a number"))
}
