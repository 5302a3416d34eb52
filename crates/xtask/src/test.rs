//! Everything that must pass, in one go: the test command of the README.

use crate::error::Result;
use crate::sources;
use crate::step::Steps;

/// Runs all steps; the first that fails ends it.
///
/// Benches are compiled and not run: they measure, they do not judge.
pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let mut steps = Steps::new(&root);
    steps.cargo("test --workspace --lib --bins --tests --examples")?;
    steps.cargo("test --workspace --doc")?;
    steps.cargo("check --workspace --benches")?;
    steps.summarize();
    Ok(())
}
