//! Connections: taking them, bounding them, and letting them finish.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, Request, header};
use axum::response::Response;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{getpriority_process, setpriority_process};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::app::App;
use crate::connections::{ConnectionLimits, Connections, OpenConnection, TooMany};
use crate::express;
use crate::guarded::{self, Guarded, Progress, StreamGuard};
use crate::limits::{
    ACCEPT_BACKLOG_CONNECTIONS, DRAIN_TIMEOUT, HEAD_BYTES_MAX, HEADERS_MAX, IDLE_TIMEOUT,
    TLS_HANDSHAKE_TIMEOUT, TURN_AWAY_TIMEOUT, TURNED_AWAY_CONNECTIONS_MAX, UNSENT_BYTES_MAX,
};
use crate::outer::RequestId;
use crate::proxy_protocol;
use crate::request_body::RequestBody;
use crate::router::router;

/// One for each core. Where threads help each other out, as they do for everything else, they wake each other for a booking and
/// then find nothing left to do.
static LANES: LazyLock<Vec<Lane>> = LazyLock::new(|| {
    let lanes = std::thread::available_parallelism().map_or(1, usize::from);
    (0..lanes)
        .map(|index| Lane {
            thread: thread_builder(&format!("lane-{index}")).build().expect(NO_THREAD),
            connections: Arc::new(()),
        })
        .collect()
});
/// Those who watch have a thread of their own: hundreds of them are sent the same at the same moment, several times a second, and all
/// others would wait for that together. Where there is not enough of the processors for all, those who buy go first.
static WATCHERS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = thread_builder("watchers");
    // Elsewhere than on Linux it would be for the whole process.
    if cfg!(target_os = "linux")
        && let Ok(usual) = getpriority_process(None)
    {
        // Where it may not be, all go on as equals. Threads that this one starts would begin as it is: none is more than so much nicer.
        builder.on_thread_start(move || {
            let _ = setpriority_process(None, usual + NICER);
        });
    }
    builder.build().expect(NO_THREAD)
});
/// How much less than others a thread counts that lets them go first: a third, as `nice` has it. So it still gets on beside
/// threads that never rest.
const NICER: i32 = 5;
const NO_THREAD: &str = "a thread can be started";

/// A thread for connections on which nothing but plain bookings has come so far: see [`express`].
struct Lane {
    thread: Runtime,
    /// Counted by its clones. One that is quiet counts as much as one that is busy: nobody knows which it will be.
    connections: Arc<()>,
}

/// A thread that is never ended, and that all servers of a process share: a stop lets go of its connections as of all others.
fn thread_builder(name: &str) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).thread_name(name).enable_all();
    builder
}

/// Where what all watchers of something share is made.
pub(crate) fn watchers() -> &'static Handle {
    WATCHERS.handle()
}

/// Takes a port.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(ACCEPT_BACKLOG_CONNECTIONS)
}

/// Serves until `stop` resolves, then answers what was taken.
pub(crate) async fn serve(
    listener: TcpListener,
    app: &Arc<App>,
    limits: ConnectionLimits,
    stop: impl Future<Output = ()>,
) {
    // Now, and not when somebody wants to book: there may be no thread to be had then.
    LazyLock::force(&LANES);
    LazyLock::force(&WATCHERS);
    let router = router(Arc::clone(app));
    let connections = Connections::new(limits);
    let turned_away = Arc::new(Semaphore::new(TURNED_AWAY_CONNECTIONS_MAX));
    tokio::pin!(stop);
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "no connection could be taken");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
            () = &mut stop => break,
        };
        let is_trusted_proxy = app.settings.trusted_proxies.contains(address.ip());
        match connections.admit(address.ip(), is_trusted_proxy) {
            Ok(open) => {
                let (app, router) = (Arc::clone(app), router.clone());
                Connection { app, address, router, open }.take(stream);
            }
            Err(too_many) => {
                count_refused();
                // A TLS client could not read the answer.
                if app.settings.tls.is_none()
                    && let Ok(permit) = Arc::clone(&turned_away).try_acquire_owned()
                {
                    tokio::spawn(async move {
                        turn_away(stream, too_many).await;
                        drop(permit);
                    });
                }
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIMEOUT, connections.all_over()).await.is_err() {
        tracing::warn!("some connections were still open after {} s", DRAIN_TIMEOUT.as_secs());
    }
}

/// A connection, and what it takes to serve it.
struct Connection {
    app: Arc<App>,
    address: SocketAddr,
    router: Router,
    open: OpenConnection,
}

impl Connection {
    fn take(self, stream: TcpStream) {
        // Answers are small and must not wait for more.
        drop(stream.set_nodelay(true));
        // Without this the system takes megabytes for a client that reads nothing.
        drop(socket2::SockRef::from(&stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX));
        tokio::spawn(self.begin(stream));
    }

    /// Looks at what comes first, and goes on where such things are served.
    async fn begin(mut self, mut stream: TcpStream) {
        let settings = &self.app.settings;
        if settings.proxy_protocol && settings.trusted_proxies.contains(self.address.ip()) {
            let source = proxy_protocol::read_source(&mut stream);
            match unless_ended(&self.app, &self.open.progress, source).await {
                Some(Ok(None)) => {}
                Some(Ok(Some(client))) => {
                    self.address = client;
                    let is_trusted_proxy = settings.trusted_proxies.contains(client.ip());
                    if let Err(too_many) = self.open.count_by(client.ip(), is_trusted_proxy) {
                        count_refused();
                        if settings.tls.is_none() {
                            turn_away(stream, too_many).await;
                        }
                        return;
                    }
                }
                Some(Err(error)) => {
                    let proxy = self.address;
                    return tracing::warn!(%error, %proxy, "a connection of a trusted proxy has no PROXY header");
                }
                None => return,
            }
        }
        if let Some(tls) = self.app.settings.tls.clone() {
            let handshake = tokio::time::timeout(TLS_HANDSHAKE_TIMEOUT, tls.accept(stream));
            return match unless_ended(&self.app, &self.open.progress, handshake).await {
                // Apart, as below.
                Some(Ok(Ok(stream))) => Box::pin(self.serve(stream, Vec::new(), true)).await,
                Some(Ok(Err(error))) => {
                    tracing::debug!(%error, client = %self.address, "a TLS handshake failed");
                }
                Some(Err(_)) => tracing::debug!(client = %self.address, "a TLS handshake took too long"),
                None => {}
            };
        }
        let Some(ahead) = express::first_bytes(&self.app, &mut stream, &self.open.progress).await else {
            return;
        };
        if express::may_be_plain(&ahead) {
            let open = |lane: &&Lane| Arc::strong_count(&lane.connections);
            let lane = LANES.iter().min_by_key(open).expect("one for each core");
            let (counted, here) = (Arc::clone(&lane.connections), Handle::current());
            go_on(lane.thread.handle(), stream, |stream| self.book(stream, ahead, counted, here));
        } else if is_stream(&ahead) {
            go_on(watchers(), stream, |stream| self.serve(stream, ahead, false));
        } else {
            // Apart, so that those who have said nothing yet take little room.
            Box::pin(self.serve(stream, ahead, true)).await;
        }
    }

    /// On a lane, until something else comes than bookings.
    async fn book(self, stream: TcpStream, ahead: Vec<u8>, counted: Arc<()>, elsewhere: Handle) {
        let left = express::serve(&self.app, stream, ahead, self.address, &self.open.progress).await;
        drop(counted);
        let Some((stream, ahead)) = left else { return };
        let watches = is_stream(&ahead);
        let elsewhere = if watches { watchers() } else { &elsewhere };
        go_on(elsewhere, stream, move |stream| self.serve(stream, ahead, !watches));
    }

    /// By hyper, with what was read before; one request, or as many as the client likes.
    async fn serve<S>(self, stream: S, ahead: Vec<u8>, keep_alive: bool)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let Connection { app, address, router, open } = self;
        let progress = &open.progress;
        let (app_of_service, progress_of_service) = (Arc::clone(&app), Arc::clone(progress));
        let service = service_fn(move |request: Request<Incoming>| {
            let (app, progress) = (Arc::clone(&app_of_service), Arc::clone(&progress_of_service));
            let router = router.clone();
            progress.set_answering(true);
            async move {
                let response = answer(&app, address, router, request).await;
                let guard = StreamGuard::begin(&progress);
                progress.set_answering(false);
                Ok::<_, Infallible>(response.map(|body| GuardedBody { body, _guard: guard }))
            }
        });
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            // Counts from the end of the last request: so this is how long a connection may be quiet. A head that has begun
            // is given less time, by `Guarded`.
            .header_read_timeout(IDLE_TIMEOUT)
            .max_headers(HEADERS_MAX)
            .max_buf_size(HEAD_BYTES_MAX)
            .keep_alive(keep_alive);
        let io = TokioIo::new(Guarded::new(stream, ahead, Arc::clone(progress)));
        let mut connection = pin!(builder.serve_connection(io, service));
        let mut stopping = app.stopping.subscribe();
        let mut stopped = pin!(stopping.wait_for(|stopping| *stopping));
        let mut evicted = pin!(progress.evicted());
        let (mut is_stopping, mut is_evicted, mut is_told) = (false, false, false);
        let over = poll_fn(|context| {
            // First, so that a request that lies ready has begun before hyper hears of a stop. A client that goes away is no news.
            if connection.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            if !is_evicted && evicted.as_mut().poll(context).is_ready() {
                is_evicted = true;
                if progress.idle_since().is_some() {
                    return Poll::Ready(());
                }
            }
            is_stopping = is_stopping || is_evicted || stopped.as_mut().poll(context).is_ready();
            // A request whose head is not complete has begun, too, which hyper does not know.
            if is_stopping && !is_told && !progress.is_in_head() {
                is_told = true;
                connection.as_mut().graceful_shutdown();
                if connection.as_mut().poll(context).is_ready() {
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        });
        tokio::select! {
            biased;
            () = over => {}
            () = progress.stalled() => tracing::debug!(%address, "a connection stalled"),
        }
    }
}

/// A response's body. Its connection counts as busy until hyper has all of it.
struct GuardedBody {
    body: Body,
    _guard: StreamGuard,
}

impl hyper::body::Body for GuardedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The router's response. It announces the close of the connection if no request can follow, or if the server is stopping.
async fn answer(app: &App, address: SocketAddr, mut router: Router, request: Request<Incoming>) -> Response {
    let (parts, incoming) = request.into_parts();
    let (body, unread) = RequestBody::share(&parts.headers, incoming);
    let mut request = Request::from_parts(parts, body);
    request.extensions_mut().insert(ConnectInfo(address));
    let mut response = router.call(request).await.unwrap_or_else(|never| match never {});
    let can_follow = match unread {
        Some(body) => body.drain().await,
        None => true,
    };
    if !can_follow || *app.stopping.borrow() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Waits for the start of a connection; `None` if meanwhile the server is asked to stop, or the connection to make room.
async fn unless_ended<T>(app: &App, progress: &Progress, start: impl Future<Output = T>) -> Option<T> {
    let mut stopping = app.stopping.subscribe();
    tokio::select! {
        biased;
        result = start => Some(result),
        _ = stopping.wait_for(|stopping| *stopping) => None,
        () = progress.evicted() => None,
    }
}

/// Goes on with a connection on another thread, which also waits for what it sends.
fn go_on<F: Future<Output = ()> + Send + 'static>(
    thread: &Handle,
    stream: TcpStream,
    serve: impl FnOnce(TcpStream) -> F + Send + 'static,
) {
    let lost = |error: &io::Error| tracing::warn!(%error, "a connection was lost");
    let Ok(stream) = stream.into_std().inspect_err(lost) else { return };
    thread.spawn(async move {
        if let Ok(stream) = TcpStream::from_std(stream).inspect_err(lost) {
            serve(stream).await;
        }
    });
}

/// Whether a head asks for a live stream.
fn is_stream(head: &[u8]) -> bool {
    let mut words = head.split(|byte| *byte == b' ');
    let is_get = words.next() == Some(b"GET");
    let path = words.next().and_then(|target| target.split(|byte| *byte == b'?').next());
    is_get && path.is_some_and(|path| path.ends_with(b"/stream"))
}

fn count_refused() {
    metrics::counter!("boxoffice_connections_refused_total").increment(1);
}

/// Says why before it hangs up.
async fn turn_away(mut stream: TcpStream, too_many: TooMany) {
    let detail = match too_many {
        TooMany::InAll => "Too many connections are open.",
        TooMany::OfNetwork => "Too many connections are open from this address.",
    };
    // It was not read, so it has no id of its own.
    let RequestId(id) = RequestId::of(None);
    let body = format!(
        r#"{{"type":"/docs#OVERLOADED","title":"Overloaded","status":503,"code":"OVERLOADED","detail":"{detail}","request_id":"{id}"}}"#
    );
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nx-request-id: {id}\r\nretry-after: 1\r\ncache-control: no-store\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len(),
    );
    let sent_and_closed = async {
        stream.write_all(answer.as_bytes()).await?;
        guarded::close(stream).await;
        io::Result::Ok(())
    };
    // The client may be gone.
    drop(tokio::time::timeout(TURN_AWAY_TIMEOUT, sent_and_closed).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn those_who_buy_go_before_those_who_watch() {
        let niceness = || getpriority_process(None).unwrap();
        let of_thread = |thread: &Handle, blocking: bool| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let say = move || sender.send(niceness()).unwrap();
            if blocking {
                // Asked for by its thread, as it is by those who watch.
                thread.spawn(async { drop(tokio::task::spawn_blocking(say)) });
            } else {
                thread.spawn(async move { say() });
            }
            receiver.recv().unwrap()
        };
        let nicer = (niceness() + NICER).min(19);
        assert_eq!([false, true].map(|blocking| of_thread(watchers(), blocking)), [nicer; 2]);
        assert_eq!(of_thread(LANES[0].thread.handle(), false), niceness());
    }

    #[test]
    fn live_streams_are_told_by_their_address() {
        for (head, expected) in [
            ("GET /v1/events/gala/stream HTTP/1.1\r\nhost: a\r\n\r\n", true),
            ("GET /v1/bookings/7/stream?x=1 HTTP/1.1\r\n", true),
            ("GET /v1/events/stream/seats HTTP/1.1\r\n", false),
            ("GET /v1/events?name=/stream HTTP/1.1\r\n", false),
            ("POST /v1/events/gala/stream HTTP/1.1\r\n", false),
            ("GET", false),
            ("", false),
        ] {
            assert_eq!(is_stream(head.as_bytes()), expected, "{head:?}");
        }
    }
}
