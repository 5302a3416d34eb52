//! Everything that must pass, in one go: the test command of the README.

use crate::error::Result;
use crate::step::Steps;
use crate::{schemathesis, sources, tools, web};

/// Runs all steps; the first that fails ends it.
///
/// Benches are compiled and not run: they measure, they do not judge.
pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let mut steps = Steps::new(&root);
    steps.run("tools of the tests", tools::provide)?;
    steps.cargo("test --locked --workspace --lib --bins --tests --examples")?;
    steps.cargo("test --locked --workspace --doc")?;
    steps.cargo("check --locked --workspace --benches")?;
    steps.run("schemathesis", schemathesis::run)?;
    steps.run("web pages", || web::run(None))?;
    steps.summarize();
    Ok(())
}
