//! Runs a command beside real servers, and ends them with it: `with-services postgres -- cargo test ..`.
//!
//! Where they are stands in the command's environment: `BOXOFFICE_TEST_POSTGRES` is the directory of PostgreSQL's socket.

use std::process::{Command, ExitCode};

use boxoffice_services::{Error, Postgres};

/// Many tests at once, each with servers of its own. Nothing here survives the machine, and nobody asks it to.
const POSTGRES_SETTINGS: &[&str] = &["fsync=off", "max_connections=400", "jit=off"];

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode, Error> {
    let mut arguments = std::env::args_os().skip(1);
    let wanted: Vec<String> =
        arguments.by_ref().map_while(|one| one.into_string().ok().filter(|one| one != "--")).collect();
    let program = arguments.next().ok_or_else(|| Error::Wrong("no command after `--`".to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments);

    let mut postgres = None;
    for name in &wanted {
        match name.as_str() {
            "postgres" => postgres = Some(Postgres::start(POSTGRES_SETTINGS)?),
            unknown => return Err(Error::Wrong(format!("there is no service `{unknown}`"))),
        }
    }
    if let Some(postgres) = &postgres {
        command.env("BOXOFFICE_TEST_POSTGRES", postgres.sockets());
    }
    let status =
        command.status().map_err(|error| Error::Io { what: format!("cannot run {command:?}"), error })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
