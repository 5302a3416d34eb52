//! Requests that nobody thought of, made by schemathesis from the API's own document, against a server of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
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
const START_TIMEOUT: Duration = Duration::from_secs(30);

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
    let place = Directory::new()?;
    let mut server = Server::start(&server, &place.0)?;
    // The first key ends the time in which everybody is let in; schemathesis makes some too.
    let made = post(server.address, "", "/v1/keys", r#"{"role":"admin","name":"schemathesis"}"#)?;
    let key = made.split("\"key\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let key = key.ok_or_else(|| Error::new(format!("there is no key in {made}")))?;
    for (path, body) in STOCK {
        post(server.address, key, path, body)?;
    }
    for id in BOOKINGS {
        let body = format!(
            r#"{{"id":"{id}","customer":"user-42","event":"gala","best_available":{{"quantity":2}},"hold_ttl_seconds":900}}"#
        );
        post(server.address, key, "/v1/bookings", &body)?;
    }
    let settings = place.0.join("schemathesis.toml");
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
        .current_dir(&place.0)
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

/// A directory that goes when it is no longer needed.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Result<Directory> {
        let path = std::env::temp_dir().join(format!("boxoffice-schemathesis-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
        Ok(Directory(path))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A server that is stopped whatever happens.
struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(program: &Path, place: &Path) -> Result<Server> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|error| Error::new(format!("no port is free: {error}")))?;
        let process = Command::new(program)
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(place.join("data"))
            .env("BOXOFFICE_LOG", "warn")
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| Error::new(format!("cannot start {}: {error}", program.display())))?;
        let mut server = Server { process, address };
        let started = Instant::now();
        while TcpStream::connect(address).is_err() {
            let ended = server.process.try_wait().ok().flatten();
            if let Some(status) = ended {
                return Err(Error::new(format!("the server ended at once ({status})")));
            }
            if started.elapsed() > START_TIMEOUT {
                return Err(Error::new(format!("no answer after {} s", START_TIMEOUT.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Asks it to stop. An error unless it is still there and stops as it should.
    fn stop(&mut self) -> Result<()> {
        if let Ok(Some(status)) = self.process.try_wait() {
            return Err(Error::new(format!("the server ended under the requests ({status})")));
        }
        output_of(Command::new("kill").args(["-TERM", &self.process.id().to_string()]))?;
        match self.process.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::new(format!("the server did not stop well ({status})"))),
            Err(error) => Err(Error::new(format!("the server cannot be waited for: {error}"))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Makes something, and returns the answer.
fn post(address: SocketAddr, key: &str, path: &str, body: &str) -> Result<String> {
    let authorization =
        if key.is_empty() { String::new() } else { format!("authorization: Bearer {key}\r\n") };
    let answer = TcpStream::connect(address).and_then(|mut stream| {
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: {address}\r\n{authorization}content-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    });
    let answer = answer.map_err(|error| Error::new(format!("POST {path}: {error}")))?;
    if answer.starts_with("HTTP/1.1 201") {
        return Ok(answer);
    }
    Err(Error::new(format!("POST {path} was answered with {answer}")))
}
