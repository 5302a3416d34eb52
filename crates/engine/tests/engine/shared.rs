//! A store that other processes share, as far as that shows in how it answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use boxoffice_core::command::Action;
use boxoffice_engine::limits::STORE_ANSWER_MAX;
use boxoffice_engine::store::Store;
use boxoffice_engine::{Clock, Engine, InventoryNumber, Settings, StartError, SubmitError};

use crate::gate::{Gate, GatedStore};
use crate::scene::{create_hall, eventually, hold};

/// In which a hold lasts so long.
const HOLD_SECONDS: u32 = 3;

fn start(store: &Arc<GatedStore>) -> Result<Engine, StartError> {
    let settings = Settings { shards: 1, ..Settings::default() };
    Engine::start(Arc::clone(store) as Arc<dyn Store>, Clock::system(), &settings)
}

async fn hall_on(store: &Arc<GatedStore>) -> (Engine, InventoryNumber) {
    let engine = start(store).unwrap();
    let mut create = create_hall("hall", 100, 100);
    let Action::CreateEvent(event) = &mut create.action else { unreachable!() };
    event.rules.hold_ttl_seconds = Some(HOLD_SECONDS);
    engine.submit_to("hall", create).await.unwrap();
    let hall = engine.number("hall").unwrap();
    (engine, hall)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_commits_is_not_away_and_one_that_does_nothing_is() {
    let store = GatedStore::shared();
    let (engine, hall) = hall_on(&store).await;
    store.gate.send_replace(Gate::Silent);
    let until = Instant::now() + 2 * STORE_ANSWER_MAX;
    while Instant::now() < until {
        let answer = engine.submit(hall, hold(engine.new_booking_id(hall), 1)).await;
        assert!(answer.is_ok(), "{answer:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    eventually("nothing is heard of it", async || engine.unavailable_for().is_some()).await;
    let refused = engine.submit(hall, hold(engine.new_booking_id(hall), 1)).await;
    assert!(matches!(refused, Err(SubmitError::Unavailable { .. })), "{refused:?}");
    store.gate.send_replace(Gate::Open);
    eventually("it answers again", async || engine.unavailable_for().is_none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_clock_is_not_the_stores_does_not_start() {
    let store = GatedStore::shared();
    for ahead_ms in [-3_600_000, -6_000, 6_000, 3_600_000] {
        store.ahead_ms.store(ahead_ms, Ordering::Release);
        let refused = start(&store).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains("by this machine's clock") && refused.contains("NTP"), "{refused}");
    }
    for ahead_ms in [-4_000, 0, 4_000] {
        store.ahead_ms.store(ahead_ms, Ordering::Release);
        start(&store).unwrap().close().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_whose_clock_goes_wrong_takes_no_commands_and_ends_no_holds() {
    let store = GatedStore::shared();
    let (engine, hall) = hall_on(&store).await;
    let answer = engine.submit(hall, hold(engine.new_booking_id(hall), 1)).await.unwrap();
    let over = engine.now().plus_seconds(HOLD_SECONDS);
    store.ahead_ms.store(-3_600_000, Ordering::Release);
    eventually("the clocks are compared", async || engine.unavailable_for().is_some()).await;
    assert!(engine.clocks_apart());
    let refused = engine.submit(hall, hold(engine.new_booking_id(hall), 1)).await;
    assert!(matches!(refused, Err(SubmitError::Unavailable { .. })), "{refused:?}");
    eventually("the hold is over by that clock", async || engine.now() > over.plus_seconds(1)).await;
    assert_eq!(store.heads().unwrap()[0].sequence, answer.sequence, "it was ended by a clock that is wrong");
    store.ahead_ms.store(0, Ordering::Release);
    eventually("the hold ends", async || store.heads().unwrap()[0].sequence > answer.sequence).await;
    assert!(!engine.clocks_apart());
}
