//! Requests that nobody thought of, made by schemathesis from the API's own document, against a server of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::own_server::{Directory, OwnServer, make_key, post};
use crate::sources;
use crate::step::{debug_server, output_of, target};

/// Exact versions of schemathesis and all it needs.
const REQUIREMENTS: &str = include_str!("schemathesis.txt");
/// Random requests of an operation, and random walks; more find more, and take longer.
const EXAMPLES: &str = "15";
/// Streams do not end.
const NOT_TRIED: &str = "/stream$";
/// Would call addresses of strangers, and take away the key that the requests are made with.
const OPERATIONS_NOT_TRIED: [&str; 2] = ["create_webhook", "revoke_key"];
/// What a schema cannot say is refused as well: a cursor of another list, two fields of which one is wanted, a key used twice.
const NOT_CHECKED: &str = "positive_data_acceptance";
/// Requests that are all turned away at the door prove nothing; an operation that is not found is not left out either.
const SETTINGS: &str = "[warnings]\nfail-on = [\"missing_auth\", \"unmatched_filter\"]\n";

/// What the examples of the document speak of. Without it every request would end with "not found".
const STOCK: &[(&str, &str)] = &[
    (
        "/v1/events",
        r#"{"id":"gala","name":"Gala","currency":"TWD","sections":[{"name":"A","price":3000,"subsections":[{"number":1,"rows":25,"cols":20}]}],"areas":[{"name":"standing","price":1500,"capacity":5000}]}"#,
    ),
    (
        "/v1/schedules",
        r#"{"id":"museum","name":"Museum","timezone":"Asia/Taipei","currency":"TWD","windows":[{"start":"09:00","end":"12:00","capacity":200}]}"#,
    ),
    ("/v1/schedules/museum/slots", r#"{"date":"2027-12-01","start":"18:00","end":"20:00","capacity":20}"#),
    ("/v1/shops", r#"{"id":"bakery","name":"Bakery","timezone":"Asia/Taipei","currency":"TWD"}"#),
    ("/v1/shops/bakery/boxes", r#"{"id":"evening","name":"Evening box","quantity":1000,"price":500}"#),
];

/// Holds that the examples of the document act on: one for each action, because a cancelled booking cannot be confirmed.
const BOOKINGS: [&str; 6] = [
    "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b51",
    "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b52",
    "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b53",
    "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b54",
    "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b55",
    "019ada5e-0b5c-7c3a-9a42-6f1e2d3c4b5a",
];

/// Builds the server, starts it on an empty store, and lets schemathesis loose on it.
pub(crate) fn run() -> Result<()> {
    let root = sources::root()?;
    let program = provide(&target(&root))?;
    let server = debug_server(&root)?;
    let seed = seed()?;
    println!("seed {seed}; BOXOFFICE_SEED={seed} makes the same requests again");
    let place = Directory::new("schemathesis")?;
    let mut server = OwnServer::start(&server, place.path())?;
    // Schemathesis makes more of them.
    let key = make_key(server.address, "schemathesis")?;
    for (path, body) in STOCK {
        post(server.address, &key, path, body)?;
    }
    for id in BOOKINGS {
        let body = format!(
            r#"{{"id":"{id}","customer":"user-42","event":"gala","best_available":{{"quantity":2}},"hold_ttl_seconds":900}}"#
        );
        post(server.address, &key, "/v1/bookings", &body)?;
    }
    let settings = place.path().join("schemathesis.toml");
    std::fs::write(&settings, SETTINGS)
        .map_err(|error| Error::new(format!("{}: {error}", settings.display())))?;
    let document = format!("http://{}/openapi.json", server.address);
    let tried = Command::new(program)
        .arg("--config-file")
        .arg(&settings)
        .args(["run", &document, "--checks", "all", "--exclude-checks", NOT_CHECKED])
        .args(["--exclude-path-regex", NOT_TRIED, "--max-examples", EXAMPLES, "--seed", &seed.to_string()])
        .args(OPERATIONS_NOT_TRIED.iter().flat_map(|id| ["--exclude-operation-id", id]))
        .args(["--header", &format!("Authorization: Bearer {key}")])
        .args(["--request-timeout", "10", "--continue-on-failure", "--no-color"])
        // It keeps notes where it runs.
        .current_dir(place.path())
        .status()
        .map_err(|error| Error::new(format!("cannot start schemathesis: {error}")))?;
    server.stop()?;
    if tried.success() { Ok(()) } else { Err(Error::new(format!("schemathesis found something ({tried})"))) }
}

fn seed() -> Result<u64> {
    match std::env::var("BOXOFFICE_SEED") {
        Ok(seed) => seed.parse().map_err(|_| Error::new(format!("BOXOFFICE_SEED={seed} is not a number"))),
        Err(_) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            Ok(now.map_or(0, |now| u64::from(now.subsec_nanos())))
        }
    }
}

/// Installs schemathesis below the target directory, once for each list of versions, and says where it is.
fn provide(target: &Path) -> Result<PathBuf> {
    let home = target.join("schemathesis");
    let program = home.join("bin/schemathesis");
    let installed = home.join("installed.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|list| list == REQUIREMENTS) {
        return Ok(program);
    }
    println!("installing schemathesis into {}", home.display());
    let failed = |error: std::io::Error| Error::new(format!("{}: {error}", home.display()));
    std::fs::create_dir_all(&home).map_err(failed)?;
    let wanted = home.join("wanted.txt");
    std::fs::write(&wanted, REQUIREMENTS).map_err(failed)?;
    output_of(Command::new("python3").args(["-m", "venv"]).arg(&home)).map_err(|error| {
        Error::new(format!("Python cannot make an environment for schemathesis: {error}"))
    })?;
    output_of(
        Command::new(home.join("bin/pip"))
            .args(["install", "--quiet", "--disable-pip-version-check", "--requirement"])
            .arg(&wanted),
    )
    .map_err(|error| Error::new(format!("pip cannot install schemathesis; is there a network? {error}")))?;
    std::fs::rename(&wanted, &installed).map_err(failed)?;
    Ok(program)
}
