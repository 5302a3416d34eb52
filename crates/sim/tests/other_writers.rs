//! Commits that are fenced or fail, on the store in memory.

use std::sync::Arc;

use boxoffice_core::booking::Units;
use boxoffice_core::command::{Action, Command, Idempotency};
use boxoffice_core::commands::{BestAvailable, Book, CreateEvent, SeatWish, Want};
use boxoffice_core::event::{SectionPlan, SubsectionPlan};
use boxoffice_core::ids::{Actor, BookingId, RedeemCode};
use boxoffice_core::memory::KeyDigest;
use boxoffice_core::money::{Currency, Money};
use boxoffice_core::outcome::{Grant, Outcome};
use boxoffice_core::time::Timestamp;
use boxoffice_engine::stepped::{Receipt, Step, SteppedEngine};
use boxoffice_engine::store::{EmbeddedStore, MemoryStore, NextCommit, Store};
use boxoffice_engine::{Answer, Clock, Settings, SubmitError};
use boxoffice_sim::auditor::{self, Archive};
use boxoffice_sim::disk::Disk;
use boxoffice_sim::history::{Asked, End, History};
use boxoffice_sim::random::Random;
use boxoffice_sim::workload::START;

const HALL: &str = "hall";
const SEATS: u16 = 4;

fn writer(store: &Arc<dyn Store>) -> SteppedEngine {
    let settings = Settings { shards: 1, ..Settings::default() };
    SteppedEngine::start(Arc::clone(store), Clock::manual(START), &settings).expect("it starts")
}

fn create() -> Command {
    let subsections = vec![SubsectionPlan { number: 1, rows: 1, cols: SEATS, blocked: Vec::new() }];
    let sections = vec![SectionPlan { name: "A".to_owned(), price: Money(1), subsections }];
    let event = CreateEvent::new(HALL, "Hall", Currency(*b"EUR"), sections);
    Command { by: Actor(1), idempotency: None, action: Action::CreateEvent(Box::new(event)) }
}

/// The best seat that is left, under an id that the caller chose.
fn book(number: u8) -> Command {
    let best = BestAvailable { quantity: 1, section: None, adjacent_required: false };
    let want = Want::Event { seats: SeatWish::Best(best), areas: Vec::new() };
    let customer = format!("customer-{number}");
    let id = BookingId::from_bytes([number; 16]);
    let book = Book::new(id, &customer, want, RedeemCode::from_random(number.into()));
    let key = KeyDigest([number; 16]);
    let idempotency = Some(Idempotency { key, fingerprint: u64::from(number).into(), keep_seconds: 60 });
    Command { by: Actor(1), idempotency, action: Action::Book(Box::new(book)) }
}

fn asked(command: Command, end: End) -> Asked {
    let asked_at = Timestamp(START.0);
    Asked {
        inventory: HALL.into(),
        command,
        asked_at,
        asked_after: 0,
        end,
        ended_at: asked_at,
        ended_after: 0,
    }
}

/// The only answer there will ever be: a second one would have no place to go, and a missing one fails here.
fn answer(receipt: &mut Receipt) -> Result<Answer, SubmitError> {
    receipt.try_recv().expect("one answer")
}

fn seat(answer: &Answer) -> Option<u16> {
    let Outcome::Granted(Grant::Booking(booking)) = &answer.outcome else { return None };
    let Units::Event { seats, .. } = &booking.units else { return None };
    Some(seats[0].seat.number)
}

#[test]
fn what_is_fenced_is_decided_again_and_nothing_is_sold_twice() {
    let disk = Disk::new(Random::new(1));
    let embedded = EmbeddedStore::open_files(disk.files(16 * 1024)).expect("a new store");
    assert_two_writers_sell_each_seat_once(Arc::new(MemoryStore::default()));
    assert_two_writers_sell_each_seat_once(Arc::new(embedded));
}

#[expect(clippy::needless_pass_by_value, reason = "the store is of this test alone")]
fn assert_two_writers_sell_each_seat_once(store: Arc<dyn Store>) {
    let mut history = History::default();
    let mut first = writer(&store);
    let mut created = first.submit(HALL, create());
    first.settle().unwrap();
    history.asked.push(asked(create(), End::Answered(answer(&mut created).unwrap())));
    let mut second = writer(&store);

    // The first one has decided one command, which is on its way, and another since.
    let mut early = first.submit(HALL, book(1));
    assert!(first.step(Step::Seal(0)).unwrap());
    let mut since = first.submit(HALL, book(2));
    // The second one is faster.
    let mut fast: Vec<Receipt> = (3..=5).map(|number| second.submit(HALL, book(number))).collect();
    second.settle().unwrap();
    assert!(first.step(Step::Commit).unwrap());
    assert!(
        early.try_recv().is_err() && since.try_recv().is_err(),
        "nobody is answered from what was fenced"
    );
    first.settle().unwrap();

    let mut seats = Vec::new();
    for (number, receipt) in (3..).zip(&mut fast) {
        let told = answer(receipt).unwrap();
        seats.extend(seat(&told));
        history.asked.push(asked(book(number), End::Answered(told)));
    }
    for (number, receipt) in [(1, &mut early), (2, &mut since)] {
        let told = answer(receipt).unwrap();
        seats.extend(seat(&told));
        history.asked.push(asked(book(number), End::Answered(told)));
    }
    seats.sort_unstable();
    assert_eq!(seats, [1, 2, 3, 4], "four seats, five customers");
    auditor::audit(&*store, &Archive::default(), &history).unwrap();
    auditor::audit_at_rest(&first, &*store, &Archive::default(), &history, START).unwrap();

    // The id of the one who got nothing is free, and not kept by a claim that nobody needs any more.
    let mut elsewhere = first.submit("club", create());
    first.settle().unwrap();
    answer(&mut elsewhere).unwrap();
    let mut again = first.submit("club", book(2));
    first.settle().unwrap();
    assert_eq!(seat(&answer(&mut again).unwrap()), Some(1));
}

#[test]
fn after_a_failed_commit_the_state_is_one_or_the_other() {
    let rows = [(NextCommit::FailsBefore, false), (NextCommit::FailsAfter, true), (NextCommit::Full, false)];
    for (next, is_durable) in rows {
        let memory = Arc::new(MemoryStore::default());
        let store: Arc<dyn Store> = Arc::clone(&memory) as Arc<dyn Store>;
        let mut engine = writer(&store);
        let mut created = engine.submit(HALL, create());
        engine.settle().unwrap();
        let mut history = History::default();
        history.asked.push(asked(create(), End::Answered(answer(&mut created).unwrap())));
        let mut receipts: Vec<Receipt> = (1..=3).map(|number| engine.submit(HALL, book(number))).collect();
        memory.next_commit(next);
        engine.step(Step::Seal(0)).unwrap();
        engine.step(Step::Commit).unwrap_err();
        for (number, receipt) in (1..).zip(&mut receipts) {
            assert_eq!(answer(receipt), Err(SubmitError::OutcomeUnknown), "{next:?}");
            history.asked.push(asked(book(number), End::Unknown));
        }
        drop(engine);

        let store: Arc<dyn Store> = Arc::new(memory.after_crash());
        auditor::audit(&*store, &Archive::default(), &history).unwrap();
        let mut engine = writer(&store);
        let mut again: Vec<Receipt> = (1..=3).map(|number| engine.submit(HALL, book(number))).collect();
        engine.settle().unwrap();
        for (number, receipt) in (1..).zip(&mut again) {
            let told = answer(receipt).unwrap();
            assert_eq!(told.replayed, is_durable, "{next:?}");
            assert_eq!(seat(&told), Some(number.into()), "{next:?}");
            history.asked.push(asked(book(number), End::Answered(told)));
        }
        auditor::audit(&*store, &Archive::default(), &history).unwrap();
        auditor::audit_at_rest(&engine, &*store, &Archive::default(), &history, START).unwrap();
    }
}
