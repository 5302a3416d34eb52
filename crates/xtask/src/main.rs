//! Chores of the repository: `cargo xtask <command>`.
#![expect(clippy::print_stdout, reason = "printing is what these commands are for")]

mod alerts;
mod cluster;
mod deploy;
mod error;
mod fuzz_edge;
mod lint;
mod openapi;
mod own_server;
mod planted_bugs;
mod schemathesis;
mod sim;
mod sources;
mod statements;
mod step;
mod test;
mod test_output;
mod tidy;
mod tools;
mod web;

use std::process::ExitCode;

use error::Error;

const USAGE: &str = "usage: cargo xtask <command>

  test                                  everything that must pass, in one go
  lint                                  formatting, clippy, tidy, and of dependencies: licences, sources, advisories
  tidy                                  the structural rules of the repository
  alerts                                the rules of deploy/alerts.yml and their unit tests, by promtool
  openapi                               writes docs/openapi.json from the code
  schemathesis                          requests made up from the API's document, against a server of its own
  fuzz-edge [--seed N] [--cases K]      damaged requests to both lanes of a server and through nginx, from seed N on
  web [NAME]                            the web pages in a real browser; only tests with NAME in their file's name
  cluster [--once]                      PostgreSQL, Redis, Kafka, three nodes and a balancer to try, until Ctrl-C;
                                        with --once until a booking was made through each node
  deploy                                the files of deploy: compose.yml by its schema, Postman's collection with newman
  sim [--seed N] [--runs K]             simulated runs with crashes from seed N on, each audited
  planted-bugs [--list] [--only NAME]   puts known bugs into the code, one by one: the tests must notice each;
                                        NAME is one of them, or `core`, `engine` or `cluster`
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["test"] => test::run(),
        ["lint"] => lint::run(),
        ["tidy"] => tidy::run(),
        ["alerts"] => alerts::run(),
        ["openapi"] => openapi::run(),
        ["schemathesis"] => schemathesis::run(),
        ["fuzz-edge", options @ ..] => fuzz_edge::run(options),
        ["web"] => web::run(None).map(drop),
        ["web", only] => web::run(Some(only)).map(drop),
        ["deploy"] => deploy::run().map(drop),
        ["cluster"] => cluster::run(),
        ["cluster", "--once"] => cluster::run_once().map(drop),
        ["sim", options @ ..] => sim::run(options),
        ["planted-bugs"] => planted_bugs::run(None),
        ["planted-bugs", "--list"] => planted_bugs::list(),
        ["planted-bugs", "--only", name] => planted_bugs::run(Some(name)),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [..] => Err(Error::new(format!("no such command: {arguments:?}\n\n{USAGE}"))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
