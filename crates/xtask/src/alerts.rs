//! The alert rules for Prometheus: `promtool` checks them and runs their unit tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::sources;
use crate::step::{output_of, target};

pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let promtool = provide(&target(&root))?;
    for arguments in [["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]] {
        let status = Command::new(&promtool)
            .args(arguments)
            .current_dir(root.join("deploy"))
            .status()
            .map_err(|error| Error::new(format!("cannot start {}: {error}", promtool.display())))?;
        if !status.success() {
            return Err(Error::new(format!("promtool {} failed ({status})", arguments.join(" "))));
        }
    }
    Ok(())
}

/// The system's promtool, or one that is unpacked below the target directory. Debian's package is not installed, because that
/// would start a Prometheus server.
fn provide(target: &Path) -> Result<PathBuf> {
    if works(Path::new("promtool")) {
        return Ok("promtool".into());
    }
    let home = target.join("promtool");
    let promtool = home.join("usr/bin/promtool");
    if works(&promtool) {
        return Ok(promtool);
    }
    println!("unpacking promtool into {}", home.display());
    std::fs::create_dir_all(&home).map_err(|error| Error::new(format!("{}: {error}", home.display())))?;
    unpack(&home).map_err(|error| {
        let install =
            "install it and put it on the PATH, on Debian with `sudo apt-get install -y prometheus`";
        Error::new(format!("`promtool` is missing: {install}; unpacking Debian's package failed: {error}"))
    })?;
    if works(&promtool) {
        Ok(promtool)
    } else {
        Err(Error::new(format!("{} does not run", promtool.display())))
    }
}

fn unpack(home: &Path) -> Result<()> {
    let download = || output_of(Command::new("apt-get").args(["download", "prometheus"]).current_dir(home));
    // A fresh machine has no lists of packages; only its administrator may fetch them.
    if download().is_err() {
        output_of(Command::new("apt-get").arg("update"))?;
        download()?;
    }
    let shell = "for package in prometheus_*.deb; do dpkg-deb -x \"$package\" .; done";
    output_of(Command::new("sh").args(["-ec", shell]).current_dir(home))?;
    Ok(())
}

fn works(promtool: &Path) -> bool {
    Command::new(promtool).arg("--version").output().is_ok_and(|output| output.status.success())
}
