//! Subscriptions: every batch, in order, once.

use std::time::Duration;

use boxoffice_engine::snapshot::{self, Retention};
use boxoffice_engine::{Settings, SubscriptionError};

use crate::scene::{Scene, cancel, eventually, hold, nth};

#[tokio::test]
async fn a_subscriber_gets_every_batch_from_any_sequence_on() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    let mut early = scene.engine.subscribe(hall, 0).await.unwrap();
    for number in 1..=8 {
        scene.grant(hall, hold(nth(hall, number), 1)).await;
    }
    let mut late = scene.engine.subscribe(hall, 5).await.unwrap();
    scene.grant(hall, cancel(nth(hall, 1))).await;
    for sequence in 1..=10 {
        assert_eq!(early.next().await.unwrap().sequence, sequence);
    }
    for sequence in 6..=10 {
        let batch = late.next().await.unwrap();
        assert_eq!(batch.sequence, sequence);
        assert!(!batch.changes.is_empty());
    }
}

#[tokio::test]
async fn one_who_falls_behind_reads_the_journal_and_misses_nothing() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 1, 1).await;
    let mut slow = scene.engine.subscribe(hall, 1).await.unwrap();
    let batches = 2 * u64::try_from(boxoffice_engine::limits::RECENT_BATCHES_MAX).unwrap();
    for _ in 0..batches / 2 {
        // Without a key, so that the same booking can be tried again: it is taken, and that is a refusal without a batch.
        let id = scene.engine.new_booking_id(hall);
        scene.grant(hall, hold(id, 1)).await;
        scene.grant(hall, cancel(id)).await;
    }
    for sequence in 2..2 + batches {
        assert_eq!(slow.next().await.unwrap().sequence, sequence);
    }
}

#[tokio::test]
async fn one_who_waits_is_woken_by_the_next_batch() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    let mut subscription = scene.engine.subscribe(hall, 1).await.unwrap();
    let waiting = tokio::spawn(async move { subscription.next().await.map(|batch| batch.sequence) });
    scene.grant(hall, hold(nth(hall, 1), 1)).await;
    assert_eq!(waiting.await.unwrap().unwrap(), 2);
}

#[tokio::test]
async fn a_subscription_survives_that_its_inventory_is_not_used() {
    let settings = Settings { shards: 1, idle_after: Duration::from_secs(60), ..Settings::default() };
    let scene = Scene::with(&settings);
    let hall = scene.hall("hall", 2, 4).await;
    let other = scene.hall("other", 2, 4).await;
    let mut subscription = scene.engine.subscribe(hall, 1).await.unwrap();
    scene.later(3_600).await;
    eventually("the other hall leaves memory", async || scene.in_memory_after_a_second().await == 1).await;
    scene.grant(other, hold(nth(other, 1), 1)).await;
    scene.grant(hall, hold(nth(hall, 1), 1)).await;
    assert_eq!(subscription.next().await.unwrap().sequence, 2);
}

#[tokio::test]
async fn what_the_journal_no_longer_has_is_said_to_be_gone() {
    let scene = Scene::new();
    let hall = scene.hall("hall", 2, 4).await;
    for number in 1..=5 {
        scene.grant(hall, hold(nth(hall, number), 1)).await;
    }
    snapshot::write(&*scene.store, hall, Retention::Records(2)).unwrap().unwrap();
    let mut in_memory = scene.engine.subscribe(hall, 2).await.unwrap();
    assert_eq!(in_memory.next().await.unwrap().sequence, 3);
    let scene = scene.after_crash();
    let mut kept = scene.engine.subscribe(hall, 4).await.unwrap();
    assert_eq!(kept.next().await.unwrap().sequence, 5);
    let mut gone = scene.engine.subscribe(hall, 2).await.unwrap();
    assert!(matches!(gone.next().await, Err(SubscriptionError::Gone { after: 2, first: Some(5) })));
}
