//! Everything that must pass, in one go: the test command of the README.

use std::path::Path;

use crate::error::{Error, Result};
use crate::step::Steps;
use crate::{alerts, cluster, deploy, fuzz_edge, schemathesis, sources, statements, tools, web};

/// What servers can be run on besides a directory.
const CLUSTERS: &[&str] = &["postgres", "postgres redis", "postgres redis kafka"];

/// What all steps but a few depend on: the whole workspace with its tests.
const BUILD: &str = "test --locked --workspace --lib --bins --tests --examples --no-run";
const BUILD_FAILED: &str = "the build failed";

/// A step that returns the output of the tests it ran.
type TestStep = fn() -> Result<String>;

/// Runs all steps, also those after one that failed, and ends with a list of all failures.
///
/// Benches are compiled and not run: they measure, they do not judge.
pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let mut steps = Steps::new(&root);
    steps.run("tools of the tests", tools::provide);
    steps.run("alert rules", alerts::run);
    let built = steps.cargo(BUILD);
    let mut arguments =
        vec!["test --locked --workspace --lib --bins --tests --examples --no-fail-fast".to_owned()];
    // The same API, the same rules: what passed on the embedded store must pass on these. Of the whole workspace, or it would be
    // compiled again with other features.
    arguments.extend(CLUSTERS.iter().map(|services| {
        format!(
            "run --locked --quiet --package boxoffice-services --bin with-services -- {services} -- \
             cargo test --locked --workspace --test api"
        )
    }));
    arguments.push("test --locked --workspace --doc --no-fail-fast".to_owned());
    arguments.push("check --locked --workspace --benches".to_owned());
    for arguments in arguments {
        if built {
            steps.cargo(&arguments);
        } else {
            steps.leave_out(&format!("cargo {arguments}"), BUILD_FAILED);
        }
    }
    let with_server: [(&str, TestStep); 5] = [
        ("schemathesis", || schemathesis::run().map(|()| String::new())),
        ("damaged requests", || fuzz_edge::run(&[]).map(|()| String::new())),
        ("cluster to try", cluster::run_once),
        ("files of deploy", deploy::run),
        ("web pages", || web::run(None)),
    ];
    for (name, step) in with_server {
        if built {
            steps.run_tests(name, step);
        } else {
            steps.leave_out(name, BUILD_FAILED);
        }
    }
    let output = steps.output().to_owned();
    if built {
        steps.run("every test of the sources ran", || every_proof_ran(&root, &output));
    } else {
        steps.leave_out("every test of the sources ran", BUILD_FAILED);
    }
    steps.finish()
}

/// The tests that docs/sources.md names must be among those that ran.
fn every_proof_ran(root: &Path, output: &str) -> Result<()> {
    let page = root.join(statements::PAGE);
    let page =
        std::fs::read_to_string(&page).map_err(|error| Error::new(format!("{}: {error}", page.display())))?;
    let missing = statements::tests_that_did_not_run(&page, output);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Error::new(format!("tests of {} that did not run:\n{}", statements::PAGE, missing.join("\n"))))
}
