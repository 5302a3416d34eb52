//! Modes of what commands write, under a umask that denies nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Said, Server, path, run, said};

/// The binary, run by a shell that sets the umask to zero.
fn with_loose_umask(arguments: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let exec = r#"umask 000; exec "$0" "$@""#;
    command.args(["-c", exec, env!("CARGO_BIN_EXE_boxoffice")]).args(arguments);
    command.env_clear().env("BOXOFFICE_LOG", "warn");
    command
}

fn run_loosely(arguments: &[&str]) -> Said {
    said(with_loose_umask(arguments).output().unwrap())
}

fn mode_of(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Every path below a directory, with its mode.
fn modes_below(directory: &Path) -> BTreeMap<PathBuf, u32> {
    let mut modes = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            modes.extend(modes_below(&path));
        }
        modes.insert(path.clone(), mode_of(&path));
    }
    modes
}

/// Fails the test unless all of these exist below a directory, and whatever exists there is private.
#[track_caller]
fn assert_private(directory: &Path, expected: &[&str]) {
    let modes = modes_below(directory);
    for name in expected {
        assert!(modes.contains_key(&directory.join(name)), "{name} is not among {modes:#?}");
    }
    for (path, mode) in &modes {
        let private = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(*mode, private, "{}: {mode:04o}", path.display());
    }
}

#[test]
fn store_backup_restored_store_export_and_reports_are_private_under_a_loose_umask() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let (data, backup) = (at("var/lib/data"), at("one.backup"));
    let server =
        Server::spawn(&mut with_loose_umask(&["serve", "--data", path(&data), "--listen", "127.0.0.1:0"]));
    server.create_hall(2);
    assert_eq!(server.book("ann", 1).0, 201);
    run_loosely(&["backup", "--server", &server.url(), "--to", path(&at("hot.backup"))]).well();
    server.stop();
    run_loosely(&["backup", "--data", path(&data), "--to", path(&backup)]).well();
    run_loosely(&["restore", "--from", path(&backup), "--data", path(&at("srv/restored"))]).well();
    run_loosely(&["keys", "create", "--data", path(&at("keys")), "--tenant", "default", "--role", "admin"])
        .well();
    // What an earlier and looser run left.
    for name in ["bookings.csv", "rehearsal.html"] {
        std::fs::write(at(name), "old").unwrap();
        set_mode(&at(name), 0o666);
    }
    run_loosely(&["export", "--data", path(&data), "--out", path(&at("bookings.csv"))]).well();
    let mut rehearsal = with_loose_umask(&["rehearse", "--seats", "2", "--buyers", "2"]);
    said(rehearsal.current_dir(home.path()).output().unwrap()).well();
    assert!(std::fs::read_to_string(at("bookings.csv")).unwrap().contains("ann"));
    assert_private(
        home.path(),
        &[
            "var/lib/data/store.redb",
            "var/lib/data/mark",
            "var/lib/data/log-0",
            "var/lib/data/log-1",
            "hot.backup",
            "one.backup",
            "srv/restored/store.redb",
            "keys/store.redb",
            "bookings.csv",
            "rehearsal.html",
            "rehearsal.json",
        ],
    );
}

#[test]
fn store_of_a_rehearsal_is_private_while_it_runs() {
    let home = tempfile::tempdir().unwrap();
    let arguments =
        ["rehearse", "--seats", "2000", "--buyers", "2000", "--arrivals", "steady", "--over-seconds", "60"];
    let mut command = with_loose_umask(&arguments);
    let mut child = command.current_dir(home.path()).env("TMPDIR", home.path()).spawn().unwrap();
    let store = crate::process::within_deadline(|| {
        let entries = std::fs::read_dir(home.path()).unwrap().flatten();
        let mut stores = entries.map(|entry| entry.path().join("store"));
        stores.find(|store| store.join("store.redb").exists())
    });
    assert_private(home.path(), &[path(&store)]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn data_directory_made_beforehand_keeps_its_mode() {
    let home = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let made = home.path().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&made).unwrap();
        made
    };
    let (data, restored, backup) = (make("data"), make("restored"), home.path().join("one.backup"));
    run_loosely(&["keys", "create", "--data", path(&data), "--tenant", "default", "--role", "admin"]).well();
    run_loosely(&["backup", "--data", path(&data), "--to", path(&backup)]).well();
    run_loosely(&["restore", "--from", path(&backup), "--data", path(&restored)]).well();
    assert_private(home.path(), &["data/store.redb", "restored/store.redb"]);
}

#[test]
fn data_that_other_users_may_access_is_refused_with_the_command_that_mends_it() {
    let home = tempfile::tempdir().unwrap();
    let (data, backup) = (home.path().join("data"), home.path().join("one.backup"));
    let serve = ["serve", "--data", path(&data), "--listen", "127.0.0.1:0"];
    let mend = format!("chmod -R go= {}", data.display());
    std::fs::DirBuilder::new().create(&data).unwrap();
    set_mode(&data, 0o755);
    let words: [&str; 3] = [path(&data), "(mode 0755)", &mend];
    run(&serve).badly(1, &words);
    assert!(std::fs::read_dir(&data).unwrap().next().is_none(), "nothing was created in it");
    set_mode(&data, 0o700);
    Server::on(&data).stop();
    run(&["backup", "--data", path(&data), "--to", path(&backup)]).well();

    for (name, mode, shown) in
        [("", 0o750, "(mode 0750)"), ("store.redb", 0o640, "(mode 0640)"), ("log-1", 0o604, "(mode 0604)")]
    {
        let loose = if name.is_empty() { data.clone() } else { data.join(name) };
        set_mode(&loose, mode);
        let words = [path(&loose), shown, &mend];
        run(&serve).badly(1, &words);
        run(&["verify", "--data", path(&data)]).badly(1, &words);
        run(&["export", "--data", path(&data)]).badly(1, &words);
        assert!(Command::new("sh").args(["-c", &mend]).status().unwrap().success());
        Server::on(&data).stop();
    }

    let restored = home.path().join("restored");
    std::fs::DirBuilder::new().create(&restored).unwrap();
    set_mode(&restored, 0o770);
    run(&["restore", "--from", path(&backup), "--data", path(&restored)])
        .badly(1, &["(mode 0770)", "chmod -R go= "]);
    assert_eq!(mode_of(&restored), 0o770);
}
