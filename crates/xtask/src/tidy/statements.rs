//! What docs/sources.md says of the repository must be so.

use std::collections::BTreeSet;

use super::{Finding, Tree};
use crate::statements::{PAGE, Statement, statements};

/// Where the folder `web` of the page is.
const WEB_TESTS: &str = "crates/server/tests/";

/// Every row has a number of its own, in order; its files and tests exist; and one without a test says why.
pub(super) fn check_proofs(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.files.get(PAGE) else { return Vec::new() };
    let statements = match statements(page) {
        Ok(statements) => statements,
        Err(line) => return vec![Finding::new(PAGE, line, "a row has five columns")],
    };
    let tests = rust_tests(tree);
    let mut findings = Vec::new();
    let mut last = String::new();
    for statement in &statements {
        let mut complain = |message: String| findings.push(Finding::new(PAGE, statement.line, message));
        if statement.number != next_number(&last, statement.number) {
            complain(format!("`{}` does not follow `{last}`", statement.number));
        }
        statement.number.clone_into(&mut last);
        for file in statement.files.iter().filter(|file| !tree.files.contains_key(**file)) {
            complain(format!("there is no file `{file}`"));
        }
        for test in statement.tests.iter().filter(|test| !exists(tree, &tests, test)) {
            complain(format!("there is no test `{test}`"));
        }
        if !is_accounted_for(statement) {
            complain("a row has a file and a test, or says why not".to_owned());
        }
    }
    findings
}

fn is_accounted_for(statement: &Statement<'_>) -> bool {
    !statement.difference.is_empty() || !(statement.files.is_empty() || statement.tests.is_empty())
}

/// The number that must stand behind `last`: the next one of its document, or the first of another.
fn next_number(last: &str, number: &str) -> String {
    let (document, _) = number.split_once('-').unwrap_or((number, ""));
    let before = last.split_once('-').filter(|(last, _)| *last == document);
    let before: u32 = before.and_then(|(_, place)| place.parse().ok()).unwrap_or(0);
    format!("{document}-{:02}", before + 1)
}

fn exists(tree: &Tree, rust_tests: &BTreeSet<String>, test: &str) -> bool {
    match test.split_once("::") {
        Some((file, name)) if file.ends_with(".mjs") => {
            let folder = if file.starts_with("web/") { WEB_TESTS } else { "" };
            let begins = format!("test(\"{name}\"");
            tree.files.get(&format!("{folder}{file}")).is_some_and(|text| text.contains(&begins))
        }
        _ => rust_tests.contains(test),
    }
}

/// Every test of the crates as cargo prints it, with its binary before it.
fn rust_tests(tree: &Tree) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for (file, text) in tree.matching("crates/", ".rs") {
        let Some(module) = module(file) else { continue };
        let mut is_test = false;
        for line in text.lines().map(str::trim_start) {
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if is_test && let Some((_, rest)) = line.split_once("fn ") {
                let name = rest.split('(').next().unwrap_or_default();
                tests.insert(format!("{module}::{name}"));
                tests.insert(format!("{module}::tests::{name}"));
                is_test = false;
            }
        }
    }
    tests
}

/// The module that a file of a crate is, with the binary of its tests before it.
fn module(file: &str) -> Option<String> {
    let (package, path) = file.strip_prefix("crates/")?.split_once('/')?;
    let path = path.strip_suffix(".rs")?;
    let (binary, path) = match path.split_once('/')? {
        ("tests", path) => path.split_once('/').unwrap_or((path, "")),
        ("src", path) if path.starts_with("bin/") => (&path["bin/".len()..], ""),
        // The server's package has one binary and no library.
        ("src", path) if package == "server" => ("boxoffice", path),
        ("src", path) => return Some(joined(&format!("boxoffice_{package}"), path)),
        _ => return None,
    };
    Some(joined(binary, path))
}

fn joined(binary: &str, path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "main" | "lib" | "mod"));
    std::iter::once(binary).chain(parts).collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::super::assert_finds;
    use super::*;

    fn tree(rows: &str) -> Tree {
        Tree::of(&[
            (PAGE, rows),
            ("crates/core/src/a/b.rs", "mod tests {\n    #[test]\n    fn works() {}\n}\n"),
            ("crates/server/src/c.rs", "    #[test]\n    fn works() {}\n    fn helps() {}\n"),
            ("crates/server/tests/api/d/mod.rs", "#[tokio::test]\nasync fn answers() {}\n"),
            ("crates/server/tests/web/e.test.mjs", "test(\"it shows\", async () => {\n"),
            ("deploy/tests/f.test.mjs", "test(\"it runs\", async () => {\n"),
        ])
    }

    #[test]
    fn statements_with_a_file_and_a_test_that_exist_are_clean() {
        let rows = "| 000-01 | One | `crates/core/src/a/b.rs` | `boxoffice_core::a::b::tests::works` | |\n\
                    | 000-02 | Two | `crates/server/src/c.rs` | `boxoffice::c::tests::works`<br>`api::d::answers` | |\n\
                    | 001-01 | Three | `crates/server/src/c.rs` | `web/e.test.mjs::it shows` | |\n\
                    | 001-02 | Four | `crates/server/src/c.rs` | `deploy/tests/f.test.mjs::it runs` | |\n\
                    | 001-03 | Five | - | - | Out of scope |\n";
        assert_finds(check_proofs, &tree(rows), &[]);
    }

    #[test]
    fn statements_that_are_not_proved_are_found() {
        for wrong in [
            "| 000-01 | One | `crates/core/src/gone.rs` | `api::d::answers` | |",
            "| 000-01 | One | `crates/server/src/c.rs` | `api::d::gone` | |",
            "| 000-01 | One | `crates/server/src/c.rs` | `api::d::helps` | |",
            "| 000-01 | One | `crates/server/src/c.rs` | `other::d::answers` | |",
            "| 000-01 | One | `crates/server/src/c.rs` | `web/e.test.mjs::it hides` | |",
            "| 000-01 | One | `crates/server/src/c.rs` | `deploy/tests/f.test.mjs::it stops` | |",
            "| 000-01 | One | `crates/server/src/c.rs` | - | |",
            "| 000-01 | One | - | `api::d::answers` | |",
            "| 000-02 | One | `crates/server/src/c.rs` | `api::d::answers` | |",
            "| 000-01 | One | `crates/server/src/c.rs` |",
        ] {
            assert_finds(check_proofs, &tree(&format!("# Page\n{wrong}\n")), &["docs/sources.md:2"]);
        }
    }
}
