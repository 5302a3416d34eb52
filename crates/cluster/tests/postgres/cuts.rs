//! A connection that is lost around COMMIT: every command is done once and answered once.

use std::sync::Arc;

use boxoffice_cluster::postgres::PostgresStore;
use boxoffice_engine::verify::verify;
use boxoffice_services::Proxy;

use crate::database::Database;
use crate::scene::{assert_no_seat_twice, booking_of, hold, node, open_hall};
use crate::tables::assert_tables_agree;

const CUTS: u32 = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_cut_off_around_commit_is_done_once() {
    let database = Database::start();
    let direct = database.store();
    let proxy = Proxy::start(&database.server.sockets()).unwrap();
    let url = proxy.url(database.server.user(), "postgres");
    let engine = node(Arc::new(PostgresStore::open(&url).unwrap()));
    let hall = open_hall(&engine, 40, 50).await;
    proxy.cut(true);
    let mut answered = Vec::new();
    while proxy.cuts() < CUTS {
        // Some alone, some together; without a key, so that a command that was done twice would show.
        let several: Vec<_> = (0..1 + answered.len() % 4)
            .map(|number| {
                let mut command = hold(engine.new_booking_id(hall), &format!("customer-{number}"));
                command.idempotency = None;
                engine.submit(hall, command)
            })
            .collect();
        for submitted in several {
            let answer = submitted.await.unwrap();
            answered.push(booking_of(&answer).unwrap());
        }
    }
    proxy.cut(false);
    assert_no_seat_twice(answered.iter());
    let (_, bookings) = engine.bookings(hall).await.unwrap();
    assert_eq!(bookings.len(), answered.len(), "each was done once");
    tokio::task::spawn_blocking(move || engine.close()).await.unwrap().unwrap();
    assert_eq!(database.rows("SELECT count(*) FROM booking"), [answered.len().to_string()]);
    assert_tables_agree(&database, &*direct);
    verify(&*direct, |_, _| {}).unwrap();
}
