//! Programs that tests need besides cargo.

use std::process::Command;

use crate::error::{Error, Result};
use crate::step::output_of;

/// Each program, what it must be able to do, and the Debian package that has it.
const NEEDED: &[(&str, &[&str], &str)] = &[
    // librdkafka is built from source.
    ("make", &["--version"], "make"),
    ("c++", &["--version"], "g++"),
    ("strace", &["--version"], "strace"),
    // Its sets of system calls, and its judgement of the systemd unit. It need not run.
    ("systemd-analyze", &["--version"], "systemd"),
    // PostgreSQL's server: Debian keeps it off the search path.
    (
        "sh",
        &[
            "-c",
            "for server in /usr/lib/postgresql/*/bin/postgres \"$(command -v postgres)\"; do test -x \"$server\" && exit; done; exit 1",
        ],
        "postgresql",
    ),
    // A Kafka broker, which Maven fetches.
    ("java", &["-version"], "default-jre-headless"),
    ("mvn", &["-version"], "maven"),
    ("redis-server", &["--version"], "redis-server"),
    // Schemathesis and fakeredis are installed into environments of their own.
    ("python3", &["-c", "import ensurepip, venv"], "python3-venv"),
    // The web pages are tested in a real browser, one file after the other.
    ("node", &["--test-concurrency=1", "-e", "fetch"], "nodejs"),
    ("npm", &["--version"], "npm"),
    ("chromium", &["--version"], "chromium"),
];

/// Installs every missing program if this user may; an error names all that are missing then.
pub(crate) fn provide() -> Result<()> {
    let missing = NEEDED.iter().filter_map(|needed| provide_one(needed).err());
    let missing: Vec<String> = missing.map(|error| error.to_string()).collect();
    if missing.is_empty() { Ok(()) } else { Err(Error::new(missing.join("\n"))) }
}

fn provide_one((program, proof, package): &(&str, &[&str], &str)) -> Result<()> {
    if can(program, proof) {
        println!("{program} is there");
        return Ok(());
    }
    let advice = format!(
        "`{program}` or a part of it is missing (`{program} {}`): install it, on Debian with `sudo apt-get install -y {package}`",
        proof.join(" ")
    );
    if !may_install()? {
        return Err(Error::new(advice));
    }
    println!("{program} is missing; installing {package}");
    let apt = |arguments: &[&str]| output_of(Command::new("apt-get").args(arguments));
    apt(&["update"])
        .and_then(|_| apt(&["install", "-y", package]))
        .map_err(|error| Error::new(format!("{advice}; doing so failed: {error}")))?;
    if can(program, proof) {
        return Ok(());
    }
    Err(Error::new(format!("{advice}; apt-get has done so, and it still is not there")))
}

fn can(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Only the system's administrator, on a system with apt-get.
fn may_install() -> Result<bool> {
    let user = output_of(Command::new("id").arg("-u"))?;
    Ok(user.trim_ascii() == b"0" && can("apt-get", &["--version"]))
}
