//! The body of a request, as far as the handler reads it.
//!
//! The next request of a connection begins where the body ends, so a connection can only be kept if the body was read to its end. A handler
//! that answers early (401, 404, 413) leaves some of it: a little is read and discarded; otherwise the response announces the close.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};
use parking_lot::Mutex;

use crate::limits::{DRAIN_BODY_TIMEOUT, DRAINED_BODY_BYTES_MAX};

/// The handler and the connection share it.
#[derive(Clone)]
pub(crate) struct RequestBody(Arc<Mutex<Reading>>);

struct Reading {
    incoming: Incoming,
    /// Whether the client sends the body only when it is asked to, and was not asked yet.
    awaits_continue: bool,
    failed: bool,
}

impl RequestBody {
    /// The body for the handler, and what drains the rest of it; `None` if there is no body.
    pub(crate) fn share(headers: &HeaderMap, incoming: Incoming) -> (Body, Option<RequestBody>) {
        use hyper::body::Body as _;
        if incoming.is_end_stream() {
            return (Body::empty(), None);
        }
        let awaits_continue = headers.contains_key(header::EXPECT);
        let reading = Reading { incoming, awaits_continue, failed: false };
        let shared = RequestBody(Arc::new(Mutex::new(reading)));
        (Body::new(shared.clone()), Some(shared))
    }

    /// Reads and discards what the handler left, if that is little and comes soon. Returns whether the next request can follow.
    pub(crate) async fn drain(mut self) -> bool {
        {
            use hyper::body::Body as _;
            let reading = self.0.lock();
            if reading.failed {
                return false;
            }
            if reading.incoming.is_end_stream() {
                return true;
            }
            // To read would ask the client for a body that the handler left.
            if reading.awaits_continue || reading.incoming.size_hint().lower() > DRAINED_BODY_BYTES_MAX {
                return false;
            }
        }
        let mut bytes_left = DRAINED_BODY_BYTES_MAX;
        let drained = async {
            while let Some(frame) = self.frame().await {
                let Ok(frame) = frame else { return false };
                let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                if bytes > bytes_left {
                    return false;
                }
                bytes_left -= bytes;
            }
            true
        };
        tokio::time::timeout(DRAIN_BODY_TIMEOUT, drained).await.unwrap_or(false)
    }
}

impl hyper::body::Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut reading = self.0.lock();
        reading.awaits_continue = false;
        let polled = Pin::new(&mut reading.incoming).poll_frame(context);
        reading.failed |= matches!(polled, Poll::Ready(Some(Err(_))));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().incoming.size_hint()
    }
}
