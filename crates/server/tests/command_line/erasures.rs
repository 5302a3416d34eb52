//! `erasures`, and `restore` with its list: a contact that was erased stays so.

use std::path::Path;
use std::process::Command;

use boxoffice_engine::store::{EmbeddedStore, Store};
use serde_json::{Value, json};

use crate::process::{Server, path, run};

const PHONE: &str = "+12025550199";

fn book(server: &Server, customer: &str) -> String {
    let body = json!({ "customer": customer, "event": "hall", "best_available": { "quantity": 1 },
        "contact": { "phone": PHONE, "email": "erased@example.com" } });
    let (status, booking) = server.post("/v1/bookings", &body);
    assert_eq!(status, 201, "{booking}");
    booking["id"].as_str().unwrap().to_owned()
}

/// Serves a store, and writes all that can be logged into a file.
fn serve_with_log(data: &Path, log: &Path) -> Server {
    let binary = env!("CARGO_BIN_EXE_boxoffice");
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$0" serve --data "$1" --listen 127.0.0.1:0 2>"$2""#, binary]);
    Server::spawn(command.args([data, log]).env("BOXOFFICE_LOG", "trace"))
}

fn contact(server: &Server, booking: &str) -> Value {
    server.get(&format!("/v1/bookings/{booking}")).1["contact"].clone()
}

/// Fails if any of these bytes are in a file of a directory.
fn assert_absent(directory: &Path, secrets: &[&[u8]]) {
    let mut looked_at = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        for secret in secrets {
            let found = bytes.windows(secret.len()).any(|window| window == *secret);
            assert!(!found, "{secret:?} is in {}", path.display());
        }
        looked_at += bytes.len();
    }
    assert!(looked_at > 0);
}

#[test]
fn restore_with_the_list_of_erasures_keeps_contacts_erased() {
    let home = tempfile::tempdir().unwrap();
    let [data, undone, restored] = ["data", "undone", "restored"].map(|name| home.path().join(name));
    let [backup, list, wrong, log] =
        ["one.backup", "erasures", "wrong", "log"].map(|name| home.path().join(name));
    let server = serve_with_log(&data, &log);
    server.create_hall(10);
    let (ann, bob) = (book(&server, "ann"), book(&server, "bob"));
    run(&["backup", "--server", &server.url(), "--to", path(&backup)]).well();
    assert_eq!(server.ask("DELETE", "/v1/customers/ann/contact", None).0, 204);
    let over_http = run(&["erasures", "--server", &server.url()]).well();
    let (journal_status, journal) = server.send("GET", "/v1/journal?inventory=event:hall&limit=500", None);
    server.stop();
    let told = run(&["erasures", "--data", path(&data)]).well();
    assert_eq!((told.lines().count(), &told), (2, &over_http));
    std::fs::write(&list, told).unwrap();

    let told = run(&["restore", "--from", path(&backup), "--data", path(&undone)]).well();
    assert!(
        told.contains("erased after the backup can be read again") && told.contains("--erasures FILE"),
        "{told}"
    );
    let server = Server::on(&undone);
    assert_eq!(contact(&server, &ann)["phone"], PHONE, "which the line says");
    server.stop();
    // The key that must not come back.
    let store = EmbeddedStore::open(&undone).unwrap();
    let mut keys = store.documents("contact/").unwrap();
    store.close().unwrap();
    assert_eq!(keys.len(), 2);

    std::fs::write(&wrong, "something else\n").unwrap();
    let with_list = |list| {
        run(&["restore", "--from", path(&backup), "--data", path(&restored), "--erasures", path(list)])
    };
    with_list(&wrong).badly(1, &["no list of `boxoffice erasures`"]);
    assert!(!restored.exists());
    let told = with_list(&list).well();
    assert!(told.contains("Contacts erased again: 1"), "{told}");
    let server = Server::on(&restored);
    assert_eq!(contact(&server, &ann), Value::Null);
    assert_eq!(contact(&server, &bob)["phone"], PHONE);
    server.stop();
    let store = EmbeddedStore::open(&restored).unwrap();
    let kept = store.documents("contact/").unwrap();
    store.close().unwrap();
    keys.retain(|key| !kept.contains(key));
    let [(_, erased_key)] = keys.as_slice() else { panic!("{} keys are gone", keys.len()) };
    assert_absent(&restored, &[erased_key, PHONE.as_bytes(), b"erased@example.com"]);
    assert_absent(&data, &[PHONE.as_bytes(), b"erased@example.com"]);
    let [stored, logged] = [&backup, &log].map(|file| std::fs::read(file).unwrap());
    assert!(!logged.is_empty());
    for text in [&stored, &logged, &journal] {
        assert!(
            !text.windows(PHONE.len()).any(|window| window == PHONE.as_bytes()),
            "contacts are sealed everywhere"
        );
    }
    assert_eq!(journal_status, 200);
}
