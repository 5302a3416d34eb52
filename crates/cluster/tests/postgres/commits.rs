//! Commits that take long: because there is much in them, or because nobody answers.

use std::process::Command as Program;
use std::time::{Duration, Instant};

use boxoffice_core::command::Action;
use boxoffice_core::event::SeatName;

use crate::database::Database;
use crate::scene::{HALL, booking_of, create_hall, hold, node, open_hall};

/// Notes how many seats each statement takes, and how long it may take for that.
const WATCH: &str = "
    CREATE TABLE watched (statement serial, seats bigint, allowed text);
    CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO watched (seats, allowed) SELECT count(*), current_setting('statement_timeout') FROM taken;
        RETURN NULL;
    END $$;
    CREATE TRIGGER watch AFTER INSERT ON claim REFERENCING NEW TABLE AS taken FOR EACH STATEMENT EXECUTE FUNCTION watch()";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_commit_is_given_time_and_written_in_pieces() {
    let database = Database::start();
    let engine = node(database.shared_store());
    database.rows(WATCH);
    let mut create = create_hall(200, 250);
    let Action::CreateEvent(event) = &mut create.action else { unreachable!() };
    let seats = (1..=200).flat_map(|row| (1..=250).map(move |number| SeatName { row, number }));
    event.sections[0].subsections[0].blocked = seats.take(45_000).collect();
    engine.submit_to(HALL, create).await.unwrap();
    let hall = engine.number(HALL).unwrap();
    let answer = engine.submit(hall, hold(engine.new_booking_id(hall), "ann")).await.unwrap();
    assert!(booking_of(&answer).is_some(), "{answer:?}");
    let watched = database.rows("SELECT seats, allowed FROM watched ORDER BY statement");
    assert_eq!(
        watched,
        ["20000|30s", "20000|30s", "5000|30s", "1|10s"],
        "a small one is given no more than before"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_died_unnoticed_keeps_nobody_waiting_for_long() {
    let database = Database::start();
    let engine = node(database.shared_store());
    let hall = open_hall(&engine, 2, 2).await;
    let last = "SELECT pid FROM pg_stat_activity WHERE query = 'COMMIT' ORDER BY state_change DESC LIMIT 1";
    let dead = Stopped::new(database.rows(last).remove(0));
    let asked = Instant::now();
    let answer = engine.submit(hall, hold(engine.new_booking_id(hall), "ann")).await.unwrap();
    let took = asked.elapsed();
    assert!(booking_of(&answer).is_some(), "{answer:?}");
    assert!(took < Duration::from_secs(3), "{took:?}");
    assert_ne!(database.rows(last), std::slice::from_ref(&dead.process), "it was not asked again");
}

/// A process that says nothing and does not end, until this is dropped.
struct Stopped {
    process: String,
}

impl Stopped {
    fn new(process: String) -> Stopped {
        signal("-STOP", &process);
        Stopped { process }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        signal("-CONT", &self.process);
    }
}

fn signal(signal: &str, process: &str) {
    assert!(Program::new("kill").args([signal, process]).status().unwrap().success());
}
