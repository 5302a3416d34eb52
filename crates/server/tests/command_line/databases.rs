//! A server on a PostgreSQL of the test's own, and the way there and back. For several see `tests/cluster`.

use boxoffice_services::Postgres;

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
    run(&["migrate", "--data", "x"]).badly(2, &["--database-url"]);
    let both = boxoffice(&["verify", "--data", "x"]).env("DATABASE_URL", &url).output().unwrap();
    said(both).badly(2, &["leave one out"]);
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
