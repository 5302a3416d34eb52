//! The server under the system call filter of `deploy/boxoffice.service`, without systemd.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use boxoffice_services::{Postgres, Redis};

use crate::process::{Server, boxoffice, path, within_deadline};
use crate::seccomp::{Unit, run_filtered};

const SIGSYS: i32 = 31;
/// Of `systemd-analyze security`, in tenths: 0 is the safest, 100 the least safe.
const EXPOSURE_MAX: &str = "20";

fn serve(arguments: &[&str]) -> Server {
    let mut command = boxoffice(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(arguments);
    run_filtered(&Unit::read(), move || Server::spawn(&mut command))
}

/// Runs a program of the system to its end.
fn status_of(program: &'static str, arguments: &'static [&str]) -> ExitStatus {
    run_filtered(&Unit::read(), move || Command::new(program).args(arguments).status().unwrap())
}

#[test]
fn server_under_the_filter_of_the_unit_books_stops_and_starts_again() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = serve(&["--data", path(&data)]);
    server.create_hall(2);
    let (status, booked) = server.book("ann", 1);
    assert_eq!(status, 201, "{booked}");
    // A clean stop moves the log into the store.
    server.stop();
    let server = serve(&["--data", path(&data)]);
    let (status, found) = server.get(&format!("/v1/bookings/{}", booked["id"].as_str().unwrap()));
    assert_eq!((status, &found["customer"]), (200, &booked["customer"]));
    server.stop();
}

#[test]
fn server_under_the_filter_of_the_unit_reaches_postgresql_and_redis_over_unix_sockets() {
    let postgres = Postgres::start(&["fsync=off"]).unwrap();
    let sockets = tempfile::tempdir().unwrap();
    let socket = sockets.path().join("redis.sock");
    let redis = Redis::start(&["--unixsocket", path(&socket)]).unwrap();
    let server = serve(&[
        "--database-url",
        &postgres.url("postgres"),
        "--redis-urls",
        &format!("redis+unix://{}", path(&socket)),
    ]);
    server.create_hall(2);
    assert_eq!(server.book("ann", 1).0, 201);
    // The mirror in Redis has keys.
    within_deadline(|| (redis.ask(&["DBSIZE"]).unwrap() != ":0").then_some(()));
    server.stop();
}

#[test]
fn filter_of_the_unit_kills_a_program_that_calls_what_the_unit_denies() {
    assert_eq!(status_of("true", &[]).code(), Some(0));
    // ioprio_set is in @resources, chroot in @privileged.
    assert_eq!(status_of("ionice", &["-c", "3", "true"]).signal(), Some(SIGSYS));
    assert_eq!(status_of("chroot", &["/", "true"]).signal(), Some(SIGSYS));
}

#[test]
fn systemd_accepts_the_unit_and_rates_its_exposure_low() {
    let home = tempfile::tempdir().unwrap();
    let unit = home.path().join("boxoffice.service");
    // The binary is not installed where the unit expects it.
    let text = Unit::read().text.replace("/usr/local/bin/boxoffice", env!("CARGO_BIN_EXE_boxoffice"));
    std::fs::write(&unit, text).unwrap();
    analyze(&["verify"], &unit);
    analyze(&["security", "--offline=true", "--threshold", EXPOSURE_MAX], &unit);
}

#[track_caller]
fn analyze(arguments: &[&str], unit: &Path) {
    let out = Command::new("systemd-analyze").arg("--no-pager").args(arguments).arg(unit).output().unwrap();
    let printed = String::from_utf8_lossy(&out.stderr);
    // `verify` ends with 0 after warnings too.
    assert!(out.status.success() && printed.is_empty(), "{printed}{}", String::from_utf8_lossy(&out.stdout));
}
