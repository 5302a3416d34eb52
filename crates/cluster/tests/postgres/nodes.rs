//! Several engines on one database, none of them special.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_cluster::turns::{NoTurn, Pending, Turn, Turns};
use boxoffice_core::booking::Status;
use boxoffice_core::outcome::Outcome;
use boxoffice_core::seats::Counts;
use boxoffice_engine::stepped::{Step, SteppedEngine};
use boxoffice_engine::store::Store;
use boxoffice_engine::verify::verify;
use boxoffice_engine::view::KindView;
use boxoffice_engine::{Clock, Engine, InventoryNumber, Settings, SubmitError};
use boxoffice_sim::auditor::{self, Archive};
use boxoffice_sim::history::{Asked, End, History};
use boxoffice_sim::random::Random;
use boxoffice_sim::workload::{START, Workload};
use tokio::sync::oneshot::error::TryRecvError;

use crate::database::Database;
use crate::scene::{
    HALL, assert_no_seat_twice, booking_of, cancel, confirm, create_hall, eventually, hold, node, open_hall,
};
use crate::tables::assert_tables_agree;

pub(crate) async fn totals(engine: &Engine, hall: InventoryNumber) -> Counts {
    let view = engine.view(hall).await.unwrap();
    match &view.kind {
        KindView::Event(event) => event.totals,
        KindView::Schedule(_) | KindView::Shop(_) => panic!("a hall is an event"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_node_created_is_found_by_another_at_once() {
    let database = Database::start();
    let (one, other) = (node(database.shared_store()), node(database.shared_store()));
    assert_eq!(other.find(HALL).await.unwrap(), None);
    let hall = open_hall(&one, 1, 1).await;
    assert_eq!(other.find(HALL).await.unwrap(), Some(hall));
    let answer = other.submit(hall, hold(other.new_booking_id(hall), "ann")).await.unwrap();
    assert!(booking_of(&answer).is_some(), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_sell_one_hall_to_64_clients() {
    const CLIENTS: usize = 64;
    const ATTEMPTS: usize = 60;
    const SEATS: usize = 3_000;
    let database = Database::start();
    let nodes: Vec<Engine> = (0..3).map(|_| node(database.shared_store())).collect();
    let hall = open_hall(&nodes[0], 50, 60).await;
    for other in &nodes[1..] {
        eventually("the hall is known everywhere", || async { other.number(HALL) == Some(hall) }).await;
    }
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let nodes = nodes.clone();
            tokio::spawn(async move {
                let (mut kept, mut granted, mut refused) = (Vec::new(), 0usize, 0usize);
                for attempt in 0..ATTEMPTS {
                    let of = |step: usize| &nodes[(client + attempt + step) % nodes.len()];
                    let id = of(0).new_booking_id(hall);
                    let answer = of(0).submit(hall, hold(id, &format!("client-{client}"))).await.unwrap();
                    let Some(booking) = booking_of(&answer) else {
                        refused += 1;
                        continue;
                    };
                    granted += 1;
                    // Whoever asks another node next finds the booking there.
                    if attempt % 4 == 0 {
                        let answer = of(1).submit(hall, cancel(id)).await.unwrap();
                        assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome);
                    } else {
                        let answer = of(1).submit(hall, confirm(id)).await.unwrap();
                        assert!(booking_of(&answer).is_some(), "{:?}", answer.outcome);
                        kept.push(booking);
                    }
                    if attempt % 16 == 1 {
                        let found = of(2).booking("default", id).await.unwrap();
                        assert!(found.is_some(), "it was answered, so it is there");
                    }
                }
                (kept, granted, refused)
            })
        })
        .collect();
    let (mut kept, mut granted, mut refused) = (Vec::new(), 0, 0);
    for client in clients {
        let (theirs, granted_here, refused_here) = client.await.unwrap();
        kept.extend(theirs);
        granted += granted_here;
        refused += refused_here;
    }
    assert_eq!(granted + refused, CLIENTS * ATTEMPTS);
    assert_no_seat_twice(kept.iter());
    let sold = u32::try_from(kept.len()).unwrap();
    let available = u32::try_from(SEATS).unwrap() - sold;
    for node in &nodes {
        let expected = Counts { available, held: 0, sold, blocked: 0 };
        eventually("every node shows the same", || async { totals(node, hall).await == expected }).await;
        let (_, bookings) = node.bookings(hall).await.unwrap();
        assert_eq!(bookings.len(), granted);
        let confirmed = bookings.iter().filter(|it| matches!(it.status, Status::Confirmed { .. })).count();
        assert_eq!(confirmed, kept.len(), "nothing is lost");
    }
    for node in nodes {
        tokio::task::spawn_blocking(move || node.close()).await.unwrap().unwrap();
    }
    let store = database.store();
    assert_tables_agree(&database, &*store);
    verify(&*store, |_, _| {}).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_node_does_another_shows() {
    let database = Database::start();
    let (one, other) = (node(database.shared_store()), node(database.shared_store()));
    // Both create: one name, one inventory.
    let (here, there) =
        tokio::join!(one.submit_to(HALL, create_hall(2, 5)), other.submit_to(HALL, create_hall(2, 5)));
    let granted = [here.unwrap(), there.unwrap()].map(|answer| matches!(answer.outcome, Outcome::Granted(_)));
    assert!(granted[0] != granted[1], "{granted:?}");
    let hall = one.number(HALL).unwrap();
    assert_eq!(other.number(HALL), Some(hall));
    // Different names at the same time: different numbers.
    let (left, right) = tokio::join!(
        one.submit_to("default/event:left", create_hall(1, 1)),
        other.submit_to("default/event:right", create_hall(1, 1))
    );
    for answer in [left.unwrap(), right.unwrap()] {
        assert!(matches!(answer.outcome, Outcome::Granted(_)), "{:?}", answer.outcome);
    }
    assert_ne!(one.number("default/event:left"), other.number("default/event:right"));

    // Views, streams and bookings follow without a command.
    assert_eq!(totals(&other, hall).await.available, 10);
    let mut stream = other.subscribe(hall, other.view(hall).await.unwrap().sequence).await.unwrap();
    let id = one.new_booking_id(hall);
    let answer = one.submit(hall, hold(id, "ann")).await.unwrap();
    let batch = tokio::time::timeout(Duration::from_secs(30), stream.next()).await.expect("in time").unwrap();
    assert_eq!(batch.sequence, answer.sequence);
    assert_eq!(totals(&other, hall).await.held, 1);
    assert!(other.booking("default", id).await.unwrap().is_some());

    // A refusal is of what is, not of what was.
    for number in 0..9 {
        let id = one.new_booking_id(hall);
        one.submit(hall, hold(id, &format!("customer-{number}"))).await.unwrap();
    }
    let mut keyless = hold(other.new_booking_id(hall), "late");
    keyless.idempotency = None;
    assert!(booking_of(&other.submit(hall, keyless).await.unwrap()).is_none(), "sold out");
    one.submit(hall, cancel(id)).await.unwrap();
    let mut keyless = hold(other.new_booking_id(hall), "later");
    keyless.idempotency = None;
    assert!(booking_of(&other.submit(hall, keyless).await.unwrap()).is_some(), "one seat is free again");
}

/// Turns that nobody ever gets.
struct NoTurns;

impl Turns for NoTurns {
    fn take(&self, _inventory: InventoryNumber) -> Pending<'_, Result<Box<dyn Turn>, NoTurn>> {
        Box::pin(async { Err(NoTurn("there are none".to_owned())) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_turns_it_is_slower_and_right_all_the_same() {
    const CLIENTS: usize = 12;
    const ATTEMPTS: usize = 20;
    let database = Database::start();
    let nodes: Vec<Engine> = (0..3)
        .map(|_| {
            let (store, _) = PostgresStore::migrate(&database.url()).unwrap();
            node(Arc::new(store.with_turns(|_| Box::new(NoTurns))))
        })
        .collect();
    let hall = open_hall(&nodes[0], 10, 20).await;
    for other in &nodes[1..] {
        eventually("the hall is known everywhere", || async { other.number(HALL) == Some(hall) }).await;
    }
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let node = nodes[client % nodes.len()].clone();
            tokio::spawn(async move {
                let mut got = Vec::new();
                for _ in 0..ATTEMPTS {
                    let command = hold(node.new_booking_id(hall), &format!("client-{client}"));
                    got.extend(booking_of(&node.submit(hall, command).await.unwrap()));
                }
                got
            })
        })
        .collect();
    let mut got = Vec::new();
    for client in clients {
        got.extend(client.await.unwrap());
    }
    assert_eq!(got.len(), 200, "all seats, to more customers than there are seats");
    assert_no_seat_twice(got.iter());
    for node in nodes {
        tokio::task::spawn_blocking(move || node.close()).await.unwrap().unwrap();
    }
    let store = database.store();
    assert_tables_agree(&database, &*store);
    verify(&*store, |_, _| {}).unwrap();
}

/// Random commands to two engines whose steps come in any order, judged by the auditor.
#[test]
fn two_writers_keep_every_promise_whatever_the_order() {
    for seed in [1, 2] {
        let database = Database::start();
        let clock = Clock::manual(START);
        let settings = Settings { shards: 2, ..Settings::default() };
        let mut nodes: Vec<SteppedEngine> = (0..2)
            .map(|_| SteppedEngine::start(database.shared_store(), clock.clone(), &settings).unwrap())
            .collect();
        let mut random = Random::new(seed);
        let mut workload = Workload::new(random.fork());
        let mut history = History::default();
        let mut waiting = Vec::new();
        for turn in 0..1_200u64 {
            let node = random.index(nodes.len());
            match random.below(10) {
                0..=3 => {
                    if random.percent(20) {
                        clock.set(clock.now().plus_seconds(u32::try_from(random.below(120)).unwrap()));
                    }
                    let (inventory, command) = workload.next(clock.now(), |name| nodes[node].number(name));
                    let receipt = nodes[node].submit(&inventory, command.clone());
                    waiting.push((history.asked.len(), receipt));
                    history.asked.push(Asked {
                        inventory,
                        command,
                        asked_at: clock.now(),
                        asked_after: turn,
                        end: End::Open,
                        ended_at: clock.now(),
                        ended_after: u64::MAX,
                    });
                }
                4 | 5 => drop(nodes[node].step(Step::Seal(random.index(2))).unwrap()),
                6 | 7 => drop(nodes[node].step(Step::Commit).unwrap()),
                8 => drop(nodes[node].step(Step::Load).unwrap()),
                _ => {
                    for step in [Step::Wake(random.index(2)), Step::Follow, Step::CatchUp, Step::Turn] {
                        nodes[node].step(step).unwrap();
                    }
                }
            }
            take_down(&mut waiting, &mut history, &clock, turn);
        }
        while !waiting.is_empty() {
            for node in &mut nodes {
                node.step(Step::Follow).unwrap();
                node.settle().unwrap();
            }
            take_down(&mut waiting, &mut history, &clock, 3_000);
        }
        let store: Arc<dyn Store> = database.shared_store();
        let audited = auditor::audit(&*store, &Archive::default(), &history);
        audited.unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        assert_tables_agree(&database, &*store);
        verify(&*store, |_, _| {}).unwrap();
    }
}

type Waiting = Vec<(usize, boxoffice_engine::stepped::Receipt)>;

/// Takes down the answers that have arrived.
fn take_down(waiting: &mut Waiting, history: &mut History, clock: &Clock, turn: u64) {
    waiting.retain_mut(|(index, receipt)| {
        let end = match receipt.try_recv() {
            Ok(Ok(answer)) => End::Answered(answer),
            Ok(Err(SubmitError::OutcomeUnknown)) | Err(TryRecvError::Closed) => End::Unknown,
            Ok(Err(_)) => End::NotDone,
            Err(TryRecvError::Empty) => return true,
        };
        let asked = &mut history.asked[*index];
        (asked.end, asked.ended_after, asked.ended_at) = (end, turn, clock.now());
        false
    });
}
