//! What goes wrong in a database, or in a node beside this one, and is over in a moment: nobody else may suffer from it.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use boxoffice_engine::InventoryNumber;
use boxoffice_engine::record::{self, Hash, Manifest};
use boxoffice_engine::store::{CommitError, Store};
use sqlx::{Connection, PgConnection, raw_sql};
use tokio::time::timeout;

use crate::contract::batch;
use crate::database::Database;
use crate::scene::eventually;

/// However busy the machine is: what is waited for never happens if the store is wrong.
const DEADLINE: Duration = Duration::from_secs(30);

#[test]
fn a_database_that_takes_no_writes_for_a_while_is_waited_for() {
    let database = Database::start();
    let store = database.store();
    let first = batch(1, 1, Hash::default());
    store.commit(&[&first]).unwrap();
    database.rows("ALTER DATABASE postgres SET default_transaction_read_only = on");
    database
        .rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'boxoffice'");
    let second = batch(1, 2, first.head.hash);
    std::thread::scope(|scope| {
        let committing = scope.spawn(|| store.commit(&[&second]));
        let refused = store.write_documents(&[("key".to_owned(), None)]).unwrap_err();
        assert!(matches!(refused, CommitError::Unavailable(_)), "{refused}");
        assert!(!committing.is_finished(), "{:?}", committing.join());
        database
            .rows("BEGIN READ WRITE; ALTER DATABASE postgres RESET default_transaction_read_only; COMMIT");
        assert_eq!(committing.join().unwrap().unwrap(), []);
    });
    store.write_documents(&[("key".to_owned(), None)]).unwrap();
    assert_eq!(store.heads().unwrap(), [second.head]);
}

/// Whoever commits a snapshot stops in the middle of it until the gate is opened, having noted how long it may be idle.
const STOP_AT_COMMIT: &str = "
    CREATE TABLE gate (opened boolean);
    CREATE TABLE allowed (idle text);
    CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO allowed SELECT current_setting('idle_in_transaction_session_timeout');
        WHILE NOT EXISTS (SELECT FROM gate) LOOP PERFORM pg_sleep(0.01); END LOOP;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER stop AFTER INSERT ON snapshot DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION stop()";

#[test]
fn a_node_that_stops_while_it_writes_a_snapshot_is_in_nobodys_way() {
    let database = Database::start();
    let (one, other) = (database.store(), database.store());
    let first = batch(1, 1, Hash::default());
    one.commit(&[&first]).unwrap();
    database.rows(STOP_AT_COMMIT);
    let contents = b"contents";
    let manifest = Manifest {
        inventory: InventoryNumber(1),
        sequence: 1,
        hash: first.head.hash,
        bytes: contents.len() as u64,
        contents: record::hash_of(contents),
        journal_from: 1,
    };
    let second = batch(1, 2, first.head.hash);
    std::thread::scope(|scope| {
        let stopped = scope.spawn(|| one.write_snapshot(&manifest, contents));
        let stops = "SELECT 1 FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'PgSleep'";
        while database.rows(stops).is_empty() {
            assert!(!stopped.is_finished());
        }
        let (tell, told) = mpsc::channel();
        let other = &other;
        let second = &second;
        scope.spawn(move || tell.send(other.commit(&[second]).unwrap()));
        let committed = told.recv_timeout(DEADLINE);
        database.rows("INSERT INTO gate VALUES (true)");
        assert_eq!(committed, Ok(Vec::new()), "nobody else can sell");
        stopped.join().unwrap().unwrap();
    });
    assert_eq!(database.rows("SELECT idle FROM allowed"), ["1min"]);
}

#[test]
fn however_many_inventories_are_hot_turns_take_few_connections() {
    const HOT: u32 = 30;
    let database = Database::start();
    let store = database.store();
    let (tell, told) = mpsc::channel();
    let ask = |number: u32| {
        let tell = tell.clone();
        store.take_turn(
            InventoryNumber(number),
            Box::new(move |is_ours| tell.send((number, is_ours)).unwrap()),
        );
    };
    (1..=HOT).for_each(ask);
    let answer = || told.recv_timeout(DEADLINE).expect("each request gets an answer");
    let had: Vec<u32> =
        (1..=HOT).map(|_| answer()).filter(|&(_, is_ours)| is_ours).map(|(number, _)| number).collect();
    assert!((1..=8).contains(&had.len()), "{had:?}");
    // Whoever gave up may have asked a moment before; that ends by itself.
    let sessions = "SELECT count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory'";
    let begun = Instant::now();
    while database.rows(sessions) != [had.len().to_string()] {
        assert!(begun.elapsed() < DEADLINE, "{:?} for {had:?}", database.rows(sessions));
    }
    // What one gives back another can have; on a busy machine not at the first try.
    store.end_turn(InventoryNumber(had[0]));
    let begun = Instant::now();
    loop {
        ask(HOT + 1);
        if answer() == (HOT + 1, true) {
            break;
        }
        store.end_turn(InventoryNumber(HOT + 1));
        assert!(begun.elapsed() < DEADLINE, "no other inventory has a turn");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_committed_does_not_wait_until_others_know_that_a_node_was_too_late() {
    let database = Database::start();
    let (one, other) = (database.store(), database.store());
    one.commit(&[&batch(1, 1, Hash::default())]).unwrap();
    let mut stopped = PgConnection::connect(&database.url()).await.unwrap();
    let mut lock = stopped.begin().await.unwrap();
    raw_sql("SELECT 1 FROM inventory WHERE number = 1 FOR UPDATE").execute(&mut *lock).await.unwrap();
    let commit = tokio::task::spawn_blocking(move || {
        let (late, new) = (batch(1, 2, Hash([9; 32])), batch(2, 1, Hash::default()));
        other.commit(&[&late, &new])
    });
    let fenced = timeout(DEADLINE, commit).await.expect("it is durable and waits");
    assert_eq!(fenced.unwrap().unwrap(), [InventoryNumber(1)]);
    lock.rollback().await.unwrap();
    // The next one that is too late says so.
    let known = "SELECT 1 FROM inventory WHERE number = 1 AND contended_at IS NOT NULL";
    eventually("others know", || async {
        one.commit(&[&batch(1, 2, Hash([9; 32]))]).unwrap();
        !database.rows(known).is_empty()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_reads_do_not_keep_a_node_from_hearing_what_others_did() {
    const READERS: usize = 6;
    let database = Database::start();
    let store = database.store();
    let first = batch(1, 1, Hash::default());
    store.commit(&[&first]).unwrap();
    let mut slow = PgConnection::connect(&database.url()).await.unwrap();
    let mut lock = slow.begin().await.unwrap();
    raw_sql("LOCK TABLE snapshot").execute(&mut *lock).await.unwrap();
    let readers: Vec<_> = (0..READERS)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::task::spawn_blocking(move || store.load(InventoryNumber(1)))
        })
        .collect();
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    eventually("as many read as may", || async { database.rows(waiting) == ["4"] }).await;
    let asked = tokio::task::spawn_blocking(move || {
        (store.changed_heads(0).unwrap().0, store.heads_of(&[InventoryNumber(1)]).unwrap())
    });
    let heads = timeout(DEADLINE, asked).await.expect("it waits for readers").unwrap();
    assert_eq!(heads, (vec![first.head.clone()], vec![first.head.clone()]));
    lock.rollback().await.unwrap();
    for reader in readers {
        assert_eq!(reader.await.unwrap().unwrap().unwrap().head, first.head);
    }
}
