//! `GET /v1/backup`: the whole store as one file, while sales go on.

use std::io::{self, Write};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;
use tokio::sync::mpsc;

use crate::app::App;
use crate::caller::Admin;
use crate::problem::Problem;

/// Pieces that wait to be sent: reading the store does not run ahead of a slow client.
const WAITING_PIECES_MAX: usize = 8;
/// Bytes of a piece.
const PIECE_BYTES: usize = 256 * 1024;

/// Sends the whole store as one file, while sales go on.
///
/// For `admin` of the tenant `default`.
#[utoipa::path(
    get,
    path = "/v1/backup",
    tag = "operations",
    operation_id = "backup",
    responses(
        (status = 200, description = "A file for `boxoffice restore`.", body = Vec<u8>, content_type = "application/octet-stream"),
    ),
)]
pub(crate) async fn backup(State(app): State<Arc<App>>, Admin(caller): Admin) -> Result<Response, Problem> {
    caller.must_be_of_the_house(&app)?;
    let (sender, receiver) = mpsc::channel(WAITING_PIECES_MAX);
    tokio::task::spawn_blocking(move || write(&app, &sender));
    let pieces = stream::unfold(receiver, |mut receiver| async {
        let piece = receiver.recv().await?;
        Some((piece, receiver))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    Ok(response)
}

fn write(app: &App, sender: &mpsc::Sender<io::Result<Bytes>>) {
    let mut out = io::BufWriter::with_capacity(PIECE_BYTES, Pieces(sender.clone()));
    if let Err(error) = app.engine.back_up(&mut out) {
        tracing::warn!(%error, "a backup was not finished");
        // The buffer must not be written after it. The client may be gone.
        drop(out.into_parts());
        drop(sender.blocking_send(Err(io::Error::other(error.to_string()))));
    }
}

/// Hands over bytes in pieces, and waits when the client is slow.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(piece)));
        sent.map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone"))?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
