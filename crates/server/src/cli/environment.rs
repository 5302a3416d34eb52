//! Environment variables beside those that clap reads: names that other programs use, too, and names that are misspelt.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Error};

/// What every name of ours begins with.
const PREFIX: &str = "BOXOFFICE_";
/// The log filter, which is read before any option.
const LOG: &str = "BOXOFFICE_LOG";
/// For the tests and tools of the repository. A server that they start inherits them, and does not read them.
const OF_TESTS: [&str; 16] = [
    "BOXOFFICE_BAD_CLIENTS",
    "BOXOFFICE_BENCH_ECHO",
    "BOXOFFICE_BINARY",
    "BOXOFFICE_CLUSTER_BOOKINGS",
    "BOXOFFICE_CLUSTER_MODEL_COMMANDS",
    "BOXOFFICE_FLIPS",
    "BOXOFFICE_KEPT_REQUESTS",
    "BOXOFFICE_KILLS",
    "BOXOFFICE_KVROCKS_URL",
    "BOXOFFICE_MODEL_COMMANDS",
    "BOXOFFICE_SEED",
    "BOXOFFICE_STADIUM_SEATS",
    "BOXOFFICE_TEST_KAFKA",
    "BOXOFFICE_TEST_POSTGRES",
    "BOXOFFICE_TEST_REDIS",
    "BOXOFFICE_WRITE_GOLDEN",
];

/// A variable that other programs use, too.
struct UsualVariable {
    name: &'static str,
    /// The option of `serve` that it stands for, by its id.
    option: &'static str,
    /// Its value as the option has it.
    value: fn(&str) -> Result<String, &'static str>,
}

/// `DATABASE_URL`, `REDIS_URLS`, `REDIS_URL` and `KAFKA_BROKERS` are read where several commands have the option.
const USUAL: [UsualVariable; 7] = [
    UsualVariable { name: "PORT", option: "listen", value: on_loopback },
    UsualVariable { name: "HOLD_TTL_MS", option: "hold_ttl_seconds", value: whole_seconds },
    UsualVariable { name: "IDEMPOTENCY_TTL_MS", option: "idempotency_keep_seconds", value: whole_seconds },
    UsualVariable { name: "LOCK_TTL_MS", option: "lock_ttl_ms", value: as_it_is },
    UsualVariable { name: "REDLOCK_DRIFT_FACTOR", option: "redlock_drift_factor", value: as_it_is },
    UsualVariable { name: "REDLOCK_RETRY_COUNT", option: "redlock_retry_count", value: as_it_is },
    UsualVariable { name: "REDLOCK_RETRY_DELAY_MS", option: "redlock_retry_delay_ms", value: as_it_is },
];

/// The usual variables that are set, for options that nothing else sets, each with its argument.
pub(super) fn usual(of_serve: Option<&ArgMatches>) -> Result<Vec<(&'static str, String)>, String> {
    let Some(given) = of_serve else { return Ok(Vec::new()) };
    let mut arguments = Vec::new();
    for UsualVariable { name, option, value } in USUAL {
        let Some(text) = std::env::var_os(name).filter(|text| !text.is_empty()) else { continue };
        match given.value_source(option) {
            None | Some(ValueSource::DefaultValue) => {}
            Some(_) => continue,
        }
        let read = text.to_str().map_or(Err("must be text"), value);
        let value = read.map_err(|why| format!("{name} in the environment is {text:?}: it {why}"))?;
        arguments.push((name, format!("--{}={value}", option.replace('_', "-"))));
    }
    Ok(arguments)
}

/// The error of an option whose value came from a usual variable.
pub(super) fn explain(command: &Command, variable: &str, error: &Error) -> Error {
    let text = error.to_string();
    let reason = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    command.clone().error(ErrorKind::InvalidValue, format!("{variable} in the environment: {reason}"))
}

/// Finds a variable that begins as ours do and that no command reads: it is misspelt.
pub(super) fn refuse_unknown(
    command: &Command,
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<(), String> {
    let mut known = vec![LOG.to_owned()];
    collect_names(command, &mut known);
    for (name, value) in variables {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let is_known = known.iter().any(|known| *known == name) || OF_TESTS.contains(&&*name);
        if !name.starts_with(PREFIX) || is_known || is_service_link(&name, &value) {
            continue;
        }
        let nearest = known.iter().min_by_key(|known| distance(known, &name));
        let nearest = nearest.map_or(LOG, String::as_str);
        return Err(format!("{name} in the environment is not known; the nearest name is {nearest}"));
    }
    Ok(())
}

fn collect_names(command: &Command, names: &mut Vec<String>) {
    let variables = command.get_arguments().filter_map(|option| option.get_env()?.to_str());
    names.extend(variables.map(ToOwned::to_owned));
    command.get_subcommands().for_each(|command| collect_names(command, names));
}

/// Whether Kubernetes set it: a pod gets the addresses of every service beside it, also of one that is called `boxoffice`.
fn is_service_link(name: &str, value: &str) -> bool {
    let is_address = value.starts_with("tcp://") || value.starts_with("udp://");
    is_address || ["_SERVICE_HOST", "_SERVICE_PORT", "_TCP_", "_UDP_"].iter().any(|part| name.contains(part))
}

/// How many characters have to be added, removed or replaced (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, one) in one.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, other) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(one != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

fn on_loopback(port: &str) -> Result<String, &'static str> {
    let port: u16 = port.parse().map_err(|_| "must be a port, from 0 to 65535")?;
    Ok(format!("127.0.0.1:{port}"))
}

/// Rounded up: a hold is never shorter than was asked for.
fn whole_seconds(milliseconds: &str) -> Result<String, &'static str> {
    let milliseconds: u64 = milliseconds.parse().map_err(|_| "must be a whole number of milliseconds")?;
    Ok(milliseconds.div_ceil(1_000).to_string())
}

fn as_it_is(text: &str) -> Result<String, &'static str> {
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Arg;

    use super::*;

    #[test]
    fn distance_counts_changed_characters() {
        for (one, other, expected) in
            [("", "", 0), ("a", "", 1), ("LISTEN", "LISTN", 1), ("LISTEN", "LSITEN", 2), ("abc", "xyz", 3)]
        {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn only_names_that_no_command_reads_are_refused() {
        let option = |name: &'static str, variable: &'static str| Arg::new(name).long(name).env(variable);
        let command = Command::new("boxoffice")
            .arg(option("listen", "BOXOFFICE_LISTEN"))
            .subcommand(Command::new("keys").arg(option("role", "BOXOFFICE_KEYS_ROLE")));
        let check = |name: &str, value: &str| {
            refuse_unknown(&command, std::iter::once((name.into(), value.into()))).err()
        };
        for (name, value) in [
            ("BOXOFFICE_LISTEN", "127.0.0.1:1"),
            ("BOXOFFICE_KEYS_ROLE", "admin"),
            ("BOXOFFICE_LOG", "info"),
            ("BOXOFFICE_SEED", "1"),
            ("BOXOFFICE_SERVICE_HOST", "10.0.0.1"),
            ("BOXOFFICE_PORT", "tcp://10.0.0.1:8080"),
            ("BOXOFFICE_PORT_8080_TCP_PROTO", "tcp"),
            ("BOXOFFIC_LISTEN", "x"),
            ("PATH", "/usr/bin"),
        ] {
            assert_eq!(check(name, value), None, "{name}");
        }
        for (name, nearest) in
            [("BOXOFFICE_LISTN", "BOXOFFICE_LISTEN"), ("BOXOFFICE_KEY_ROLE", "BOXOFFICE_KEYS_ROLE")]
        {
            let error = check(name, "x").expect(name);
            assert!(error.contains(name) && error.ends_with(nearest), "{error}");
        }
    }

    #[test]
    fn milliseconds_are_rounded_up_to_seconds() {
        for (milliseconds, seconds) in
            [("0", "0"), ("1", "1"), ("1000", "1"), ("1001", "2"), ("120000", "120")]
        {
            assert_eq!(whole_seconds(milliseconds), Ok(seconds.to_owned()), "{milliseconds}");
        }
        for wrong in ["", "-1", "1.5", "2m"] {
            assert!(whole_seconds(wrong).is_err(), "{wrong}");
        }
    }
}
