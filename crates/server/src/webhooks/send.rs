//! One attempt: look up, connect to an address that was checked, ask, and look at the status. Redirects are not followed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, header};

use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::address::Target;

/// All of an attempt, from the name to the status.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(15);
const USER_AGENT: &str = concat!("boxoffice/", env!("CARGO_PKG_VERSION"));

/// Sends messages.
pub(super) struct Sender {
    tls: TlsConnector,
    insecure: bool,
}

/// A signed message on its way.
pub(super) struct Message {
    pub(super) url: String,
    pub(super) id: String,
    /// Since 1970.
    pub(super) seconds: i64,
    pub(super) signature: String,
    pub(super) body: String,
}

impl Sender {
    pub(super) fn new(insecure: bool) -> Sender {
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has the usual versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Sender { tls: TlsConnector::from(Arc::new(config)), insecure }
    }

    /// The status that the receiver answered with, or why there is none.
    pub(super) async fn send(&self, message: &Message) -> Result<u16, String> {
        match tokio::time::timeout(ATTEMPT_TIMEOUT, self.attempt(message)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {} s", ATTEMPT_TIMEOUT.as_secs())),
        }
    }

    async fn attempt(&self, message: &Message) -> Result<u16, String> {
        let target = Target::parse(&message.url, self.insecure)?;
        let request = request(&target, message)?;
        let stream = connect(&target.addresses(self.insecure).await?).await?;
        if !target.https {
            return exchange(stream, request).await;
        }
        let name = ServerName::try_from(target.host.clone()).map_err(|error| error.to_string())?;
        let stream = self.tls.connect(name, stream).await.map_err(|error| error.to_string())?;
        exchange(stream, request).await
    }
}

fn request(target: &Target, message: &Message) -> Result<Request<Full<Bytes>>, String> {
    Request::post(&target.path)
        .header(header::HOST, &target.authority)
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::CONNECTION, "close")
        .header("webhook-id", &message.id)
        .header("webhook-timestamp", message.seconds)
        .header("webhook-signature", &message.signature)
        .body(Full::new(Bytes::from(message.body.clone())))
        .map_err(|error| error.to_string())
}

async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, String> {
    let mut failure = String::new();
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = format!("no connection: {error}"),
        }
    }
    Err(failure)
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: Request<Full<Bytes>>,
) -> Result<u16, String> {
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    let response = sender.send_request(request);
    tokio::pin!(response, connection);
    let response = tokio::select! {
        response = &mut response => response,
        // The receiver closed it; it may have answered before.
        _ = &mut connection => response.await,
    };
    // What the receiver says besides is of no interest, and might be anything.
    response.map(|response| response.status().as_u16()).map_err(|error| error.to_string())
}
