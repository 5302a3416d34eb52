//! What best available and a whole booking cost as a hall of 50,000 seats fills up, beside plain scans of the rows.
//!
//! `cargo bench -p boxoffice-core --bench seats` prints one table. All figures of a line come from the same run on the same hall;
//! read the ratios, not the nanoseconds. The allocator is the system's, as in the binary.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use boxoffice_core::apply;
use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{
    BestAvailable, BlockSeats, Book, Cancel, CreateEvent, SeatWish, SectionSeats, Want,
};
use boxoffice_core::event::{Event, SeatName, SectionPlan, SubsectionPlan};
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::inventory::{Inventory, Stock};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;
use boxoffice_core::rules::{Orphans, Prefer, RulesPatch, SalesWindow};
use boxoffice_core::seats::search::{Wish, best_available};
use boxoffice_core::seats::{Seat, SeatState};
use boxoffice_core::time::Timestamp;

const NOW: Timestamp = Timestamp(1_796_083_200_000);
const GROUP: u32 = 4;
const SECTIONS: u16 = 20;
const ROWS: u16 = 50;
const COLS: u16 = 50;
/// Bookings timed together.
const WINDOW: usize = 100;

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "50,000 seats ({SECTIONS} subsections of {ROWS} x {COLS}), groups of {GROUP}; one thread of {cores} cores"
    );
    println!(
        "seat scan: every seat from the front, a byte each; word scan: every row from the front, a word each"
    );
    println!();
    println!(
        "{:<28} {:>10} {:>11} {:>11} {:>8} {:>8} {:>10} {:>12}",
        "hall", "search ns", "seat scan", "word scan", "x seat", "x word", "book ns", "books/s"
    );
    let percents = [0, 50, 90, 99];
    let (books, rates) = sell_out(percents);
    let mut searches = Vec::new();
    for (percent, book) in percents.into_iter().zip(books) {
        let hall = hall_sold_from_the_front(percent);
        let search = measure(&hall);
        print_line(&format!("{percent} % sold from the front"), &search, book);
        searches.push(search);
    }
    for percent in [50, 90, 99] {
        print_hall(&format!("{percent} % sold at random"), hall_sold_at_random(percent));
    }
    print_hall("checkerboard", checkerboard(SECTIONS, ROWS, COLS));
    print_hall("checkerboard, 1,000,000", checkerboard(1, 1_000, 1_000));
    println!();
    println!("search at 99 % / at 0 %: {:.2} (at most 3)", searches[3].search / searches[0].search);
    println!("book at 99 % / at 0 %: {:.2} (at most 3)", books[3] / books[0]);
    println!("seat scan / search at 90 %: {:.0} (at least 20)", searches[2].seat_scan / searches[2].search);
    let Rates { median, best, fresh } = rates;
    println!(
        "whole hall sold, key and all: {median:.0} bookings/s (at least 1000000), {best:.0} at best, {fresh:.0} in fresh memory"
    );
}

/// Nanoseconds of finding four seats in a hall, in three ways.
struct Search {
    search: f64,
    seat_scan: f64,
    word_scan: f64,
}

fn measure(hall: &Hall) -> Search {
    let event = hall.event();
    let wish = Wish {
        quantity: GROUP,
        subsections: 0..u16::try_from(event.subsections.len()).unwrap(),
        apart_allowed: true,
        orphans: Orphans::Allow,
        prefer: Prefer::Front,
    };
    let found = best_available(&event.seats, &wish).expect("the hall has room").seats;
    let search = nanoseconds(|| black_box(best_available(black_box(&event.seats), black_box(&wish))).is_ok());

    let bytes = byte_map(event);
    let words = word_map(event);
    // Where the scan finds no run, it has looked at every seat without an answer: the fallback would come on top.
    let scanned = scan_seats(&bytes, usize::from(hall.cols), GROUP as usize);
    assert_eq!(scanned, scan_words(&words, GROUP));
    let together =
        found.windows(2).all(|pair| pair[0].row == pair[1].row && pair[0].number + 1 == pair[1].number);
    assert_eq!(scanned.is_some(), together, "the scan and the search agree");
    let seat_scan =
        nanoseconds(|| black_box(scan_seats(black_box(&bytes), usize::from(hall.cols), 4)).is_some());
    let word_scan = nanoseconds(|| black_box(scan_words(black_box(&words), black_box(GROUP))).is_some());
    Search { search, seat_scan, word_scan }
}

fn print_hall(name: &str, mut hall: Hall) {
    let search = measure(&hall);
    print_line(name, &search, hall.nanoseconds_per_booking());
}

fn print_line(name: &str, search: &Search, book: f64) {
    let Search { search, seat_scan, word_scan } = search;
    println!(
        "{name:<28} {search:>10.0} {seat_scan:>11.0} {word_scan:>11.0} {:>8.1} {:>8.1} {book:>10.0} {:>12.0}",
        seat_scan / search,
        word_scan / search,
        1e9 / book
    );
}

/// The median of many timed rounds of a cheap call.
fn nanoseconds(mut call: impl FnMut() -> bool) -> f64 {
    let mut calls = 1u32;
    let mut truths = 0u64;
    while {
        let started = Instant::now();
        for _ in 0..calls {
            truths += u64::from(call());
        }
        started.elapsed() < Duration::from_millis(2)
    } {
        calls *= 2;
    }
    let mut rounds: Vec<f64> = (0..30)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..calls {
                truths += u64::from(call());
            }
            started.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    black_box(truths);
    median(&mut rounds)
}

/// One byte a seat, one if free; the first run of free seats in a row.
fn scan_seats(bytes: &[u8], cols: usize, quantity: usize) -> Option<usize> {
    for (row, seats) in bytes.chunks_exact(cols).enumerate() {
        let mut run = 0;
        for (index, &free) in seats.iter().enumerate() {
            run = if free == 1 { run + 1 } else { 0 };
            if run == quantity {
                return Some(row * cols + index + 1 - quantity);
            }
        }
    }
    None
}

/// Rows of words, set bits free; the first run of free seats in a row.
fn scan_words((words, words_per_row, cols): &(Vec<u64>, usize, usize), quantity: u32) -> Option<usize> {
    for (row, words) in words.chunks_exact(*words_per_row).enumerate() {
        let mut run = 0;
        for (index, &word) in words.iter().enumerate() {
            let mut remaining = word;
            let mut position = 0;
            while position < 64 {
                let taken = remaining.trailing_zeros().min(64 - position);
                if taken > 0 {
                    (run, position) = (0, position + taken);
                    remaining = remaining.checked_shr(taken).unwrap_or(0);
                    continue;
                }
                let free = remaining.trailing_ones();
                if run + free >= quantity {
                    return Some(row * cols + index * 64 + position as usize - run as usize);
                }
                (run, position) = (run + free, position + free);
                remaining = remaining.checked_shr(free).unwrap_or(0);
            }
        }
    }
    None
}

fn all_seats(event: &Event) -> impl Iterator<Item = Seat> + '_ {
    (0u16..).zip(&event.subsections).flat_map(|(subsection, _)| {
        let (rows, cols) = event.seats.size(subsection);
        (1..=rows).flat_map(move |row| (1..=cols).map(move |number| Seat { subsection, row, number }))
    })
}

fn byte_map(event: &Event) -> Vec<u8> {
    all_seats(event).map(|seat| u8::from(event.seats.state(seat) == SeatState::Available)).collect()
}

fn word_map(event: &Event) -> (Vec<u64>, usize, usize) {
    let cols = usize::from(event.seats.size(0).1);
    let words_per_row = cols.div_ceil(64);
    let mut words = Vec::new();
    for row in byte_map(event).chunks_exact(cols) {
        let first = words.len();
        words.resize(first + words_per_row, 0u64);
        for (index, &free) in row.iter().enumerate() {
            words[first + index / 64] |= u64::from(free) << (index % 64);
        }
    }
    (words, words_per_row, cols)
}

struct Hall {
    inventory: Inventory,
    cols: u16,
    bookings: u64,
}

impl Hall {
    fn new(subsections: u16, rows: u16, cols: u16) -> Hall {
        let plan = |number| SubsectionPlan { number, rows, cols, blocked: Vec::new() };
        let create = CreateEvent {
            id: "hall".to_owned(),
            name: "Hall".to_owned(),
            currency: Currency(*b"TWD"),
            info: EventInfo::default(),
            sales: SalesWindow::default(),
            rules: RulesPatch::default(),
            sections: vec![SectionPlan {
                name: "A".to_owned(),
                price: Money(3_000),
                subsections: (1..=subsections).map(plan).collect(),
            }],
            areas: Vec::new(),
        };
        let mut hall = Hall { inventory: Inventory::default(), cols, bookings: 0 };
        hall.grant(&without_key(Action::CreateEvent(Box::new(create))));
        hall
    }

    fn event(&self) -> &Event {
        match self.inventory.stock() {
            Some(Stock::Event(event)) => event,
            other => panic!("not an event: {other:?}"),
        }
    }

    fn available(&self) -> u32 {
        self.event().totals.available
    }

    fn grant(&mut self, command: &Command) {
        let applied = apply(&mut self.inventory, NOW, command);
        assert!(matches!(applied.outcome, Outcome::Granted(_)), "{:?}", applied.outcome);
        self.inventory.end_batch();
    }

    /// A booking by a new customer under a new key.
    fn booking(&mut self, seats: SeatWish) -> Command {
        self.bookings += 1;
        let number = self.bookings.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut digest = [0; 16];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest[8..].copy_from_slice(&self.bookings.to_be_bytes());
        // Like a UUID of version 7: the time it was made, then chance.
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.bookings.to_be_bytes());
        id[8..].copy_from_slice(&number.to_be_bytes());
        let book = Book {
            id: BookingId::from_bytes(id),
            customer: format!("user-{}", self.bookings).into(),
            contact: None,
            reference: None,
            want: Want::Event { seats, areas: Vec::new() },
            hold_ttl_seconds: None,
            hold_at_most_default: false,
            confirm: false,
            metadata: None,
            redeem_code: RedeemCode::from_random((number >> 32) as u32),
        };
        let idempotency =
            Idempotency { key: KeyDigest(digest), fingerprint: number.into(), keep_seconds: 86_400 };
        Command { by: Actor(1), idempotency: Some(idempotency), action: Action::Book(Box::new(book)) }
    }

    fn best(quantity: u32) -> SeatWish {
        SeatWish::Best(BestAvailable { quantity, section: None, adjacent_required: false })
    }

    /// Books rounds of groups and times them; after each round they are cancelled, untimed, so that the hall stays as
    /// full as it was.
    fn nanoseconds_per_booking(&mut self) -> f64 {
        let mut rounds: Vec<f64> = (0..40)
            .map(|_| {
                let commands: Vec<Command> = (0..WINDOW).map(|_| self.booking(Hall::best(GROUP))).collect();
                let nanoseconds = self.nanoseconds_for(&commands);
                for command in commands {
                    let Action::Book(book) = command.action else { unreachable!("a round of bookings") };
                    let cancel = Cancel { booking: book.id, reason: None, ticket: None };
                    self.grant(&without_key(Action::Cancel(cancel)));
                }
                nanoseconds
            })
            .collect();
        median(&mut rounds)
    }

    fn nanoseconds_for(&mut self, commands: &[Command]) -> f64 {
        let started = Instant::now();
        for command in commands {
            black_box(apply(&mut self.inventory, NOW, command));
        }
        started.elapsed().as_nanos() as f64 / commands.len() as f64
    }
}

/// Whole halls sold, in bookings per second: the first in memory that the process has never touched, the median and the
/// best of the others in memory that it has.
struct Rates {
    median: f64,
    best: f64,
    fresh: f64,
}

/// Sells whole halls in groups and times the bookings made when the hall was as full as each of `percents`, and the
/// whole halls.
fn sell_out(percents: [usize; 4]) -> ([f64; 4], Rates) {
    let mut windows: [Vec<f64>; 4] = Default::default();
    let mut rates = Vec::new();
    for _ in 0..40 {
        let mut hall = Hall::new(SECTIONS, ROWS, COLS);
        let groups = (hall.available() / GROUP) as usize;
        let commands: Vec<Command> = (0..groups).map(|_| hall.booking(Hall::best(GROUP))).collect();
        let started = Instant::now();
        let mut sold = 0;
        for (percent, window) in percents.iter().zip(&mut windows) {
            let from = groups * percent / 100;
            hall.nanoseconds_for(&commands[sold..from]);
            window.push(hall.nanoseconds_for(&commands[from..from + WINDOW]));
            sold = from + WINDOW;
        }
        hall.nanoseconds_for(&commands[sold..]);
        rates.push(groups as f64 / started.elapsed().as_secs_f64());
        assert_eq!(hall.available(), 0, "every group got its seats");
    }
    let fresh = rates.remove(0);
    let rates = Rates { median: median(&mut rates), best: rates.iter().copied().fold(0.0, f64::max), fresh };
    (windows.map(|mut rounds| median(&mut rounds)), rates)
}

fn median(rounds: &mut [f64]) -> f64 {
    rounds.sort_by(f64::total_cmp);
    rounds[rounds.len() / 2]
}

fn without_key(action: Action) -> Command {
    Command { by: Actor(1), idempotency: None, action }
}

/// Sold as an on-sale goes: groups of one to six, each the best that is left.
fn hall_sold_from_the_front(percent: usize) -> Hall {
    let mut hall = Hall::new(SECTIONS, ROWS, COLS);
    let seats = hall.available();
    let mut group = 0;
    while hall.available() as usize > seats as usize * (100 - percent) / 100 {
        group = group % 6 + 1;
        let command = hall.booking(Hall::best(group));
        hall.grant(&command);
    }
    hall
}

/// Sold seat by seat all over the hall: the worst for whoever looks for a run.
fn hall_sold_at_random(percent: u32) -> Hall {
    let mut hall = Hall::new(SECTIONS, ROWS, COLS);
    let mut seats: Vec<Seat> = all_seats(hall.event()).collect();
    let mut state = 42u64;
    for index in (1..seats.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seats.swap(index, (state >> 33) as usize % (index + 1));
    }
    seats.truncate(seats.len() * percent as usize / 100);
    for seat in seats {
        let command = hall.booking(SeatWish::Named(vec![named(seat.subsection, &[seat])]));
        hall.grant(&command);
    }
    hall
}

/// Every other seat blocked: no two free seats side by side.
fn checkerboard(subsections: u16, rows: u16, cols: u16) -> Hall {
    let mut hall = Hall::new(subsections, rows, cols);
    for subsection in 0..subsections {
        let seats: Vec<Seat> = all_seats(hall.event())
            .filter(|seat| seat.subsection == subsection && (seat.row + seat.number) % 2 == 0)
            .collect();
        let block = BlockSeats { seats: named(subsection, &seats) };
        hall.grant(&without_key(Action::BlockSeats(block)));
    }
    hall
}

fn named(subsection: u16, seats: &[Seat]) -> SectionSeats {
    let name = |seat: &Seat| SeatName { row: seat.row, number: seat.number };
    SectionSeats { section: format!("A-{}", subsection + 1), seats: seats.iter().map(name).collect() }
}
