//! What people ask the database besides sales: keys, webhooks, whether a pool is open. As true as the API, at once.

use boxoffice_services::Postgres;

use crate::client::Said;
use crate::nodes::{Nodes, run};
use crate::sale::DATABASE;
use crate::scenes::database;

const SHOP: &str = r#"{"id":"bakery","name":"Bakery","timezone":"UTC","currency":"TWD"}"#;
const BOX: &str = r#"{"id":"evening","name":"Evening","quantity":1,"price":500}"#;

#[track_caller]
fn text(said: &Said, field: &str) -> String {
    said.json()[field].as_str().unwrap_or_else(|| panic!("no {field}: {said:?}")).to_owned()
}

#[track_caller]
fn check(database: &Postgres, question: &str, expected: &[String]) {
    let said = database.psql(DATABASE, question).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{question}");
}

#[test]
fn keys_webhooks_and_open_boxes_can_be_asked_for_in_sql() {
    let database = database();
    let url = database.url(DATABASE);
    let nodes = Nodes::start(1, &["--database-url", &url, "--webhooks-allow-insecure"]);
    let hook = |port: u16| {
        let events = r#"["inventory.sold_out","booking.held"]"#;
        let made = nodes.ask(
            0,
            "POST",
            "/v1/webhooks",
            &format!(r#"{{"url":"http://127.0.0.1:{port}/told","events":{events}}}"#),
        );
        assert_eq!(made.status, 201, "{made:?}");
        made
    };
    let of_hooks = "SELECT id, tenant, url, events, extract(epoch FROM now() - created_at) BETWEEN 0 AND 100, disabled_at
                    FROM webhook ORDER BY url";
    let row = |made: &Said, port: u16| {
        let id = text(made, "id");
        format!("{id}|default|http://127.0.0.1:{port}/told|{{inventory.sold_out,booking.held}}|t|")
    };
    let (one, other) = (hook(1), hook(2));
    check(&database, of_hooks, &[row(&one, 1), row(&other, 2)]);
    assert_eq!(nodes.ask(0, "DELETE", &format!("/v1/webhooks/{}", text(&one, "id")), "").status, 204);
    check(&database, of_hooks, &[row(&other, 2)]);

    assert_eq!(nodes.ask(0, "POST", "/v1/shops", SHOP).status, 201);
    assert_eq!(nodes.ask(0, "POST", "/v1/shops/bakery/boxes", BOX).status, 201);
    let is = |status: &str| check(&database, "SELECT name, status FROM pool", &[format!("evening|{status}")]);
    let patch = |status: &str| {
        let body = format!(r#"{{"status":"{status}"}}"#);
        assert_eq!(nodes.ask(0, "PATCH", "/v1/shops/bakery/boxes/evening", &body).status, 200);
    };
    is("ACTIVE");
    patch("CLOSED");
    is("CLOSED");
    patch("ACTIVE");
    is("ACTIVE");
    let booking = r#"{"customer":"ann","shop":"bakery","box":"evening","quantity":1}"#;
    assert_eq!(nodes.ask(0, "POST", "/v1/bookings", booking).status, 201);
    is("SOLD_OUT");

    // From here on nobody may do anything without it.
    let made = nodes.ask(0, "POST", "/v1/keys", r#"{"role":"seller","name":"The counter"}"#);
    assert_eq!(made.status, 201, "{made:?}");
    // With a condition, beside documents that are no JSON.
    let of_keys =
        "SELECT id, number, tenant, role, name, extract(epoch FROM now() - created_at) BETWEEN 0 AND 100, revoked_at IS NULL
                   FROM api_key WHERE role = 'seller' AND number > 0";
    let row = |is_good: &str| vec![format!("{}|1|default|seller|The counter|t|{is_good}", text(&made, "id"))];
    check(&database, of_keys, &row("t"));
    let revoked = run(&["keys", "revoke", "--database-url", &url, &text(&made, "id")]);
    assert!(revoked.status.success(), "{revoked:?}");
    check(&database, of_keys, &row("f"));

    // Nothing that could be used is shown: neither what was given away once, nor what it is compared with.
    let of_columns = "SELECT table_name, string_agg(column_name, ' ' ORDER BY ordinal_position)
                      FROM information_schema.columns WHERE table_name IN ('api_key', 'webhook') GROUP BY 1 ORDER BY 1";
    let columns = [
        "api_key|id number tenant role name created_at revoked_at",
        "webhook|id tenant url events created_at disabled_at",
    ];
    check(&database, of_columns, &columns.map(str::to_owned));
    let shown = database.psql(DATABASE, "SELECT k, w FROM api_key k, webhook w").unwrap();
    let (secret, hook_secret) = (text(&made, "key"), text(&other, "secret"));
    let secret = secret.rsplit('_').next().unwrap();
    assert!(!shown.contains(secret) && !shown.contains(&hook_secret), "{shown}");
}
