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
/// Longer than any test takes.
const LASTS: Duration = Duration::from_secs(600);

fn three() -> ([Redis; 3], String) {
    let servers = [redis_server(), redis_server(), redis_server()];
    let urls = servers.iter().map(Redis::url).collect::<Vec<_>>().join(",");
    (servers, urls)
}

/// A holder or one who wants to be, with connections of its own.
fn locks(urls: &str, settings: LockSettings) -> Redlock {
    Redlock::new(&instances(urls), settings)
}

/// Asked for once. Nothing ends by itself or counts as hung because the machine is busy.
fn once() -> LockSettings {
    LockSettings { retries: 0, lasts: LASTS, answer_max: Duration::from_secs(20), ..LockSettings::default() }
}

#[tokio::test]
async fn of_many_who_want_a_lock_one_has_it_at_a_time() {
    let (_servers, urls) = three();
    let settings = LockSettings {
        retries: 10_000,
        retry_delay: Duration::from_millis(1),
        retry_jitter: Duration::from_millis(3),
        ..once()
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
    // Each request waits this time for the server that hangs.
    let settings = LockSettings { answer_max: Duration::from_secs(4), ..once() };
    let (ours, theirs) = (locks(&urls, settings), locks(&urls, settings));
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

/// Milliseconds until the lock ends on each server.
async fn ends_after(servers: &[Redis]) -> Vec<u64> {
    let mut ends = Vec::new();
    for server in servers {
        ends.push(ask(server, &["PTTL", NAME]).await);
    }
    ends
}

#[tokio::test]
async fn extended_lock_lasts_as_long_as_a_new_one() {
    const NEARLY_OVER_MS: u64 = 60_000;
    let (servers, urls) = three();
    let (ours, theirs) = (locks(&urls, once()), locks(&urls, once()));
    let mut lock = ours.acquire(NAME).await.unwrap();
    for server in &servers {
        assert_eq!(ask::<u32>(server, &["PEXPIRE", NAME, &NEARLY_OVER_MS.to_string()]).await, 1);
    }
    let before = lock.remaining();
    assert!(ours.extend(&mut lock).await);
    assert!(ends_after(&servers).await.into_iter().all(|ends| ends > NEARLY_OVER_MS));
    assert!(lock.remaining() > before.saturating_sub(Duration::from_secs(1)), "{:?}", lock.remaining());
    assert_eq!(theirs.acquire(NAME).await.unwrap_err(), LockError::Taken);
    assert!(ours.release(lock).await);
}

#[tokio::test]
async fn lock_that_is_not_extended_ends_by_itself_and_not_before() {
    let (_servers, urls) = three();
    let patient = LockSettings { retries: 100_000, retry_delay: Duration::from_millis(5), ..once() };
    // On a busy machine all of its time may be over when the servers have answered: then it is asked for again.
    let short = LockSettings { lasts: Duration::from_secs(1), ..patient };
    let (ours, theirs) = (locks(&urls, short), locks(&urls, patient));
    let mut lock = ours.acquire(NAME).await.unwrap();
    let ends = Instant::now() + lock.remaining();
    let second = theirs.acquire(NAME).await.unwrap();
    assert!(Instant::now() >= ends, "as long as it was said to be had, no other holder had it");
    assert_eq!(lock.remaining(), Duration::ZERO);
    // A holder that comes too late can neither extend nor release it.
    assert!(!ours.extend(&mut lock).await);
    assert!(!ours.release(lock).await);
    let once_more = locks(&urls, once());
    assert_eq!(once_more.acquire(NAME).await.unwrap_err(), LockError::Taken, "the late release did nothing");
    assert!(theirs.release(second).await);
}

#[tokio::test]
async fn what_clocks_may_drift_apart_is_taken_off() {
    let (_servers, urls) = three();
    let settings = LockSettings { lasts: Duration::from_secs(100), drift_factor: 0.2, ..once() };
    let ours = locks(&urls, settings);
    let lock = ours.acquire(NAME).await.unwrap();
    // 20 % and two milliseconds.
    assert!(lock.remaining() <= Duration::from_millis(79_998), "{:?}", lock.remaining());
    assert!(lock.remaining() > Duration::from_secs(50), "{:?}", lock.remaining());
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

/// In place of PostgreSQL's turns, which are not asked for while Redis answers.
struct NeverAsked;

impl Turns for NeverAsked {
    fn take(&self, _: InventoryNumber) -> Pending<'_, Result<Box<dyn Turn>, NoTurn>> {
        panic!("a majority answers");
    }
}

#[tokio::test]
async fn node_proceeds_without_the_turn_after_its_last_attempt() {
    let (servers, urls) = three();
    let turns = |retries: u32| {
        let settings =
            LockSettings { retries, lasts: LASTS, answer_max: once().answer_max, ..RedlockTurns::settings() };
        RedlockTurns::new(&instances(&urls), settings, Box::new(NeverAsked))
    };
    let hall = InventoryNumber(1);
    let held = turns(0).take(hall).await.unwrap();
    assert_eq!(ask::<u32>(&servers[0], &["EXISTS", "lock:inventory:1"]).await, 1);
    let (impatient, patient) = (turns(3), turns(100_000));
    assert!(impatient.take(hall).await.is_err(), "another node has it");
    let waiting = tokio::spawn(async move { patient.take(hall).await.is_ok() });
    held.give_back().await;
    assert!(waiting.await.unwrap());
}
