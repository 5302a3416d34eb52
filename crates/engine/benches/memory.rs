//! What a live booking weighs in a running engine: the writer's state and the views, until the inventory leaves memory.
//!
//! `cargo bench -p boxoffice-engine --bench memory` makes a million bookings of one seat each, by a million customers under a
//! million keys; then nobody uses the hall until the engine lets go of it. What was given back to the allocator, divided by
//! the bookings, is what each of them weighed. What the allocator itself adds is not in it.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::alloc::System;
use std::sync::Arc;
use std::time::Duration;

use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{BestAvailable, Book, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::ids::{Actor, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;
use boxoffice_core::time::Timestamp;
use boxoffice_engine::ids::booking_id;
use boxoffice_engine::store::EmbeddedStore;
use boxoffice_engine::{Clock, Engine, InventoryNumber, Settings};
use cap::Cap;

/// Counts, and limits nothing.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const NOW: Timestamp = Timestamp(1_796_083_200_000);
const BOOKINGS: u64 = 1_000_000;
/// About what a commit has in an on-sale. The newest batches are counted, too.
const GROUP: u64 = 1_000;
const BYTES_PER_BOOKING_MAX: u64 = 400;
/// Shorter than the holds, longer than it takes to be quiet.
const IDLE: Duration = Duration::from_mins(10);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = Arc::new(EmbeddedStore::open(&directory.path().join("store")).expect("a new store"));
    let clock = Clock::manual(NOW);
    let settings = Settings { idle_after: IDLE, ..Settings::default() };
    let engine = Engine::start(store, clock.clone(), &settings).expect("an engine");
    let hall = create_hall(&engine).await;
    println!("{BOOKINGS} holds of one seat, one customer with a name of 11 characters, one key each");
    for first in (0..BOOKINGS).step_by(GROUP as usize) {
        let commands = (first..first + GROUP).map(|number| (hall, hold(hall, number))).collect();
        for answer in engine.submit_all(commands).await {
            assert!(matches!(answer.expect("an answer").outcome, Outcome::Granted(_)));
        }
    }
    // The snapshot of a quiet inventory comes first: while it is made it has a copy of its own, and it leaves pages in the store's
    // cache.
    clock.set(NOW.plus_seconds(60));
    let live = allocated_at_rest().await;
    let mut now = NOW.plus_seconds(660);
    while engine.in_memory() > 0 {
        clock.set(now);
        now = now.plus_seconds(1);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let bytes = (live - allocated_at_rest().await) as u64;
    println!("{} bytes a booking in writer and views (under {BYTES_PER_BOOKING_MAX})", bytes / BOOKINGS);
    println!("idle: {} MiB left memory with the inventory", bytes >> 20);
    engine.close().expect("a clean end");
}

/// What is allocated once nothing changes any more.
async fn allocated_at_rest() -> usize {
    let mut last = ALLOCATOR.allocated();
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = ALLOCATOR.allocated();
        if now == last {
            return now;
        }
        last = now;
    }
}

async fn create_hall(engine: &Engine) -> InventoryNumber {
    let subsections = vec![SubsectionPlan { number: 1, rows: 1_000, cols: 1_000, blocked: Vec::new() }];
    let section = SectionPlan { name: "A".to_owned(), price: Money(3_000), subsections };
    let create = CreateEvent::new("hall", "Hall", Currency(*b"TWD"), vec![section]);
    let answer = engine.submit_to("hall", Command::of(Action::CreateEvent(Box::new(create)))).await;
    assert!(matches!(answer.expect("an answer").outcome, Outcome::Granted(_)));
    engine.number("hall").expect("just created")
}

fn hold(hall: InventoryNumber, number: u64) -> Command {
    let random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let id = booking_id(hall, Timestamp(NOW.0 + number as i64), random);
    let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let book =
        Book::new(id, &format!("user-{number:06}"), want, RedeemCode::from_random((random >> 32) as u32));
    let mut key = [0; 16];
    key[..8].copy_from_slice(&random.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    let idempotency = Idempotency { key: KeyDigest(key), fingerprint: random.into(), keep_seconds: 86_400 };
    Command { by: Actor(1), idempotency: Some(idempotency), action: Action::Book(Box::new(book)) }
}
