//! The express lane: when sales open nearly every request is the same one, `POST /v1/bookings`, whole in one piece.
//!
//! Such requests are read, decided and answered here, without the framework; everything else on a connection, and everything
//! here that is not plain, goes to hyper with all that was read, from then on. What a request means, and what is answered, is
//! the handlers' own code (`Prepared`, `parse`, `Caller`, `Problem`): this file knows HTTP/1.1 and nothing of bookings.
//!
//! A client may send several without waiting. They are decided in order and answered in order, in one write.

use std::cell::RefCell;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::http::Method;
use axum::response::IntoResponse;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::app::App;
use crate::attempts;
use crate::caller::{Caller, Credentials};
use crate::cross_origin;
use crate::framing::has_bare_line_feed;
use crate::guarded::{self, Progress};
use crate::idempotency::IdempotencyKey;
use crate::input::{is_json, parse};
use crate::limits::{BODY_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX, IDLE_TIMEOUT, WRITE_STALL_TIMEOUT};
use crate::measure::count_booking;
use crate::outer::{Around, RequestId, broken, finish};
use crate::problem::Problem;
use crate::routes::bookings::create::{Prepared, ROUTE, created, prepare};
use crate::submit::Granted;
use crate::trusted_proxies::ForwardingHeaders;

const BEGINNING: &[u8] = b"POST /v1/bookings HTTP/1.1\r\n";
/// Requests of one connection that are decided together; more wait in the buffer. More than are usually read in one go.
const TOGETHER_MAX: usize = 256;
/// A booking and its head are far smaller; a connection that wants nothing keeps this much.
const BUFFER_BYTES: usize = 4 * 1024;
/// What lies ready is read until there is this much of it: what is read together is decided together, and shares one commit.
const READ_BYTES_MAX: usize = 32 * 1024;
/// Answers gather until there is this much of them: who asks for much and reads nothing must not fill the memory.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// The pieces of one request are on their way together; slow senders are left to the framework, which has deadlines for them.
const PIECES_WITHIN: Duration = Duration::from_millis(250);
const CLOSES: &[u8] = b"connection: close\r\n";
/// A thousand seats with the longest names are fewer bytes than these digits can say.
const LENGTH_ROOM: &[u8] = b"       ";

/// What a connection sends first; `None` if it is over before it has sent anything.
pub(crate) async fn first_bytes(app: &App, stream: &mut TcpStream, progress: &Progress) -> Option<Vec<u8>> {
    let mut stopping = app.stopping.subscribe();
    let mut input = Vec::new();
    let read = tokio::select! {
        biased;
        read = tokio::time::timeout(IDLE_TIMEOUT, read_more(stream, &mut input)) => read.ok()?.ok()?,
        _ = stopping.wait_for(|stopping| *stopping) => return None,
        () = progress.evicted() => return None,
    };
    progress.moved();
    (read > 0).then_some(input)
}

/// Whether a request that begins so can be one for this lane.
pub(crate) fn may_be_plain(input: &[u8]) -> bool {
    let beginning = input.len().min(BEGINNING.len());
    input[..beginning] == BEGINNING[..beginning]
}

/// Serves a connection, of which this was read already, until it is over (`None`), or until something comes that is not for this lane: then
/// the connection, and what was read of it and not yet answered.
pub(crate) async fn serve(
    app: &Arc<App>,
    mut stream: TcpStream,
    mut input: Vec<u8>,
    address: SocketAddr,
    progress: &Progress,
) -> Option<(TcpStream, Vec<u8>)> {
    let mut stopping = app.stopping.subscribe();
    let mut quiet_since = tokio::time::Instant::now();
    let mut idle = std::pin::pin!(tokio::time::sleep(IDLE_TIMEOUT));
    let mut stopped = std::pin::pin!(stopping.wait_for(|stopping| *stopping));
    let mut evicted = std::pin::pin!(progress.evicted());
    let mut output = Vec::new();
    // When a request that is not whole has to be.
    let mut begun = None;
    loop {
        progress.set_answering(true);
        while !input.is_empty() {
            let (used, rest) = answer_all(app, address, &input, &mut stream, &mut output).await.ok()?;
            if used > 0 {
                input.drain(..used);
                begun = None;
                write(&mut stream, &mut output).await.ok()?;
                quiet_since = tokio::time::Instant::now();
            }
            match rest {
                Rest::Open if used > 0 => {}
                Rest::Open => break,
                Rest::Closed => {
                    guarded::close(stream).await;
                    return None;
                }
                Rest::NotPlain => {
                    progress.set_answering(false);
                    return Some((stream, input));
                }
            }
        }
        progress.set_answering(false);
        if input.is_empty() && input.capacity().max(output.capacity()) > 4 * BUFFER_BYTES {
            (input, output) = (Vec::new(), Vec::new());
        }
        let read = if input.is_empty() {
            tokio::select! {
                biased;
                read = read_more(&mut stream, &mut input) => read,
                () = &mut idle => {
                    // Moved only when it rings: most connections are busy until they are closed.
                    idle.as_mut().reset(quiet_since + IDLE_TIMEOUT);
                    if quiet_since.elapsed() < IDLE_TIMEOUT { continue } else { return None }
                }
                _ = &mut stopped => return None,
                () = &mut evicted => return None,
            }
        } else {
            // Bytes that trickle in do not stop the clock.
            let until = *begun.get_or_insert_with(|| tokio::time::Instant::now() + PIECES_WITHIN);
            match tokio::time::timeout_at(until, read_more(&mut stream, &mut input)).await {
                Ok(read) => read,
                Err(_) => return Some((stream, input)),
            }
        };
        if read.ok()? == 0 {
            return None;
        }
    }
}

/// Reads what lies ready. Room is made when there is something: most connections want nothing most of the time.
async fn read_more(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<usize> {
    stream.readable().await?;
    input.reserve(BUFFER_BYTES);
    let mut read = stream.read_buf(input).await?;
    // A buffer that is full says that there may be more. An end or an error is found again by whoever reads next.
    while (1..READ_BYTES_MAX).contains(&read) && input.len() == input.capacity() {
        input.reserve_exact(READ_BYTES_MAX - read);
        match stream.read_buf(input).now_or_never() {
            Some(Ok(more @ 1..)) => read += more,
            Some(Ok(0) | Err(_)) | None => break,
        }
    }
    Ok(read)
}

/// Leaves nothing in `output`.
async fn write(stream: &mut TcpStream, output: &mut Vec<u8>) -> io::Result<()> {
    let mut rest = match stream.try_write(output) {
        Ok(written) => &output[written..],
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => output,
        Err(error) => return Err(error),
    };
    while !rest.is_empty() {
        let written = tokio::time::timeout(WRITE_STALL_TIMEOUT, stream.write(rest)).await??;
        rest = &rest[written..];
    }
    output.clear();
    Ok(())
}

/// Answers what is whole in `input`, in `output` and, what is too much for that, at once. Returns how many bytes that was, and what may
/// follow.
async fn answer_all(
    app: &Arc<App>,
    address: SocketAddr,
    input: &[u8],
    stream: &mut TcpStream,
    output: &mut Vec<u8>,
) -> io::Result<(usize, Rest)> {
    let mut used = 0;
    let mut rest = Rest::Open;
    let mut whole: Vec<Request<'_>> = Vec::new();
    while used < input.len() && whole.len() < TOGETHER_MAX && rest == Rest::Open {
        match read(&input[used..]) {
            Read::Whole(request, length) => {
                used += length;
                let closes = request.closes();
                whole.push(request);
                if closes {
                    break;
                }
            }
            Read::Partly => break,
            Read::NotPlain => rest = Rest::NotPlain,
        }
    }
    let last = whole.len().saturating_sub(1);
    let closed = match whole.as_slice() {
        [] => false,
        [request] => {
            let (taken, address) = take(app, address, request, true);
            let granted = match safely(understand(app, address, request)).await {
                Ok(prepared) => safely(prepared.send(app)).await,
                Err(problem) => Err(problem),
            };
            answer(app, taken, granted, output).await
        }
        requests => {
            let mut commands = Vec::with_capacity(requests.len());
            let mut waiting = Vec::with_capacity(requests.len());
            for (index, request) in requests.iter().enumerate() {
                let_others_go_first().await;
                let (taken, address) = take(app, address, request, index == last);
                let sent =
                    safely(understand(app, address, request)).await.map(|Prepared { command, sent }| {
                        commands.push((sent.inventory, command));
                        sent
                    });
                waiting.push((taken, sent));
            }
            let mut answers = app.engine.submit_all(commands).await.into_iter();
            let mut any_closed = false;
            for (taken, sent) in waiting {
                let_others_go_first().await;
                let granted = match sent {
                    Ok(sent) => safely(sent.answered(app, answers.next().expect("each has an answer"))).await,
                    Err(problem) => Err(problem),
                };
                any_closed |= answer(app, taken, granted, output).await;
                if output.len() >= OUTPUT_BYTES_MAX {
                    write(stream, output).await?;
                }
            }
            any_closed
        }
    };
    Ok((used, if closed { Rest::Closed } else { rest }))
}

/// Now and then: who sends many requests at once, and need not wait for their answers, must not have the thread for itself.
async fn let_others_go_first() {
    tokio::task::coop::consume_budget().await;
}

/// What may come on a connection after what was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Open,
    /// The client wants no more.
    Closed,
    /// Something that is not for this lane.
    NotPlain,
}

/// A request whose every byte is here. Headers that are not named do not matter to a booking.
#[derive(Debug, Default)]
struct Request<'a> {
    host: Option<&'a str>,
    origin: Option<&'a str>,
    fetch_site: Option<&'a str>,
    authorization: Option<&'a str>,
    hold_token: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    request_id: Option<&'a str>,
    content_type: Option<&'a str>,
    content_length: Option<&'a str>,
    connection: Option<&'a str>,
    forwarding: Option<Box<ForwardingHeaders<'a>>>,
    body: &'a [u8],
}

#[derive(Debug)]
enum Read<'a> {
    /// With its length in bytes.
    Whole(Request<'a>, usize),
    Partly,
    /// Not for this lane, or not to be understood: hyper knows better.
    NotPlain,
}

fn read(input: &[u8]) -> Read<'_> {
    if !may_be_plain(input) {
        return Read::NotPlain;
    }
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut headers);
    let head_bytes = match head.parse(input) {
        Ok(httparse::Status::Complete(bytes)) if bytes <= HEAD_BYTES_MAX => bytes,
        Ok(httparse::Status::Partial) if input.len() < HEAD_BYTES_MAX => return Read::Partly,
        Ok(_) | Err(_) => return Read::NotPlain,
    };
    if has_bare_line_feed(&input[..head_bytes]) {
        return Read::NotPlain;
    }
    let mut request = Request::default();
    for header in head.headers.iter() {
        if let Some(name) = ForwardingHeaders::known_name(header.name) {
            request.forwarding.get_or_insert_default().push(name, header.value);
            continue;
        }
        let Some(field) = request.field(header.name) else {
            if is_not_for_this_lane(header.name) {
                return Read::NotPlain;
            }
            continue;
        };
        // What stands there twice, or is not text, is not plain.
        match std::str::from_utf8(header.value) {
            Ok(value) if field.is_none() && value.is_ascii() => *field = Some(value),
            _ => return Read::NotPlain,
        }
    }
    if request.host.is_none() {
        return Read::NotPlain;
    }
    if request.connection.is_some_and(|wish| !wish.eq_ignore_ascii_case("keep-alive") && !request.closes()) {
        return Read::NotPlain;
    }
    let digits = request.content_length.filter(|length| length.bytes().all(|byte| byte.is_ascii_digit()));
    let body_bytes = match digits.and_then(|length| length.parse::<usize>().ok()) {
        Some(bytes) if bytes <= BODY_BYTES_MAX && request.content_type.is_some_and(is_json) => bytes,
        _ => return Read::NotPlain,
    };
    match input[head_bytes..].get(..body_bytes) {
        Some(body) => Read::Whole(Request { body, ..request }, head_bytes + body_bytes),
        None => Read::Partly,
    }
}

/// Headers that say how the connection or the body goes on, or that another kind of answer is wanted.
fn is_not_for_this_lane(name: &str) -> bool {
    ["transfer-encoding", "expect", "upgrade", "te", "trailer", "prefer", "content-encoding"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

impl<'a> Request<'a> {
    /// The client's address, also behind trusted proxies.
    fn caller_address(&self, app: &App, peer: SocketAddr) -> Result<IpAddr, Problem> {
        let proxies = &app.settings.trusted_proxies;
        match &self.forwarding {
            Some(headers) if !proxies.is_empty() => proxies.caller_address(peer.ip(), headers),
            _ => Ok(peer.ip()),
        }
    }

    /// Whether the client wants nothing after this.
    fn closes(&self) -> bool {
        self.connection.is_some_and(|wish| wish.eq_ignore_ascii_case("close"))
    }

    fn field(&mut self, name: &str) -> Option<&mut Option<&'a str>> {
        let fields = [
            ("host", &mut self.host),
            ("origin", &mut self.origin),
            ("sec-fetch-site", &mut self.fetch_site),
            ("authorization", &mut self.authorization),
            ("hold-token", &mut self.hold_token),
            ("idempotency-key", &mut self.idempotency_key),
            ("x-request-id", &mut self.request_id),
            ("content-type", &mut self.content_type),
            ("content-length", &mut self.content_length),
            ("connection", &mut self.connection),
        ];
        fields.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, field)| field)
    }
}

/// What is needed of a request to answer it.
struct Taken {
    id: RequestId,
    /// Of the caller; `None` if the request does not say it in one way.
    address: Option<IpAddr>,
    started: Instant,
    from_elsewhere: bool,
    /// Whether the client wants nothing after this.
    closes: bool,
    /// Whether nothing of what was read follows it: then it can be the last that a server answers that stops.
    is_last: bool,
}

/// Takes a request, and finds the caller's address.
fn take(
    app: &App,
    peer: SocketAddr,
    request: &Request<'_>,
    is_last: bool,
) -> (Taken, Result<IpAddr, Problem>) {
    let address = request.caller_address(app, peer);
    (Taken::new(request, address.as_ref().ok().copied(), is_last), address)
}

impl Taken {
    fn new(request: &Request<'_>, address: Option<IpAddr>, is_last: bool) -> Taken {
        Taken {
            id: RequestId::of(request.request_id),
            address,
            started: Instant::now(),
            from_elsewhere: request.origin.is_some() && request.authorization.is_some(),
            closes: request.closes(),
            is_last,
        }
    }

    /// Whether its answer says that no other follows.
    fn is_farewell(&self, app: &App) -> bool {
        self.closes || self.is_last && *app.stopping.borrow()
    }
}

/// A panic is the end of one request, not of the connection.
async fn safely<T>(work: impl Future<Output = Result<T, Problem>>) -> Result<T, Problem> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(broken()))
}

async fn understand(
    app: &App,
    address: Result<IpAddr, Problem>,
    request: &Request<'_>,
) -> Result<Prepared, Problem> {
    let credentials = Credentials {
        authorization: request.authorization,
        hold_token: request.hold_token,
        host: request.host,
        origin: request.origin,
        fetch_site: request.fetch_site,
        trace_of_proxy: request.forwarding.as_ref().and_then(|headers| headers.name),
    };
    let caller = Caller::identify(app, &Method::POST, &credentials, Some(address?))?;
    let key = request.idempotency_key.map(IdempotencyKey::new).transpose()?.unwrap_or_default();
    let wanted = parse(request.body)
        .map_err(|problem| attempts::with_attempt_of_body(problem, &caller, request.body))?;
    prepare(app, caller, key, wanted).await
}

/// Appends the whole answer. Returns whether it says that no other follows.
async fn answer(app: &App, taken: Taken, granted: Result<Granted, Problem>, output: &mut Vec<u8>) -> bool {
    let begun = output.len();
    let farewell = taken.is_farewell(app);
    let written =
        safely(async { granted.map(|granted| write_granted(app, &taken, &granted, farewell, output)) });
    let problem = match written.await {
        Ok(()) => {
            count_booking(taken.started.elapsed());
            return farewell;
        }
        Err(problem) => problem,
    };
    output.truncate(begun);
    let Taken { id, address, started, from_elsewhere, .. } = taken;
    let method = &Method::POST;
    let around = Around { app, id: &id, address, method, route: ROUTE, started, from_elsewhere };
    write_response(finish(problem.into_response(), &around), farewell, output).await;
    farewell
}

fn write_granted(app: &App, taken: &Taken, granted: &Granted, farewell: bool, output: &mut Vec<u8>) {
    let replayed = if granted.answer.replayed { "idempotent-replayed: true\r\n" } else { "" };
    let elsewhere = if taken.from_elsewhere { cross_origin::ALLOWED_LINES } else { "" };
    output.extend_from_slice(b"HTTP/1.1 201 Created\r\ncontent-type: application/json\r\nx-request-id: ");
    output.extend_from_slice(taken.id.0.as_bytes());
    output.extend_from_slice(b"\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\n");
    output.extend_from_slice(replayed.as_bytes());
    output.extend_from_slice(elsewhere.as_bytes());
    output.extend_from_slice(if farewell { CLOSES } else { b"" });
    write_date(output);
    output.extend_from_slice(b"content-length: ");
    // The length is known when the body is: room is left for it, and spaces around a value are allowed.
    let length_at = output.len();
    output.extend_from_slice(LENGTH_ROOM);
    output.extend_from_slice(b"\r\n\r\n");
    let body_at = output.len();
    created(app, granted).write(output);
    let length = (output.len() - body_at).to_string();
    output[length_at..length_at + length.len()].copy_from_slice(length.as_bytes());
}

async fn write_response(response: axum::response::Response, farewell: bool, output: &mut Vec<u8>) {
    let (parts, body) = response.into_parts();
    // Problems have their body in memory.
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let reason = parts.status.canonical_reason().unwrap_or_default();
    output.extend_from_slice(format!("HTTP/1.1 {} {reason}\r\n", parts.status.as_u16()).as_bytes());
    for (name, value) in &parts.headers {
        output.extend_from_slice(name.as_str().as_bytes());
        output.extend_from_slice(b": ");
        output.extend_from_slice(value.as_bytes());
        output.extend_from_slice(b"\r\n");
    }
    output.extend_from_slice(if farewell { CLOSES } else { b"" });
    write_date(output);
    output.extend_from_slice(b"\r\n");
    output.extend_from_slice(&body);
}

/// The line with the date; the date is made once a second and thread.
fn write_date(output: &mut Vec<u8>) {
    thread_local! {
        static MADE: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
    }
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    MADE.with_borrow_mut(|(of, line)| {
        if *of != second {
            (*of, *line) = (second, format!("date: {}\r\n", httpdate::fmt_http_date(now)));
        }
        output.extend_from_slice(line.as_bytes());
    });
}

#[cfg(test)]
mod tests {
    use futures_util::future::Either;
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (listener.accept().await.unwrap().0, client)
    }

    /// Sends so many bytes, and waits until they lie ready.
    async fn sent(server: &TcpStream, client: &mut TcpStream, bytes: usize) {
        client.write_all(&vec![7; bytes]).await.unwrap();
        let mut looked = vec![0; bytes];
        while server.peek(&mut looked).await.unwrap() < bytes {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn what_lies_ready_is_read_in_one_go_up_to_a_bound() {
        for (bytes, in_one_go) in [
            (1, 1),
            (BUFFER_BYTES, BUFFER_BYTES),
            (5 * BUFFER_BYTES, 5 * BUFFER_BYTES),
            (READ_BYTES_MAX, READ_BYTES_MAX),
            (READ_BYTES_MAX + 9_999, READ_BYTES_MAX),
        ] {
            let (mut server, mut client) = pair().await;
            sent(&server, &mut client, bytes).await;
            let mut input = Vec::new();
            assert_eq!(read_more(&mut server, &mut input).await.unwrap(), in_one_go, "of {bytes}");
            while input.len() < bytes {
                assert_ne!(read_more(&mut server, &mut input).await.unwrap(), 0);
            }
            assert_eq!(input, vec![7; bytes]);
        }
    }

    #[tokio::test]
    async fn an_end_after_a_full_buffer_comes_after_what_was_in_it() {
        let (mut server, mut client) = pair().await;
        sent(&server, &mut client, BUFFER_BYTES).await;
        client.shutdown().await.unwrap();
        let mut input = Vec::new();
        assert_eq!(read_more(&mut server, &mut input).await.unwrap(), BUFFER_BYTES);
        assert_eq!(read_more(&mut server, &mut input).await.unwrap(), 0);
        assert_eq!(input.len(), BUFFER_BYTES);
    }

    #[tokio::test]
    async fn many_requests_of_one_connection_let_others_have_their_turn() {
        let directory = tempfile::tempdir().unwrap();
        let engine =
            boxoffice_engine::Engine::open(&directory.path().join("store"), &Default::default()).unwrap();
        let app = App::new(engine, Default::default()).unwrap();
        // Refused at once: nothing is waited for.
        let body = r#"{"customer":"ann","event":"nowhere","best_available":{"quantity":1}}"#;
        let head = "host: 127.0.0.1\r\ncontent-type: application/json";
        let request =
            format!("POST {ROUTE} HTTP/1.1\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        // More than go together without a pause, and fewer than fill the output: writing might pause, too.
        let requests = 144;
        let input = request.repeat(requests).into_bytes();
        let (mut server, mut client) = pair().await;
        let address = client.local_addr().unwrap();
        let reader = tokio::spawn(async move {
            let mut answers = String::new();
            client.read_to_string(&mut answers).await.unwrap();
            answers.matches("HTTP/1.1 404 Not Found\r\n").count()
        });
        let mut output = Vec::new();
        let answering = Box::pin(answer_all(&app, address, &input, &mut server, &mut output));
        let answering = match futures_util::future::select(answering, std::future::ready(())).await {
            Either::Left(_) => panic!("others could not go first"),
            Either::Right(((), answering)) => answering,
        };
        assert_eq!(answering.await.unwrap(), (input.len(), Rest::Open));
        write(&mut server, &mut output).await.unwrap();
        drop(server);
        assert_eq!(reader.await.unwrap(), requests, "and nothing is lost by it");
    }
}
