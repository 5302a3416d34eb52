//! What connections are left with.

use boxoffice_services::Postgres;

use super::*;

#[test]
fn a_read_that_was_given_up_leaves_no_transaction_behind() {
    let server = Postgres::start(&["fsync=off"]).unwrap();
    let store = PostgresStore::migrate(&server.url("postgres")).unwrap().0;
    server.psql("postgres", "INSERT INTO inventory (number, name, sequence, head, changed_at, complete) VALUES (1, 'default/event:hall', 1, decode(repeat('00', 32), 'hex'), now(), true)").unwrap();
    store.wait(async {
        let mut other = PgConnection::connect_with(&store.inner.options).await.unwrap();
        let mut lock = other.begin().await.unwrap();
        raw_sql("LOCK TABLE snapshot").execute(&mut *lock).await.unwrap();
        let mut connection = store.inner.reads.acquire().await.unwrap();
        let waits = async {
            let asked = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            while server.psql("postgres", asked).unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            loaded = load(&mut connection, InventoryNumber(1)) => panic!("the snapshot is locked: {loaded:?}"),
            () = waits => {}
        }
        drop(connection);
        lock.rollback().await.unwrap();
    });
    store.write_documents(&[("key".to_owned(), Some(vec![1]))]).unwrap();
    assert_eq!(server.psql("postgres", "SELECT count(*) FROM document").unwrap(), "1");
    // The pool rolls back beside us.
    let open = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
    let begun = std::time::Instant::now();
    while server.psql("postgres", open).unwrap() != "0" {
        assert!(begun.elapsed() < Duration::from_secs(60), "a transaction is left open");
    }
}
