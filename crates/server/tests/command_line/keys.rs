//! `keys`.

use crate::process::{Server, path, run};

#[test]
fn the_last_line_is_a_key_that_lets_in_and_ends_the_open_house() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = Server::on(&data);
    server.create_hall(1);
    server.stop();
    let out = run(&[
        "keys",
        "create",
        "--data",
        path(&data),
        "--tenant",
        "default",
        "--role",
        "seller",
        "--name",
        "till",
    ]);
    let key = out.well().lines().last().unwrap().to_owned();
    let mut server = Server::on(&data);
    assert_eq!(server.get("/v1/events").0, 401);
    server.key = Some(key.clone());
    assert_eq!(server.get("/v1/events").0, 200);
    assert_eq!(server.get("/metrics").0, 403, "a seller does not run sales");
    server.stop();

    let listed = run(&["keys", "list", "--data", path(&data)]).well();
    let (id, rest) = listed.split_once('\t').unwrap();
    assert!(
        key.contains(id) && rest.starts_with("default\tseller\t") && rest.ends_with("\ttill\n"),
        "{listed}"
    );
    assert!(!listed.contains(&key));

    run(&["keys", "revoke", "--data", path(&data), id]).well();
    assert_eq!(run(&["keys", "list", "--data", path(&data)]).well(), "");
    let mut server = Server::on(&data);
    assert_eq!(server.get("/v1/events").0, 401, "a revoked key does not open the house again");
    server.key = Some(key);
    assert_eq!(server.get("/v1/events").0, 401);
    server.stop();
}

#[test]
fn what_cannot_be_done_is_said() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    run(&["keys", "list", "--data", path(&data)]).badly(1, &["there is no store"]);
    run(&["keys", "revoke", "--data", path(&data), "abc"]).badly(1, &["there is no store"]);
    run(&["keys", "create", "--data", path(&data), "--role", "king"]).badly(2, &["king"]);
    run(&["keys", "create", "--data", path(&data), "--role", "admin", "--tenant", "A/b"])
        .badly(2, &["lower-case"]);
    assert!(!data.exists());
    run(&["keys", "create", "--data", path(&data), "--role", "admin"]).well();
    run(&["keys", "revoke", "--data", path(&data), "abc"]).badly(1, &["there is no key abc"]);
}

#[test]
fn a_running_server_makes_keys_of_the_callers_tenant_and_nothing_for_others() {
    let home = tempfile::tempdir().unwrap();
    let mut server = Server::on(&home.path().join("data"));
    let url = format!("http://{}", server.address);
    let create = |tenant: &str, key: Option<&str>| {
        let mut words = vec!["keys", "create", "--server", &url, "--role", "admin", "--tenant", tenant];
        words.extend(key.iter().flat_map(|key| ["--key", key]));
        run(&words)
    };
    create("acme", None).badly(1, &["\"default\"", "nothing was made"]);
    assert_eq!(server.get("/v1/keys").0, 200, "the house is still open");
    let key = create("default", None).well().lines().last().unwrap().to_owned();
    assert_eq!(server.get("/v1/keys").0, 401);
    create("acme", Some(&key)).badly(1, &["\"default\"", "nothing was made"]);
    create("default", Some(&key)).well();
    server.key = Some(key);
    let (status, body) = server.get("/v1/keys");
    assert_eq!((status, body["items"].as_array().map(Vec::len)), (200, Some(2)));
}

#[test]
fn the_pages_get_a_public_key_and_no_other() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let make = |role: &str| {
        let out = run(&["keys", "create", "--data", path(&data), "--role", role]).well();
        out.lines().last().unwrap().to_owned()
    };
    let (operator, public) = (make("operator"), make("public"));
    for wrong in [operator.as_str(), "bo_not_one"] {
        run(&["serve", "--data", path(&data), "--listen", "127.0.0.1:0", "--pages-key", wrong])
            .badly(2, &["pages' key", "--role public"]);
    }
    let server =
        Server::start(&["serve", "--data", path(&data), "--listen", "127.0.0.1:0", "--pages-key", &public]);
    let (status, script) = server.send("GET", "/web/settings.js", None);
    assert_eq!(
        (status, String::from_utf8(script).unwrap()),
        (200, format!("export const key = \"{public}\";\n"))
    );
}
