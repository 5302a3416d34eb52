//! A whole cluster to try, on this machine.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::sources;
use crate::step::{cargo, debug_server, shown_output_of, target};

/// Starts it and becomes the process that stops it on Ctrl-C or SIGTERM.
pub(crate) fn run() -> Result<()> {
    let mut command = command(&sources::root()?, &[])?;
    let error = command.exec();
    Err(Error::new(format!("cannot start {command:?}: {error}")))
}

/// Starts it, books through each node and stops it; returns what it printed.
pub(crate) fn run_once() -> Result<String> {
    shown_output_of(command(&sources::root()?, &["--once"])?)
}

fn command(root: &Path, options: &[&str]) -> Result<Command> {
    let server = debug_server(root)?;
    let mut command = Command::new(program(root)?);
    command.args(options).arg(server);
    Ok(command)
}

/// Builds the program that starts the services, and says where it is. As part of the whole workspace, for the reason of [`debug_server`].
fn program(root: &Path) -> Result<PathBuf> {
    let status = cargo()
        .args("build --locked --quiet --workspace --bin cluster".split(' '))
        .current_dir(root)
        .status()
        .map_err(|error| Error::new(format!("cannot start cargo: {error}")))?;
    if !status.success() {
        return Err(Error::new(format!("the starter of the cluster cannot be built ({status})")));
    }
    Ok(target(root).join("debug/cluster"))
}
