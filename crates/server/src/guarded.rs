//! A connection that does not wait for ever: for the rest of a request's head, or for a reader that does not read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::limits::{HEAD_READ_TIMEOUT, WRITE_STALL_TIMEOUT};
use crate::outer::{REQUEST_ID, RequestId};
use crate::problem::Problem;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Waiting for a request.
    Idle,
    /// A request has begun, and its head is not complete.
    Head,
    /// A request is being answered; its body may still be read.
    Answering,
}

/// Shared by the connection, which sees bytes, and the service, which sees requests.
#[derive(Debug, Default)]
pub(crate) struct Progress(AtomicU8);

impl Progress {
    pub(crate) fn set(&self, phase: Phase) {
        self.0.store(phase as u8, Ordering::Relaxed);
    }

    fn is(&self, phase: Phase) -> bool {
        self.0.load(Ordering::Relaxed) == phase as u8
    }
}

/// A stream with these two deadlines.
#[derive(Debug)]
pub(crate) struct Guarded<S> {
    stream: S,
    /// Was read before, and comes first.
    ahead: Vec<u8>,
    progress: Arc<Progress>,
    head: Deadline,
    write: Deadline,
    /// What is left to be written of the answer to a head that was refused.
    refusal: Vec<u8>,
}

/// A time that runs while something is waited for. It is made when it is first needed: most connections never wait.
#[derive(Debug)]
struct Deadline {
    after: Duration,
    running: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    fn new(after: Duration) -> Deadline {
        Deadline { after, running: None }
    }

    fn stop(&mut self) {
        self.running = None;
    }

    /// Begins to run if it does not; an error once the time is up.
    fn check(&mut self, context: &mut Context<'_>, what: &'static str) -> io::Result<()> {
        let after = self.after;
        let running = self.running.get_or_insert_with(|| Box::pin(tokio::time::sleep(after)));
        match running.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::Error::new(io::ErrorKind::TimedOut, what)),
            Poll::Pending => Ok(()),
        }
    }
}

impl<S> Guarded<S> {
    pub(crate) fn new(stream: S, ahead: Vec<u8>, progress: Arc<Progress>) -> Guarded<S> {
        Guarded {
            stream,
            ahead,
            progress,
            head: Deadline::new(HEAD_READ_TIMEOUT),
            write: Deadline::new(WRITE_STALL_TIMEOUT),
            refusal: Vec::new(),
        }
    }

    /// What hyper says by itself to a head that it cannot read has no body. Every answer of ours has the id of its request, so that
    /// one without is hyper's: another is put in its place, to be written when it is flushed. hyper closes the connection then.
    fn is_refusal(&mut self, bytes: &[u8]) -> bool {
        // The head of a request that came behind another one was read with that one, so the phase may be `Idle`.
        let is_head = bytes.starts_with(b"HTTP/1.1 4") && bytes.ends_with(b"\r\n\r\n");
        if self.progress.is(Phase::Answering) || !is_head || has_request_id(bytes) {
            return false;
        }
        let status = std::str::from_utf8(&bytes[9..12]).ok().and_then(|status| status.parse().ok());
        self.refusal = refusal(status.unwrap_or(StatusCode::BAD_REQUEST));
        true
    }

    fn written<T>(&mut self, context: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match poll {
            Poll::Ready(result) => {
                self.write.stop();
                Poll::Ready(result)
            }
            Poll::Pending => match self.write.check(context, "the client does not read") {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
        }
    }
}

impl<S: AsyncWrite + Unpin> Guarded<S> {
    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let poll = Pin::new(&mut self.stream).poll_write(context, &self.refusal);
            let written = ready!(self.written(context, poll))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.refusal.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

fn has_request_id(bytes: &[u8]) -> bool {
    let name = REQUEST_ID;
    bytes.windows(name.as_str().len()).any(|window| window.eq_ignore_ascii_case(name.as_str().as_bytes()))
}

/// The whole answer to a head that is none, or is too large.
fn refusal(status: StatusCode) -> Vec<u8> {
    let id = RequestId::of(None).0;
    let problem = Problem::new(
        status,
        "REQUEST_REFUSED",
        "The head of the request cannot be understood, or is too large.",
    );
    let body = serde_json::to_string(&problem.body(&id)).expect("a problem is plain data");
    crate::measure::count_code(problem.code);
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\nx-request-id: {id}\r\n\
         x-content-type-options: nosniff\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let read = if this.ahead.is_empty() {
            Pin::new(&mut this.stream).poll_read(context, buffer)
        } else {
            let taken = this.ahead.len().min(buffer.remaining());
            buffer.put_slice(&this.ahead[..taken]);
            this.ahead.drain(..taken);
            if this.ahead.is_empty() {
                this.ahead = Vec::new();
            }
            Poll::Ready(Ok(()))
        };
        if read.is_ready() && buffer.filled().len() > before && this.progress.is(Phase::Idle) {
            this.progress.set(Phase::Head);
        }
        if !this.progress.is(Phase::Head) {
            this.head.stop();
            return read;
        }
        // Bytes that trickle in do not stop the clock: the whole head has to be here in time.
        this.head.check(context, "the head of the request took too long")?;
        ready!(read)?;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_refusal(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let poll = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if pieces.first().is_some_and(|head| self.is_refusal(head)) {
            return Poll::Ready(Ok(pieces.iter().map(|piece| piece.len()).sum()));
        }
        let poll = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.written(context, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn pair() -> (Guarded<tokio::io::DuplexStream>, Arc<Progress>, tokio::io::DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(64);
        let progress = Arc::new(Progress::default());
        (Guarded::new(ours, Vec::new(), Arc::clone(&progress)), progress, theirs)
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_in_is_cut_and_a_quiet_connection_is_not() {
        let (mut guarded, _, mut client) = pair();
        let mut buffer = [0; 8];
        let quiet = tokio::time::timeout(HEAD_READ_TIMEOUT * 3, guarded.read(&mut buffer)).await;
        assert!(quiet.is_err(), "it waits for a request");
        tokio::spawn(async move {
            loop {
                client.write_all(b"G").await.unwrap();
                tokio::time::sleep(HEAD_READ_TIMEOUT / 4).await;
            }
        });
        let began = tokio::time::Instant::now();
        let cut = loop {
            if let Err(error) = guarded.read(&mut buffer).await {
                break error;
            }
        };
        assert_eq!(cut.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() <= HEAD_READ_TIMEOUT + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_take_its_time() {
        let (mut guarded, progress, mut client) = pair();
        let mut buffer = [0; 8];
        client.write_all(b"head").await.unwrap();
        guarded.read_exact(&mut buffer[..4]).await.unwrap();
        progress.set(Phase::Answering);
        let body = tokio::time::timeout(HEAD_READ_TIMEOUT * 3, guarded.read(&mut buffer)).await;
        assert!(body.is_err(), "the body has a deadline of its own");
    }

    #[tokio::test]
    async fn what_hyper_refuses_by_itself_gets_a_body_and_what_we_answer_stays() {
        let told = async |phase: Phase, answer: &str| {
            let (mut guarded, progress, mut client) = pair();
            progress.set(phase);
            let write = async move {
                guarded.write_all(answer.as_bytes()).await.unwrap();
                guarded.shutdown().await.unwrap();
            };
            let mut told = String::new();
            let (_, read) = tokio::join!(write, client.read_to_string(&mut told));
            read.unwrap();
            told
        };
        let ours = "HTTP/1.1 409 Conflict\r\nX-Request-Id: 7\r\n\r\n";
        assert_eq!(told(Phase::Head, ours).await, ours);
        let hypers = "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(told(Phase::Answering, hypers).await, hypers, "a part of an answer of ours that looks so");
        let pieces_of_ours = "HTTP/1.1 4 is what a customer called it\n";
        assert_eq!(told(Phase::Idle, pieces_of_ours).await, pieces_of_ours);
        assert!(told(Phase::Idle, hypers).await.contains("REQUEST_REFUSED"), "behind another request");
        let instead = told(Phase::Head, hypers).await;
        assert!(instead.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{instead}");
        let (_, body) = instead.split_once("\r\n\r\n").unwrap();
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&problem["code"], &problem["status"]), (&"REQUEST_REFUSED".into(), &431.into()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_cut() {
        let (mut guarded, _, _client) = pair();
        let stalled = guarded.write_all(&[0; 65]).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);
    }
}
