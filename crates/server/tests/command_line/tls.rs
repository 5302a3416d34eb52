//! `serve --tls-cert --tls-key`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto};

use crate::process::{Server, boxoffice, path, run, within_deadline};

/// A directory with a store, a log, and a certificate for `localhost` with its key.
struct Home {
    directory: TempDir,
}

impl Home {
    fn new() -> Home {
        let home = Home { directory: tempfile::tempdir().unwrap() };
        home.write_certificate();
        home
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes a new pair; the certificate.
    fn write_certificate(&self) -> CertificateDer<'static> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        write_key(&self.file("key.pem"), &made.signing_key.serialize_pem());
        std::fs::write(self.file("cert.pem"), made.cert.pem()).unwrap();
        made.cert.der().clone()
    }

    /// The arguments of its server.
    fn serve(&self) -> Vec<String> {
        let file = |name| path(&self.file(name)).to_owned();
        let options =
            [("--data", file("data")), ("--tls-cert", file("cert.pem")), ("--tls-key", file("key.pem"))];
        let options = options.into_iter().flat_map(|(option, file)| [option.to_owned(), file]);
        ["serve", "--listen", "127.0.0.1:0"].map(str::to_owned).into_iter().chain(options).collect()
    }

    fn start(&self) -> Server {
        self.start_with(&[])
    }

    fn start_with(&self, more: &[&str]) -> Server {
        let arguments = self.serve();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        Server::spawn_logging(&mut boxoffice(&arguments), std::fs::File::create(self.file("log")).unwrap())
    }

    #[track_caller]
    fn refuses_to_start(&self, words: &[&str]) {
        let arguments = self.serve();
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).badly(2, words);
    }
}

fn write_key(file: &Path, pem: &str) {
    std::fs::write(file, pem).unwrap();
    std::fs::set_permissions(file, PermissionsExt::from_mode(0o600)).unwrap();
}

/// A connection on which only this certificate is trusted.
fn connect(server: &Server, trusted: &CertificateDer<'static>) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), server.connect())
}

/// The status of an answer, or the error of the connection.
fn ask(
    server: &Server,
    trusted: &CertificateDer<'static>,
    method: &str,
    target: &str,
    body: &Value,
) -> Result<u16, String> {
    let mut stream = connect(server, trusted);
    let body = (!body.is_null()).then_some(body);
    stream.write_all(server.request(method, target, body).as_bytes()).map_err(|error| error.to_string())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(|error| error.to_string())?;
    Ok(answer.split(' ').nth(1).unwrap().parse().unwrap())
}

#[test]
fn bookings_are_made_over_tls_and_plain_connections_get_nothing() {
    let home = Home::new();
    let trusted = home.write_certificate();
    let server = home.start();
    let mut silent = server.connect();
    let hall = json!({ "id": "hall", "name": "Hall", "currency": "TWD",
        "sections": [{ "name": "A", "price": 100, "subsections": [{ "number": 1, "rows": 1, "cols": 9 }] }] });
    assert_eq!(ask(&server, &trusted, "POST", "/v1/events", &hall), Ok(201));
    let booking = json!({ "customer": "ann", "event": "hall", "best_available": { "quantity": 2 } });
    assert_eq!(ask(&server, &trusted, "POST", "/v1/bookings", &booking), Ok(201));
    assert_eq!(ask(&server, &trusted, "GET", "/v1/events/hall", &Value::Null), Ok(200));
    let mut plain = server.connect();
    plain.write_all(server.request("GET", "/healthz", None).as_bytes()).unwrap();
    let mut answer = Vec::new();
    // Closed with an alert, or reset because the rest of the request was not read.
    drop(plain.read_to_end(&mut answer));
    assert!(!answer.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&answer));
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    assert!(ask(&server, other.cert.der(), "GET", "/healthz", &Value::Null).is_err());
    // A handshake that does not begin is given up.
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    server.stop();
}

#[test]
fn silent_connections_of_one_address_end_before_the_handshake_is_given_up() {
    let home = Home::new();
    let server = home.start_with(&["--connections-per-address", "4"]);
    let began = std::time::Instant::now();
    let silent: Vec<TcpStream> = (0..50).map(|_| server.connect()).collect();
    for mut evicted in silent.iter().take(46) {
        assert_eq!(evicted.read(&mut [0]).unwrap(), 0);
    }
    assert!(began.elapsed().as_secs() < 8, "the handshakes were given up after 10 s");
    server.stop();
}

#[test]
fn a_hangup_reads_the_certificate_again_and_keeps_it_if_the_new_one_is_bad() {
    let home = Home::new();
    let first = home.write_certificate();
    let server = home.start();
    let healthy =
        |trusted: &CertificateDer<'static>| ask(&server, trusted, "GET", "/healthz", &Value::Null) == Ok(200);
    assert!(healthy(&first));
    let mut open = connect(&server, &first);
    let second = home.write_certificate();
    assert!(healthy(&first) && !healthy(&second), "nothing happens before the signal");
    // The handshake is over before the certificate changes.
    open.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    open.read_exact(&mut [0; 12]).unwrap();
    server.signal("-HUP");
    within_deadline(|| healthy(&second).then_some(()));
    assert!(!healthy(&first));
    open.write_all(server.request("GET", "/healthz", None).as_bytes()).unwrap();
    let mut rest = String::new();
    open.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("HTTP/1.1 200 OK"), "open connections go on: {rest}");
    std::fs::write(home.file("cert.pem"), "nonsense").unwrap();
    server.signal("-HUP");
    let log = || std::fs::read_to_string(home.file("log")).unwrap();
    within_deadline(|| log().contains("the new TLS certificate cannot be used").then_some(()));
    assert!(healthy(&second), "{}", log());
    server.stop();
}

#[test]
fn files_that_cannot_be_used_are_named_at_start() {
    let home = Home::new();
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| home.file(name));
    let good = std::fs::read_to_string(&key).unwrap();
    let other = rcgen::KeyPair::generate().unwrap().serialize_pem();
    write_key(&key, &other);
    home.refuses_to_start(&[path(&certificate), path(&key), "does not belong"]);
    write_key(&key, "nonsense");
    home.refuses_to_start(&[path(&key), "no private key"]);
    std::fs::remove_file(&key).unwrap();
    home.refuses_to_start(&[path(&key), "cannot be read"]);
    write_key(&key, &good);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    home.refuses_to_start(&["644", &format!("chmod 600 {}", path(&key))]);
    write_key(&key, &good);
    std::fs::write(&certificate, &good).unwrap();
    home.refuses_to_start(&[path(&certificate), "no certificate"]);
    run(&["serve", "--tls-key", path(&key)]).badly(2, &["--tls-cert"]);
}
