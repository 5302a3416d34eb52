//! A client of a running server, for the commands that can do without its data.

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response, Uri, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::console::Failure;

/// A server that does not answer a connection for so long is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A running server, and how to be let in.
pub(super) struct Server {
    authority: String,
    address: (String, u16),
    key: Option<String>,
}

impl Server {
    /// The server at an address such as `http://127.0.0.1:8080`.
    pub(super) fn new(url: &str, key: Option<String>) -> Result<Server, Failure> {
        let wrong = |why: &str| Failure::nonsense(format!("{url} is not the address of a server: {why}"));
        let uri: Uri = url.parse().map_err(|_| wrong("it must look like http://127.0.0.1:8080"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(wrong("ask it by http, on the machine or network where TLS ends")),
            Some(_) | None => return Err(wrong("it must begin with http://")),
        }
        let authority = uri.authority().ok_or_else(|| wrong("it names no host"))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let address = (host, authority.port_u16().unwrap_or(80));
        Ok(Server { authority: authority.to_string(), address, key })
    }

    /// Where it can be reached.
    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, Failure> {
        let (host, port) = &self.address;
        let found = (host.as_str(), *port).to_socket_addrs();
        Ok(found.map_err(|error| self.unreachable(&error))?.collect())
    }

    /// The lines of a request's head that say to whom and from whom.
    pub(super) fn head_lines(&self) -> String {
        let key = self.key.as_ref().map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        format!("host: {}\r\n{key}", self.authority)
    }

    /// The body of what is at a path.
    pub(super) fn fetch(&self, path: &str) -> Result<Bytes, Failure> {
        run(async { Ok(self.send(Method::GET, path, None).await?.into_body().collect().await?.to_bytes()) })
    }

    /// Asks for something and reads the JSON of the answer; `Null` if it has none.
    pub(super) fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        run(async {
            let response = self.send(method, path, body).await?;
            let bytes = response.into_body().collect().await?.to_bytes();
            if bytes.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_slice(&bytes)?) }
        })
    }

    /// Writes the body of an answer to `out` as it comes; `progress` is told how many bytes there were.
    pub(super) fn download(
        &self,
        path: &str,
        out: &mut dyn Write,
        mut progress: impl FnMut(u64),
    ) -> Result<(), Failure> {
        run(async {
            let mut body = self.send(Method::GET, path, None).await?.into_body();
            let mut received = 0;
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| Failure::new(format!("the server broke off: {error}")))?;
                if let Ok(bytes) = frame.into_data() {
                    out.write_all(&bytes)?;
                    received += bytes.len() as u64;
                    progress(received);
                }
            }
            Ok(())
        })
    }

    /// The answer, if it is a success.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, Failure> {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, &self.authority);
        if let Some(key) = &self.key {
            request = request.header(header::AUTHORIZATION, format!("Bearer {key}"));
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let (host, port) = &self.address;
        let connecting =
            tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect((host.as_str(), *port))).await;
        let stream = connecting
            .map_err(|error| self.unreachable(&error))?
            .map_err(|error| self.unreachable(&error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        // Its end is seen as the end of the body.
        tokio::spawn(connection);
        let response = sender.send_request(request.body(body)?).await?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let bytes = response.into_body().collect().await?.to_bytes();
        let problem: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let detail = problem["detail"].as_str().unwrap_or("it did not say why");
        let code = problem["code"].as_str().unwrap_or_default();
        Err(Failure::new(format!("{} answered {} {code}: {detail}", self.authority, status.as_u16())))
    }

    fn unreachable(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::new(format!("{} cannot be reached: {why}", self.authority))
    }
}

fn run<R>(work: impl Future<Output = Result<R, Failure>>) -> Result<R, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}
