//! Reads docs/sources.md: the statements of the source documents, each with the tests that prove it.

use crate::test_output::tests_that_ran;

/// The page.
pub(crate) const PAGE: &str = "docs/sources.md";

/// One row of the page.
#[derive(Debug)]
pub(crate) struct Statement<'a> {
    /// Where it stands, counted from one.
    pub(crate) line: usize,
    /// Document and place in it, such as `000-12`.
    pub(crate) number: &'a str,
    /// What implements it.
    pub(crate) files: Vec<&'a str>,
    /// What proves it.
    pub(crate) tests: Vec<&'a str>,
    /// Why Boxoffice does something else, or does not do it.
    pub(crate) difference: &'a str,
}

/// All rows that begin with a number. An error names the line of a row without five columns.
pub(crate) fn statements(page: &str) -> Result<Vec<Statement<'_>>, usize> {
    let rows = (1..).zip(page.lines()).filter(|(_, text)| text.starts_with("| 0"));
    rows.map(|(line, text)| {
        let cells: Vec<&str> = text.trim_matches('|').split(" |").map(str::trim).collect();
        let [number, _, files, tests, difference] = cells[..] else { return Err(line) };
        Ok(Statement { line, number, files: code(files), tests: code(tests), difference })
    })
    .collect()
}

/// What stands between backticks.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Rows that name a test which is in no output of the tests that ran, as `number: test`.
pub(crate) fn tests_that_did_not_run(page: &str, output: &str) -> Vec<String> {
    let ran = tests_that_ran(output);
    let statements = statements(page).unwrap_or_default();
    let missing = |statement: Statement<'_>| {
        let missing = statement.tests.into_iter().filter(|test| !ran.contains(&as_printed(test)));
        missing.map(|test| format!("{}: {test}", statement.number)).collect::<Vec<_>>()
    };
    statements.into_iter().flat_map(missing).collect()
}

/// Node's test runner does not print the file.
fn as_printed(test: &str) -> String {
    match test.split_once(".mjs::") {
        Some((_, name)) => format!("node::{name}"),
        None => test.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Page\n\n| no. | statement | where | test | difference |\n|---|---|---|---|---|\n\
                        | 000-01 | One | `a.rs` | `api::one`<br>`web/a.test.mjs::it works` |  |\n\
                        | 000-02 | Two | `a.rs`, `b.rs` | `boxoffice_core::two::tests::works` | Otherwise |\n\
                        | 000-03 | Three | - | `deploy/tests/b.test.mjs::newman: double click` | |\n\
                        | 000-04 | Four | - | - | Out of scope |\n";
    const OUTPUT: &str = "     Running unittests src/lib.rs (target/debug/deps/boxoffice_core-0a1b)\n\
                          test two::tests::works - should panic ... ok\n\
                          \x20    Running tests/api/main.rs (/t/debug/deps/api-77)\n\
                          noise test one ... ok\n\
                          \x20 ✔ it works (12.5ms)\n\
                          \x20 ✔ newman: double click (9ms)\n";

    #[test]
    fn rows_are_read_with_their_files_and_tests() {
        let read = statements(PAGE).expect("every row has its columns");
        let numbers: Vec<&str> = read.iter().map(|statement| statement.number).collect();
        assert_eq!(numbers, ["000-01", "000-02", "000-03", "000-04"]);
        assert_eq!(read[0].tests, ["api::one", "web/a.test.mjs::it works"]);
        assert_eq!((read[1].files.as_slice(), read[1].line), (["a.rs", "b.rs"].as_slice(), 6));
        assert_eq!((read[3].tests.len(), read[3].difference), (0, "Out of scope"));
        assert_eq!(statements("| 000-01 | One | `a.rs` |\n").err(), Some(1));
    }

    #[test]
    fn tests_that_did_not_run_are_named_with_their_row() {
        assert_eq!(tests_that_did_not_run(PAGE, OUTPUT), Vec::<String>::new());
        for (gone, named) in [
            ("noise test one ... ok", "000-01: api::one"),
            ("✔ it works", "000-01: web/a.test.mjs::it works"),
            ("deps/boxoffice_core-0a1b", "000-02: boxoffice_core::two::tests::works"),
            ("✔ newman", "000-03: deploy/tests/b.test.mjs::newman: double click"),
        ] {
            assert_eq!(tests_that_did_not_run(PAGE, &OUTPUT.replace(gone, "")), [named]);
        }
    }
}
