//! The command line.

mod serve;

use clap::{Parser, Subcommand};

/// Sells seats, time slots and boxes, none of them twice.
#[derive(Debug, Parser)]
#[command(name = "boxoffice", version, about)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: serve::Options,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API (the default).
    Serve(serve::Options),
}

/// Runs what was asked for; the exit code is for scripts.
pub(crate) fn run() -> std::process::ExitCode {
    let cli = Cli::parse();
    match cli.command {
        None => serve::run(&cli.serve),
        Some(Command::Serve(options)) => serve::run(&options),
    }
}
