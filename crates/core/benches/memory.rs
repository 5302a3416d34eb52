//! What a live booking weighs: a million of one seat each, by a million customers under a million keys.
//!
//! `cargo bench -p boxoffice-core --bench memory` prints the bytes that were asked of the allocator and not given back,
//! divided by the bookings. What the allocator itself adds is not in it, and the commands are gone. And how long the longest of
//! them took: what grows should keep nobody waiting.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::alloc::System;
use std::time::{Duration, Instant};

use boxoffice_core::apply;
use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{BestAvailable, Book, Confirm, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::event_info::EventInfo;
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::inventory::Inventory;
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::Outcome;
use boxoffice_core::rules::{RulesPatch, SalesWindow};
use boxoffice_core::time::Timestamp;
use cap::Cap;

/// Counts, and limits nothing.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

const NOW: Timestamp = Timestamp(1_796_083_200_000);
const BOOKINGS: u32 = 1_000_000;
const BYTES_PER_BOOKING_MAX: usize = 400;

fn main() {
    let mut inventory = Inventory::default();
    grant(&mut inventory, &create());
    let empty = ALLOCATOR.allocated();
    println!("{BOOKINGS} bookings of one seat, one customer with a name of 11 characters, one key each");
    println!();
    let mut longest = Duration::ZERO;
    for number in 0..BOOKINGS {
        let command = book(number);
        let began = Instant::now();
        grant(&mut inventory, &command);
        longest = longest.max(began.elapsed());
    }
    let held = (ALLOCATOR.allocated() - empty) / BOOKINGS as usize;
    println!("on hold: {held} bytes a booking (under {BYTES_PER_BOOKING_MAX})");
    println!("the longest that one of them took: {:.2} ms", longest.as_secs_f64() * 1_000.0);
    for number in 0..BOOKINGS {
        grant(&mut inventory, &confirm(number));
    }
    let confirmed = (ALLOCATOR.allocated() - empty) / BOOKINGS as usize;
    println!("confirmed without a key, the answer to the hold still remembered: {confirmed} bytes a booking");
}

fn grant(inventory: &mut Inventory, command: &Command) {
    let applied = apply(inventory, NOW, command);
    assert!(matches!(applied.outcome, Outcome::Granted(_)), "{:?}", applied.outcome);
    inventory.end_batch();
}

fn create() -> Command {
    let subsection = SubsectionPlan { number: 1, rows: 1_000, cols: 1_000, blocked: Vec::new() };
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
            subsections: vec![subsection],
        }],
        areas: Vec::new(),
    };
    Command { by: Actor(1), idempotency: None, action: Action::CreateEvent(Box::new(create)) }
}

fn book(number: u32) -> Command {
    let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
    let book = Book {
        id: booking_id(number),
        customer: format!("user-{number:06}").into(),
        contact: None,
        reference: None,
        want: Want::Event { seats: SeatWish::Best(best), areas: Vec::new() },
        hold_ttl_seconds: None,
        hold_at_most_default: false,
        confirm: false,
        metadata: None,
        redeem_code: RedeemCode::from_random(number.wrapping_mul(0x9E37_79B9)),
    };
    let mut digest = [0; 16];
    digest[..4].copy_from_slice(&number.to_be_bytes());
    let key =
        Idempotency { key: KeyDigest(digest), fingerprint: u64::from(number).into(), keep_seconds: 86_400 };
    Command { by: Actor(1), idempotency: Some(key), action: Action::Book(Box::new(book)) }
}

fn confirm(number: u32) -> Command {
    let confirm =
        Confirm { booking: booking_id(number), payment_reference: None, if_expired: None, free_only: false };
    Command { by: Actor(1), idempotency: None, action: Action::Confirm(confirm) }
}

fn booking_id(number: u32) -> BookingId {
    BookingId::from_bytes(
        (u128::from(number) << 96 | u128::from(number.wrapping_mul(0x9E37_79B9))).to_be_bytes(),
    )
}
