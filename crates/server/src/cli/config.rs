//! The configuration file: options of `serve` by their names, for whoever prefers a file to flags.
//!
//! What the file says is put behind the arguments, for those options that neither a flag nor the environment set. So it is
//! checked like a flag, and a flag beats the environment, which beats the file, which beats the default. Variables that other
//! programs use, too, such as `PORT`, are between the file and the default: see `environment.rs`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, Parser};

use super::{environment, serve};

/// Reads the command line, and the configuration file if it names one.
pub(super) fn parse<C: Parser>(mut arguments: Vec<OsString>) -> Result<C, Error> {
    let mut command = C::command();
    let mut matches = command.try_get_matches_from_mut(&arguments)?;
    let of_serve_given = of_serve(&matches);
    let path = of_serve_given.and_then(|given| Some((given, given.get_one::<PathBuf>("config")?)));
    if let Some((given, path)) = path {
        let wrong = |message: String| command.clone().error(ErrorKind::InvalidValue, message);
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| wrong(format!("the configuration {}: {error}", path.display())))?;
        arguments.extend(options_in(&text, path, given).map_err(wrong)?);
        matches = command.try_get_matches_from_mut(&arguments)?;
    }
    let wrong = |message: String| command.clone().error(ErrorKind::InvalidValue, message);
    environment::refuse_unknown(&command, std::env::vars_os()).map_err(wrong)?;
    for (variable, argument) in environment::usual(of_serve(&matches)).map_err(wrong)? {
        arguments.push(argument.into());
        let read = command.try_get_matches_from_mut(&arguments);
        matches = read.map_err(|error| environment::explain(&command, variable, &error))?;
    }
    C::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// What was given to `serve`, if that is what is asked for.
fn of_serve(matches: &ArgMatches) -> Option<&ArgMatches> {
    match matches.subcommand() {
        None => Some(matches),
        Some(("serve", given)) => Some(given),
        Some(_) => None,
    }
}

/// The options that the file sets and nothing else does, as arguments.
fn options_in(text: &str, path: &Path, given: &ArgMatches) -> Result<Vec<OsString>, String> {
    let path = path.display();
    let table: toml::Table =
        text.parse().map_err(|error| format!("the configuration {path} is not TOML: {error}"))?;
    let known = serve::Options::augment_args(Command::new("serve"));
    let mut arguments = Vec::new();
    for (name, value) in &table {
        let option = known.get_arguments().find(|option| option.get_id() == name && name != "config");
        let Some(flag) = option.and_then(|option| option.get_long()) else {
            return Err(format!("the configuration {path} has {name:?}, which is not an option of serve"));
        };
        let argument = match value {
            toml::Value::String(text) => format!("--{flag}={text}"),
            toml::Value::Integer(number) => format!("--{flag}={number}"),
            toml::Value::Float(number) => format!("--{flag}={number}"),
            toml::Value::Boolean(true) => format!("--{flag}"),
            // A flag that is not given.
            toml::Value::Boolean(false) => continue,
            toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => {
                return Err(format!(
                    "{name:?} in the configuration {path} must be a string, a number, true or false"
                ));
            }
        };
        match given.value_source(name) {
            None | Some(ValueSource::DefaultValue) => arguments.push(argument.into()),
            Some(_) => {}
        }
    }
    Ok(arguments)
}
