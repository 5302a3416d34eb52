//! `rehearse`.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;

use serde_json::Value;

use crate::process::{Said, Server, boxoffice, said};

/// Rehearses with files in a directory of its own.
fn rehearse(home: &Path, arguments: &[&str]) -> Said {
    let mut command = boxoffice(&["rehearse", "--seed", "7", "--connections", "4"]);
    said(command.args(arguments).current_dir(home).output().unwrap())
}

fn results(home: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(home.join("rehearsal.json")).unwrap()).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// The parts of the results agree with each other.
fn assert_adds_up(results: &Value) {
    let buyers = &results["buyers"];
    let ends = ["bought", "left", "refused", "too_late", "failed", "unanswered"];
    assert_eq!(ends.map(|end| number(&buyers[end])).iter().sum::<u64>(), number(&buyers["all"]), "{buyers}");
    let intervals = results["intervals"].as_array().unwrap();
    let sum = |of: &dyn Fn(&Value) -> u64| intervals.iter().map(of).sum::<u64>();
    assert_eq!(sum(&|stretch| number(&stretch["arrived"])), number(&buyers["all"]));
    assert_eq!(sum(&|stretch| number(&stretch["answered"])), number(&results["requests"]));
    assert_eq!(sum(&|stretch| number(&stretch["seats_taken"])), number(&results["seats"]["taken"]));
    assert_eq!(sum(&|stretch| number(&stretch["seats_sold"])), number(&results["seats"]["sold"]));
    let refusals = |of: &Value| of["refusals"].as_object().unwrap().values().map(number).sum::<u64>();
    assert_eq!(sum(&refusals), refusals(results));
    let counts = ["look_waits", "booking_waits", "payment_waits"].map(|kind| results[kind]["count"].as_u64());
    assert_eq!(counts.iter().flatten().sum::<u64>(), number(&results["requests"]));
    let after = &results["seats"]["after"];
    let states = ["available", "held", "sold", "blocked"].map(|state| number(&after[state]));
    assert_eq!(states.iter().sum::<u64>(), number(&after["total"]));
    let checks = results["checks"].as_array().unwrap();
    assert_eq!(results["held"], checks.iter().all(|check| check["held"] == true));
}

#[test]
fn a_sell_out_keeps_every_promise_and_is_written_down() {
    let home = tempfile::tempdir().unwrap();
    let told = rehearse(home.path(), &["--seats", "53", "--buyers", "80", "--repeat", "50"]).well();
    assert!(told.contains("Sold out in") && told.contains("27 NOT_ENOUGH_SEATS"), "{told}");
    let results = results(home.path());
    assert_adds_up(&results);
    assert_eq!(results["held"], true);
    assert_eq!(results["buyers"]["bought"], 53);
    assert_eq!(results["buyers"]["refused"], 27);
    assert_eq!(results["seats"]["after"]["sold"], 53);
    assert!(number(&results["repeated"]) > 20, "{}", results["repeated"]);
    assert_eq!(results["checks"].as_array().unwrap().len(), 8);
    let page = std::fs::read_to_string(home.path().join("rehearsal.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Sold out in"), "it is drawn");
    assert!(page.contains("boxoffice rehearse --seats 53 --buyers 80"), "it says how to repeat it");
    for from_elsewhere in ["http://", "https://", "src=", "url(", "<link", "<script", "@import", "{{"] {
        assert!(!page.contains(from_elsewhere), "{from_elsewhere}");
    }
}

#[test]
fn buyers_look_pick_hold_pay_and_walk_away() {
    let home = tempfile::tempdir().unwrap();
    let behaviour =
        ["--hold", "--think-ms", "20", "--abandon", "30", "--look", "50", "--pick", "40", "--group", "1-4"];
    let arrivals = ["--seats", "500", "--buyers", "120", "--arrivals", "ramp", "--over-seconds", "1"];
    rehearse(home.path(), &[&behaviour[..], &arrivals[..]].concat()).well();
    let results = results(home.path());
    assert_adds_up(&results);
    let (bought, left) = (number(&results["buyers"]["bought"]), number(&results["buyers"]["left"]));
    assert_eq!(bought + left, 120, "there are seats for all");
    assert!((18..=54).contains(&left), "{left}");
    assert_eq!(results["payment_waits"]["count"], bought);
    assert!(number(&results["look_waits"]["count"]) >= 60);
    let (seats, after) = (&results["seats"], &results["seats"]["after"]);
    assert_eq!(number(&seats["sold"]), number(&after["sold"]));
    assert_eq!(number(&seats["taken"]), number(&after["sold"]) + number(&after["held"]));
}

#[test]
fn more_buyers_than_can_queue_are_all_answered() {
    let home = tempfile::tempdir().unwrap();
    rehearse(home.path(), &["--seats", "100", "--buyers", "9000", "--repeat", "0"]).well();
    let results = results(home.path());
    assert_adds_up(&results);
    assert_eq!(results["buyers"]["bought"], 100);
    assert_eq!(results["buyers"]["refused"], 8_900);
}

#[test]
fn an_event_of_a_running_server_is_sold_only_if_that_is_wanted() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::on(&home.path().join("data"));
    server.create_hall(5);
    assert_eq!(server.book("ann", 2).0, 201);
    let target = ["--server", &server.url(), "--event", "hall", "--buyers", "60"];
    rehearse(home.path(), &target).badly(2, &["real bookings of the 48 free units", "--yes"]);
    assert_eq!(server.get("/v1/events/hall").1["stats"]["available"], 48);
    rehearse(home.path(), &[&target[..], &["--yes"]].concat()).well();
    assert_eq!(server.get("/v1/events/hall").1["stats"]["available"], 0);
    assert_adds_up(&results(home.path()));
    assert_eq!(results(home.path())["buyers"]["refused"], 12);
    // A hall that is made for it does not stay open.
    rehearse(home.path(), &["--server", &server.url(), "--seats", "10", "--buyers", "5"]).well();
    let made = results(home.path())["circumstances"]["event"].as_str().unwrap().to_owned();
    assert_eq!(server.get(&format!("/v1/events/{made}")).1["status"], "closed");
}

#[test]
fn what_cannot_be_rehearsed_ends_with_two() {
    let home = tempfile::tempdir().unwrap();
    let rehearse = |arguments: &[&str]| rehearse(home.path(), arguments);
    rehearse(&["--server", "http://192.0.2.1:8080"]).badly(2, &["192.0.2.1", "--allow-remote"]);
    rehearse(&["--event", "gala"]).badly(2, &["--server"]);
    rehearse(&["--buyers", "10000001"]).badly(2, &["--buyers"]);
    rehearse(&["--group", "4-1"]).badly(2, &["--group"]);
    // Somebody who was there, and is not.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    rehearse(&["--server", &format!("http://{gone}")]).badly(2, &["cannot be reached"]);
    rehearse(&["--report", "missing/report.html", "--seats", "2", "--buyers", "2"])
        .badly(2, &["missing/report.html"]);
    assert!(!home.path().join("rehearsal.json").exists());
}

#[test]
fn a_server_that_lies_is_found_out() {
    let home = tempfile::tempdir().unwrap();
    let server = Server::on(&home.path().join("data"));
    // What is put in the place of what, in answers that begin so.
    for (beginning, truth, lie, words) in [
        (
            "HTTP/1.1 201",
            r#""seat":"1-1""#,
            r#""seat":"1-2""#,
            "was acknowledged with A-1 1-2 and has A-1 1-1",
        ),
        ("HTTP/1.1 201", r#""seat":"1-1""#, r#""seat":"1-0""#, "asked for 1 seats and was told"),
        ("HTTP/1.1 201", r#"{"id":"01"#, r#"{"id":"02"#, "and is not there"),
        ("HTTP/1.1 200", r#""seat":"1-1""#, r#""seat":"1-2""#, "seat A-1 1-2 is in booking"),
        (
            "HTTP/1.1 200",
            r#""status":"confirmed""#,
            r#""status":"cancelled""#,
            "was acknowledged as Sold and is Cancelled",
        ),
        (
            "HTTP/1.1 200",
            r#""seats":["ssss"#,
            r#""seats":[".sss"#,
            "seat A-1 1-1 is '.' on the map and 's' by the bookings",
        ),
        ("HTTP/1.1 200", r#""sold":20"#, r#""sold":21"#, "the sections say"),
    ] {
        let proxy = lying_proxy(&server.address, beginning, truth, lie);
        let url = format!("http://{proxy}");
        let found =
            rehearse(home.path(), &["--server", &url, "--seats", "25", "--buyers", "20", "--repeat", "0"]);
        found.badly(1, &["a promise was broken", words]);
        assert_eq!(results(home.path())["held"], false, "{words}");
        let page = std::fs::read_to_string(home.path().join("rehearsal.html")).unwrap();
        assert!(page.contains("A promise was broken"), "{words}");
    }
}

/// Passes everything on, except that a lie of the same length stands where the truth stood.
fn lying_proxy(
    server: &str,
    beginning: &'static str,
    truth: &'static str,
    lie: &'static str,
) -> std::net::SocketAddr {
    assert_eq!(truth.len(), lie.len());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = server.to_owned();
    std::thread::spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let upstream = TcpStream::connect(&server).unwrap();
            let (from_client, to_server) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            std::thread::spawn(move || pass_on(from_client, to_server, &|_| {}));
            std::thread::spawn(move || {
                pass_on(upstream, client, &|bytes| {
                    if bytes.starts_with(beginning.as_bytes()) {
                        replace(bytes, truth.as_bytes(), lie.as_bytes());
                    }
                });
            });
        }
    });
    address
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, change: &dyn Fn(&mut [u8])) {
    let mut bytes = vec![0; 1 << 20];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        change(&mut bytes[..read]);
        if to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    drop(to.shutdown(Shutdown::Write));
}

fn replace(bytes: &mut [u8], truth: &[u8], lie: &[u8]) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(truth.len()).position(|window| window == truth) {
        bytes[at + found..at + found + lie.len()].copy_from_slice(lie);
        at += found + lie.len();
    }
}
