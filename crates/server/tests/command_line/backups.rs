//! `backup` and `restore`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use boxoffice_engine::private_files::create_directory;
use serde_json::{Value, json};

use crate::process::{Server, path, run};

/// Every booking by its id, without what counts the seconds.
fn bookings(server: &Server) -> BTreeMap<String, Value> {
    let (mut found, mut cursor) = (BTreeMap::new(), String::new());
    loop {
        let (status, page) = server.get(&format!("/v1/bookings?limit=500{cursor}"));
        assert_eq!(status, 200, "{page}");
        for booking in page["items"].as_array().unwrap() {
            let mut booking = booking.clone();
            booking.as_object_mut().unwrap().remove("expires_in_seconds");
            booking.as_object_mut().unwrap().remove("sequence");
            found.insert(booking["id"].as_str().unwrap().to_owned(), booking);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

fn book_with_contact(server: &Server, customer: &str) {
    let body = json!({ "customer": customer, "event": "hall", "best_available": { "quantity": 1 },
        "id": format!("00000000-0000-4000-8000-{:012}", customer.len()),
        "contact": { "email": format!("{customer}@example.com") } });
    assert_eq!(server.post("/v1/bookings", &body).0, 201);
}

#[test]
fn a_running_server_is_backed_up_while_it_sells_and_everything_told_before_is_in_it() {
    let home = tempfile::tempdir().unwrap();
    let (data, restored) = (home.path().join("data"), home.path().join("restored"));
    let file = home.path().join("hot.backup");
    let server = Server::on(&data);
    server.create_hall(100);
    book_with_contact(&server, "zoe");
    for customer in 0..20 {
        assert_eq!(server.book(&format!("early-{customer}"), 1).0, 201);
    }
    let before = bookings(&server);
    let done = AtomicBool::new(false);
    let sold_meanwhile = std::thread::scope(|scope| {
        let seller = scope.spawn(|| {
            let mut sold = 0;
            while !done.load(Ordering::Relaxed) || sold == 0 {
                let (status, answer) = server.book(&format!("late-{sold}"), 1);
                assert_eq!(status, 201, "{answer}");
                sold += 1;
            }
            sold
        });
        let told = run(&["backup", "--server", &server.url(), "--to", path(&file)]);
        done.store(true, Ordering::Relaxed);
        let told = told.well();
        assert!(told.contains("1 inventories"), "{told}");
        seller.join().unwrap()
    });
    let after = bookings(&server);
    assert_eq!(after.len(), before.len() + sold_meanwhile);
    server.stop();

    run(&["restore", "--from", path(&file), "--data", path(&restored)]).well();
    run(&["verify", "--data", path(&restored)]).well();
    let server = Server::on(&restored);
    let found = bookings(&server);
    assert!(before.keys().all(|id| found.contains_key(id)), "what was told before the backup is in it");
    for (id, booking) in &found {
        assert_eq!(booking, &after[id], "as it was told");
    }
    server.stop();
    let csv = run(&["export", "--data", path(&restored), "--what", "bookings"]).well();
    assert!(csv.contains("zoe@example.com"), "the keys of contacts are in it too");
}

#[test]
fn a_stopped_store_comes_back_byte_for_byte_the_same() {
    let home = tempfile::tempdir().unwrap();
    let (data, restored) = (home.path().join("data"), home.path().join("restored"));
    let (first, second) = (home.path().join("first.backup"), home.path().join("second.backup"));
    let server = Server::on(&data);
    server.create_hall(10);
    book_with_contact(&server, "zoe");
    server.stop();
    run(&["backup", "--data", path(&data), "--to", path(&first)]).well();
    create_directory(&restored).unwrap();
    run(&["restore", "--from", path(&first), "--data", path(&restored)]).well();
    // Records, hashes, heads and documents: all of it is in the archive.
    run(&["backup", "--data", path(&restored), "--to", path(&second)]).well();
    assert!(std::fs::read(&first).unwrap() == std::fs::read(&second).unwrap());
    let into_directory = run(&["backup", "--data", path(&restored), "--to", path(home.path())]).well();
    assert!(into_directory.contains("boxoffice-2"), "{into_directory}");
}

#[test]
fn nothing_is_overwritten_and_nothing_damaged_is_restored() {
    let home = tempfile::tempdir().unwrap();
    let (data, restored) = (home.path().join("data"), home.path().join("restored"));
    let file = home.path().join("one.backup");
    let server = Server::on(&data);
    server.create_hall(10);
    run(&["backup", "--data", path(&data), "--to", path(&file)]).badly(1, &["in use by another process"]);
    assert!(!file.exists());
    server.stop();
    run(&["backup", "--data", path(&data), "--to", path(&file)]).well();
    run(&["backup", "--data", path(&data), "--to", path(&file)]).badly(1, &["is there already"]);
    run(&["restore", "--from", path(&file), "--data", path(&data)]).badly(1, &["is not empty"]);

    let whole = std::fs::read(&file).unwrap();
    let refused = |bytes: &[u8], words: &[&str]| {
        let damaged = home.path().join("damaged.backup");
        std::fs::write(&damaged, bytes).unwrap();
        run(&["restore", "--from", path(&damaged), "--data", path(&restored)]).badly(1, words);
        assert!(!restored.exists());
        let leftovers = std::fs::read_dir(home.path()).unwrap();
        assert!(leftovers.flatten().all(|entry| !is_aside(&entry.path())));
    };
    refused(&whole[..whole.len() - 100], &["cut short"]);
    refused(&whole[..10], &["not a backup"]);
    refused(&[whole.as_slice(), b"x"].concat(), &["something follows its end"]);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    refused(&flipped, &["the backup is damaged: the checksum of frame"]);
    run(&["restore", "--from", path(&home.path().join("none")), "--data", path(&restored)])
        .badly(1, &["none"]);
}

fn is_aside(path: &Path) -> bool {
    path.to_str().unwrap().contains(".restoring")
}

#[test]
fn a_backup_is_for_admins_of_the_house() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let make = |tenant: &str, role: &str| {
        let out = run(&["keys", "create", "--data", path(&data), "--tenant", tenant, "--role", role]).well();
        out.lines().last().unwrap().to_owned()
    };
    let (admin, operator, guest) =
        (make("default", "admin"), make("default", "operator"), make("guest", "admin"));
    let server = Server::on(&data);
    let back_up = |key: &str, name: &str| {
        let file = home.path().join(name);
        run(&["backup", "--server", &server.url(), "--key", key, "--to", path(&file)])
    };
    back_up(&operator, "operator").badly(1, &["403", "FORBIDDEN"]);
    back_up(&guest, "guest").badly(1, &["403", "all tenants"]);
    back_up("bo_wrong_key", "wrong").badly(1, &["401"]);
    back_up(&admin, "admin").well();
    run(&["backup", "--server", "https://example.org", "--to", path(&home.path().join("x"))])
        .badly(2, &["http"]);
    run(&["backup", "--server", "http://127.0.0.1:1", "--to", path(&home.path().join("x"))])
        .badly(1, &["127.0.0.1:1 cannot be reached"]);
}
