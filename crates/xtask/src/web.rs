//! The web pages: their types, and their tests in a real browser against real servers.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::sources;
use crate::step::{debug_server, output_of, shown_output_of};

const TESTS: &str = "crates/server/tests/web";
const PAGES: &str = "crates/server/web";

/// Checks the types, builds the server, runs the tests, and returns what they printed; `only` leaves out files whose name does not contain it.
pub(crate) fn run(only: Option<&str>) -> Result<String> {
    let root = sources::root()?;
    let tests = root.join(TESTS);
    install(&tests)?;
    check_types()?;
    let server = debug_server(&root)?;
    run_tests(&tests, only, &server)
}

/// Runs the tests of a folder one file after the other, and returns what they printed.
pub(crate) fn run_tests(tests: &Path, only: Option<&str>, server: &Path) -> Result<String> {
    let mut command = Command::new("node");
    command
        .args(["--test", "--test-reporter=spec", "--test-concurrency=1"])
        .args(test_files(tests, only)?)
        .env("BOXOFFICE_BINARY", server)
        .current_dir(tests);
    shown_output_of(command)
}

/// The types in the pages' comments, which an editor shows, must be true.
pub(crate) fn check_types() -> Result<()> {
    let root = sources::root()?;
    let tests = root.join(TESTS);
    install(&tests)?;
    let mut command = Command::new(tests.join("node_modules/.bin/tsc"));
    command.arg("--project").arg(root.join(PAGES));
    shown_output_of(command).map(drop)
}

/// What tests in a folder need, once for each list of versions.
pub(crate) fn install(tests: &Path) -> Result<()> {
    let wanted = std::fs::read(tests.join("package-lock.json"))
        .map_err(|error| Error::new(format!("package-lock.json: {error}")))?;
    let installed = tests.join("node_modules/.installed.json");
    if std::fs::read(&installed).is_ok_and(|list| list == wanted) {
        return Ok(());
    }
    output_of(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(tests)).map_err(
        |error| Error::new(format!("npm cannot install what the tests need; is there a network? {error}")),
    )?;
    std::fs::write(&installed, wanted)
        .map_err(|error| Error::new(format!("{}: {error}", installed.display())))
}

fn test_files(tests: &Path, only: Option<&str>) -> Result<Vec<String>> {
    let failed = |error: std::io::Error| Error::new(format!("{}: {error}", tests.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(tests).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.mjs") && only.is_none_or(|only| name.contains(only)) {
            files.push(name);
        }
    }
    files.sort();
    if files.is_empty() { Err(Error::new("there is no such test")) } else { Ok(files) }
}
