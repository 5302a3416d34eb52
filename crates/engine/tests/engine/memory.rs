//! Memory follows what is on sale, not what was ever sold.

use std::time::Duration;

use boxoffice_engine::Settings;

use crate::scene::{Scene, eventually, hold, nth};

#[tokio::test]
async fn idle_inventories_leave_memory_and_come_back_when_needed() {
    let settings = Settings { shards: 2, idle_after: Duration::from_secs(60), ..Settings::default() };
    let scene = Scene::with(&settings);
    let one = scene.hall("one", 2, 4).await;
    let other = scene.hall("other", 2, 4).await;
    scene.grant(one, hold(nth(one, 1), 2)).await;
    assert_eq!(scene.engine.in_memory(), 2);
    scene.later(61).await;
    eventually("both leave", async || scene.in_memory_after_a_second().await == 0).await;
    let (_, booking) = scene.engine.booking("", nth(one, 1)).await.unwrap().unwrap();
    assert_eq!(booking.units.quantity(), 2, "a look brings it back");
    let answer = scene.grant(other, hold(nth(other, 1), 1)).await;
    assert_eq!(answer.sequence, 2, "a command brings it back");
    assert_eq!(scene.engine.in_memory(), 2);
}

#[tokio::test]
async fn an_inventory_that_is_looked_at_stays() {
    let settings = Settings { shards: 1, idle_after: Duration::from_secs(60), ..Settings::default() };
    let scene = Scene::with(&settings);
    let hall = scene.hall("hall", 2, 4).await;
    let other = scene.hall("other", 2, 4).await;
    scene.later(50).await;
    scene.engine.view(hall).await.unwrap();
    scene.later(50).await;
    eventually("the other one leaves", async || scene.in_memory_after_a_second().await == 1).await;
    scene.grant(other, hold(nth(other, 1), 1)).await;
    assert_eq!(scene.engine.in_memory(), 2);
}

#[tokio::test]
async fn whoever_only_measures_does_not_keep_an_inventory_in_memory() {
    let settings = Settings { shards: 1, idle_after: Duration::from_secs(60), ..Settings::default() };
    let scene = Scene::with(&settings);
    let hall = scene.hall("hall", 2, 4).await;
    scene.grant(hall, hold(nth(hall, 1), 2)).await;
    let views = scene.engine.views_in_memory();
    assert_eq!(views.iter().map(|(_, stock)| stock.live_holds).collect::<Vec<_>>(), [1]);
    drop(views);
    eventually("it leaves", async || {
        drop(scene.engine.views_in_memory());
        scene.in_memory_after_a_second().await == 0
    })
    .await;
}
