//! Programs that tests need besides cargo.

use std::process::Command;

use crate::error::{Error, Result};
use crate::step::output_of;

/// Each program and the Debian package that has it.
const NEEDED: &[(&str, &str)] = &[("strace", "strace")];

/// Sees to it that every program is there: installs what is missing if it may, and otherwise says what to install.
pub(crate) fn provide() -> Result<()> {
    for (program, package) in NEEDED {
        if is_there(program) {
            println!("{program} is there");
            continue;
        }
        let advice =
            format!("`{program}` is missing: install it, on Debian with `sudo apt-get install -y {package}`");
        if !may_install()? {
            return Err(Error::new(advice));
        }
        println!("{program} is missing; installing {package}");
        let apt = |arguments: &[&str]| output_of(Command::new("apt-get").args(arguments));
        apt(&["update"])
            .and_then(|_| apt(&["install", "-y", package]))
            .map_err(|error| Error::new(format!("{advice}; doing so failed: {error}")))?;
        if !is_there(program) {
            return Err(Error::new(format!("{advice}; apt-get has done so, and it still is not there")));
        }
    }
    Ok(())
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Only the system's administrator, on a system with apt-get.
fn may_install() -> Result<bool> {
    let user = output_of(Command::new("id").arg("-u"))?;
    Ok(user.trim_ascii() == b"0" && is_there("apt-get"))
}
