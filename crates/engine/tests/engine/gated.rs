//! What becomes of those who wait for the store when things go wrong meanwhile.

use std::sync::Arc;
use std::time::Duration;

use boxoffice_engine::routing::Position;
use boxoffice_engine::store::{NextCommit, Store};
use boxoffice_engine::{Clock, Engine, InventoryNumber, Settings, StopReason, SubmitError};

use crate::gate::{Gate, GatedStore};
use crate::scene::{chosen, create_hall, eventually, hold, nth};

/// An engine of two shards and a hall on each.
async fn two_halls(store: &Arc<GatedStore>) -> (Engine, [InventoryNumber; 2]) {
    let settings = Settings { shards: 2, ..Settings::default() };
    let engine = Engine::start(Arc::clone(store) as Arc<dyn Store>, Clock::system(), &settings).unwrap();
    // Names are spread by a hash that is the same in every process: these two are on different shards.
    let names = ["hall-0", "hall-1"];
    for name in names {
        engine.submit_to(name, create_hall(name, 1, 9)).await.unwrap();
    }
    let numbers = names.map(|name| engine.number(name).unwrap());
    (engine, numbers)
}

async fn in_time<T>(what: &str, task: tokio::task::JoinHandle<T>) -> T {
    let answer = tokio::time::timeout(Duration::from_secs(60), task).await;
    answer.unwrap_or_else(|_| panic!("{what} waits for ever")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sealed_after_the_committer_gave_up_is_answered() {
    let store = GatedStore::new();
    let (engine, [one, other]) = two_halls(&store).await;
    let handle = engine.clone();
    let waiting = tokio::spawn(async move { handle.submit(other, hold(chosen(9), 1)).await });
    store.somebody_waits().await;
    store.inner.next_commit(NextCommit::Full);
    assert_eq!(engine.submit(one, hold(nth(one, 1), 1)).await, Err(SubmitError::OutcomeUnknown));
    assert!(matches!(engine.stopped().await, StopReason::DiskFull(_)));
    store.gate.send_replace(Gate::Open);
    let answer = in_time("who was being decided", waiting).await;
    assert!(matches!(answer, Err(SubmitError::OutcomeUnknown | SubmitError::Stopped)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_shard_that_panics_is_answered() {
    let store = GatedStore::new();
    let (engine, [_, other]) = two_halls(&store).await;
    let handle = engine.clone();
    let first = tokio::spawn(async move { handle.submit(other, hold(chosen(9), 1)).await });
    store.somebody_waits().await;
    let handle = engine.clone();
    let second = tokio::spawn(async move { handle.submit(other, hold(nth(other, 1), 1)).await });
    eventually("the second is in the queue", async || engine.waiting() == 1).await;
    store.gate.send_replace(Gate::Panic);
    assert_eq!(in_time("the first", first).await, Err(SubmitError::OutcomeUnknown));
    assert_eq!(in_time("the second", second).await, Err(SubmitError::Stopped));
    assert_eq!(engine.stopped().await, StopReason::Panicked("shard"));
}

/// A position that was passed counts as decided: what comes after a command that has to be tried again has to wait for it.
#[tokio::test(flavor = "multi_thread")]
async fn no_command_of_the_log_overtakes_one_that_was_not_taken() {
    let store = GatedStore::new();
    let (engine, [one, other]) = two_halls(&store).await;
    let log = [(one, nth(one, 1)), (one, chosen(9)), (one, nth(one, 2)), (other, nth(other, 1))];
    let commands = || log.iter().map(|&(hall, id)| (hall, hold(id, 1))).collect::<Vec<_>>();
    let at = |offset| Position { epoch: 1, partition: 0, offset };
    let positions: Vec<Position> = (0..4).map(at).collect();
    store.gate.send_replace(Gate::Away);
    let answers = engine.submit_from_log(commands(), &positions).await;
    let taken: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(taken, [true, false, false, true], "{answers:?}");
    for answer in &answers[1..3] {
        assert!(matches!(answer, Err(SubmitError::Unavailable { .. })), "{answer:?}");
    }
    store.gate.send_replace(Gate::Open);
    let answers = engine.submit_from_log(commands()[1..3].to_vec(), &positions[1..3]).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

/// On the one thread of this runtime nothing else would be done while somebody asks a database that hangs.
#[tokio::test]
async fn who_looks_for_a_booking_that_nobody_knows_blocks_nobody() {
    let store = GatedStore::shared();
    let (engine, _) = two_halls(&store).await;
    let (done, wait_for_it) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::clone(&store);
    let rescue = std::thread::spawn(move || {
        // If the runtime does not get further, the gate is opened for it, which is noticed below.
        if wait_for_it.recv_timeout(Duration::from_secs(60)).is_err() {
            blocked.gate.send_replace(Gate::Open);
        }
    });
    let handle = engine.clone();
    let asked = tokio::spawn(async move { handle.booking("", chosen(9)).await });
    store.somebody_waits().await;
    assert!(*store.gate.borrow() == Gate::Shut, "the runtime waited for the store");
    done.send(()).unwrap();
    rescue.join().unwrap();
    store.gate.send_replace(Gate::Open);
    assert_eq!(in_time("who asked", asked).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_waits_once_for_a_store_that_is_away() {
    let store = GatedStore::shared();
    let (engine, [one, _]) = two_halls(&store).await;
    store.gate.send_replace(Gate::Silent);
    let handle = engine.clone();
    let bookings = (1..=9).map(|number| (one, hold(chosen(number), 1))).collect();
    let waiting = tokio::spawn(async move { handle.submit_all(bookings).await });
    store.somebody_waits().await;
    eventually("the store is away", async || engine.unavailable_for().is_some()).await;
    let answers = in_time("who waited", waiting).await;
    assert_eq!(answers, vec![Err(SubmitError::OutcomeUnknown); 9]);
    store.gate.send_replace(Gate::Away);
    tokio::task::spawn_blocking(move || engine.close()).await.unwrap().unwrap();
    assert_eq!(*store.at_gate.borrow(), 1, "the others need not ask");
}
