//! `/metrics`, and the alerts that are written over it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::process::{Server, within_deadline};

/// Only of servers with Redis or Kafka; the alerts say so.
const OF_A_CLUSTER: [&str; 4] = [
    "boxoffice_mirror_drift_units",
    "boxoffice_mirror_behind_inventories",
    "boxoffice_redis_available",
    "boxoffice_kafka_available",
];

fn names_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
    words.filter(|word| word.starts_with("boxoffice_")).collect()
}

fn scrape(server: &Server) -> String {
    let (status, body) = server.send("GET", "/metrics", None);
    assert_eq!(status, 200);
    String::from_utf8(body).unwrap()
}

#[test]
fn every_alert_is_about_something_that_is_there_from_the_first_scrape_on() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::on(&home.path().join("data"));
    let shown = scrape(&server);
    let alerts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/alerts.yml");
    let alerts = std::fs::read_to_string(alerts).unwrap();
    let wanted = names_in(&alerts);
    assert!(wanted.len() >= 10 && OF_A_CLUSTER.iter().all(|name| wanted.contains(name)), "{wanted:?}");
    for name in wanted {
        let is_shown = shown.lines().any(|line| line.starts_with(name) && !line.starts_with('#'));
        assert!(is_shown != OF_A_CLUSTER.contains(&name), "{name}\n{shown}");
    }
    for name in ["boxoffice_batch_commands_bucket", "boxoffice_live_holds 0", "boxoffice_sse_clients 0"] {
        assert!(shown.contains(name), "{name}\n{shown}");
    }
}

#[test]
fn what_was_sold_is_measured() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::on(&home.path().join("data"));
    server.create_hall(10);
    for customer in ["ann", "ben"] {
        assert_eq!(server.book(customer, 2).0, 201);
    }
    assert_eq!(server.book("cy", 11).0, 400);
    let shown = within_deadline(|| {
        let shown = scrape(&server);
        // Requests are counted after they were answered.
        shown.contains("boxoffice_refusals_total{code=\"TOO_MANY_UNITS\"} 1").then_some(shown)
    });
    for line in [
        "boxoffice_live_holds 2",
        "boxoffice_batch_commands_count 4",
        "boxoffice_batch_commands_bucket{le=\"1\"} 4",
        "boxoffice_commit_seconds_count 3",
        "boxoffice_expiry_lag_seconds 0",
        "boxoffice_inventory_units{tenant=\"default\",inventory=\"event:hall\",state=\"held\"} 4",
        "boxoffice_inventory_units{tenant=\"default\",inventory=\"event:hall\",state=\"free\"} 96",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}
