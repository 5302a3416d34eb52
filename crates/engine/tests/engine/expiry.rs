//! Holds end by themselves, once, and not early.

use std::time::Duration;

use boxoffice_core::booking::Status;
use boxoffice_core::change::Change;
use boxoffice_engine::Settings;
use boxoffice_engine::view::KindView;

use crate::scene::{Scene, eventually, hold, nth};

const HOLD_SECONDS: u32 = 15 * 60;

async fn held_seats(scene: &Scene, hall: boxoffice_engine::InventoryNumber) -> u32 {
    match &scene.engine.view(hall).await.unwrap().kind {
        KindView::Event(event) => event.totals.held,
        other => panic!("not an event: {other:?}"),
    }
}

#[tokio::test]
async fn a_hold_ends_without_anybody_asking() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    let mut subscription = scene.engine.subscribe(hall, 2).await.unwrap();
    scene.grant(hall, hold(nth(hall, 1), 3)).await;
    scene.later(HOLD_SECONDS - 1).await;
    scene.grant(hall, hold(nth(hall, 2), 1)).await;
    assert_eq!(held_seats(&scene, hall).await, 4, "not early");
    scene.later(1).await;
    let batch = subscription.next().await.unwrap();
    assert_eq!(batch.sequence, 3);
    let batch = subscription.next().await.unwrap();
    let ended: Vec<&Change> =
        batch.changes.iter().filter(|change| matches!(change, Change::Expired { .. })).collect();
    assert_eq!(ended, [&Change::Expired { booking: nth(hall, 1) }], "once, and only that one");
    assert_eq!(held_seats(&scene, hall).await, 1);
}

#[tokio::test]
async fn a_hold_of_an_inventory_that_left_memory_ends_in_time() {
    let settings = Settings { shards: 1, idle_after: Duration::from_secs(60), ..Settings::default() };
    let scene = Scene::with(&settings);
    let hall = scene.hall("hall", 2, 4).await;
    scene.grant(hall, hold(nth(hall, 1), 3)).await;
    scene.later(120).await;
    eventually("the hall leaves memory", async || scene.in_memory_after_a_second().await == 0).await;
    scene.later(HOLD_SECONDS).await;
    eventually("the hold ends", async || {
        let heads = boxoffice_engine::store::Store::heads(&*scene.store).unwrap();
        heads[0].sequence == 3 && heads[0].next_deadline.is_none()
    })
    .await;
    let (_, booking) = scene.engine.booking("", nth(hall, 1)).await.unwrap().unwrap();
    assert!(matches!(booking.status, Status::Expired { .. }), "{:?}", booking.status);
}

#[tokio::test]
async fn a_hold_that_was_due_while_nothing_ran_ends_when_the_engine_starts() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    scene.grant(hall, hold(nth(hall, 1), 3)).await;
    scene.later(HOLD_SECONDS).await;
    let scene = scene.after_crash();
    eventually("the hold ends", async || held_seats(&scene, hall).await == 0).await;
}
