//! The command line.

mod backup;
mod client;
mod config;
mod console;
mod demo;
mod environment;
mod erasures;
mod export;
mod kafka;
mod keys;
mod migrate;
mod mirror;
mod openapi;
mod redis;
mod rehearse;
mod restore;
mod serve;
mod store;
mod verify;

use clap::{Parser, Subcommand};

/// Sells seats, time slots and boxes, none of them twice.
///
/// Exit codes: 0 if all went well, 1 if it failed or a difference was found, 2 if the command line or the configuration is
/// wrong.
#[derive(Debug, Parser)]
#[command(name = "boxoffice", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Options,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API (the default).
    Serve(Box<serve::Options>),
    /// Serve a filled arena, museum and bakery from memory, with some life in them.
    Demo(demo::Options),
    /// Rehearse an on-sale over HTTP, and check from outside whether every promise was kept.
    ///
    /// Exit codes: 0 if they were, 1 if one was broken, 2 if it could not be rehearsed.
    Rehearse(rehearse::Options),
    /// Prove that a store is what its journals say. Its servers must be stopped.
    Verify(verify::Options),
    /// Write everything into one file, from a stopped store or a running server.
    Backup(backup::Options),
    /// Make a store from a backup, and verify it.
    Restore(restore::Options),
    /// List whose contacts were erased, for `restore --erasures`. The server of a directory must be stopped.
    Erasures(erasures::Options),
    /// Write bookings or utilization as CSV. The server of a directory must be stopped.
    Export(export::Options),
    /// Make, list and revoke API keys.
    Keys(keys::Options),
    /// Make or bring up to date the tables of a database. `serve` does so by itself unless it is told not to.
    Migrate(migrate::Options),
    /// Rebuild or check what Redis shows of a database.
    Mirror(mirror::Options),
    /// Print the OpenAPI document.
    Openapi,
}

/// Runs what was asked for; the exit code is for scripts.
pub(crate) fn run() -> std::process::ExitCode {
    let cli: Cli = match config::parse(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    console::finish(match cli.command {
        None => serve::run(&cli.serve),
        Some(Command::Serve(options)) => serve::run(&options),
        Some(Command::Demo(options)) => demo::run(&options),
        Some(Command::Rehearse(options)) => rehearse::run(&options),
        Some(Command::Verify(options)) => verify::run(&options),
        Some(Command::Backup(options)) => backup::run(&options),
        Some(Command::Restore(options)) => restore::run(&options),
        Some(Command::Erasures(options)) => erasures::run(&options),
        Some(Command::Export(options)) => export::run(&options),
        Some(Command::Keys(options)) => keys::run(&options),
        Some(Command::Migrate(options)) => migrate::run(&options),
        Some(Command::Mirror(options)) => mirror::run(&options),
        Some(Command::Openapi) => openapi::run(),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_holds_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_is_an_environment_variable_too() {
        fn check(command: &clap::Command) {
            for option in command.get_arguments().filter(|option| option.get_long().is_some()) {
                let (name, of) = (option.get_id(), command.get_name());
                if !["help", "version"].contains(&name.as_str()) {
                    let variable = option.get_env().and_then(|name| name.to_str()).unwrap_or_default();
                    assert!(variable.starts_with("BOXOFFICE_"), "--{name} of {of}: {variable:?}");
                }
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
