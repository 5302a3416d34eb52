//! What a reader should not have to check: formatting, lints, structure, licences.

use crate::error::{Error, Result};
use crate::step::{Steps, cargo};
use crate::{sources, tidy, web};

/// Runs all steps; the first that fails ends it.
///
/// Advisories are not among them: their database is downloaded on every run, which not every machine can do.
pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let mut steps = Steps::new(&root);
    steps.cargo("fmt --all --check")?;
    steps.cargo("clippy --locked --workspace --all-targets -- -D warnings")?;
    steps.run("tidy", tidy::run)?;
    steps.run("types of the web pages", web::check_types)?;
    steps.run("cargo-deny is installed", deny_is_installed)?;
    steps.cargo("deny --workspace check bans licenses sources")?;
    steps.summarize();
    println!("not checked here: `cargo deny check advisories` (needs the network; see CONTRIBUTING.md)");
    Ok(())
}

fn deny_is_installed() -> Result<()> {
    let found = cargo().args(["deny", "--version"]).output().is_ok_and(|output| output.status.success());
    if found {
        return Ok(());
    }
    Err(Error::new("it is not: `cargo install --locked cargo-deny` (takes some minutes) and run this again"))
}
