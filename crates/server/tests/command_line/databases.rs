//! Servers on a PostgreSQL of the test's own: one, several, and the way there and back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use boxoffice_services::Postgres;
use serde_json::{Value, json};

use crate::process::{Server, boxoffice, path, run, said, within_deadline};

const DATABASE: &str = "postgres";

fn database() -> Postgres {
    // Nothing here survives the machine.
    Postgres::start(&["fsync=off"]).unwrap_or_else(|error| panic!("{error}"))
}

fn serve(url: &str) -> Server {
    Server::start(&["serve", "--database-url", url, "--listen", "127.0.0.1:0"])
}

#[test]
fn a_store_moves_to_a_database_and_back_byte_for_byte() {
    let postgres = database();
    let url = postgres.url(DATABASE);
    let home = tempfile::tempdir().unwrap();
    let (data, back) = (home.path().join("data"), home.path().join("back"));
    let file = |name: &str| home.path().join(name);
    let server = Server::on(&data);
    server.create_hall(10);
    for customer in 0..30 {
        assert_eq!(server.book(&format!("customer-{customer}"), 2).0, 201);
    }
    let (_, hall) = server.get("/v1/events/hall");
    server.stop();
    run(&["backup", "--data", path(&data), "--to", path(&file("first"))]).well();

    run(&["restore", "--from", path(&file("first")), "--database-url", &url]).well();
    run(&["restore", "--from", path(&file("first")), "--database-url", &url]).badly(1, &["is not empty"]);
    let verified = run(&["verify", "--database-url", &url]).well();
    assert!(verified.contains("30 bookings"), "{verified}");
    assert_eq!(postgres.psql(DATABASE, "SELECT held, capacity FROM inventory").unwrap(), "60|100");
    assert_eq!(postgres.psql(DATABASE, "SELECT count(*) FROM claim WHERE state = 'held'").unwrap(), "60");
    let csv = run(&["export", "--database-url", &url, "--what", "bookings"]).well();
    assert_eq!(csv.lines().count(), 31);
    let server = serve(&url);
    assert_eq!(server.get("/v1/events/hall").1, hall, "nobody can tell the difference");
    server.stop();

    run(&["backup", "--database-url", &url, "--to", path(&file("second"))]).well();
    run(&["restore", "--from", path(&file("second")), "--data", path(&back)]).well();
    run(&["verify", "--data", path(&back)]).well();
    run(&["backup", "--data", path(&back), "--to", path(&file("third"))]).well();
    let bytes = |name: &str| std::fs::read(file(name)).unwrap();
    assert!(bytes("first") == bytes("second") && bytes("second") == bytes("third"), "the same bytes");
}

#[test]
fn tables_are_made_and_refused_by_their_version() {
    let postgres = database();
    let url = postgres.url(DATABASE);
    let refused = |arguments: &[&str], words: &[&str]| run(arguments).badly(1, words);
    refused(&["serve", "--no-migrate", "--database-url", &url], &["version 0", "boxoffice migrate"]);
    refused(&["verify", "--database-url", &url], &["boxoffice migrate"]);
    assert_eq!(run(&["migrate", "--database-url", &url]).well().lines().count(), 1);
    let again = said(boxoffice(&["migrate"]).env("DATABASE_URL", &url).output().unwrap());
    assert!(again.well().contains("already"));
    refused(&["migrate", "--data", "x"], &["--database-url"]);
    let both = boxoffice(&["verify", "--data", "x"]).env("DATABASE_URL", &url).output().unwrap();
    said(both).badly(1, &["leave one out"]);
    refused(
        &["verify", "--database-url", "postgres://ann:secret@127.0.0.1:1/x"],
        &["127.0.0.1:1 cannot be used"],
    );
    let secret = run(&["verify", "--database-url", "postgres://ann:secret@127.0.0.1:1/x"]);
    assert!(!secret.err.contains("secret"), "{}", secret.err);
    postgres.psql(DATABASE, "UPDATE boxoffice_schema SET version = 1000").unwrap();
    refused(&["serve", "--database-url", &url], &["version 1000", "newer program"]);
}

#[test]
fn keys_made_or_revoked_elsewhere_are_known_within_seconds() {
    let postgres = database();
    let url = postgres.url(DATABASE);
    let create = || {
        let out = run(&["keys", "create", "--database-url", &url, "--role", "admin"]).well();
        out.lines().last().unwrap().to_owned()
    };
    let first = create();
    let mut server = serve(&url);
    assert_eq!(server.get("/v1/events").0, 401);
    server.key = Some(create());
    within_deadline(|| (server.get("/v1/events").0 == 200).then_some(()));
    let id = server.key.clone().unwrap();
    let id = id.split('_').nth(1).unwrap();
    run(&["keys", "revoke", "--database-url", &url, id]).well();
    within_deadline(|| (server.get("/v1/events").0 == 401).then_some(()));
    server.key = Some(first);
    assert_eq!(server.get("/v1/events").0, 200);
}

/// What a client was told of one booking.
struct Told {
    id: String,
    seat: String,
    status: &'static str,
}

/// Asks servers in turn, with the same key, until one answers.
fn persist(
    servers: &[Server],
    first: usize,
    method: &str,
    target: &str,
    key: &str,
    body: &Value,
) -> (u16, Value) {
    for attempt in 0.. {
        assert!(attempt < 1_000, "nobody answers");
        let server = &servers[(first + attempt) % servers.len()];
        if let Some((status, answer)) = server.try_ask(method, target, key, body)
            && status < 500
        {
            return (status, answer);
        }
    }
    unreachable!("it returns or panics")
}

#[test]
fn three_servers_sell_one_hall_while_one_hangs_one_is_killed_and_the_database_restarts() {
    const CLIENTS: usize = 64;
    const ATTEMPTS: usize = 50;
    let mut postgres = database();
    let url = postgres.url(DATABASE);
    let servers: Vec<Server> = (0..3).map(|_| serve(&url)).collect();
    servers[0].create_hall(300);
    for server in &servers {
        within_deadline(|| (server.get("/v1/events/hall").0 == 200).then_some(()));
    }
    let (told, done) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (servers, told, done) = (&servers, &told, &done);
            scope.spawn(move || {
                for attempt in 0..ATTEMPTS {
                    let key = format!("{client}-{attempt}");
                    let booking = json!({ "customer": format!("client-{client}"), "event": "hall",
                        "best_available": { "quantity": 1 } });
                    let (status, answer) =
                        persist(servers, client + attempt, "POST", "/v1/bookings", &key, &booking);
                    done.fetch_add(1, Ordering::Relaxed);
                    if status == 409 {
                        assert_eq!(answer["code"], "NOT_ENOUGH_SEATS", "{answer}");
                        continue;
                    }
                    assert_eq!(status, 201, "{answer}");
                    let id = answer["id"].as_str().unwrap().to_owned();
                    let action = if attempt % 5 == 0 { "cancel" } else { "confirm" };
                    let target = format!("/v1/bookings/{id}/{action}");
                    let (status, acted) = persist(
                        servers,
                        client + attempt + 1,
                        "POST",
                        &target,
                        &format!("{key}-{action}"),
                        &json!({}),
                    );
                    assert_eq!(status, 200, "{acted}");
                    let status = if action == "cancel" { "cancelled" } else { "confirmed" };
                    let seat = answer["seats"][0]["seat"].as_str().unwrap().to_owned();
                    told.lock().unwrap().push(Told { id, seat, status });
                }
            });
        }
        let reached =
            |bookings: usize| within_deadline(|| (done.load(Ordering::Relaxed) > bookings).then_some(()));
        reached(CLIENTS * ATTEMPTS / 4);
        // For longer than any turn lasts, and than a session may be silent.
        servers[1].signal("-STOP");
        std::thread::sleep(Duration::from_secs(7));
        servers[1].signal("-CONT");
        reached(CLIENTS * ATTEMPTS / 2);
        servers[2].signal("-KILL");
        reached(CLIENTS * ATTEMPTS * 3 / 4);
        postgres.restart().unwrap();
    });
    let told = told.into_inner().unwrap();
    let confirmed: Vec<&Told> = told.iter().filter(|told| told.status == "confirmed").collect();
    let seats: BTreeSet<&str> = confirmed.iter().map(|told| told.seat.as_str()).collect();
    assert_eq!(seats.len(), confirmed.len(), "no seat twice");

    // Both that are left show everything, and so does SQL.
    let sold = confirmed.len();
    for server in &servers[..2] {
        within_deadline(|| (server.get("/v1/events/hall").1["stats"]["sold"] == json!(sold)).then_some(()));
        let (_, hall) = server.get("/v1/events/hall");
        let expected =
            json!({ "available": 3_000 - sold, "held": 0, "sold": sold, "blocked": 0, "total": 3_000 });
        assert_eq!(hall["stats"], expected);
        for told in told.iter().step_by(97) {
            assert_eq!(server.get(&format!("/v1/bookings/{}", told.id)).1["status"], told.status);
        }
    }
    let rows = postgres.psql(DATABASE, "SELECT id, status FROM booking").unwrap();
    let rows: BTreeMap<&str, &str> = rows.lines().filter_map(|row| row.split_once('|')).collect();
    for told in &told {
        assert_eq!(rows.get(told.id.as_str()), Some(&told.status), "{}", told.id);
    }
    assert_eq!(rows.len(), told.len(), "nothing was done twice");
    let counts = "SELECT held, sold, blocked, capacity, (SELECT count(*) FROM claim WHERE state = 'sold') FROM inventory";
    assert_eq!(postgres.psql(DATABASE, counts).unwrap(), format!("0|{sold}|0|3000|{sold}"));
    for server in servers.into_iter().take(2) {
        server.stop();
    }
    run(&["verify", "--database-url", &url]).well();
}
