//! Redlock on three real servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use boxoffice_cluster::redis::{LockError, LockSettings, Redlock, RedlockTurns};
use boxoffice_cluster::turns::{NoTurn, Pending, Turn, Turns};
use boxoffice_engine::InventoryNumber;
use boxoffice_services::Redis;

use crate::beside::{ask, instances, redis_server};

const NAME: &str = "lock:event:1";

fn three() -> ([Redis; 3], String) {
    let servers = [redis_server(), redis_server(), redis_server()];
    let urls = servers.iter().map(Redis::url).collect::<Vec<_>>().join(",");
    (servers, urls)
}

/// A holder or one who wants to be, with connections of its own.
fn locks(urls: &str, settings: LockSettings) -> Redlock {
    Redlock::new(&instances(urls), settings)
}

/// Asked for once, and given quickly.
fn once() -> LockSettings {
    LockSettings { retries: 0, answer_max: Duration::from_millis(500), ..LockSettings::default() }
}

#[tokio::test]
async fn of_many_who_want_a_lock_one_has_it_at_a_time() {
    let (_servers, urls) = three();
    let settings = LockSettings {
        retries: 10_000,
        retry_delay: Duration::from_millis(1),
        retry_jitter: Duration::from_millis(3),
        answer_max: Duration::from_secs(2),
        ..LockSettings::default()
    };
    let (inside, rounds) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let tasks = (0..8).map(|_| {
        let (locks, inside, rounds) = (locks(&urls, settings), Arc::clone(&inside), Arc::clone(&rounds));
        tokio::spawn(async move {
            for _ in 0..10 {
                let lock = locks.acquire(NAME).await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
                tokio::task::yield_now().await;
                rounds.fetch_add(1, Ordering::SeqCst);
                inside.fetch_sub(1, Ordering::SeqCst);
                assert!(locks.release(lock).await, "nobody else could have released it");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(rounds.load(Ordering::SeqCst), 80);
}

#[tokio::test]
async fn a_minority_may_be_down_or_hang_and_a_majority_may_not() {
    let (mut servers, urls) = three();
    let (ours, theirs) = (locks(&urls, once()), locks(&urls, once()));
    servers[0].kill();
    let lock = ours.acquire(NAME).await.unwrap();
    assert_eq!(theirs.acquire(NAME).await.unwrap_err(), LockError::Taken);
    assert!(ours.release(lock).await);
    servers[0].start_again().unwrap();
    servers[1].pause(true).unwrap();
    let lock = ours.acquire(NAME).await.unwrap();
    assert_eq!(theirs.acquire(NAME).await.unwrap_err(), LockError::Taken);
    assert!(ours.release(lock).await);
    servers[2].kill();
    let unreachable = LockError::Unreachable { answered: 1, instances: 3 };
    assert_eq!(ours.acquire(NAME).await.unwrap_err(), unreachable);
    // What the minority gave was given back.
    assert_eq!(ask::<Option<String>>(&servers[0], &["GET", NAME]).await, None);
    servers[2].start_again().unwrap();
    servers[1].pause(false).unwrap();
    let lock = theirs.acquire(NAME).await.unwrap();
    assert!(theirs.release(lock).await);
}

#[tokio::test]
async fn a_lock_ends_by_itself_unless_it_is_extended() {
    let (_servers, urls) = three();
    let short = LockSettings { lasts: Duration::from_millis(600), ..once() };
    let (ours, theirs) = (locks(&urls, short), locks(&urls, short));
    let mut lock = ours.acquire(NAME).await.unwrap();
    // Longer than it lasts, in steps that are shorter.
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(1_200) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(ours.extend(&mut lock).await);
        assert_eq!(theirs.acquire(NAME).await.unwrap_err(), LockError::Taken);
    }
    let ends = Instant::now() + lock.remaining();
    let patient = LockSettings { retries: 1_000, retry_delay: Duration::from_millis(5), ..short };
    let theirs = locks(&urls, patient);
    let second = theirs.acquire(NAME).await.unwrap();
    assert!(Instant::now() >= ends, "as long as it was said to be had, nobody else had it");
    assert_eq!(lock.remaining(), Duration::ZERO);
    // Whoever comes too late has no say any more.
    assert!(!ours.extend(&mut lock).await);
    assert!(!ours.release(lock).await);
    assert_eq!(
        ours.acquire(NAME).await.unwrap_err(),
        LockError::Taken,
        "it was not released by the one before"
    );
    assert!(theirs.release(second).await);
}

#[tokio::test]
async fn what_clocks_may_drift_apart_is_taken_off() {
    let (_servers, urls) = three();
    let settings = LockSettings { lasts: Duration::from_secs(10), drift_factor: 0.2, ..once() };
    let ours = locks(&urls, settings);
    let lock = ours.acquire(NAME).await.unwrap();
    // 20 % and two milliseconds.
    assert!(lock.remaining() <= Duration::from_millis(7_998), "{:?}", lock.remaining());
    assert!(lock.remaining() > Duration::from_secs(5), "{:?}", lock.remaining());
    assert!(ours.release(lock).await);
    // If nothing is left, it is not had, although all have given it; and it is given back.
    let hopeless = locks(&urls, LockSettings { drift_factor: 1.0, ..settings });
    assert_eq!(hopeless.acquire(NAME).await.unwrap_err(), LockError::Taken);
    let lock = ours.acquire(NAME).await.unwrap();
    assert!(ours.release(lock).await);
}

#[tokio::test]
async fn one_server_is_a_majority_of_one() {
    let server = redis_server();
    let (ours, theirs) = (locks(&server.url(), once()), locks(&server.url(), once()));
    let lock = ours.acquire(NAME).await.unwrap();
    assert_eq!(theirs.acquire(NAME).await.unwrap_err(), LockError::Taken);
    assert!(ours.release(lock).await);
    let lock = theirs.acquire(NAME).await.unwrap();
    assert!(theirs.release(lock).await);
}

/// Instead of PostgreSQL's turns, which nobody is to ask for while Redis answers.
struct NobodyAsks;

impl Turns for NobodyAsks {
    fn take(&self, _: InventoryNumber) -> Pending<'_, Result<Box<dyn Turn>, NoTurn>> {
        panic!("a majority answers");
    }
}

#[tokio::test]
async fn who_has_asked_for_a_turn_often_enough_goes_without() {
    let (servers, urls) = three();
    let turns = |retries: u32| {
        let settings = LockSettings { retries, ..RedlockTurns::settings() };
        RedlockTurns::new(&instances(&urls), settings, Box::new(NobodyAsks))
    };
    let hall = InventoryNumber(1);
    let held = turns(0).take(hall).await.unwrap();
    assert_eq!(ask::<u32>(&servers[0], &["EXISTS", "lock:inventory:1"]).await, 1);
    let (impatient, patient) = (turns(3), turns(100_000));
    assert!(impatient.take(hall).await.is_err(), "others have it");
    let waiting = tokio::spawn(async move { patient.take(hall).await.is_ok() });
    held.give_back().await;
    assert!(waiting.await.unwrap());
}
