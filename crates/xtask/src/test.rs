//! Everything that must pass, in one go: the test command of the README.

use std::path::Path;

use crate::error::{Error, Result};
use crate::step::Steps;
use crate::{alerts, cluster, deploy, schemathesis, sources, statements, tools, web};

/// What servers can be run on besides a directory.
const CLUSTERS: &[&str] = &["postgres", "postgres redis", "postgres redis kafka"];

/// Runs all steps; the first that fails ends it.
///
/// Benches are compiled and not run: they measure, they do not judge.
pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let mut steps = Steps::new(&root);
    steps.run("tools of the tests", tools::provide)?;
    steps.cargo("test --locked --workspace --lib --bins --tests --examples")?;
    for services in CLUSTERS {
        // The same API, the same rules: what passed on the embedded store must pass on these. Of the whole workspace, or it would be
        // compiled again with other features.
        steps.cargo(&format!(
            "run --locked --quiet --package boxoffice-services --bin with-services -- {services} -- \
             cargo test --locked --workspace --test api"
        ))?;
    }
    steps.cargo("test --locked --workspace --doc")?;
    steps.cargo("check --locked --workspace --benches")?;
    steps.run("alert rules", alerts::run)?;
    steps.run("schemathesis", schemathesis::run)?;
    steps.run("cluster to try", cluster::run_once)?;
    let deploy = steps.run("files of deploy", deploy::run)?;
    let pages = steps.run("web pages", || web::run(None))?;
    every_proof_ran(&root, &[steps.output(), &deploy, &pages].concat())?;
    steps.summarize();
    Ok(())
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
