//! Simulated runs, in a program of its own: it is built optimized, and the other chores do not wait for it.

use crate::error::{Error, Result};
use crate::sources;
use crate::step::cargo;

/// Builds the simulator and hands it the options.
pub(crate) fn run(options: &[&str]) -> Result<()> {
    let status = cargo()
        .args("run --locked --quiet --release --package boxoffice-sim --example simulate --".split(' '))
        .args(options)
        .current_dir(sources::root()?)
        .status()
        .map_err(|error| Error::new(format!("cannot start cargo: {error}")))?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("the simulation failed ({status})"))) }
}
