//! A connection that does not wait for ever: for the rest of a request's head, for a reader that does not read, or for a client that
//! does not stop sending when the server closes.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep};

use crate::framing::{Framing, Violation};
use crate::limits::{
    HEAD_READ_TIMEOUT, LINGER_BYTES_MAX, LINGER_TIMEOUT, STALL_TIMEOUT, WRITE_STALL_TIMEOUT,
};
use crate::outer::{REQUEST_ID, RequestId};
use crate::problem::Problem;

/// Shared by the stream, which sees bytes, the service, which sees requests, and the task that ends the connection if neither gets on.
#[derive(Debug)]
pub(crate) struct Progress {
    began: Instant,
    /// Since it began, in milliseconds.
    last_moved_ms: AtomicU64,
    is_in_head: AtomicBool,
    is_answering: AtomicBool,
    is_streaming: AtomicBool,
    is_writing: AtomicBool,
    eviction: Notify,
}

/// Lives until hyper has all of a response's body.
pub(crate) struct StreamGuard(Arc<Progress>);

impl StreamGuard {
    pub(crate) fn begin(progress: &Arc<Progress>) -> StreamGuard {
        progress.is_streaming.store(true, Ordering::Relaxed);
        StreamGuard(Arc::clone(progress))
    }
}

impl Drop for StreamGuard {
    fn drop(&mut self) {
        // What hyper has is not written yet.
        self.0.is_writing.store(true, Ordering::Relaxed);
        self.0.is_streaming.store(false, Ordering::Relaxed);
        self.0.moved();
    }
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress {
            began: Instant::now(),
            last_moved_ms: AtomicU64::new(0),
            is_in_head: AtomicBool::new(false),
            is_answering: AtomicBool::new(false),
            is_streaming: AtomicBool::new(false),
            is_writing: AtomicBool::new(false),
            eviction: Notify::new(),
        }
    }

    /// Since when the connection has waited for its client; `None` while a request is answered, up to the last byte of the response.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let is_streaming = self.is_streaming.load(Ordering::Relaxed);
        let is_busy = self.is_answering() || is_streaming || self.is_writing.load(Ordering::Relaxed);
        (!is_busy).then(|| self.last_moved())
    }

    /// Asks the connection to make room for another one.
    pub(crate) fn evict(&self) {
        self.eviction.notify_one();
    }

    /// Resolves when it is asked to, once.
    pub(crate) async fn evicted(&self) {
        self.eviction.notified().await;
    }

    /// A handler has a request, and its response is not known yet.
    pub(crate) fn set_answering(&self, is_answering: bool) {
        self.is_answering.store(is_answering, Ordering::Relaxed);
        self.moved();
    }

    /// Whether a request has begun whose head is not complete.
    pub(crate) fn is_in_head(&self) -> bool {
        self.is_in_head.load(Ordering::Relaxed)
    }

    /// Resolves when nothing has moved for [`STALL_TIMEOUT`], whatever hyper waits for. The clock does not run while a handler is at work,
    /// which has deadlines of its own.
    pub(crate) async fn stalled(&self) {
        let mut next = Instant::now() + STALL_TIMEOUT;
        loop {
            // Moved only when it rings: most connections are busy until they are closed.
            tokio::time::sleep_until(next).await;
            let now = Instant::now();
            next = if self.is_answering() { now } else { self.last_moved() } + STALL_TIMEOUT;
            if next <= now {
                return;
            }
        }
    }

    fn last_moved(&self) -> Instant {
        self.began + Duration::from_millis(self.last_moved_ms.load(Ordering::Relaxed))
    }

    fn is_answering(&self) -> bool {
        self.is_answering.load(Ordering::Relaxed)
    }

    fn set_in_head(&self, is_in_head: bool) {
        self.is_in_head.store(is_in_head, Ordering::Relaxed);
    }

    /// Bytes were read or written.
    pub(crate) fn moved(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_moved_ms.store(ms, Ordering::Relaxed);
    }
}

/// Nothing that hyper takes for a request.
const NO_REQUEST: &[u8] = b"\0\r\n\r\n";

/// A stream with these deadlines, from which hyper reads requests that are framed as they should be.
#[derive(Debug)]
pub(crate) struct Guarded<S> {
    stream: S,
    /// What was read and not passed on.
    ahead: Vec<u8>,
    /// How much of it can be passed on.
    approved_bytes: usize,
    framing: Framing,
    progress: Arc<Progress>,
    head: Deadline,
    write: Deadline,
    /// What is left to be written of the answer to a head that was refused.
    refusal: Vec<u8>,
    linger: LingeringClose,
}

/// The end of a connection. A socket that is closed with unread bytes in it sends a reset, and the client may lose a response that it has not
/// read yet. So the server ends its own side, and reads and discards until the client ends the other one.
#[derive(Debug)]
struct LingeringClose {
    has_begun: bool,
    discarded_bytes: usize,
    deadline: Deadline,
}

/// Closes a connection so that the client receives what was written.
pub(crate) async fn close<S: AsyncRead + AsyncWrite + Unpin>(stream: S) {
    let mut guarded = Guarded::new(stream, Vec::new(), Arc::new(Progress::new()));
    // The client may have closed first.
    drop(guarded.shutdown().await);
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
        let mut framing = Framing::new();
        let approved_bytes = framing.approve(&ahead);
        let mut guarded = Guarded {
            stream,
            ahead,
            approved_bytes,
            framing,
            progress,
            head: Deadline::new(HEAD_READ_TIMEOUT),
            write: Deadline::new(WRITE_STALL_TIMEOUT),
            refusal: Vec::new(),
            linger: LingeringClose {
                has_begun: false,
                discarded_bytes: 0,
                deadline: Deadline::new(LINGER_TIMEOUT),
            },
        };
        guarded.end_at_violation();
        guarded
    }

    /// Lets hyper refuse a request that is not approved, when it has answered those before it. Nothing is passed on after that.
    fn end_at_violation(&mut self) {
        if self.framing.violation().is_some() {
            self.ahead.truncate(self.approved_bytes);
            self.ahead.extend_from_slice(NO_REQUEST);
            self.approved_bytes = self.ahead.len();
        }
    }

    /// Takes what was read into the buffer after `before`, and leaves in it what can be passed on.
    fn approve(&mut self, buffer: &mut ReadBuf<'_>, before: usize) {
        let read = &buffer.filled()[before..];
        let mut passed_on = 0;
        if self.ahead.is_empty() {
            // Usually all of it.
            passed_on = self.framing.approve(read);
            self.ahead.extend_from_slice(&read[passed_on..]);
        } else {
            self.ahead.extend_from_slice(read);
            self.approved_bytes = self.framing.approve(&self.ahead);
        }
        buffer.set_filled(before + passed_on);
        self.end_at_violation();
    }

    fn pass_on(&mut self, buffer: &mut ReadBuf<'_>) {
        self.progress.set_in_head(false);
        let taken = self.approved_bytes.min(buffer.remaining());
        buffer.put_slice(&self.ahead[..taken]);
        self.ahead.drain(..taken);
        self.approved_bytes -= taken;
        if self.ahead.is_empty() {
            self.ahead = Vec::new();
        }
    }

    /// What hyper says by itself to a head that it cannot read has no body. Every answer of ours has the id of its request, so that
    /// one without is hyper's: another is put in its place, to be written when it is flushed. hyper closes the connection then.
    fn is_refusal(&mut self, bytes: &[u8]) -> bool {
        let is_head = bytes.starts_with(b"HTTP/1.1 4") && bytes.ends_with(b"\r\n\r\n");
        if self.progress.is_answering() || !is_head || has_request_id(bytes) {
            return false;
        }
        let status = std::str::from_utf8(&bytes[9..12]).ok().and_then(|status| status.parse().ok());
        let violation = self.framing.violation().unwrap_or(Violation {
            status: status.unwrap_or(StatusCode::BAD_REQUEST),
            detail: "The head of the request cannot be understood, or is too large.",
        });
        self.refusal = refusal(violation);
        true
    }

    fn written<T>(&mut self, context: &mut Context<'_>, poll: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match poll {
            Poll::Ready(result) => {
                self.progress.moved();
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
fn refusal(Violation { status, detail }: Violation) -> Vec<u8> {
    let id = RequestId::of(None).0;
    let problem = Problem::new(status, "REQUEST_REFUSED", detail);
    let body = serde_json::to_string(&problem.body(&id)).expect("a problem is plain data");
    crate::measure::count_code(problem.code);
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\nx-request-id: {id}\r\n\
         x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
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
        loop {
            if this.approved_bytes > 0 {
                this.pass_on(buffer);
                this.head.stop();
                return Poll::Ready(Ok(()));
            }
            if this.framing.violation().is_some() {
                return Poll::Ready(Ok(()));
            }
            let is_in_head = this.framing.is_in_head() && !this.ahead.is_empty();
            this.progress.set_in_head(is_in_head);
            if is_in_head && !this.progress.is_answering() {
                // Bytes that trickle in do not stop the clock: the whole head has to be here in time.
                this.head.check(context, "the head of the request took too long")?;
            }
            let before = buffer.filled().len();
            ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
            if buffer.filled().len() == before {
                return Poll::Ready(Ok(()));
            }
            this.progress.moved();
            this.approve(buffer, before);
            if buffer.filled().len() > before {
                this.progress.set_in_head(false);
                this.head.stop();
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S: AsyncRead + Unpin> Guarded<S> {
    /// Ready when the client has ended its side, or has sent or waited too much.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut discarded = [0; 4 * 1024];
        while self.linger.discarded_bytes < LINGER_BYTES_MAX {
            if self.linger.deadline.check(context, "the client does not end the connection").is_err() {
                break;
            }
            let mut buffer = ReadBuf::new(&mut discarded);
            let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            self.linger.discarded_bytes += buffer.filled().len();
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
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
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(context));
        // hyper flushes when it has written all that it has.
        self.progress.is_writing.store(false, Ordering::Relaxed);
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        if !self.linger.has_begun {
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
            self.linger.has_begun = true;
        }
        self.poll_discard(context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const HEAD: &str = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n";

    fn pair() -> (Guarded<tokio::io::DuplexStream>, Arc<Progress>, tokio::io::DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(64);
        let progress = Arc::new(Progress::new());
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
        let began = Instant::now();
        let cut = loop {
            if let Err(error) = guarded.read(&mut buffer).await {
                break error;
            }
        };
        assert_eq!(cut.kind(), io::ErrorKind::TimedOut);
        assert!(began.elapsed() <= HEAD_READ_TIMEOUT + Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn connection_on_which_nothing_moves_stalls_unless_a_handler_is_at_work() {
        let (mut guarded, progress, mut client) = pair();
        let began = Instant::now();
        tokio::time::timeout(STALL_TIMEOUT * 3, progress.stalled()).await.expect("nothing has moved at all");
        assert_eq!(began.elapsed().as_secs(), STALL_TIMEOUT.as_secs());
        progress.set_answering(true);
        let at_work = tokio::time::timeout(STALL_TIMEOUT * 3, progress.stalled()).await;
        assert!(at_work.is_err(), "the handler decides");
        progress.set_answering(false);
        let moving = tokio::spawn(async move {
            for _ in 0..4 {
                tokio::time::sleep(STALL_TIMEOUT / 2).await;
                guarded.write_all(b"a piece of a stream").await.unwrap();
                client.read_exact(&mut [0; 19]).await.unwrap();
            }
            (guarded, client)
        });
        let began = Instant::now();
        progress.stalled().await;
        assert_eq!(began.elapsed().as_secs(), (STALL_TIMEOUT * 3).as_secs());
        drop(moving.await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_take_its_time() {
        let (mut guarded, progress, mut client) = pair();
        let mut buffer = [0; 8];
        client.write_all(HEAD.as_bytes()).await.unwrap();
        guarded.read_exact(&mut [0; HEAD.len()]).await.unwrap();
        progress.set_answering(true);
        let body = tokio::time::timeout(HEAD_READ_TIMEOUT * 3, guarded.read(&mut buffer)).await;
        assert!(body.is_err(), "the body has a deadline of its own");
    }

    #[tokio::test(start_paused = true)]
    async fn what_hyper_refuses_by_itself_gets_a_body_and_what_we_answer_stays() {
        let told = async |is_answering: bool, answer: &str| {
            let (mut guarded, progress, mut client) = pair();
            progress.set_answering(is_answering);
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
        assert_eq!(told(false, ours).await, ours);
        let hypers = "HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(told(true, hypers).await, hypers, "a part of an answer of ours that looks so");
        let pieces_of_ours = "HTTP/1.1 4 is what a customer called it\n";
        assert_eq!(told(false, pieces_of_ours).await, pieces_of_ours);
        let instead = told(false, hypers).await;
        assert!(instead.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{instead}");
        let (_, body) = instead.split_once("\r\n\r\n").unwrap();
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&problem["code"], &problem["status"]), (&"REQUEST_REFUSED".into(), &431.into()));
    }

    #[tokio::test(start_paused = true)]
    async fn closing_connection_discards_what_client_still_sends() {
        let (guarded, _, mut client) = pair();
        let closed = tokio::spawn(close(guarded.stream));
        client.write_all(&[7; 10_000]).await.expect("the server goes on reading");
        let mut rest = Vec::new();
        client.read_to_end(&mut rest).await.expect("the server has ended its side");
        assert!(rest.is_empty() && !closed.is_finished());
        drop(client);
        closed.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn closing_connection_waits_for_client_no_longer_than_the_limit() {
        for is_sending in [false, true] {
            let (guarded, _, mut client) = pair();
            let began = Instant::now();
            let sending = tokio::spawn(async move {
                while is_sending && client.write_all(b"more").await.is_ok() {
                    tokio::time::sleep(LINGER_TIMEOUT / 10).await;
                }
                client
            });
            close(guarded.stream).await;
            assert_eq!(began.elapsed().as_secs(), LINGER_TIMEOUT.as_secs(), "sending: {is_sending}");
            drop(sending.await);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn connection_is_busy_until_its_response_is_written() {
        let (mut guarded, progress, mut client) = pair();
        let guard = StreamGuard::begin(&progress);
        assert_eq!(progress.idle_since(), None, "hyper takes the body");
        drop(guard);
        assert_eq!(progress.idle_since(), None, "hyper has the body");
        let writing = tokio::spawn(async move {
            guarded.write_all(&[7; 100]).await.unwrap();
            guarded.flush().await.unwrap();
            guarded
        });
        client.read_exact(&mut [0; 30]).await.unwrap();
        assert_eq!(progress.idle_since(), None, "the client has a part of it");
        client.read_exact(&mut [0; 70]).await.unwrap();
        drop(writing.await.unwrap());
        assert!(progress.idle_since().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_cut() {
        let (mut guarded, _, _client) = pair();
        let stalled = guarded.write_all(&[0; 65]).await.unwrap_err();
        assert_eq!(stalled.kind(), io::ErrorKind::TimedOut);
    }
}
