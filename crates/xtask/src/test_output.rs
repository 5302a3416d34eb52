//! Reads what `cargo test` and `node --test` print: which tests ran, which failed, and how long each binary took.
//!
//! Rust tests are named `suite::path`, where the suite is the test binary (`api`) or the library (`boxoffice_core`). Node's test runner
//! prints no file names, so its tests are named `node::name`.

use std::collections::BTreeSet;

/// One line of the output that says something about a test.
enum Line<'a> {
    /// Tests of this suite follow.
    Suite(&'a str),
    /// A test ended.
    Test { name: &'a str, failed: bool },
    /// A test of node's runner ended.
    NodeTest { name: &'a str, failed: bool },
    /// The suite ended after so many seconds.
    Finished(f64),
}

/// The tests that ran, passed or not.
pub(crate) fn tests_that_ran(output: &str) -> BTreeSet<String> {
    named_tests(output).map(|(name, _)| name).collect()
}

/// The tests that failed, and the targets that failed without naming a test (a test binary that was killed).
pub(crate) fn failed_tests(output: &str) -> BTreeSet<String> {
    let mut failed: BTreeSet<String> =
        named_tests(output).filter(|(_, failed)| *failed).map(|(name, _)| name).collect();
    let silent: Vec<String> = failed_targets(output)
        .filter(|target| {
            let suite = target.rsplit(' ').next().unwrap_or_default();
            let package = target.split(' ').nth(1).unwrap_or_default().replace('-', "_");
            let suite = if suite.starts_with("--") { package.as_str() } else { suite };
            !failed.iter().any(|test| test.split("::").next() == Some(suite))
        })
        .map(|target| format!("all of `{target}`: the test binary ended early"))
        .collect();
    failed.extend(silent);
    failed
}

/// Seconds of each test binary, in the order in which they ran.
pub(crate) fn suite_times(output: &str) -> Vec<(String, f64)> {
    let mut times = Vec::new();
    let mut suite = "";
    for line in lines(output) {
        match line {
            Line::Suite(name) => suite = name,
            Line::Finished(seconds) => times.push((suite.to_owned(), seconds)),
            Line::Test { .. } | Line::NodeTest { .. } => {}
        }
    }
    times
}

/// Each test with whether it failed. A test is named again in the list of failures at the end of its suite: lines of its own and of
/// processes that it starts can tear the first line apart.
fn named_tests(output: &str) -> impl Iterator<Item = (String, bool)> {
    let mut suite = "";
    lines(output).filter_map(move |line| match line {
        Line::Suite(name) => {
            suite = name;
            None
        }
        Line::Test { name, failed } => Some((format!("{suite}::{name}"), failed)),
        Line::NodeTest { name, failed } => Some((format!("node::{name}"), failed)),
        Line::Finished(_) => None,
    })
}

fn lines(output: &str) -> impl Iterator<Item = Line<'_>> {
    let mut in_failures = false;
    output.lines().filter_map(move |line| {
        in_failures = line == "failures:" || in_failures && (line.is_empty() || line.starts_with("    "));
        if in_failures && line.starts_with("    ") && !line.trim().contains(' ') {
            return Some(Line::Test { name: line.trim(), failed: true });
        }
        let words = line.trim_start();
        if let Some((_, binary)) = words.strip_prefix("Running ").and_then(|rest| rest.split_once('(')) {
            let file = binary.trim_end_matches(')').rsplit('/').next().unwrap_or_default();
            return Some(Line::Suite(file.rsplit_once('-').map_or(file, |(name, _)| name)));
        }
        if let Some(library) = words.strip_prefix("Doc-tests ") {
            return Some(Line::Suite(library));
        }
        for (mark, failed) in [("✔ ", false), ("✖ ", true)] {
            // The heading of the list at the end.
            if let Some(name) = words.strip_prefix(mark).filter(|name| *name != "failing tests:") {
                let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
                return Some(Line::NodeTest { name, failed });
            }
        }
        if let Some((_, seconds)) =
            words.strip_prefix("test result: ").and_then(|rest| rest.rsplit_once("finished in "))
        {
            return seconds.trim_end_matches('s').parse().ok().map(Line::Finished);
        }
        let (before, result) = line.split_once(" ... ")?;
        // A process that a test started may have printed before it, without ending its line.
        let name = before.rsplit("test ").next().unwrap_or_default();
        let name = name.strip_suffix(" - should panic").unwrap_or(name);
        Some(Line::Test { name, failed: result.starts_with("FAILED") })
    })
}

/// The targets in cargo's list at the end of `cargo test --no-fail-fast`, such as `-p boxoffice-server --test api`.
fn failed_targets(output: &str) -> impl Iterator<Item = &str> {
    let target = |line: &'_ str| line.trim().strip_prefix("`-p ").is_some();
    output.lines().filter(move |line| target(line)).map(|line| line.trim().trim_matches('`'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "     Running unittests src/lib.rs (target/debug/deps/boxoffice_core-0a1b)\n\
                          test two::tests::works - should panic ... ok\n\
                          test two::tests::breaks ... FAILED\n\
                          test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 12.50s\n\
                          \x20    Running tests/api/main.rs (/t/debug/deps/api-77)\n\
                          noise test one ... ok\n\
                          test torn ... noise of a child\n\
                          FAILED\n\
                          \n\
                          failures:\n\
                          \n\
                          ---- torn stdout ----\n\
                          \x20   4 words in here\n\
                          \n\
                          failures:\n\
                          \x20   torn\n\
                          \n\
                          test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n\
                          \x20    Running tests/kill.rs (/t/debug/deps/kill-78)\n\
                          test sudden ... \n\
                          \x20  Doc-tests boxoffice_engine\n\
                          test crates/engine/src/lib.rs - (line 3) ... FAILED\n\
                          error: 3 targets failed:\n\
                          \x20   `-p boxoffice-core --lib`\n\
                          \x20   `-p boxoffice-server --test api`\n\
                          \x20   `-p boxoffice-sim --test kill`\n\
                          \x20 ✔ it works (12.5ms)\n\
                          \x20 ✖ it breaks (9ms)\n\
                          ✖ failing tests:\n\
                          ✖ it breaks (9ms)\n";

    #[test]
    fn failed_tests_are_named_once_with_their_suite() {
        let failed: Vec<String> = failed_tests(OUTPUT).into_iter().collect();
        let expected = [
            "all of `-p boxoffice-sim --test kill`: the test binary ended early",
            "api::torn",
            "boxoffice_core::two::tests::breaks",
            "boxoffice_engine::crates/engine/src/lib.rs - (line 3)",
            "node::it breaks",
        ];
        assert_eq!(failed, expected);
    }

    #[test]
    fn tests_that_failed_count_as_run() {
        let ran = tests_that_ran(OUTPUT);
        for test in ["boxoffice_core::two::tests::works", "api::one", "api::torn", "node::it works"] {
            assert!(ran.contains(test), "{test} in {ran:?}");
        }
        assert!(ran.contains("node::it breaks"));
        assert!(!ran.contains("node::failing tests:"));
    }

    #[test]
    fn each_test_binary_has_its_time() {
        let expected = [("boxoffice_core".to_owned(), 12.5), ("api".to_owned(), 0.01)];
        assert_eq!(suite_times(OUTPUT), expected);
    }
}
