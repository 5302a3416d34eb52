//! `verify`.

use std::path::Path;

use crate::process::{Server, path, run};

fn sell(data: &Path) {
    let server = Server::on(data);
    server.create_hall(10);
    for customer in ["ann", "ben", "cy"] {
        assert_eq!(server.book(customer, 2).0, 201);
    }
    server.stop();
}

#[test]
fn a_store_is_what_its_journals_say() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    sell(&data);
    let report = run(&["verify", "--data", path(&data)]).well();
    assert!(report.contains("1 inventories") && report.contains("3 bookings"), "{report}");
}

#[test]
fn a_flipped_byte_is_named_and_a_missing_store_is_not_an_empty_one() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    sell(&data);
    let file = data.join("store.redb");
    let mut bytes = std::fs::read(&file).unwrap();
    // A customer's name in a journal record.
    let at = bytes.windows(3).rposition(|window| window == b"ben").unwrap();
    bytes[at] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let words =
        ["default/event:hall: journal record 3 of inventory #1 is damaged: the checksum does not match"];
    run(&["verify", "--data", path(&data)]).badly(1, &words);
    assert!(std::fs::read(&file).unwrap() == bytes, "it is left as it is");
    let missing = home.path().join("missing");
    run(&["verify", "--data", path(&missing)]).badly(1, &["there is no store in", "missing"]);
    assert!(!missing.exists());
}
